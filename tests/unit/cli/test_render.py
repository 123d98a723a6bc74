from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem_cli.cli import render, text
from agentmem_cli.cli.output import Output
from agentmem_cli.cli.render import Column
from agentmem_cli.cli.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

COLUMNS = (Column("id", least=4), Column("messages", "right"), Column("title", least=6))
ROWS = (("pi-0001", "12", "A title\nof two lines"), ("世界", "1,003", "x\x1b[2J"))


class Screen(Settings):
    """Settings of a screen *wide* columns wide (None: no terminal)."""

    def __init__(self, wide: int | None, *, colour: bool = False) -> None:
        super().__init__(environ={})
        self.columns = wide
        self.colour = colour


def _lines(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], settings: Settings
) -> list[str]:
    stream = io.BytesIO()
    with Output(stream) as out:
        render.table(out, columns, rows, settings)
    return stream.getvalue().decode().split("\n")[:-1]


def test_off_a_terminal_a_table_is_whole_and_plain() -> None:
    lines = _lines(COLUMNS, ROWS, Screen(None))

    assert lines == [
        "id       messages  title",
        "pi-0001        12  A title␊of two lines",
        "世界        1,003  x␛[2J",
    ]


def test_on_a_terminal_a_table_fits_the_screen() -> None:
    lines = _lines(COLUMNS, ROWS, Screen(30))

    assert lines == [
        "id       messages  title",
        "pi-0001        12  A title␊of…",
        "世界        1,003  x␛[2J",
    ]


def test_colours_change_nothing_but_the_looks() -> None:
    columns = (Column("id", style="cyan"), Column("title"))
    plain = _lines(columns, ROWS, Screen(None))

    coloured = _lines(columns, ROWS, Screen(None, colour=True))

    assert coloured[0] == "\x1b[1mid     \x1b[0m  \x1b[1mtitle\x1b[0m"
    assert coloured[1].startswith("\x1b[36mpi-0001\x1b[0m  ")
    for code in ("\x1b[36m", "\x1b[1m", "\x1b[0m"):
        coloured = [line.replace(code, "") for line in coloured]
    assert coloured == plain


def test_a_table_without_titles_has_no_heading() -> None:
    lines = _lines((Column(""), Column("")), [("a", "b"), ("long", "c")], Screen(None))

    assert lines == ["a     b", "long  c"]


def test_a_table_without_rows_is_its_heading() -> None:
    assert _lines(COLUMNS, [], Screen(80)) == ["id  messages  title"]


@given(
    rows=st.lists(
        st.tuples(st.text(max_size=30), st.text(max_size=30), st.text(max_size=30)), max_size=6
    ),
    wide=st.integers(24, 120),
)
def test_every_row_is_one_line_that_fits(rows: list[tuple[str, str, str]], wide: int) -> None:
    columns = (Column("one", least=4), Column("two", "right", least=4), Column("three", least=4))

    lines = _lines(columns, rows, Screen(wide))

    assert len(lines) == len(rows) + 1
    assert max(map(text.width, lines)) <= wide


def test_the_column_with_most_to_spare_gives_way_and_none_below_its_least() -> None:
    columns = (Column("a", least=5), Column("b"), Column("c", least=10))

    assert render.fit([20, 8, 40], columns, 60) == [20, 8, 28]
    assert render.fit([20, 8, 40], columns, 40) == [12, 8, 16]
    assert render.fit([20, 8, 40], columns, 10) == [5, 8, 10]
    assert render.fit([2, 2, 2], columns, 80) == [2, 2, 2]


def test_words_are_coloured_where_there_is_colour() -> None:
    assert render.styled("word", "red", Screen(80, colour=True)) == "\x1b[31mword\x1b[0m"
    assert render.styled("word", "", Screen(80, colour=True)) == "word"
    assert render.styled("word", "red", Screen(80)) == "word"


@pytest.mark.parametrize(
    ("size_bytes", "told"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (2149, "2.1 kB"),
        (34_000, "34 kB"),
        (999_499, "999 kB"),
        (999_999, "1.0 MB"),
        (2_100_000, "2.1 MB"),
        (5 * 10**9, "5.0 GB"),
        (4 * 10**15, "4000 TB"),
    ],
)
def test_a_size_is_told_in_decimal_units(size_bytes: int, told: str) -> None:
    assert render.size(size_bytes) == told


def test_a_count_is_told_with_its_noun() -> None:
    assert render.count(1, "session") == "1 session"
    assert render.count(10_000, "session") == "10,000 sessions"
    assert render.count(2, "entry", "entries") == "2 entries"
    assert render.count(1003) == "1,003"


def test_the_end_of_long_work_tells_count_bytes_and_rate() -> None:
    told = render.summary(1003, "line", 2_100_000, 0.4)
    at_once = render.summary(1, "line", 10, 0.0)

    assert told == "1,003 lines, 2.1 MB in 0.4 s (5.2 MB/s)"
    assert at_once == "1 line, 10 B in 0.0 s"


def test_no_progress_is_counted_where_nobody_looks_on(capsys: pytest.CaptureFixture[str]) -> None:
    with render.progress("reading", 100, Settings(environ={})) as advance:
        counted = advance

    assert counted is None
    assert capsys.readouterr().err == ""


def test_progress_is_drawn_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(render, "BAR_AFTER_S", 0)
    settings = Settings(environ={})
    settings.talks = True

    with render.progress("read\x1bing [red]", 100, settings) as advance:
        assert advance is not None
        advance(60)
        advance(40)

    drawn = capsys.readouterr().err
    assert "read␛ing [red]" in drawn
    assert "100/100 bytes" in drawn


def test_short_work_draws_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    settings = Settings(environ={})
    settings.talks = True

    with render.progress("reading", 100, settings) as advance:
        assert advance is not None
        advance(100)

    assert capsys.readouterr().err == ""


def test_columns_that_can_be_spared_go_before_a_row_is_too_wide() -> None:
    columns = [
        render.Column("NAME", least=6),
        render.Column("SIZE", "right", spare=1),
        render.Column("SHARE", "right", spare=2),
        render.Column("STATE"),
    ]
    rows = [["a name of some length", "123 MB", "50.0 %", "missing"]]

    def headings(wide: int) -> list[str]:
        settings = Settings(environ={})
        settings.columns = wide
        held = io.BytesIO()
        with Output(held) as out:
            render.table(out, columns, rows, settings)
        lines = held.getvalue().decode().splitlines()
        assert all(text.width(line) <= wide for line in lines)
        return lines[0].split()

    assert headings(80) == ["NAME", "SIZE", "SHARE", "STATE"]
    assert headings(25) == ["NAME", "SIZE", "STATE"]
    assert headings(16) == ["NAME", "STATE"]
    assert headings(12) == ["NAME", "STA…"]
