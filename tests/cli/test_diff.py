from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.running import ok, run
from tests.cli.talking import LONG, add, start
from tests.talks import ask, call, reply, result

if TYPE_CHECKING:
    from pathlib import Path


def talk() -> None:
    start("s", ask("go"), call("a"), result("a", LONG), reply("done"), ask("and"), reply("yes"))


def test_the_same_place_has_no_difference_and_the_status_0(root: Path) -> None:
    talk()

    done = ok("diff", "s", "now", "now")

    assert "no difference" in done.out


def test_a_compaction_reads_well(root: Path) -> None:
    talk()
    ok("compact", "s", "--summary-file", "-", stdin=b"It was built.")
    add("s", ask("paint it"))

    done = run("diff", "s", "before-compaction", "now")

    assert done.status == 1
    lines = done.out.splitlines()
    assert lines[0] == "s: before-compaction (n 7) -> now (n 10)"
    assert lines[1].startswith("  messages 6 -> 3, tokens ")
    assert lines[1].endswith("2 added, 5 gone")
    assert [line[:4] for line in lines[2:]] == [
        "- #0",
        "- #1",
        "- #2",
        "- #3",
        "- #4",
        "+ #6",
        "+ #7",
    ]
    assert lines[7].startswith("+ #6 compaction: The earlier part")


def test_many_messages_that_went_are_told_in_a_line(root: Path) -> None:
    start("s", *[ask(f"text {number} " * 50) for number in range(9)], reply())
    ok("compact", "s", "--summary-file", "-", stdin=b"Much was said.")

    short = run("diff", "s", "before-compaction").out
    full = run("diff", "s", "before-compaction", "--full").out

    assert "- ... 5 messages, " in short
    assert short.count("\n- #") == 4
    assert full.count("\n- #") == 9


def test_an_edit_shows_the_lines_that_changed(root: Path) -> None:
    talk()
    ok("clear", "s", "--keep", "0")

    done = run("diff", "s", "~1", "now")

    assert "1 edited" in done.out
    assert "~ #2 user: result of read" in done.out
    assert "    +[cleared:" in done.out
    assert done.out.count("    -a line that says much") == 6
    assert "94 lines more; --full has them" in done.out


def test_values_and_core_memory_are_compared_in_every_log(root: Path) -> None:
    talk()
    ok("core", "set", "s", "human", "Alice")
    ok("core", "set", "s", "human", "Alice\nlikes cats")

    done = run("diff", "s", "start", "now")
    later = run("diff", "s", "8", "now")

    assert "core memory, log session:" in done.out
    assert "+likes cats" in later.out
    assert later.status == 1


def test_backwards_what_came_is_gone(root: Path) -> None:
    talk()

    done = run("diff", "s", "now", "m4")

    assert "2 gone" in done.out
    assert "- #4 user: and" in done.out


def test_in_json_there_is_one_object_a_difference(root: Path) -> None:
    talk()
    ok("clear", "s", "--keep", "0")
    add("s", ask("more"))

    head, *rest = run("diff", "s", "m5", "now", "--json").objects

    assert head["schema"] == "agentmem.diff/1"
    assert (head["added"], head["edited"], head["gone"], head["same"]) == (2, 1, 0, False)
    assert [(each["change"], each["id"]) for each in rest] == [
        ("edited", 2),
        ("added", 5),
        ("added", 6),
    ]
    assert rest[0]["before"] == result("a", LONG).value


def test_damage_is_read_around_and_told(root: Path) -> None:
    talk()
    path = root / "s" / "logs" / "main.jsonl"
    path.write_bytes(path.read_bytes() + b"junk\n")

    done = run("diff", "s", "m5", "now")

    assert done.status == 1
    assert "line 8" in done.err


@pytest.mark.parametrize("words", [("m99", "now"), ("now", "nowhere")])
def test_a_place_that_is_not_there_is_told(root: Path, words: tuple[str, str]) -> None:
    talk()

    assert run("diff", "s", *words).status in (2, 3)
