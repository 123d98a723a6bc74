"""What can happen to the files of a session on the disk: to any of them, in any order."""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def _lines(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


def _drop_line(data: bytes, at: int) -> bytes:
    lines = _lines(data)
    return b"".join(lines[: at % len(lines)] + lines[at % len(lines) + 1 :]) if lines else data


def _double_line(data: bytes, at: int) -> bytes:
    lines = _lines(data)
    return b"".join(lines[: at % len(lines) + 1] + lines[at % len(lines) :]) if lines else data


def _swap_lines(data: bytes, at: int) -> bytes:
    lines = _lines(data)
    if len(lines) > 1:
        at %= len(lines) - 1
        lines[at : at + 2] = [lines[at + 1], lines[at]]
    return b"".join(lines)


def _odd_byte(data: bytes, at: int) -> bytes:
    at %= len(data) or 1
    return data[:at] + b"\xe9" + data[at + 1 :]


def _zeros(data: bytes, at: int) -> bytes:
    at %= len(data) or 1
    return data[:at] + bytes(min(60, len(data) - at)) + data[at + 60 :]


def _cut_out(data: bytes, at: int) -> bytes:
    at %= len(data) or 1
    return data[:at] + data[at + 50 :]


def _weld(data: bytes, at: int) -> bytes:
    lines = _lines(data)
    if lines:
        lines[at % len(lines)] = lines[at % len(lines)].rstrip(b"\n")
    return b"".join(lines)


def _junk(data: bytes, at: int) -> bytes:
    lines = _lines(data)
    lines.insert(at % (len(lines) + 1), (b"junk\n", b"{}\n", b"[1]\n", b"\0\0\n", b"\r\n")[at % 5])
    return b"".join(lines)


def _other_format(data: bytes, at: int) -> bytes:
    del at
    return data.replace(b'"rig-session/4"', b'"rig-session/5"', 1)


def _other_type(data: bytes, at: int) -> bytes:
    lines = _lines(data)
    if lines:
        at %= len(lines)
        lines[at] = lines[at].replace(b'"type":"', b'"type":"new-', 1)
    return b"".join(lines)


def _other_number(data: bytes, at: int) -> bytes:
    lines = _lines(data)
    if lines:
        at %= len(lines)
        lines[at] = lines[at].replace(b'"n":', b'"n":1', 1)
    return b"".join(lines)


def _other_place(data: bytes, at: int) -> bytes:
    lines = _lines(data)
    if lines:
        at %= len(lines)
        lines[at] = lines[at].replace(b'"seq":', b'"seq":1', 1)
    return b"".join(lines)


def _other_value(data: bytes, at: int) -> bytes:
    """Put something of another kind in the place of a value."""
    lines = _lines(data)
    if not lines:
        return data
    line = lines[at % len(lines)]
    found = [*_VALUE.finditer(line)]
    if found:
        one = found[at // 7 % len(found)]
        lines[at % len(lines)] = line[: one.start(1)] + _STRANGE[at % 8] + line[one.end(1) :]
    return b"".join(lines)


_VALUE = re.compile(rb':("[^"\\]*"|-?[0-9]+|null|true|false)')
_STRANGE = (b"-1", b"9" * 25, b"1.5", b'"x"', b"null", b"[]", b"{}", b"18446744073709551615")


BYTES: dict[str, Callable[[bytes, int], bytes]] = {
    "drop a line": _drop_line,
    "double a line": _double_line,
    "swap two lines": _swap_lines,
    "odd byte": _odd_byte,
    "zeros": _zeros,
    "cut out": _cut_out,
    "cut off": lambda data, at: data[: at % (len(data) or 1)],
    "weld": _weld,
    "junk": _junk,
    "empty": lambda _, __: b"",
    "twice": lambda data, _: data + data,
    "carriage returns": lambda data, _: data.replace(b"\n", b"\r"),
    "utf-16": lambda data, _: data.decode("utf-8", "replace").encode("utf-16"),
    "another format": _other_format,
    "another type": _other_type,
    "another number": _other_number,
    "another place": _other_place,
    "another value": _other_value,
    "empty object": lambda _, __: b"{}",
}
"""What can be done to the bytes of one file; the number says where."""


def _gone(path: Path, _: int) -> None:
    path.unlink()


def _linked(path: Path, _: int) -> None:
    path.unlink()
    path.symlink_to("/nowhere/at/all")


def _piped(path: Path, _: int) -> None:
    path.unlink()
    os.mkfifo(path)


def _foldered(path: Path, _: int) -> None:
    path.unlink()
    path.mkdir(mode=0o700)


def _opened(path: Path, _: int) -> None:
    path.chmod(0o644)


def _copied(path: Path, at: int) -> None:
    new = path.with_name(
        (f"{path.name}.rig-part", f".agentmem-{'a' * 32}.rig-part", f"x{path.name}")[at % 3]
    )
    if not os.path.lexists(new):
        shutil.copy(path, new)


PLACES: dict[str, Callable[[Path, int], None]] = {
    "gone": _gone,
    "link": _linked,
    "pipe": _piped,
    "folder": _foldered,
    "open to others": _opened,
    "copy beside": _copied,
}
"""What can be put in the place of one file, or beside it."""


def hurt(session: Path, how: str, which: int, at: int) -> None:
    """Do one thing to one of the files of a session; nothing where there is none left."""
    files = sorted(
        path
        for path in session.rglob("*")
        if path.is_file() and not path.is_symlink() and path.name != ".rig-memory.lock"
    )
    if not files:
        return
    path = files[which % len(files)]
    if how in PLACES:
        PLACES[how](path, at)
        return
    path.write_bytes(BYTES[how](path.read_bytes(), at))
