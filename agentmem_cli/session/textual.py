"""Whether a file is text, by how it begins; and why what it says cannot be known.

Text with some bytes that are not UTF-8 (a log in an older encoding, a line that was torn) is
still text: its lines are read one by one, and such bytes stay as they are.
"""

from __future__ import annotations

from typing import Final

from agentmem_cli.session.mapping import is_text

PACKED: Final = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
    b"\xfd7zXZ": "xz",
    b"BZh": "bzip2",
    b"7z\xbc\xaf": "7-Zip",
    b"Rar!\x1a\x07": "RAR",
    b"\x04\x22\x4d\x18": "lz4",
}
"""How files begin whose bytes say nothing until they are unpacked."""

_ZSTD: Final = (
    b"\x28\xb5\x2f\xfd",
    *(bytes([first]) + b"\x2a\x4d\x18" for first in range(0x50, 0x60)),
)
"""How zstd frames begin (RFC 8878, section 3.1): such sources are kept packed, and looked into."""

_FORMS: Final = (b"\x89PNG", b"\xff\xd8", b"GIF8", b"RIFF", b"%PDF", b"\x7fELF", *PACKED, *_ZSTD)
"""How files of pictures and the like begin, whose bytes mean something as they are."""

_TEXTS: Final = (".txt", ".md", ".log", ".json", ".jsonl", ".csv", ".yaml", ".yml", ".toml")
_WIDE: Final = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")
_WIDE_BYTES: Final = 1 << 10
_WIDE_LEAST: Final = 8
"""Bytes of a file's beginning by which wide characters are told."""
_PLAIN: Final = "".join(map(chr, range(0x20, 0x7F))) + "\t\r\n"
_CONTROLS: Final = bytes({*range(1, 0x20)} - {*b"\a\b\t\n\v\f\r\x1b"})
_CONTROLS_SHARE: Final = 50
"""One byte of so many may be a control sign in text; of packed bytes one of ten is."""


def why_unread(head: bytes) -> str | None:
    """Say, by how a file begins, why no rule can know what it says; None: rules can."""
    for magic, kind in PACKED.items():
        if head.startswith(magic):
            return f"packed by {kind}: unpack it to have it looked at"
    if is_wide(head):
        return "text of two or four bytes a character: write it as UTF-8 to have it looked at"
    return None


def is_wide(head: bytes) -> bool:
    """Whether a file begins as text in UTF-16 or UTF-32 does, with a mark of that or without."""
    if head.startswith(_WIDE):
        return True
    head = head[: min(_WIDE_BYTES, len(head) // 4 * 4)]
    if len(head) < _WIDE_LEAST or not head.count(0):
        return False
    for encoding in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"):
        text = head.decode(encoding, "replace")
        if sum(map(text.count, _PLAIN)) >= len(text) * 3 // 4:
            return True
    return False


def is_textual(name: str, head: bytes, most: int) -> bool:
    """Whether a file is text, though some of its bytes may be odd: other words may stand in it.

    Args:
        name: What it is called.
        head: Its beginning, of at most *most* bytes.
        most: How many bytes of it were asked for.
    """
    if is_text(head, most):
        return True
    if head.startswith(_FORMS) or is_wide(head):
        return False
    if b"\0" in head:
        return name.endswith(_TEXTS)
    odd = len(head) - len(head.translate(None, _CONTROLS))
    return odd * _CONTROLS_SHARE <= len(head)
