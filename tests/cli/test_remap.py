"""`agentmem remap`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem_cli.session.codec import dumps
from tests.cli.running import (
    header,
    join,
    message,
    ok,
    pushed,
    record,
    run,
    said,
    tree,
    write,
    write_meta,
)

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import Object

OLD = "/home/u/proj"
MOVE = f"{OLD}=/srv/proj"


def call(**arguments: str) -> Object:
    part: Object = {
        "type": "toolcall",
        "id": "c1",
        "function": {"name": "sh", "arguments": {**arguments}},
    }
    return {**message("assistant", f"I look at {OLD}/a."), "content": [part]}


def result(text: str) -> Object:
    part: Object = {"type": "toolresult", "call": "c1", "name": "sh", "content": text}
    return {"role": "user", "content": [part]}


def session(root: Path, name: str, cwd: str = OLD) -> Path:
    """A session with the folder in every kind of place, and a sibling's beside it."""
    lines = [
        header(),
        record(1, "state", key="agentmem.cwd", value=cwd),
        said(2, f"See {OLD}/a and {OLD}-docker/b"),
        pushed(3, call(command=f"ls {cwd} {cwd}-docker", path=f"{cwd}/x")),
        pushed(4, result(f"{OLD}/a")),
    ]
    log = write(root, name, "main", join(lines))
    write_meta(root, name, dumps({"listed": {"cwd": cwd}}))
    return log


def projects(folder: str) -> list[str]:
    return [each["id"] for each in ok("list", "--json", "--project", folder).objects]


def test_whole_parts_change_and_a_sibling_stays(root: Path) -> None:
    session(root, "one")
    session(root, "sibling", f"{OLD}-docker")

    done = ok("remap", MOVE, "--all", "--yes", "--json", "--force")

    logs = {name: (root / name / "logs/main.jsonl").read_bytes() for name in ("one", "sibling")}
    assert [each["by_place"] for each in done.objects] == [
        {"tool_argument": 2, "working_folder": 2},
        {},
    ]
    assert b'"value":"/srv/proj"' in logs["one"]
    assert b'"command":"ls /srv/proj /home/u/proj-docker","path":"/srv/proj/x"' in logs["one"]
    assert b"/srv/proj" not in logs["sibling"]


def test_texts_and_outputs_are_left_unless_asked_for(root: Path) -> None:
    log = session(root, "one")
    ok("remap", MOVE, "one", "--yes", "--force")
    before = log.read_bytes()

    ok("remap", MOVE, "one", "--yes", "--everywhere", "--force")

    assert b"See /home/u/proj/a" in before
    assert b"See /srv/proj/a and /home/u/proj-docker/b" in log.read_bytes()
    assert b'"content":"/srv/proj/a"' in log.read_bytes()


def test_list_finds_the_session_under_its_new_folder(root: Path) -> None:
    session(root, "one")
    ok("remap", MOVE, "one", "--yes", "--force")

    assert projects(OLD) == []
    assert projects("/srv/proj") == ["one"]


def test_a_dry_run_counts_the_same_and_changes_nothing(root: Path) -> None:
    session(root, "one")
    before = tree(root)
    dry = ok("remap", MOVE, "one", "--dry-run", "--json").object
    after = tree(root)

    done = ok("remap", MOVE, "one", "--yes", "--json", "--force").object

    assert after == before
    assert dry["dry_run"]
    assert not done["dry_run"]
    assert [dry[key] for key in ("records", "strings", "by_place")] == [
        done[key] for key in ("records", "strings", "by_place")
    ]


def test_a_second_run_changes_nothing(root: Path) -> None:
    session(root, "one")
    ok("remap", MOVE, "one", "--yes", "--force")
    before = tree(root)

    done = ok("remap", MOVE, "one", "--yes", "--json").object

    assert not done["changed"]
    assert tree(root) == before


def test_stamps_stay_and_the_session_reads(root: Path) -> None:
    session(root, "one")
    before = [each["n"] for each in ok("log", "one", "--all", "--json").objects[1:]]

    ok("remap", MOVE, "one", "--yes", "--everywhere", "--force")

    assert [each["n"] for each in ok("log", "one", "--all", "--json").objects[1:]] == before
    assert ok("verify", "one", "--json").object["problems"] == 0


def test_every_agent_is_remapped(root: Path) -> None:
    session(root, "one")
    lines = [header("aide", n=9), record(1, "state", n=10, key="agentmem.cwd", value=f"{OLD}/sub")]
    log = write(root, "one", "aide", join(lines))

    ok("remap", MOVE, "one", "--yes", "--force")

    assert b'"value":"/srv/proj/sub"' in log.read_bytes()


def test_arguments_that_are_json_in_a_text_are_remapped_in_it(root: Path) -> None:
    part: Object = {
        "type": "toolcall",
        "id": "c1",
        "function": {"name": "sh", "arguments": {}},
        "arguments_text": '{"cwd":  "/home/u/caf\\u00e9/x"}',
    }
    value: Object = {"role": "assistant", "content": [part]}
    log = write(root, "one", "main", join([header(), pushed(1, value)]))

    ok("remap", "/home/u/caf\u00e9=/srv/c", "one", "--yes", "--force")

    assert rb'"arguments_text":"{\"cwd\":  \"/srv/c/x\"}"' in log.read_bytes()


def test_paths_of_windows_are_remapped(root: Path) -> None:
    log = session(root, "one", "C:\\Users\\U\\proj")

    ok("remap", "c:\\users\\u\\proj=D:\\p", "one", "--yes", "--force")

    assert rb'"value":"D:\\p"' in log.read_bytes()
    assert rb'"path":"D:\\p/x"' in log.read_bytes() or rb"D:\\p\\x" in log.read_bytes()


def test_nobody_to_ask_needs_yes_before_any_work(root: Path) -> None:
    session(root, "one")

    done = run("remap", MOVE, "one", "--json")

    assert done.status == 2
    assert "--yes" in done.error["message"]


def test_a_session_that_another_program_just_wrote_is_refused(root: Path) -> None:
    session(root, "one")
    before = tree(root)

    done = run("remap", MOVE, "one", "--yes")

    assert done.status == 4
    assert "another program" in done.err
    assert {n: v for n, v in tree(root).items() if n.endswith("jsonl")} == {
        n: v for n, v in before.items() if n.endswith("jsonl")
    }


def test_one_damaged_session_of_several_does_not_stop_the_others(root: Path) -> None:
    write(root, "bad", "main", join([header(), b"junk", said(2, "x")]) + said(3, OLD) + b"\n")
    session(root, "good")

    done = run("remap", MOVE, "--all", "--yes", "--everywhere", "--json", "--force")

    first, second = done.objects
    assert done.status == 5
    assert (first["schema"], first["session"]) == ("agentmem.failed/1", "bad")
    assert (second["session"], second["changed"]) == ("good", True)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("one",), "no OLD=NEW"),
        ((MOVE,), "no session is named"),
        ((MOVE, "one", "--all"), "sessions are named"),
        ((MOVE, "one", "--since", "1d"), "--all is not given"),
        (("a=b", "one"), "absolute"),
        ((MOVE, "one", "--damaged", "drop"), "--damaged"),
        ((MOVE, "one", "--if-idle", "soon"), "no length of time"),
    ],
)
def test_words_that_do_not_fit_are_refused(root: Path, words: tuple[str, ...], told: str) -> None:
    session(root, "one")

    done = run("remap", *words, "--yes")

    assert done.status == 2
    assert told in done.err


def test_filters_choose_the_sessions(root: Path) -> None:
    for name in ("one", "two"):
        session(root, name)
    session(root, "away", "/elsewhere")

    done = ok("remap", MOVE, "--all", "--project", OLD, "--yes", "--json", "--force")

    assert [each["session"] for each in done.objects] == ["one", "two"]


def test_a_damaged_log_is_mapped_as_text_when_asked(root: Path) -> None:
    lines = join([header(), said(1, OLD)]) + b'{"broken": "' + OLD.encode() + b'"\n'
    log = write(root, "one", "main", lines + said(2, "x") + b"\n")
    refused = run("remap", MOVE, "one", "--yes", "--everywhere", "--force")

    ok("remap", MOVE, "one", "--yes", "--everywhere", "--damaged", "as-text", "--force")

    assert refused.status == 5
    assert OLD.encode() not in log.read_bytes()
