from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.running import ok, run
from tests.cli.talking import LONG, add, asides, conversation, entries, log_bytes, start
from tests.talks import ask, call, reply, result

if TYPE_CHECKING:
    from pathlib import Path


def talk() -> None:
    start("s", ask("go"), call("a"), result("a", LONG), reply("done"), ask("and"), reply("yes"))


def ids(root: Path) -> list[int]:
    return [entry.id for entry in conversation(root, "s").entries]


@pytest.mark.parametrize(
    ("range_", "left"),
    [
        ("4:5", [0, 1, 2, 3, 5]),
        ("m4:#5", [0, 1, 2, 3, 5]),
        ("1:3", [0, 3, 4, 5]),
        (":4", [4, 5]),
        ("4:", [0, 1, 2, 3]),
        (":", []),
    ],
)
def test_messages_are_taken_out_by_their_numbers(root: Path, range_: str, left: list[int]) -> None:
    talk()

    done = ok("splice", "s", range_)

    assert ids(root) == left
    assert f"{len(left)} message" in done.out


def test_messages_are_put_in_and_get_new_numbers(root: Path) -> None:
    talk()

    ok("splice", "s", "4:4", "--with", "-", stdin=ask("wait").raw + b"\n" + reply("ok").raw)

    assert ids(root) == [0, 1, 2, 3, 6, 7, 4, 5]
    assert conversation(root, "s").messages[4] == ask("wait")


def test_the_numbers_count_wherever_they_stand(root: Path) -> None:
    talk()
    ok("compact", "s", "--summary-file", "-", stdin=b"short")
    add("s", ask("more"))

    ok("splice", "s", "6:7")

    assert ids(root) == [7]


@pytest.mark.parametrize("range_", ["1:2", "2:3", "2:4", ":2"])
def test_a_call_and_its_result_are_not_parted(root: Path, range_: str) -> None:
    talk()
    before = log_bytes(root, "s")

    done = run("splice", "s", range_)
    forced = run("splice", "s", range_, "--force", "--dry-run")

    assert done.status == 2
    assert "would not pair" in done.err
    assert forced.status == 0
    assert log_bytes(root, "s") == before


@pytest.mark.parametrize("range_", ["5:6", "3:5", "3:4", "4:5", "8:9", "10:11"])
def test_a_result_that_lies_behind_a_text_is_not_parted_from_its_call(
    root: Path, range_: str
) -> None:
    start(
        "s",
        *(ask("go"), call("T1"), result("T1")),
        *(call("T2", "T3"), result("T2", also="and hurry"), result("T3"), reply("done")),
        *(ask("and"), call("T4"), ask("wait"), result("T4"), reply("yes")),
    )
    before = log_bytes(root, "s")

    done = run("splice", "s", range_)
    both = ok("splice", "s", "3:6", "--dry-run")
    late = ok("splice", "s", "8:11")

    assert done.status == 2
    assert "would not pair" in done.err
    assert "3 messages" in both.out
    assert "3 messages" in late.out
    assert log_bytes(root, "s") != before
    assert ids(root) == [0, 1, 2, 3, 4, 5, 6, 7, 11]


def test_what_did_not_pair_before_is_no_hindrance(root: Path) -> None:
    start("s", ask("go"), call("a"), ask("wait"), reply("ok"))

    ok("splice", "s", "3:")

    assert ids(root) == [0, 1, 2]


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("4",), 2),
        (("x:5",), 2),
        (("4:-1",), 2),
        (("5:4",), 2),
        (("4:4",), 2),
        (("4:99",), 3),
        (("99:",), 3),
    ],
)
def test_what_is_no_range_of_the_conversation_is_refused(
    root: Path, words: tuple[str, ...], status: int
) -> None:
    talk()
    before = log_bytes(root, "s")

    assert run("splice", "s", *words).status == status
    assert log_bytes(root, "s") == before


def test_what_is_no_message_is_refused(root: Path) -> None:
    talk()
    before = log_bytes(root, "s")

    done = run("splice", "s", "4:5", "--with", "-", stdin=b'{"role":"cook"}')

    assert done.status == 2
    assert log_bytes(root, "s") == before


def test_a_splice_in_json_names_what_went_and_came(root: Path) -> None:
    talk()

    told = ok("splice", "s", "4:5", "--with", "-", "--json", stdin=ask("x").raw).object

    assert (told["gone"], told["put"], told["changed"]) == ([4], [6], [])
    assert told["first_n"] == told["last_n"] == 7


# -- restore ----------------------------------------------------------------


def test_a_restored_conversation_is_what_it_was_ids_and_times_too(root: Path) -> None:
    talk()
    before = entries(root, "s")
    ok("compact", "s", "--summary-file", "-", stdin=b"short")
    add("s", ask("more"))

    done = ok("restore", "s", "before-compaction")

    assert entries(root, "s") == before
    assert asides(root, "s", "compacted") == []
    assert "5 messages put" in done.out


def test_a_compaction_stands_again_where_it_is_restored(root: Path) -> None:
    talk()
    ok("compact", "s", "--summary-file", "-", stdin=b"short")
    compacted = entries(root, "s")
    ok("undo", "s")

    ok("restore", "s", "9")

    assert entries(root, "s") == compacted
    assert len(asides(root, "s", "compacted")) == 1


@pytest.mark.parametrize(("place", "left"), [("m3", 3), ("~1", 5), ("start", 0), ("4", 3)])
def test_any_place_is_restored(root: Path, place: str, left: int) -> None:
    talk()
    before = entries(root, "s")

    ok("restore", "s", place)

    assert entries(root, "s") == before[:left]


def test_now_is_nothing_to_restore(root: Path) -> None:
    talk()
    before = log_bytes(root, "s")

    done = ok("restore", "s", "now")

    assert "nothing to change" in done.out
    assert log_bytes(root, "s") == before


def test_a_place_that_is_not_there_is_not_restored(root: Path) -> None:
    talk()

    assert run("restore", "s", "m77").status == 3
    assert run("restore", "s", "before-compaction").status == 3


def test_a_dry_run_of_a_restore_changes_nothing(root: Path) -> None:
    talk()
    before = log_bytes(root, "s")

    told = ok("restore", "s", "m2", "--dry-run", "--json").object

    assert told["gone"] == [2, 3, 4, 5]
    assert told["first_n"] is None
    assert log_bytes(root, "s") == before


# -- clear ---------------------------------------------------------------------


def test_old_outputs_are_cleared_and_the_tokens_told(root: Path) -> None:
    talk()

    done = ok("clear", "s", "--keep", "0")

    assert "1 output of" in done.out
    assert "cleared" in conversation(root, "s").messages[2].raw.decode()
    assert ids(root) == [0, 1, 2, 3, 4, 5]


def test_where_nothing_is_old_nothing_is_cleared(root: Path) -> None:
    talk()
    before = log_bytes(root, "s")

    first = ok("clear", "s")
    second = ok("clear", "s", "--keep", "0", "--keep-under", "5000", "--json").object

    assert "nothing to clear" in first.out
    assert second["results"] == 0
    assert log_bytes(root, "s") == before


def test_a_dry_run_of_a_clearing_changes_nothing(root: Path) -> None:
    talk()
    before = log_bytes(root, "s")

    told = ok("clear", "s", "--keep", "0", "--dry-run", "--json").object

    assert told["results"] == 1
    assert told["messages"] == [2]
    assert told["tokens_after"] < told["tokens_before"]
    assert log_bytes(root, "s") == before
