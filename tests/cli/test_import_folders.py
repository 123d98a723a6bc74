"""`import` of folders and of many sources: what is taken, what is passed by, what is told."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from tests.cli.running import ok, run, tree
from tests.cli.terminal import on_terminal
from tests.unit.imports.building import entry, header, lines, put, reply, user

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

OLD_S = 1_700_000_000


def _source(folder: Path, name: str, *texts: str) -> Path:
    said = [user(number, text) for number, text in enumerate(texts or ("text",), 1)]
    return put(folder / f"{name}.jsonl", lines(header(id=name), *said))


def _many(folder: Path, count: int) -> None:
    for number in range(count):
        _source(folder, f"s{number:02}", "one", "two")


def test_several_folders_are_imported_at_once(tmp_path: Path) -> None:
    _source(tmp_path / "one", "a")
    _source(tmp_path / "two" / "deep", "b")

    done = ok("import", tmp_path / "one", tmp_path / "two", "--json")

    assert [value["session"] for value in done.objects] == ["pi-a", "pi-b"]


def test_a_source_that_is_named_twice_is_imported_once(tmp_path: Path) -> None:
    source = _source(tmp_path / "one", "a")

    done = ok("import", source, tmp_path / "one", tmp_path / "one", "--json")

    assert [value["session"] for value in done.objects] == ["pi-a"]


@pytest.mark.parametrize(
    "name", ["history.jsonl", "session_index.jsonl", "sessions-index.json", "settings.json"]
)
def test_what_tools_keep_beside_their_transcripts_is_neither_session_nor_failure(
    tmp_path: Path, name: str
) -> None:
    _source(tmp_path / "src", "a")
    put(tmp_path / "src" / name, b'{"display":"x","timestamp":1,"sessionId":"s"}\n')

    done = ok("import", tmp_path / "src")

    assert done.out == "pi-a  from pi: 1 message\n"
    assert done.err.startswith("1 source: 2 lines")


@pytest.mark.parametrize("data", [b"{}", b"", b'{"agentType":"Explore"}', b'[{"role":"x"}]', b"["])
def test_a_document_that_is_no_transcript_is_passed_by_and_counted(
    tmp_path: Path, data: bytes
) -> None:
    _source(tmp_path / "src", "a")
    put(tmp_path / "src" / "state.json", data)

    done = ok("import", tmp_path / "src")

    assert "1 other file passed by" in done.err


def test_a_document_of_messages_in_a_folder_is_imported(tmp_path: Path) -> None:
    data = b'[{"role":"user","content":"Why?"},{"role":"assistant","content":"So."}]'
    put(tmp_path / "src" / "talk.json", data)

    value = ok("import", tmp_path / "src", "--json").object

    assert (value["kind"], value["messages"]) == ("openai-messages", 2)


def test_a_session_of_ours_in_a_folder_is_no_source(root: Path, tmp_path: Path) -> None:
    ok("import", _source(tmp_path / "src", "a"))

    done = run("import", root)

    assert done.status == 1
    assert "no transcript of a known kind" in done.err


def test_links_in_a_folder_are_not_followed(tmp_path: Path) -> None:
    _source(tmp_path / "src", "a")
    source = _source(tmp_path / "elsewhere", "b")
    (tmp_path / "src" / "b.jsonl").symlink_to(source)
    (tmp_path / "src" / "more").symlink_to(source.parent)

    done = ok("import", tmp_path / "src", "--json")

    assert [value["session"] for value in done.objects] == ["pi-a"]


def test_a_folder_in_which_nothing_was_recognised_is_told_so(root: Path, tmp_path: Path) -> None:
    put(tmp_path / "src" / "a.json", b"{}")
    put(tmp_path / "src" / "notes.txt", b"x")

    done = run("import", tmp_path / "src")

    assert done.status == 1
    assert f"{tmp_path / 'src'}: no transcript of a known kind found" in done.err
    assert not root.exists()


def test_what_was_not_understood_is_named_with_why_and_sets_the_status(tmp_path: Path) -> None:
    _source(tmp_path / "src", "a")
    for number in range(8):
        put(tmp_path / "src" / f"x{number}.jsonl", b'{"no":"transcript"}\n')

    done = run("import", tmp_path / "src")

    assert done.status == 2
    assert done.err.count("x4.jsonl: 1 line, no message recognised") == 1
    assert "x5.jsonl" not in done.err
    assert "3 more files not understood" in done.err
    assert "9 sources, 8 failed" in done.err
    assert run("import", tmp_path / "src", "--verbose").err.count("no message recognised") == 8


SNAPSHOT = b'{"type":"file-history-snapshot","messageId":"m","snapshot":{}}'
OPERATION = b'{"type":"queue-operation","operation":"dequeue","sessionId":"s"}'
META = b'{"timestamp":"2026-03-01T00:00:00Z","type":"session_meta","payload":{"id":"a"}}'
TURN = b'{"timestamp":"2026-03-01T00:00:00Z","type":"turn_context","payload":{"model":"m"}}'
ID = "0c1a0de0-0000-4000-8000-000000000001"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n\n",
        b'{"type":"summary","summary":"Tides","leafUuid":"u"}\n',
        lines(SNAPSHOT, OPERATION, b'{"type":"mode","mode":"plan","sessionId":"s"}'),
        lines(SNAPSHOT) + b'{"parentUuid":null,"isSi',
        lines(b'{"type":"attribution-snapshot","messageId":"m","fileStates":{}}'),
        lines(b'{"type":"system","subtype":"informational","uuid":"u","sessionId":"s"}'),
        lines(META),
        lines(META, TURN, b'{"type":"event_msg","payload":{"type":"task_started"}}'),
        b'{"id":"a","timestamp":"2025-05-11T10:00:00Z","instructions":null}\n',
        lines(header(), b'{"type":"model_change","id":"b","modelId":"m"}'),
    ],
)
def test_what_holds_no_message_yet_is_counted_and_no_failure(
    root: Path, tmp_path: Path, data: bytes
) -> None:
    path = put(tmp_path / "src" / "x.jsonl", data)
    put(tmp_path / "src" / "y.jsonl", data)

    alone = ok("import", path.parent)
    _source(tmp_path / "src", "a")
    among = ok("import", path.parent, "--json")

    assert alone.err.startswith("0 sources, 2 files without a message yet: ")
    assert among.err.startswith("1 source, 2 files without a message yet: ")
    assert len(among.objects) == 1
    assert str(path) in ok("import", path.parent, "--verbose").err
    assert run("import", path).status == 2
    assert [folder.name for folder in root.iterdir()] == ["pi-a"]


@pytest.mark.parametrize(
    "data",
    [
        lines(META, *[b'{"type":"response_item","payload":{"item":{"type":"message"}}}'] * 49),
        lines(SNAPSHOT, b'{"type":"user","data":{"content":"x"},"sessionId":"s","uuid":"u"}'),
        lines(SNAPSHOT, b'{"type":"prompt_of_tomorrow","text":"x","sessionId":"s"}'),
        lines(META, b'{"type":"event_msg","payload":{"type":"user_prompt_v2","text":"x"}}'),
        lines(SNAPSHOT, b"garbage"),
        b"\0" * 512,
    ],
)
def test_what_is_not_understood_and_gives_no_message_stays_a_failure(
    tmp_path: Path, data: bytes
) -> None:
    _source(tmp_path / "src", "a")
    path = put(tmp_path / "src" / "x.jsonl", data)

    done = run("import", tmp_path / "src")

    assert done.status == 2
    assert f"{path}: " in done.err
    assert "no message recognised" in done.err


@pytest.mark.parametrize("name", ["b", f"rollout-2026-03-01T00-00-00-{ID}"])
def test_a_source_that_was_imported_and_is_empty_now_is_a_failure(
    tmp_path: Path, name: str
) -> None:
    path = put(tmp_path / "src" / f"{name}.jsonl", lines(header(id=name[-36:]), user(1, "one")))
    ok("import", tmp_path / "src")
    path.write_bytes(b"")

    done = run("import", tmp_path / "src")

    assert done.status == 2
    assert f"{path}: 0 records" in done.err


@pytest.mark.parametrize("more", [[], ["--watch"]])
def test_a_kind_that_does_not_exist_is_told_once_and_before_anything_is_read(
    tmp_path: Path, more: list[str]
) -> None:
    _many(tmp_path / "src", 3)

    done = run("import", "--from", "claude", tmp_path / "src", *more)

    assert (done.status, done.out) == (2, "")
    assert done.err.count("claude'") == 1
    assert "Known kinds: pi, claude-code" in done.err


def test_paths_are_told_absolute_whatever_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = _source(tmp_path / "src", "a")
    rollout = put(
        tmp_path / "src" / "b.jsonl",
        lines(META, b'{"type":"event_msg","payload":{"type":"user_message","message":"hi"}}'),
    )
    odd = put(tmp_path / "src" / "c.jsonl", b"garbage\n")
    monkeypatch.chdir(tmp_path)

    done = run("import", "src", "--json")

    assert [value["source"] for value in done.objects] == [str(taken), str(rollout), str(odd)]
    assert f"{odd}: " in done.err


def test_of_many_sources_a_sum_by_kind_is_printed(tmp_path: Path) -> None:
    _many(tmp_path / "src", 21)
    put(tmp_path / "src" / "talk.jsonl", b'{"role":"user","content":"Why?","tool_calls":[]}\n')
    put(
        tmp_path / "src" / "left.jsonl",
        lines(header(id="left"), user(1, "x"), entry("thinking_level_change", 2)),
    )

    done = ok("import", tmp_path / "src")
    rows = [line.split() for line in done.out.splitlines()]

    assert rows[0] == ["KIND", "SESSIONS", "MESSAGES", "NEW", "KNOWN"]
    assert rows[1] == ["openai-messages", "1", "1", "1", "0"]
    assert rows[2] == ["pi", "22", "43", "65", "0"]
    assert done.out.splitlines()[3] == "pi, not made into anything: 1 thinking_level_change"
    assert len(rows) == 4


def test_importing_many_again_says_that_all_was_known(tmp_path: Path) -> None:
    _many(tmp_path / "src", 21)
    ok("import", tmp_path / "src")

    done = ok("import", tmp_path / "src")

    assert done.out.splitlines()[1].split() == ["pi", "21", "42", "0", "63"]


def test_verbose_and_json_have_every_session_however_many(tmp_path: Path) -> None:
    _many(tmp_path / "src", 21)

    told = ok("import", tmp_path / "src", "--verbose").out.splitlines()

    assert len(told) == 21
    assert told[0] == "pi-s00  from pi: 2 messages"
    assert len(ok("import", tmp_path / "src", "--json").objects) == 21


def test_damage_in_many_sources_is_told_source_by_source_and_counted(tmp_path: Path) -> None:
    _many(tmp_path / "src", 21)
    for number in range(7):
        path = tmp_path / "src" / f"s{number:02}.jsonl"
        path.write_bytes(path.read_bytes() + b"junk\n" + user(9, "more") + b"\n")

    done = ok("import", tmp_path / "src")

    assert done.err.count("1 line not usable") == 5
    assert "2 more sources like these" in done.err


def test_since_takes_only_sources_that_changed(tmp_path: Path) -> None:
    old = _source(tmp_path / "src", "a")
    os.utime(old, (OLD_S, OLD_S))
    _source(tmp_path / "src", "b")

    done = ok("import", tmp_path / "src", "--since", "2024-01-01", "--json")

    assert [value["session"] for value in done.objects] == ["pi-b"]
    assert "1 not changed since" in done.err


def test_since_without_a_change_is_no_failure(root: Path, tmp_path: Path) -> None:
    old = _source(tmp_path / "src", "a")
    os.utime(old, (OLD_S, OLD_S))

    done = ok("import", tmp_path / "src", "--since", "2024-01-01")

    assert done.out == ""
    assert not root.exists()


def test_since_that_is_no_time_is_a_mistake_of_the_call(tmp_path: Path) -> None:
    assert run("import", _source(tmp_path, "a"), "--since", "soonish").status == 2


def test_a_dry_run_of_a_folder_counts_and_writes_nothing(root: Path, tmp_path: Path) -> None:
    _many(tmp_path / "src", 21)
    before = tree(tmp_path / "src")

    done = ok("import", tmp_path / "src", "--dry-run")

    assert done.out.splitlines()[1].split() == ["pi", "21", "42", "63", "0"]
    assert "nothing was written (dry run)" in done.err
    assert not root.exists()
    assert tree(tmp_path / "src") == before


def test_sources_stay_as_they_are_whatever_they_hold(tmp_path: Path) -> None:
    _many(tmp_path / "src", 3)
    put(tmp_path / "src" / "torn.jsonl", lines(header(id="torn"), user(1, "x")) + b'{"type":"mes')
    put(tmp_path / "src" / "bad.jsonl", b"\0" * 300 + b"\xff\xfe{")
    put(tmp_path / "src" / "empty.jsonl", b"")
    before = tree(tmp_path / "src")

    run("import", tmp_path / "src")
    run("import", tmp_path / "src", "--again")
    ok("list")

    assert tree(tmp_path / "src") == before


def test_an_unreadable_folder_is_told_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _source(tmp_path / "src", "a")
    locked = str(tmp_path / "src" / "locked")
    walk = os.walk

    # Why not by its mode: who runs the tests may read everything.
    def refused(top: Path, onerror: Callable[[OSError], object]) -> Iterator[object]:
        onerror(PermissionError(errno.EACCES, "Permission denied", locked))
        yield from walk(top)

    monkeypatch.setattr(os, "walk", refused)

    done = run("import", tmp_path / "src")

    assert done.status == 2
    assert "pi-a" in done.out
    assert f"{locked}: Permission denied" in done.err


def test_on_a_terminal_the_sum_stands_alone(tmp_path: Path) -> None:
    _many(tmp_path / "src", 21)

    shown = on_terminal(["import", str(tmp_path / "src")], columns=80)

    assert any(line.split() == ["pi", "21", "42", "63", "0"] for line in shown)


def test_a_changed_source_is_noticed_though_size_and_time_are_the_same(tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", lines(header(id="a"), user(1, "one"), reply(2, "two")))
    ok("import", path)
    found = path.stat()
    path.write_bytes(path.read_bytes().replace(b"two", b"six"))
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))

    done = run("import", path)

    assert done.status == 4
    assert "does not go on" in done.err
