"""One event as the detector sees it, and the way back to where each character stands.

An event is a JSON value (a record, a document) or a text. Of JSON, every string
and key is looked at as what it says, JSON inside strings as well; the text that is
scanned has a string a line, and a secret-named key stands before its value
(``api_key=...``). What is found is edited in the very string that holds it, as
deep as it stands, and no other byte changes.

Most events hold no secret. For them there is `quick.text_of_json`, which is fast and
knows no places; `Document` and `Plain` are made only where something was found.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from agentmem_cli.operations.secrets.bookkeeping import part_of_book
from agentmem_cli.operations.secrets.naming import SECRET_NAMES
from agentmem_cli.operations.secrets.plain import Plain
from agentmem_cli.operations.secrets.quick import INSIDE_MAX, OPTION_MAX, may_be_json
from agentmem_cli.operations.secrets.structure import is_form, is_signature, structure_of
from agentmem_cli.session.forms import NAMING
from agentmem_cli.session.forms import is_form as is_record_form
from agentmem_cli.session.tokens import (
    Token,
    apply_edits,
    removal,
    spans_to_edits,
    string_tokens,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agentmem_cli.operations.secrets.bookkeeping import Book
    from agentmem_cli.session.tokens import Edit, Path

__all__ = ["Document", "Leaf", "Plain", "event_of"]

Change: TypeAlias = "tuple[int, int, str]"
"""Characters of a string from one to another, and what is to stand there."""


class Leaf(NamedTuple):
    """A string of an event that is not JSON itself."""

    home: int
    """The JSON it stands in, by its place in `Document.layers`."""
    token: Token
    text: str
    path: Path
    """Where it stands, through all layers."""
    structure: str | None
    """What it is to the form (`structure.structure_of`)."""
    before: str
    """What is put before it for the detector: a secret-named key and ``=``."""


class _Layer(NamedTuple):
    raw: bytes
    outer: int
    """The layer whose string this is; -1 for the outermost."""
    token: Token | None
    """That string."""
    path: Path
    known: bool
    """Whether it is a record of a known form."""


class Document:
    """A JSON value, its strings, and edits to them.

    Args:
        raw: The JSON.
        is_record: It is a record of a session's log.
        book: Which of a session's own files it is of.

    Raises:
        ValueError: *raw* is not one JSON value in UTF-8.
    """

    def __init__(self, raw: bytes, *, is_record: bool = False, book: Book | None = None) -> None:
        self.raw = raw
        self._is_record = is_record
        self._book = book
        self.layers: list[_Layer] = []
        self.leaves: list[Leaf] = []
        self._tokens: list[list[Token]] = []
        self._read(_Layer(raw, -1, None, (), known=False), 0)

    def _read(self, layer: _Layer, depth: int) -> None:
        tokens = string_tokens(layer.raw)
        texts = [text_of(layer.raw, token) for token in tokens]
        if depth == 0:
            pairs = zip(tokens, texts, strict=True)
            top = frozenset(text for token, text in pairs if token.is_key and len(token.path) == 1)
            layer = layer._replace(known=is_form(top))
        home = len(self.layers)
        self.layers.append(layer)
        self._tokens.append(tokens)
        types = _members("type", tokens, texts)
        names = _members("name", tokens, texts)
        naming = self._is_record and depth == 0 and _names(tokens, texts)
        before = ""
        for token, text in zip(tokens, texts, strict=True):
            path = (*layer.path, *token.path)
            if token.is_key:
                before = ""
            else:
                if depth < INSIDE_MAX and self._enter(home, token, text, path, depth):
                    before = ""
                    continue
                before = before or _name_of(token.path, names)
            kind = None
            if depth == 0 and self._book is not None:
                kind = part_of_book(self._book, token.path, text, is_key=token.is_key)
            if kind is None and layer.known:
                beside = types.get(token.path[:-1], "")
                kind = structure_of(token.path, text, is_key=token.is_key, beside=beside)
                if kind is None and self._is_record:
                    kind = "name" if naming and path[0] == "value" else _form_of(token, text)
            self.leaves.append(Leaf(home, token, text, path, kind, before))
            before = _named_by(token, text)

    def _enter(self, home: int, token: Token, text: str, path: Path, depth: int) -> bool:
        """Read a string that is JSON itself; return whether it is."""
        if not may_be_json(text):
            return False
        at = len(self.layers), len(self.leaves)
        try:
            inner = text.encode()
            self._read(_Layer(inner, home, token, path, known=False), depth + 1)
        except ValueError:
            del self.layers[at[0] :], self._tokens[at[0] :], self.leaves[at[1] :]
            return False
        if len(self.leaves) == at[1]:
            del self.layers[at[0] :], self._tokens[at[0] :]
            return False
        return True

    def text(self) -> tuple[bytes, list[int]]:
        """Return what the detector sees, and where each leaf's own text begins in it."""
        pieces: list[bytes] = []
        starts: list[int] = []
        at = 0
        for leaf in self.leaves:
            before = leaf.before.encode("utf-8", "replace")
            piece = before + leaf.text.encode("utf-8", "replace")
            starts.append(at + len(before))
            pieces.append(piece)
            at += len(piece) + 1
        return b"\n".join(pieces), starts

    def masked(
        self, changes: Mapping[int, Sequence[Change]], *, unsigned: Callable[[], None]
    ) -> bytes:
        """Return the JSON with *changes* made, and keep every other byte.

        Args:
            changes: By the place of the leaf in `leaves`, in their order.
            unsigned: Called for each signature that went, since the text it
                vouched for was changed.
        """
        edits: list[list[Edit]] = [[] for _ in self.layers]
        for index, wanted in self._told_apart(changes).items():
            leaf = self.leaves[index]
            edits[leaf.home] += spans_to_edits(self.layers[leaf.home].raw, leaf.token, wanted)
        touched = {
            (self.leaves[index].home, self.leaves[index].token.path[:-1])
            for index in changes
            if not self.leaves[index].token.is_key
        }
        for home in range(len(self.layers) - 1, 0, -1):
            layer = self.layers[home]
            if edits[home]:
                assert layer.token is not None
                outer = self.layers[layer.outer].raw
                spans = _in_characters(layer.raw, edits[home])
                edits[layer.outer] += spans_to_edits(outer, layer.token, spans)
        gone, count = self._unsigned(touched)
        for _ in range(count):
            unsigned()
        kept = [each for each in edits[0] if not any(_is_in(each, cut) for cut in gone)]
        return apply_edits(self.raw, [*kept, *gone])

    def _told_apart(self, changes: Mapping[int, Sequence[Change]]) -> dict[int, list[Change]]:
        """Give keys of one object that would be masked alike a number each."""
        told = {index: list(wanted) for index, wanted in changes.items()}
        taken: dict[tuple[int, Path], dict[str, str]] = {}
        keys = [index for index in told if self.leaves[index].token.is_key]
        if not keys:
            return told
        for index, leaf in enumerate(self.leaves):
            if leaf.token.is_key and index not in told:
                taken.setdefault((leaf.home, leaf.path[:-1]), {})[leaf.text] = leaf.text
        for index in keys:
            leaf = self.leaves[index]
            names = taken.setdefault((leaf.home, leaf.path[:-1]), {})
            new, number = _changed(leaf.text, told[index]), 1
            while names.get(name := new if number == 1 else f"{new}#{number}", leaf.text) != (
                leaf.text
            ):
                number += 1
            names[name] = leaf.text
            if number > 1:
                told[index].append((len(leaf.text), len(leaf.text), f"#{number}"))
        return told

    def _unsigned(self, touched: set[tuple[int, Path]]) -> tuple[list[Edit], int]:
        """Return the edits that take out signatures beside what changes, and their number."""
        parents = {path for home, path in touched if home == 0}
        # Of a list of parts the object that holds the list, too: what it signs is in them.
        listed = {path for path in parents if path and isinstance(path[-1], int)}
        parents |= {path[:cut] for path in listed for cut in (-1, -2)}
        runs: list[tuple[Token, int]] = []
        count = 0
        for key, value in pairwise(self._tokens[0]):
            if not key.is_key or value.is_key or value.path != key.path:
                continue
            name = key.path[-1]
            if isinstance(name, str) and is_signature(name) and key.path[:-1] in parents:
                count += 1
                # Those side by side go as one, and with them one comma.
                last = removal(self.raw, *runs[-1]) if runs else (0, 0, b"")
                first = runs.pop()[0] if last[1] == key.start else key
                runs.append((first, value.end))
        return [removal(self.raw, *run) for run in runs], count


def _is_in(edit: Edit, cut: Edit) -> bool:
    return cut[0] <= edit[0] and edit[1] <= cut[1]


def _names(tokens: list[Token], texts: list[str]) -> bool:
    """Is a record a saved value that names agents or sessions, which none of this can rename?"""
    pairs = zip(tokens, texts, strict=True)
    return any(t.path == ("key",) and not t.is_key and text in NAMING for t, text in pairs)


def _form_of(token: Token, text: str) -> str | None:
    return "form" if is_record_form(token.path, is_key=token.is_key, text=text) else None


def event_of(raw: bytes, *, is_record: bool = False, book: Book | None = None) -> Document | Plain:
    """Return *raw* as JSON if it is, else as the text that it is."""
    if raw.lstrip(b" \t\r\n")[:1] in _OPENS:
        try:
            return Document(raw, is_record=is_record, book=book)
        except ValueError:
            pass
    return Plain(raw)


_OPENS: Final = frozenset({b"{", b"[", b'"'})


def _members(name: str, tokens: list[Token], texts: list[str]) -> dict[Path, str]:
    """Return what the members *name* say, by the objects they are in."""
    return {
        token.path[:-1]: text
        for token, text in zip(tokens, texts, strict=True)
        if not token.is_key and token.path[-1:] == (name,)
    }


def _name_of(path: Path, names: Mapping[Path, str]) -> str:
    """Return the secret name that a value stands under, its list's too, with ``=``."""
    if path[-1:] == ("value",):
        name = names.get(path[:-1], "")
        return f"{name}=" if len(name) <= OPTION_MAX and SECRET_NAMES[name] else ""
    for part in reversed(path):
        if isinstance(part, str):
            return f"{part}=" if SECRET_NAMES[part] else ""
    return ""


def _named_by(token: Token, text: str) -> str:
    """Return the option that *text* is of the string behind it, with ``=``: ``--password``."""
    if token.is_key or text[:1] != "-" or len(text) > OPTION_MAX:
        return ""
    in_list = bool(token.path) and isinstance(token.path[-1], int)
    return f"{text}=" if in_list and SECRET_NAMES[text] else ""


def _changed(text: str, changes: Sequence[Change]) -> str:
    pieces: list[str] = []
    at = 0
    for start, end, new in changes:
        pieces += (text[at:start], new)
        at = end
    return "".join((*pieces, text[at:]))


def _in_characters(raw: bytes, edits: list[Edit]) -> list[Change]:
    """Turn edits of bytes into changes of characters."""
    spans: list[Change] = []
    bytes_at = characters = 0
    for start, end, new in sorted(edits):
        first = characters + len(raw[bytes_at:start].decode())
        characters = first + len(raw[start:end].decode())
        bytes_at = end
        spans.append((first, characters, new.decode()))
    return spans
