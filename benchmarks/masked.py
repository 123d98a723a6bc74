"""Tell how well `redact --files` did on a transcript whose secrets are known.

    python -m benchmarks.masked OLD TRUTH [--first N] [--keep NEW]

OLD is the transcript; TRUTH has JSON lines of ``line`` (the first line is N,
0 if not given) and ``secret``. A copy is redacted twice, and four figures are
printed: planted secrets that are gone whole, lines without one that changed,
bytes that differ outside of masks and of signatures that went with their text,
and lines that the second run changed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentmem_cli.session.tokens import string_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

MASK: Final = re.compile(rb"\[REDACTED:[a-z0-9-]+(?::[0-9a-f]{8})?\]")


def main() -> int:
    """Redact a copy twice and print the figures."""
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        new = Path(folder) / "new.jsonl"
        shutil.copyfile(options.old, new)
        _redact(new, Path(folder))
        first = new.read_bytes()
        _redact(new, Path(folder))
        second = new.read_bytes()
    if options.keep is not None:
        options.keep.write_bytes(first)
    old = options.old.read_bytes()
    for told in _figures(old.split(b"\n"), first.split(b"\n"), options):
        print(told)
    pairs = zip(first.split(b"\n"), second.split(b"\n"), strict=True)
    print(f"lines changed by a second run: {sum(one != other for one, other in pairs)}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure what a redaction masked.")
    parser.add_argument("old", type=Path)
    parser.add_argument("truth", type=Path)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--keep", type=Path)
    return parser.parse_args()


def _redact(path: Path, folder: Path) -> None:
    os.utime(path, (1_770_000_000, 1_770_000_000))
    environment = {**os.environ, "AGENTMEM_CONFIG": str(folder / "config")}
    words = [sys.executable, "-m", "agentmem_cli", "redact", "--files", str(path), "--yes"]
    words.append("--allow-unread")
    subprocess.run(words, check=True, env=environment, stdout=subprocess.DEVNULL)


def _figures(old: list[bytes], new: list[bytes], options: argparse.Namespace) -> Iterator[str]:
    planted = [json.loads(line) for line in options.truth.read_bytes().splitlines()]
    by_line: dict[int, list[str]] = {}
    for each in planted:
        by_line.setdefault(each["line"] - options.first, []).append(each["secret"])
    whole = sum(
        not _holds(new[at], secret) for at, secrets in by_line.items() for secret in secrets
    )
    yield f"planted secrets gone whole: {whole} of {len(planted)} ({whole / len(planted):.2%})"
    changed = [at for at, (one, other) in enumerate(zip(old, new, strict=True)) if one != other]
    taken = [at for at in changed if at not in by_line]
    rest = len(old) - len(by_line)
    yield f"lines without one that changed: {len(taken)} of {rest} ({len(taken) / rest:.3%})"
    outside = sum(not _is_masked(old[at], new[at]) for at in changed)
    yield f"changed lines that differ outside of masks: {outside} of {len(changed)}"


def _holds(line: bytes, secret: str) -> bool:
    """Whether a secret is still in a line, in the ways in which JSON writes it."""
    text = secret
    for _ in range(3):
        text = json.dumps(text)[1:-1]  # noqa: TID251 - as other programs write
        if text.encode() in line or secret.encode() in line:
            return True
    return False


def _is_masked(old: bytes, new: bytes) -> bool:
    """Whether *new* is *old* with masks in the place of parts of strings, and signatures gone."""
    befores, afters = list(_pieces(old)), list(_pieces(new))
    if len(befores) != len(afters):
        return MASK.search(new) is not None and len(befores) > len(afters)
    return all(map(_fits, befores, afters))


def _pieces(line: bytes) -> Iterator[tuple[bool, bytes]]:
    at = 0
    for token in string_tokens(line):
        yield False, line[at : token.start]
        yield True, line[token.start : token.end]
        at = token.end
    yield False, line[at:]


def _fits(before: tuple[bool, bytes], after: tuple[bool, bytes]) -> bool:
    if before == after:
        return True
    if not (before[0] and after[0]):
        return False
    kept = [re.escape(piece) for piece in MASK.split(after[1])]
    return re.fullmatch(b".*?".join(kept), before[1], re.DOTALL) is not None


if __name__ == "__main__":
    sys.exit(main())
