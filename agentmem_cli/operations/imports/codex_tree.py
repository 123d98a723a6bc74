"""Which rollouts belong together: threads, their children, and files of one thread.

A child thread has a rollout of its own, which names its parent. Where the
parent's lies in the same tree (``sessions/`` and ``archived_sessions/`` of
one home, or else the same folder) the child is an agent of its session.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from io import BufferedReader
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import AgentMemError
from agentmem_cli.operations.imports.adapter import Tally
from agentmem_cli.operations.imports.foreign import ForeignFile, read_lines
from agentmem_cli.operations.imports.opening import is_plain, open_regular
from agentmem_cli.operations.imports.packed import HEAD_BYTES, Unpacked, is_packed
from agentmem_cli.session.codec import loads_fast

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from agentmem_cli.session.codec import JSON, Object

_ENDINGS: Final = (".jsonl", ".jsonl.zst")
"""How rollouts' names end; what they are their content says."""

_FOLDERS: Final = ("sessions", "archived_sessions")
_INDEX: Final = "session_index.jsonl"
_HEAD_LINES: Final = 8
"""Lines among which a header is looked for."""

_HEAD_BYTES: Final = 4 << 20
"""Bytes in which it is looked for: it can hold the model's whole instructions."""

_REMEMBERED: Final = 1 << 15
"""Rollouts whose headers are remembered: a watched folder is looked through every second or two."""

_ID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_DIGEST_DIGITS: Final = 8


class Origin(NamedTuple):
    """What a rollout's header says of where it comes from."""

    thread: str
    """The thread's id; empty: the header names none."""
    parent: str | None = None
    """The thread that spawned it."""
    forked_from: str | None = None
    """The thread whose beginning it copies."""
    provider: str = "openai"
    """Who runs its model."""


class Rollout(NamedTuple):
    """A rollout of a tree."""

    path: Path
    origin: Origin


class Tree:
    """The rollouts that lie together."""

    def __init__(self, home: Path, rollouts: Iterable[Rollout]) -> None:
        """Sort *rollouts*, which lie beneath *home*."""
        self.home = home
        self._named: dict[str, str] | None = None
        self._threads: dict[str, list[Rollout]] = {}
        self._children: dict[str, list[Rollout]] = {}
        for rollout in sorted(rollouts):
            self._threads.setdefault(rollout.origin.thread, []).append(rollout)
        for same in self._threads.values():
            if len(same) > 1:
                same.sort(key=lambda each: (-_fullness(each.path), str(each.path)))
            parent = same[0].origin.parent
            if parent is not None:
                self._children.setdefault(parent, []).append(same[0])

    def title_of(self, thread: str) -> str | None:
        """Return the name that Codex's index of sessions, beside them, has for *thread*."""
        if self._named is None:
            self._named = _titles(self.home / _INDEX)
        return self._named.get(thread)

    def first_of(self, thread: str | None) -> Rollout | None:
        """Return the fullest rollout of *thread*; of equal ones the first by name."""
        return None if thread is None else next(iter(self._threads.get(thread, ())), None)

    def is_first(self, rollout: Rollout) -> bool:
        """Whether *rollout* is what `first_of` gives of its thread."""
        first = self.first_of(rollout.origin.thread)
        return first is None or first.path == rollout.path

    def children_of(self, thread: str) -> Sequence[Rollout]:
        """Return the rollouts of the threads that *thread* spawned, by name."""
        return self._children.get(thread, ())

    def name_of(self, rollout: Rollout) -> str:
        """Return what a session of *rollout* is called.

        It is the thread's id; for a further file of a thread a digest of the
        file's name is added.
        """
        thread = rollout.origin.thread
        if self.is_first(rollout):
            return thread
        name = rollout.path.name.encode("utf-8", "surrogateescape")
        return f"{thread}-{hashlib.sha256(name).hexdigest()[:_DIGEST_DIGITS]}"

    def top_of(self, rollout: Rollout) -> Rollout:
        """Return the rollout whose session *rollout* is part of: itself, or whose child it is."""
        chain = [rollout]
        while self.is_first(chain[-1]):
            above = self.first_of(chain[-1].origin.parent)
            if above is None:
                break
            if above in chain:
                # Why: threads that name each other; one of them has to be the first.
                return min(chain[chain.index(above) :])
            chain.append(above)
        return chain[-1]


def is_header(value: Object) -> bool:
    """Whether *value* is the flat header of an old rollout."""
    if "type" in value or "payload" in value or "role" in value:
        return False
    return (
        isinstance(value.get("id"), str)
        and "timestamp" in value
        and not {"instructions", "git", "cwd", "originator"}.isdisjoint(value)
    )


def document_of(value: Object) -> tuple[Object, list[JSON]] | None:
    """Return the header and the items of a rollout that is one JSON document; None: it is none."""
    header, items = value.get("session"), value.get("items")
    if not (isinstance(header, dict) and isinstance(items, list) and "type" not in value):
        return None
    return (header, items) if is_header(header) else None


def header_of(item: Object) -> Origin:
    """Return what the header *item* (a ``session_meta``'s payload, or a flat header) says."""
    thread = _text(item.get("id")) or ""
    source = item.get("source")
    spawned = source.get("subagent") if isinstance(source, dict) else None
    parent = _text(item.get("parent_thread_id"))
    if isinstance(spawned, dict) and isinstance(spawn := spawned.get("thread_spawn"), dict):
        parent = _text(spawn.get("parent_thread_id")) or parent
    if parent is None and (spawned is not None or item.get("thread_source") == "subagent"):
        parent = _text(item.get("session_id"))
    return Origin(
        thread,
        None if parent == thread else parent,
        _text(item.get("forked_from_id")),
        _text(item.get("model_provider")) or "openai",
    )


def origin_of(path: Path, head: Iterable[Object]) -> Origin:
    """Return what the first header among the records *head* of the rollout at *path* says.

    A rollout without one is known by the id in its file's name, else by the name.
    """
    found = Origin("")
    for value in head:
        item = value.get("payload")
        if value.get("type") == "session_meta" and isinstance(item, dict):
            found = header_of(item)
            break
        document = document_of(value)
        if document is not None or is_header(value):
            found = header_of(value if document is None else document[0])
            break
    if found.thread:
        return found
    ids = _ID.findall(path.name)
    return found._replace(thread=ids[-1] if ids else path.name.partition(".jsonl")[0])


def tree_around(path: Path, known: dict[Path, Tree] | None) -> Tree:
    """Return the tree that the rollout at *path* lies in.

    Args:
        path: A rollout.
        known: The trees that were looked at before, if those may be used again.
    """
    home, folders = _home_of(path)
    if known is not None and home in known:
        return known[home]
    tree = Tree(home, _rollouts(each for folder, deep in folders for each in _files(folder, deep)))
    if known is not None:
        known[home] = tree
    return tree


def family_of(path: Path, own: Origin, tree: Tree) -> tuple[Rollout, list[tuple[Rollout, str]]]:
    """Return the main rollout of the session that *path* belongs to, and its children.

    Returns:
        The main one; and the rollouts of the threads it spawned, and those of
        theirs, each with the agent it was spawned by (empty: the main one).
    """
    main = tree.top_of(Rollout(path, own))
    children: list[tuple[Rollout, str]] = []
    if not tree.is_first(main):
        return main, children
    todo = [(each, "") for each in tree.children_of(main.origin.thread)]
    seen = {main.origin.thread}
    while todo:
        child, parent = todo.pop(0)
        thread = child.origin.thread
        if thread in seen:
            continue
        seen.add(thread)
        children.append((child, parent))
        todo += [(each, thread) for each in tree.children_of(thread)]
    return main, children


def parts_in(paths: Sequence[Path]) -> list[Path]:
    """Return those of *paths* that are rollouts of threads which another one's spawned.

    They are read with that one, as `family_of` says.
    """
    homes: dict[Path, list[tuple[Path, Rollout]]] = {}
    for path in paths:
        if path.name.endswith(_ENDINGS):
            for rollout in _rollouts([path]):
                homes.setdefault(_home_of(path)[0], []).append((path, rollout))
    parts = []
    for home, found in homes.items():
        tree = Tree(home, (rollout for _, rollout in found))
        parts += [path for path, rollout in found if tree.top_of(rollout) != rollout]
    return parts


def _titles(path: Path) -> dict[str, str]:
    """Return the names that the index at *path* has for threads; of each the last one."""
    titles: dict[str, str] = {}
    if not is_plain(path):
        return titles
    try:
        with ForeignFile(path) as source:
            for line in read_lines(source.chunks(), lambda _: True, Tally()):
                thread, name = _text(line.value.get("id")), _text(line.value.get("thread_name"))
                if thread is not None and name is not None:
                    titles[thread] = name
    except (OSError, AgentMemError):
        # Why: a list beside the sessions is no reason not to read one.
        return titles
    return titles


def _home_of(path: Path) -> tuple[Path, list[tuple[Path, bool]]]:
    """Return the folder a tree is known by, and those of its rollouts (with those beneath?)."""
    absolute = path.absolute()
    for parent in absolute.parents:
        if parent.name in _FOLDERS:
            home = parent.parent
            folders = (home / name for name in _FOLDERS)
            # Why its own in any case: who named it may have come by a link, and meant it.
            wanted = [each for each in folders if each == parent or not each.is_symlink()]
            return home, [(each, True) for each in wanted]
    return absolute.parent, [(absolute.parent, False)]


def _files(folder: Path, deep: bool) -> list[Path]:  # noqa: FBT001 - with its folder
    if not folder.is_dir():
        return []
    found = folder.rglob("*") if deep else folder.iterdir()
    wanted = [path for path in found if path.name.endswith(_ENDINGS)]
    return [path for path in wanted if is_plain(path)]


def _rollouts(paths: Iterable[Path]) -> list[Rollout]:
    """Return those of *paths* whose first lines hold a header."""
    found = []
    for path in paths:
        try:
            state = path.stat()
        except OSError:
            continue
        origin = _origin_at(path, (state.st_ino, state.st_size, state.st_mtime_ns))
        if origin is not None:
            found.append(Rollout(path.absolute(), origin))
    return found


@lru_cache(maxsize=_REMEMBERED)
def _origin_at(path: Path, _: tuple[int, int, int]) -> Origin | None:
    """Return the origin of the rollout at *path*; it is looked at anew when its state changes."""
    head = _head(path)
    if any(each.get("type") == "session_meta" or is_header(each) for each in head):
        return origin_of(path, head)
    return None


def _head(path: Path) -> list[Object]:
    """Return the records among a file's first lines; none where it does not read."""
    found: list[Object] = []
    try:
        with BufferedReader(open_regular(path)) as source:
            if is_packed(source.peek(HEAD_BYTES)):
                return _packed_head(path)
            left = _HEAD_BYTES
            for _ in range(_HEAD_LINES):
                line = source.readline(left)
                left -= len(line)
                value = _object(line)
                if value is not None:
                    found.append(value)
    except OSError:
        return []
    return found


def _packed_head(path: Path) -> list[Object]:
    try:
        with ForeignFile(path) as source:
            lines = read_lines(source.chunks(), lambda _: False, Tally())
            return [line.value for line in islice(lines, _HEAD_LINES)]
    except AgentMemError:
        return []


def _object(line: bytes) -> Object | None:
    try:
        value = loads_fast(line.removeprefix(b"\xef\xbb\xbf"))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _fullness(path: Path) -> int:
    """Return how many bytes a rollout holds, unpacked."""
    try:
        with open_regular(path) as plain:
            packed = is_packed(plain.read(HEAD_BYTES))
        with ForeignFile(path) as source:
            if packed:
                return sum(len(chunk) for chunk in Unpacked(source.chunks()))
            return source.size
    except (OSError, AgentMemError):
        return 0


def _text(value: JSON) -> str | None:
    return value if isinstance(value, str) and value else None
