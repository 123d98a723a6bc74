r"""Core memory in files and back: JSON, and a folder of Markdown files with front matter.

A Markdown file is one block, called ``<type>.md``. Its front matter stands
between two lines of ``---``; a value there is JSON, or plain text where that
says the same. All that follows the second line is the content, byte for byte:
no newline is added, and none is taken away.

Source: DESIGN.md, "Core memory on a session".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import BadBlockType, UsageError
from agentmem_cli.operations.core.changing import (
    Changed,
    Current,
    Request,
    Wish,
    change,
    check_seen,
)
from agentmem_cli.operations.core.looking import encode
from agentmem_cli.session.codec import dumps, loads
from agentmem_cli.session.core_memory import MemoryBlockType
from agentmem_cli.session.core_text import BEGIN, parse
from agentmem_cli.session.core_values import (
    CONFIG,
    NO_ID,
    BadValue,
    StoredBlock,
    key_of,
    read_block,
    read_max_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from agentmem_cli.operations.core.planning import Wanted
    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.core_values import CoreValues
    from agentmem_cli.storage.directory import DirStore

SCHEMA: Final = "agentmem.core-export/1"
END: Final = ".md"
_RULE: Final = "---"


class Given(NamedTuple):
    """Core memory that comes in."""

    blocks: dict[MemoryBlockType, StoredBlock]
    max_bytes: int | None = None
    """Its bound; None: it does not say."""
    passed: tuple[str, ...] = ()
    """Names of files that are no blocks."""
    unknown: tuple[str, ...] = ()
    """What stands in it that this version does not know, each with what becomes of it."""


def to_object(values: CoreValues) -> Object:
    """Return core memory as the JSON that `read_json` takes, but for ``schema``."""
    blocks: list[JSON] = [
        {"type": kind.value, **stored.to_value()} for kind, stored in values.blocks.items()
    ]
    return {"max_bytes": values.max_bytes, "blocks": blocks}


def to_markdown(stored: StoredBlock) -> bytes:
    """Return a block as a Markdown file with front matter."""
    value = stored.to_value()
    content = value.pop("content")
    assert isinstance(content, str)
    told: Object = {"type": stored.block.block_type.value, **value}
    head = b"".join(b"%s: %s\n" % (name.encode(), dumps(item)) for name, item in told.items())
    return b"---\n" + head + b"---\n" + encode(content)


def decode(data: bytes, where: str) -> str:
    """Return the text of *data*, UTF-8 in which half of a surrogate pair may stand.

    Raises:
        UsageError: It is something else; the byte is told.
    """
    try:
        text = data.decode("utf-8", "surrogatepass")
        at = -1
    except UnicodeDecodeError as error:
        text, at = "", error.start
    # Why: a log would make one character of the two halves, of other bytes.
    pair = _PAIR.search(text)
    if pair is not None:
        at = len(encode(text[: pair.start()]))
    if at >= 0:
        raise UsageError(f"{where}: byte {at} is not UTF-8")
    return text


_PAIR: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def read_text(data: bytes, where: str) -> Given:
    """Read core memory from what `export` or `render` wrote.

    Args:
        data: The bytes: JSON, the text that a model sees, or one Markdown file.
        where: What they are called in messages.

    Raises:
        UsageError: They are none of these.
        CoreMemoryError: A block is larger than it may be.
    """
    text = decode(data, where)
    if text.startswith(BEGIN):
        blocks = parse(text).blocks_ordered()
        return Given({block.block_type: StoredBlock(block._replace(id=NO_ID)) for block in blocks})
    if text.startswith(_RULE):
        return _one(read_markdown(data, where, None))
    try:
        value = loads(data)
    except ValueError as error:
        msg = f"{where}: neither JSON, nor Markdown with front matter, nor core memory ({error})"
        raise UsageError(msg) from None
    return read_json(value, where)


def _one(stored: StoredBlock) -> Given:
    return Given({stored.block.block_type: stored}, unknown=_kept([stored]))


def read_json(value: JSON, where: str) -> Given:
    """Read core memory from its JSON: ``blocks``, each with its ``type``.

    Raises:
        UsageError: It has another shape, or names another schema; the place is told.
    """
    schema = value.get("schema", SCHEMA) if isinstance(value, dict) else SCHEMA
    if schema != SCHEMA:
        named = repr(schema) if isinstance(schema, str) else dumps(schema).decode()
        raise UsageError(f"{where}: its schema is {named}; {SCHEMA} is what can be read")
    items = value.get("blocks") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(items, list):
        msg = f"{where}: no object with blocks (an array)"
        raise UsageError(msg)
    max_bytes = value.get("max_bytes")
    blocks: dict[MemoryBlockType, StoredBlock] = {}
    try:
        bound = None if max_bytes is None else read_max_bytes(value)
    except BadValue as error:
        raise UsageError(f"{where}: {error}") from None
    for number, item in enumerate(items, 1):
        told = f"{where}, block {number}"
        if not isinstance(item, dict) or not isinstance(item.get("type"), str):
            raise UsageError(f"{told}: no object with a type")
        rest = {name: each for name, each in item.items() if name != "type"}
        _put(blocks, _read(str(item["type"]), rest, told), told)
    others = [
        f"{name!r} is no field of an export, and was passed by"
        for name in value
        if name not in _TOP
    ]
    return Given(blocks, bound, unknown=(*others, *_kept(blocks.values())))


_TOP: Final = frozenset({"schema", "max_bytes", "blocks"})


def _kept(blocks: Iterable[StoredBlock]) -> tuple[str, ...]:
    """Say which fields of blocks are not ours."""
    return tuple(
        f"{name!r} of the block {each.block.block_type.value!r} is no field of ours, and is kept"
        for each in blocks
        for name in each.extra
    )


def _read(name: str, value: Object, where: str) -> StoredBlock:
    try:
        return read_block(MemoryBlockType.parse(name), value)._replace(undoes=None)
    except (BadValue, BadBlockType) as error:
        hint = error.hint if isinstance(error, BadBlockType) else None
        raise UsageError(f"{where}: {error}", hint=hint) from None


def _put(blocks: dict[MemoryBlockType, StoredBlock], stored: StoredBlock, where: str) -> None:
    kind = stored.block.block_type
    if kind in blocks:
        raise UsageError(f"{where}: there is a block {kind.value!r} already")
    blocks[kind] = stored


def read_markdown(data: bytes, where: str, name: str | None) -> StoredBlock:
    """Read a block from a Markdown file.

    Args:
        data: Its bytes.
        where: What it is called in messages.
        name: Its type where the front matter, if there is any, does not say.

    Raises:
        UsageError: The front matter does not end or does not read, or there is no type.
    """
    text = decode(data, where)
    first, line_end, rest = text.partition("\n")
    fields: Object = {}
    if line_end and first.rstrip("\r") == _RULE:
        fields, text = _front_matter(rest, where)
    kind = fields.pop("type", name)
    if not isinstance(kind, str):
        raise UsageError(f"{where}: the front matter says no type")
    if "content" in fields:
        raise UsageError(f"{where}: the content stands behind the front matter, not in it")
    return _read(kind, {"content": text, **fields}, where)


def _front_matter(text: str, where: str) -> tuple[Object, str]:
    fields: Object = {}
    number, at = 1, 0
    while True:
        number += 1
        # Why by places: cutting the rest off at each line would copy it as often.
        end = text.find("\n", at)
        words = text[at : end if end >= 0 else None].rstrip("\r")
        if words == _RULE:
            return fields, text[end + 1 :] if end >= 0 else ""
        if end < 0:
            raise UsageError(f"{where}: the front matter does not end with a line of {_RULE}")
        at = end + 1
        if not words.strip() or words.lstrip().startswith("#"):
            continue
        name, sign, value = words.partition(":")
        if not sign or not name.strip():
            raise UsageError(f"{where}, line {number}: no 'name: value'")
        if name.strip() in fields:
            raise UsageError(f"{where}, line {number}: {name.strip()!r} stands there already")
        fields[name.strip()] = _scalar(value.strip(), f"{where}, line {number}")


def _scalar(words: str, where: str) -> JSON:
    if words in ("", "~"):
        return None
    if words.startswith("'") and words.endswith("'") and len(words) > 1:
        return words[1:-1].replace("''", "'")
    try:
        return loads(encode(words))
    except ValueError:
        if words[0] in '"[{':
            raise UsageError(f"{where}: the value does not read as JSON") from None
        return words


def read_folder(folder: Path) -> Given:
    """Read core memory from the Markdown files of *folder*; other files are passed by.

    Raises:
        UsageError: A file does not read, or two are of one type, or none is a block.
        OSError: The system refused.
    """
    blocks: dict[MemoryBlockType, StoredBlock] = {}
    passed: list[str] = []
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() != END or not path.is_file():
            continue
        name = path.stem.lower() if path.stem.lower() in _NAMES else None
        data = path.read_bytes()
        if name is None and not data.startswith(_RULE.encode()):
            passed.append(path.name)
            continue
        _put(blocks, read_markdown(data, str(path), name), str(path))
    if not blocks:
        raise UsageError(f"{folder}: no Markdown file of a block is in it")
    return Given(blocks, None, tuple(passed), _kept(blocks.values()))


_NAMES: Final = frozenset(each.value for each in MemoryBlockType)


def take(
    store: DirStore, log: str, given: Given, request: Request, *, only: bool = False
) -> Changed:
    """Set the blocks that are given; a bound that is given counts where there is none yet.

    A block that is there keeps its identity. By whom and why is as the file
    says, where the request does not.

    Args:
        store: The session.
        log: The log that holds the blocks.
        given: What comes in.
        request: How.
        only: Take out the blocks that are not given.

    Raises:
        CoreMemoryError: See `change`. Nothing was written.
    """

    def make(current: Current) -> Wish:
        check_seen(current, request)
        values = current.values
        wanted: Wanted = {
            kind: _as_there(stored, kind, values) for kind, stored in given.blocks.items()
        }
        if only:
            wanted |= {kind: None for kind in values.blocks if kind not in given.blocks}
        bound = None if values.raw.get(CONFIG) is not None else given.max_bytes
        return Wish(wanted, max_bytes=bound, each=True)

    return change(store, log, request, make)


def _as_there(stored: StoredBlock, kind: MemoryBlockType, values: CoreValues) -> StoredBlock:
    if kind not in values.blocks and key_of(kind) not in values.bad:
        return stored
    return stored._replace(block=stored.block._replace(id=NO_ID))


def read_file(path: Path) -> Given:
    """Read core memory from one file; a Markdown file may be named by its block.

    Raises:
        UsageError: It does not read.
        OSError: The system refused.
    """
    from agentmem_cli.storage.named import read_named

    data = read_named(path)
    name = path.stem.lower()
    if path.suffix.lower() == END and name in _NAMES:
        return _one(read_markdown(data, str(path), name))
    return read_text(data, str(path))


def to_files(values: CoreValues, path: Path, format_: str) -> dict[Path, bytes]:
    """Return the files that core memory is exported as: JSON, or a Markdown file for each block.

    Args:
        values: What is exported.
        path: The file, or for ``markdown`` the folder.
        format_: ``json`` or ``markdown``.
    """
    if format_ == "json":
        return {path: dumps({"schema": SCHEMA, **to_object(values)}) + b"\n"}
    return {
        path / f"{kind.value}{END}": to_markdown(stored) for kind, stored in values.blocks.items()
    }
