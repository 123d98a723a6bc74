"""Every command of the live tree on every kind of screen, pipe, disk and locale.

A command that is new must be given words here: the first test says which is missing.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
import typer

from agentmem_cli._entry import main
from agentmem_cli.cli.app import app
from agentmem_cli.cli.text import width
from agentmem_cli.session.codec import dumps
from tests.cli.running import header, join, message, ok, pushed, record, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    from agentmem_cli.session.codec import Object

S = "o'd \"d 日本🙂"
"""The session: blanks, quotes, wide letters and an emoji."""

EVIL = "\x1b]0;owned\x07\x1b[2Jx\r\u202egnp\u2028\n\U000e0041日本"
"""What a text must not do to a terminal."""

IMAGE = "blob:" + "0" * 64 + ".png"

WORDS: dict[str, str] = {
    "list": "--tree",
    "show": "S --asides",
    "log": "S --all",
    "as-of": "S now",
    "diff": "S start",
    "grep": "harvest -C1",
    "stats": "S",
    "blobs": "S",
    "scan": "S --no-rules --literals LITERALS",
    "export": "S --as markdown",
    "new": "another",
    "append": "S --role user",
    "splice": "S 0:1",
    "compact": "S --keep 5",
    "clear": "S --keep 0 --keep-under 0",
    "undo": "S",
    "redo": "S",
    "restore": "S start",
    "core list": "S",
    "core show": "S",
    "core get": "S human",
    "core render": "S",
    "core lint": "S",
    "core set": "S facts text",
    "core append": "S human text",
    "core replace": "S human --old Ada --new Bob",
    "core insert": "S human text --line 1",
    "core label": "S human label",
    "core remove": "S human",
    "core clear": "S",
    "core edit": "S human",
    "core protect": "S human",
    "core unprotect": "S human",
    "core config": "S",
    "core history": "S",
    "core diff": "S start",
    "core blame": "S human",
    "core undo": "S",
    "core restore": "S human --as-of now",
    "core export": "S",
    "core import": "S CORE",
    "value list": "S",
    "value get": "S key",
    "value set": "S key 2",
    "value unset": "S key",
    "meta show": "S",
    "meta title": "S title",
    "meta label": "S k=v",
    "meta refresh": "S",
    "fork": "S",
    "import": "SOURCE",
    "rename": "S other",
    "redact": "S --no-rules --literals LITERALS --yes --force",
    "rewrite": "S --replace-file PAIRS --yes --force",
    "remap": "/old=/new S --yes --force",
    "verify": "S",
    "repair": "S --force",
    "gc": "S --yes --force",
    "rm": "S --dry-run --force",
    "prune": "--larger 1B --dry-run --force",
    "schema": "",
    "completion": "bash",
}
"""Words that make each command do something, by its name."""

TABLES = {
    "list": "ID",
    "log": "",
    "stats": "  messages",
    "blobs": "NAME",
    "scan": "WHERE",
    "core list": "TYPE",
    "core history": " ",
    "core blame": " ",
    "value list": "KEY",
    "schema": "NAME",
}
"""Commands that print a table, and how the first of its rows begins."""

BYTES = ("core get", "core render", "export", "completion")
"""Commands that give bytes out as they are, where no person looks on."""


def _leaves() -> list[str]:
    found: list[str] = []
    waiting = [("", typer.main.get_command(app))]
    while waiting:
        name, command = waiting.pop()
        inner = getattr(command, "commands", None)
        if inner is None:
            found.append(name)
        else:
            waiting += [(f"{name} {word}".strip(), inner[word]) for word in inner]
    return sorted(found)


def test_every_command_is_tried() -> None:
    assert sorted(WORDS) == _leaves()


def _make(root: Path, folder: Path) -> None:
    """Write the session, and the files that the words name."""
    function: Object = {"name": EVIL, "arguments": {"p": EVIL}}
    call: Object = {"type": "toolcall", "id": "c", "function": function}
    text = f"harvest /old/x Rosebud-77 {EVIL}" + "\nline" * 2_000
    result: Object = {
        "type": "toolresult",
        "call": "c",
        "name": EVIL,
        "content": [{"type": "text", "text": text}],
    }
    image: Object = {"type": "image", "data": {"type": "url", "value": IMAGE}}
    aside: Object = {"kind": "note", "author": {"kind": "rig", "title": EVIL}, "value": EVIL}
    block: Object = {
        "content": "Ada\nharvest " + EVIL,
        "label": "l",
        "id": "00000000-0000-4000-8000-000000000001",
        "created": 1,
        "modified": 2,
        "by": EVIL,
    }
    lines = [
        header(),
        record(1, "state", key="rig::title", value=EVIL),
        record(2, "state", key="key", value=EVIL),
        pushed(3, message("user", "harvest " + EVIL), id_=0),
        pushed(4, {"role": "assistant", "content": [call]}, id_=1),
        pushed(5, {"role": "user", "content": [result]}, id_=2),
        record(6, "aside", id=0, aside=aside),
        pushed(7, {"role": "user", "content": [image, {"type": EVIL}]}, id_=3),
        pushed(8, message("assistant", "a long reply " * 300, errorMessage=EVIL), id_=4),
        pushed(9, message("user", "last"), id_=5),
    ]
    write(root, S, "main", join(lines))
    aide = header("aide", n=20, parent="main")
    write(root, S, "aide", join([aide, pushed(1, message("user", "x"), n=21)]))
    own = [header("session", n=10), record(1, "state", n=11, key="core_memory.human", value=block)]
    write(root, S, "session", join(own))
    files = {
        "LITERALS": b"Rosebud-77\n",
        "PAIRS": b"Rosebud-77 ==> sled\n",
        "CORE": dumps({"blocks": [{"type": "facts", "content": "x"}]}),
        "SOURCE": b'[{"role":"user","content":"Hello"}]',
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("everywhere")
    _make(folder / "root", folder)
    return folder


class Ran(NamedTuple):
    status: int
    out: bytes
    err: str


class _Screen(io.BytesIO):
    """A terminal that keeps what it was given."""

    def isatty(self) -> bool:
        return True


@contextmanager
def _standard(name: str, stream: io.TextIOWrapper) -> Iterator[None]:
    before = getattr(sys, name)
    setattr(sys, name, stream)
    try:
        yield
    finally:
        setattr(sys, name, before)


@pytest.fixture
def call(
    template: Path, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Ran]:
    """Run a command on a fresh copy of the session, with standard output as it is told."""
    monkeypatch.setenv("EDITOR", "true")
    monkeypatch.setenv("PAGER", "cat")

    def run(
        name: str,
        *more: str,
        target: BinaryIO | None = None,
        encoding: str = "utf-8",
        screen: bool = False,
    ) -> Ran:
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(template / "root", root)
        known = {"S": S, **{each.name: str(each) for each in template.iterdir()}}
        words = [known.get(word, word) for word in f"{name} {WORDS[name]}".split()]
        if name == "redo":
            ok("undo", S)
        if name in ("core undo", "core history"):
            ok("core", "set", S, "facts", "before")
        held = _Screen() if screen else io.BytesIO()
        told = io.BytesIO()
        out = io.TextIOWrapper(held if target is None else target, encoding, write_through=True)
        err = io.TextIOWrapper(told, encoding, write_through=True)
        given = io.TextIOWrapper(io.BytesIO(b"said"), "utf-8")
        with _standard("stdout", out), _standard("stderr", err), _standard("stdin", given):
            status = main([*words, *more])
            out.flush()
        data = held.getvalue()
        out.detach()
        return Ran(status, data, told.getvalue().decode())

    return run


@pytest.fixture
def full() -> Iterator[BinaryIO]:
    descriptor = os.open("/dev/full", os.O_WRONLY)
    with open(descriptor, "wb", buffering=0) as stream:  # noqa: PTH123 - by its descriptor
        yield stream


@pytest.fixture
def closed() -> Iterator[Callable[[], BinaryIO]]:
    made: list[BinaryIO] = []

    def pipe() -> BinaryIO:
        reader, writer = os.pipe()
        os.close(reader)
        made.append(open(writer, "wb", buffering=0))  # noqa: PTH123, SIM115 - by its descriptor
        return made[-1]

    yield pipe
    for each in made:
        each.close()


@pytest.mark.parametrize("name", WORDS)
def test_it_does_its_work_with_json_and_without(name: str, call: Callable[..., Ran]) -> None:
    plain, as_json = call(name), call(name, "--json") if name != "export" else call(name)

    assert plain.status in (0, 1), plain
    assert as_json.status in (0, 1), as_json
    assert name in BYTES or b"\x1b" not in plain.out
    assert b"\x1b" not in as_json.out or name == "export"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("name", WORDS)
def test_a_full_disk_behind_the_output_is_an_error(
    name: str, call: Callable[..., Ran], full: BinaryIO
) -> None:
    plain = call(name)

    done = call(name, target=full)

    assert done.status == (2 if plain.out else plain.status)
    assert ("No space left on device" in done.err) == bool(plain.out)
    assert "Traceback" not in done.err


@pytest.mark.parametrize("name", WORDS)
def test_a_reader_that_has_gone_is_none(
    name: str, call: Callable[..., Ran], closed: Callable[[], BinaryIO]
) -> None:
    plain = call(name)

    done = call(name, target=closed())

    assert done.status == (0 if plain.out else plain.status)
    assert "error" not in done.err


@pytest.mark.parametrize("name", WORDS)
def test_an_ascii_locale_changes_nothing(
    name: str, call: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    plain = call(name)

    done = call(name, encoding="ascii")

    assert done.status == plain.status
    assert bool(done.out) == bool(plain.out)
    assert done.out.decode("utf-8") is not None


@pytest.mark.parametrize("name", WORDS)
@pytest.mark.parametrize("environ", [{"TERM": "dumb"}, {"TERM": "xterm", "NO_COLOR": "1"}, {}])
def test_a_screen_without_colours_gets_no_escape(
    name: str, environ: dict[str, str], call: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in environ.items():
        monkeypatch.setenv(variable, value)

    done = call(name, screen=True)

    assert done.status in (0, 1)
    assert not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]|\xe2\x80[\xa8-\xae]", done.out)


@pytest.mark.parametrize("name", WORDS)
@pytest.mark.parametrize("columns", [40, 80, 400])
def test_a_screen_of_any_width_gets_colours_only_and_rows_that_fit(
    name: str, columns: int, call: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", str(columns))

    done = call(name, screen=True)

    shown = re.sub(r"\x1b\[[0-9;]*m", "", done.out.decode())
    lines = shown.splitlines()
    start = next((at for at, line in enumerate(lines) if line.startswith(TABLES.get(name, " "))), 0)
    wide = [line for line in lines[start : start + 2] if width(line) > columns]
    assert done.status in (0, 1)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u2028-\u202e]", shown)
    assert name not in TABLES or wide == []


LINES = ("verify", "repair", "gc", "rm", "prune", "redact")
"""Commands that tell in lines."""


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("columns", [40, 80])
def test_lines_for_a_screen_are_parted_between_words(
    name: str, columns: int, call: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", str(columns))

    shown = re.sub(r"\x1b\[[0-9;]*m", "", call(name, screen=True).out.decode())

    lines = shown.splitlines()
    wide = [line for line in lines if width(line) > columns and " " in line.strip()]
    assert lines
    assert wide == []
