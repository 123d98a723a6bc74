"""Many lines added where a log lies: whole, or cut off again."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.errors import AgentMemError, ConflictError
from agentmem_cli.storage import extending, redo
from agentmem_cli.storage.batch import DirBatch
from agentmem_cli.storage.directory import DirStore
from agentmem_cli.storage.files import Folder
from agentmem_cli.storage.layout import REDO
from tests.unit.storage.faults import Faults, calls_of, interrupt, refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

OLD = b'{"seq":0}\n'
LINES = [b'{"seq":%d,"by":"us","text":"%b"}\n' % (seq, b"x" * 90) for seq in range(1, 6)]
HEADS = [line[:19] for line in LINES]
ADDED = b"".join(LINES)
FOREIGN = b'{"seq":3,"by":"them"}\n'


@pytest.fixture(params=[0, 1 << 18])
def store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> DirStore:
    """A session with one log, in which anything is too much to be held in memory."""
    monkeypatch.setattr(extending, "HELD_BYTES", 0)
    monkeypatch.setattr(extending, "THREAD_BYTES", request.param)
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
    made = DirStore.open(tmp_path / "session")
    made.append_log("a", 0, OLD)
    return made


def extend(store: DirStore, lines: Iterator[bytes] | None = None) -> None:
    with store.batch() as batch:
        batch.whole = True
        batch.append_lines("a", len(OLD), LINES if lines is None else lines, HEADS)


def left(store: DirStore, found: bytes, told: int) -> None:
    """Leave what a crash does: *found* behind the old state, *told* lengths in the redo file."""
    log = store.path / "logs" / "a.jsonl"
    with store.batch() as batch, Folder.at(str(store.path)) as root:
        target = batch._log("a", len(OLD))
        step = extending.step_of(root, target, HEADS, batch.key)
        data = redo.encode(redo.Redo(batch.key, (step,)))
    data += b"".join(b"%d\n" % len(line) for line in LINES[:told])
    (store.path / REDO).write_bytes(data)
    with log.open("ab") as stream:
        stream.write(found)


def set_aside(store: DirStore) -> list[bytes]:
    return [store.read_file(name) for name in store.files() if name.startswith("recovered/")]


def test_lines_are_added_where_the_log_lies_and_nothing_is_left(store: DirStore) -> None:
    calls = calls_of(lambda: extend(store))

    assert store.read_log("a") == OLD + ADDED
    assert calls.count("replace") == 1  # the redo file's
    assert not store.pending()
    assert store.leftovers() == []
    assert store.written_by_others() == []


@pytest.mark.parametrize("found", [*range(0, len(ADDED), 37), len(ADDED)])
def test_what_a_kill_left_is_cut_off_and_nothing_else(store: DirStore, found: int) -> None:
    left(store, ADDED[:found], 1 + found // len(LINES[0]))

    assert store.recover()
    assert store.read_log("a") == OLD
    assert set_aside(store) == []
    assert not store.pending()
    assert store.written_by_others() == []


@pytest.mark.parametrize(
    "found",
    [
        ADDED[:300],  # no lengths reached the disk
        ADDED[:150] + FOREIGN,  # glued to a line that was cut off
        ADDED[:150] + bytes(200),
        LINES[0] + bytes(150) + ADDED[300:],
    ],
)
def test_what_cannot_be_told_to_be_ours_is_set_aside(store: DirStore, found: bytes) -> None:
    left(store, found, 0)

    assert store.recover()
    assert store.read_log("a") == OLD
    assert set_aside(store) == [found]


def test_bytes_glued_to_a_line_that_was_cut_off_are_set_aside(store: DirStore) -> None:
    for found in (ADDED[:150] + FOREIGN, ADDED[:150] + b"y" * len(LINES[1]), ADDED + b"torn"):
        left(store, found, len(LINES))
        if found.endswith(b"torn"):
            with pytest.raises(ConflictError, match="changed by another program"):
                store.recover()
        else:
            assert store.recover()
            assert store.read_log("a") == OLD
            assert found in set_aside(store)


@pytest.mark.parametrize("count", [0, 1, len(LINES)])
def test_a_line_of_another_program_behind_ours_is_never_cut_off(
    store: DirStore, count: int
) -> None:
    found = b"".join(LINES[:count]) + FOREIGN
    left(store, found, len(LINES))

    with pytest.raises(ConflictError, match="changed by another program"):
        store.recover()
    assert store.read_log("a") == OLD + found
    assert [name.partition("-")[0] for name in store.give_up()] == ["recovered/redo"]
    assert store.read_log("a") == OLD + found
    assert not store.pending()


def test_a_log_that_another_program_replaced_is_left(store: DirStore) -> None:
    left(store, b"", 0)
    (store.path / "logs" / "a.jsonl").write_bytes(b"something else\n" + ADDED)

    assert store.recover()
    assert store.read_log("a") == b"something else\n" + ADDED
    assert not store.pending()


def test_a_log_that_is_gone_stays_so(store: DirStore) -> None:
    left(store, b"", 0)
    (store.path / "logs" / "a.jsonl").unlink()

    assert store.recover()
    assert store.logs() == []


def test_a_redo_file_that_was_emptied_takes_nothing_back(store: DirStore) -> None:
    extend(store)
    (store.path / REDO).write_bytes(b"")

    assert store.recover()
    assert store.read_log("a") == OLD + ADDED


def test_what_making_a_line_raises_leaves_the_log_as_it_was(store: DirStore) -> None:
    def lines() -> Iterator[bytes]:
        yield from LINES[:3]
        msg = "no more"
        raise ValueError(msg)

    with pytest.raises(ValueError, match="no more"):
        extend(store, lines())
    assert store.read_log("a") == OLD
    assert not store.pending()
    assert store.leftovers() == []


def test_what_a_program_without_the_lock_adds_just_before_is_not_cut_off(
    store: DirStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = DirBatch._write_redo

    def then_changed(batch: DirBatch, data: bytes) -> None:
        written(batch, data)
        with (store.path / "logs" / "a.jsonl").open("ab") as log:
            log.write(FOREIGN)

    monkeypatch.setattr(DirBatch, "_write_redo", then_changed)

    with pytest.raises(ConflictError, match="takes no lock"):
        extend(store)
    assert store.read_log("a") == OLD + FOREIGN
    assert not store.pending()


@pytest.mark.parametrize("act", [refuse, interrupt])
def test_a_failure_at_any_call_leaves_the_old_state_or_the_new(
    store: DirStore, act: Callable[[], None]
) -> None:
    count = len(calls_of(lambda: extend(store)))
    log = store.path / "logs" / "a.jsonl"
    for at in range(count):
        log.write_bytes(OLD)
        with (
            Faults(act, at).active(),
            contextlib.suppress(OSError, AgentMemError, KeyboardInterrupt),
        ):
            extend(store)
        store.recover()

        assert log.read_bytes() in (OLD, OLD + ADDED)
        assert not store.pending()


@pytest.mark.parametrize("held", [0, 1 << 20])
def test_a_log_that_may_not_be_written_to_leaves_nothing_to_be_done_later(
    store: DirStore, monkeypatch: pytest.MonkeyPatch, held: int
) -> None:
    monkeypatch.setattr(extending, "HELD_BYTES", held)
    real = os.open

    def refused(path: str, flags: int, *words: object, **named: object) -> int:
        if path == "a.jsonl" and flags & os.O_WRONLY:
            raise PermissionError(errno.EPERM, "not permitted")
        return real(path, flags, *words, **named)  # type: ignore[arg-type]

    monkeypatch.setattr("os.open", refused)

    with pytest.raises(PermissionError):
        extend(store)
    assert not store.pending()
    assert store.leftovers() == []
    assert store.read_log("a") == OLD


def test_with_another_change_beside_them_lines_are_staged(store: DirStore) -> None:
    with store.batch() as batch:
        batch.write_file("b", b"x")
        batch.append_lines("a", len(OLD), LINES, HEADS)

    assert store.read_log("a") == OLD + ADDED
    assert store.read_file("b") == b"x"


def test_a_new_log_appears_whole(store: DirStore) -> None:
    with store.batch() as batch:
        batch.append_lines("new", 0, LINES, HEADS)

    assert store.read_log("new") == ADDED


def test_a_step_of_this_kind_stands_alone(store: DirStore) -> None:
    left(store, b"", 0)
    line, _, _ = (store.path / REDO).read_bytes().partition(b"\n")
    body = json.loads(line)
    steps = tuple(redo.Step(**{**step, "heads": tuple(step["heads"])}) for step in body["steps"])

    assert redo.decode(redo.encode(redo.Redo(b"k", steps))) is not None
    assert redo.decode(redo.encode(redo.Redo(b"k", steps * 2))) is None
    assert redo.decode(redo.encode(redo.Redo(b"k", (steps[0]._replace(heads=()),)))) is None
