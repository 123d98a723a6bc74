"""Tables, numbers and progress.

A table has one layout, made here by the widths of `cli/text.py`: on a terminal
it is cut to the screen and coloured, elsewhere it is whole and plain. Why not
by rich: the columns are then the same everywhere, a row stays a row whatever
is in it, and `list` starts as fast on a terminal as off it. rich draws the
progress bar and, on a terminal, the help, and is imported when one is drawn; this is its
only home.
"""

from __future__ import annotations

from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.cli import text, waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agentmem_cli.cli.output import Output
    from agentmem_cli.cli.settings import Settings

GAP: Final = "  "
_RESET: Final = "\x1b[0m"
_STYLES: Final = {
    "bold": "\x1b[1m",
    "dim": "\x1b[2m",
    "red": "\x1b[31m",
    "green": "\x1b[32m",
    "yellow": "\x1b[33m",
    "blue": "\x1b[34m",
    "magenta": "\x1b[35m",
    "cyan": "\x1b[36m",
}
_SIZE_STEP: Final = 1000
_TENTHS_BELOW: Final = 10


class Column(NamedTuple):
    """One column of a table.

    Attributes:
        title: Its heading; empty headings everywhere leave the heading row out.
        align: Where its cells stand: ``left`` or ``right``.
        least: Columns it keeps when the table is too wide for the screen; None:
            it is never cut.
        style: A name of `styled`; "" for none.
        spare: Where the table is too wide for the screen with every column as
            narrow as it may be, columns are left out, the one with the greatest
            number first; 0: it stays.
    """

    title: str
    align: text.Align = "left"
    least: int | None = None
    style: str = ""
    spare: int = 0


def table(
    out: Output,
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    settings: Settings,
    below: Sequence[Sequence[str]] | None = None,
) -> None:
    """Write *rows* under their headings, one line each.

    Args:
        out: Where to.
        columns: What the cells of each row are.
        rows: Foreign text or ours; it is made safe and put on one line here.
        settings: Says how wide the screen is (None: nothing is cut) and
            whether to colour.
        below: Of each row, lines to be written whole beneath it, a little inwards.
    """
    cells = [[text.one_line(each) for each in row] for row in rows]
    headings = [column.title for column in columns]
    shown = [headings, *cells] if any(headings) else cells
    widths = [max((text.width(row[at]) for row in shown), default=0) for at in range(len(columns))]
    if settings.columns is not None:
        kept = _kept(widths, columns, settings.columns)
        columns = [columns[at] for at in kept]
        shown = [[row[at] for at in kept] for row in shown]
        widths = fit([widths[at] for at in kept], columns, settings.columns)
        widths = _squeezed(widths, settings.columns)
    for number, row in enumerate(shown):
        heading = number == 0 and any(headings)
        styles = ["bold" if heading else column.style for column in columns]
        out.line(_row(row, columns, widths, styles if settings.colour else None))
        if below is not None and not heading:
            for line in below[number - any(headings)]:
                out.line(f"    {text.one_line(line)}")


def fits(columns: Sequence[Column], rows: Sequence[Sequence[str]], settings: Settings) -> bool:
    """Whether a table of *rows* need not be cut."""
    if settings.columns is None:
        return True
    widths = (
        max(text.width(text.one_line(cell)) for cell in (column.title, *(row[at] for row in rows)))
        for at, column in enumerate(columns)
    )
    return sum(widths) + len(GAP) * (len(columns) - 1) <= settings.columns


def fit(widths: Sequence[int], columns: Sequence[Column], screen_columns: int) -> list[int]:
    """Narrow *widths* until the table fits *screen_columns*, as far as `Column.least` allows.

    The column with the most to spare gives way first.
    """
    fitting = list(widths)
    excess = sum(fitting) + len(GAP) * (len(columns) - 1) - screen_columns
    while excess > 0:
        spare, at = max(
            (
                (fitting[at] - column.least, at)
                for at, column in enumerate(columns)
                if column.least is not None
            ),
            default=(0, 0),
        )
        if spare <= 0:
            break
        fitting[at] -= 1
        excess -= 1
    return fitting


def _kept(widths: Sequence[int], columns: Sequence[Column], screen_columns: int) -> list[int]:
    """Return which columns there is room for; a table of one row's width is what it is."""
    kept = list(range(len(columns)))

    def least(at: int) -> int:
        bound = columns[at].least
        return widths[at] if bound is None else min(widths[at], bound)

    while sum(map(least, kept)) + len(GAP) * (len(kept) - 1) > screen_columns:
        at = max(kept, key=lambda at: columns[at].spare)
        if not columns[at].spare:
            break
        kept.remove(at)
    return kept


def _squeezed(widths: Sequence[int], screen_columns: int) -> list[int]:
    """Narrow *widths* from the right until a row fits, whatever becomes of its cells."""
    made = list(widths)
    excess = sum(made) + len(GAP) * (len(made) - 1) - screen_columns
    for at in range(len(made) - 1, -1, -1):
        taken = min(max(excess, 0), max(made[at] - 1, 0))
        made[at] -= taken
        excess -= taken
    return made


def styled(words: str, style: str, settings: Settings) -> str:
    """Return *words*, already safe, in *style* where there is colour.

    Args:
        words: One line or several.
        style: bold, dim, red, green, yellow, blue, magenta or cyan; "" for none.
        settings: Says whether to colour.
    """
    return _coloured(words, style) if settings.colour else words


def count(number: int, noun: str = "", plural: str | None = None) -> str:
    """Write a count with its noun: ``1 session``, ``10,000 sessions``."""
    if not noun:
        return f"{number:,}"
    many = noun + "s" if plural is None else plural
    return f"{number:,} {noun if number == 1 else many}"


def size(size_bytes: int) -> str:
    """Write a size in decimal units: ``512 B``, ``2.1 kB``, ``34 MB``."""
    if abs(size_bytes) < _SIZE_STEP:
        return f"{size_bytes} B"
    value = float(size_bytes)
    for unit in ("kB", "MB", "GB", "TB"):
        value /= _SIZE_STEP
        # 999.9 kB would be written as 1000 kB.
        if abs(value) < _SIZE_STEP - 0.5 or unit == "TB":
            break
    return f"{value:.1f} {unit}" if abs(value) < _TENTHS_BELOW else f"{value:.0f} {unit}"


def summary(number: int, noun: str, size_bytes: int, elapsed_s: float) -> str:
    """Write the line that ends long work: ``1,003 lines, 2.1 MB in 0.4 s (5.2 MB/s)``."""
    told = f"{count(number, noun)}, {size(size_bytes)} in {elapsed_s:.1f} s"
    if elapsed_s <= 0:
        return told
    return f"{told} ({size(int(size_bytes / elapsed_s))}/s)"


@contextmanager
def progress(
    label: str, total_bytes: int | None, settings: Settings
) -> Iterator[Callable[[int], None] | None]:
    """Show a bar on standard error while long work is done.

    Args:
        label: What is being done, safe and short.
        total_bytes: How much there is to do; None where nobody knows.
        settings: Says whether a person reads standard error.

    Yields:
        A function that takes the bytes done since its last call; None where
        there is no terminal, so that the work need not count.
    """
    if not settings.talks:
        yield None
        return
    bar = _Bar(label, total_bytes, settings)
    with waiting.held():
        try:
            yield bar.advance
        finally:
            bar.stop()


BAR_AFTER_S = 0.5
"""Seconds that work takes before a bar is drawn: a flash of one tells nobody anything."""


class _Bar:
    """A bar that is drawn when the work turns out to be long."""

    def __init__(self, label: str, total_bytes: int | None, settings: Settings) -> None:
        self._label = label
        self._total = total_bytes
        self._settings = settings
        self._begun = monotonic()
        self._done = 0
        self._drawn: _Drawn | None = None

    def advance(self, done_bytes: int) -> None:
        self._done += done_bytes
        if self._drawn is not None:
            self._drawn.advance(done_bytes)
        elif monotonic() - self._begun >= BAR_AFTER_S:
            self._drawn = _Drawn(self._label, self._total, self._settings)
            self._drawn.advance(self._done)

    def stop(self) -> None:
        if self._drawn is not None:
            self._drawn.stop()


class _Drawn:
    """A bar of rich's."""

    def __init__(self, label: str, total_bytes: int | None, settings: Settings) -> None:
        """Draw it, at nothing."""
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        console = Console(stderr=True, no_color=settings.no_colour or None)
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            DownloadColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task(text.one_line(label), total=total_bytes)

    def advance(self, done_bytes: int) -> None:
        """Draw it further by so many bytes."""
        self._bar.advance(self._task, done_bytes)

    def stop(self) -> None:
        """Take it away."""
        self._bar.stop()


def _row(
    row: Sequence[str], columns: Sequence[Column], widths: Sequence[int], styles: list[str] | None
) -> str:
    parts = []
    last = len(columns) - 1
    for at, column in enumerate(columns):
        # Nothing follows the last cell, so nothing is filled up behind it.
        open_end = at == last and column.align == "left"
        cell = (
            text.cut(row[at], widths[at])
            if open_end
            else text.pad(row[at], widths[at], column.align)
        )
        parts.append(cell if styles is None else _coloured(cell, styles[at]))
    return GAP.join(parts).rstrip(" ")


def _coloured(words: str, style: str) -> str:
    return f"{_STYLES[style]}{words}{_RESET}" if style and words.strip() else words


HELP_COLUMNS_MAX: Final = 100
"""A help is no wider than this: longer lines are hard to read."""


def drawn_help(
    usage: str,
    texts: Sequence[str],
    boxes: Sequence[tuple[str, Sequence[tuple[str, str]]]],
    *,
    coloured: bool,
) -> str:
    """Return a help for a terminal: its usage, its texts, and a box for each section.

    Args:
        usage: How the command is called.
        texts: Paragraphs, apart by empty lines; one behind a backspace stays as it is.
        boxes: Headings, each with words and what is told about them.
        coloured: Whether in colour.
    """
    import io
    from shutil import get_terminal_size

    from rich import box
    from rich.console import Console
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    stream = io.StringIO()
    console = Console(
        file=stream,
        width=min(get_terminal_size().columns, HELP_COLUMNS_MAX),
        force_terminal=True,
        no_color=True if not coloured else None,
        highlight=False,
    )
    console.print(Text.assemble(("Usage: ", "yellow"), (usage, "bold")))
    for paragraph in (part for told in texts for part in told.split("\n\n")):
        lines = paragraph.removeprefix("\b\n").splitlines()
        kept = paragraph.startswith("\b")
        console.print(
            Text("\n" + ("\n" if kept else " ").join(map(str.strip, lines))), soft_wrap=kept
        )
    console.print()
    for title, rows in boxes:
        grid = Table.grid(padding=(0, 2), expand=True)
        grid.add_column(style="bold cyan", max_width=30)
        grid.add_column(ratio=1)
        for word, told in rows:
            grid.add_row(Text(word), Text(told.strip()))
        heading = Text(title, "bold")
        console.print(Panel(grid, title=heading, title_align="left", box=box.ROUNDED, style=""))
    return stream.getvalue().rstrip("\n")
