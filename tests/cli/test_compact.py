from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.session.pairing import validate
from agentmem_cli.session.summaries import summary_author
from tests.cli.running import ok, run
from tests.cli.talking import LONG, add, asides, conversation, entries, log_bytes, start
from tests.talks import ask, call, reply, result

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.running import Value


def talk(name: str = "s") -> None:
    start(
        name,
        ask("build a boat, with a keel of oak"),
        call("a", path="hull.py"),
        result("a", LONG),
        reply("The root cause is that the keel was of pine. I changed it."),
        ask("now paint it, blue, and nothing else"),
        call("b", tool="edit", path="paint.py"),
        result("b", LONG),
        reply("Painted."),
    )


def test_the_embedded_summary_stands_before_the_newest_message(root: Path) -> None:
    talk()

    done = ok("compact", "s")

    summary, last = conversation(root, "s").entries
    assert summary.author == summary_author()
    assert last.message == reply("Painted.")
    assert "7 messages went, 1 kept" in done.out
    text = summary.message.parts[0]["text"]
    assert isinstance(text, str)
    assert "build a boat, with a keel of oak" in text
    assert "root cause is that the keel was of pine" in text
    assert "<read-files>\nhull.py\n</read-files>" in text
    assert "<changed-files>\npaint.py\n</changed-files>" in text


def test_the_newest_request_stands_word_for_word_at_the_end(root: Path) -> None:
    talk()

    ok("compact", "s")

    last = conversation(root, "s").messages[0].parts[-1]
    assert last == {"type": "text", "text": "now paint it, blue, and nothing else"}


def test_it_tells_the_tokens_before_and_after_by_one_estimator(root: Path) -> None:
    from agentmem_cli.session.counting import estimate_tokens

    talk()
    before = estimate_tokens(conversation(root, "s").messages)

    told = ok("compact", "s", "--json").object

    assert told["tokens_before"] == before
    assert told["tokens_after"] == estimate_tokens(conversation(root, "s").messages)
    assert told["tokens_after"] < before
    assert told["replaced"] == [0, 1, 2, 3, 4, 5, 6]


def test_a_summary_file_is_used_as_it_is(root: Path, tmp_path: Path) -> None:
    talk()
    (tmp_path / "s.md").write_text("They built it.\n")

    ok("compact", "s", "--summary-file", tmp_path / "s.md")
    first = conversation(root, "s").messages[0].text
    add("s", ask("more " * 300), reply("and " * 300))
    ok("compact", "s", "--summary-file", "-", stdin=b"And more.")

    assert "<summary>\nThey built it.\n</summary>" in first
    assert "<summary>\nAnd more.\n</summary>" in conversation(root, "s").messages[0].text
    assert "hull.py" in conversation(root, "s").messages[0].text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no text"),
        (" \n ", "no text"),
        ("x" * 5_000, "takes"),
        ("x" * 100_000, "asked for"),
    ],
)
def test_a_summary_that_is_of_no_use_changes_not_a_byte(root: Path, text: str, told: str) -> None:
    talk()
    before = log_bytes(root, "s")

    done = run("compact", "s", "--summary-file", "-", stdin=text.encode())

    assert done.status == 2
    assert told in done.err
    assert log_bytes(root, "s") == before


def test_a_plan_is_the_request_and_changes_nothing(root: Path) -> None:
    talk()
    before = log_bytes(root, "s")

    told = ok("compact", "s", "--plan", "--focus", "the keel").object

    assert told["schema"] == "agentmem.compact-plan/1"
    assert told["keep_from"] == 7
    assert told["request"]["max_tokens"] == 12_000
    (part,) = told["request"]["message"]["content"]
    assert "User: build a boat" in part["text"]
    assert "the keel" in part["text"].rpartition("</record>")[2]
    assert log_bytes(root, "s") == before


def test_a_dry_run_shows_the_summary_and_changes_nothing(root: Path) -> None:
    talk()
    before = log_bytes(root, "s")

    done = ok("compact", "s", "--dry-run")

    assert "## First request" in done.out
    assert "7 messages would go" in done.out
    assert log_bytes(root, "s") == before


def test_keep_keeps_that_much_and_no_pair_is_parted(root: Path) -> None:
    talk()

    ok("compact", "s", "--keep", "100")

    kept = conversation(root, "s").messages[1:]
    assert kept[0] == call("b", tool="edit", path="paint.py")
    assert validate(kept) == []


def test_a_window_bounds_what_is_kept_and_what_is_asked(root: Path) -> None:
    talk()

    told = ok("compact", "s", "--plan", "--keep", "100000", "--window", "400").object

    assert told["keep_from"] is not None
    assert told["request"]["max_tokens"] == 100


def test_a_policy_says_what_is_kept_track_of(root: Path, tmp_path: Path) -> None:
    talk()
    policy = {"tracked": [{"tool": "edit", "argument": "path", "set": "painted"}]}
    (tmp_path / "p.json").write_text(json.dumps(policy))  # noqa: TID251 - a file of the test

    told = ok("compact", "s", "--policy", tmp_path / "p.json", "--json").object

    assert told["tracked"] == [{"name": "painted", "values": ["paint.py"]}]


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"keep":1}', '{"limits":{"reserve":-1}}', '{"limits":{"summary_tokens":0}}'],
)
def test_a_bad_policy_is_refused_by_its_name(root: Path, tmp_path: Path, text: str) -> None:
    talk()
    (tmp_path / "p.json").write_text(text)

    done = run("compact", "s", "--policy", tmp_path / "p.json")

    assert done.status == 2
    assert "p.json" in done.err


def test_where_nothing_can_go_that_is_said_and_nothing_is_written(root: Path) -> None:
    start("s", ask("hello"))
    before = log_bytes(root, "s")

    done = ok("compact", "s")
    told = ok("compact", "s", "--json").object

    assert "not compacted" in done.out
    assert told["compacted"] is False
    assert log_bytes(root, "s") == before


def test_a_conversation_too_small_to_gain_is_left_alone(root: Path) -> None:
    start("s", ask("hi"), reply("hello"))
    before = log_bytes(root, "s")

    done = ok("compact", "s")

    assert "not compacted, no summary within the limits is smaller" in done.out
    assert log_bytes(root, "s") == before


def test_compacting_again_and_again_comes_to_an_end(root: Path) -> None:
    talk()
    ok("compact", "s")
    before = log_bytes(root, "s")

    told = ok("compact", "s", "--json").object

    assert told["compacted"] is False
    assert log_bytes(root, "s") == before


def test_a_retired_agent_is_not_compacted(root: Path) -> None:
    from tests.cli.running import header, join, record, said, write

    lines = [header(), said(1, LONG), said(2, "x", "assistant"), record(3, "retired")]
    write(root, "s", "main", join(lines))

    done = run("compact", "s", "--agent", "main")

    assert done.status == 4
    assert "retired" in done.err


def test_a_damaged_log_is_not_compacted(root: Path) -> None:
    talk()
    path = root / "s" / "logs" / "main.jsonl"
    path.write_bytes(path.read_bytes().replace(b"root cause", b'root" cause'))

    assert run("compact", "s").status == 5


def test_a_torn_tail_is_set_aside_first(root: Path) -> None:
    talk()
    path = root / "s" / "logs" / "main.jsonl"
    with path.open("ab") as stream:
        stream.write(b'{"seq":9')

    done = ok("compact", "s")

    assert "8 torn bytes" in done.err
    assert len(conversation(root, "s")) == 2
    assert [path.read_bytes() for path in (root / "s/files/recovered").iterdir()] == [b'{"seq":9']


def test_the_meta_counts_what_stands(root: Path) -> None:
    talk()

    ok("compact", "s")

    assert ok("list", "--json").object["messages"] == 2


def test_two_sources_of_a_summary_are_one_too_many(root: Path) -> None:
    talk()

    assert run("compact", "s", "--summarizer", "cat", "--summary-file", "-").status == 2
    assert run("compact", "s", "--time-limit", "3").status == 2
    assert run("compact", "s", "--policy", "-", "--summary-file", "-").status == 2


def test_a_summary_of_a_summary_keeps_the_first_request_and_every_file(root: Path) -> None:
    talk()
    ok("compact", "s")
    add("s", ask("sail it " * 100), call("c", path="sail.py"), result("c", LONG), reply("Sailed."))

    ok("compact", "s")

    text = conversation(root, "s").messages[0].text
    assert "build a boat, with a keel of oak" in text
    assert "root cause is that the keel was of pine" in text
    assert "hull.py\nsail.py" in text
    assert len(asides(root, "s", "compacted")) == 2
    assert len(entries(root, "s")) == 2


def test_fifty_compactions_of_a_growing_session_stay_under_the_window_and_keep_every_file(
    root: Path,
) -> None:
    window = 9_000
    ok("new", "s")
    told: Value = {}
    for number in range(50):
        path = f"src/file_{number}.py"
        add(
            "s",
            ask(f"step {number}: change {path}. " + "Mind the keel. " * 20),
            call(f"r{number}", path=path),
            result(f"r{number}", LONG),
            call(f"e{number}", tool="edit", path=path),
            result(f"e{number}", LONG),
            reply(f"Step {number} is done, because the root cause was {number}. " * 5),
        )
        told = ok("compact", "s", "--window", str(window), "--json").object
        assert told["compacted"] is True
        assert told["tokens_after"] < window // 2

    tracked = {each["name"]: each["values"] for each in told["tracked"]}
    expected = sorted(f"src/file_{number}.py" for number in range(50))
    assert tracked == {"read-files": expected, "changed-files": expected}
    text = conversation(root, "s").messages[0].text
    assert "step 0: change src/file_0.py" in text
    assert conversation(root, "s").messages[0].parts[-1]["text"] == (
        "step 49: change src/file_49.py. " + "Mind the keel. " * 20
    )
