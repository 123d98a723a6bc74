"""What always holds of a store that its model tells of."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from agentmem_cli.errors import SessionError
from agentmem_cli.operations import collecting
from agentmem_cli.operations.findings import PROBLEM
from agentmem_cli.operations.listing import rows
from agentmem_cli.operations.verify import verify
from agentmem_cli.session.fold import Cut
from agentmem_cli.session.keys import SESSION
from agentmem_cli.session.reader import as_of, fold_log
from agentmem_cli.session.session import Session, TornTail
from agentmem_cli.storage.directory import DirStore
from agentmem_cli.storage.layout import LOCK
from tests.store_damage import NAMED, NOTICED
from tests.store_model import Kept, blocks_in, plain, said_in
from tests.store_rules import INDEX, Rules, any_session

if TYPE_CHECKING:
    from pathlib import Path


class Looked(Rules):
    """Whatever was touched is read again after each step, and the rest is as it was."""

    def teardown(self) -> None:
        try:
            for kept in self.kept.values():
                self.look_at_all_of_the_past(kept)
        finally:
            self.unsynced.stop()
            self.folder.cleanup()

    # -- looking -----------------------------------------------------------------------------

    @precondition(any_session)
    @rule(which=INDEX, n=st.integers(0, 60))
    def look_back(self, which: int, n: int) -> None:
        found = self.agent(which)
        if found is not None:
            kept, store, log, agent = found
            assert said_in(as_of(store, log, n).entries) == agent.at(n).state
            self.look_at_the_blocks(kept, store, n)

    def look_at_the_blocks(self, kept: Kept, store: DirStore, n: int) -> None:
        if SESSION in store.logs():
            saved = fold_log(store, SESSION, cut=Cut(n=n)).saved
            assert blocks_in(saved) == kept.blocks.at(n).state
        else:
            assert not kept.blocks.moments

    def look_at_all_of_the_past(self, kept: Kept) -> None:
        if not kept.is_strict:
            return
        store = DirStore.open(self.root / kept.name)
        for log, agent in kept.agents.items():
            for n in agent.cuts():
                assert said_in(as_of(store, log, n).entries) == agent.at(n).state, (log, n)
        for n in kept.blocks.cuts():
            self.look_at_the_blocks(kept, store, n)

    # -- what always holds ---------------------------------------------------------------------

    @invariant()
    def nothing_else_stands_in_the_root(self) -> None:
        there = {path.name for path in self.root.iterdir()} if self.root.exists() else set()
        assert there == set(self.kept)

    @invariant()
    def what_was_not_touched_is_as_it_was(self) -> None:
        for name in self.kept:
            now = signs_of(self.root / name)
            assert name in self.touched or self.seen[name] == now, name
            self.seen[name] = now

    @invariant()
    def a_listing_says_what_stands_there(self) -> None:
        found = {row.id: row for row in rows(str(self.root))}
        assert set(found) == set(self.kept)
        for name, kept in self.kept.items():
            row = found[name]
            assert row.agents == len(kept.agents)
            if not kept.is_whole:
                continue
            main = kept.agents[kept.main].said if kept.main else ()
            assert row.problem is None
            assert row.messages == len(main), name
            assert plain({**row.labels}) == kept.labels
            assert kept.title is None or plain(row.title) == kept.title

    @invariant()
    def what_was_touched_reads_as_the_model_says(self) -> None:
        touched, self.touched = self.touched, set()
        for name in touched & set(self.kept):
            kept = self.kept[name]
            store = DirStore.open(self.root / name)
            self.look_at_findings(kept, store)
            if not kept.is_strict:
                self.look_leniently(kept, store)
                continue
            session = Session.read(store)
            torn = {each.log for each in session.repairs if isinstance(each, TornTail)}
            assert len(session.repairs) == len(torn)
            assert torn == ({kept.where} if kept.hurt in ("torn", "cut") else set())
            agents = {agent.id: said_in(agent.conversation.entries) for agent in session.agents}
            assert agents == {log: agent.said for log, agent in kept.agents.items()}
            assert blocks_in(session.saved) == kept.blocks.now.state
            main = session.main_agent()
            assert (None if main is None else main.id) == kept.main

    def look_at_findings(self, kept: Kept, store: DirStore) -> None:
        report = verify(store)
        problems = {each.kind for each in report.findings if each.level == PROBLEM}
        notices = {each.kind for each in report.findings} - problems
        assert problems <= NAMED[kept.hurt], report.findings
        assert bool(problems) == bool(NAMED[kept.hurt]), report.findings
        assert notices <= NOTICED, report.findings
        assert store.leftovers() == []
        assert not store.pending()
        if kept.is_whole:
            wanted = collecting.Wanted(self.at, if_idle_ms=None, young_ms=-(2**60), dry_run=True)
            assert collecting.collect(store, wanted) == collecting.Collected((), ())

    def look_leniently(self, kept: Kept, store: DirStore) -> None:
        with pytest.raises(SessionError):
            Session.read(store)
        for log, agent in kept.agents.items():
            if (kept.hurt, log) != ("twice", kept.where):
                fold = fold_log(store, log, strict=False)
                assert said_in(fold.conversation.entries) == agent.said


def tree_of(folder: Path) -> dict[str, bytes]:
    """Every file below a folder but the lock, with its bytes."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != LOCK
    }


def signs_of(folder: Path) -> object:
    """What of a folder's files tells that they were not changed."""
    found = {}
    for above, _, names in os.walk(folder):
        for name in names:
            seen = os.lstat(f"{above}/{name}")
            found[f"{above}/{name}"] = (seen.st_size, seen.st_mtime_ns, seen.st_ino)
    return found
