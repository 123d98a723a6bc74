"""Whatever fails, and wherever the process dies: the old state or the new."""

from __future__ import annotations

import errno
import gc
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from agentmem_cli.errors import ConflictError, Io, LogChanged
from agentmem_cli.storage import redo
from agentmem_cli.storage.directory import DirStore
from agentmem_cli.storage.store import batch_of
from tests.conformance import CHANGED, change, contents, fill
from tests.unit.storage.faults import (
    Faults,
    calls_of,
    die_at,
    full_after,
    interrupt,
    refuse,
    short_writes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentmem_cli.storage.files import Folder
    from agentmem_cli.storage.keeping import Kept
    from tests.conformance import Contents

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture(autouse=True)
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count the fsyncs, and spare the disk: a process that dies loses nothing it wrote."""
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A filled session; `again` makes copies of it."""
    fill(DirStore.open(tmp_path / "first"))
    return tmp_path / "first"


def again(session: Path, name: str) -> DirStore:
    target = session.with_name(name)
    shutil.copytree(session, target)
    return DirStore.open(target)


def commit(store: DirStore) -> None:
    with batch_of(store) as batch:
        change(batch)


def recover(store: DirStore) -> None:
    assert store.recover()


def settle(store: DirStore) -> Contents:
    """Let a next command come by that changes something, and look at what it leaves."""
    with store.batch() as batch:
        batch.write_file("probe", b"x")
    store.remove_file("probe")
    assert not store.pending()
    assert store.leftovers() == []
    return contents(store)


def calls_of_commit(session: Path) -> list[str]:
    """Return the calls that the change makes, in order; *session* stays as it is."""
    store = again(session, "counted")
    calls = calls_of(lambda: commit(store))
    shutil.rmtree(store.path)
    return calls


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def open_descriptors() -> int:
    # Why: logs that other tests left to the collector are closed when it looks, not before.
    gc.collect()
    return sum(1 for _ in Path("/dev/fd").iterdir())


@pytest.mark.parametrize("act", [refuse, interrupt])
@pytest.mark.parametrize("after", [False, True])
def test_a_failure_at_any_call_leaves_the_old_state_or_the_new(
    session: Path, act: Callable[[], None], after: bool
) -> None:
    before = contents(DirStore.open(session))
    calls = calls_of_commit(session)
    outcomes = []
    descriptors = open_descriptors()
    for at in range(len(calls)):
        store = again(session, f"s{at}")
        with Faults(act, at, after=after).active():
            try:
                commit(store)
            except (OSError, Io, KeyboardInterrupt):
                raised = True
            else:
                raised = False
        if not store.pending():
            assert contents(store) in (before, CHANGED)
            assert store.leftovers() == [] or calls[at] in {"unlink", "open"}
        found = settle(store)
        assert found in (before, CHANGED)
        assert raised or found == CHANGED
        outcomes.append(found == before)

    assert open_descriptors() <= descriptors
    assert {"replace", "unlink", "ftruncate", "write", "fsync", "open"} <= set(calls)
    assert outcomes.count(True) > len(calls) / 2


@forks
@pytest.mark.parametrize("after", [False, True])
def test_a_kill_at_any_call_leaves_the_old_state_or_the_new(session: Path, after: bool) -> None:
    before = contents(DirStore.open(session))
    count = len(calls_of_commit(session))
    outcomes = []
    for at in range(count):
        store = again(session, f"s{at}")
        assert die_at(at, lambda store=store: commit(store), after=after)  # type: ignore[misc]
        if store.pending():
            assert DirStore.open(store.path).recover()
        assert contents(store) in (before, CHANGED)
        outcomes.append(settle(store) == CHANGED)

    assert outcomes == sorted(outcomes)
    assert True in outcomes
    assert False in outcomes


@forks
def test_a_kill_while_a_log_is_cut_and_added_to_leaves_the_one_or_the_other(session: Path) -> None:
    def work(store: DirStore) -> None:
        with batch_of(store) as batch:
            batch.cut_log("cut", 9, 6)
            batch.append_log("cut", 6, b"more\n")

    measured = again(session, "measured")
    count = len(calls_of(lambda: work(measured)))
    outcomes = set()
    for at in range(count):
        store = again(session, f"s{at}")
        assert die_at(at, lambda store=store: work(store), after=True)  # type: ignore[misc]
        settle(store)
        outcomes.add(store.read_log("cut"))

    assert outcomes == {b"whole\ntor", b"whole\nmore\n"}


@forks
def test_a_kill_at_any_call_of_the_recovery_does_no_harm(session: Path) -> None:
    calls = calls_of_commit(session)
    begun = calls.index("ftruncate")  # the redo file stands and changes have begun
    half = again(session, "half")
    assert die_at(begun, lambda: commit(half), after=True)
    assert half.pending()
    measured = again(half.path, "measured")
    count = len(calls_of(lambda: recover(measured)))
    for at in range(count):
        store = again(half.path, f"s{at}")
        assert die_at(at, lambda store=store: recover(store))  # type: ignore[misc]
        assert settle(store) == CHANGED


def test_a_failure_that_can_be_taken_back_is_and_at_once(session: Path) -> None:
    before = contents(DirStore.open(session))
    store = DirStore.open(session)

    def work() -> None:
        with batch_of(store) as batch:
            batch.write_file("blobs/new.png", b"pixels")
            batch.append_log("added", 4, b"x" * (400 << 10))
            batch.append_log("kept", 5, b"y" * 1000)

    # Room for what is staged and for the one append, not for the other.
    with full_after((800 << 10) + 3000), pytest.raises(OSError, match="full disk"):
        work()
    assert not store.pending()
    assert store.leftovers() == []
    assert contents(store) == before


@pytest.mark.parametrize("room", [0, 1, 7])
def test_a_full_disk_cuts_an_append_back(session: Path, room: int) -> None:
    store = DirStore.open(session)
    with full_after(room), pytest.raises(OSError, match="full disk") as caught:
        store.append_log("added", 4, b"a longer record\n")
    store.append_log("added", 4, b"after\n")

    assert caught.value.errno == errno.ENOSPC
    assert store.read_log("added") == b"old\nafter\n"


@pytest.mark.parametrize("room", [0, 5])
def test_a_full_disk_leaves_what_was_to_be_replaced(session: Path, room: int) -> None:
    store = DirStore.open(session)
    before = contents(store)
    works: list[Callable[[], None]] = [
        lambda: store.replace_log("replaced", 12, b"x" * 100),
        lambda: store.write_file("meta.json", b"x" * 100),
        lambda: store.append_log("begun", 0, b"x" * 100),
        lambda: store.append_file("log.txt", b"x" * 100),
    ]
    for work in works:
        with full_after(room), pytest.raises(OSError, match="full disk"):
            work()

    assert contents(store) == before
    assert store.leftovers() == []


def test_short_writes_are_completed(session: Path) -> None:
    store = DirStore.open(session)
    with short_writes(3):
        commit(store)
        store.append_log("added", 14, b"once more\n")

    assert store.read_log("added") == b"old\nnew\nnewer\nonce more\n"
    assert store.read_file("meta.json") == b'{"title":"new"}'


def test_an_append_is_one_write(session: Path) -> None:
    store = DirStore.open(session)
    calls = calls_of(lambda: store.append_log("added", 4, b"x" * 100_000))

    assert calls.count("write") == 1
    assert "replace" not in calls


def test_what_is_written_is_synced_before_it_is_put_in_place(session: Path) -> None:
    store = DirStore.open(session)
    calls = calls_of(lambda: store.write_file("meta.json", b"{}"))

    assert calls.index("fsync") < calls.index("replace")
    assert "fsync" in calls[calls.index("replace") :]


def test_the_redo_file_is_on_the_disk_before_anything_changes(session: Path) -> None:
    calls = calls_of_commit(session)
    redo_in_place = calls.index("replace")

    assert calls[redo_in_place + 1] == "fsync"
    assert calls[redo_in_place - 1] == "fsync"
    assert not {"replace", "ftruncate", "unlink"}.intersection(calls[:redo_in_place])


# -- what recovery makes of a session that another program changed meanwhile ------


def interrupted(session: Path, name: str, *, call: str, nth: int, after: bool = True) -> DirStore:
    """Return a copy of *session* whose change died at the nth use of *call*."""
    calls = calls_of_commit(session)
    places = [place for place, found in enumerate(calls) if found == call]
    store = again(session, name)
    assert die_at(places[nth], lambda: commit(store), after=after)
    return store


def before_any_change(session: Path, name: str) -> DirStore:
    """Return a copy of *session* with a whole redo file of which nothing is done."""
    calls = calls_of_commit(session)
    store = again(session, name)
    redo = calls.index("replace")  # the first rename puts the redo file in its place
    assert die_at(redo, lambda: commit(store), after=True)
    assert store.pending()
    return store


@forks
def test_a_redo_file_of_which_nothing_is_done_is_finished(session: Path) -> None:
    store = before_any_change(session, "s")

    assert settle(store) == CHANGED


@forks
def test_a_log_that_another_program_added_to_meanwhile_drops_what_was_not_begun(
    session: Path,
) -> None:
    store = before_any_change(session, "s")
    with (store.path / "logs" / "added.jsonl").open("ab") as log:
        log.write(b"by another program\n")
    expected = contents(store)

    assert settle(store) == expected
    assert store.read_log("added") == b"old\nby another program\n"


@forks
@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("logs/kept.jsonl", None),
        ("logs/replaced.jsonl", b"old CONTENT\n"),
        ("files/meta.json", b"{}"),
        ("files/gone", b"rewritten by another"),
        ("logs/cut.jsonl", b"who"),
        ("logs/cut.jsonl", b"WHOLE\nmore\n"),
        ("files/log.txt", b"rewritten, and longer"),
    ],
)
def test_a_file_that_another_program_changed_is_never_overwritten(
    session: Path, path: str, content: bytes | None
) -> None:
    store = before_any_change(session, "s")
    if content is not None:
        (store.path / path).write_bytes(content)
    expected = contents(store)
    found = settle(store)

    assert found == (CHANGED if content is None else expected)


@forks
def test_what_is_half_done_and_was_changed_by_another_program_is_refused_and_can_be_given_up(
    session: Path,
) -> None:
    store = interrupted(session, "s", call="ftruncate", nth=0)
    (store.path / "files" / "meta.json").write_bytes(b"by another program")
    half = contents(store)
    tree = names(store.path / "logs")

    for _ in range(2):
        with pytest.raises(ConflictError, match=r"meta\.json") as caught:
            store.append_log("kept", 5, b"x")
        assert caught.value.hint is not None
        assert contents(store) == half
        assert names(store.path / "logs") == tree
    aside = store.give_up()
    assert aside
    assert {b'{"title":"new"}', b"other\n"} <= {store.read_file(name) for name in aside}
    assert store.read_file("meta.json") == b"by another program"
    assert store.give_up() == []
    store.append_log("kept", 5, b"x")
    assert store.leftovers() == []


@forks
@pytest.mark.parametrize(
    "damage", [b"", b"{", b"\0" * 500, b'{"format":1}\n', b'{"key":"00"}\n00\n', b"[" * 5000]
)
def test_a_redo_file_that_is_not_whole_is_dropped_with_what_was_staged(
    session: Path, damage: bytes
) -> None:
    before = contents(DirStore.open(session))
    store = before_any_change(session, "s")
    (store.path / ".agentmem.redo").write_bytes(damage)

    assert settle(store) == before


@forks
def test_a_redo_file_with_one_byte_changed_is_not_whole(session: Path) -> None:
    before = contents(DirStore.open(session))
    first = before_any_change(session, "s")
    redo = (first.path / ".agentmem.redo").read_bytes()
    for place in range(0, len(redo), 97):
        store = again(first.path, f"s{place}")
        changed = redo[:place] + bytes([redo[place] ^ 1]) + redo[place + 1 :]
        (store.path / ".agentmem.redo").write_bytes(changed)

        assert settle(store) == before


@forks
def test_a_part_file_that_went_missing_drops_what_was_not_begun(session: Path) -> None:
    before = contents(DirStore.open(session))
    store = before_any_change(session, "s")
    for part in (store.path / "logs").glob(".agentmem-*"):
        part.unlink()

    assert settle(store) == before


@forks
def test_zeros_that_a_power_cut_left_in_an_append_are_made_again(session: Path) -> None:
    store = before_any_change(session, "s")
    with (store.path / "logs" / "added.jsonl").open("ab") as log:
        log.write(b"ne\0\0\0")

    assert settle(store) == CHANGED


@forks
def test_a_failed_change_is_finished_before_the_next_one_of_the_same_hold(session: Path) -> None:
    store = DirStore.open(session)
    real = os.ftruncate

    def cut_and_fail(descriptor: int, length: int) -> None:
        real(descriptor, length)
        refuse()

    with store.lock():
        with patch("os.ftruncate", cut_and_fail), pytest.raises(OSError, match="broken disk"):
            commit(store)
        assert store.pending()
        store.append_log("kept", 5, b"more\n")

    expected = {**CHANGED["logs"], "kept": b"kept\nmore\n"}
    assert contents(store) == {"logs": expected, "files": CHANGED["files"]}


def test_a_write_by_a_program_that_takes_no_lock_is_not_cut_off(session: Path) -> None:
    store = DirStore.open(session)
    log = session / "logs" / "added.jsonl"
    real = redo.apply

    def overtaken(
        root: Folder, steps: Iterable[redo.Step], begun: list[redo.Step], kept: Kept
    ) -> None:
        log.write_bytes(b"old\nby another\n")
        real(root, steps, begun, kept)

    with patch.object(redo, "apply", overtaken), pytest.raises(ConflictError, match="no lock"):
        commit(store)
    assert log.read_bytes() == b"old\nby another\n"


def test_an_unreadable_folder_does_not_fail_a_change_that_is_made(
    session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(root: Folder) -> list[str]:
        raise PermissionError(errno.EACCES, "no access")

    monkeypatch.setattr("agentmem_cli.storage.sweeping.staged_parts", broken)
    store = DirStore.open(session)
    store.append_log("added", 4, b"x\n")

    assert store.read_log("added") == b"old\nx\n"


def test_a_log_that_changes_while_it_is_staged_is_told_and_nothing_is_done(session: Path) -> None:
    store = DirStore.open(session)
    before = contents(store)
    log = session / "logs" / "added.jsonl"

    def work() -> None:
        with batch_of(store) as batch:
            change(batch)
            log.write_bytes(b"old\nby a program that takes no lock\n")

    with pytest.raises(LogChanged):
        work()
    log.write_bytes(b"old\n")
    assert contents(store) == before
    assert store.leftovers() == []


def test_parts_that_a_crash_left_go_with_the_next_change_and_foreign_ones_stay(
    session: Path,
) -> None:
    ours = ".agentmem-" + "0" * 32 + ".rig-part"
    left = [f"logs/{ours}", f"files/{ours}", f"files/plugins/p/{ours}"]
    foreign = ["logs/a.jsonl.rig-part", "files/.agentmem-x.rig-part", "files/x.rig-trash/y"]
    for name in (*left, *foreign):
        (session / name).parent.mkdir(parents=True, exist_ok=True)
        (session / name).write_bytes(b"x")
    store = DirStore.open(session)
    listed = contents(store)
    with store.lock():
        assert set(left) <= set(store.leftovers())
    store.write_file("f", b"")

    assert set(store.leftovers()) == {*foreign[:2], "files/x.rig-trash"}
    assert listed["files"].keys() == {"gone", "log.txt", "meta.json"}


def test_a_batch_inside_a_batch_keeps_the_outer_one_s_parts(session: Path) -> None:
    store = DirStore.open(session)
    with batch_of(store) as batch:
        batch.write_file("outer", b"1")
        with batch_of(DirStore.open(session)) as inner:
            inner.write_file("inner", b"2")
        batch.write_file("outer 2", b"3")

    assert {"outer", "outer 2", "inner"} <= set(store.files())
