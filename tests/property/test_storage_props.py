"""A session directory against a dictionary, through every kind of change and mishap."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from agentmem_cli.errors import LogChanged
from agentmem_cli.storage.directory import DirStore
from agentmem_cli.storage.logfile import BytesLog
from agentmem_cli.storage.memory import MemoryStore
from agentmem_cli.storage.names import check_name
from agentmem_cli.storage.store import batch_of
from tests.conformance import contents
from tests.unit.storage.faults import Faults, refuse

if TYPE_CHECKING:
    from agentmem_cli.storage.store import Batch, Store
    from tests.conformance import Contents

LOGS = st.sampled_from(["a", "b", "공"])
FILES = st.sampled_from(["meta.json", "blobs/x", "blobs/y", "plugins/p/q"])
LARGE = b"x" * ((1 << 20) + 1)  # more than a batch keeps in memory for one target
DATA = st.one_of(st.binary(max_size=40), st.binary(max_size=40), st.none().map(lambda _: LARGE))
ACTIONS = st.sampled_from(
    ["append", "replace", "cut", "sink", "new", "write", "add", "remove", "file"]
)
STEPS = st.lists(st.tuples(ACTIONS, LOGS, FILES, DATA, st.floats(0, 1)), max_size=6)

Step = tuple[str, str, str, bytes, float]


def length_of(store: Store, log: str) -> int:
    return len(store.read_log(log)) if log in store.logs() else 0


def make(batch: Batch, store: Store, steps: list[Step]) -> None:
    """Stage *steps*, each at the right length."""
    lengths = {log: length_of(store, log) for log in ("a", "b", "공")}
    added: set[str] = set()
    for action, log, file, data, share in steps:
        if action == "cut":
            if log not in added:
                keep = int(lengths[log] * share)
                batch.cut_log(log, lengths[log], keep)
                lengths[log] = keep
        elif action in {"append", "sink", "replace", "new"}:
            change_log(batch, action, log, lengths[log], data)
            kept = lengths[log] if action in {"append", "sink"} else 0
            lengths[log] = kept + len(data)
            added.add(log)
        else:
            change_file(batch, action, file, data)


def change_log(batch: Batch, action: str, log: str, length: int, data: bytes) -> None:
    if action == "append":
        batch.append_log(log, length, data)
    elif action == "sink":
        batch.open_append(log, length).write(data)
    elif action == "replace":
        batch.replace_log(log, length, data)
    else:
        batch.open_log_new(log, length).write(data)


def change_file(batch: Batch, action: str, file: str, data: bytes) -> None:
    if action == "write":
        batch.write_file(file, data)
    elif action == "add":
        batch.append_file(file, data)
    elif action == "remove":
        batch.remove_file(file)
    else:
        batch.open_file(file).write(data)


def visible(found: Contents) -> Contents:
    """Leave out logs of no bytes: such a log is there or not, which is the same."""
    return {"logs": {k: v for k, v in found["logs"].items() if v}, "files": found["files"]}


class Sessions(RuleBasedStateMachine):
    """A directory and a memory store that are put through the same."""

    def __init__(self) -> None:
        super().__init__()
        # Nothing here outlives the process, so nothing need reach the disk.
        self.unsynced = patch("os.fsync")
        self.unsynced.start()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name, "s")
        self.real = DirStore.open(self.path)
        self.model = MemoryStore()

    def teardown(self) -> None:
        self.folder.cleanup()
        self.unsynced.stop()

    @rule(steps=STEPS)
    def both_change(self, steps: list[Step]) -> None:
        with batch_of(self.real) as batch, batch_of(self.model) as other:
            make(batch, self.model, steps)
            make(other, self.model, steps)
            files = {name: batch.read_file(name) for name in batch.files()}
            assert files == {name: other.read_file(name) for name in other.files()}

    @rule(steps=STEPS, at=st.integers(0, 150), after=st.booleans())
    def the_disk_fails(self, steps: list[Step], at: int, after: bool) -> None:
        before = visible(contents(self.model))
        with batch_of(self.model) as other:
            make(other, self.model, steps)
        changed = contents(self.model)
        with Faults(refuse, at, after=after).active():
            try:
                with batch_of(self.real) as batch:
                    make(batch, _Frozen(before), steps)
            except Exception:  # noqa: BLE001  # whatever it is, the state is what counts
                failed = True
            else:
                failed = False
        self.real.recover()
        found = visible(contents(self.real))
        assert found in (before, visible(changed))
        assert failed or found == visible(changed)
        if found == before:
            self._restore(before)

    def _restore(self, before: Contents) -> None:
        self.model = MemoryStore()
        for name, data in before["logs"].items():
            self.model.append_log(name, 0, data)
        for name, data in before["files"].items():
            self.model.write_file(name, data)

    @rule(log=LOGS, data=DATA, off=st.integers(1, 50))
    def a_wrong_length_changes_nothing(self, log: str, data: bytes, off: int) -> None:
        length = length_of(self.model, log) + off
        for store in (self.real, self.model):
            with pytest.raises(LogChanged):
                store.append_log(log, length, data)
            with pytest.raises(LogChanged):
                store.replace_log(log, length, data)

    @rule(log=LOGS, data=DATA)
    def both_append(self, log: str, data: bytes) -> None:
        length = length_of(self.model, log)
        self.real.append_log(log, length, data)
        self.model.append_log(log, length, data)

    @rule(file=FILES, data=DATA)
    def both_write(self, file: str, data: bytes) -> None:
        self.real.write_file(file, data)
        self.model.write_file(file, data)

    @precondition(lambda self: self.path.exists())
    @rule()
    def both_begin_anew(self) -> None:
        self.real.destroy()
        self.model.destroy()

    @invariant()
    def they_hold_the_same(self) -> None:
        assert visible(contents(self.real)) == visible(contents(self.model))
        assert not self.real.pending()


class _Frozen(MemoryStore):
    """A memory store with given contents, to take lengths from."""

    def __init__(self, found: Contents) -> None:
        super().__init__()
        for name, data in found["logs"].items():
            self.append_log(name, 0, data)


TestSessions = Sessions.TestCase
TestSessions.settings = settings(max_examples=25, stateful_step_count=12)


@given(data=st.binary(max_size=300), start=st.integers(0, 300))
def test_lines_join_to_the_log_and_hold_one_newline_each(data: bytes, start: int) -> None:
    lines = list(BytesLog(data).lines(start))

    assert b"".join(lines) == data[start:]
    assert all(line.endswith(b"\n") for line in lines[:-1])
    assert all(b"\n" not in line[:-1] for line in lines)


@given(name=st.text(max_size=30))
def test_a_name_that_is_taken_stays_inside(name: str) -> None:
    try:
        check_name(name)
    except ValueError:
        return

    resolved = Path("/store", *name.split("/"))
    assert resolved.parts[:2] == ("/", "store")
    assert ".." not in resolved.parts
    assert "\0" not in name
    assert "/".join(resolved.parts[2:]) == name
