"""The words of a page of HTML: foreign text made harmless, and put into elements of ours.

Every text of a session goes through `Look.text` or `Look.line`, which show what is
invisible and escape what HTML knows; nothing else of a session becomes part of a page.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.session.codec import dumps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from agentmem_cli.session.codec import JSON

BLOCK_CHARACTERS: Final = 16_000
"""Characters of one block of plain text: a browser lays out what is seen of a long one."""

GIST_CHARACTERS: Final = 160
"""Characters of what is told of a folded thing; the style cuts it at the line's end."""

_SCHEMES: Final = ("http://", "https://", "mailto:")


class Look(NamedTuple):
    """How things are written on a page, which the command line knows."""

    visible: Callable[[str], str]
    """Makes all that is invisible or drives a screen visible; newlines and tabs stay."""
    one_line: Callable[[str], str]
    """The same, newlines and tabs too."""
    time: Callable[[int], str]
    """Writes a time, in ms since 1970 in UTC, for a person, with its zone."""
    utc: Callable[[int], str]
    """Writes it for a program."""
    size: Callable[[int], str]
    """Writes a number of bytes."""
    style: str
    """The page's style sheet."""
    script: str
    """The page's script."""
    unfolded: bool = False
    """Whether calls and results stand open."""

    def text(self, text: str) -> str:
        """Return foreign *text* of any number of lines as HTML."""
        return escape(self.visible(text.replace("\r\n", "\n")))

    def line(self, text: str) -> str:
        """Return foreign *text* as HTML on one line."""
        return escape(self.one_line(text))

    def gist(self, text: str) -> str:
        """Return the beginning of foreign *text* as HTML on one line."""
        words = " ".join(text[: 4 * GIST_CHARACTERS].split())
        return self.line(cut(words, GIST_CHARACTERS))

    def plain(self, text: str) -> Iterator[str]:
        """Yield foreign *text* as preformatted blocks, as it stands."""
        for block in blocks(text):
            # Why the newline: the first one in such a block is not part of it.
            yield f'<pre dir="auto">\n{self.text(block)}</pre>\n'

    def moment(self, t_ms: int) -> str:
        """Return a time as HTML."""
        utc = self.utc(t_ms)
        told = self.time(t_ms).strip()
        # Why: a time that no calendar has is written as a number, which the element cannot say.
        return told if utc.startswith("@") else f'<time datetime="{utc}">{told}</time>'

    def fold(self, kind: str, summary: str, inner: Iterable[str]) -> Iterator[str]:
        """Yield *inner* folded under *summary*, both HTML; *kind* is the class."""
        opened = " open" if self.unfolded else ""
        yield f'<details class="{kind}"{opened}><summary>{summary}</summary>\n'
        yield from inner
        yield "</details>\n"


def cut(text: str, characters: int) -> str:
    """Return *text*, or its beginning with an ellipsis."""
    return text if len(text) <= characters else text[: characters - 1] + "\N{HORIZONTAL ELLIPSIS}"


def blocks(text: str) -> Iterator[str]:
    """Yield *text* in parts of at most `BLOCK_CHARACTERS`, cut at line ends where there are any.

    The line end at a cut is left out: each part is a block of its own.
    """
    start = 0
    while len(text) - start > BLOCK_CHARACTERS:
        stop = text.rfind("\n", start, start + BLOCK_CHARACTERS)
        over = 1
        if stop < start:
            stop, over = start + BLOCK_CHARACTERS, 0
        yield text[start:stop]
        start = stop + over
    yield text[start:]


def is_link(address: str) -> bool:
    """Whether *address* may be followed from a page: a web or mail address, nothing else."""
    return address.lower().startswith(_SCHEMES)


def link(address: str, inner: str) -> str:
    """Return a link to *address* (foreign text that `is_link`) around *inner*, HTML."""
    return f'<a href="{escape(address)}" rel="noopener noreferrer nofollow">{inner}</a>'


def arguments_gist(value: JSON) -> str:
    """Return one line about a call's arguments: the first one, then the others by name."""
    if not isinstance(value, dict):
        return "" if value is None else _short(value)
    words: list[str] = []
    for key, item in value.items():
        words.append(_short(item) if not words else f"{key[:40]}={_short(item)}")
        if sum(map(len, words)) > GIST_CHARACTERS:
            break
    return " ".join(words)


def _short(value: JSON) -> str:
    if isinstance(value, str):
        return cut(value[: 4 * GIST_CHARACTERS].strip().partition("\n")[0], GIST_CHARACTERS)
    return cut(json_text(value), GIST_CHARACTERS)


def json_text(value: JSON) -> str:
    """Return *value* as JSON, with nothing left out."""
    return dumps(value).decode("utf-8", "replace")
