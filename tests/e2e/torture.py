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
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from agentmem_cli.cli.app import COMMANDS
from agentmem_cli.session.codec import dumps, loads_object
from agentmem_cli.session.session import Session
from agentmem_cli.storage.directory import DirStore
from agentmem_cli.storage.layout import PART, REDO, STAGES, TRASH
from tests.cli.running import (
    header,
    join,
    message,
    pushed,
    record,
    said,
    write,
)
from tests.e2e import torture_states as states
from tests.talks import call, reply, result
from tests.unit.imports import building

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentmem_cli.session.codec import Object

PROJECT = Path(__file__).resolve().parents[2]
SECRET = "wJalrXUtnFEMIK7MDENGbPxRfiCYzz"
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg"
    "=="
)
LONG = "a line that says much\n" * 60

EVERYWHERE = ("EIO", "EINTR", "ENOSPC")
AT_CHANGES = ("KILL", "LATE", "SIGINT", "FULL", "READONLY")
AT_WRITES = ("SHORT", "TORN")
KILLS = frozenset({"KILL", "LATE", "TORN"})
LASTING = frozenset({"FULL", "READONLY"})


class Row(NamedTuple):
    """One command to be tried."""

    name: str
    words: tuple[str, ...]
    stdin: bytes = b""
    before: tuple[tuple[tuple[str, ...], bytes], ...] = ()
    """Commands that bring about the state it begins from, each with its standard input."""
    prepare: Callable[[Path], None] | None = None
    """Changes files of that state after these."""
    good: tuple[int, ...] = (0,)
    """Exit statuses that say it is done."""
    strict: bool = True
    """Whether the state it begins from can be read strictly."""
    in_steps: bool = False
    """Whether it is several changes, each of them whole: a state between is one, too."""
    looks: bool = True
    """Whether sessions are looked at before it runs again; a look drops a redo file of no use."""

    @property
    def known(self) -> bool:
        """Whether the program has the command yet."""
        return self.words[0] in COMMANDS


def _torn(root: Path) -> None:
    with (root / "one/logs/main.jsonl").open("ab") as log:
        log.write(b'{"seq":99,"n":9')


def _grown(root: Path) -> None:
    source = root.parent / "source.jsonl"
    more = building.lines(building.user(30, "more of it"), building.reply(31, "and more"))
    source.write_bytes(source.read_bytes() + more)


_COMPACT = ("compact", "one", "--keep", "1", "--summary-file", "-")
_IMPORT = ("import", "../source.jsonl")
_REPAIR = ("repair", "one")
_MESSAGES = b"".join(
    dumps(value) + b"\n"
    for value in (
        message("user", "and with an image"),
        message("assistant", "seen"),
    )
)

ROWS = (
    Row("new", ("new", "two")),
    Row("append", ("append", "one", "--role", "user"), b"what comes next"),
    Row("append several", ("append", "one"), _MESSAGES),
    Row("append to a torn log", ("append", "one", "--role", "user"), b"next", prepare=_torn),
    Row("append a first", ("append", "two", "--role", "user"), b"hello", ((("new", "two"), b""),)),
    Row("import", _IMPORT),
    Row("import again", _IMPORT, before=((_IMPORT, b""),), prepare=_grown),
    Row("compact", _COMPACT, b"They built it."),
    Row("clear", ("clear", "one", "--keep", "0")),
    Row("undo", ("undo", "one"), before=((_COMPACT, b"They built it."),)),
    Row("redo", ("redo", "one"), before=((_COMPACT, b"It is so."), (("undo", "one"), b""))),
    Row("splice", ("splice", "one", "1:2", "--force")),
    Row("restore", ("restore", "one", "m2")),
    Row("core set", ("core", "set", "one", "human", "Ada")),
    Row("core import", ("core", "import", "one", "../blocks")),
    Row(
        "core clear",
        ("core", "clear", "one"),
        before=((("core", "import", "one", "../blocks"), b""),),
    ),
    Row("value", ("value", "set", "one", "mood", '"calm"')),
    Row("meta", ("meta", "title", "one", "Tides")),
    Row("redact", ("redact", "one", "--yes", "--no-rules", "--literals", "-"), SECRET.encode()),
    Row("rewrite", ("rewrite", "one", "--yes", "--replace-file", "../replace")),
    Row("remap", ("remap", "/home/ada/tides=/srv/tides", "one", "--yes")),
    Row("rename", ("rename", "one", "uno")),
    Row("rename an agent", ("rename", "one", "--agent", "aide=helper")),
    Row("fork", ("fork", "one", "two")),
    Row("fork an agent", ("fork", "one", "--as-agent", "twin")),
    Row("repair", _REPAIR, prepare=states.damaged, good=(0, 1), strict=False),
    Row("repair of the order", _REPAIR, prepare=states.swapped, good=(0, 1), strict=False),
    Row("repair of images", _REPAIR, prepare=states.without_images, good=(0, 1)),
    Row("repair of places", _REPAIR, prepare=states.odd_places, good=(0, 1), in_steps=True),
    Row(
        "repair of no redo file",
        _REPAIR,
        prepare=states.not_whole,
        good=(0, 1),
        in_steps=True,
        looks=False,
    ),
    Row("repair of half a change", _REPAIR, prepare=states.foreign, good=(0, 1), in_steps=True),
    Row("repair of all", ("repair", "--all"), prepare=states.half_gone, good=(0, 1), in_steps=True),
    Row("bring back", _IMPORT, before=((_IMPORT, b""),), prepare=states.lost_and_mended),
    Row("gc", ("gc", "one", "--yes"), prepare=states.loose),
    Row("gc of all", ("gc", "--all", "--yes"), prepare=states.loose),
    Row("gc of the root", ("gc", "--all", "--yes"), prepare=states.half_gone, in_steps=True),
    Row("rm", ("rm", "one", "--yes")),
    Row("prune", ("prune", "--older", "1d", "--yes")),
)


def known_rows() -> list[Row]:
    return [row for row in ROWS if row.known]


# -- the server ------------------------------------------------------------


class Ended(NamedTuple):
    """How a command ended."""

    status: int
    hit: bool
    out: str
    err: str

    @property
    def killed(self) -> bool:
        return self.status == -signal.SIGKILL


class Server:
    """The process that commands are forked from."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.e2e.fork_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(PROJECT), "TZ": "UTC"},
            cwd=PROJECT,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()

    def run(
        self,
        root: Path,
        *words: str,
        stdin: bytes = b"",
        seed: str = "first",
        at: int = 0,
        how: str = "",
        calls: str = "",
    ) -> Ended:
        """Run a command on the sessions in *root*; see `fork_server.Fault` for *at* and *how*."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        given = self.folder / "stdin"
        given.write_bytes(stdin)
        told = {name: self.folder / name for name in ("out", "err")}
        request = {
            "words": ["--root", str(root), *(self._path(root, word) for word in words)],
            "stdin": str(given),
            "out": str(told["out"]),
            "err": str(told["err"]),
            "environ": {"AGENTMEM_CONFIG": str(root.parent / "config")},
            "seed": seed,
            "at": at,
            "how": how,
            "calls": calls,
        }
        self._process.stdin.write(json.dumps(request).encode() + b"\n")  # noqa: TID251 - no record
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        out, err = (path.read_text() for path in told.values())
        return Ended(answer["status"], answer["hit"], out, err)

    @staticmethod
    def _path(root: Path, word: str) -> str:
        return str(root.parent / word[3:]) if word.startswith("../") else word

    def calls(self, root: Path, row: Row) -> tuple[Ended, list[str]]:
        """Run the command of *row* untouched, and tell the calls it made."""
        listed = self.folder / "calls"
        done = self.run(root, *row.words, stdin=row.stdin, calls=str(listed))
        found: list[str] = json.loads(listed.read_text())
        return done, found


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
_SEEN = re.compile(rb'"seen":\[[0-9,]*\]')
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
    measured = _copy(first, place / "tried")
    done, calls = server.calls(measured, row)
    assert done.status in row.good, (row.name, done)
    read_strictly(measured)
    new = state_of(measured)
    again = server.run(measured, *row.words, stdin=row.stdin, seed="again")
    return Expected(
        first,
        state_of(root),
        new,
        state_of(measured),
        again.status,
        calls,
    )


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


def try_point(server: Server, expect: Expected, row: Row, at: int, how: str) -> list[str]:
    """Try one fault; return what is wrong, nothing where all is well."""
    root = _copy(expect.first, expect.first.with_name("tried"))
    done = server.run(root, *row.words, stdin=row.stdin, at=at, how=how)
    wrong = _ended(done, row)
    if done.status == 0 and not done.hit:
        return [*wrong, "the call was not reached"]
    wrong += _left(server, root)
    before = raw_state(root)
    for name in _sessions(root) if row.looks else ():
        server.run(root, "show", name, "--json")
    armed = not done.killed and raw_state(root) != before
    if armed and not (how in LASTING and "next command" in done.err):
        wrong.append(f"what failed was carried out later: {done.err.strip()[:300]}")
    settled = state_of(root)
    wrong += _settled(done, settled, row, expect)
    if row.strict or settled == expect.new:
        wrong += _strict(root)
    was_new = settled == expect.new and expect.new != expect.old
    return wrong + _again(server, root, row, expect, was_new=was_new)


def _ended(done: Ended, row: Row) -> list[str]:
    wrong = []
    if done.status not in {*row.good, 2, 3, 4, 5, 6, 130, -signal.SIGKILL}:
        wrong.append(f"ended with {done.status}")
    if "internal error" in done.err or "Traceback" in done.err:
        wrong.append(f"an error of ours: {done.err.strip()[:400]}")
    return wrong


def _settled(done: Ended, settled: State, row: Row, expect: Expected) -> list[str]:
    wrong = []
    if settled not in (expect.old, expect.new) and not (
        row.in_steps and _is_between(settled, expect.old, expect.new)
    ):
        wrong.append(f"neither the old state nor the new: {_difference(settled, expect)}")
    if done.status in row.good and settled != expect.new:
        wrong.append("acknowledged, and not there")
    return wrong


def _is_between(found: State, old: State, new: State) -> bool:
    """Whether each file is as it was or as it will be."""
    names = {*found, *old, *new}
    return all(found.get(name) in (old.get(name), new.get(name)) for name in names)


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
    done = server.run(root, *row.words, stdin=row.stdin, seed="again")
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
    return wrong


def _difference(found: State, expect: Expected) -> str:
    return f"{_names(found, expect.old)} | {_names(found, expect.new)}"


def _names(found: State, wanted: State) -> str:
    names = sorted({*found, *wanted})
    return ", ".join(name for name in names if found.get(name) != wanted.get(name))
