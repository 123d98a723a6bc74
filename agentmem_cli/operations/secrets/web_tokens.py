"""JSON web tokens that are nobody's: a header alone, and the token of every manual.

A header says how a token is signed. The most frequent one begins nearly all tokens, so
where it stands alone, masking it would mask a piece of every other.

Source: RFC 7515, section 4.1 (members of a header).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentmem_cli.operations.secrets.encoded import decoded
from agentmem_cli.session.codec import loads

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON

BEGINS: Final = "eyJ"
"""How an object begins in base64."""

_PART_MAX: Final = 512
_HEADER: Final = frozenset({"alg", "typ", "cty", "kid", "enc", "zip", "crit", "b64"})
"""What a header may have that tells of no key."""

_SAMPLE: Final[dict[str, JSON]] = {
    "sub": "1234567890", "name": "John Doe", "admin": True, "iat": 1516239022, "exp": 1516239022,
}  # fmt: skip
_SIGNED: Final[tuple[list[int], ...]] = ([], [43], [64], [86], [342])
"""Characters of a whole signature, by the usual keys; or there is none."""


def is_nobodys(value: str) -> bool:
    """Is *value* a header alone, or a token that says what those of manuals say?"""
    if not value.startswith(BEGINS):
        return False
    parts = value.removesuffix(".").split(".")
    header = _members(parts[0])
    if header is None or "alg" not in header or not header.keys() <= _HEADER:
        return False
    if len(parts) == 1:
        return True
    _, said, *signature = parts
    return _is_sample(_members(said)) and [len(each) for each in signature] in _SIGNED


def _is_sample(said: dict[str, JSON] | None) -> bool:
    if said is None or not {"sub", "name"} <= said.keys() <= _SAMPLE.keys():
        return False
    return all(said[name] == _SAMPLE[name] for name in said)


def _members(part: str) -> dict[str, JSON] | None:
    raw = decoded(part.encode()) if part.isascii() and len(part) <= _PART_MAX else None
    try:
        value = loads(raw) if raw is not None else None
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
