"""Commands that change a session, and what must hold wherever one of their calls fails.

A row is a command with the state it begins from. It is run once untouched, and once more after
that; then again for every call and every fault, each time from a fresh copy.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from agentmem_cli.errors import AgentMemError
from agentmem_cli.session.codec import dumps, loads_object
from agentmem_cli.session.session import Session
from agentmem_cli.storage.directory import DirStore
from agentmem_cli.storage.layout import PART, REDO, STAGES, TRASH
from tests.cli.running import header, join, pushed, record, said, write
from tests.e2e.torture_looks import View, left_unsaid, looked, view_of
from tests.e2e.torture_states import LONG, PIXEL, SECRET
from tests.talks import call, reply, result
from tests.unit.imports import building

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem_cli.session.codec import Object
    from tests.e2e.torture_rows import Row
    from tests.e2e.torture_server import Ended, Server

EVERYWHERE = ("EIO", "EINTR", "ENOSPC")
AT_CHANGES = ("KILL", "LATE", "SIGINT", "FULL", "READONLY")
AT_WRITES = ("SHORT", "TORN")
KILLS = frozenset({"KILL", "LATE", "TORN"})
LASTING = frozenset({"FULL", "READONLY"})

LATER = ("next command", "could not be cut back")
"""What an error says where only the next command finishes something, or takes it back."""

LOOK_STEP = 7
"""At every which of the points tried all looking commands look at what is left.

A number that divides by none of those of faults at a call, so that each fault is looked at.
"""

OF_OTHERS = 0o077


# -- states ----------------------------------------------------------------


def fill(place: Path) -> Path:
    """Make the folder that every row begins with; return the root of its sessions."""
    root = place / "root"
    image: Object = {"type": "image", "data": PIXEL, "media_type": "image/png"}
    main = [
        header(),
        record(1, "state", key="rig::title", value="tides"),
        said(2, f"export API_TOKEN={SECRET}", id_=0),
        pushed(3, call("t1", path="/home/ada/tides/a.py").value, id_=1),
        pushed(4, result("t1", LONG).value, id_=2),
        pushed(5, {"role": "user", "content": [{"type": "text", "text": "see"}, image]}, id_=3),
        pushed(6, reply("It is built.").value, id_=4),
        said(7, "what is next?", id_=5),
        pushed(8, reply("The tests.").value, id_=6),
    ]
    aide = [header("aide", n=20, parent="main"), said(1, f"it printed {SECRET}", n=21, id_=0)]
    write(root, "one", "main", join(main))
    write(root, "one", "aide", join(aide))
    building.put(
        place / "source.jsonl",
        building.lines(
            building.header(), building.user(1, "make tides"), building.reply(2, "They are made.")
        ),
    )
    (place / "blocks").mkdir()
    for name in ("human", "facts", "goals"):
        (place / "blocks" / f"{name}.md").write_text(f"what {name} says\n")
    (place / "replace").write_text(f"{SECRET} ==> gone\n")
    return root


_NUMBERS = re.compile(rb'"(lineage|t|made|n|updated|mtime_ns|inode|device)":\d+')
_SEEN = re.compile(rb'"seen":\[[0-9,]*\]|(?<="ends":){[^}]*}')
_DRAWN = re.compile(rb"(?<=[:\"-])[0-9a-f]{4,64}(?=[]\"-])")

State = dict[str, bytes]


def raw_state(root: Path) -> State:
    """The bytes of everything in *root* that says something: no locks, parts, or caches."""
    found: State = {}
    for path in files_in(root):
        where = path.relative_to(root).as_posix()
        if is_passing(where) or path.name in {"meta.json", ".rig-memory.lock"}:
            continue
        found[where] = path.read_bytes()
        if mode := path.lstat().st_mode & OF_OTHERS:
            found[f"{where} is open"] = oct(mode).encode()
    labels = {f"{name}/labels": _labels(root / name) for name in _sessions(root)}
    found |= {name: data for name, data in labels.items() if data}
    return found | {f"{name}/": b"" for name in _sessions(root)}


def _labels(session: Path) -> bytes:
    """What a meta says that no log does; a damaged one says nothing."""
    try:
        meta = loads_object((session / "files/meta.json").read_bytes())
    except (OSError, ValueError):
        return b""
    return dumps(labels) if (labels := meta.get("labels")) else b""


def state_of(root: Path) -> State:
    """`raw_state` without what chance and clock put in, and without torn tails of logs.

    A single append that is killed leaves one, which the next change sets aside.
    """
    found = {
        name: data[: data.rfind(b"\n") + 1] if name.endswith(".jsonl") else data
        for name, data in raw_state(root).items()
    }
    return {
        name: _DRAWN.sub(b"0", _NUMBERS.sub(rb'"\1":0', _SEEN.sub(b"", data)))
        for name, data in found.items()
    }


def files_in(root: Path) -> Iterator[Path]:
    for place, _, names in os.walk(root):
        for name in names:
            yield Path(place, name)


def is_passing(where: str) -> bool:
    parts = where.split("/")
    return parts[-1] == REDO or any(part.endswith((PART, TRASH)) for part in parts)


def extras(root: Path) -> set[str]:
    """What stands in *root* that only a change under way has."""
    paths = (path.relative_to(root).as_posix() for path in files_in(root))
    return {where for where in paths if is_passing(where)}


def read_strictly(root: Path) -> None:
    """Read every session in *root* strictly."""
    for name in _sessions(root):
        Session.read(DirStore.open(root / name))


def _sessions(root: Path) -> list[str]:
    names = sorted(path.name for path in root.iterdir()) if root.is_dir() else []
    return [name for name in names if not is_passing(name)]


# -- one row ---------------------------------------------------------------


class Expected(NamedTuple):
    """What the untouched runs came to."""

    first: Path
    old: State
    new: State
    twice: State
    again: int
    """The exit status of the second run."""
    calls: list[str]
    shown: tuple[View, View]
    """What looking commands say of the old state, and of the new."""


def expected(server: Server, place: Path, row: Row) -> Expected:
    """Run *row* untouched, twice."""
    first = place / "first"
    root = fill(first)
    labels = ("meta", "label", "one", "kept=in the meta alone")
    for words, stdin in ((labels, b""), *row.before):
        done = server.run(root, *words, stdin=stdin, seed="before")
        assert done.status == 0, done
    if row.prepare is not None:
        row.prepare(root)
    _age(root)
    before = _copy(first, place / "tried")
    shown = view_of(server, before)
    measured = _copy(first, place / "tried")
    done, calls = _counted(server, measured, row)
    assert done.status in row.good, (row.name, done)
    read_strictly(measured)
    new = state_of(measured)
    newly = view_of(server, measured)
    wrong = _unsaid(server, measured, row, done)
    assert wrong == []
    again = _run(server, measured, row, seed="again")
    return Expected(
        first,
        state_of(root),
        new,
        state_of(measured),
        again.status,
        calls,
        (shown, newly),
    )


def _run(server: Server, root: Path, row: Row, **how: str | int) -> Ended:
    return server.run(root, *row.words, stdin=row.stdin, held=row.held, **how)  # type: ignore[arg-type]


def _counted(server: Server, root: Path, row: Row) -> tuple[Ended, list[str]]:
    """Run the command of *row* untouched, and tell the calls it made."""
    listed = server.folder / "calls"
    done = _run(server, root, row, calls=str(listed))
    found: list[str] = json.loads(listed.read_text())
    return done, found


def _unsaid(server: Server, root: Path, row: Row, done: Ended) -> list[str]:
    return left_unsaid(server, root, done) if row.words[0] == "repair" else []


def _age(root: Path) -> None:
    # Nobody has written for an hour: a rewrite refuses what was changed just now.
    for path in files_in(root):
        found = path.lstat()
        times = (found.st_atime_ns, found.st_mtime_ns - 3_600_000_000_000)
        os.utime(path, ns=times, follow_symlinks=False)


def _copy(first: Path, target: Path) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(first, target, symlinks=True)
    return target / "root"


def points(calls: list[str], step: int) -> list[tuple[int, str]]:
    """Each call and fault to be tried, every *step*-th of them."""
    found: list[tuple[int, str]] = []
    for at, name in enumerate(calls, 1):
        hows = list(EVERYWHERE)
        if name != "open":
            hows += AT_CHANGES
        if name == "write":
            hows += AT_WRITES
        found += [(at, how) for how in hows]
    return found[step // 2 :: step]


def try_point(
    server: Server, expect: Expected, row: Row, at: int, how: str, *, look: bool = True
) -> list[str]:
    """Try one fault; return what is wrong, nothing where all is well."""
    root = _copy(expect.first, expect.first.with_name("tried"))
    done = _run(server, root, row, at=at, how=how)
    wrong = _ended(done, row)
    if done.status == 0 and not done.hit:
        return [*wrong, "the call was not reached"]
    wrong += _left(server, root)
    if look:
        wrong += looked(server, root, row, *expect.shown)
    before = raw_state(root)
    if row.settles:
        settle(root)
    armed = not done.killed and raw_state(root) != before
    told = done.out + done.err  # of one of several sessions it is told among them
    if armed and not (how in LASTING and any(each in told for each in LATER)):
        wrong.append(f"what failed was carried out later: {done.err.strip()[:300]}")
    settled = state_of(root)
    wrong += _settled(done, settled, row, expect)
    if row.strict or settled == expect.new:
        wrong += _strict(root)
    was_new = settled == expect.new and expect.new != expect.old
    return wrong + _again(server, root, row, expect, was_new=was_new)


def settle(root: Path) -> None:
    """Finish or drop what was cut short, as the next command does that changes something."""
    for name in _sessions(root):
        with suppress(AgentMemError, OSError):  # it can be neither, and the command says so
            DirStore.open(root / name).recover()


def _ended(done: Ended, row: Row) -> list[str]:
    wrong = []
    if done.status not in {*row.good, 2, 3, 4, 5, 6, 130, -signal.SIGKILL}:
        wrong.append(f"ended with {done.status}")
    if "internal error" in done.err or "Traceback" in done.err:
        wrong.append(f"an error of ours: {done.err.strip()[:400]}")
    return wrong


def _settled(done: Ended, settled: State, row: Row, expect: Expected) -> list[str]:
    wrong = []
    if settled not in (expect.old, expect.new) and not _is_between(settled, row, expect):
        wrong.append(f"neither the old state nor the new: {_difference(settled, expect)}")
    if done.status in row.good and settled != expect.new:
        wrong.append("acknowledged, and not there")
    return wrong


def _is_between(found: State, row: Row, expect: Expected) -> bool:
    """Whether each file, or each session, is as it was or as it will be."""
    if not row.in_steps:
        return False

    def part(name: str) -> str:
        return name.partition("/")[0] if row.by_session else name

    def parts(state: State) -> dict[str, State]:
        told: dict[str, State] = {}
        for name, data in state.items():
            told.setdefault(part(name), {})[name] = data
        return told

    mine, old, new = parts(found), parts(expect.old), parts(expect.new)
    names = {*mine, *old, *new}
    return all(mine.get(name) in (old.get(name), new.get(name)) for name in names)


def _left(server: Server, root: Path) -> list[str]:
    """What stands that `verify` does not name."""
    left = extras(root)
    if not left:
        return []
    told = server.run(root, "verify", "--json")
    said_ = told.out + told.err
    missing = [where for where in left if not _is_named(where, said_)]
    return [f"verify does not name {missing}: {said_[-300:]}"] if missing else []


def _is_named(where: str, told: str) -> bool:
    if where.endswith(REDO):
        return "unfinished-change" in told
    parts = where.split("/")
    if parts[0] == STAGES:  # a stage is named, and stands for what is in it
        return f'"{parts[0]}/{parts[1]}"' in told
    last = next(last for last, part in enumerate(parts) if part.endswith((PART, TRASH)))
    named = parts[: last + 1]
    return any(f'"{"/".join(named[first:])}"' in told for first in range(len(named)))


def _strict(root: Path) -> list[str]:
    try:
        read_strictly(root)
    except Exception as error:  # noqa: BLE001 - told as a finding
        return [f"not to be read strictly: {type(error).__name__}: {error}"]
    return []


def _again(server: Server, root: Path, row: Row, expect: Expected, *, was_new: bool) -> list[str]:
    done = _run(server, root, row, seed="again")
    statuses = (expect.again,) if was_new else row.good
    if done.status not in statuses:
        return [f"run again it ends with {done.status}: {done.err.strip()[:300]}"]
    wrong = _strict(root)
    wanted = expect.twice if was_new else expect.new
    found = {
        name: data
        for name, data in state_of(root).items()
        if name in wanted or "/recovered/" not in name
    }
    if found != wanted:
        wrong.append(f"run again it comes to something else: {_names(found, wanted)}")
    left = extras(root)
    if left and wanted != (expect.new if was_new else expect.old):
        wrong.append(f"run again it leaves {sorted(left)}")
    wrong += _unsaid(server, root, row, done)
    return wrong


def _difference(found: State, expect: Expected) -> str:
    return f"{_names(found, expect.old)} | {_names(found, expect.new)}"


def _names(found: State, wanted: State) -> str:
    names = sorted({*found, *wanted})
    return ", ".join(name for name in names if found.get(name) != wanted.get(name))
