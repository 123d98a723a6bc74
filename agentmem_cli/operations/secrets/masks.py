"""What stands in a secret's place, and which values are left as they are.

A mask is ``[REDACTED:kind:9f86d081]``: whole, never a part of the value. The
digits are those of an HMAC-SHA256 of the value under a random key of the user's
(0600, in the folder for settings), so that one secret is known as the same
everywhere, and nobody without the key can try guesses against it.
"""

from __future__ import annotations

import hmac
import re
import secrets
from typing import TYPE_CHECKING, Final

from agentmem_cli.errors import UsageError
from agentmem_cli.operations.secrets.escaped import plainly
from agentmem_cli.session.codec import JSON, dumps, loads_object
from agentmem_cli.storage.files import replace_atomically
from agentmem_cli.storage.named import read_named, read_own
from agentmem_cli.storage.once import make_once

if TYPE_CHECKING:
    from pathlib import Path

KEY_FILE: Final = "mask.key"
KEY_BYTES: Final = 32
_KEY_FILE_BYTES_MAX: Final = 4_096
_DIGITS: Final = 8
_SALT_BYTES: Final = 16
_KIND: Final = re.compile(r"[^a-z0-9-]+")

MASK: Final = re.compile(rb"\[REDACTED:[a-z0-9-]{1,64}(?::[0-9a-f]{8})?\]")
"""A mask, in bytes."""

_FILL: Final = b"\n,"
"""What masks are blanked with: no run of it is a word, and no space leads past it."""


def filling(size: int) -> bytes:
    """Return *size* bytes in which no rule finds anything, and over which none reaches."""
    return (_FILL * (size // len(_FILL) + 1))[:size]


def blanked(data: bytes) -> bytes:
    """Return *data* with its masks blanked, as long as before."""
    if b"[REDACTED:" not in data:
        return data
    return MASK.sub(lambda found: filling(len(found[0])), data)


def mask_key(folder: Path) -> bytes:
    """Return the user's key; it is made where there is none yet.

    Args:
        folder: The user's folder for settings of this program; made where missing.

    Raises:
        UsageError: The file is there and holds no key.
        OSError: The system refused.
    """
    path = folder / KEY_FILE
    try:
        return _read_key(path)
    except FileNotFoundError:
        pass
    make_once(path, secrets.token_bytes(KEY_BYTES).hex().encode() + b"\n")
    return _read_key(path)


def _read_key(path: Path) -> bytes:
    text = read_own(path, _KEY_FILE_BYTES_MAX).decode("ascii", "replace").strip()
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise UsageError(
            f"{path}: not a key of {KEY_BYTES} bytes in hex",
            hint="Move it away and a new one is made; masks made before keep their old digits.",
        )
    return key


class AllowList:
    """Digests of values that are no secrets, under a salt of their own.

    It works wherever the file is: no key of the user's is in it. Who has the
    file can try guesses against it, so only values that are no secrets belong there.
    """

    def __init__(self, salt: bytes, digests: frozenset[str]) -> None:
        """Keep *salt* and the *digests* under it."""
        self.salt = salt
        self.digests = digests

    @classmethod
    def fresh(cls) -> AllowList:
        """Return an empty one with a salt of its own."""
        return cls(secrets.token_bytes(_SALT_BYTES), frozenset())

    @classmethod
    def read(cls, path: Path) -> AllowList:
        """Read what `encode` made.

        Raises:
            UsageError: It is no such file.
            OSError: It cannot be read.
        """
        try:
            fields = loads_object(read_named(path))
            salt, allowed = fields["salt"], fields["allowed"]
            if not isinstance(salt, str) or not isinstance(allowed, list):
                raise ValueError(path)  # noqa: TRY004, TRY301 - one error for every bad file
            digests = frozenset(each for each in allowed if isinstance(each, str))
            return cls(bytes.fromhex(salt), digests)
        except (ValueError, KeyError) as error:
            raise UsageError(
                f"{path}: no allow-list", hint="agentmem scan --allow-add makes one."
            ) from error

    def digest(self, value: str) -> str:
        """Return the digest of *value* under the salt, however it is written."""
        return hmac.digest(self.salt, _bytes(bare(value)), "sha256").hex()

    def holds(self, value: str) -> bool:
        """Is *value* on the list?"""
        return bool(self.digests) and self.digest(value) in self.digests

    def adding(self, values: frozenset[str]) -> AllowList:
        """Return the list with *values* added."""
        return AllowList(self.salt, self.digests | {self.digest(value) for value in values})

    def encode(self) -> bytes:
        """Return it as a file's content."""
        allowed: JSON = [*sorted(self.digests)]
        return dumps({"allow": 1, "salt": self.salt.hex(), "allowed": allowed}) + b"\n"

    def write(self, path: Path) -> None:
        """Put it at *path*, whole or not at all."""
        replace_atomically(path, self.encode())


class Masks:
    """Makes masks, and knows which values are to stay.

    Args:
        key: The user's key; None leaves the fingerprint out of masks.
        keep: Fingerprints of values that stay.
        allowed: Values that stay, as a file.
    """

    def __init__(
        self,
        key: bytes | None,
        *,
        keep: frozenset[str] = frozenset(),
        allowed: AllowList | None = None,
    ) -> None:
        self._key = key
        self._keep = keep
        self._allowed = allowed
        # Why: with no key to show, values must still be told apart by --keep, within this run.
        self._run_key = key or secrets.token_bytes(KEY_BYTES)

    def fingerprint(self, value: str) -> str:
        """Return the digits that tell *value* from others; of a run without a key, of that run.

        They are the same however it is written.
        """
        return hmac.digest(self._run_key, _bytes(bare(value)), "sha256").hex()[:_DIGITS]

    @property
    def tells(self) -> bool:
        """Whether masks have digits that tell one value from another."""
        return self._key is not None

    @property
    def digest_key(self) -> bytes:
        """The key of digests of bytes that may hold secrets; without a key, one of this run."""
        return self._run_key

    def mask(self, value: str, kind: str) -> str:
        """Return what is to stand in the place of *value*."""
        name = _KIND.sub("-", kind.lower()).strip("-")[:64] or "secret"
        if self._key is None:
            return f"[REDACTED:{name}]"
        return f"[REDACTED:{name}:{self.fingerprint(value)}]"

    def stays(self, value: str) -> bool:
        """Was *value* named as one to be left?"""
        if self._keep and self.fingerprint(value) in self._keep:
            return True
        return self._allowed is not None and self._allowed.holds(value)


_LAYERS_MAX: Final = 3
"""How often an address may be put into another one."""


def bare(value: str) -> str:
    """Return *value* without the escapes that addresses and HTML put into it.

    One that was never escaped and only looks so is changed, too: what counts is that the same
    secret gives the same text wherever it was found.
    """
    for _ in range(_LAYERS_MAX):
        plain = plainly(value)
        if plain == value:
            break
        value = plain
    return value


def _bytes(value: str) -> bytes:
    return value.encode("utf-8", "surrogatepass")
