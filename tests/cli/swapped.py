"""A folder of a session is swapped for another one before a call of `os`, while a command runs."""

from __future__ import annotations

import hashlib
import os
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import pytest

from agentmem_cli.storage.pinned import Pinned
from tests.cli.running import header, join, ok, pushed, record, run, said, tree, write
from tests.talks import call, reply, result

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agentmem_cli.session.codec import Object
    from tests.cli.commands_made import Call
    from tests.cli.running import Done

CALLS = (
    "open",
    "rename",
    "replace",
    "link",
    "unlink",
    "remove",
    "mkdir",
    "rmdir",
    "truncate",
    "ftruncate",
    "stat",
    "lstat",
    "scandir",
    "listdir",
)
"""Functions of `os`, before each call of which a folder may be swapped."""

OUTSIDE = "what stands outside"
LOCK = ".rig-memory.lock"
WHOLE = (".", "one")
"""Places that are all of a session: swapped before it is opened, what comes is the session."""
PARTS = ("one/logs", "one/files", "one/files/blobs", "one/files/plugins", "one/files/recovered")

Tree = dict[str, tuple[int, int, int, bytes]]


def fill(root: Path, word: str, *, torn: bool = False) -> None:
    """Write the session `one`, with *word* in every file of it; *torn*: for a repair."""
    blobs = [hashlib.sha256(data).hexdigest() + ".png" for data in (b"x inside", b"y inside")]
    source: Object = {"type": "url", "value": f"blob:{blobs[0]}"}
    image: Object = {"type": "image", "data": source, "media_type": "image/png"}
    secret: Object = {"type": "text", "text": f"{word} wJalrXUtnFEMIK7MDENG"}
    main = [
        header(),
        record(1, "state", key="rig::title", value=word),
        said(2, f"{word}? /home/ada tides", id_=0),
        pushed(3, call("t1", path="/home/ada/a.py").value, id_=1),
        pushed(4, result("t1", f"{word}: a long line\n" * 9).value, id_=2),
        pushed(5, {"role": "user", "content": [secret, image]}, id_=3),
        pushed(6, reply(f"It is {word}.").value, id_=4),
    ]
    write(root, "one", "main", join(main) + (b'{"torn' if torn else b""))
    write(root, "one", "aide", join([header("aide", n=20), said(1, word, n=21, id_=0)]))
    ok("--root", root, "meta", *(("refresh", "one") if torn else ("label", "one", f"a={word}")))
    for name, data in (
        (f"blobs/{blobs[0]}", f"x {word}"),
        (f"blobs/{blobs[1]}", f"y {word}"),
        ("plugins/import/kept.jsonl", f"{word}\n"),
        ("recovered/old", word),
    ):
        path = root / "one/files" / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_text(data)
        path.chmod(0o600)
    for folder in (path for path in (root, *root.rglob("*")) if path.is_dir()):
        folder.chmod(0o700)


class Told:
    """Counts the calls of `os`, and does something before two of them."""

    def __init__(self, work: dict[int, Callable[[], None]]) -> None:
        """Do each of *work* before the call of that number."""
        self.count = 0
        self.is_open = False
        """Whether the session is open."""
        self._work = work
        self._busy = False

    def _before(self) -> None:
        if self._busy:
            return
        self.count += 1
        if self.count in self._work:
            self._busy = True
            self._work[self.count]()
            self._busy = False

    def patch(self, patched: pytest.MonkeyPatch, session: Path) -> None:
        """Have each of `CALLS` told, and the opening of *session*."""
        for name in CALLS:
            patched.setattr(os, name, self._told(getattr(os, name)))
        begin = Pinned.__init__

        def opening(store: Pinned, root: str, lock_wait_s: float) -> None:
            begin(store, root, lock_wait_s)
            self.is_open = self.is_open or root == str(session)

        patched.setattr(Pinned, "__init__", opening)

    def _told(self, real: Callable[..., object]) -> Callable[..., object]:
        def told(*args: object, **named: object) -> object:
            self._before()
            return real(*args, **named)

        return told


class Case(NamedTuple):
    """What is swapped, where and when."""

    where: str
    """The folder, below the root."""
    by: str
    """``link`` or ``folder``."""
    at: int
    """The call before which it is swapped."""
    back_after: int = 0
    """So many calls later it is put back; 0: when the command has ended."""


class Came(NamedTuple):
    """What came of a command."""

    calls: int
    done: Done
    swapped: bool
    open_before: bool
    """Whether the session was open by then."""


class Stage:
    """A root with one session, and what stands outside of it with the same names."""

    def __init__(self, place: Path) -> None:
        """Lay them out in *place*."""
        self.root, self.outside = place / "root", place / "outside"
        self.export = place / "exported"
        self.firsts = {torn: place / f"first-{torn}" for torn in (False, True)}
        self._away, self._taken = place / "away", place / "taken"
        self._kept = place / "kept"
        for torn, first in self.firsts.items():
            fill(first, "inside", torn=torn)
        fill(self._kept, OUTSIDE)
        shutil.copytree(self._kept, self.outside)
        self.before = tree(self.outside)
        self.known = {torn: self._found(first) for torn, first in self.firsts.items()}

    def run(self, each: Call, case: Case) -> Came:
        """Run a call in a new copy; the folder is not yet back if it is not put back by then."""
        for path in (self.root, self._away, self._taken):
            _gone(path)
        self.export.unlink(missing_ok=True)
        shutil.copytree(self.firsts[_torn(each)], self.root)
        seen: list[bool] = []

        def swap() -> None:
            place = self.root / case.where
            with suppress(FileNotFoundError, NotADirectoryError):  # it may be removed by then
                place.rename(self._away)
                seen.append(told.is_open)
                if case.by == "link":
                    place.symlink_to(self.outside / case.where)
                else:
                    shutil.copytree(self.outside / case.where, place)

        work = {case.at: swap}
        if case.back_after:
            work[case.at + case.back_after] = lambda: self._put_back(case)
        told = Told(work)
        with pytest.MonkeyPatch.context() as patched:
            told.patch(patched, self.root / "one")
            done = run("--root", self.root, "--lock-wait", "0.2", *each.words, stdin=each.stdin)
        return Came(told.count, done, bool(seen), seen == [True])

    def wrong(self, each: Call, case: Case, came: Came) -> list[str]:
        """Put the folder back; return what is wrong with what came, outside and in the session."""
        wrong = _wrong_end(came.done)
        # Why: what stands there when a session is opened is that session.
        is_session = case.where in WHOLE and not came.open_before
        is_part = case.where in PARTS and case.by == "folder"
        is_foreign = not (is_session or is_part)
        exported = self.export.read_bytes() if self.export.exists() else b""
        if is_foreign and OUTSIDE.encode() in came.done.stdout + came.done.stderr + exported:
            wrong.append("it tells what stands there")
        changed = _changed(self.before, tree(self.outside))
        if changed and not (is_session and case.by == "link"):
            wrong.append(f"outside was changed: {changed}")
        self._put_back(case)
        if case.by == "folder" and is_foreign and os.path.lexists(self._taken):
            before = tree(self.outside / case.where)
            wrong += [f"changed: {name}" for name in _changed(before, tree(self._taken))]
        if changed:
            _gone(self.outside)
            shutil.copytree(self._kept, self.outside)
            self.before = tree(self.outside)
        if os.path.lexists(self.root):
            wrong += self._wrong_inside(each, is_part=is_part, is_foreign=is_foreign)
        return wrong

    def _put_back(self, case: Case) -> None:
        """Put the folder where it was, in the session as it is called now."""
        if not self._away.exists():
            return
        place = self.root / case.where
        if case.where not in WHOLE and not (self.root / "one").exists():
            place = self.root / "uno" / case.where.removeprefix("one/")
        if os.path.lexists(place):
            place.rename(self._taken)
        if place.parent.exists():
            self._away.rename(place)

    def _wrong_inside(self, each: Call, *, is_part: bool, is_foreign: bool) -> list[str]:
        wrong = []
        first = self.firsts[_torn(each)] / "one"
        sessions = [path for path in self.root.iterdir() if not path.name.endswith(".rig-trash")]
        for session in sorted(sessions):
            if session.name not in {"one", "uno", "three"}:
                wrong.append(f"it made {session.name}")
            elif tree(session) != tree(first):
                files = [path for path in session.rglob("*") if path.is_file()]
                if any(OUTSIDE.encode() in path.read_bytes() for path in files) and not is_part:
                    # Why not: it was swapped before it was opened, and has another name now.
                    wrong += ["it copied what stands outside"] if is_foreign else []
                    continue
                wrong += self._damage(session.name, self.known[_torn(each)], is_part=is_part)
        return wrong

    def _damage(self, session: str, known: set[tuple[str, str]], *, is_part: bool) -> list[str]:
        """Return what `verify` and a reader find that what is documented does not explain."""
        allowed = {"stale-meta", "leftover", "unfinished-change"}
        if is_part:  # its logs and its meta are of two times then
            allowed |= {"lost-log", "shorter-log"}
        found = {kind for kind, _ in self._found(self.root, session) - known}
        if "unfinished-change" in found:
            ok("--root", self.root, "meta", "refresh", session)
            found = {kind for kind, _ in self._found(self.root, session) - known}
        shown = run("--root", self.root, "show", session)
        if found - allowed or shown.status:
            return [f"{session}: {sorted(found - allowed)} {shown.err[:200]}"]
        return []

    def _found(self, root: Path, session: str = "one") -> set[tuple[str, str]]:
        """Return the kinds and places of all that `verify` names."""
        told = run("--root", root, "verify", session, "--json").object["findings"]
        return {(finding["kind"], finding["where"]) for finding in told}


def _torn(each: Call) -> bool:
    return each.words[0] == "repair"


def _gone(path: Path) -> None:
    if path.is_symlink():
        path.unlink()
    shutil.rmtree(path, ignore_errors=True)


def _wrong_end(done: Done) -> list[str]:
    wrong = []
    if done.status not in {0, 1, 2, 3, 4, 5}:
        wrong.append(f"status {done.status}")
    if "internal error" in done.err or "Traceback" in done.err:
        wrong.append(f"ours: {done.err[:300]}")
    if done.status > 1 and not done.err.strip():
        wrong.append("it says nothing")
    return wrong


def _changed(before: Tree, after: Tree) -> list[str]:
    """Return what is not as it was, but for an empty lock that was made, and its folder's time."""
    names = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    locks = {
        name
        for name in names - before.keys()
        if name.rpartition("/")[2] == LOCK and after[name][2] == 0
    }
    above = {name.rpartition("/")[0] or "." for name in locks}
    touched = {name for name in above & before.keys() if before[name][0] == after[name][0]}
    return sorted(names - locks - touched)
