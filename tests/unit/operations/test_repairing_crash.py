"""Wherever a repair dies: the old session or the mended one, and never a mixture."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.operations.repairing import Wanted, repair
from agentmem_cli.session.session import Session
from agentmem_cli.storage.directory import DirStore
from tests.cli.running import BASE_MS, header, join, pushed, turns, write, write_meta
from tests.unit.session.rewriting_sessions import everything
from tests.unit.storage.faults import calls_of, die_at, full_after

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import Object

WANTED = Wanted(BASE_MS, if_idle_ms=None)


@pytest.fixture(autouse=True)
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare the disk, since a process that dies loses nothing it wrote; no lineage is random."""
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
    monkeypatch.setattr("agentmem_cli.session.mending.fresh_lineage", lambda: 5)


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A session with damage of many kinds in two logs, a bad meta and a blob that is none."""
    good = turns(4)
    part: Object = {"type": "image", "data": {"type": "url", "value": f"blob:{'0' * 64}.png"}}
    cut = [header("aide"), pushed(1, {"role": "user", "content": [part]}), good[2][:30], good[3]]
    write(tmp_path, "one", "main", join([*good[:2], good[2][:40] + good[3], good[4]]) + b"torn")
    write(tmp_path, "one", "aide", join(cut))
    write_meta(tmp_path, "one", b'{"labels":{"k":"v"}}\0\0')
    blobs = tmp_path / "one" / "files" / "blobs"
    blobs.mkdir(mode=0o700)
    (blobs / f"{'0' * 64}.png").write_bytes(b"other")
    return tmp_path / "one"


def again(session: Path, name: str) -> DirStore:
    target = session.with_name(name)
    shutil.copytree(session, target)
    return DirStore.open(target)


def mend(store: DirStore) -> None:
    repair(store, WANTED)


def calls_that_change(store: DirStore) -> list[int]:
    """Mend a session; return the numbers of the calls that may have changed it."""
    calls = calls_of(lambda: mend(store))
    return [at for at, name in enumerate(calls) if name not in ("open", "fsync")]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_after_a_kill_at_any_call_there_is_the_old_session_or_the_mended_one(
    session: Path,
) -> None:
    store = again(session, "measured")
    old = everything(store)
    changing = calls_that_change(store)
    new = everything(store)
    outcomes = []
    for at in changing:
        store = again(session, f"s{at}")
        die_at(at, lambda store=store: mend(store))  # type: ignore[misc]
        store.recover()
        found = everything(store)
        assert found in (old, new)
        outcomes.append(found == new)
        repair(store, WANTED)
        assert everything(store) == new
        assert store.leftovers() == []
        shutil.rmtree(store.path)

    assert outcomes == sorted(outcomes)
    assert {True, False} == set(outcomes)
    Session.read(DirStore.open(session.with_name("measured")))


@pytest.mark.parametrize("room", [0, 300, 1_500])
def test_without_room_on_the_disk_nothing_changes(session: Path, room: int) -> None:
    store = DirStore.open(session)
    before = everything(store)

    with full_after(room), pytest.raises(OSError, match="full disk"):
        repair(store, WANTED)

    assert everything(store) == before
    assert store.leftovers() == []
    assert repair(store, WANTED).left == ()


def cut_short(session: Path) -> DirStore:
    """The session with a repair that died when its changes were announced, and none was made."""
    measured = again(session, "measured")
    for at in calls_that_change(measured):
        store = again(session, "dying")
        die_at(at, lambda store=store: mend(store))  # type: ignore[misc]
        if store.pending():
            return store
        shutil.rmtree(store.path)
    pytest.fail("no call was left at which a change stands announced")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_change_that_was_cut_short_is_finished_first(session: Path) -> None:
    store = cut_short(session)

    plan = repair(store, WANTED._replace(dry_run=True))
    done = repair(store, WANTED)

    assert plan.done[0].kind == done.done[0].kind == "unfinished-change"
    assert done.left == ()
    assert everything(store) == everything(DirStore.open(session.with_name("measured")))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_change_that_cannot_be_finished_is_given_up_and_kept(session: Path) -> None:
    store = cut_short(session)
    path = store.path / "logs" / "aide.jsonl"
    added = b'{"seq":4,"n":4,"t":5,"type":"halt","halt":"kept"}\n'
    path.write_bytes(path.read_bytes() + added)

    done = repair(store, WANTED)

    assert done.done[0].kind == "unfinished-change"
    assert not store.pending()
    assert done.left == ()
    assert added in store.read_log("aide")
