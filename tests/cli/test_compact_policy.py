"""What the fields of a policy, --if-over, --window and --focus do to a compaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem_cli.session.clearing import PLACEHOLDER
from agentmem_cli.session.codec import dumps
from tests.cli.running import ok, run
from tests.cli.talking import LONG, conversation, entries, log_bytes, start
from tests.talks import ask, call, reply, result

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import Object
    from tests.cli.running import Value

ROUNDS = 6


def talk() -> None:
    """Six rounds of some 600 tokens each, most of it the output of a tool."""
    messages = [ask("Build a boat.")]
    for number in range(ROUNDS):
        path = f"part_{number}.py"
        messages += [
            ask(f"Go on with part {number} of the boat, please, as we said."),
            call(f"r{number}", path=path),
            result(f"r{number}", LONG),
            reply(f"The keel of part {number} must not be of pine, since that rots."),
        ]
    start("s", *messages)


def compact(*words: str, policy: Object | None = None, tmp: Path | None = None) -> Value:
    if policy is not None:
        assert tmp is not None
        (tmp / "p.json").write_bytes(dumps(policy))
        words = (*words, "--policy", str(tmp / "p.json"))
    return ok("compact", "s", "--json", *words).object


def noted(root: Path) -> int:
    """How many outputs of the conversation are cleared."""
    return sum(PLACEHOLDER.encode() in each.raw for each in conversation(root, "s").messages)


def test_without_a_word_of_it_a_policy_keeps_track_of_files(root: Path, tmp_path: Path) -> None:
    talk()

    told = compact("--dry-run", policy={"keep_asked": 10}, tmp=tmp_path)
    none = compact("--dry-run", policy={"tracked": []}, tmp=tmp_path)

    sets = {each["name"]: len(each["values"]) for each in told["tracked"]}
    assert sets == {"read-files": ROUNDS, "changed-files": 0}
    assert none["tracked"] == []


def test_keep_asked_keeps_as_much_as_keep_does(root: Path, tmp_path: Path) -> None:
    talk()

    one = compact("--dry-run", policy={"keep_asked": 1_200}, tmp=tmp_path)
    other = compact("--dry-run", "--keep", "1200")

    assert one["kept"] == other["kept"] > 1


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ({"limits": {"snippet_chars": 20}}, "2180 characters cut"),
        ({"limits": {"unknown_window_chars": 4_000}}, "messages between were left out"),
        ({"prompts": {"initial": "Sum it up as a poem."}}, "Sum it up as a poem."),
        ({"prompts": {"format": "Four lines."}}, "Four lines."),
    ],
)
def test_limits_and_prompts_are_of_the_request(
    root: Path, tmp_path: Path, policy: Object, told: str
) -> None:
    talk()

    plain = compact("--plan")["request"]["message"]["content"][0]["text"]
    asked = compact("--plan", policy=policy, tmp=tmp_path)["request"]["message"]

    assert told not in plain
    assert told in asked["content"][0]["text"]


def test_the_system_prompt_and_the_bound_are_those_of_the_policy(
    root: Path, tmp_path: Path
) -> None:
    talk()
    policy: Object = {"prompts": {"system": "You are brief."}, "limits": {"summary_tokens": 77}}

    asked = compact("--plan", policy=policy, tmp=tmp_path)["request"]

    assert asked["system"] == "You are brief."
    assert asked["max_tokens"] == 77


def test_summary_tokens_bound_the_embedded_summary(root: Path, tmp_path: Path) -> None:
    talk()

    whole = compact("--dry-run")["summary"]
    small = compact("--dry-run", policy={"limits": {"summary_tokens": 60}}, tmp=tmp_path)["summary"]

    assert len(small) <= 240 < len(whole)


def test_if_over_does_nothing_while_the_reserve_is_free(root: Path, tmp_path: Path) -> None:
    talk()
    before = log_bytes(root, "s")
    tokens = compact("--dry-run")["tokens_before"]

    told = compact("--if-over", "--window", str(tokens + 16_384))
    held = compact(
        "--if-over",
        *("--window", str(tokens + 100)),
        policy={"limits": {"reserve": 100}},
        tmp=tmp_path,
    )

    assert told["compacted"] is False
    assert "16,384 tokens and more" in told["why_not"]
    assert held["compacted"] is False
    assert log_bytes(root, "s") == before


def test_if_over_keeps_the_recent_messages_that_the_policy_names(
    root: Path, tmp_path: Path
) -> None:
    talk()
    words = ("--if-over", "--window", "16500", "--dry-run")

    few = compact(*words, policy={"keep_recent": 700}, tmp=tmp_path)
    more = compact(*words, policy={"keep_recent": 1_900}, tmp=tmp_path)
    all_ = compact(*words, policy={"keep_recent": 4_000}, tmp=tmp_path)

    assert few["compacted"] is more["compacted"] is True
    assert 1 < few["kept"] < more["kept"]
    assert all_["compacted"] is False


def test_near_the_window_old_outputs_are_cleared_first_where_the_policy_says_so(
    root: Path, tmp_path: Path
) -> None:
    talk()
    policy: Object = {
        "near_window": "clear",
        "clearing": {"keep_tokens": 600, "keep_under": 50},
        "limits": {"reserve": 100},
    }

    told = compact("--if-over", "--window", "2500", policy=policy, tmp=tmp_path)

    assert told["compacted"] is False
    assert told["cleared"] == ROUNDS - 1
    assert told["tokens_after"] < 2_400 < told["tokens_before"]
    assert noted(root) == ROUNDS - 1


def test_where_clearing_is_not_enough_a_summary_follows_and_both_are_undone_one_by_one(
    root: Path, tmp_path: Path
) -> None:
    talk()
    before = entries(root, "s")
    policy: Object = {
        "near_window": "clear",
        "clearing": {"keep_tokens": 0, "keep_under": 50},
        "keep_recent": 50,
        "limits": {"reserve": 100},
    }
    path = tmp_path / "p.json"
    path.write_bytes(dumps(policy))

    done = ok("compact", "s", "--if-over", "--window", "500", "--policy", str(path))

    assert f"{ROUNDS} outputs of" in done.out
    assert "cleared first" in done.out
    assert "messages went" in done.out
    assert len(entries(root, "s")) < len(before)
    ok("undo", "s")
    assert [id_ for id_, _, _ in entries(root, "s")] == [id_ for id_, _, _ in before]
    assert noted(root) == ROUNDS
    ok("undo", "s")
    assert entries(root, "s") == before


def test_fields_that_count_near_the_window_only_are_named(root: Path, tmp_path: Path) -> None:
    talk()
    (tmp_path / "p.json").write_bytes(dumps({"keep_recent": 5, "near_window": "clear"}))

    done = ok("compact", "s", "--dry-run", "--policy", str(tmp_path / "p.json"))

    assert "keep_recent and near_window count with --if-over only" in done.err


def test_if_over_needs_a_window(root: Path) -> None:
    talk()

    done = run("compact", "s", "--if-over")

    assert done.status == 2
    assert "--window" in done.err


def test_what_does_not_fit_the_window_all_the_same_is_told(root: Path) -> None:
    start("s", ask("go"), call("a"), result("a", LONG), reply("yes"), ask("look: " + LONG))

    done = ok("compact", "s", "--window", "100")

    assert "do not fit a window of 100" in done.err


def test_what_concerns_the_focus_has_a_section_and_outlives_the_next_compaction(root: Path) -> None:
    talk()

    plain = compact("--dry-run")["summary"]
    told = compact("--focus", "keel of pine, part 3")["summary"]
    ok("append", "s", stdin=ask("and now?").raw + b"\n" + reply(LONG).raw + b"\n" + ask("x").raw)
    later = compact("--dry-run")["summary"]

    line = "- The keel of part 3 must not be of pine, since that rots."
    assert "## What concerns the focus" not in plain
    for text in (told, later):
        section = text.partition("## What concerns the focus\n")[2].partition("\n##")[0]
        assert line in section.splitlines()


def test_a_focus_beside_a_summary_that_is_written_already_is_refused(root: Path) -> None:
    talk()

    done = run("compact", "s", "--summary-file", "-", "--focus", "the keel", stdin=b"short")

    assert done.status == 2
    assert "--focus" in done.err


def test_a_byte_order_mark_is_no_part_of_a_summary(root: Path) -> None:
    talk()

    told = ok("compact", "s", "--summary-file", "-", "--json", stdin=b"\xef\xbb\xbfshort").object

    assert told["summary"] == "short"
