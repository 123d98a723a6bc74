"""A whole store through all that commands do to it, in any order, against plain lists."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from agentmem_cli.errors import (
    AgentMemError,
    ConflictError,
    SessionError,
)
from agentmem_cli.operations import append as appending
from agentmem_cli.operations import collecting, removing, repairing
from agentmem_cli.operations.core import verbs
from agentmem_cli.operations.core.changing import Request
from agentmem_cli.operations.exported_tar import tar_of
from agentmem_cli.operations.imports.importing import Options, import_source
from agentmem_cli.operations.imports.restored import import_tar
from agentmem_cli.operations.renaming import rename_session
from agentmem_cli.operations.renaming_agents import rename_agent
from agentmem_cli.operations.secrets.redaction import Wishes, redact_session
from agentmem_cli.operations.undoing import undo
from agentmem_cli.session.author import Author
from agentmem_cli.session.change import ChangeRecord, Push
from agentmem_cli.session.codec import loads_object
from agentmem_cli.session.keys import SESSION
from agentmem_cli.session.reader import history
from agentmem_cli.storage.directory import DirStore
from tests.cli.running import run
from tests.store_damage import HURTS, MENDED
from tests.store_looks import Looked, tree_of
from tests.store_model import (
    LITERAL,
    Agent,
    Kept,
    said_in,
)
from tests.store_rules import INDEX, LOOKING, WORDS, any_session
from tests.talks import ask
from tests.unit.imports import building


class StoreMachine(Looked):
    """What replaces the past, comes, goes and is taken care of."""

    # -- rewriting -----------------------------------------------------------------------

    @precondition(any_session)
    @rule(which=INDEX)
    def redact(self, which: int) -> None:
        kept = self.pick(which)
        if kept is None or kept.hurt == "meta":
            return
        store = self.store(kept)
        wishes = Wishes(now_ms=self.tick(), if_idle_ms=None)
        done = redact_session(store, Author.user(), LOOKING, wishes)
        changed = bool(done.rewritten.changed)
        assert done.is_whole
        assert changed or not any(done.kinds.values())
        if kept.hurt in ("torn", "cut"):
            self.mends_its_end(kept, kept.where)
        kept.masked()
        kept.rewritten = kept.rewritten or changed
        assert LITERAL.encode() not in b"".join(
            path.read_bytes() for path in store.path.rglob("*") if path.is_file()
        )
        if changed:
            self.look_at_all_of_the_past(kept)
            again = redact_session(store, Author.user(), LOOKING, wishes)
            assert not again.rewritten.changed

    @precondition(any_session)
    @rule(which=INDEX)
    def rename(self, which: int) -> None:
        kept = self.pick(which, whole=True)
        if kept is None:
            return
        old, new = kept.name, self.name()
        rename_session(self.found(kept), DirStore.open(self.root / old), new)
        del self.kept[old]
        self.seen.pop(old, None)
        kept.name = new
        self.kept[new] = kept
        self.touched.add(new)

    @precondition(any_session)
    @rule(which=INDEX)
    def rename_agent(self, which: int) -> None:
        found = self.agent(which)
        if found is None or not found[0].is_whole:
            return
        kept, store, log, _ = found
        new = f"a{self.names}"
        self.names += 1
        if log == "main" and kept.lines:
            with pytest.raises(ConflictError):
                rename_agent(store, log, new, if_idle_ms=None, now_ms=self.tick())
            return
        rename_agent(store, log, new, if_idle_ms=None, now_ms=self.tick())
        kept.agents[new] = kept.agents.pop(log)
        kept.main = new if kept.main == log else kept.main
        self.look_at_all_of_the_past(kept)

    # -- coming and going -------------------------------------------------------------------

    @rule(more=st.integers(0, 3))
    def bring(self, more: int) -> None:
        """A transcript is imported, and again when it has grown."""
        name = f"pi-{building.SESSION_ID}"
        kept = self.kept.get(name)
        if kept is not None and not kept.is_whole:
            return
        was = 0 if kept is None else kept.lines
        count = max(was, 1) + more
        lines = [building.header(), *map(_line, range(1, count + 1))]
        path = Path(self.folder.name, "there.jsonl")
        path.write_bytes(building.lines(*lines))
        if kept is not None and (kept.rewritten or not was):
            before = tree_of(self.root / name)
            with pytest.raises(AgentMemError):
                import_source(path, self.root, now_ms=self.tick())
            assert tree_of(self.root / name) == before
            return
        report = import_source(path, self.root, now_ms=self.tick())
        assert report.session == name
        if kept is None:
            kept = self.kept[name] = Kept(name)
            kept.agents["main"], kept.main = Agent(), "main"
        assert report.created == (was == 0)
        assert report.nothing_new == (count == was)
        kept.lines = count
        self.touched.add(name)
        self.take_what_came(kept, was, count)

    def take_what_came(self, kept: Kept, was: int, count: int) -> None:
        """Add messages to the model as the log has them: one a line, in its order."""
        store, agent = DirStore.open(self.root / kept.name), kept.agents["main"]
        after = agent.now.n
        pushed = [
            (stamp.n, record.change)
            for stamp, record in history(store, "main")
            if stamp.n > after and isinstance(record, ChangeRecord)
        ]
        found = [(n, change.entries) for n, change in pushed if isinstance(change, Push)]
        texts = [entry.message.text for _, entries in found for entry in entries]
        assert texts == [f"line {number} {LITERAL}" for number in range(was + 1, count + 1)]
        for n, entries in found:
            new = said_in(entries)
            assert agent.given.isdisjoint(id_ for id_, _ in new)
            agent.becomes(n, (*agent.said, *new))

    @precondition(any_session)
    @rule(which=INDEX, gone=st.booleans())
    def pack(self, which: int, gone: bool) -> None:
        """It goes into a tar, and comes back from there, whether it is still there or not."""
        kept = self.pick(which, whole=True)
        if kept is None:
            return
        store = self.store(kept)
        path = Path(self.folder.name, "packed.tar")
        path.write_bytes(b"".join(tar_of(store)))
        before = tree_of(store.path)
        if gone:
            removing.remove(self.found(kept), store, now_ms=self.tick(), if_idle_ms=None)
            assert not store.path.exists()
        report = import_tar(path, self.root, Options(self.tick()))
        assert report.session == kept.name
        assert report.created == gone
        assert tree_of(store.path) == before

    @precondition(lambda self: len(self.kept) > 2)
    @rule(which=INDEX)
    def remove(self, which: int) -> None:
        kept = self.pick(which, strict=False)
        assert kept is not None
        store = DirStore.open(self.root / kept.name)
        removing.remove(self.found(kept), store, now_ms=self.tick(), if_idle_ms=None)
        del self.kept[kept.name]
        self.seen.pop(kept.name, None)

    @precondition(lambda self: len(self.kept) > 3)
    @rule(about=WORDS)
    def prune(self, about: str) -> None:
        words = ["--label", f"about={about}", "--label", "keep=yes", "--force", "--yes"]
        done = run("--root", self.root, "prune", *words)
        assert done.status == 0, done
        for name, kept in [*self.kept.items()]:
            # Why not the damaged: labels may have been lost with the meta.
            if kept.labels == {"about": about, "keep": "yes"}:
                assert not (self.root / name).exists()
                del self.kept[name]
                self.seen.pop(name, None)

    # -- care --------------------------------------------------------------------------------

    @precondition(any_session)
    @rule(which=INDEX)
    def collect(self, which: int) -> None:
        """What nobody needs goes, and nothing else."""
        kept = self.pick(which, whole=True)
        if kept is None or not kept.agents:
            return
        store = self.store(kept)
        litter = b"nobody names this"
        blob = f"blobs/{hashlib.sha256(litter).hexdigest()}.bin"
        before = tree_of(store.path)
        store.write_file(blob, litter)
        part = store.path / "logs" / ".agentmem-0.rig-part"
        part.write_bytes(b"half")
        wanted = collecting.Wanted(self.tick(), if_idle_ms=None, young_ms=-(2**60))
        planned = collecting.collect(store, wanted._replace(dry_run=True))
        done = collecting.collect(store, wanted._replace(though_lost=True))
        assert {each.name for each in (*planned.removed, *planned.kept)} == {
            blob,
            "logs/.agentmem-0.rig-part",
        }
        assert blob in {each.name for each in done.removed}
        assert not part.exists()
        assert tree_of(store.path) == before

    @precondition(any_session)
    @rule(which=INDEX, kind=st.sampled_from(sorted(HURTS)), where=INDEX, place=INDEX)
    def hurt(self, which: int, kind: str, where: int, place: int) -> None:
        """Something is done to the bytes that no command does."""
        kept = self.pick(which, whole=True)
        if kept is None or not kept.agents:
            return
        if kind == "meta":
            (self.root / kept.name / "files" / "meta.json").write_bytes(b"\0" * 64)
            kept.hurt = kind
            kept.labels = {}
            kept.title = None
            self.touched.add(kept.name)
            return
        logs = DirStore.open(self.root / kept.name).logs()
        log = logs[where % len(logs)]
        path = self.root / kept.name / "logs" / f"{log}.jsonl"
        data = path.read_bytes()
        lines = data.splitlines(keepends=True)
        new = HURTS[kind](lines, place)
        if new is None or (kind == "cut" and not self.loses_the_last(kept, log, lines)):
            return
        path.write_bytes(new)
        kept.hurt, kept.where = kind, log
        self.touched.add(kept.name)

    def loses_the_last(self, kept: Kept, log: str, lines: list[bytes]) -> bool:
        """Take the newest message out of the model, if that is what the last record is."""
        agent = kept.agents.get(log)
        last = loads_object(lines[-1])
        # Why not others: of a record that names a blob, or is half of a change, more is lost.
        if agent is None or last["type"] != "push" or b"blob:" in lines[-1] or kept.lines:
            return False
        if last["n"] != agent.now.n or len(agent.moments) < 2:
            return False
        agent.moments.pop()
        return True

    @precondition(any_session)
    @rule(which=INDEX)
    def repair(self, which: int) -> None:
        kept = self.pick(which, strict=False)
        assert kept is not None
        store = self.store(kept)
        wanted = repairing.Wanted(self.tick(), if_idle_ms=None)
        before = tree_of(store.path)
        planned = repairing.repair(store, wanted._replace(dry_run=True))
        assert tree_of(store.path) == before
        done = repairing.repair(store, wanted)
        kinds = {each.kind for each in done.done}
        assert planned.done == done.done
        assert done.left == ()
        if kept.is_whole:
            # A meta that is older than its logs is made anew, and nothing else is touched.
            assert kinds <= {"meta"}
            assert kinds or tree_of(store.path) == before
            return
        assert kinds & MENDED[kept.hurt or ""]
        lost = {each.kind for each in done.lost}
        assert lost <= ({"shorter-log"} if kept.hurt == "cut" else set())
        assert repairing.repair(store, wanted).done == ()
        kept.hurt = None
        self.look_at_all_of_the_past(kept)

    @precondition(any_session)
    @rule(which=INDEX)
    def nothing_is_changed_in_ruins(self, which: int) -> None:
        """What reads strictly refuses a damaged log, and leaves every byte."""
        ruins = [kept for kept in self.kept.values() if not kept.is_strict]
        if not ruins:
            return
        kept = ruins[which % len(ruins)]
        store = DirStore.open(self.root / kept.name)
        before = tree_of(store.path)
        if kept.where == SESSION:
            with pytest.raises(SessionError):
                verbs.clear(store, SESSION, Request(now_ms=self.tick()))
        else:
            with pytest.raises(SessionError):
                appending.append(store, kept.where, [ask()], at_ms=self.tick())
            with pytest.raises(SessionError):
                undo(store, kept.where, at_ms=self.tick())
        with pytest.raises(AgentMemError):
            redact_session(
                store, Author.user(), LOOKING, Wishes(now_ms=self.tick(), if_idle_ms=None)
            )
        assert tree_of(store.path) == before


def _line(number: int) -> bytes:
    text = f"line {number} {LITERAL}"
    return building.user(number, text) if number % 2 else building.reply(number, text)


# An example is a hundred times one of other tests, so the usual profile makes few.
_PROFILE = settings.default
_EXAMPLES = 12 if _PROFILE is None or _PROFILE.max_examples < 200 else 200
StoreMachine.TestCase.settings = settings(max_examples=_EXAMPLES, stateful_step_count=30)
TestStore = StoreMachine.TestCase
