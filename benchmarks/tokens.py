"""Count a session's tokens: the estimate against a real tokenizer, and what compaction leaves.

    python -m benchmarks.tokens TRANSCRIPT

TRANSCRIPT is imported into a temporary folder. A real tokenizer is tiktoken, where
it is installed together with a package that ships its vocabularies (litellm does);
its network is never asked. Without it only the estimates are printed.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentmem_cli.operations.clearing import clear
from agentmem_cli.operations.compacting import Wish, compact
from agentmem_cli.operations.summarizing import Embedded
from agentmem_cli.operations.undoing import undo
from agentmem_cli.session.clearing import ClearToolOutputs
from agentmem_cli.session.codec import dumps
from agentmem_cli.session.counting import DEFAULT_COUNTER, HeuristicTokenCounter, reasoning_texts
from agentmem_cli.session.message import parts_of
from agentmem_cli.session.reader import load
from agentmem_cli.storage.directory import DirStore
from benchmarks.running import environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentmem_cli.session.codec import Object
    from agentmem_cli.session.conversation import Conversation

AT: Final = 1_790_000_000_000
ENCODINGS: Final = ("cl100k_base", "o200k_base")


def main() -> None:
    """Print the counts of the transcript that the command line names."""
    source = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        store = imported(source, Path(folder))
        talk = load(store, "main")
        print(f"{len(talk)} messages")
        compare(talk)
        estimates(store)


def imported(source: Path, root: Path) -> DirStore:
    """Import *source* below *root*; return its session."""
    import subprocess

    words = [sys.executable, "-m", "agentmem_cli", "import", str(source)]
    subprocess.run(words, check=True, env=environment(root), capture_output=True)
    (path,) = [each for each in root.iterdir() if each.is_dir()]
    return DirStore.open(path)


def compare(talk: Conversation) -> None:
    """Print the estimates of *talk*, and what real tokenizers count of the same texts."""
    values = [entry.stored.value for entry in talk.entries]
    rows = {
        "estimate, 4 bytes a token": DEFAULT_COUNTER.count_values(values),
        "estimate, 3.5 bytes a token": HeuristicTokenCounter.anthropic().count_values(values),
    }
    for name in ENCODINGS:
        count = real_counter(name)
        if count is None:
            print(f"{name}: not to be had here (tiktoken, and a package with its vocabulary)")
            continue
        texts = [text for value in values for text in texts_of(value)]
        rows[name] = sum(map(count, texts)) + 4 * len(values)
    first = rows["estimate, 4 bytes a token"]
    for name, tokens in rows.items():
        print(f"{name}: {tokens:,} ({first / tokens:.2f} of it estimated)")


def texts_of(value: Object) -> Iterator[str]:
    """Yield the texts of a message that an estimate counts."""
    for part in parts_of(value):
        kind, text = part.get("type"), part.get("text")
        function = part.get("function")
        if kind == "text" and isinstance(text, str):
            yield text
        elif kind == "reasoning":
            yield from reasoning_texts(part)
        elif kind == "toolcall" and isinstance(function, dict):
            yield f"{function.get('name')}{dumps(function.get('arguments')).decode()}"
        elif kind == "toolresult":
            yield from texts_of({"content": part.get("content")})


def real_counter(name: str) -> Callable[[str], int] | None:
    """Return what counts by the encoding *name*; None: it cannot be had offline."""
    shipped = find_spec("litellm")
    if find_spec("tiktoken") is None or shipped is None or shipped.origin is None:
        return None
    folder = Path(shipped.origin).parent / "litellm_core_utils" / "tokenizers"
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    import tiktoken

    encoding = tiktoken.get_encoding(name)
    return lambda text: len(encoding.encode(text, disallowed_special=()))


def estimates(store: DirStore) -> None:
    """Print the tokens before and after a clearing and a compaction, and how long they take."""
    began = time.perf_counter()
    cleared = clear(store, "main", ClearToolOutputs(), at_ms=AT)
    took = time.perf_counter() - began
    print(f"clear: {cleared.tokens_before:,} -> {cleared.tokens_after:,} in {took * 1e3:.0f} ms")
    undo(store, "main", at_ms=AT + 1)
    for keep in (0, 20_000):
        began = time.perf_counter()
        done = compact(store, "main", Wish(keep_tokens=keep), Embedded(), at_ms=AT + 2)
        took = time.perf_counter() - began
        undo(store, "main", at_ms=AT + 3)
        print(
            f"compact --keep {keep}: {done.tokens_before:,} -> {done.tokens_after:,}, "
            f"{len(done.replaced)} messages gone, in {took * 1e3:.0f} ms"
        )


if __name__ == "__main__":
    main()
