"""Every reader on some megabytes of what is hostile: it ends by itself, in words, within bounds.

Each runs in a process of its own that has 20 seconds of the processor and 600 MB.
"""

from __future__ import annotations

import os
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

import pytest

from tests.bounded import command, within
from tests.cli.running import header, join, said, turns, write, write_meta
from tests.e2e.fork_server import import_all
from tests.hostile_bytes import ANYWHERE, MIB, RECORDS
from tests.unit.imports import building, claude_building, codex_building

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="there are no such limits there"),
]

STDIN: Final = {"append": b"hi", "scan": b"text 1", "redact": b"text 1"}
SLOWEST: Final = ("a million blank lines", "200,000 tiny lines", "200,000 tiny objects")
"""What a repair, which reads a log several times, takes over ten seconds for."""
LOGS: Final = {**ANYWHERE, **RECORDS}


@pytest.fixture(scope="module", autouse=True)
def _all_imported() -> None:
    """Import once what each child would import for itself."""
    import_all()


def _wrong(words: str, tmp_path: Path, given: Path | str = "") -> list[str]:
    told = [str(given) if word == "@" else word for word in words.split()]
    stdin = STDIN.get(told[0], b"")
    return within(command(*told, stdin=stdin), tmp_path / "told").wrong


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("words", ["show one", "verify one", "append one --role user"])
def test_a_log_with_such_lines(root: Path, tmp_path: Path, name: str, words: str) -> None:
    around = join([header(), said(1, "text 1")]), join([said(3, "text 2", "assistant")])
    write(root, "one", "main", around[0] + LOGS[name] + b"\n" + around[1])

    assert _wrong(words, tmp_path) == []


@pytest.mark.parametrize("name", [name for name in LOGS if name not in SLOWEST])
@pytest.mark.parametrize("words", ["list --json", "repair one --force"])
def test_a_log_of_nothing_else(root: Path, tmp_path: Path, name: str, words: str) -> None:
    write(root, "one", "main", LOGS[name])

    assert _wrong(words, tmp_path) == []


@pytest.mark.parametrize("words", ["list --json", "verify one", "meta refresh one", "show one"])
@pytest.mark.parametrize("size", [MIB - 1, 4 * MIB])
def test_a_meta(root: Path, tmp_path: Path, size: int, words: str) -> None:
    wrong: dict[str, list[str]] = {}
    for name, data in ANYWHERE.items():
        write(root, "one", "main", join(turns(2)))
        write_meta(root, "one", data[:size])
        if found := _wrong(words, tmp_path):
            wrong[name] = found

    assert wrong == {}


@pytest.mark.parametrize("words", ["show one", "verify one", "append one --role user"])
@pytest.mark.parametrize("signed", [False, True])
def test_a_redo_file(root: Path, tmp_path: Path, words: str, signed: bool) -> None:
    key = b"k" * 32
    wrong: dict[str, list[str]] = {}
    for name, data in ANYWHERE.items():
        write(root, "one", "main", join(turns(2)))
        line = b'{"format":"agentmem-redo/1","key":"%b","steps":' % key.hex().encode()
        line += data.replace(b"\n", b" ") + b"}"
        digest = blake2b(line, key=key).hexdigest().encode()
        redo = line + b"\n" + digest + b"\n" if signed else data
        (root / "one/.agentmem.redo").write_bytes(redo)
        if found := _wrong(words, tmp_path):
            wrong[name] = found

    assert wrong == {}


READING: Final = (
    "append one @",
    "append one @ --role user",
    "splice one 0:1 --force --with @",
    "rewrite one --yes --force --replace-file @",
    "scan one --no-rules --env-file @",
    "scan one --no-rules --literals - --allow @",
    "compact one --policy @",
    "compact one --summary-file @",
    "core import one @",
    "scan --files @ --no-rules --literals -",
)


@pytest.mark.parametrize("words", READING)
def test_a_file_that_a_command_is_given(root: Path, tmp_path: Path, words: str) -> None:
    given = tmp_path / "given"
    wrong: dict[str, list[str]] = {}
    for name, data in ANYWHERE.items():
        write(root, "one", "main", join(turns(4)))
        given.write_bytes(data)
        if found := _wrong(words, tmp_path, given):
            wrong[name] = found

    assert wrong == {}


RULES: Final = (
    "words",
    "200,000 tiny lines",
    "250,000 keys",
    "a string of escapes",
    "two million digits",
    "objects that never close",
)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("kind", ["--literals", "--regexes"])
def test_rules_for_secrets(root: Path, tmp_path: Path, name: str, kind: str) -> None:
    write(root, "one", "main", join(turns(4)))
    given = tmp_path / "given"
    given.write_bytes(ANYWHERE[name])

    assert _wrong(f"scan one --no-rules {kind} @", tmp_path, given) == []


HEADS: Final = {
    "pi": (building.header(), building.user(1, "a")),
    "claude-code": (claude_building.prompt("u1", None, "a"),),
    "codex": (codex_building.meta(), codex_building.prompt(1, "a")),
    "openai-messages": (b'{"role":"user","content":"a"}',),
}


@pytest.mark.parametrize("name", ANYWHERE)
@pytest.mark.parametrize("kind", HEADS)
def test_a_transcript(tmp_path: Path, kind: str, name: str) -> None:
    given = tmp_path / "given.jsonl"
    first = join([*HEADS[kind]])
    given.write_bytes(first + ANYWHERE[name] + b"\n" + first)

    assert _wrong(f"import @ --from {kind}", tmp_path, given) == []


WORD_BYTES: Final = 120_000
"""As long as Linux lets one word be, nearly."""


@pytest.mark.parametrize(
    "words",
    [
        "show @",
        "new @",
        "as-of one @",
        "append one --agent @ --role user",
        "core set one @ x",
        "meta title one @",
        "grep @ one",
        "list --title @",
        "list --since @",
    ],
)
def test_a_word_of_the_command_line(root: Path, tmp_path: Path, words: str) -> None:
    wrong: dict[str, list[str]] = {}
    for text in ('{"a":', "x", "../", ":", "(a|", "é"):
        write(root, "one", "main", join(turns(2)))
        word = text * (WORD_BYTES // len(text.encode()))
        told = [word if each == "@" else each for each in words.split()]
        ended = within(command(*told, stdin=b"hi"), tmp_path / "told")
        if ended.wrong:
            wrong[text] = ended.wrong

    assert wrong == {}
