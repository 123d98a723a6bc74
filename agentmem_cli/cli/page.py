"""A conversation as a page of HTML: the times and sizes as on a screen, our style and script."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentmem_cli.cli.clock import screen_time, utc_time
from agentmem_cli.cli.output import encode
from agentmem_cli.cli.render import size
from agentmem_cli.cli.text import one_line, visible
from agentmem_cli.operations.html_page import Told, page
from agentmem_cli.operations.html_words import Look

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem_cli.cli.settings import Settings
    from agentmem_cli.cli.shown import Opened
    from agentmem_cli.session.fold import LogFold

STYLE: Final = Path(__file__).with_name("page.css")
SCRIPT: Final = Path(__file__).with_name("page.js")

_BLOCK_CHARACTERS: Final = 1 << 16


def page_bytes(
    settings: Settings,
    opened: Opened,
    fold: LogFold,
    wanted: range,
    *,
    unfolded: bool = False,
    asides: bool = False,
) -> Iterator[bytes]:
    """Yield the page of a conversation in blocks of bytes; they are never all in memory.

    Args:
        settings: Of this run.
        opened: The session, the agent and the place.
        fold: The agent's log, folded up to the place.
        wanted: Indexes of the entries that are shown.
        unfolded: Whether calls and results stand open.
        asides: Whether side records are shown.
    """
    told = Told(opened.id, opened.place.words, asides)
    waiting: list[str] = []
    length = 0
    for piece in page(opened.store, fold, wanted, told, look_of(settings, unfolded=unfolded)):
        waiting.append(piece)
        length += len(piece)
        if length >= _BLOCK_CHARACTERS:
            yield encode("".join(waiting))
            waiting.clear()
            length = 0
    yield encode("".join(waiting))


def look_of(settings: Settings, *, unfolded: bool = False) -> Look:
    """Return how things are written on a page."""

    def time(t_ms: int) -> str:
        return screen_time(t_ms, settings.zone)

    style, script = (_text(path) for path in (STYLE, SCRIPT))
    return Look(visible, one_line, time, utc_time, size, style, script, unfolded)


def _text(path: Path) -> str:
    # Why: a browser digests what it read, in which every line end is one character.
    return path.read_text("utf-8").replace("\r\n", "\n")
