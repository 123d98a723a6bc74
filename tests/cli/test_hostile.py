"""Stores that someone else laid out: every command, on every kind of thing that may stand there.

None waits, none follows a link, none writes outside, and what is wrong is told.
"""

from __future__ import annotations

import os
import shutil
import signal
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from agentmem_cli.cli.app import COMMANDS
from tests.cli.commands_made import CALLS, known_calls
from tests.cli.running import (
    as_stranger,
    header,
    join,
    make_socket,
    ok,
    pushed,
    record,
    run,
    said,
    write,
)
from tests.talks import call, reply, result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentmem_cli.session.codec import Object
    from tests.cli.commands_made import Call
    from tests.cli.running import Done

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX links, modes and FIFOs")

OUTSIDE = "what stands outside"
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg"
    "=="
)
PART = ".agentmem-" + "0" * 32 + ".rig-part"
PATIENCE_S = 20
ZEROS = Path("/dev/zero")

Tree = dict[str, tuple[int, int, bytes]]


class Kind(NamedTuple):
    """Something that someone else put into a session."""

    name: str
    where: str
    """Where, below the session: what `verify` must name, by its last part."""
    spoil: Callable[[Path, Path], None]
    """Puts it there: gets the place, and what stands outside."""
    told: bool = True
    """Whether `verify` has to name it."""


def _linked(place: Path, target: Path) -> None:
    _away(place)
    place.symlink_to(target)


def _dangling(place: Path, target: Path) -> None:
    _linked(place, target.with_name("nothing"))


def _fifo(place: Path, target: Path) -> None:
    _away(place)
    os.mkfifo(place)


def _socket(place: Path, target: Path) -> None:
    _away(place)
    make_socket(place)


def _device(place: Path, target: Path) -> None:
    """Put a device there that gives zeros for ever; a link to it where none may be made."""
    _away(place)
    try:
        os.mknod(place, 0o600 | stat.S_IFCHR, ZEROS.stat().st_rdev)
    except OSError:  # only root makes one, and not on every disk
        place.symlink_to(ZEROS)


def _folder(place: Path, target: Path) -> None:
    _away(place)
    place.mkdir(mode=0o700)


def _hard(place: Path, target: Path) -> None:
    _away(place)
    place.hardlink_to(target)


def _away(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)


FOLDERS = ("logs", "files", "files/blobs", "files/plugins", "files/recovered")
FILES = ("logs/main.jsonl", "logs/aide.jsonl", "files/meta.json", "files/blobs/a.png")
PLUGIN = "files/plugins/import/kept.jsonl"
PASSING = (f"logs/{PART}", f"files/{PART}", ".agentmem.redo", ".rig-memory.lock")
ALONE = ("logs/main.jsonl", "files/meta.json", ".agentmem.redo", ".rig-memory.lock")
KINDS = (
    *(Kind("link", where, _linked) for where in (*FOLDERS, *FILES, *PASSING)),
    Kind("link", "logs/x.rig-trash", _linked),
    Kind("link", "logs/new.jsonl", _dangling),
    *(Kind("dangling link", where, _dangling) for where in ("logs", "files", *ALONE)),
    *(Kind("fifo", where, _fifo) for where in ("logs", "files", *FILES, *PASSING)),
    *(Kind("socket", where, _socket) for where in ("logs/main.jsonl", ".rig-memory.lock")),
    *(Kind("device", where, _device) for where in ("logs", "files", *FILES, *PASSING, PLUGIN)),
    *(Kind("folder", where, _folder) for where in (*ALONE, PASSING[0])),
    *(Kind("hard link", where, _hard, told=False) for where in (*FILES, *PASSING[:3])),
)


def _fill(root: Path) -> Path:
    image: Object = {"type": "image", "data": PIXEL, "media_type": "image/png"}
    main = [
        header(),
        record(1, "state", key="rig::title", value="tides"),
        said(2, "what tides are there? /home/ada", id_=0),
        pushed(3, call("t1", path="/home/ada/a.py").value, id_=1),
        pushed(4, result("t1", "a long line\n" * 300).value, id_=2),
        pushed(5, {"role": "user", "content": [{"type": "text", "text": "see"}, image]}, id_=3),
        pushed(6, reply("It is built.").value, id_=4),
    ]
    write(root, "one", "main", join(main))
    write(root, "one", "aide", join([header("aide", n=20), said(1, "it ebbs", n=21, id_=0)]))
    ok("--root", root, "meta", "label", "one", "a=b")
    blobs = root / "one/files/blobs"
    blobs.mkdir(mode=0o700)
    (blobs / "a.png").write_bytes(b"x")
    (blobs / "a.png").chmod(0o600)
    return root / "one"


def _lay_out(place: Path) -> Path:
    """What stands outside, with the same names in it as a session has."""
    outside = place / "outside"
    log = join([header(), said(1, OUTSIDE)])
    for where in ("main.jsonl", "logs/main.jsonl", "aide.jsonl", "a.png", "blobs/a.png", "x/y"):
        path = outside / where
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(log)
    (outside / "meta.json").write_bytes(b'{"title":"%s"}' % OUTSIDE.encode())
    (outside / "file").write_bytes(log)
    return outside


def _tree(folder: Path) -> Tree:
    found: Tree = {}
    for path in sorted(folder.rglob("*")):
        seen = path.lstat()
        data = path.read_bytes() if stat.S_ISREG(seen.st_mode) else b""
        found[str(path.relative_to(folder))] = (seen.st_mode, seen.st_mtime_ns, data)
    return found


@pytest.fixture
def no_write_into_zeros(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a command that writes into the device fail: nothing else would tell it."""
    real = os.write
    device = ZEROS.stat().st_rdev

    def write(descriptor: int, data: bytes) -> int:
        found = os.fstat(descriptor)
        assert not (stat.S_ISCHR(found.st_mode) and found.st_rdev == device)
        return real(descriptor, data)

    monkeypatch.setattr("os.write", write)


@pytest.fixture
def patience() -> Iterator[None]:
    """Let a command that waits fail, instead of the whole run."""

    def waited(*_: object) -> None:
        raise AssertionError(f"it waited for {PATIENCE_S} s")

    before = signal.signal(signal.SIGALRM, waited)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def _tried(root: Path, each: Call) -> Done:
    signal.setitimer(signal.ITIMER_REAL, PATIENCE_S)
    return run("--root", root, "--lock-wait", "0.2", *each.words, stdin=each.stdin)


def _wrong(done: Done, kind: Kind, each: Call) -> list[str]:
    said_ = done.out + done.err
    name = kind.where.rpartition("/")[2]
    wrong = []
    if done.status not in {0, 1, 2, 3, 4, 5}:
        wrong.append(f"status {done.status}")
    if "internal error" in said_ or "Traceback" in said_:
        wrong.append(f"ours: {done.err[:300]}")
    if OUTSIDE in said_ and kind.spoil is not _hard:  # that is the file, by another name
        wrong.append("it followed")
    if done.status > 1 and not done.err.strip():
        wrong.append("it says nothing")
    if each.words[0] == "verify" and kind.told:
        unnamed = name not in said_ and not (name == ".agentmem.redo" and "unfinished" in said_)
        # What no record can name is no damage: it is told, as a notice.
        if unnamed or (done.status == 0 and kind.where != "files/blobs/a.png"):
            wrong.append(f"verify ends with {done.status} and does not name it: {said_[:300]}")
    return wrong


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.name} {kind.where}")
def test_no_command_waits_follows_or_writes_outside(
    tmp_path: Path, kind: Kind, patience: None, no_write_into_zeros: None
) -> None:
    first = tmp_path / "first"
    _fill(first)
    outside = _lay_out(tmp_path)
    target = outside / "file" if kind.spoil is _hard else outside
    if kind.where in FILES and kind.spoil is not _hard:
        target = outside / kind.where.rpartition("/")[2]
    before = _tree(outside)
    place = first / "one" / kind.where
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    kind.spoil(place, target)
    wrong: dict[str, list[str]] = {}
    root = tmp_path / "root"
    for each in known_calls():
        if each.writes or not root.exists():
            _away(root)
            _again(first, root, kind)

        found = _wrong(_tried(root, each), kind, each)
        if _tree(outside) != before:
            found.append("it changed what stands outside")
            shutil.rmtree(outside)
            _lay_out(tmp_path)
            before = _tree(outside)
        if found:
            wrong[each.name] = found

    assert wrong == {}


def _again(first: Path, root: Path, kind: Kind) -> None:
    """Copy the sessions, with what is no file in them."""
    for path in [first, *sorted(first.rglob("*"))]:
        target = root / path.relative_to(first)
        mode = path.lstat().st_mode
        if path.is_symlink():
            target.symlink_to(path.readlink())
        elif stat.S_ISDIR(mode):
            target.mkdir(mode=0o700)
        elif stat.S_ISFIFO(mode):
            os.mkfifo(target)
        elif stat.S_ISSOCK(mode):
            _socket(target, target)
        elif stat.S_ISCHR(mode):
            _device(target, target)
        elif path.stat().st_nlink > 1:
            target.hardlink_to(path)
        else:
            shutil.copy2(path, target)


def test_every_command_that_takes_a_session_is_tried() -> None:
    exempt = {"schema", "import", "completion"}

    assert {each.words[0] for each in CALLS} >= set(COMMANDS) - exempt


# -- names out of logs ---------------------------------------------------------


LEAVING = ("../../outside/file", "/etc/passwd", "..", "a/../../../outside/file", "C:\\x", "a\0b")


@pytest.mark.parametrize("name", LEAVING)
def test_a_name_that_a_log_says_leads_nowhere_outside(
    tmp_path: Path, name: str, patience: None
) -> None:
    root = tmp_path / "root"
    outside = _lay_out(tmp_path)
    source: Object = {"type": "url", "value": f"blob:{name}"}
    image: Object = {"type": "image", "data": source, "media_type": "image/png"}
    main = [
        header(parent=name),
        record(1, "state", key="agentmem.forked_from", value={"session": name, "agent": name}),
        record(2, "state", key="rig::current_agent", value=name),
        pushed(3, {"role": "user", "content": [{"type": "text", "text": "see"}, image]}, id_=0),
        said(4, "what is it?", "assistant", id_=1),
    ]
    before = _tree(outside)
    wrong: dict[str, list[str]] = {}
    for each in known_calls():
        _away(root)
        write(root, "one", "main", join(main))
        (root / "one/files").mkdir(mode=0o700)
        (root / "one/files/meta.json").write_text('{"title":"../../x","listed":{"a":"../b"}}')

        done = _tried(root, each)
        found = _wrong(done, Kind("name", "main", _linked, told=False), each)
        beside = {path.name for path in tmp_path.iterdir()} - {"outside", "root", "config"}
        if _tree(outside) != before or beside:
            found.append("it changed what stands outside")
        if "root:" in done.out:
            found.append("it read what stands outside")
        if found:
            wrong[each.name] = found

    assert wrong == {}


# -- a folder that is swapped between a look and a use ---------------------------------


def _swapped_at_opens(
    first: Path,
    root: Path,
    each: Call,
    step: int,
    swap: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[tuple[Done, bool]]:
    """Run a call over and over, with *swap* before every *step*-th open of a file, one each time.

    Yields:
        What came of it, and whether it opened as many files; the last time it did not.
    """
    real = os.open
    swapped = True
    at = 0
    while swapped:
        at += step
        swapped, count = False, 0
        _away(root)
        shutil.copytree(first, root)

        def opening(*args: object, **named: object) -> int:
            nonlocal count, swapped
            count += 1
            if count == at:  # noqa: B023 - used within the round
                swapped = True
                swap()
            return real(*args, **named)  # type: ignore[arg-type]

        with monkeypatch.context() as patched:
            patched.setattr("os.open", opening)
            done = _tried(root, each)
        yield done, swapped


@pytest.mark.parametrize("folder", ["logs", "files"])
@pytest.mark.parametrize(
    "words", ["append one --role user", "redact one --yes --no-rules --literals -"]
)
def test_a_folder_that_is_swapped_for_a_link_at_any_moment_leads_nowhere_outside(
    tmp_path: Path, folder: str, words: str, monkeypatch: pytest.MonkeyPatch, patience: None
) -> None:
    first = tmp_path / "first"
    _fill(first)
    outside = _lay_out(tmp_path)
    before = _tree(outside)
    (each,) = (call for call in known_calls() if call.name == words)
    root = tmp_path / "root"

    def swap() -> None:
        (root / "one" / folder).rename(root / "one/moved")
        (root / "one" / folder).symlink_to(outside)

    rounds = 0
    for done, _ in _swapped_at_opens(first, root, each, 7, swap, monkeypatch):
        rounds += 1
        assert _wrong(done, Kind("swapped", folder, _linked, told=False), each) == []
        assert _tree(outside) == before

    assert rounds > 1


# -- modes and owners -----------------------------------------------------------


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_whatever_the_umask_nobody_else_may_read_what_a_command_makes(
    tmp_path: Path, mask: int
) -> None:
    first = tmp_path / "first"
    _fill(first)
    root = tmp_path / "root"
    loose: dict[str, list[str]] = {}
    for each in known_calls():
        if not each.writes:
            continue
        _away(root)
        shutil.copytree(first, root)
        before = os.umask(mask)
        try:
            run("--root", root, *each.words, stdin=each.stdin)
        finally:
            os.umask(before)
        paths = [path for path in (root, *root.rglob("*")) if path.lstat().st_mode & 0o077]
        if paths:
            loose[each.name] = [str(path.relative_to(tmp_path)) for path in paths]

    assert loose == {}


def test_a_store_of_someone_else_is_read_as_far_as_it_goes_and_never_changed(
    tmp_path: Path,
) -> None:
    root, own = tmp_path / "root", tmp_path / "own"
    _fill(root)
    for each in known_calls():
        # Why: what is loaded only when it is needed may lie where the stranger cannot look.
        _away(own)
        shutil.copytree(root, own)
        run("--root", own, *each.words, stdin=each.stdin)
    for path in sorted((root / "one").rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    for path in (root / "one", root, *root.parents[:3]):
        path.chmod(0o755 if path not in {root, root / "one"} else 0o555)
    before = _tree(root)
    ended: dict[str, int] = {}
    for each in known_calls():

        def work(each: Call = each) -> int:
            done = run("--root", root, "--lock-wait", "0.2", *each.words, stdin=each.stdin)
            ours = "internal error" in done.err or "Traceback" in done.err
            return 98 if ours or (done.status > 1 and not done.err) else done.status

        ended[each.name] = as_stranger(work)
    after = _tree(root)
    for path in (root, *root.rglob("*")):
        path.chmod(0o700)

    assert after == before
    assert {status for status in ended.values() if status not in {0, 1, 2, 3, 4}} == set()
    assert ended["show one"] == 0
    assert ended["append one --role user"] == 2
    assert ended["rm one --yes"] == 2


def test_a_root_that_anyone_may_write_in_is_warned_about(tmp_path: Path) -> None:
    root = tmp_path / "root"
    _fill(root)
    root.chmod(0o777)

    listed = run("--root", root, "list")
    added = run("--root", root, "append", "one", "--role", "user", stdin=b"x")
    root.chmod(0o1777)
    sticky = run("--root", root, "append", "one", "--role", "user", stdin=b"x")
    root.chmod(0o700)

    assert "in the place of yours" in listed.err
    assert "in the place of yours" in added.err
    assert "in the place of yours" not in sticky.err
    assert (listed.status, added.status, sticky.status) == (0, 0, 0)


SWAPPED = (
    "append one --role user",
    "redact one --yes --no-rules --literals -",
    "core set one human Ada",
    "repair one",
    "gc one --yes",
    "rm one --yes",
)


@pytest.mark.parametrize("by", ["link", "folder"])
@pytest.mark.parametrize("words", SWAPPED)
def test_a_session_that_is_swapped_for_another_folder_at_any_moment_changes_nothing_there(
    tmp_path: Path, words: str, by: str, monkeypatch: pytest.MonkeyPatch, patience: None
) -> None:
    first = tmp_path / "first"
    _fill(first)
    outside = _lay_out(tmp_path)
    before = _tree(outside)
    (each,) = (call for call in known_calls() if call.name == words)
    root = tmp_path / "root"
    made = rounds = 0

    def swap() -> None:
        with suppress(FileNotFoundError):  # by then it may be removed
            (root / "one").rename(root / "moved")
        if by == "link":
            (root / "one").symlink_to(outside)
        else:
            shutil.copytree(outside, root / "one")

    for done, swapped in _swapped_at_opens(first, root, each, 2, swap, monkeypatch):
        rounds += 1
        assert _wrong(done, Kind("swapped", "one", _linked, told=False), each) == []
        there = root / "one" if by == "folder" and swapped else outside
        # Why that one: the lock is opened by its path, and what was opened is looked at then.
        lock = there / ".rig-memory.lock"
        if lock.exists():
            made += 1
            assert lock.read_bytes() == b""
            lock.unlink()
        assert _tree(there) == before

    assert rounds > 3
    assert made <= (2 if by == "link" else 3)
