from __future__ import annotations

import errno
import io
import json
import sys
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.cli import output

if TYPE_CHECKING:
    from pathlib import Path


class Refusing(io.BytesIO):
    """A stream that takes nothing."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error

    def write(self, data: object) -> int:
        raise self.error


def test_lines_are_utf_8_whatever_the_locale() -> None:
    stream = io.BytesIO()

    with output.Output(stream) as out:
        out.line("Grüße ☃")
        out.write("a\udc80b")
        out.line()

    assert stream.getvalue() == "Grüße ☃\na\\udc80b\n".encode()


def test_an_object_is_one_line_that_names_its_schema_first() -> None:
    stream = io.BytesIO()

    with output.Output(stream) as out:
        out.object("agentmem.test/1", {"text": "a\nb", "n": 2**70})

    assert stream.getvalue() == b'{"schema":"agentmem.test/1","text":"a\\nb","n":%d}\n' % 2**70


@pytest.mark.parametrize(
    "text",
    ["\x1b[2J", "\x7f", "\x9b31m", "\u202e", "\u2066", "\u200b", "\ufeff", "\U000e0041", "\ud800"],
)
def test_what_drives_a_terminal_is_escaped_in_json(text: str) -> None:
    line = output.json_line({"text": f"é{text}☃"})

    shown = line.decode()
    assert shown.isprintable() or shown.removesuffix("\n").isprintable()
    assert "é" in shown
    assert json.loads(line) == {"text": f"é{text}☃"}


def test_what_is_written_comes_out_whole_and_in_order() -> None:
    stream = io.BytesIO()
    lines = [f"line {number}" for number in range(50_000)]

    with output.Output(stream) as out:
        for line in lines:
            out.line(line)

    assert stream.getvalue().decode().splitlines() == lines


def test_what_was_printed_before_comes_first(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    sys.stdout.write("first\n")

    with output.Output() as out:
        out.line("second")

    assert capfdbinary.readouterr().out == b"first\nsecond\n"


def test_a_line_on_a_terminal_is_written_at_once() -> None:
    stream = io.BytesIO()
    out = output.Output(stream, is_terminal=True)

    out.line("now")

    assert stream.getvalue() == b"now\n"


def test_a_reader_that_went_away_is_told_apart() -> None:
    out = output.Output(Refusing(BrokenPipeError(errno.EPIPE, "gone")))
    out.line("a")

    with pytest.raises(output.ClosedOutputError):
        out.flush()


def test_a_full_disk_names_standard_output() -> None:
    out = output.Output(Refusing(OSError(errno.ENOSPC, "No space left on device")))
    out.line("a")

    with pytest.raises(OSError, match="No space left on device") as caught:
        out.close()

    assert caught.value.filename == output.STANDARD_OUTPUT
    assert caught.value.errno == errno.ENOSPC


def test_what_was_written_before_an_error_is_handed_over() -> None:
    stream = io.BytesIO()
    out = output.Output(stream)
    out.line("before")

    out.__exit__(ValueError, ValueError("bad"), None)

    assert stream.getvalue() == b"before\n"


def test_standard_output_that_was_closed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)

    with pytest.raises(OSError, match="Bad file descriptor") as caught:
        output.Output()

    assert caught.value.filename == output.STANDARD_OUTPUT


def test_a_warning_is_safe_and_each_line_names_the_program(
    capsys: pytest.CaptureFixture[str],
) -> None:
    output.warn("a\x1bb\nc")

    assert capsys.readouterr().err == "agentmem: a␛b\nagentmem: c\n"


def test_talk_that_nobody_hears_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    refusing = io.TextIOWrapper(Refusing(OSError(errno.ENOSPC, "full")))
    monkeypatch.setattr(sys, "stderr", refusing)
    output.warn("unheard")
    monkeypatch.setattr(sys, "stderr", None)
    output.warn("unheard")
    monkeypatch.undo()

    assert refusing.closed is False


@pytest.mark.parametrize(
    ("environ", "is_terminal", "forbidden", "colour"),
    [
        ({"TERM": "xterm"}, True, False, True),
        ({"TERM": "xterm"}, False, False, False),
        ({"TERM": "xterm"}, True, True, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, True, False, False),
        ({"TERM": "xterm", "NO_COLOR": ""}, True, False, True),
        ({"TERM": "dumb"}, True, False, False),
        ({}, True, False, False),
    ],
)
def test_colour_is_for_capable_terminals_that_nobody_forbade(
    environ: dict[str, str], is_terminal: bool, forbidden: bool, colour: bool
) -> None:
    assert output.use_colour(environ, is_terminal=is_terminal, forbidden=forbidden) is colour


def test_the_pager_is_the_persons_own_where_there_is_one(tmp_path: Path) -> None:
    pager = tmp_path / "my pager"
    pager.write_text("#!/bin/sh\n")
    pager.chmod(0o700)
    path = str(tmp_path)

    assert output.pager_command({"PAGER": "'my pager' -x", "PATH": path}) == ["my pager", "-x"]
    assert output.pager_command({"AGENTMEM_PAGER": "'my pager'", "PAGER": "x", "PATH": path}) == [
        "my pager"
    ]
    assert output.pager_command({"AGENTMEM_PAGER": "", "PAGER": "'my pager'", "PATH": path}) == []
    assert output.pager_command({"PAGER": "", "PATH": path}) == []
    assert output.pager_command({"PAGER": "cat", "PATH": path}) == []
    assert output.pager_command({"PAGER": "'unclosed", "PATH": path}) == []
    assert output.pager_command({"PAGER": "not-there", "PATH": path}) == []
    assert output.pager_command({"PATH": path}) == []


def _paging(tmp_path: Path, screen_lines: int) -> tuple[output.Paged, io.BytesIO, Path]:
    pager = tmp_path / "pager"
    seen = tmp_path / "seen"
    pager.write_text(f"#!/bin/sh\nexec cat > '{seen}'\n")
    pager.chmod(0o700)
    stream = io.BytesIO()
    return output.Paged([str(pager)], screen_lines, stream), stream, seen


def test_a_text_that_fits_the_screen_goes_past_the_pager(tmp_path: Path) -> None:
    paged, stream, seen = _paging(tmp_path, screen_lines=5)

    with paged as out:
        for number in range(4):
            out.line(str(number))

    assert stream.getvalue() == b"0\n1\n2\n3\n"
    assert not seen.exists()


def test_a_text_taller_than_the_screen_goes_through_the_pager_whole(tmp_path: Path) -> None:
    paged, stream, seen = _paging(tmp_path, screen_lines=5)

    with paged as out:
        for number in range(10_000):
            out.line(str(number))

    assert stream.getvalue() == b""
    assert seen.read_text().splitlines() == [str(number) for number in range(10_000)]


def test_a_pager_that_is_left_early_ends_the_output_quietly(tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\nexit 0\n")
    pager.chmod(0o700)

    stream = io.BytesIO()
    out = output.Paged([str(pager)], 2, stream)

    with pytest.raises(output.ClosedOutputError) as caught:
        out.write_bytes(b"line\n" * 1_000_000)
    out.__exit__(caught.type, caught.value, None)

    assert stream.getvalue() == b""


def test_a_pager_that_does_not_start_is_done_without() -> None:
    stream = io.BytesIO()

    with output.Paged(["/nowhere/pager"], 2, stream) as out:
        for number in range(5):
            out.line(str(number))

    assert stream.getvalue() == b"0\n1\n2\n3\n4\n"
