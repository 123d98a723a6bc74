"""stats: every byte once, and what stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.running import header, join, message, ok, pushed, record, run, said, tree, write
from tests.cli.terminal import on_terminal

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import Object

IMAGE: Object = {
    "type": "image",
    "media_type": "png",
    "data": {"type": "base64", "value": "A" * 80},
}


def _call(name: str) -> Object:
    return {"type": "toolcall", "id": "c1", "function": {"name": name, "arguments": {}}}


def _result(*content: Object) -> Object:
    return {"type": "toolresult", "call": "c1", "name": "ls", "content": [*content]}


def _file(root: Path, session: str, name: str, data: bytes) -> None:
    path = root / session / "files" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _on_disk(root: Path, session: str) -> int:
    folders = (root / session / "logs", root / session / "files")
    found = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return sum(path.stat().st_size for path in found)


def test_every_byte_counts_once_and_by_its_kind(root: Path) -> None:
    output: Object = {"role": "user", "content": [_result({"type": "text", "text": "o" * 500})]}
    aside: Object = {"kind": "note", "author": {"kind": "rig"}, "after": 0}
    lines = [
        header(),
        said(1, "hello"),
        pushed(2, {"role": "assistant", "content": [_call("ls"), _call("cat")]}),
        pushed(3, output),
        pushed(4, {"role": "user", "content": [IMAGE]}),
        record(5, "aside", id=0, aside=aside),
        record(6, "aside", id=0, aside=aside),
        record(7, "state", key="k", value=1),
        record(8, "state", key="k", value=2),
        record(9, "state", key="gone", value=2),
        record(10, "state", key="gone", value=None),
        record(11, "halt", halt="kept"),
    ]
    write(root, "one", "main", join(lines) + b"junk\n")
    _file(root, "one", "blobs/" + "0" * 64 + ".png", b"x" * 33)
    _file(root, "one", "plugins/import/a.jsonl", b"x" * 44)
    _file(root, "one", "plugins/other/b", b"x" * 55)

    told = ok("stats", "one", "--json").object

    sizes = [len(line) + 1 for line in lines]
    assert told["bytes"] == {
        "messages": sizes[1] + sizes[2] + sizes[4] - 80,
        "tool_output": sizes[3],
        "images": 80,
        "asides": sizes[6],
        "values": sizes[8],
        "past": sizes[5] + sizes[7] + sizes[9] + sizes[10] + sizes[11],
        "other": sizes[0] + 5,
        "blobs": 33,
        "sources": 44,
        "files": 55,
    }
    assert told["size_bytes"] == sum(told["bytes"].values()) == _on_disk(root, "one")
    assert told["roles"] == {"user": 3, "assistant": 1}
    assert (told["messages"], told["records"], told["agents"]) == (4, 12, 1)
    assert told["tool_calls"] == {"ls": 1, "cat": 1}
    assert (told["blobs"], told["sources"], told["damaged_places"]) == (1, 1, 1)


def test_what_was_taken_out_is_past(root: Path) -> None:
    lines = [
        header(),
        said(1, "a" * 900),
        pushed(2, {"role": "assistant", "content": [_call("ls")]}),
        said(3, "stays"),
    ]
    entry: Object = {"message": message("user", "new"), "id": 3}
    fields: Object = {"from": 0, "to": 2, "removed": [0, 1], "with": [entry]}
    splice = record(4, "splice", **fields)  # type: ignore[arg-type]
    write(root, "one", "main", join([*lines, splice]))

    told = ok("stats", "one", "--json").object

    assert told["messages"] == 2
    assert told["tool_calls"] == {}
    assert told["bytes"]["past"] > len(lines[1]) + len(lines[2])
    assert told["size_bytes"] == _on_disk(root, "one")
    assert [large["id"] for large in told["largest"]] == [2, 3]


def test_a_message_with_words_and_results_is_parted(root: Path) -> None:
    both: Object = {
        "role": "user",
        "content": [
            _result({"type": "text", "text": "o" * 100}, IMAGE),
            {"type": "text", "text": "w"},
        ],
    }
    write(root, "one", "main", join([header(), pushed(1, both)]))

    told = ok("stats", "one", "--json").object["bytes"]

    assert told["images"] == 80
    assert 150 < told["tool_output"] < 280
    assert told["messages"] > 50


def test_tokens_are_those_of_the_estimate(root: Path) -> None:
    from agentmem_cli.session.counting import estimate_tokens
    from agentmem_cli.session.message import Message

    texts = ["hello there", "日本語", "x" * 400]
    write(root, "one", "main", join([header(), *(said(at, t) for at, t in enumerate(texts, 1))]))

    told = ok("stats", "one", "--json").object["estimated_tokens"]

    assert told == estimate_tokens([Message.user(text) for text in texts])


def test_the_largest_messages_come_first_with_their_addresses(root: Path) -> None:
    lines = [said(seq, f"{seq} " * (seq * 7 % 13)) for seq in range(1, 15)]
    write(root, "one", "main", join([header(), *lines]))

    largest = ok("stats", "one", "--json").object["largest"]

    sizes = [large["size_bytes"] for large in largest]
    assert len(largest) == 10
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == max(map(len, lines)) + 1
    assert largest[0]["address"] == f"one:main:m{largest[0]['id']}"
    assert largest[0]["gist"].startswith("user: ")


def test_several_sessions_are_added_up_and_listed_in_json(root: Path) -> None:
    for name in ("one", "two"):
        write(root, name, "main", join([header(), said(1, "hello"), said(2, "you", "assistant")]))
        write(root, name, "aide", join([header("aide", n=5, parent="main")]))

    told = ok("stats")
    values = ok("stats", "--json").objects

    assert told.out.startswith("2 sessions: 4 agents, 8 records, ")
    assert "4 messages (2 assistant, 2 user)" in told.out
    assert [value["session"] for value in values] == ["one", "two"]
    assert ok("stats", "--agent", "aide", "--json", "one").object["messages"] == 0
    assert ok("stats", "two", "--json").object["agents"] == 2
    assert ok("stats", "--title", "nothing", "--json").objects == []


@pytest.mark.parametrize("columns", [40, 100, 400])
def test_bars_fit_a_terminal_and_stand_nowhere_else(root: Path, columns: int) -> None:
    write(root, "one", "main", join([header(), said(1, "x" * 3_000)]))
    words = ["--root", str(root), "stats", "one"]

    lines = on_terminal(words, columns=columns)

    bars = [line.count("█") for line in lines]
    assert max(bars) == max(0, min(40, columns - 50))
    assert "█" not in ok("stats", "one").out


def test_text_of_a_session_drives_no_terminal(root: Path) -> None:
    hostile = "\x1b[2J\u202ename"
    value: Object = {
        "role": hostile,
        "content": [_call(hostile), {"type": "text", "text": hostile}],
    }
    write(root, "one", "main", join([header(), pushed(1, value)]))

    told = ok("stats", "one").out

    assert not {"\x1b", "\u202e"} & set(told)
    assert ok("stats", "one", "--json").object["tool_calls"] == {hostile: 1}


def test_nothing_changes_and_what_cannot_be_read_is_trouble(root: Path) -> None:
    write(root, "one", "main", join([header(), said(1, "x")]))
    (root / "old").mkdir()
    (root / "old" / "main.jsonl").write_bytes(b"{}\n")
    before = tree(root)

    done = run("stats")

    assert done.status == 2
    assert "agentmem: old: " in done.err
    assert tree(root) == before
    assert run("stats", "--agent", "").status == 2
    assert ok("--root", root / "none", "stats").err == "No session to look at.\n"
