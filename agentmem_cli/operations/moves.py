r"""Folders that moved: finding paths in text, whole parts only, and writing the new ones.

``/home/u/proj`` is found in ``/home/u/proj/src`` and never in
``/home/u/proj-docker``. Both spellings that Unicode has of one name are found;
paths of Windows are compared without case, and with one slash, one backslash
or two (as code and nested JSON write it). A part that is percent-encoded (in a
``file:`` address) is found too, and written so again.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote

from agentmem_cli.errors import UsageError
from agentmem_cli.operations.projects import is_windows

if TYPE_CHECKING:
    from collections.abc import Sequence

_BEFORE: Final = (
    r"(?:(?<![\w./\\~%@+-])|(?<=://)|(?<=^-[A-Za-z])|(?<=[\s\"'=]-[A-Za-z])|(?<=\\[nrt]))"
)
r"""What may stand before a path in text: no part of a longer one; an option's letter may
(``-I/usr``), and so may a line's end as nested JSON writes it (``\n``)."""

_LONG: Final = r"(?:(?<=://)/|\\{2,4}[?.]\\{1,2})?"
"""What may stand before a drive: an address's slash, or the sign of a path that may be long."""

_GOES_ON: Final = (
    r"[\w~@+\u0300-\u036f-]"  # letters, digits and what names are otherwise made of
    r"|\.(?=[\w~.@+-])"  # a dot that does not end a sentence
    r"|%(?!2[Ff])[0-9A-Fa-f]{2}"  # a character of an address, but for its slash
    r"|\\[ ()&'$;]"  # a character that a shell was told to take as it is
)
"""What makes the part that was compared only the beginning of a longer name."""

_REST: Final = r"(?:(?:\\{1,2}|/)(?:[^\s\"'<>|:*?\\/]+)?)*"
"""The parts behind a folder of Windows, to be written with other separators."""


class Move(NamedTuple):
    """A folder that moved."""

    old: str
    new: str


def parse_moves(words: Sequence[str]) -> list[Move]:
    """Read ``OLD=NEW`` words.

    Raises:
        UsageError: One is none, names no absolute folder, or two have one OLD.
    """
    moves = [_parse(word) for word in words]
    seen: set[str] = set()
    for move in moves:
        key = unicodedata.normalize("NFC", move.old)
        key = key.replace("\\", "/").casefold() if is_windows(move.old) else key
        if key in seen:
            msg = f"{move.old!r} is moved twice"
            raise UsageError(msg)
        seen.add(key)
    return moves


def _parse(word: str) -> Move:
    halves = [(word[:at], word[at + 1 :]) for at, sign in enumerate(word) if sign == "="]
    fitting = [(old, new) for old, new in halves if _is_absolute(old) and _is_absolute(new)]
    if not halves:
        msg = f"{word!r} is no OLD=NEW"
        raise UsageError(msg, hint="Write the old folder, an equals sign and the new one.")
    if not fitting:
        msg = f"{word!r}: both folders must be absolute paths"
        raise UsageError(msg, hint="Like /home/ada/proj=/srv/proj or C:\\proj=D:\\proj.")
    if len(fitting) > 1:
        msg = f"{word!r} can be read in {len(fitting)} ways"
        raise UsageError(msg, hint="Move a folder above the one with = in its name.")
    old, new = (_trimmed(path) for path in fitting[0])
    if not _parts(old):
        msg = f"{old!r} is the root of everything"
        raise UsageError(msg, hint="Name a folder.")
    if old == new:
        msg = f"{old!r} moves nowhere"
        raise UsageError(msg)
    return Move(old, new)


def _is_absolute(path: str) -> bool:
    return path.startswith("/") or is_windows(path)


def _parts(path: str) -> list[str]:
    parts = re.split(r"[\\/]+" if is_windows(path) else "/+", path)
    parts = [part for part in parts if part not in ("", ".")]
    return parts[1:] if is_windows(path) and ":" in parts[0] else parts


def _trimmed(path: str) -> str:
    """Return *path* without slashes at its end, those of a root excepted."""
    if is_windows(path):
        stem = path.rstrip("\\/")
        return f"{stem}\\" if stem.endswith(":") else stem
    return path.rstrip("/") or "/"


class Moves:
    """Writes the new paths in the place of the old ones, all in one pass over a text."""

    def __init__(self, moves: Sequence[Move]) -> None:
        """Look for *moves*; where several fit, the one whose old folder is the deepest counts."""
        inner_first = sorted(moves, key=lambda move: -len(_parts(move.old)))
        self._variants = [
            (form, encoded, move)
            for move in inner_first
            for form, encoded in ((_form(move.old), False), (_encoded_form(move.old), True))
            if form
        ]
        forms = [f"(?P<m{at}>{form})" for at, (form, _, _) in enumerate(self._variants)]
        rests = [_REST if _crosses(move) else "" for _, _, move in self._variants]
        ends = f"(?!{_GOES_ON})"
        in_text = "|".join(f"{form}{ends}{rest}" for form, rest in zip(forms, rests, strict=True))
        self._in_text = re.compile(f"{_BEFORE}(?:{in_text})")
        slashes = [r"[/\\]" if is_windows(move.old) else "/" for _, _, move in self._variants]
        alone = [f"{form}(?={ends}|\\Z)" for form, ends in zip(forms, slashes, strict=True)]
        self._at_start = re.compile("|".join(alone))
        self.probes = sorted({_probe(move.old) for move in moves})
        """ASCII words of which one stands in every text that changes; ``""``: there is none."""
        self.any_case = any(is_windows(move.old) for move in moves)
        """Whether the words stand there in any case."""

    def text(self, text: str) -> str:
        """Return *text* with every old path in it made the new one."""
        return self._in_text.sub(self._written, text)

    def argument(self, text: str) -> str:
        """Return an argument of a call: a path, or text with paths in it.

        A path at its beginning that a space follows is a longer name.
        """
        found = self._in_text.match(text)
        if found is None or not text.startswith(" ", found.end()):
            return self.text(text)
        return text[: found.end()] + self.text(text[found.end() :])

    def path(self, text: str) -> str:
        """Return *text*, which is one path and nothing else, or the new path in its place."""
        found = self._at_start.match(text)
        return text if found is None else self._new(found, text[found.end() :])

    def _written(self, found: re.Match[str]) -> str:
        assert found.lastgroup is not None
        return self._new(found, found[0][len(found[found.lastgroup]) :])

    def _new(self, found: re.Match[str], rest: str) -> str:
        assert found.lastgroup is not None
        _, encoded, move = self._variants[int(found.lastgroup[1:])]
        old, new = found[found.lastgroup], move.new
        is_address = found.string.endswith("://", 0, found.start())
        if is_windows(new):
            between = "/" if encoded or is_address else "\\"
            if is_windows(move.old):
                between = _separator(old)
            long = re.match(_LONG, old) if is_windows(move.old) else None
            new = re.sub(r"[\\/]", lambda _: between, new)
            rest = re.sub(r"\\{1,2}|/", lambda _: between, rest)
            if long is not None and is_windows(move.old):
                new = ("/" if old.startswith("/") else long[0]) + new
            elif is_address:
                new = f"/{new}"
        elif is_windows(move.old):
            rest = re.sub(r"\\{1,2}", "/", rest)
        return (quote(new, safe="/:") if encoded else new) + rest


def _crosses(move: Move) -> bool:
    """Whether what stands behind the folder needs other separators."""
    return is_windows(move.old) != is_windows(move.new)


def _separator(old: str) -> str:
    found = re.search(r"(?<=[^\\/?.])(?:\\{1,2}|/)", old)
    return found[0] if found else "\\"


def _form(old: str) -> str:
    """Return the expression for *old* as it stands in text."""
    if not is_windows(old):
        return "/" + "/+".join(map(_spelled, _parts(old)))
    between = r"(?:\\{1,2}|/)"
    parts = [f"(?i:{_spelled(part)})" for part in _parts(old)]
    drive = re.match(r"[A-Za-z]:", old)
    if drive is None:
        return r"(?:\\{4}|\\{2}|//)" + between.join(parts)
    return f"{_LONG}(?i:{drive[0]})" + "".join(f"{between}{part}" for part in parts)


def _encoded_form(old: str) -> str:
    """Return the expression for *old* percent-encoded; "" where that changes nothing."""
    if is_windows(old):
        return ""
    forms = {quote(unicodedata.normalize(form, old)) for form in ("NFC", "NFD")} - {old}
    return "|".join(f"(?i:{re.escape(form)})" for form in sorted(forms))


def _spelled(part: str) -> str:
    """Return the expression for both ways in which Unicode writes *part*."""
    found = []
    for sign in unicodedata.normalize("NFC", part):
        apart = unicodedata.normalize("NFD", sign)
        one = re.escape(sign)
        found.append(one if apart == sign else f"(?:{one}|{re.escape(apart)})")
    return "".join(found)


def _probe(old: str) -> str:
    parts = "/".join(_parts(unicodedata.normalize("NFC", old)))
    words = re.findall(r"[A-Za-z0-9_-]+", parts)
    # Why ASCII only: JSON may write any other sign as an escape, and addresses as a percentage.
    return max(words, key=len, default="")
