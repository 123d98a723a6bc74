from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

import pytest

from agentmem_cli._entry import main
from agentmem_cli.cli.answer import answer
from agentmem_cli.operations import offers
from tests.cli.running import header, join, message, pushed, run, write

if TYPE_CHECKING:
    from pathlib import Path


def asked(kind: str, begun: str = "", *, wide: bool = False, root: str = "", **more: str) -> str:
    """Ask as a script of a shell does, and return what is printed."""
    words = [kind, str(int(wide)), root, more.get("session", ""), more.get("agent", ""), begun]
    done = run("__complete", *words)

    assert (done.status, done.err) == (0, "")
    return done.out


@pytest.fixture
def session(root: Path) -> Path:
    lines = [header(), pushed(1, message("user", "tea\x1b[2J"))]
    return write(root, "one", "main", join(lines))


@pytest.mark.usefixtures("session")
def test_words_are_told_one_a_line() -> None:
    assert asked("sessions") == "@last\none\n"
    assert asked("agents", session="one") == "main\n"
    assert asked("places", "m", session="one") == "m0\n"


@pytest.mark.usefixtures("session")
def test_a_wide_answer_tells_about_each_behind_a_tab() -> None:
    assert asked("places", "m", session="one", wide=True) == "m0\tuser: tea␛[2J\n"
    assert asked("places", "no", wide=True) == "now\tas it is\n"


def test_the_root_of_the_line_counts(tmp_path: Path) -> None:
    (tmp_path / "elsewhere" / "mine").mkdir(parents=True)

    assert asked("sessions", "m", root=str(tmp_path / "elsewhere")) == "mine\n"


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["sessions"],
        ["nothing", "0", "", "", "", ""],
        ["sessions", "0", "a\0b", "", "", ""],
        ["agents", "0", "", "no such", "", ""],
        ["agents", "0", "", "", "", ""],
        ["places", "1", "", "no such", "", "m"],
        ["sessions", "1", "", "", "", "\udcff"],
    ],
)
def test_trouble_offers_nothing_and_says_nothing(words: list[str], root: Path) -> None:
    root.write_text("not a folder")

    done = run("__complete", *words)

    assert done == (0, b"", b"")


def test_a_name_that_is_no_text_and_a_stream_that_is_ascii_do_no_harm(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "é\udcff").mkdir(parents=True)
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)

    ended = main(["__complete", "sessions", "0", "", "", "", "é"])

    assert ended == 0
    assert isinstance(stream.buffer, io.BytesIO)
    assert stream.buffer.getvalue().decode() == "é<U+DCFF>\n"


def test_no_standard_output_is_no_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)

    assert answer(["places", "0", "", "", "", "n"]) == 0


def test_whatever_goes_wrong_is_kept_still(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(offers, "sessions", broken)

    assert asked("sessions") == ""
