r"""Known values, searched for wherever they stand and however they are written.

A value is looked for as it is, as JSON writes or may write it (in up to three
layers; ``\/`` and ``\u0041`` too, with quotes around or not), percent-encoded, and
in base64 and base64url at any of the three places where its bytes can begin in
a group. A search has two steps. Raw bytes are searched for *probes*: of each
written form, the longest run of characters that JSON writes in one way. Where a
probe is, or where JSON writes a plain character by its number, the form may
stand; there, what the strings say is searched for the whole forms. So nothing is
decoded where no value can be.

This module alone imports the automaton, ``ahocorasick_rs``.
"""

from __future__ import annotations

import re
from base64 import b64encode
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias
from urllib.parse import quote, quote_plus

import ahocorasick_rs

from agentmem_cli.operations.secrets.plain import spelled
from agentmem_cli.session.tokens import encode_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

JSON_LAYERS: Final = 3
"""How often a value is escaped when it is searched for within one string."""

LONG: Final = 200
"""Characters from which a value of several lines is searched for as it is and in JSON only.

It is a key whose first line is a value of its own, in every encoding.
"""

PROBE_MIN: Final = 4
"""Characters of a probe that is telling enough; a shorter one stands nearly everywhere."""

PROBE_MAX: Final = 8
"""Characters of a probe; more tell no more, and make the automaton large."""

HEAD_BYTES: Final = 64
"""Bytes of a form that the automaton knows; a key's, in ten writings, would make it large."""

DFA_BYTES_MAX: Final = 100_000
"""Bytes of patterns up to which the fastest automaton is built: 0.2 s and 50 MB at most."""

_OFTEN: Final = (
    b" etnras\"oil\\0cdpfmh:ug,w._by2-1k4x/5836v'()T79E{}IALN=CRS#q[]>OUDPzFBMVZHGWjKXYQJ"
    b"+*!|$<%@`;?^&~"
)
"""The signs of transcripts, the most frequent first."""

_RARITY: Final = bytes(_OFTEN.find(sign) % 256 for sign in range(256))
"""Of each byte, how rare it is; 255 for what stands nearly nowhere."""

_RUN: Final = re.compile(rb'[^\x00-\x1f"\\/\x7f-\xff]+')
"""What JSON writes as it is, or by its number."""

NUMBERED: Final = tuple(rb"\u00%d" % tens for tens in range(2, 8))
"""How a plain character begins that is written by its number."""

_BASE64: Final = re.compile(rb"[A-Za-z0-9+/_-]*={0,2}")
_SIGNS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-"
_NEAR: Final = 1 << 16
"""Bytes of base64 on either side that are taken to be of one piece with what was found."""

_CUTS: Final = ((0, 0), (2, 0), (3, 0))
"""Base64 characters that depend on the bytes before, when those are 0, 1 or 2 in the group."""


class Hit(NamedTuple):
    """A value that was found."""

    start: int
    end: int
    value: int
    """Its place among the values searched for."""


class Literals:
    """A set of values, made once, used by any number of threads.

    Args:
        values: What is searched for, none of them empty.
        parts: What is searched for as it is only; its place is counted on from the values.
        weak: What is not searched for by itself, yet makes a line worth a look.
    """

    def __init__(
        self, values: Sequence[str], parts: Sequence[str] = (), weak: Iterable[str] = ()
    ) -> None:
        forms: dict[bytes, tuple[int, bool]] = {}
        probes: set[bytes] = set()
        for index, value in enumerate(values):
            for form, is_base64 in forms_of(value):
                forms.setdefault(form, (index, is_base64))
                probes.update(probes_of(form))
        for index, part in enumerate(parts, len(values)):
            forms.setdefault(part.encode("utf-8", "replace"), (index, False))
        for value in (*parts, *weak):
            probes.update(probes_of(value.encode("utf-8", "replace")))
        self._forms = forms
        heads: dict[bytes, set[int]] = {}
        for form in forms:
            heads.setdefault(form[:HEAD_BYTES], set()).add(len(form))
        self._lengths = [sorted(lengths) for lengths in heads.values()]
        self._exact = automaton(list(heads), overlapping=True) if heads else None
        self._probe = automaton(sorted({*probes, *NUMBERED}), overlapping=False) if probes else None

    def candidates(self, data: bytes) -> list[int]:
        """Return offsets in *data*, rising, with at least one on each line where a value may be."""
        return [] if self._probe is None else places(self._probe, data)

    def find(self, text: bytes) -> list[Hit]:
        """Return where in *text*, which is decoded, values stand; none overlaps another.

        What is in base64 is found with all the base64 around it, and what is escaped as JSON
        may do it, with its escapes.
        """
        hits = self._hits(text)
        views = spelled(text) if self._exact is not None else []
        for layer, view in enumerate(views):
            for start, end, value in self._hits(view.data):
                place = start, end
                for outer in reversed(views[: layer + 1]):
                    place = outer.start(place[0]), outer.end(place[1])
                hits.append(Hit(*place, value))
        return hits if len(hits) < 2 else _apart(hits)  # noqa: PLR2004 - two may overlap

    def _hits(self, text: bytes) -> list[Hit]:
        if self._exact is None:
            return []
        hits = []
        for head, start, _ in self._exact.find_matches_as_indexes(text, overlapping=True):
            for length in self._lengths[head]:
                end = start + length
                found = self._forms.get(text[start:end])
                if found is None or end > len(text):
                    continue
                value, is_base64 = found
                hits.append(Hit(*(_around(text, start, end) if is_base64 else (start, end)), value))
        return hits


Automaton: TypeAlias = ahocorasick_rs.BytesAhoCorasick
"""What searches bytes for several patterns at once."""


def automaton(patterns: list[bytes], *, overlapping: bool) -> Automaton:
    """Build what searches for *patterns* at once: one after the other, or all that overlap.

    The first kind goes over everything, so its building pays; the other over few lines.
    """
    small = sum(map(len, patterns)) <= DFA_BYTES_MAX
    kind = ahocorasick_rs.Implementation
    return ahocorasick_rs.BytesAhoCorasick(
        patterns,
        ahocorasick_rs.MatchKind.Standard,
        kind.NoncontiguousNFA if overlapping else kind.DFA if small else kind.ContiguousNFA,
    )


def places(search: Automaton, data: bytes) -> list[int]:
    """Return offsets in *data*, rising, with at least one on each line that holds a pattern."""
    return [start for _, start, _ in search.find_matches_as_indexes(data)]


def forms_of(value: str) -> Iterator[tuple[bytes, bool]]:
    """Yield the ways in which *value* is written, each with whether it is in base64."""
    plain = value.encode("utf-8", "replace")
    yield plain, False
    for escaped in _escaped(value):
        yield escaped, False
    if len(value) > LONG and "\n" in value:
        return
    for encoded in _percent(value):
        yield encoded, False
    for encoded in _base64(plain):
        yield encoded, True


def _escaped(value: str) -> Iterator[bytes]:
    plain, ascii_only = value, value
    for _ in range(JSON_LAYERS):
        plain = encode_text(plain).decode()
        ascii_only = _ascii(encode_text(ascii_only).decode())
        if plain == ascii_only == value:
            return
        yield plain.encode()
        yield ascii_only.encode()
        if "/" in plain:
            yield plain.replace("/", "\\/").encode()


def _ascii(text: str) -> str:
    if text.isascii():
        return text
    return "".join(each if each.isascii() else _numbered(each) for each in text)


def _numbered(character: str) -> str:
    pair = character.encode("utf-16-be", "surrogatepass")
    return "".join(rf"\u{pair[at]:02x}{pair[at + 1]:02x}" for at in range(0, len(pair), 2))


def _percent(value: str) -> Iterator[bytes]:
    if _UNRESERVED.fullmatch(value):
        return
    safe = value.encode("utf-8", "replace").decode()
    for kept in ("", "/", "!'()*", ";,/?:@&=+$#!'()*"):
        encoded = quote(safe, safe=kept)
        yield encoded.encode()
        yield _LOWER.sub(lambda found: found[0].lower(), encoded).encode()
    yield quote_plus(safe).encode()


_UNRESERVED: Final = re.compile(r"[A-Za-z0-9._~-]+")
_LOWER: Final = re.compile("%[0-9A-F]{2}")


def _base64(plain: bytes) -> Iterator[bytes]:
    for before, (cut, _) in enumerate(_CUTS):
        whole = b64encode(b"\0" * before + plain)
        # The last group is whole only if the bytes fill it.
        over = (before + len(plain)) % 3
        end = len(whole) - (0 if over == 0 else 3 if over == 2 - 1 else 2)
        core = whole[cut:end]
        if len(core) >= BASE64_MIN:
            yield core
            if core.translate(None, b"+/") != core:
                yield core.translate(_URL)


BASE64_MIN: Final = 8
"""Base64 characters of a form that is searched for; fewer stand in any long base64."""

_URL: Final = bytes.maketrans(b"+/", b"-_")


def probes_of(form: bytes) -> list[bytes]:
    """Return bytes of which some stand raw wherever *form* stands in a JSON string.

    Not where JSON writes plain characters by their numbers; `Literals.candidates` has those.
    """
    runs = _RUN.findall(form)
    best = max(runs, key=len, default=b"")
    if len(best) >= PROBE_MIN:
        return [_probe(best)]
    text = form.decode("utf-8", "replace")
    odd = next((each for each in text if not each.isascii()), None)
    if odd is None:
        return [best] if best else [b"\\"]
    found = [odd.encode(), *_cases(_numbered(odd)[2:6])]
    return [*found, best] if best else found


def _probe(run: bytes) -> bytes:
    """Return what is searched for of *run*: it begins with a rare sign, so a search goes fast."""
    spare = len(run) - PROBE_MAX
    if spare <= 0:
        return run
    # Why not from the beginning: values of one kind begin alike.
    first = spare // 3
    rarity = run[first : spare + 1].translate(_RARITY)
    at = first + rarity.index(max(rarity))
    return run[at : at + PROBE_MAX]


def _cases(digits: str) -> list[bytes]:
    """Return a character's number with its letters small and great, in every mixture."""
    made = [r"\u"]
    for digit in digits:
        made = [each + one for each in made for one in {digit.lower(), digit.upper()}]
    return [each.encode() for each in made]


def _around(text: bytes, start: int, end: int) -> tuple[int, int]:
    # Why no expression: it would begin anew at every sign before.
    before = text[max(0, start - _NEAR) : start]
    after = _BASE64.match(text, end, min(len(text), end + _NEAR))
    assert after is not None
    return start - len(before) + len(before.rstrip(_SIGNS)), after.end()


def _apart(hits: list[Hit]) -> list[Hit]:
    """Join what overlaps; the widest gives the value."""
    hits.sort()
    joined = [hits[0]]
    widest = hits[0].end - hits[0].start
    for each in hits[1:]:
        last = joined[-1]
        if each.start >= last.end:
            joined.append(each)
            widest = each.end - each.start
            continue
        wider = each.end - each.start > widest
        widest = max(widest, each.end - each.start)
        joined[-1] = Hit(last.start, max(last.end, each.end), each.value if wider else last.value)
    return joined
