"""Looking at a session in which a change was cut short: it is seen whole, nothing is written."""

from __future__ import annotations

import os
import shutil
import threading
import time
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.storage.directory import DirStore
from tests.cli.commands_made import known_calls
from tests.cli.running import ok, run, tree
from tests.cli.talking import start
from tests.e2e.torture import fill
from tests.e2e.torture_states import SECRET, half_an_append
from tests.talks import ask, reply
from tests.unit.storage.faults import calls_of, die_at

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

WORD = SECRET.encode()
READING = [each for each in known_calls() if not each.writes and "one" in each.words]
TRYING = (
    ("undo", "one", "--dry-run"),
    ("redact", "one", "--dry-run", "--no-rules", "--literals", "-"),
    ("repair", "one", "--force", "--dry-run"),
    ("gc", "one", "--force", "--dry-run"),
    ("rm", "one", "--force", "--dry-run"),
    ("export", "one", "--as", "jsonl"),
    ("export", "one", "--as", "html"),
    ("export", "one", "--as", "markdown"),
    ("core", "show", "one", "human"),
)


@pytest.fixture
def session(root: Path, tmp_path: Path) -> Path:
    """A session of two agents, in whose logs one word is to be masked."""
    (tmp_path / "base").mkdir()
    shutil.copytree(fill(tmp_path / "base"), root)
    return root / "one"


def _mask(root: Path) -> None:
    run(
        *("--root", root, "redact", "one", "--yes", "--force", "--no-rules", "--literals", "-"),
        stdin=WORD + b"\n",
    )


def _cut_short(root: Path, change: Callable[[Path], None], ends: int) -> None:
    """Make *change* die when as many renames are done after that of its redo file."""
    counted = root.with_name("counted")
    names: list[str] = []
    for _ in range(2):  # the key of masks is made the first time
        shutil.copytree(root, counted)
        names = calls_of(lambda: change(counted))
        shutil.rmtree(counted)
    renames = [at for at, name in enumerate(names) if name == "replace"]
    begins = None
    for index, at in enumerate(renames):
        shutil.copytree(root, counted)
        assert die_at(at, lambda: change(counted), after=True)
        found = DirStore.open(counted / "one").pending()
        shutil.rmtree(counted)
        if found:
            begins = index
            break
    assert begins is not None
    assert die_at(renames[begins + ends], lambda: change(root), after=True)


@pytest.mark.parametrize("ends", [0, 1])
def test_what_is_announced_is_seen_as_done_and_nothing_is_written(
    root: Path, session: Path, ends: int
) -> None:
    _cut_short(root, _mask, ends)
    assert DirStore.open(session).pending()
    before = tree(root)
    lines = b"".join((session / f"logs/{log}.jsonl").read_bytes() for log in ("main", "aide"))
    assert WORD in lines

    for words, stdin in [(each.words, each.stdin) for each in READING] + [
        (words, b"not there\n") for words in TRYING
    ]:
        done = run(*words, stdin=stdin)
        assert tree(root) == before, words
        assert done.status in (0, 1, 3), (words, done)
        if words[0] in ("show", "log", "export", "as-of") and done.status == 0:
            assert WORD not in done.stdout, words

    shown = ok("show", "one").stdout
    ok("append", "one", "--role", "user", stdin=b"more")
    assert ok("show", "one").stdout.startswith(shown)
    assert not DirStore.open(session).pending()


@pytest.mark.parametrize("torn", [b"", b"\0" * 90])
def test_what_was_being_added_is_seen_as_not_begun(root: Path, torn: bytes) -> None:
    start("one", ask("first"), reply("second"))
    shown = ok("show", "one").stdout
    logged = ok("log", "one").stdout
    half_an_append(root / "one")
    log = root / "one/logs/main.jsonl"
    log.write_bytes(log.read_bytes() + torn)
    before = tree(root)
    assert DirStore.open(root / "one").pending()

    done = ok("show", "one")

    assert done.stdout == shown
    assert done.err == ""
    assert ok("log", "one").stdout == logged
    assert tree(root) == before


def test_what_another_program_changed_meanwhile_is_told_and_shown_as_it_lies(
    root: Path, session: Path
) -> None:
    _cut_short(root, _mask, 1)
    for log in ("main", "aide"):
        path = session / f"logs/{log}.jsonl"
        path.write_bytes(path.read_bytes().replace(b"next", b"NEXT"))
        if WORD in path.read_bytes():
            path.write_bytes(path.read_bytes().replace(WORD, WORD.lower()))
    before = tree(root)

    done = ok("show", "one")

    assert "a change was cut short and cannot be finished now" in done.err
    assert tree(root) == before


def test_a_change_under_way_that_cannot_be_seen_whole_is_waited_for(
    root: Path, session: Path
) -> None:
    store = DirStore.open(session)
    redo = session / ".agentmem.redo"

    def work() -> None:
        with store.held():
            redo.write_bytes(b"half of what is to be d")
            begun.set()
            time.sleep(0.1)
            redo.unlink()

    begun = threading.Event()
    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    done = ok("show", "one")
    thread.join()

    assert done.err == ""
    assert not redo.exists()


def test_a_change_under_way_that_takes_too_long_is_told(root: Path, session: Path) -> None:
    redo = session / ".agentmem.redo"
    with DirStore.open(session).held():
        redo.write_bytes(b"half of what is to be d")
        done = ok("--lock-wait", "0.05", "show", "one")

    assert "still locked after 0.05 s" in done.err
    assert b"what is next?" in done.stdout
