"""What bytes that were set aside may have named that cannot be read off them.

A record that was torn was not acknowledged: what it would have said behind the cut
counts for nothing, unless it was just about to name a blob. Zeros and the like may
stand where a whole record stood.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agentmem_cli.session.codec import loads
from agentmem_cli.session.images import ATTACHMENTS
from agentmem_cli.session.meta import META
from agentmem_cli.storage.layout import RECOVERED

if TYPE_CHECKING:
    from agentmem_cli.storage.directory import DirStore


def may_hide_names(store: DirStore, name: str) -> bool:
    """Whether the file *name* under ``recovered/`` may have named a blob, unreadably.

    Every name that stands in it is found by `collecting.unnamed`; this is about the rest.

    Raises:
        OSError: It cannot be read.
    """
    short = name.removeprefix(RECOVERED)
    if _OF_A_BLOB.match(short):
        return False
    # Why: a meta says which logs there were; its names are no blobs'.
    if short.startswith(META):
        return True
    with store.open_file(name) as opened:
        return any(hides(line) for line in opened.lines())


def hides(line: bytes) -> bool:
    """Whether a line may have named a blob whose name does not stand in it."""
    text = line.rstrip(b"\r\n")
    if not text:
        return False
    if not text.startswith(b"{") or _CONTROL.search(text) or not _is_text(text):
        return True
    try:
        loads(text)
    except ValueError:
        named = [*_NAMED.finditer(text)]
        rest = text[named[-1].end() :] if named else text
        cut = _CUT_KIND.search(rest)
        begun = cut is not None and any(kind.startswith(cut[1]) for kind in _WORDS)
        return begun or _ABOUT_TO.search(rest) is not None
    return False


def _is_text(data: bytes) -> bool:
    """Whether *data* is UTF-8; its last character may be cut."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.end == len(data) and error.reason == "unexpected end of data"
    return True


_OF_A_BLOB: Final = re.compile(r"[0-9a-f]{64}\.")
_CONTROL: Final = re.compile(rb"[\x00-\x1f]")
_NAMED: Final = re.compile(rb"blob:[0-9a-f]{64}\b")
_WORDS: Final = tuple(kind.encode() for kind in (*ATTACHMENTS, "url"))
_CUT_KIND: Final = re.compile(rb'"type":"([a-z]*)\Z')
# Why the last one: a character of a name, or of these words, may be spelled by its number.
_ABOUT_TO: Final = re.compile(rb'blob|"data|"(?:' + b"|".join(_WORDS) + rb")|\\u00[2-7]")
