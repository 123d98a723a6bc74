"""Whatever fails in a rewrite, and wherever it dies: the old session or the new, whole."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import signal
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from agentmem_cli.errors import AgentMemError, Io
from agentmem_cli.session.author import Author
from agentmem_cli.session.conversation import Conversation
from agentmem_cli.session.reader import load
from agentmem_cli.session.record import Saved
from agentmem_cli.session.rewriter import rewrite
from agentmem_cli.session.session import Session
from agentmem_cli.session.writer import append_records, save
from agentmem_cli.storage.directory import DirStore
from agentmem_cli.storage.layout import PART
from tests.unit.session.rewriting_sessions import (
    AT,
    MASKING,
    SVG,
    WORD,
    everything,
    image,
    said,
)
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
    from collections.abc import Callable, Iterator
    from pathlib import Path

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
_LINEAGE = re.compile(rb'"lineage":[0-9]+')


@pytest.fixture(autouse=True)
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare the disk: a process that dies loses nothing it wrote."""
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A session whose one log tells what the word is, and whose other holds the bare word.

    It also stands in a blob and in bytes that were set aside, which change their names.
    """
    store = DirStore.open(tmp_path / "first")
    save(store, "context", Conversation([said(f"the password is {WORD}", image(SVG, "svg"))]))
    append_records(store, "main", lambda _: [Saved("bare", WORD)], at=AT)
    torn = f'{{"text":"{WORD}'.encode()
    store.write_file(f"recovered/main-{hashlib.sha256(torn).hexdigest()}.part", torn)
    return store.path


def again(session: Path, name: str) -> DirStore:
    target = session.with_name(name)
    shutil.copytree(session, target)
    return DirStore.open(target)


def mask(store: DirStore) -> None:
    rewrite(store, Author.rig(), MASKING, if_idle_ms=None, now_ms=AT)


def state(store: DirStore) -> dict[str, bytes]:
    """All that a session holds, but for the random lineages."""
    return {name: _LINEAGE.sub(b'"lineage":0', data) for name, data in everything(store).items()}


def on_disk(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Every file below a folder, whatever it is called."""
    for path in folder.rglob("*"):
        if path.is_file():
            yield path, path.read_bytes()


def settle(store: DirStore) -> dict[str, bytes]:
    """Let a next command come by that changes something, and look at what it leaves."""
    with store.batch() as batch:
        batch.write_file("probe", b"x")
    store.remove_file("probe")
    assert not store.pending()
    assert store.leftovers() == []
    return state(store)


def states(session: Path) -> tuple[dict[str, bytes], dict[str, bytes], int]:
    """The old state, the new one, and how many calls lead from the one to the other."""
    store = again(session, "measured")
    old = state(store)
    count = len(calls_of(lambda: mask(store)))
    return old, state(store), count


@forks
@pytest.mark.parametrize("after", [False, True])
def test_after_a_kill_at_any_call_the_next_command_finds_the_old_or_the_new(
    session: Path, after: bool
) -> None:
    old, new, count = states(session)
    outcomes = []
    mixed = 0
    for at in range(count):
        store = again(session, f"s{at}")
        assert die_at(at, lambda store=store: mask(store), after=after)  # type: ignore[misc]
        begun = store.pending()
        found = state(store)
        logs = ["logs/main", "logs/context"]
        assert all(found[log] in (old[log], new[log]) for log in logs)
        mixed += len({found[log] == new[log] for log in logs}) - 1
        for path, data in on_disk(store.path):
            # Old bytes are kept as parts while the redo file stands; who finishes removes them.
            assert begun or WORD.encode() not in data or not path.name.endswith(PART)
        found = settle(store)
        assert found in (old, new)
        if begun:
            assert found == new
        if found == new:
            left = [path for path, data in on_disk(store.path) if WORD.encode() in data]
            assert left == []
            assert Session.read(store).repairs == []
        outcomes.append(found == new)
        shutil.rmtree(store.path)

    assert outcomes == sorted(outcomes)
    assert {True, False} == set(outcomes)
    assert mixed > 0


@pytest.mark.parametrize(("act", "after"), [(refuse, False), (interrupt, False), (interrupt, True)])
def test_a_failure_at_any_call_leaves_the_old_or_the_new(
    session: Path, act: Callable[[], None], after: bool
) -> None:
    old, new, count = states(session)
    outcomes = []
    for at in range(count):
        store = again(session, f"s{at}")
        with Faults(act, at, after=after).active():
            try:
                mask(store)
            except (OSError, AgentMemError, KeyboardInterrupt):
                raised = True
            else:
                raised = False
        if not store.pending():
            assert state(store) in (old, new)
        found = settle(store)
        assert found in (old, new)
        assert raised or found == new
        outcomes.append(found == old)
        shutil.rmtree(store.path)

    assert outcomes.count(True) > len(outcomes) / 2


@pytest.mark.parametrize("room", [0, 1, 300, 1_000])
def test_without_room_on_the_disk_nothing_changes(session: Path, room: int) -> None:
    store = DirStore.open(session)
    before = everything(store)

    with full_after(room), pytest.raises(OSError, match="full disk") as caught:
        mask(store)

    assert caught.value.errno == errno.ENOSPC
    assert everything(store) == before
    assert store.leftovers() == []
    mask(store)
    assert not any(WORD.encode() in data for _, data in on_disk(store.path))


@forks
def test_a_limit_on_the_size_of_files_leaves_everything(session: Path) -> None:
    import resource

    store = DirStore.open(session)
    conversation = load(store, "main")
    conversation.push(said(WORD * 20_000))
    save(store, "main", conversation)
    before = everything(store)
    child = os.fork()
    if child == 0:
        status = 99
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 10, 64 << 10))
            mask(store)
        except OSError as error:
            status = 7 if error.errno == errno.EFBIG else 98
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 7
    assert everything(store) == before
    assert store.leftovers() == []


def test_short_writes_are_completed(session: Path) -> None:
    store = DirStore.open(session)
    with short_writes(7):
        mask(store)

    assert not any(WORD.encode() in data for _, data in on_disk(store.path))
    assert Session.read(store).repairs == []


def test_a_session_that_cannot_be_written_is_refused_as_it_is(session: Path) -> None:
    store = DirStore.open(session)
    before = everything(store)
    real = os.open

    def read_only(path: str, flags: int, *words: int, **named: int) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
        return real(path, flags, *words, **named)

    with patch("os.open", read_only), pytest.raises(Io, match="lock cannot be taken"):
        mask(store)

    assert everything(store) == before


def test_what_is_masked_is_on_the_disk_before_the_redo_file_and_that_before_any_swap(
    session: Path,
) -> None:
    calls = calls_of(lambda: mask(DirStore.open(session)))
    first = calls.index("replace")

    assert calls[first + 1] == "fsync"
    assert not {"replace", "unlink", "ftruncate"}.intersection(calls[:first])
    assert calls[:first].count("fsync") >= 8
