"""Names that follow the bytes they are made of, wherever they stand.

A blob and a file that was set aside are named by the SHA-256 of their bytes.
Where these change, the old digest goes from every string that holds it: what
named the old bytes names the new ones, and nobody can try guesses on it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agentmem_cli.session.images import REFERENCE
from agentmem_cli.session.mapping import map_tokens
from agentmem_cli.session.rewriting import Rewrite
from agentmem_cli.session.tokens import apply_edits, removal, string_tokens, text_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from agentmem_cli.session.rewriting import File, How, Place, Record
    from agentmem_cli.session.tokens import Edit, Token

GONE: Final = "0" * 64
"""What stands for the digest of bytes that are gone."""

_ALTERNATIVES_MAX: Final = 64
"""Digests that are looked for one by one; of more every digest is looked up."""

_DIGEST: Final = r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])"


class Following(Rewrite):
    """Does what another `Rewrite` does, and renames what it gave other bytes."""

    def __init__(
        self, with_: Rewrite, renames: Mapping[str, str], dropped: Collection[str] = ()
    ) -> None:
        """Follow *renames*, old digest to new one, and lose the blobs *dropped*, by name."""
        self._with = with_
        self._dropped = frozenset(dropped)
        digests = (name.partition(".")[0] for name in dropped)
        # Why checked: a name may have come from what a log says.
        gone = {digest: GONE for digest in digests if re.fullmatch(_DIGEST, digest)}
        self._renames = {**gone, **renames}
        few = len(self._renames) <= _ALTERNATIVES_MAX
        pattern = "|".join(map(re.escape, self._renames)) if few else _DIGEST
        self._pattern = re.compile(pattern or r"(?!)")
        self._bytes = re.compile(self._pattern.pattern.encode())

    def hits(self, block: bytes) -> Sequence[int] | None:
        """Return the other's, and where a digest stands that is to be renamed."""
        found = self._with.hits(block)
        if found is None:
            return None
        own = [
            match.start()
            for match in self._bytes.finditer(block)
            if match[0].decode() in self._renames
        ]
        return [*found, *own] if own else found

    def key(self, at: Place, key: str) -> str:
        """Ask the other, then rename."""
        return self._pattern.sub(self._new, self._with.key(at, key))

    def text(self, at: Place, text: str) -> str:
        """Ask the other, then rename."""
        return self._pattern.sub(self._new, self._with.text(at, text))

    def line(self, at: Record, raw: bytes) -> bytes:
        """Ask the other, then rename."""
        return self._followed(self._with.line(at, raw), drops=True)

    def file_line(self, at: File, number: int, raw: bytes) -> bytes:
        """Ask the other, then rename."""
        return self._followed(self._with.file_line(at, number, raw))

    def damaged_line(self, at: Place, raw: bytes) -> bytes:
        """Ask the other, then rename."""
        return self._bytes.sub(self._new_bytes, self._with.damaged_line(at, raw))

    def file(self, name: str, data: bytes) -> bytes:
        """Ask the other, then rename."""
        new = self._with.file(name, data)
        return self._bytes.sub(self._new_bytes, new) if self._bytes.search(new) else new

    def reading(self, name: str, head: bytes) -> How:
        """Do as the other does."""
        return self._with.reading(name, head)

    def _new_bytes(self, found: re.Match[bytes]) -> bytes:
        old = found[0].decode()
        return self._renames.get(old, old).encode()

    def _new(self, found: re.Match[str]) -> str:
        return self._renames.get(found[0], found[0])

    def _followed(self, raw: bytes, *, drops: bool = False) -> bytes:
        if self._bytes.search(raw) is None:
            return raw
        if drops and self._dropped:
            raw = _without(raw, self._dropped)
        return map_tokens(raw, lambda text: self._pattern.sub(self._new, text))


def _without(raw: bytes, dropped: Collection[str]) -> bytes:
    """Return a record in which attachments whose blob is *dropped* have unknown data."""
    tokens = string_tokens(raw)
    edits: list[Edit] = []
    for index, token in enumerate(tokens):
        if token.is_key or token.path[-2:] != ("data", "value"):
            continue
        text = text_of(raw, token)
        if not (text.startswith(REFERENCE) and text[len(REFERENCE) :] in dropped):
            continue
        # A value that is a string stands right behind its key.
        edits.append(removal(raw, tokens[index - 1], token.end))
        edits.extend(_unknown(tokens, token))
    return apply_edits(raw, edits)


def _unknown(tokens: Sequence[Token], value: Token) -> list[Edit]:
    path = (*value.path[:-1], "type")
    return [
        (token.start, token.end, b'"unknown"')
        for token in tokens
        if token.path == path and not token.is_key
    ]
