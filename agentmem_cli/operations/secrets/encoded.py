"""Base64 text to the bytes it stands for."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error


def decoded(text: bytes) -> bytes | None:
    """Decode base64 or base64url, padded or not; None where *text* is neither."""
    plain = text.translate(_STANDARD).rstrip(b"=")
    try:
        return b64decode(plain + b"=" * (-len(plain) % 4), validate=True)
    except Error:
        return None


_STANDARD = bytes.maketrans(b"-_", b"+/")
