"""Claude Code's files: which one is a session's, which are its agents' and its long outputs.

A session is ``<id>.jsonl``. Its agents are ``<id>/subagents/**/agent-*.jsonl``,
before version 2.1 ``agent-*.jsonl`` beside it; which of those are its own only
their records tell. Long outputs of tools are ``<id>/tool-results/*``. Nothing
outside of these places is opened, and no link on the way is followed.

Source: DESIGN.md, "Imports".
"""

from __future__ import annotations

import re
from os import walk
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.operations.imports.adapter import MAIN, any_ms
from agentmem_cli.operations.imports.opening import is_plain, open_regular
from agentmem_cli.operations.imports.sources import ATTACHED_BYTES_MAX

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

AGENT_FILE = re.compile(r"agent-(?P<agent>.+)\.jsonl")
"""The name of an agent's transcript."""

UUID = re.compile(r"(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""A session's id."""

_META_END: Final = ".meta.json"
_HEAD_BYTES: Final = 64 << 10
"""Bytes of an agent's file in which its session and its beginning are looked for."""

_SCAN_BYTES: Final = 1 << 20
_OVERLAP_BYTES: Final = 200
"""Bytes of two blocks that are looked at together: more than a field with an id has."""

# Why by bytes: a quote inside a string is escaped, so these are fields, and a
# head can end within a line as long as an image.
_SESSION = re.compile(rb'(?<!\\)"sessionId"\s*:\s*"([^"\\]+)"')
_TIME = re.compile(rb'(?<!\\)"timestamp"\s*:\s*"([^"\\]+)"')
_AGENT = re.compile(rb'(?<!\\)"agentId"\s*:\s*"([^"\\]+)"')
_CALL = re.compile(rb'(?<!\\)"id"\s*:\s*"(toolu[^"\\]+)"')
_SPAWNED_BY = re.compile(rb'(?<!\\)"toolUseId"\s*:\s*"([^"\\]+)"')


class Child(NamedTuple):
    """An agent's transcript."""

    path: Path
    agent: str
    """The agent's id, by the file's name."""
    session: str | None
    """The session that its records name; None: none at its head."""
    begins: int | None
    """The time of its first record, ms since 1970-01-01 UTC; None: not told."""

    @property
    def meta(self) -> Path:
        """Where its description stands, if there is one."""
        return self.path.with_name(self.path.name.removesuffix(".jsonl") + _META_END)


class Files:
    """Finds a session's files; remembers which agents' files a folder has."""

    def __init__(self) -> None:
        """Know none yet."""
        self._beside: dict[Path, tuple[int, dict[str, list[Child]]]] = {}

    def children(self, main: Path, session: str) -> list[Child]:
        """Return the transcripts of the agents of the *session* whose own one is *main*."""
        found: dict[Path, Child] = {}
        for name in dict.fromkeys((main.stem, session)):
            if _is_name(name):
                for path in _agent_files(main.parent / name / "subagents"):
                    found.setdefault(path, child_at(path))
        for child in self._siblings(main.parent).get(session, ()):
            if child.path != main:
                found.setdefault(child.path, child)
        return _distinct(found.values())

    def main_of(self, path: Path) -> Path | None:
        """Return the transcript of the session that the agent's file *path* belongs to.

        Returns:
            None where *path* is no agent's file, or the session's is not there.
        """
        if AGENT_FILE.fullmatch(path.name) is None:
            return None
        main = main_file(path, None)
        return main if main is not None and main != path and is_plain(main) else None

    def _siblings(self, folder: Path) -> dict[str, list[Child]]:
        """Return the agents' files in *folder* by the session that their records name."""
        try:
            changed = folder.stat().st_mtime_ns
        except OSError:
            return {}
        known = self._beside.get(folder)
        if known is not None and known[0] == changed:
            return known[1]
        groups: dict[str, list[Child]] = {}
        for path in sorted(folder.glob("agent-*.jsonl")):
            if is_plain(path):
                child = child_at(path)
                groups.setdefault(child.session or "", []).append(child)
        if not groups.pop("", None):
            # Why not otherwise: a file without a record yet may get one.
            self._beside[folder] = (changed, groups)
        return groups


def main_file(path: Path, session: str | None) -> Path | None:
    """Return where the transcript of the session that the agent's file *path* belongs to stands.

    Args:
        path: The agent's file.
        session: The session that its records name; None: look for it, if need be.

    Returns:
        The place, whether or not a file is there; None: it cannot be told.
    """
    owner = _owner(path, "subagents")
    if owner is not None:
        return owner.with_name(f"{owner.name}.jsonl")
    session = session or child_at(path).session
    return path.with_name(f"{session}.jsonl") if session is not None and _is_name(session) else None


def parts_in(paths: Sequence[Path]) -> list[Path]:
    """Return those of *paths* that are read with a session's transcript among them.

    That is its agents' transcripts, and all else that stands in its folder.
    """
    there = set(paths)
    own: dict[Path, bool] = {}
    files = Files()
    found = []
    for path in paths:
        main: Path | None
        if AGENT_FILE.fullmatch(path.name):
            main = files.main_of(path)
        elif path.name.endswith(_META_END):
            main = files.main_of(path.with_name(path.name.removesuffix(_META_END) + ".jsonl"))
        else:
            owner = _owner(path, "tool-results") or _owner(path, "subagents")
            main = None if owner is None else owner.with_name(f"{owner.name}.jsonl")
        if main is None or main not in there:
            main = _standing_above(path, there)
            if main is not None and main not in own:
                own[main] = child_at(main).session is not None
            if main is None or not own[main]:
                continue
        found.append(path)
    return found


def _standing_above(path: Path, there: set[Path]) -> Path | None:
    """Return which of the files that are *there* has the folder that *path* stands in for its own.

    Only a session's id counts: folders of any other name hold transcripts of their own.
    """
    for folder in path.parents:
        if UUID.fullmatch(folder.name):
            main = folder.with_name(f"{folder.name}.jsonl")
            if main in there:
                return main
    return None


def _distinct(found: Iterable[Child]) -> list[Child]:
    """Return agents no two of which have one id, and of a file and its copy the fuller one."""
    kept: dict[str, Child] = {}
    for child in found:
        agent = child.agent
        twin = kept.get(agent)
        if twin is not None and _begins_alike(twin.path, child.path):
            child = max(twin, child, key=lambda each: _size(each.path))  # noqa: PLW2901 - the fuller
        elif twin is not None:
            agent = f"{agent} ({child.path.parent.name})"
        kept[agent] = child._replace(agent=agent)
    return list(kept.values())


def _begins_alike(one: Path, other: Path) -> bool:
    """Whether the shorter of two files is the beginning of the longer one."""
    left = min(_size(one), _size(other))
    try:
        with open_regular(one) as first, open_regular(other) as second:
            while left > 0:
                size = min(left, _SCAN_BYTES)
                if first.read(size) != second.read(size):
                    return False
                left -= size
    except OSError:
        return False
    return True


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _owner(path: Path, kind: str) -> Path | None:
    """Return the session's folder that *path* stands in a folder called *kind* of."""
    folder = next((each for each in path.parents if each.name == kind), None)
    return folder.parent if folder is not None and folder.parent.name else None


def child_at(path: Path) -> Child:
    """Return the agent's transcript at *path*, as its name and its head tell of it."""
    named = AGENT_FILE.fullmatch(path.name)
    try:
        with open_regular(path) as handle:
            head = handle.read(_HEAD_BYTES)
    except OSError:
        head = b""
    session, time = _SESSION.search(head), _TIME.search(head)
    agent = path.stem if named is None else named["agent"]
    return Child(
        path,
        f"agent-{MAIN}" if agent == MAIN else agent,
        None if session is None else session[1].decode("utf-8", "replace"),
        None if time is None else any_ms(time[1].decode("utf-8", "replace")),
    )


def _agent_files(folder: Path) -> Iterator[Path]:
    """Yield the agents' transcripts beneath *folder*, sorted; no link is followed."""
    if folder.is_symlink() or folder.parent.is_symlink():
        return
    for place, folders, names in walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(place, name)
            if AGENT_FILE.fullmatch(name) and is_plain(path):
                yield path


class Family:
    """Who spawned whom among a session's agents."""

    def __init__(self, children: Sequence[Child]) -> None:
        """Find it out among *children* when it is first asked."""
        self._children = children
        self._parents: dict[str, str] | None = None

    def parent(self, agent: str) -> str:
        """Return the agent that spawned *agent*: the main one unless another's file tells."""
        if self._parents is None:
            self._parents = self._found() if len(self._children) > 1 else {}
        return self._parents.get(agent, MAIN)

    def _found(self) -> dict[str, str]:
        ids = {child.agent.encode(): child.agent for child in self._children}
        calls = {call: child.agent for child in self._children if (call := _call_of(child))}
        parents: dict[str, str] = {}
        for child in self._children:
            named = {ids[found] for found in _found_in(child.path, _AGENT) if found in ids}
            if calls:
                asked = _found_in(child.path, _CALL)
                named |= {agent for call, agent in calls.items() if call in asked}
            for agent in sorted(named):
                if agent not in parents and not _descends(child.agent, agent, parents):
                    parents[agent] = child.agent
        return parents


def _descends(agent: str, above: str, parents: dict[str, str]) -> bool:
    """Whether *agent* is *above* or was spawned by it, directly or not."""
    current: str | None = agent
    while current is not None and current != above:
        current = parents.get(current)
    return current == above


def _call_of(child: Child) -> bytes | None:
    if not is_plain(child.meta):
        return None
    try:
        with open_regular(child.meta) as handle:
            found = _SPAWNED_BY.search(handle.read(_HEAD_BYTES))
    except OSError:
        return None
    return None if found is None else found[1]


def _found_in(path: Path, pattern: re.Pattern[bytes]) -> set[bytes]:
    found: set[bytes] = set()
    rest = b""
    try:
        with open_regular(path) as handle:
            while block := handle.read(_SCAN_BYTES):
                found.update(pattern.findall(rest + block))
                rest = block[-_OVERLAP_BYTES:]
    except OSError:
        return found
    return found


class Outputs:
    """The folder of a session's long outputs."""

    def __init__(self, main: Path, session: str) -> None:
        """Take the folder of the *session* whose transcript is *main*."""
        self._folders = own_folders(main, session)

    def find(self, told: str) -> tuple[Path | None, str]:
        """Find the file that a transcript calls *told*.

        A transcript may have been moved to another machine: what counts is
        the part of the path behind the session's own folder.

        Returns:
            The file, or None and why there is none.
        """
        parts = PureWindowsPath(told).parts
        outside = True
        for folder in self._folders:
            if folder.name not in parts:
                continue
            last = len(parts) - parts[::-1].index(folder.name)
            inside = parts[last:]
            if not inside or ".." in parts:
                continue
            outside = False
            path = _plain_file(folder, inside)
            if path is not None:
                why = _unfit(path)
                return (None, why) if why else (path, "")
        return None, "outside" if outside else "missing"


def own_folders(main: Path, session: str) -> tuple[Path, ...]:
    """Return the folders that are those of the *session* whose transcript is *main*."""
    names = dict.fromkeys((main.stem, session))
    return tuple(main.parent / name for name in names if _is_name(name))


def _plain_file(folder: Path, parts: Sequence[str]) -> Path | None:
    """Return the file at *parts* beneath *folder*, if nothing from *folder* on is a link."""
    path = folder
    for part in (None, *parts):
        path = path if part is None else path / part
        try:
            if path.is_symlink():
                return None
        except (OSError, ValueError):
            return None
    return path if path.is_file() else None


def _unfit(path: Path) -> str:
    """Return why a file's bytes are not to be had; empty: they are."""
    try:
        with open_regular(path):
            return "large" if path.stat().st_size > ATTACHED_BYTES_MAX else ""
    except OSError:
        return "unreadable"


def _is_name(name: str) -> bool:
    """Whether *name* is a single plain part of a path."""
    return bool(name) and name not in (".", "..") and not set(name) & set("/\\:\0")
