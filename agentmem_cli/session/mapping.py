"""Mapping strings: of values, of a line's tokens, of a file's bytes.

Values are edited in place and by loops, so that depth costs no stack. Lines
are edited by their tokens, so that every other byte stays.
"""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, Final, Protocol

from agentmem_cli.session.codec import dumps, loads, loads_fast, same
from agentmem_cli.session.tokens import apply_edits, encode_text, string_tokens, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentmem_cli.session.codec import JSON
    from agentmem_cli.session.tokens import Edit, Path, Token

    class IsForm(Protocol):
        """Tells whether a string is part of the form, and so to be left."""

        def __call__(self, path: Path, *, is_key: bool, text: str) -> bool:
            """Answer for the string *text* at *path*."""
            ...


# -- values ----------------------------------------------------------------


def map_strings(
    value: JSON, f: Callable[[str], str], is_form: IsForm | None = None
) -> tuple[JSON, bool]:
    """Put ``f(text)`` in the place of every string of *value*, keys too.

    Of two keys of one object that would become the same the later one gets
    ``#2`` behind it.

    Args:
        value: Any JSON; arrays and objects are edited in place.
        f: Gives the new text.
        is_form: Which strings are left; None: none is.

    Returns:
        The value, and whether it differs from what it was.
    """
    if isinstance(value, str):
        new = f(value)
        return new, new != value
    changed = False
    todo: list[tuple[Path, JSON]] = [((), value)]
    while todo:
        path, item = todo.pop()
        if isinstance(item, dict):
            changed |= _map_members(item, path, f, is_form)
            todo.extend(((*path, key), inner) for key, inner in item.items() if _is_nest(inner))
        elif isinstance(item, list):
            for index, inner in enumerate(item):
                if isinstance(inner, str):
                    item[index] = new = _mapped((*path, index), inner, f, is_form)
                    changed |= new != inner
                elif _is_nest(inner):
                    todo.append(((*path, index), inner))
    return value, changed


def _is_nest(value: JSON) -> bool:
    return isinstance(value, dict | list)


def _mapped(path: Path, text: str, f: Callable[[str], str], is_form: IsForm | None) -> str:
    if is_form is not None and is_form(path, is_key=False, text=text):
        return text
    return f(text)


def _map_members(
    item: dict[str, JSON], path: Path, f: Callable[[str], str], is_form: IsForm | None
) -> bool:
    changed = False
    names: dict[str, str] = {}
    for key, inner in item.items():
        left = is_form is not None and is_form((*path, key), is_key=True, text=key)
        names[key] = key if left else f(key)
        if isinstance(inner, str):
            item[key] = new = _mapped((*path, key), inner, f, is_form)
            changed |= new != inner
    if any(new != key for key, new in names.items()):
        distinct = distinct_keys(names)
        members = [(distinct[key], inner) for key, inner in item.items()]
        item.clear()
        item.update(members)
        changed = True
    return changed


def distinct_keys(names: dict[str, str]) -> dict[str, str]:
    """Return what each key of one object is to be called, so that no two become one.

    Args:
        names: By each key what it is to be called; a key that stays as it is
            keeps its name, the later of two that change gets ``#2``, ``#3``, ...
    """
    taken = {key for key, new in names.items() if key == new}
    made: dict[str, str] = {}
    for key, new in names.items():
        name, number = new, 1
        while key != new and name in taken:
            number += 1
            name = f"{new}#{number}"
        taken.add(name)
        made[key] = name
    return made


# -- lines -----------------------------------------------------------------


def map_tokens(raw: bytes, f: Callable[[str], str], is_form: IsForm | None = None) -> bytes:
    """Put ``f(text)`` in the place of every string of the JSON text *raw*.

    Every byte outside the strings that change stays, and of duplicate keys
    all are mapped.

    Returns:
        *raw* itself where nothing changes.

    Raises:
        ValueError: It is not one JSON value.
    """
    keys: list[tuple[Token, str, str]] = []
    edits: list[Edit] = []
    renames = False
    tokens = string_tokens(raw)
    if is_form is not None and has_doubles(tokens):
        is_form = _winners(raw, is_form)
    for token in tokens:
        text = text_of(raw, token)
        left = is_form is not None and is_form(token.path, is_key=token.is_key, text=text)
        new = text if left else f(text)
        if token.is_key:
            keys.append((token, text, new))
            renames |= new != text
        elif new != text:
            edits.append(_whole(token, new))
    if renames:
        edits.extend(key_edits(keys))
    return apply_edits(raw, edits)


def has_doubles(tokens: Sequence[Token]) -> bool:
    """Whether a key stands twice in an object of a line."""
    keys = [token.path for token in tokens if token.is_key]
    return len(set(keys)) != len(keys)


def _winners(raw: bytes, is_form: IsForm) -> IsForm:
    """Return what takes for form only what counts: of a key's values that is the last one."""
    value = loads(raw)

    def counts(path: Path, *, is_key: bool, text: str) -> bool:
        return is_form(path, is_key=is_key, text=text) and (is_key or _at(value, path) == text)

    return counts


def _at(value: JSON, path: Path) -> JSON:
    """Return what stands at *path* of a value; None where nothing does."""
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def key_edits(keys: list[tuple[Token, str, str]]) -> list[Edit]:
    """Return the edits that rename keys, no two of one object to the same.

    Args:
        keys: All keys of a line: each one's token, what it says and what it is to say.
    """
    objects: dict[Path, dict[str, str]] = {}
    for token, text, new in keys:
        objects.setdefault(token.path[:-1], {})[text] = new
    edits: list[Edit] = []
    made = {path: distinct_keys(names) for path, names in objects.items()}
    for token, text, _ in keys:
        new = made[token.path[:-1]][text]
        if new != text:
            edits.append(_whole(token, new))
    return edits


def _whole(token: Token, new: str) -> Edit:
    return token.start + 1, token.end - 1, encode_text(new)


def edited(raw: bytes, value: JSON) -> bytes:
    """Return the JSON text *raw* with what makes it decode to *value*.

    Where only strings differ, only these change in it; else all of it is
    encoded anew.

    Returns:
        *raw* itself where it is *value* already.
    """
    changes = _changed_strings(loads(raw), value)
    if changes is None:
        return dumps(value)
    if not changes:
        return raw
    # Of duplicate keys the last one counts, as it does in decoding.
    last = {token.path: token for token in string_tokens(raw) if not token.is_key}
    return apply_edits(raw, [_whole(last[path], new) for path, new in changes.items()])


def _changed_strings(old: JSON, new: JSON) -> dict[Path, str] | None:
    """Return the strings of *new* that differ, by their places; None: more than strings does."""
    changes: dict[Path, str] = {}
    todo: list[tuple[Path, JSON, JSON]] = [((), old, new)]
    while todo:
        path, one, other = todo.pop()
        if isinstance(one, str) and isinstance(other, str):
            if one != other:
                changes[path] = other
            continue
        pairs = _members(path, one, other)
        if pairs is None:
            return None
        todo.extend(pairs)
    return changes


def _members(path: Path, one: JSON, other: JSON) -> list[tuple[Path, JSON, JSON]] | None:
    """Return the pairs of what two values hold; None where they differ but by that."""
    if isinstance(one, dict) and isinstance(other, dict):
        if list(one) != list(other):
            return None
        return [((*path, key), item, other[key]) for key, item in one.items()]
    if isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            return None
        pairs = enumerate(zip(one, other, strict=True))
        return [((*path, index), *pair) for index, pair in pairs]
    return [] if same(one, other) else None


# -- files -----------------------------------------------------------------

_MARK: Final = codecs.BOM_UTF8
_LINES_END: Final = (".jsonl", ".ndjson")


class FileHooks(Protocol):
    """What is asked for the parts of a file."""

    def json(self, number: int, raw: bytes) -> bytes:
        """Return what is to stand for a JSON text; ``ValueError`` where it is none."""
        ...

    def text(self, text: str) -> str:
        """Return what is to stand for a text."""
        ...


def map_file(data: bytes, hooks: FileHooks) -> bytes:
    """Return a file's new bytes: JSON as such, JSON lines line by line, other UTF-8 as a text.

    Bytes that are not UTF-8 stay, and the text around them is mapped.

    Returns:
        *data* itself where nothing changes.
    """
    mark = _MARK if data.startswith(_MARK) else b""
    body = data[len(mark) :]
    if not body.strip():
        return data
    try:
        new = hooks.json(0, body)
    except ValueError:
        if seems_lines("", body):
            pieces = body.split(b"\n")
            new = b"\n".join(_line(n, piece, hooks) for n, piece in enumerate(pieces, 1))
        else:
            new = map_runs(body, hooks.text)
    return data if new is body or new == body else mark + new


def _line(number: int, raw: bytes, hooks: FileHooks) -> bytes:
    if not raw.strip():
        return raw
    try:
        return hooks.json(number, raw)
    except ValueError:
        return map_runs(raw, hooks.text)


def is_text(head: bytes, most: int) -> bool:
    """Whether a file's beginning of at most *most* bytes can be text: UTF-8 without NULs."""
    if b"\0" in head:
        return False
    try:
        head.decode()
    except UnicodeDecodeError as error:
        # A character may be cut off at the end of what was read.
        return len(head) >= most and error.start > len(head) - 4 and "end of data" in error.reason
    return True


def seems_lines(name: str, head: bytes) -> bool:
    """Whether a file is JSON lines, by its name or by its first line that is not blank."""
    if name.endswith(_LINES_END):
        return True
    first, newline, rest = head.removeprefix(_MARK).lstrip().partition(b"\n")
    if not newline or not rest.strip():
        return False
    try:
        return isinstance(loads_fast(first), dict | list)
    except ValueError:
        try:
            return isinstance(loads(first), dict | list)
        except ValueError:
            return False


_FOREIGN: Final = re.compile("([\udc80-\udcff]+)")


def map_runs(raw: bytes, f: Callable[[str], str]) -> bytes:
    """Put ``f(text)`` in the place of every run of UTF-8 in *raw*; other bytes stay.

    Returns:
        *raw* itself where nothing changes.
    """
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        pieces = _FOREIGN.split(raw.decode("utf-8", "surrogateescape"))
    else:
        told = f(text)
        return raw if told == text else told.encode("utf-8", "surrogatepass")
    made = [
        piece.encode("utf-8", "surrogateescape")
        if index % 2
        else f(piece).encode("utf-8", "surrogatepass")
        for index, piece in enumerate(pieces)
        if piece
    ]
    new = b"".join(made)
    return raw if new == raw else new
