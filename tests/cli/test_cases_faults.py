"""Cases 3, 9, 10, 52, 58, 66, 70 and 71: what writers, disks, kills and odd files may not do.

The numbers are those of `test_cases`; each test says what is right by itself.
"""

from __future__ import annotations

import os
import shutil
import signal
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.session.codec import loads_object
from agentmem_cli.session.live import Writer
from agentmem_cli.session.message import Message
from agentmem_cli.session.reader import history, read_session
from agentmem_cli.storage.directory import DirStore
from agentmem_cli.storage.layout import PART
from tests.bounded import within
from tests.cli.commands_made import Call, known_calls
from tests.cli.running import BASE_MS, header, join, ok, run, said, tree, turns, write
from tests.cli.test_gc import blob
from tests.unit.imports import building, claude_building, codex_building

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs fork, modes and limits of POSIX")

WRITING = [each for each in known_calls() if each.writes]
UMASKS = [0o000, 0o022, 0o077]


def _filled(root: Path) -> Path:
    """Write a session with something for every command to do; return its log."""
    child = [header("aide", n=20, parent="main"), said(1, "it ebbs", n=21, id_=0)]
    write(root, "one", "aide", join(child))
    log = write(root, "one", "main", join([header(), *_long(5)]))
    blob(root, b"nobody names it")
    _age(root)
    return log


def _long(count: int, **stamp: int) -> list[bytes]:
    """Return *count* messages with more in them than a summary has."""
    numbers = range(1, count + 1)
    return [
        said(at, f"text {at} " * 60, "user" if at % 2 else "assistant", **stamp) for at in numbers
    ]


def _age(root: Path) -> None:
    """Let nobody take what was just written for another program at work."""
    for path in root.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))


def _again(root: Path) -> Path:
    shutil.rmtree(root, ignore_errors=True)
    return _filled(root)


def _called(root: Path, each: Call) -> int:
    done = run("--root", root, *each.words, stdin=each.stdin)
    assert "internal error" not in done.err, done
    return done.status


# -- 3: a second writer between a record and its end ---------------------------------------------


WRITERS = 8
EACH = 6
LONG = 200_000


def _text(writer: int, number: int) -> str:
    return f"writer {writer} number {number} ".ljust(LONG, "x")


def _appending(writer: int) -> Callable[[], tuple[int, str]]:
    def work() -> tuple[int, str]:
        for number in range(EACH):
            words = ("--lock-wait", "60", "append", "one", "--role", "user")
            done = run(*words, stdin=_text(writer, number).encode())
            if done.status:
                return done.status, done.err
        return 0, ""

    return work


def _reading(root: Path, stop: Path) -> Callable[[], tuple[int, str]]:
    """Read until *stop* is there; a half line would be a damage, which a reader tells."""

    def work() -> tuple[int, str]:
        seen = 0
        while True:
            last = stop.exists()
            session = read_session(DirStore.open(root / "one"))
            count = len(session.agents[0].conversation.entries)
            shown = run("show", "one", "--last", "1")
            told = [line for line in shown.err.splitlines() if not line.endswith(" messages")]
            if session.repairs or shown.status or told or count < seen:
                return 1, f"{session.repairs} {told} {count} after {seen}"
            seen = count
            if last:
                return 0, str(seen)

    return work


def _forked(work: Callable[[], tuple[int, str]], told: Path) -> int:
    child = os.fork()
    if child == 0:
        status = 99
        try:
            ended = within(work, told)
            status = ended.status if ended.status >= 0 else 98
        finally:
            os._exit(status)
    return child


def test_case_3_b_eight_writers_of_long_records_and_a_reader(root: Path, tmp_path: Path) -> None:
    ok("new", "one")
    ok("append", "one", "--role", "user", stdin=b"begun")
    stop = tmp_path / "stop"
    reader = _forked(_reading(root, stop), tmp_path / "reader")
    writers = [_forked(_appending(at), tmp_path / f"writer{at}") for at in range(WRITERS)]
    ended = [os.waitstatus_to_exitcode(os.waitpid(each, 0)[1]) for each in writers]
    stop.touch()
    _, read = os.waitpid(reader, 0)
    session = read_session(DirStore.open(root / "one"))
    texts = [entry.message.text for entry in session.agents[0].conversation.entries[1:]]
    lines = (root / "one/logs/main.jsonl").read_bytes().split(b"\n")

    assert ended == [0] * WRITERS, (tmp_path / "writer0").read_text()
    assert os.waitstatus_to_exitcode(read) == 0, (tmp_path / "reader").read_text()
    assert (tmp_path / "reader").read_text() == str(1 + WRITERS * EACH)
    assert session.repairs == []
    assert sorted(texts) == sorted(_text(at, no) for at in range(WRITERS) for no in range(EACH))
    assert [loads_object(line)["seq"] for line in lines[:-1]] == list(range(len(lines) - 1))
    assert lines[-1] == b""
    for writer in range(WRITERS):
        own = [text for text in texts if text.startswith(f"writer {writer} ")]
        assert own == [_text(writer, number) for number in range(EACH)]


# -- 9: a disk without room ----------------------------------------------------------------------


@contextmanager
def _room(size: int) -> Iterator[None]:
    """Let this process make no file longer than *size* bytes."""
    import resource  # Windows has none

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


FULL_CALLS = {
    "append": (("append", "one", "--role", "user"), b"word " * 2_000),
    "rewrite": (("rewrite", "one", "--yes", "--force", "--replace-file", "-"), b"word ==> wordy"),
    "redact": (("redact", "one", "--yes", "--force", "--no-rules", "--literals", "-"), b"word"),
    "compact": (("compact", "one", "--keep", "1", "--summary-file", "-"), b"short " * 3_000),
    "fork": (("fork", "one", "two"), b""),
    "import": (("import", "@"), b""),
}


@pytest.mark.parametrize("name", FULL_CALLS)
def test_case_9_without_room_all_is_as_it_was_and_with_room_it_goes_on(
    root: Path, tmp_path: Path, name: str
) -> None:
    words, stdin = FULL_CALLS[name]
    source = tmp_path / "source.jsonl"
    said_ = [building.user(at, "word " * 2_000) for at in range(1, 40)]
    source.write_bytes(building.lines(building.header(), *said_))
    told = [str(source) if word == "@" else word for word in words]
    long = ("append", "one", "--role", "assistant")
    ok("new", "one")
    ok("append", "one", "--role", "user", stdin=b"begun")
    count = 0
    with _room(256 << 10):
        done = run(*long, stdin=b"word " * 2_000)
        while done.status == 0:
            count += 1
            done = run(*long, stdin=b"word " * 2_000)
        failed = run(*long, stdin=b"word " * 2_000)
    log = root / "one/logs/main.jsonl"
    before = tree(root / "one")
    with _room(log.stat().st_size // 2 if name != "append" else log.stat().st_size):
        full = run(*told, stdin=stdin)
    after = tree(root / "one")

    assert count > 10
    for each in (done, failed, full):
        assert each.status == 2
        assert "File too large" in each.err
        assert str(root) in each.err or "log 'main': " in each.err
    assert {where: seen[3] for where, seen in after.items()} == {
        where: seen[3] for where, seen in before.items()
    }
    assert [path.name for path in root.iterdir()] == ["one"]
    ok(*told, stdin=stdin)
    ok("append", "one", "--role", "user", stdin=b"next")
    assert ok("verify", "one", "--json").object["problems"] == 0
    assert "next" in ok("show", "one", "--last", "1").out


# -- 10: many appends to a log with a torn end ---------------------------------------------------


def test_case_10_two_hundred_appends_to_a_long_torn_log(root: Path) -> None:
    texts = [f"{at} ".ljust(2_000, "y") for at in range(1, 10_001)]
    whole = join([header(), *(said(at, text) for at, text in enumerate(texts, 1))])
    torn = said(10_001, "never ended")[:-20]
    log = write(root, "one", "main", whole + torn)
    store = DirStore.open(root / "one")
    assert len(whole) > 20 << 20

    ok("append", "one", "--role", "user", stdin=b"added 0")
    writer, session = Writer.open(store)
    writer.start()
    conversation = session.agents[0].conversation
    for at in range(1, 200):
        conversation.push(Message.user(f"added {at}"))
        writer.save("main", conversation)
    writer.flush()
    data = log.read_bytes()
    (kept,) = (root / "one/files/recovered").iterdir()

    assert kept.read_bytes() == torn
    assert data.startswith(whole)
    assert [loads_object(line)["seq"] for line in data[len(whole) :].splitlines()] == list(
        range(10_001, 10_201)
    )
    assert len(history(store, "main")) == 10_200
    assert ok("verify", "one", "--json").object["problems"] == 0


# -- 52: names that no disk likes, in what is imported -------------------------------------------


@pytest.mark.parametrize("mask", UMASKS)
@pytest.mark.parametrize("wide", [0o700, 0o755, 0o777])
def test_case_52_what_is_imported_of_any_name_is_there_and_private(
    root: Path, tmp_path: Path, mask: int, wide: int
) -> None:
    names = ["NUL", "con.txt", "a:b", "x.", "..", " ", "é" * 300, "a/b", "a\nb"]
    sources = tmp_path / "sources"
    sources.mkdir()
    for at, name in enumerate(names):
        data = building.lines(building.header(id=name), building.user(1, f"said in {at}."))
        (sources / f"{at}.jsonl").write_bytes(data)
    root.mkdir()
    root.chmod(wide)
    with _umask(mask):
        done = run("import", sources, "--json")
        again = run("import", sources, "--json")
    found = [value["session"] for value in done.objects]
    texts = [ok("show", name).out for name in found]

    assert (done.status, again.status) == (0, 0)
    assert sorted(path.name for path in root.iterdir()) == sorted(found)
    assert len({name.casefold() for name in found}) == len(names)
    assert all(f"said in {at}." in text for at, text in enumerate(texts))
    assert [value["nothing_new"] for value in again.objects] == [True] * len(names)
    assert _too_wide(root) == []
    assert stat.S_IMODE(root.stat().st_mode) == wide


@contextmanager
def _umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def _too_wide(folder: Path) -> list[str]:
    """Return what is below *folder* and open to others than its owner, or a file to be run."""
    found = []
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):  # it went while the folder was listed
            mode = path.lstat().st_mode
            if stat.S_IMODE(mode) & ~(0o700 if stat.S_ISDIR(mode) else 0o600):
                found.append(f"{path.relative_to(folder)} {stat.S_IMODE(mode):o}")
    return found


# -- 58: private from the first byte -------------------------------------------------------------


IMPORTING = (Call(("import", "@source"), writes=True), Call(("import", "@folder"), writes=True))


@pytest.mark.parametrize("mask", [0o000, 0o022])
@pytest.mark.parametrize("each", [*WRITING, *IMPORTING], ids=lambda each: each.name)
def test_case_58_nothing_is_open_to_others_at_any_moment(
    root: Path, tmp_path: Path, each: Call, mask: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    _filled(root)
    data = building.lines(building.header(), building.user(1, "hello"))
    (tmp_path / "folder").mkdir()
    for name in ("source", "folder/one.jsonl"):
        (tmp_path / name).write_bytes(data)
    words = [
        str(tmp_path / w[1:]) if w.startswith("@s") or w == "@folder" else w for w in each.words
    ]
    wide: set[str] = set()
    made = 0

    def looking(real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **named: object) -> object:
            nonlocal made
            value = real(*args, **named)
            made += 1
            wide.update(_too_wide(root))
            return value

        return call

    with monkeypatch.context() as patched, _umask(mask):
        for name in ("open", "mkdir", "replace", "rename", "link", "fsync"):
            patched.setattr(f"os.{name}", looking(getattr(os, name)))
        done = run(*words, stdin=each.stdin)

    assert done.status in {0, 1, 3}, done
    assert made > 3
    assert wide == set()
    assert _too_wide(root) == []


# -- 66: killed in the middle of a change --------------------------------------------------------


CHANGES = {
    "compact": (("compact", "one", "--keep", "1", "--summary-file", "-"), b"They talked."),
    "rewrite": (("rewrite", "one", "--yes", "--force", "--replace-file", "-"), b"text ==> word"),
    "redact": (
        ("redact", "one", "--yes", "--force", "--no-rules", "--literals", "-"),
        b"text 2",
    ),
    "undo": (("undo", "one"), b""),
}
STEPS: dict[str, tuple[tuple[str, ...], str, bool]] = {
    "before a part": (("open",), PART, False),
    "after a part": (("open",), PART, True),
    "after a sync": (("fsync",), "", True),
    "after a rename": (("replace", "rename"), "", True),
    "before the meta": (("replace", "rename", "open"), "meta.json", False),
    "before a file goes": (("unlink",), "", False),
    "after a file went": (("unlink",), "", True),
}
"""Calls, what one of their words ends with, and whether the kill comes after the call."""


def _killed(words: tuple[str, ...], stdin: bytes, step: str, at: int, told: Path) -> bool:
    """Run a command that is killed at the *at*-th call of a step; return whether it got there."""
    names, ending, after = STEPS[step]
    count = 0

    def dying(real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **named: object) -> object:
            nonlocal count
            meant = any(str(arg).endswith(ending) for arg in args[:2])
            count += meant
            if meant and count == at and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            value = real(*args, **named)
            if meant and count == at:
                os.kill(os.getpid(), signal.SIGKILL)
            return value

        return call

    def work() -> tuple[int, str]:
        for name in names:
            setattr(os, name, dying(getattr(os, name)))
        done = run(*words, stdin=stdin)
        return done.status, done.err

    ended = within(work, told)
    assert ended.status in {0, -signal.SIGKILL}, ended
    return ended.status != 0


def _texts(root: Path) -> list[str]:
    session = read_session(DirStore.open(root / "one"))
    assert session.repairs == []
    main = next(agent for agent in session.agents if agent.id == "main")
    return [entry.message.text for entry in main.conversation.entries]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("change", CHANGES)
def test_case_66_after_a_kill_at_any_step_all_is_old_or_new_and_nothing_is_replayed(
    root: Path, tmp_path: Path, change: str, step: str
) -> None:
    words, stdin = CHANGES[change]
    _filled(root)
    old = _texts(root)
    ok(*words, stdin=stdin)
    new = _texts(root)
    wrong: list[str] = []
    at = 0
    hit = True
    while hit:
        at += 1
        _again(root)
        hit = _killed(words, stdin, step, at, tmp_path / "told")
        ok("append", "one", "--role", "user", stdin=b"newer work")
        first = _texts(root)
        if first not in ([*old, "newer work"], [*new, "newer work"]):
            wrong.append(f"at {at}: {first}")
        ok("meta", "title", "one", "Tides")
        ok("append", "one", "--role", "user", stdin=b"and more")
        if _texts(root) != [*first, "and more"]:
            wrong.append(f"at {at}: replayed, {_texts(root)}")
        ok("repair", "one")
        left = DirStore.open(root / "one").leftovers()
        if left or _texts(root) != [*first, "and more"]:
            wrong.append(f"at {at}: left {left}, {_texts(root)}")

    assert old != new
    assert wrong == []


# -- 70: nothing goes that nobody asked for ------------------------------------------------------


DAY_MS = 86_400_000
OLD_MS = BASE_MS - 400 * DAY_MS
REMOVING = {"rm", "prune", "gc"}


def _old(root: Path, name: str) -> None:
    stamped = [header(t=OLD_MS), *_long(4, t=OLD_MS)]
    write(root, name, "main", join(stamped))
    child = [header("aide", n=20, t=OLD_MS, parent="main"), said(1, "it ebbs", n=21, t=OLD_MS)]
    write(root, name, "aide", join(child))
    if name == "one":
        blob(root, b"nobody names it")
    for path in [root / name, *(root / name).rglob("*")]:
        os.utime(path, (OLD_MS / 1_000, OLD_MS / 1_000))


def _names(session: Path) -> set[str]:
    return {str(path.relative_to(session)) for path in session.rglob("*") if path.is_file()}


@pytest.mark.parametrize("each", known_calls(), ids=lambda each: each.name)
def test_case_70_no_command_removes_what_is_old(root: Path, each: Call) -> None:
    _old(root, "one")
    _old(root, "beside")
    before, beside = _names(root / "one"), tree(root / "beside")
    status = _called(root, each)
    now = root / ("uno" if each.name == "rename one uno" else "one")
    moved = {"logs/aide.jsonl"} if "aide=helper" in each.words else set()

    assert status in {0, 1, 3}
    if each.words[0] != "prune":
        assert tree(root / "beside") == beside
    if each.words[0] in REMOVING:
        assert each.words[0] == "gc" or not now.exists()
        assert each.words[0] != "gc" or (now / "logs/main.jsonl").exists()
    else:
        assert before - _names(now) == moved
        assert not moved or (now / "logs/helper.jsonl").exists()


def test_case_70_prune_goes_by_the_times_of_records_and_asks_first(root: Path) -> None:
    _old(root, "one")
    _old(root, "touched")
    for path in (root / "touched").rglob("*"):
        os.utime(path)
    ok("new", "young")
    ok("append", "young", "--role", "user", stdin=b"today")
    for path in (root / "young").rglob("*"):
        os.utime(path, (OLD_MS / 1_000, OLD_MS / 1_000))
    before = tree(root)

    planned = ok("prune", "--older", "300d", "--dry-run", "--force")
    after = tree(root)
    asked = run("prune", "--older", "300d", "--force")
    unasked = tree(root)
    ok("prune", "--older", "300d", "--yes", "--force")

    assert "one" in planned.out
    assert after == before
    assert asked.status == 2
    assert unasked == before
    assert [path.name for path in root.iterdir()] == ["young"]


# -- 71: what is damaged stays as it is ----------------------------------------------------------


def _sources(folder: Path) -> Path:
    """Write damaged transcripts of every kind, and files that are none."""
    good = {
        "pi": [building.header(), building.user(1, "hi"), building.reply(2, "ho")],
        "claude": [
            claude_building.prompt("u1", None, "hi"),
            claude_building.piece("a1", "u1", "m1", claude_building.text("ho")),
        ],
        "codex": [
            codex_building.meta(),
            codex_building.prompt(1, "hi"),
            codex_building.answer(2, "ho"),
        ],
    }
    folder.mkdir()
    for name, (first, *rest) in good.items():
        damaged = building.lines(first, b"junk", b"\0" * 300, *rest) + first[:40]
        (folder / f"{name}.jsonl").write_bytes(damaged)
    (folder / "empty.jsonl").write_bytes(b"")
    (folder / "none.jsonl").write_bytes(b"\xff\xfe junk\n")
    (folder / "openai.json").write_bytes(b'[{"role":"user","content":"hi"},{"role":')
    return folder


def test_case_71_damaged_sources_are_left_as_they_are(root: Path, tmp_path: Path) -> None:
    sources = _sources(tmp_path / "sources")
    before = tree(sources)

    for words in (
        ("import", sources),
        ("import", sources, "--again"),
        ("import", sources, "--dry-run"),
        *(("import", path) for path in sorted(sources.iterdir())),
        ("scan", "--files", sources, "--no-rules", "--literals", "-"),
        ("list",),
    ):
        done = run(*words, stdin=b"nowhere")
        assert done.status in {0, 1, 2, 3, 5, 6}, (words, done)
        assert "internal error" not in done.err
    for row in ok("list", "--json").objects:
        ok("show", row["id"])

    assert tree(sources) == before
    assert len(ok("list", "--json").objects) >= 3


def _spoiled(root: Path) -> Path:
    lines = turns(4)
    data = join([*lines[:2], b"junk", b"\0" * 100, *lines[2:]]) + lines[1][:30]
    write(root, "one", "aide", join([header("aide", n=20, parent="main")]) + b"\xff\xfe\n")
    log = write(root, "one", "main", data)
    _age(root)
    return log


@pytest.mark.parametrize(
    "each", [each for each in known_calls() if not each.writes], ids=lambda each: each.name
)
def test_case_71_who_only_looks_at_damaged_logs_changes_nothing(root: Path, each: Call) -> None:
    _spoiled(root)
    before = tree(root)

    status = _called(root, each)

    assert status in {0, 1, 3, 5}
    assert tree(root) == before


@pytest.mark.parametrize(
    "each",
    [each for each in WRITING if each.words[0] not in {"rm", "prune"}],
    ids=lambda each: each.name,
)
def test_case_71_who_writes_keeps_every_damaged_byte_somewhere(root: Path, each: Call) -> None:
    log = _spoiled(root)
    lines = log.read_bytes().split(b"\n")
    kept = [b"junk", b"\0" * 100, lines[-1], b"\xff\xfe"]

    status = _called(root, each)
    found = [path.read_bytes() for path in root.rglob("*") if path.is_file()]

    assert status in {0, 1, 3, 5}
    assert [piece for piece in kept if not any(piece in data for data in found)] == []
