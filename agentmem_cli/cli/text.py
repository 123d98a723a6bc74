"""Foreign text made safe for a screen, and its width there.

What comes out of a session was written by models, tools and strangers. On a
terminal it must neither move the cursor nor hide anything: every character
that would is replaced by a sign that shows it. Control characters become their
pictures (ESC is shown as U+241B), the rest becomes ``<U+202E>``.

Widths follow Unicode's East Asian Width, with emoji sequences counted as most
terminals draw them. Source: Unicode Standard Annex 11 and Technical Standard 51.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Align = Literal["left", "right"]

ELLIPSIS: Final = "\N{HORIZONTAL ELLIPSIS}"

_INDENT: Final = "    "
_WORD: Final = re.compile(r" *[^ ]+")

_PICTURES: Final = 0x2400
_DELETE: Final = 0x7F
_DELETE_PICTURE: Final = "\N{SYMBOL FOR DELETE}"
_NON_JOINER: Final = "\u200c"
_JOINER: Final = "\u200d"
_EMOJI_STYLE: Final = "\ufe0f"
_SKIN_TONES: Final = range(0x1F3FB, 0x1F400)
_REGIONAL: Final = range(0x1F1E6, 0x1F200)
_EMOJI: Final = range(0x1F300, 0x1FB00)
_JAMO_TAILS: Final = (range(0x1160, 0x1200), range(0xD7B0, 0xD800))
# Scripts in which a joiner between two letters changes how they are written.
_JOINING_SCRIPTS: Final = range(0x0600, 0x1D00)

# Everything that is invisible, moves the cursor or changes the direction:
# controls, format characters (but not the number signs of Arabic and Kaithi,
# which are drawn), lone surrogates, separators, fillers, variation selectors, tags.
_SUSPECTS: Final = (
    "\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\ud800-\udfff\U00013430-\U0001345f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_ASCII: Final = bytes(range(0x80))
_MAY_STAND: Final = frozenset({_NON_JOINER, _JOINER, *map(chr, range(0xFE00, 0xFE10))})


def visible(text: str) -> str:
    """Return *text* with all that could drive a terminal made visible.

    Newlines and tabs stay. Emoji sequences, and the joiners that Arabic and
    Indic scripts are written with, stay where they belong.
    """
    if (text.isprintable() and text.isascii()) or _is_plain(text):
        return text
    return _suspects(keep="\t\n").sub(_shown, text)


def _is_plain(text: str) -> bool:
    """Whether nothing in *text* but newlines and tabs is a suspect; false alarms do no harm.

    An expression takes ten times as long to say so, and almost every text is plain.
    """
    # Why JSON: it gives numbers to all controls but five, and orjson is quick at it.
    if b"\\u00" in _dumps()(text) or "\r" in text or "\x7f" in text or "\b" in text or "\f" in text:
        return False
    if text.isascii():
        return True
    rest = text.encode("utf-8", "surrogatepass").translate(None, _ASCII)
    return _suspects(keep="").search(rest.decode("utf-8", "surrogatepass")) is None


@cache
def _dumps() -> Callable[[str], bytes]:
    # Why once: an import takes as long as all else that is done to a short text.
    from agentmem_cli.session.codec import dumps

    return dumps


def one_line(text: str) -> str:
    """Return *text* as `visible` does, and on one line: newlines and tabs shown too."""
    if text.isprintable() and text.isascii():
        return text
    return _suspects(keep="").sub(_shown, text)


def width(text: str) -> int:
    """Count the columns that *text*, safe and on one line, takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(columns for _, columns in _clusters(text))


def cut(text: str, columns: int) -> str:
    """Return *text*, or as much of it as fits with an ellipsis in *columns* columns."""
    if len(text) <= columns and text.isascii():
        return text
    if width(text) <= columns:
        return text
    kept: list[str] = []
    left = columns - 1
    for cluster, taken in _clusters(text):
        if taken > left:
            break
        kept.append(cluster)
        left -= taken
    return "".join(kept).rstrip(" ") + ELLIPSIS if columns > 0 else ""


def wrapped(text: str, columns: int | None) -> str:
    """Return *text*, safe and on one line, in lines of at most *columns* columns; None: as it is.

    It is parted at spaces alone, so that a name or a path can be copied whole: a word that is
    wider than a line stays so. Lines but the first are indented.
    """
    if columns is None or width(text) <= columns:
        return text
    lines: list[str] = []
    line = ""
    for word in _WORD.findall(text):
        if line.strip() and width(line + word) > columns:
            lines.append(line)
            line = _INDENT + word.lstrip(" ")
        else:
            line += word
    return "\n".join([*lines, line])


def pad(text: str, columns: int, align: Align = "left") -> str:
    """Return *text* cut or filled with spaces to exactly *columns* columns."""
    fitting = cut(text, columns)
    space = " " * (columns - width(fitting))
    return space + fitting if align == "right" else fitting + space


def cell(text: str, columns: int) -> str:
    """Return *text* safe, on one line and cut to *columns* columns."""
    # Why: a message of megabytes in a cell of 60 columns is not walked to its end.
    # A joined emoji is the longest thing that takes so few columns.
    longest = 16 * columns + 16
    part = one_line(text[:longest])
    return cut(part + ELLIPSIS if len(text) > longest else part, columns)


@cache
def _suspects(keep: str) -> re.Pattern[str]:
    return re.compile(f"(?![{keep}])[{_SUSPECTS}]" if keep else f"[{_SUSPECTS}]")


def _shown(match: re.Match[str]) -> str:
    """Show the one character of *match*, or leave it where it does no harm."""
    character = match.group()
    code = ord(character)
    if code < ord(" "):
        return chr(_PICTURES + code)
    if code == _DELETE:
        return _DELETE_PICTURE
    if character in _MAY_STAND and _belongs(character, match.string, match.start()):
        return character
    return f"<U+{code:04X}>"


def _belongs(character: str, text: str, index: int) -> bool:
    """Is the joiner or variation selector at *index* part of what is drawn?"""
    before = text[index - 1] if index else ""
    after = text[index + 1] if index + 1 < len(text) else ""
    if character not in (_JOINER, _NON_JOINER):
        return before not in _MAY_STAND and bool(before.strip())
    if character == _JOINER and _is_emoji(after):
        return _is_emoji(before) or before == _EMOJI_STYLE
    return _joins(before) and _joins(after)


def _is_emoji(character: str) -> bool:
    return character != "" and (ord(character) in _EMOJI or unicodedata.category(character) == "So")


def _joins(character: str) -> bool:
    return (
        character != ""
        and ord(character) in _JOINING_SCRIPTS
        and unicodedata.category(character)[0] in "LM"
    )


def _clusters(text: str) -> Iterator[tuple[str, int]]:
    """Split *text* into what is drawn together, each with its columns."""
    start = 0
    columns = 0
    for index, character in enumerate(text):
        before = text[index - 1] if index else ""
        taken = _columns(character, before)
        if character == _EMOJI_STYLE and columns == 1:
            columns = 2
        elif taken and index:
            yield text[start:index], columns
            start, columns = index, taken
        else:
            columns += taken
    if text:
        yield text[start:], columns


def _columns(character: str, before: str) -> int:
    """Count the columns of *character* where it stands after *before*."""
    code = ord(character)
    if character in _MAY_STAND or unicodedata.category(character) in ("Mn", "Me"):
        return 0
    if before == _JOINER and _is_emoji(character):
        return 0
    if code in _SKIN_TONES and _is_emoji(before):
        return 0
    if any(code in tails for tails in _JAMO_TAILS):
        return 0
    if unicodedata.east_asian_width(character) in "WF":
        return 2
    # An emoji newer than this Python's tables is still drawn wide.
    new = code in _EMOJI and unicodedata.category(character) == "Cn"
    return 2 if new else 1
