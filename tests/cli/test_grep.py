"""grep: the decoded text of messages, however a log spells it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem_cli.operations import candidates, searching
from agentmem_cli.session import fold
from agentmem_cli.session.codec import dumps
from tests.cli.running import (
    BASE_MS,
    SECOND_MS,
    header,
    join,
    message,
    ok,
    pushed,
    record,
    run,
    said,
    tree,
    turns,
    write,
    write_meta,
)
from tests.cli.terminal import in_process, on_terminal

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import JSON, Object

DRIVING = set("\x1b\x07\r\u202e\x9b\u200b")


def call(name: str, arguments: JSON) -> Object:
    function: Object = {"name": name, "arguments": arguments}
    return {
        "role": "assistant",
        "content": [{"type": "toolcall", "id": "c1", "function": function}],
    }


def spliced(seq: int, start: int, stop: int, *entries: Object) -> bytes:
    """The record of a splice of entries whose ids are their places."""
    fields: Object = {"from": start, "to": stop, "removed": [*range(start, stop)]}
    return record(seq, "splice", **{**fields, "with": [*entries]})  # type: ignore[arg-type]


def result(name: str, *content: Object) -> Object:
    part: Object = {"type": "toolresult", "call": "c1", "name": name, "content": [*content]}
    return {"role": "user", "content": [part]}


def text(words: str) -> Object:
    return {"type": "text", "text": words}


@pytest.fixture
def talk(root: Path) -> Path:
    """A session with words, a call and its result, of two agents."""
    lines = [
        header(),
        said(1, "find the needle"),
        pushed(2, call("bash", {"command": 'grep "needle" -r .\necho done'})),
        pushed(3, result("bash", text("a: needle\nb: hay\nc: needle\n"))),
        said(4, "There are two needles.", "assistant"),
    ]
    write(root, "one", "main", join(lines))
    aide = [header("aide", n=9, parent="main"), said(1, "no needle here", n=10)]
    return write(root, "one", "aide", join(aide))


@pytest.mark.usefixtures("talk")
def test_each_line_that_matches_has_its_address() -> None:
    done = ok("grep", "needle")

    assert done.out.splitlines() == [
        "one:aide:m0:no needle here",
        "one:main:m0:find the needle",
        'one:main:m1:grep "needle" -r .',
        "one:main:m2:a: needle",
        "one:main:m2:c: needle",
        "one:main:m3:There are two needles.",
    ]
    assert done.err.startswith("5 messages in 1 session; searched 1 session, ")
    assert done.err.endswith("agentmem show one --agent aide --from m0\n")


@pytest.mark.usefixtures("talk")
def test_show_takes_the_address_and_the_words_that_are_told() -> None:
    found = ok("grep", "two needles", "--json").object

    by_words = ok(*found["show"], "--json")
    by_address = ok("show", "one", "--agent", found["agent"], "--from", found["address"], "--json")

    assert by_words.objects[1]["id"] == found["id"] == 3
    assert by_address.stdout == by_words.stdout


@pytest.mark.usefixtures("talk")
def test_nothing_found_is_one() -> None:
    done = run("grep", "no such words")

    assert done.status == 1
    assert done.out == ""
    assert done.err.startswith("Nothing matches; searched 1 session, ")


@pytest.mark.usefixtures("talk")
@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["needle$"], [0, 2, 2]),
        (["NEEDLE"], []),
        (["-i", "TWO NEEDLES"], [3]),
        (["-F", "needle."], []),
        (["needle.", "--agent", "main"], [1, 3]),
        (["needle", "--agent", "ai"], [0]),
        (["needle", "--role", "user"], [0, 0]),
        (["needle", "--role", "assistant"], [1, 3]),
        (["needle", "--role", "tool"], [2, 2]),
        (["needle", "--role", "tool", "--role", "assistant"], [1, 2, 2, 3]),
        (["needle", "--tool", "bash"], [1, 2, 2]),
        (["needle", "--tool", "read"], []),
        (["bash"], [1]),
        (['"command":"grep'], [1]),
        (["-F", "needle\nb: hay"], [2, 2]),
    ],
)
def test_what_is_searched(words: list[str], found: list[int]) -> None:
    done = run("grep", *words, "--json")

    assert [one["id"] for one in done.objects] == found
    assert done.status == (0 if found else 1)


@pytest.mark.usefixtures("talk")
def test_json_has_everything_about_a_line() -> None:
    done = ok("grep", "hay", "-C", "1", "--json")

    assert done.object == {
        "schema": "agentmem.match/1",
        "session": "one",
        "agent": "main",
        "id": 2,
        "address": "one:main:m2",
        "show": ["show", "one", "--agent", "main", "--from", "m2"],
        "n": 3,
        "made": "2026-01-01T00:00:03.000Z",
        "role": "tool",
        "part": "result",
        "tool": "bash",
        "stands": True,
        "line": 2,
        "text": "b: hay",
        "before": ["a: needle"],
        "after": ["c: needle"],
    }
    assert done.err == ""


@pytest.mark.usefixtures("talk")
@pytest.mark.parametrize(
    ("option", "lines"),
    [
        ("-A", ["one:main:m2:b: hay", "one:main:m2-c: needle"]),
        ("-B", ["one:main:m2-a: needle", "one:main:m2:b: hay"]),
        ("-C", ["one:main:m2-a: needle", "one:main:m2:b: hay", "one:main:m2-c: needle"]),
    ],
)
def test_lines_around(option: str, lines: list[str]) -> None:
    assert ok("grep", "hay", option, "1").out.splitlines() == lines


def test_lines_around_that_do_not_follow_are_parted(root: Path) -> None:
    write(root, "one", "main", join([header(), said(1, "a\nx\nb\nc\nd\ne\nx"), said(2, "x")]))

    done = ok("grep", "x", "-B1")

    told = [line.partition("m")[2].partition("m")[2] for line in done.out.splitlines()]
    assert told == ["0-a", "0:x", "", "0-e", "0:x", "", "1:x"]


@pytest.mark.usefixtures("talk")
def test_counts_and_names_are_by_session(root: Path) -> None:
    write(root, "two", "main", join(turns(3)))
    write(root, "three", "main", join([header(), said(1, "needle")]))

    assert ok("grep", "-c", "needle").out == "one:5\nthree:1\n"
    assert ok("grep", "-l", "needle").out == "one\nthree\n"
    assert ok("grep", "-c", "needle", "--json", "one").object == {
        "schema": "agentmem.match-count/1",
        "session": "one",
        "messages": 5,
    }
    assert ok("grep", "-l", "needle", "--json", "one").object["messages"] is None
    assert run("grep", "-c", "needle", "two").status == 1
    assert run("grep", "-c", "-l", "needle").status == 2


@pytest.mark.parametrize(
    "spelt",
    [
        rb'{"type":"text","text":"the n\u0065\u0065dle/x"}',
        rb'{"type":"text","text":"the \u006Eeedle\/x"}',
        rb'{"text" : "the needle\u002fx", "type" : "\u0074ext"}',
    ],
)
@pytest.mark.parametrize("pattern", [["-F", "needle/x"], [r"n..dle\/x"], ["-i", "NEEDLE/X"]])
def test_escaped_text_is_found(root: Path, spelt: bytes, pattern: list[str]) -> None:
    line = pushed(1, message("user", "@")).replace(b'{"type":"text","text":"@"}', spelt)
    assert spelt in line
    write(root, "one", "main", join([header(), line, *turns(4)[2:]]))

    assert ok("grep", *pattern).out == "one:main:m0:the needle/x\n"


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_json_in_json_is_found_as_it_was_meant(root: Path, layers: int) -> None:
    inner: JSON = {"cmd": 'echo "the needle" > a/b'}
    for _ in range(layers):
        inner = dumps(inner).decode().replace("/", "\\/")
    write(root, "one", "main", join([header(), pushed(1, call("sh", inner))]))
    write(root, "two", "main", join([header(), pushed(1, result("sh", text(str(inner))))]))

    done = ok("grep", "-F", '"the needle" > a/b')

    assert done.out.splitlines() == [
        'one:main:m0:echo "the needle" > a/b',
        'two:main:m0:echo "the needle" > a/b',
    ]


def test_other_parts_are_searched_and_images_are_not(root: Path) -> None:
    parts: list[Object] = [
        {"type": "reasoning", "content": [{"type": "text", "text": "I think needle"}]},
        {"type": "web_search", "query": "needle shops"},
        {"type": "image", "data": {"type": "base64", "value": "needle"}},
    ]
    write(root, "one", "main", join([header(), pushed(1, {"role": "x", "content": [*parts]})]))
    write(root, "two", "main", join([header(), pushed(1, {"role": "system", "content": "needle"})]))
    write(
        root,
        "six",
        "main",
        join([header(), pushed(1, result("t", {"type": "json", "value": {"k": "needle"}}))]),
    )

    done = ok("grep", "needle", "--json")

    assert [(one["session"], one["role"], one["part"], one["text"]) for one in done.objects] == [
        ("one", "x", "reasoning", "I think needle"),
        ("one", "x", "other", "needle shops"),
        ("six", "tool", "result", "needle"),
        ("two", "system", "text", "needle"),
    ]


def _edited(root: Path) -> None:
    """Message 0 replaced, 1 taken out by a splice, 2 stands, then all put again by a reset."""
    entry: Object = {"message": message("user", "new needle"), "id": 0}
    write(
        root,
        "one",
        "main",
        join(
            [
                header(),
                said(1, "old needle"),
                said(2, "gone needle", "assistant"),
                said(3, "third needle"),
                spliced(4, 0, 2, entry),
            ]
        ),
    )


def test_only_messages_that_stand_are_found(root: Path) -> None:
    _edited(root)

    assert ok("grep", "needle").out.splitlines() == [
        "one:main:m2:third needle",
        "one:main:m0:new needle",
    ]


def test_the_past_is_found_when_asked_for_and_can_be_shown(root: Path) -> None:
    _edited(root)

    found = ok("grep", "needle", "--all", "--json").objects

    assert [(one["id"], one["text"], one["stands"]) for one in found] == [
        (0, "old needle", False),
        (1, "gone needle", False),
        (2, "third needle", True),
        (0, "new needle", True),
    ]
    shown = ok(*found[1]["show"], "--json").objects[1]
    assert shown["message"]["content"][0]["text"] == "gone needle"
    assert ok("grep", "-c", "needle", "--all").out == "one:4\n"


def test_a_message_that_is_put_again_is_told_once(root: Path) -> None:
    again: list[Object] = [{"message": message("user", "needle"), "id": 0, "made": BASE_MS + 1_000}]
    state: Object = {"entries": [*again], "asides": [], "halt": None, "next_message": 1}
    write(root, "one", "main", join([header(), said(1, "needle"), record(2, "reset", state=state)]))

    assert ok("grep", "needle").out == "one:main:m0:needle\n"
    assert ok("grep", "needle", "--all").out == "one:main:m0:needle\n"


@pytest.mark.parametrize("held", [0, 1, 200])
@pytest.mark.parametrize("block", [256, 512 << 10])
def test_an_edit_far_behind_is_seen(
    root: Path, monkeypatch: pytest.MonkeyPatch, held: int, block: int
) -> None:
    monkeypatch.setattr(searching, "_HELD_MAX", held)
    monkeypatch.setattr(candidates, "_BLOCK_BYTES", block)
    texts = [f"needle {seq}" if seq % 3 else "hay" for seq in range(1, 30)]
    lines = [header(), *(said(seq, told) for seq, told in enumerate(texts, 1))]
    more = [said(seq, "hay " * 40) for seq in range(30, 60)]
    gone = spliced(60, 0, 28)
    write(root, "one", "main", join([*lines, *more, gone.replace(b'"splice"', rb'"\u0073plice"')]))

    assert ok("grep", "needle").out == "one:main:m28:needle 29\n"


@pytest.mark.parametrize("size", [64, 300, 4_000, 512 << 10])
def test_the_size_of_blocks_does_not_matter(
    root: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(candidates, "_BLOCK_BYTES", size)
    lines = [said(seq, ("needle" if seq % 5 == 0 else "hay ") * seq) for seq in range(1, 60)]
    write(root, "one", "main", join([header(), *lines]))

    found = ok("grep", "-F", "needle", "--json").objects
    everything = ok("grep", "a|e", "--json").objects

    assert [one["id"] for one in found] == list(range(4, 59, 5))
    assert [one["id"] for one in everything] == list(range(59))


def test_lines_between_and_behind_damage_are_searched(root: Path) -> None:
    good = [said(seq, f"needle {seq}") for seq in range(1, 5)]
    data = join([header(), good[0], b"junk needle", good[1][:30] + good[1]]) + b"\0" * 99
    write(root, "one", "main", data + join(good[2:3]) + good[3][:-9])

    done = ok("grep", "needle")

    assert [line[-1] for line in done.out.splitlines()] == ["1", "2", "3"]


def test_times_of_messages(root: Path) -> None:
    write(root, "one", "main", join(turns(5)))

    def ids(*words: str) -> list[int]:
        return [one["id"] for one in run("grep", "text", "--json", *words).objects]

    at = "2026-01-01T00:00:03Z"
    assert ids("--since", at) == [2, 3, 4]
    assert ids("--until", at) == [0, 1]
    assert ids("--since", at, "--until", "2026-01-01T00:00:04Z") == [2]
    assert ids("--until", "2026-01-01") == [0, 1, 2, 3, 4]
    assert ids("--since", "2026-01-02") == []


@pytest.mark.parametrize(("zone", "found"), [("Asia/Tokyo", 1), ("America/Los_Angeles", 0)])
def test_case_68_days_are_those_of_the_stated_zone(root: Path, zone: str, found: int) -> None:
    time = 1_772_407_800_000  # 2026-03-01T23:30:00Z
    write(root, "one", "main", join([header(), said(1, "late", t=time)]))
    words = ["--root", str(root), "grep", "late", "-c", "--since", "2026-03-02"]

    lines = on_terminal(words, columns=100, TZ=zone)

    assert ("one:1" in lines) == bool(found)
    assert run("--utc", "grep", "late", "--since", "2026-03-02").status == 1


def test_case_20_and_21_text_never_drives_the_terminal(root: Path) -> None:
    hostile = "\x1b]0;owned\x07\x1b[2J\rneedle\u202egnp.exe \U000e0041\U000e0042 \x9b"
    write(root, "o\nne", "main", join([header(), said(1, hostile)]))

    done = ok("grep", "needle")

    assert not DRIVING & set(done.out + done.err)
    assert len(done.out.splitlines()) == 1
    assert "␛" in done.out
    assert "<U+202E>" in done.out
    assert "<U+E0041>" in done.out
    assert ok("grep", "needle", "--json").object["text"] == hostile


@pytest.mark.parametrize("columns", [40, 100, 400])
def test_on_a_terminal_a_row_is_a_row_and_shows_what_matches(root: Path, columns: int) -> None:
    write(root, "one", "main", join([header(), said(1, "x" * 500 + "needle" + "y" * 500)]))

    lines = on_terminal(["--root", str(root), "grep", "needle"], columns=columns)

    assert len(lines) == 3
    assert "needle" in lines[0]
    assert lines[0].startswith("one:main:m0:…")
    assert len(lines[0]) <= columns + 2


def test_colour_marks_what_matches(root: Path) -> None:
    write(root, "one", "main", join([header(), said(1, "a needle")]))

    status, out, _ = in_process(["--root", str(root), "grep", "needle"])

    assert (status, out) == (0, "one:main:m0:a needle\n")


def test_all_sessions_are_searched_and_filters_choose(root: Path) -> None:
    for number in range(60):
        write(root, f"s{number:02d}", "main", join([header(), said(1, f"needle {number}")]))
    meta = b'{"title":"Mine","labels":{"k":"v"},"updated":%d,"messages":1}' % (BASE_MS + SECOND_MS)
    write_meta(root, "s41", meta)

    assert len(ok("grep", "needle").out.splitlines()) == 60
    assert ok("grep", "-l", "needle", "--label", "k=v").out == "s41\n"
    assert ok("grep", "-l", "needle", "--title", "mine").out == "s41\n"
    assert run("grep", "-l", "needle", "s40", "--label", "k=v").status == 1
    assert ok("grep", "-l", "needle", "s41", "s40", "s41").out == "s41\ns40\n"
    assert ok("grep", "-l", "needle 41").out == "s41\n"


def test_case_22_and_51_a_project_is_one_folder_however_it_is_written(root: Path) -> None:
    for name, cwd in (("nfc", "/w/공유"), ("nfd", "/w/공유"), ("win", "c:/W/p/")):
        cwd_record = record(2, "state", key="agentmem.cwd", value=cwd)
        write(root, name, "main", join([header(), said(1, "needle"), cwd_record]))

    assert ok("grep", "-l", "needle", "--project", "/w/공유").out == "nfc\nnfd\n"
    assert ok("grep", "-l", "needle", "--project", "C:\\w\\p").out == "win\n"


def test_a_session_that_cannot_be_read_is_told_and_is_trouble(root: Path) -> None:
    write(root, "one", "main", join([header(), said(1, "needle")]))
    (root / "old").mkdir()
    (root / "old" / "main.jsonl").write_bytes(b"{}\n")

    done = run("grep", "needle")

    assert done.status == 2
    assert done.out == "one:main:m0:needle\n"
    assert "agentmem: old: " in done.err


@pytest.mark.parametrize(
    "words",
    [
        ["grep", ""],
        ["grep", "("],
        ["grep", "x", "--agent", ""],
        ["grep", "x", "--role", ""],
        ["grep", "x", "--project", ""],
        ["grep", "x", "--since", "soon"],
        ["grep", "x", "-A", "-1"],
    ],
)
def test_words_that_do_not_fit(words: list[str]) -> None:
    assert run(*words).status == 2


@pytest.mark.usefixtures("talk")
def test_a_search_changes_nothing(root: Path) -> None:
    before = tree(root)

    ok("grep", "needle", "--all")

    assert tree(root) == before


def test_a_text_that_says_splice_is_no_edit(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root, "one", "main", join([header(), pushed(1, call("x", {"type": "splice"}))]))
    folded: list[str] = []
    monkeypatch.setattr(fold.LogFold, "run", lambda self: folded.append(self.log))

    assert ok("grep", "-c", "splice").out == "one:1\n"
    assert folded == []


@pytest.mark.usefixtures("talk")
@pytest.mark.parametrize("role", ["usr", "user,asistant", "User", "tools", "user,"])
def test_a_role_that_there_is_not_is_refused_and_not_searched_for(role: str) -> None:
    done = run("grep", "needle", "--role", role)

    assert done.status == 2
    assert "is none of user, assistant, system, tool" in done.err


@pytest.mark.usefixtures("talk")
def test_roles_can_be_given_in_one_word() -> None:
    both = ok("grep", "needle", "--role", "user", "--role", "tool").stdout

    assert ok("grep", "needle", "--role", "user,tool").stdout == both
