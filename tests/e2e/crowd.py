"""Many processes at once on one session: what each was told is done must be there at the end.

`python -m tests.e2e.crowd SECONDS [PROCESSES]` runs them for a while in a folder that is thrown
away, and prints what came of it; the tests run a small number of rounds.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agentmem_cli.errors import Changed, ConflictError
from agentmem_cli.session.message import Message
from agentmem_cli.session.reader import history, load, read_session
from agentmem_cli.session.writer import save
from agentmem_cli.storage.directory import DirStore
from tests.cli.running import ok, run

if TYPE_CHECKING:
    from collections.abc import Callable

SESSION: Final = "crowd"
LOSER: Final = 4

Notes = list[tuple[str, ...]]
"""What a process was told: ("done" | "lost" | "seen", what, text)."""


class Member:
    """One process: it does its work over and over, and notes what it was told."""

    def __init__(self, root: Path, number: int) -> None:
        self.root = root
        self.number = number
        self.round = 0
        self.notes: Notes = []

    def store(self) -> DirStore:
        return DirStore.open(self.root / SESSION)

    def command(self, what: str, *words: str, stdin: bytes = b"", text: str = "") -> bool:
        done = run("--root", self.root, "--lock-wait", "2", *words, stdin=stdin)
        assert done.status in {0, LOSER}, (words, done)
        self.notes.append(("lost" if done.status else "done", what, text))
        return not done.status

    def text(self) -> str:
        return f"said by {self.number} in round {self.round}."

    def append(self) -> None:
        text = self.text()
        words = ("append", SESSION, "--agent", "main", "--role", "user")
        self.command("append", *words, stdin=text.encode(), text=text)

    def save(self) -> None:
        store, text = self.store(), self.text()
        conversation = load(store, "main")
        conversation.push(Message.user(text))
        try:
            save(store, "main", conversation)
        except (Changed, ConflictError):
            self.notes.append(("lost", "save", text))
        else:
            self.notes.append(("done", "save", text))

    def core(self) -> None:
        text = self.text()
        self.command("core", "core", "append", SESSION, "scratch", text, text=text)

    def redact(self) -> None:
        secret = f"secret{self.number}x{self.round}y{os.urandom(6).hex()}"
        words = ("append", SESSION, "--agent", "main", "--role", "user")
        if self.command("secret", *words, stdin=f"the key is {secret}".encode(), text=secret):
            masking = ("redact", SESSION, "--yes", "--no-rules", "--literals", "-")
            self.command("redact", *masking, stdin=secret.encode(), text=secret)

    def care(self) -> None:
        self.command("repair", "repair", SESSION)
        self.command("gc", "gc", SESSION, "--yes", "--young", "0s")
        self.command("value", "value", "set", SESSION, "round", str(self.round))
        verified = run("--root", self.root, "verify", SESSION, "--json")
        assert verified.status == 0, verified
        self.notes.append(("done", "verify", ""))

    def read(self) -> None:
        store = self.store()
        session = read_session(store)
        assert not session.repairs, session.repairs
        main = session.agents[0].conversation
        for entry in main.entries:
            text = entry.message.text
            assert text.endswith((".", "]")) or text.startswith("the key is "), text
        stamps = [stamp for stamp, _ in history(store, "main")]
        assert [stamp.seq for stamp in stamps] == list(range(1, len(stamps) + 1))
        assert all(one.n < two.n for one, two in pairwise(stamps))
        shown = run("--root", self.root, "show", SESSION, "--json")
        assert shown.status == 0, shown
        assert shown.stderr == b"", shown.stderr
        self.notes.append(("done", "read", str(len(main.entries))))


WORKS: Final[tuple[Callable[[Member], None], ...]] = (
    Member.append,
    Member.append,
    Member.save,
    Member.core,
    Member.redact,
    Member.read,
    Member.append,
    Member.read,
    Member.care,
)


def _member(root: Path, number: int, rounds: int, end_s: float, out: Path) -> None:
    member = Member(root, number)
    work = WORKS[number % len(WORKS)]
    failed = ""
    try:
        while member.round < rounds and time.monotonic() < end_s:
            member.round += 1
            work(member)
    except BaseException:  # noqa: BLE001 - told to the parent
        import traceback

        failed = traceback.format_exc()
    out.write_text(json.dumps({"notes": member.notes, "failed": failed}))  # noqa: TID251


def run_crowd(place: Path, processes: int, rounds: int, seconds: float = 3600) -> Notes:
    """Let *processes* work at once; return all they were told.

    Raises:
        AssertionError: One failed; its trace is told.
    """
    root = place / "root"
    ok("--root", root, "new", SESSION)
    ok("--root", root, "append", SESSION, "--role", "user", "--agent", "main", stdin=b"begun.")
    context = multiprocessing.get_context("spawn")
    end_s = time.monotonic() + seconds
    running = [
        context.Process(
            target=_member, args=(root, number, rounds, end_s, place / f"notes{number}")
        )
        for number in range(processes)
    ]
    for each in running:
        each.start()
    for each in running:
        each.join()
    told: list[dict[str, Any]] = [
        json.loads((place / f"notes{number}").read_text()) for number in range(processes)
    ]
    failed = [each["failed"] for each in told if each["failed"]]
    assert not failed, "\n".join(failed)
    return [tuple(note) for each in told for note in each["notes"]]


def check(place: Path, notes: Notes) -> Counter[str]:
    """Hold what stands against what was told; return how often each thing was done or lost."""
    root = place / "root"
    store = DirStore.open(root / SESSION)
    session = read_session(store)
    found = Counter(entry.message.text for entry in session.agents[0].conversation.entries)
    core = ok("--root", root, "core", "get", SESSION, "scratch").out.split("\n")
    raw = b"".join(path.read_bytes() for path in (root / SESSION).rglob("*") if path.is_file())
    for outcome, what, text in notes:
        if what in {"append", "save"}:
            assert found[text] == (outcome == "done"), (outcome, what, text)
        elif what == "core":
            assert core.count(text) == (outcome == "done"), (outcome, text)
        elif what == "redact" and outcome == "done":
            assert text.encode() not in raw, text
    assert sum(found.values()) == 1 + sum(
        outcome == "done" and what in {"append", "save", "secret"} for outcome, what, _ in notes
    )
    assert ok("--root", root, "verify", SESSION, "--json").object["problems"] == 0
    return Counter(f"{what} {outcome}" for outcome, what, _ in notes)


def main() -> None:
    seconds = float(sys.argv[1])
    processes = int(sys.argv[2]) if len(sys.argv) > 2 else len(WORKS)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        os.environ["AGENTMEM_CONFIG"] = str(place / "config")
        counts = check(place, run_crowd(place, processes, sys.maxsize, seconds))
    for what, count in sorted(counts.items()):
        sys.stdout.write(f"{count:8,} {what}\n")
    sys.stdout.write(
        f"{sum(counts.values()):8,} operations of {processes} processes, nothing lost\n"
    )


if __name__ == "__main__":
    main()
