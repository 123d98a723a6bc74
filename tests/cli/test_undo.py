from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem_cli.cli.undone import _ids
from agentmem_cli.session.author import Author
from agentmem_cli.session.change import ChangeRecord, Reset
from agentmem_cli.session.compaction import apply_summary, undo_summary
from agentmem_cli.session.message import Message
from agentmem_cli.session.reader import load
from agentmem_cli.session.summaries import SummaryState, summary_author
from agentmem_cli.session.writer import append_records, save
from agentmem_cli.storage.directory import DirStore
from tests.cli.running import header, join, ok, record, run, said, turns, write
from tests.cli.talking import (
    LONG,
    add,
    asides,
    conversation,
    count,
    entries,
    log_bytes,
    start,
)
from tests.talks import ask, call, reply, result

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import Object


def talk(name: str = "s") -> None:
    start(name, ask("go"), call("a"), result("a", LONG), reply("done"), ask("and"), reply("yes"))


def test_an_undone_append_is_gone_and_redone_it_is_back(root: Path) -> None:
    talk()
    before = entries(root, "s")

    done = ok("undo", "s")
    undone = entries(root, "s")
    ok("redo", "s")

    assert "append at n 6, log main, taken back: 1 message gone (#5)" in done.out
    assert undone == before[:-1]
    assert entries(root, "s") == before


def test_ten_undos_go_ten_changes_back_and_ten_redos_bring_them_again(root: Path) -> None:
    ok("new", "s")
    states = []
    for number in range(10):
        add("s", ask(f"{number}"), reply("ok"))
        states.append(entries(root, "s"))

    back = []
    for _ in range(9):
        ok("undo", "s")
        back.append(entries(root, "s"))
    ok("undo", "s")
    empty = entries(root, "s")
    again = []
    for _ in range(10):
        ok("redo", "s")
        again.append(entries(root, "s"))

    assert back == states[-2::-1]
    assert empty == []
    assert again == states


def test_several_steps_are_one_append(root: Path) -> None:
    talk()
    before, records = entries(root, "s"), count(root, "s")

    told = ok("undo", "s", "--steps", "3", "--json").object

    assert [change["kind"] for change in told["changes"]] == ["append"] * 3
    assert entries(root, "s") == before[:-3]
    assert told["last_n"] - told["first_n"] == 5
    assert count(root, "s") == records + 6
    assert ok("redo", "s", "--steps", "3").status == 0
    assert entries(root, "s") == before


def test_more_steps_than_there_are_change_nothing(root: Path) -> None:
    talk()
    before = log_bytes(root, "s")

    done = run("undo", "s", "--steps", "7")
    none = run("redo", "s", "--steps", "2")

    assert done.status == 3
    assert "only 6 changes can be undone; nothing was changed" in done.err
    assert "no undo to take back" in none.err
    assert log_bytes(root, "s") == before

    ok("undo", "s")
    few = run("redo", "s", "--steps", "2")

    assert "only 1 undo can be taken back; nothing was changed" in few.err


def test_ten_compactions_are_undone_and_redone_one_by_one(root: Path) -> None:
    talk()
    befores, afters = [], []
    for number in range(10):
        befores.append((entries(root, "s"), len(asides(root, "s", "compacted"))))
        ok("compact", "s", "--summary-file", "-", stdin=f"summary {number}".encode())
        afters.append((entries(root, "s"), len(asides(root, "s", "compacted"))))
        add("s", call("b"), result("b", LONG), reply(f"{number}"))

    undone, redone = [], []
    for _ in range(10):
        ok("undo", "s", "--steps", "2")
        undone.append((entries(root, "s"), len(asides(root, "s", "compacted"))))
    for _ in range(10):
        ok("redo", "s")
        redone.append((entries(root, "s"), len(asides(root, "s", "compacted"))))
        ok("redo", "s")

    assert undone == befores[::-1]
    assert redone == afters


def test_a_compaction_is_a_step_of_its_own_and_comes_back_byte_for_byte(root: Path) -> None:
    write(root, "s", "main", join(turns(20)))
    before = entries(root, "s")
    ok("compact", "s", "--summary-file", "-", stdin=b"twenty")
    for text in ("21", "22", "23"):
        add("s", ask(text))

    for _ in range(3):
        ok("undo", "s")
    done = ok("undo", "s")

    assert "compaction at n 21" in done.out
    assert entries(root, "s") == before


def test_only_the_compaction_goes_where_that_is_asked_and_what_came_later_stays(
    root: Path,
) -> None:
    talk()
    before = entries(root, "s")
    ok("compact", "s", "--summary-file", "-", stdin=b"short")
    add("s", ask("later"), reply("still here"))
    later = entries(root, "s")[-2:]
    compacted = entries(root, "s")

    ok("undo", "s", "--compaction")
    undone = entries(root, "s")

    assert undone == [*before, *later]
    assert asides(root, "s", "compacted") == []
    assert run("undo", "s", "--compaction").status == 3
    assert compacted != undone


def test_a_clearing_is_undone(root: Path) -> None:
    talk()
    before = entries(root, "s")
    ok("clear", "s", "--keep", "0")
    cleared = entries(root, "s")

    done = ok("undo", "s")

    assert cleared != before
    assert "clearing" in done.out
    assert entries(root, "s") == before


def test_splices_and_restores_are_undone(root: Path) -> None:
    talk()
    first = entries(root, "s")
    ok("splice", "s", "4:")
    ok("restore", "s", "m3")
    shorter = entries(root, "s")

    done = ok("undo", "s", "--steps", "2")

    assert len(shorter) == 3
    assert "restore at n" in done.out
    assert "splice at n" in done.out
    assert entries(root, "s") == first


def test_core_memory_and_messages_are_undone_newest_first(root: Path) -> None:
    talk()
    ok("core", "set", "s", "human", "Alice")
    add("s", ask("more"))
    ok("core", "set", "s", "human", "Bob")
    whole = entries(root, "s")

    def human() -> str:
        done = run("core", "get", "s", "human")
        return done.out if done.status == 0 else ""

    seen = []
    for _ in range(3):
        ok("undo", "s")
        seen.append((human(), len(entries(root, "s"))))
    for _ in range(3):
        ok("redo", "s")
        seen.append((human(), len(entries(root, "s"))))

    assert seen == [("Alice", 7), ("Alice", 6), ("", 6), ("Alice", 6), ("Alice", 7), ("Bob", 7)]
    assert entries(root, "s") == whole


def test_steps_over_core_memory_come_back_one_by_one(root: Path) -> None:
    talk()
    for name in ("Alice", "Bob", "Carol"):
        ok("core", "set", "s", "human", name)

    told = ok("undo", "s", "--steps", "2", "--json").object
    first = ok("core", "get", "s", "human").out
    ok("redo", "s")
    second = ok("core", "get", "s", "human").out
    ok("redo", "s")

    assert [change["keys"] for change in told["changes"]] == [["core_memory.human"]] * 2
    assert (first, second) == ("Alice", "Bob")
    assert ok("core", "get", "s", "human").out == "Carol"


def test_an_undo_of_core_memory_is_known_to_core_undo_and_the_other_way_round(root: Path) -> None:
    talk()
    for name in ("Alice", "Bob", "Carol"):
        ok("core", "set", "s", "human", name)
    ok("undo", "s")

    ok("core", "undo", "s")
    first = ok("core", "get", "s", "human").out
    ok("redo", "s")

    assert first == "Alice"
    assert ok("core", "get", "s", "human").out == "Bob"


def test_each_undo_leaves_a_mark_and_the_log_only_grows(root: Path) -> None:
    talk()
    before = log_bytes(root, "s")

    ok("undo", "s")
    ok("redo", "s")

    first, second = asides(root, "s", "agentmem.undo")
    assert log_bytes(root, "s").startswith(before)
    assert first.value == {"undoes": 6}
    assert second.value == {"undoes": 7}
    assert first.author == Author.plugin("agentmem")


def test_a_redo_after_another_change_is_refused(root: Path) -> None:
    talk()
    ok("undo", "s")
    add("s", ask("something else"))
    before = log_bytes(root, "s")

    done = run("redo", "s")

    assert done.status == 3
    assert "changed since" in done.err
    assert log_bytes(root, "s") == before


def test_without_an_undo_there_is_nothing_to_redo(root: Path) -> None:
    talk()

    assert run("redo", "s").status == 3


def test_a_reset_is_a_barrier_that_is_named(root: Path) -> None:
    entry: Object = {"message": Message.user("kept").value, "id": 0, "made": 1}
    state: Object = {
        "entries": [entry],
        "asides": [],
        "halt": None,
        "next_message": 1,
        "next_aside": 0,
    }
    lines = [header(), said(1, "gone"), record(2, "reset", state=state), said(3, "new", id_=1)]
    write(root, "s", "main", join(lines))
    ok("undo", "s")
    before = log_bytes(root, "s")

    done = run("undo", "s")

    assert done.status == 3
    assert "at n 2" in done.err
    assert "reset" in done.err
    assert log_bytes(root, "s") == before


def test_a_dry_run_says_what_would_be_and_changes_nothing(root: Path) -> None:
    talk()
    ok("compact", "s", "--summary-file", "-", stdin=b"short")
    before = log_bytes(root, "s")

    done = ok("undo", "s", "--steps", "2", "--dry-run")
    refused = run("redo", "s", "--dry-run")

    assert "compaction at n 7, log main, would be taken back: 5 messages back" in done.out
    assert "5 messages would stand" in done.out
    assert refused.status == 3
    assert log_bytes(root, "s") == before


def test_side_records_of_others_and_halts_stay(root: Path) -> None:
    note: Object = {"kind": "note", "author": {"kind": "rig"}, "after": 0}
    lines = [*turns(2), record(3, "aside", id=0, aside=note), record(4, "halt", halt="kept")]
    write(root, "s", "main", join(lines))

    ok("undo", "s")

    found = conversation(root, "s")
    assert len(found) == 1
    assert found.asides[0].kind == "note"
    assert found.halt == "kept"


def test_an_undo_of_the_crate_is_an_undo_here(root: Path) -> None:
    talk()
    before = entries(root, "s")
    store = DirStore.open(root / "s")
    talking = load(store, "main")
    apply_summary(talking, None, SummaryState("short"))
    save(store, "main", talking)
    undo_summary(talking, store, "main", summary_author())
    save(store, "main", talking)

    done = ok("undo", "s")
    undone = entries(root, "s")

    assert "append" in done.out
    assert undone == before[:-1]


def test_the_compaction_that_the_crate_undid_is_redone(root: Path) -> None:
    talk()
    store = DirStore.open(root / "s")
    talking = load(store, "main")
    apply_summary(talking, None, SummaryState("short"))
    save(store, "main", talking)
    compacted = entries(root, "s")
    undo_summary(talking, store, "main", summary_author())
    save(store, "main", talking)

    ok("redo", "s")

    assert entries(root, "s") == compacted
    assert len(asides(root, "s", "compacted")) == 1


def test_images_come_back_with_what_is_undone(root: Path) -> None:
    data: Object = {"type": "base64", "value": "QUJD"}
    image: Object = {"type": "image", "media_type": "png", "data": data}
    start("s", Message.user([{"type": "text", "text": "see " * 500}, image]), reply(LONG))
    add("s", ask("next"), reply())
    before = conversation(root, "s").messages

    ok("compact", "s", "--summary-file", "-", stdin=b"short")
    ok("undo", "s")

    assert conversation(root, "s").messages == before
    assert len(list((root / "s/files/blobs").iterdir())) == 1


def test_the_other_agent_is_left_alone(root: Path) -> None:
    write(root, "s", "main", join(turns(4)))
    write(root, "s", "aide", join([header("aide", n=9, parent="main"), said(1, "x", n=10)]))
    before = (root / "s/logs/main.jsonl").read_bytes()

    ok("undo", "s", "--agent", "aide")

    assert entries(root, "s", "aide") == []
    assert (root / "s/logs/main.jsonl").read_bytes() == before


def test_after_a_redaction_an_undo_brings_the_masked_text_back(root: Path, tmp_path: Path) -> None:
    start("s", ask("the word is Rosebud-77"), reply(LONG), ask("go"), reply("ok"))
    ok("compact", "s", "--summary-file", "-", stdin=b"a word was told")
    (tmp_path / "words").write_text("Rosebud-77\n")
    ok("redact", "s", "--no-rules", "--literals", tmp_path / "words", "--yes", "--force")

    ok("undo", "s")

    texts = [message.text for message in conversation(root, "s").messages]
    assert texts[0].startswith("the word is [REDACTED")
    assert len(texts) == 4
    assert b"Rosebud" not in log_bytes(root, "s")


@pytest.mark.parametrize("verb", ["undo", "redo"])
def test_steps_are_at_least_one(root: Path, verb: str) -> None:
    talk()

    assert run(verb, "s", "--steps", "0").status == 2


def test_a_redo_of_core_memory_does_not_reach_over_a_reset(root: Path) -> None:
    start("s", ask("hello"))
    ok("core", "set", "s", "human", "Ada")
    ok("undo", "s")
    reset = ChangeRecord(Reset(conversation(root, "s").state()), None, 1_900_000_000_000)
    append_records(DirStore.open(root / "s"), "main", lambda _: [reset], at=reset.at)

    done = run("redo", "s")

    assert done.status == 3
    assert "the session was changed since" in done.err


def test_ids_that_do_not_lie_side_by_side_are_no_range() -> None:
    assert _ids((20, 16, 17, 18, 19, 22)) == "#16 to #20, #22"
    assert _ids((1, 3)) == "#1, #3"
    assert _ids(tuple(range(0, 40, 2))) == "#0, #2, #4, #6, #8, #10, and others up to #38"
