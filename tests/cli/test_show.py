"""`show`: conversations as text, markdown and JSON, windows, folding, what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem_cli.errors import Busy
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
    texts,
    tree,
    turns,
    write,
)

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.storage.directory import DirStore


def _call(id_: str, name: str, **arguments: JSON) -> Object:
    function: Object = {"name": name, "arguments": {**arguments}}
    part: Object = {"type": "toolcall", "id": id_, "function": function}
    return {"role": "assistant", "content": [part]}


def _result(call: str, *parts: Object, **more: JSON) -> Object:
    part: Object = {"type": "toolresult", "call": call, "name": "bash", "content": [*parts]}
    return {"role": "user", "content": [{**part, **more}]}


def _text(text: str) -> Object:
    return {"type": "text", "text": text}


def _write(root: Path, *messages: Object) -> None:
    lines = [header(), *(pushed(seq, value) for seq, value in enumerate(messages, 1))]
    write(root, "one", "main", join(lines))


def test_a_conversation_is_shown_with_numbers_roles_and_times(root: Path) -> None:
    write(root, "one", "main", join(turns(2)))

    done = ok("show", "one")

    assert done.out == (
        "#0 user 2026-01-01 00:00:01 UTC\n"
        "    text 1\n\n"
        "#1 assistant 2026-01-01 00:00:02 UTC\n"
        "    text 2\n\n"
    )
    assert done.err == ""


def test_times_carry_the_zone_that_they_are_in(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    write(root, "one", "main", join(turns(1)))

    assert "2026-01-01 09:00:01 +09:00" in ok("show", "one").out
    assert "2026-01-01 00:00:01 UTC" in ok("--utc", "show", "one").out


def test_json_begins_with_the_facts_and_goes_on_with_a_message_a_line(root: Path) -> None:
    write(root, "one", "main", join(turns(2)))

    head, first, second = ok("show", "one", "--json").objects

    assert head == {
        "schema": "agentmem.show/1",
        "session": "one",
        "agent": "main",
        "place": "now",
        "n": 3,
        "messages": 2,
        "records": 3,
        "damaged": [],
        "shown": 2,
    }
    assert first == {
        "schema": "agentmem.message/1",
        "id": 0,
        "index": 0,
        "role": "user",
        "author": None,
        "made": "2026-01-01T00:00:01.000Z",
        "error": None,
        "unanswered": [],
        "message": message("user", "text 1"),
    }
    assert second["role"] == "assistant"
    assert ok("show", "one", "--format", "json").stdout == ok("show", "one", "--json").stdout


def test_tool_calls_and_results_are_folded_unless_they_are_asked_for(root: Path) -> None:
    lines = "\n".join(f"line {number}" for number in range(20))
    _write(root, _call("c1", "bash", command="ls"), _result("c1", _text(lines)))

    folded = ok("show", "one").out
    whole = ok("show", "one", "--full").out

    assert '-> bash {"command":"ls"}' in folded
    assert "<- bash" in folded
    assert "line 3" in folded
    assert "line 4" not in folded
    assert "16 more lines (--full prints them)" in folded
    assert all(f"       line {number}\n" in whole for number in range(20))


def test_calls_without_a_result_and_results_without_a_call_are_marked(root: Path) -> None:
    _write(root, _call("c1", "bash"), _result("c2", _text("lost"), is_error=True))

    done = ok("show", "one")

    assert "(no result)" in done.out
    assert "<- bash (error, no call)" in done.out
    assert ok("show", "one", "--json").objects[1]["unanswered"] == ["c1"]


def test_an_answered_call_outside_the_window_is_not_marked(root: Path) -> None:
    _write(root, _call("c1", "bash"), _result("c1", _text("fine")))

    assert "(no result)" not in ok("show", "one", "--to", "0").out
    assert "no call" not in ok("show", "one", "--from", "1").out


def test_an_image_is_a_line_with_its_type_and_size(root: Path) -> None:
    inline: Object = {"type": "base64", "value": "aGVsbG8="}
    gone: Object = {"type": "url", "value": f"blob:{'0' * 64}.png"}
    parts: list[JSON] = [
        {"type": "image", "media_type": "png", "data": inline},
        {"type": "image", "media_type": "png", "data": gone},
    ]
    _write(root, {"role": "user", "content": parts})

    done = ok("show", "one")

    assert "[image/png, 5 B]" in done.out
    assert "[image/png, missing]" in done.out
    assert "aGVsbG8=" not in done.out


def test_unknown_roles_and_parts_are_shown_by_their_own_names(root: Path) -> None:
    _write(root, {"role": "oracle", "content": [{"type": "vision", "seen": "fog"}]})

    done = ok("show", "one")

    assert "#0 oracle" in done.out
    assert '[vision] {"type":"vision","seen":"fog"}' in done.out


@pytest.mark.parametrize(
    "failed",
    [
        {"stop": "error", "errorMessage": "429 rate\nlimited"},
        {"stop": {"kind": "error", "message": "429 rate\nlimited"}},
    ],
)
def test_a_reply_that_ended_in_an_error_says_which(root: Path, failed: Object) -> None:
    _write(root, {"role": "assistant", "content": [], **failed})

    assert "[error]" in ok("show", "one").out
    assert "    error: 429 rate\n    limited\n" in ok("show", "one").out
    assert "429 rate\nlimited" in ok("show", "one", "--format", "markdown").out
    assert ok("show", "one", "--json").objects[1]["error"] == "429 rate\nlimited"


def test_an_errors_text_drives_no_terminal(root: Path) -> None:
    value: Object = {"role": "assistant", "content": [], "errorMessage": "\x1b[2Jgone"}
    _write(root, value)

    assert "\x1b" not in ok("show", "one").out
    assert "␛[2Jgone" in ok("show", "one").out


def test_a_window_is_by_message_numbers(root: Path) -> None:
    write(root, "one", "main", join(turns(9)))

    def shown(*words: str) -> list[str]:
        return texts(ok("show", "one", "--json", *words).objects)

    assert shown("--from", "7") == ["text 8", "text 9"]
    assert shown("--from", "m7") == ["text 8", "text 9"]
    assert shown("--from", "one:main:7") == ["text 8", "text 9"]
    assert shown("--to", "1") == ["text 1", "text 2"]
    assert shown("--from", "3", "--to", "4") == ["text 4", "text 5"]
    assert shown("--last", "2") == ["text 8", "text 9"]
    assert shown("--to", "4", "--last", "1") == ["text 5"]
    assert shown("--last", "0") == []
    assert run("show", "one", "--json", "--from", "99").status == 3
    assert "2 of 9 messages" in ok("show", "one", "--last", "2").err


@pytest.mark.parametrize(
    "words", [("--from", "x"), ("--to", "-1"), ("--last", "-1"), ("--from", "")]
)
def test_a_bad_window_is_a_mistake_of_the_call(root: Path, words: tuple[str, str]) -> None:
    write(root, "one", "main", join(turns(1)))

    assert run("show", "one", *words).status == 2


def test_an_unknown_format_names_those_there_are(root: Path) -> None:
    write(root, "one", "main", join(turns(1)))

    done = run("show", "one", "--format", "pdf")

    assert done.status == 2
    assert "text, markdown, json" in done.err


def test_side_records_stand_where_they_belong_when_asked_for(root: Path) -> None:
    lines = turns(2)
    aside: Object = {"kind": "note", "author": {"kind": "rig"}, "after": 0, "value": {"k": 1}}
    lines.append(record(3, "aside", id=0, aside=aside))
    write(root, "one", "main", join(lines))

    assert "aside" not in ok("show", "one").out
    out = ok("show", "one", "--asides").out
    assert out.index("text 1") < out.index('[aside 0 note] {"k":1}') < out.index("text 2")
    shown = ok("show", "one", "--asides", "--json").objects
    assert [value["schema"] for value in shown] == [
        "agentmem.show/1",
        "agentmem.message/1",
        "agentmem.aside/1",
        "agentmem.message/1",
    ]
    assert shown[2]["aside"] == aside


def test_markdown_fences_what_tools_said(root: Path) -> None:
    _write(root, _call("c1", "bash", command="ls"), _result("c1", _text("```\nfenced\n```")))

    out = ok("show", "one", "--format", "markdown").out

    assert out.startswith("## 0 assistant - 2026-01-01 00:00:01 UTC\n")
    assert "**Call** `bash`" in out
    assert "````\n```\nfenced\n```\n````\n" in out


def test_a_session_is_found_by_name_beginning_path_or_as_the_last(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, "alpha-1", "main", join(turns(1)))
    path = write(root, "beta-2", "main", join(turns(2)))
    import os

    os.utime(path, ns=(10**19, 10**19))

    def named(words: str) -> str:
        found = ok("show", words, "--json").objects[0]["session"]
        assert isinstance(found, str)
        return found

    assert named("alpha-1") == "alpha-1"
    assert named("al") == "alpha-1"
    assert named("@last") == "beta-2"
    assert named(str(root / "alpha-1")) == "alpha-1"
    assert named(str(root / "alpha-1") + "/") == "alpha-1"
    monkeypatch.chdir(root)
    assert named("./beta-2") == "beta-2"
    monkeypatch.setenv("AGENTMEM_ROOT", str(root / "elsewhere"))
    assert named("beta-2") == str(root / "beta-2")
    assert named(str(root / "beta-2")) == str(root / "beta-2")


def test_an_ambiguous_beginning_lists_the_candidates(root: Path) -> None:
    for name in ("tide-1", "tide-2", "moon"):
        write(root, name, "main", join(turns(1)))

    done = run("show", "tide")
    as_json = run("show", "tide", "--json")

    assert done.status == 3
    assert "  tide-1\n  tide-2\n" in done.err
    assert as_json.error["candidates"] == ["tide-1", "tide-2"]
    assert as_json.error["exit_code"] == 3
    assert as_json.stdout == b""


def test_a_name_that_another_begins_with_is_still_its_own(root: Path) -> None:
    write(root, "tide", "main", join(turns(1)))
    write(root, "tide-2", "main", join(turns(2)))

    assert ok("show", "tide", "--json").objects[0]["session"] == "tide"


def test_an_unknown_name_suggests_one_that_is_near(root: Path) -> None:
    write(root, "tides", "main", join(turns(1)))

    done = run("show", "tidse")

    assert done.status == 3
    assert "Did you mean tides?" in done.err


def test_an_agent_is_found_by_its_id_or_its_beginning(root: Path) -> None:
    write(root, "one", "boss", join([header("boss"), said(1, "boss")]))
    write(root, "one", "scout-a", join([header("scout-a", n=2, parent="boss"), said(1, "a", n=3)]))
    write(root, "one", "scout-b", join([header("scout-b", n=4, parent="boss"), said(1, "b", n=5)]))

    assert texts(ok("show", "one", "--json").objects) == ["boss"]
    assert texts(ok("show", "one", "--json", "--agent", "scout-b").objects) == ["b"]
    assert texts(ok("show", "one", "--json", "--agent", "bo").objects) == ["boss"]
    ambiguous = run("show", "one", "--agent", "scout")
    assert ambiguous.status == 3
    assert "  scout-a\n  scout-b\n" in ambiguous.err
    assert run("show", "one", "--agent", "nobody").status == 3
    assert run("show", "one", "--agent", "").status == 2


def test_the_current_agent_is_shown_where_the_session_names_one(root: Path) -> None:
    write(root, "one", "a", join([header("a"), said(1, "first")]))
    write(root, "one", "b", join([header("b", n=2), said(1, "second", n=3)]))
    current = record(1, "state", n=5, key="rig::current_agent", value="b")
    write(root, "one", "session", join([header("session", n=4), current]))

    assert texts(ok("show", "one", "--json").objects) == ["second"]


def test_a_session_without_an_agent_says_what_adds_one(root: Path) -> None:
    ok("new", "empty")

    done = run("show", "empty")

    assert done.status == 3
    assert "agentmem append" in done.err


def test_retired_agents_are_shown_by_name_only(root: Path) -> None:
    write(root, "one", "main", join([*turns(1), record(2, "retired")]))

    assert run("show", "one").status == 3
    assert "retired" in run("show", "one").err
    assert texts(ok("show", "one", "--agent", "main", "--json").objects) == ["text 1"]


def test_as_of_shows_an_earlier_place(root: Path) -> None:
    write(root, "one", "main", join(turns(4)))

    assert texts(ok("show", "one", "--as-of", "m2", "--json").objects) == ["text 1", "text 2"]


def test_an_older_layout_is_refused_and_untouched(root: Path) -> None:
    folder = root / "ancient"
    folder.mkdir(parents=True)
    (folder / "main.jsonl").write_bytes(join(turns(1)))
    before = tree(root)

    done = run("show", "ancient", "--json")

    assert done.status == 2
    assert done.error["kind"] == "old_layout"
    assert tree(root) == before


def test_another_format_is_shown_with_a_warning(root: Path) -> None:
    write(root, "one", "main", join([header(format="rig-session/9"), said(1, "future")]))

    done = ok("show", "one")

    assert "future" in done.out
    assert "rig-session/9" in done.err


def test_showing_changes_nothing(root: Path) -> None:
    write(root, "one", "main", join(turns(3)) + b'{"seq":4')
    before = tree(root)

    for words in (("show", "one"), ("show", "one", "--json"), ("show", "one", "--full")):
        ok(*words)

    assert tree(root) == before


def test_a_store_that_others_may_read_is_warned_about_once(root: Path) -> None:
    path = write(root, "one", "main", join(turns(1)))
    for place in (path, path.parent, path.parent.parent):
        place.chmod(0o755)

    done = ok("show", "one")

    assert done.err.count("other users") == 1
    assert "chmod -R go=" in done.err


def test_a_private_store_is_not_warned_about(root: Path) -> None:
    path = write(root, "one", "main", join(turns(1)))
    path.chmod(0o644)  # its folder keeps others out

    assert ok("show", "one").err == ""


def test_a_change_cut_short_that_cannot_be_finished_is_told_and_the_rest_is_shown(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(root, "one", "main", join(turns(1)))
    (root / "one" / ".agentmem.redo").write_text("x")

    def refuse(*_: object) -> DirStore:
        raise Busy(path, 0)

    monkeypatch.setattr("agentmem_cli.storage.trial_store.as_finished", refuse)
    before = tree(root)

    done = ok("show", "one")

    assert "text 1" in done.out
    assert "a change was cut short and cannot be finished now" in done.err
    assert tree(root) == before


def test_times_far_off_do_not_fail(root: Path) -> None:
    lines = [header(), said(1, "early", t=-(10**17)), said(2, "late", t=10**17)]
    write(root, "one", "main", join(lines))

    assert "early" in ok("show", "one").out
    made = [value["made"] for value in ok("show", "one", "--json").objects[1:]]
    assert made == ["@-100000000000000000", "@100000000000000000"]
    assert ok("list", "--json").object["messages"] == 2


def test_long_texts_and_many_messages_come_whole_through_a_pipe(root: Path) -> None:
    lines = [header(), *(said(seq, f"{seq} " + "x" * 3_000) for seq in range(1, 400))]
    write(root, "one", "main", join(lines))

    done = ok("show", "one")

    assert done.out.count("x" * 3_000) == 399


def test_markdown_closes_the_fence_that_a_text_left_open(root: Path) -> None:
    ok("new", "one")
    ok("append", "one", "--role", "user", stdin=b"look:\n```python\nprint(1)")
    ok("append", "one", "--role", "user", stdin=b"next")

    lines = ok("show", "one", "--format", "markdown").out.splitlines()

    assert lines[lines.index("print(1)") + 1] == "```"
    assert any(line.startswith("## 1 user") for line in lines)


def test_a_backtick_in_a_tools_name_does_not_end_its_code_span(root: Path) -> None:
    function: Object = {"name": "a`b", "arguments": {}}
    call: Object = {"type": "toolcall", "id": "c", "function": function}
    ok("new", "one")
    ok("append", "one", stdin=dumps({"role": "assistant", "content": [call]}))

    assert "**Call** `` a`b ``" in ok("show", "one", "--format", "markdown").out


@pytest.mark.parametrize("repaired", [False, True])
def test_a_session_whose_log_is_lost_is_not_called_new(root: Path, repaired: bool) -> None:
    path = write(root, "one", "main", join(turns(2)))
    ok("append", "one", "--role", "user", stdin=b"more")
    path.unlink()
    if repaired:
        run("repair", "one", "--force")

    done = run("show", "one")

    assert done.status == 3
    assert "no agent any more: 'main' lost its log" in done.err
