"""`append`: messages in, one record or none, torn tails aside, the meta true again."""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from agentmem_cli.limits import META_BYTES_MAX
from agentmem_cli.operations import append as operation
from agentmem_cli.session.codec import dumps
from agentmem_cli.storage.directory import DirStore
from tests.cli.running import (
    at,
    header,
    join,
    message,
    ok,
    record,
    run,
    said,
    texts,
    tree,
    turns,
    write,
    write_meta,
)
from tests.cli.terminal import in_process

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import Object
    from tests.cli.running import Done, Value


def _add(session: str = "one", text: str = "added", *words: str) -> Done:
    return ok("append", session, "--role", "user", *words, stdin=text.encode())


def _shown(*words: str) -> list[str]:
    return texts(ok("show", "one", "--json", *words).objects)


def _row() -> Value:
    return ok("list", "--json").object


def test_plain_text_is_one_message(root: Path) -> None:
    ok("new", "one")

    done = ok("append", "one", "--role", "user", stdin=b"first line\nsecond line\n")

    assert done.out == ""
    assert done.err == "1 message added to one, agent main\n"
    assert _shown() == ["first line\nsecond line"]


def test_json_lines_are_messages_and_become_one_record(root: Path) -> None:
    ok("new", "one")
    lines: list[Object] = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "text", "text": "ho"}], "extra": 1e300},
    ]
    data = b"\xef\xbb\xbf" + b"\r\n\n".join(dumps(line) for line in lines)

    done = ok("append", "one", "--json", stdin=data)

    assert done.object == {
        "schema": "agentmem.append/1",
        "session": "one",
        "agent": "main",
        "ids": [0, 1, 2],
        "first_n": 0,
        "last_n": 1,
        "set_aside": None,
        "meta_set_aside": None,
    }
    assert done.err == ""
    assert _shown() == ["be brief", "hi", "ho"]
    assert len(ok("log", "one", "--json").objects) == 2


def test_a_file_can_be_read_instead(root: Path, tmp_path: Path) -> None:
    ok("new", "one")
    source = tmp_path / "text"
    source.write_text("from a file")

    ok("append", "one", source, "--role", "assistant")

    assert _shown() == ["from a file"]


def test_a_file_that_is_not_there_is_not_found(root: Path, tmp_path: Path) -> None:
    ok("new", "one")

    done = run("append", "one", tmp_path / "gone", "--role", "user")

    assert done.status == 3
    assert str(tmp_path / "gone") in done.err


@pytest.mark.parametrize(
    ("words", "data", "told"),
    [
        (("--role", "user"), b"", "no text"),
        (("--role", "user"), b" \n", "no text"),
        (("--role", "user"), b"caf\xe9", "byte 3 is not UTF-8"),
        (("--role", "judge"), b"x", "no such role: 'judge'"),
        ((), b"", "no message"),
        ((), b"plain words", "line 1: not a JSON object"),
        ((), b'{"role":"user","content":"ok"}\n[1]\n', "line 2: not a JSON object"),
        ((), b'{"role":"user","content":"ok"}\n{"role":"user"}\n', "line 2: a message has a role"),
        ((), b'{"role":7,"content":"x"}', "a message has a role"),
        ((), b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "line 1: not a JSON object"),
    ],
)
def test_what_is_no_message_is_refused_and_nothing_written(
    root: Path, words: tuple[str, ...], data: bytes, told: str
) -> None:
    ok("new", "one")
    before = tree(root)

    done = run("append", "one", *words, stdin=data)

    assert done.status == 2
    assert told in done.err
    assert "standard input" in done.err or "role" in done.err
    assert tree(root) == before


def test_an_unknown_session_is_not_made(root: Path) -> None:
    done = run("append", "one", "--role", "user", stdin=b"x")

    assert done.status == 3
    assert not root.exists()


def test_an_agent_is_started_where_it_is_not_there(root: Path) -> None:
    ok("new", "one")
    _add("one", "to main")

    _add("one", "to scout", "--agent", "scout")

    assert _shown("--agent", "scout") == ["to scout"]
    assert _shown() == ["to main"]
    assert _row()["agents"] == 2
    assert _row()["title"] == "to main"
    assert _row()["messages"] == 1


@pytest.mark.parametrize(
    "name", ["NUL", "con.txt", "a:b", "x.", "..", "é" * 300, "a/b", "a\nb", "../../x"]
)
def test_an_agent_whose_name_is_no_file_name_gets_a_safe_log_and_keeps_its_name(
    root: Path, name: str
) -> None:
    ok("new", "one")

    done = _add("one", "hello", "--agent", name)
    _add("one", "again", "--agent", name)

    (log,) = (root / "one" / "logs").iterdir()
    agent = log.name.removesuffix(".jsonl")
    assert "is no file name on every system" in done.err
    assert [path.name for path in root.iterdir()] == ["one"]
    assert _shown("--agent", name) == ["hello", "again"]
    meta = json.loads((root / "one" / "files" / "meta.json").read_text())
    assert meta["listed"]["names"] == {agent: name}
    assert ok("as-of", "one", "now", "--json").objects[0]["saved"] == {"agentmem.name": name}


@pytest.mark.parametrize("name", ["", " ", "session"])
def test_an_agent_needs_a_name_of_its_own(root: Path, name: str) -> None:
    ok("new", "one")
    before = tree(root)

    assert run("append", "one", "--agent", name, "--role", "user", stdin=b"x").status == 2
    assert tree(root) == before


def test_an_agent_that_some_disks_take_for_another_is_refused(root: Path) -> None:
    ok("new", "one")
    _add("one", "x", "--agent", "Alpha")

    done = run("append", "one", "--agent", "alpha", "--role", "user", stdin=b"x")

    assert done.status == 4
    assert "'Alpha'" in done.err


def test_a_retired_agent_is_not_written_to(root: Path) -> None:
    write(root, "one", "main", join([*turns(1), record(2, "retired")]))
    (root / "one" / ".rig-memory.lock").touch(0o600)
    before = tree(root)

    named = run("append", "one", "--agent", "main", "--role", "user", stdin=b"x")
    unnamed = run("append", "one", "--role", "user", stdin=b"x")

    assert (named.status, unnamed.status) == (4, 3)
    assert "retired" in named.err
    assert tree(root) == before


def test_an_author_is_kept_as_a_plugin(root: Path) -> None:
    ok("new", "one")

    _add("one", "by a program", "--author", "cron")

    assert "#0 user (cron)" in ok("show", "one").out


def test_it_goes_on_from_the_greatest_n_of_all_logs(root: Path) -> None:
    write(root, "one", "main", join(turns(2)))
    write(root, "one", "session", join([header("session", n=9), record(1, "state", n=10, key="k")]))

    done = ok("append", "one", "--role", "user", "--json", stdin=b"x")

    assert (done.object["first_n"], done.object["last_n"]) == (11, 11)
    assert done.object["ids"] == [2]


def test_old_bytes_stay_as_they_are(root: Path) -> None:
    data = join(turns(3)).replace(b'"seq"', b' "seq" ')
    path = write(root, "one", "main", data)

    _add()

    assert path.read_bytes().startswith(data)


@pytest.mark.parametrize("tail", [b'{"seq":3,"n":3,"t"', b"\0" * 4_096, b"junk\n", b"\xe2\x82"])
def test_a_torn_tail_is_set_aside_first(root: Path, tail: bytes) -> None:
    path = write(root, "one", "main", join(turns(2)) + tail)

    done = ok("append", "one", "--role", "user", "--json", stdin=b"added")

    name = f"recovered/main-{hashlib.sha256(tail).hexdigest()}.part"
    assert done.object["set_aside"] == name
    assert (root / "one" / "files" / name).read_bytes() == tail
    assert f"{len(tail)} torn bytes at byte {len(join(turns(2)))}" in done.err
    assert name in done.err
    assert path.read_bytes().startswith(join(turns(2)) + b'{"seq":3,')
    assert _shown() == ["text 1", "text 2", "added"]
    assert run("verify", "one").status == 0


def _damaged() -> list[bytes]:
    good = turns(5)
    return [
        join([*good[:2], good[2][:30], *good[3:]]),
        join([*good[:2], good[2][:30] + good[2], *good[3:]]),
        join([*good[:2], b"\0" * 64, *good[2:]]),
        join([*good[:2], good[2].replace(b"text", b"te\xfft"), *good[3:]]),
        join([*good[:4], said(3, "other", id_=3)]),
        join([header(format="rig-session/9"), *good[1:]]),
        join([*good, record(6, "future_x")]),
        join([*good, record(6, "splice")]),
        join(good[1:]),
    ]


@pytest.mark.parametrize("data", _damaged())
def test_a_damaged_log_is_refused_with_5_and_nothing_changed(root: Path, data: bytes) -> None:
    write(root, "one", "main", data)
    ok("list")
    (root / "one" / ".rig-memory.lock").touch(0o600)
    before = tree(root / "one")

    done = run("append", "one", "--role", "user", "--json", stdin=b"x")

    assert done.status == 5
    assert done.error["kind"] in ("damaged", "format")
    assert "log 'main'" in done.error["message"]
    assert done.out == ""
    assert tree(root / "one") == before


def test_damage_in_another_log_does_not_matter(root: Path) -> None:
    write(root, "one", "main", join(turns(2)))
    write(root, "one", "aide", join([header("aide", n=5, parent="main"), b"junk", b"junk"]))

    _add()

    assert _shown() == ["text 1", "text 2", "added"]


def test_a_busy_session_ends_with_4_and_nothing_changed(root: Path) -> None:
    write(root, "one", "main", join(turns(1)))
    with DirStore.open(root / "one").lock():
        before = tree(root)
        status, _, err = in_process(
            ["--lock-wait", "0.1", "append", "one", "--role", "user"], stdin=b"x"
        )

    assert status == 4
    assert "still locked after 0.1 s" in err
    assert tree(root) == before


@pytest.mark.slow
def test_programs_that_append_at_once_lose_nothing_and_leave_a_true_meta(root: Path) -> None:
    ok("new", "one")

    def add(number: int) -> int:
        words = ["append", "one", "--role", "user", "--agent", f"agent-{number % 2}"]
        return in_process(words, stdin=f"text {number}".encode())[0]

    with ThreadPoolExecutor(6) as pool:
        statuses = list(pool.map(add, range(18)))

    shown = [_shown("--agent", f"agent-{which}") for which in (0, 1)]
    assert statuses == [0] * 18
    assert sorted(shown[0] + shown[1]) == sorted(f"text {number}" for number in range(18))
    assert run("verify", "one").status == 0
    assert _row()["messages"] == 9
    assert _meta(root)["messages"] == 9


def test_an_append_in_the_midst_of_another_leaves_a_true_meta(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ok("new", "one")
    _add("one", "first")
    refresh = operation._refresh_meta
    between = iter(["second"])

    def late(*given: Any, **named: Any) -> Any:  # noqa: ANN401 - passed on as they are
        for text in between:
            _add("one", text)
        return refresh(*given, **named)

    monkeypatch.setattr(operation, "_refresh_meta", late)

    _add("one", "third")

    assert _shown() == ["first", "third", "second"]
    assert _meta(root)["messages"] == 3
    assert _row()["messages"] == 3


# -- the meta ----------------------------------------------------------------


def _meta(root: Path) -> Value:
    value: Value = json.loads((root / "one" / "files" / "meta.json").read_text())
    return value


def test_the_first_text_becomes_the_title(root: Path) -> None:
    ok("new", "one")

    _add("one", "Why   is the\nhour doubled? " + "x" * 90)
    _add("one", "another")

    assert _row()["title"] == "Why is the hour doubled? " + "x" * 34 + "…"
    assert _row()["messages"] == 2
    assert _row()["damaged_places"] == 0


def test_a_title_that_was_given_stays(root: Path) -> None:
    ok("new", "one", "--title", "Tides", "--label", "a=b")

    _add()

    assert _row()["title"] == "Tides"
    assert _row()["labels"] == {"a": "b"}


def _rich(root: Path) -> None:
    """A session of another program: saved model and title, no meta."""
    lines = [
        *turns(2),
        record(3, "state", key="rig::model", value="acme/large"),
        record(4, "state", key="agentmem.cwd", value="/home/ada"),
    ]
    write(root, "one", "main", join(lines))


def test_a_session_without_a_meta_gets_one_with_what_the_logs_tell(root: Path) -> None:
    _rich(root)

    done = _add("one", "x", "--agent", "scout")
    row = _row()

    assert done.err == "1 message added to one, new agent scout\n"
    assert (row["title"], row["model"], row["messages"]) == ("text 1", "acme/large", 2)
    assert row["cwd"] == "/home/ada"
    assert row["started"] == "2026-01-01T00:00:00.000Z"


def test_what_another_program_wrote_meanwhile_is_taken_in(root: Path) -> None:
    ok("new", "one")
    _add("one", "first")
    path = root / "one" / "logs" / "main.jsonl"
    model = record(2, "state", t=at(10**9), key="rig::model", value="acme/new")
    path.write_bytes(path.read_bytes() + model + b"\n")

    _add("one", "x", "--agent", "scout")

    assert _row()["model"] == "acme/new"
    assert _row()["title"] == "first"


def _bad_metas() -> list[tuple[bytes, str, bool]]:
    """Bytes of a meta, what is told about them, and whether the labels are lost."""
    whole = dumps({"title": "Old", "labels": {"team": "blue"}, "messages": 1})
    older = b"x" * 500 + whole
    return [
        (b"", "none of them JSON", True),
        (b"\0" * 1_043, "1043 bytes, none of them JSON", True),
        (whole[:40], "40 bytes, not JSON", True),
        (whole + b"\0" * 200, f"ends at byte {len(whole)}, 200 bytes follow", False),
        (whole + older[-1_111:], f"ends at byte {len(whole)}, {len(older)} bytes follow", False),
        (b"[1]", "no object", True),
        (b"\xff\xfe\x00", "not JSON", True),
        (b'{"a":' * 50_000, "not JSON", True),
        (whole + b" " * META_BYTES_MAX, "more than a meta may have", True),
    ]


@pytest.mark.parametrize(("data", "why", "lost"), _bad_metas())
def test_a_meta_that_cannot_be_read_is_set_aside_and_made_anew(
    root: Path, data: bytes, why: str, lost: bool
) -> None:
    _rich(root)
    write_meta(root, "one", data)

    done = ok("append", "one", "--role", "user", "--json", stdin=b"added")
    row = _row()

    name = f"recovered/meta.json-{hashlib.sha256(data).hexdigest()}.part"
    assert done.object["meta_set_aside"] == name
    assert (root / "one" / "files" / name).read_bytes() == data
    assert why in done.err
    assert ("labels, if it had any, are lost" in done.err) is lost
    assert (row["model"], row["messages"], row["problem"]) == ("acme/large", 3, None)
    assert row["title"] == ("text 1" if lost else "Old")
    assert row["labels"] == ({} if lost else {"team": "blue"})
    assert run("verify", "one").status == 0


def test_unknown_fields_of_a_meta_stay(root: Path) -> None:
    _rich(root)
    write_meta(root, "one", b'{"title":"T","later":{"k":[1]},"listed":{"theirs":2}}')

    _add()

    assert _meta(root)["later"] == {"k": [1]}
    assert _meta(root)["listed"]["theirs"] == 2


def test_a_meta_that_cannot_be_written_is_no_failure_of_the_append(root: Path) -> None:
    _rich(root)
    (root / "one" / "files").mkdir(mode=0o700)
    (root / "one" / "files" / "meta.json").symlink_to(root / "elsewhere")

    done = _add()

    assert "the meta was not written" in done.err
    assert _shown() == ["text 1", "text 2", "added"]
    assert not (root / "elsewhere").exists()


def test_nothing_in_a_meta_names_where_the_session_lies(root: Path) -> None:
    ok("new", "one", "--title", "T")
    _add()
    write_meta(root, "one", b"\0")
    _add()

    assert str(root).encode() not in (root / "one" / "files" / "meta.json").read_bytes()


def test_a_message_that_only_says_it_is_a_user_is_kept_as_it_came(root: Path) -> None:
    ok("new", "one")
    value: Object = {**message("user", "\ud83d broken"), "n": 12345678901234567890123}

    ok("append", "one", stdin=dumps(value))

    assert ok("show", "one", "--json").objects[1]["message"] == value


def test_a_new_agent_does_not_take_the_place_of_the_main_one(root: Path) -> None:
    ok("new", "s")
    ok("append", "s", "--role", "user", stdin=b"to the first")
    ok("append", "s", "--role", "user", "--agent", "aaa", stdin=b"to the second")

    shown = ok("show", "s").out

    assert "to the first" in shown
    assert "to the second" not in shown
    assert "to the second" in ok("show", "s", "--agent", "aaa").out
    assert ok("verify", "s").status == 0


CALL: Object = {"type": "toolcall", "id": "c", "function": {"name": "sh", "arguments": {}}}
RESULT: Object = {"type": "toolresult", "call": "c", "name": "sh", "content": []}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ({"role": "nobody", "content": "x"}, "a role"),
        ({"role": "user", "content": 5}, "the content"),
        ({"role": "user", "content": None}, "the content"),
        ({"role": "system", "content": []}, "a system message"),
        ({"role": "user", "content": [{"type": "text"}]}, "a text part"),
        ({"role": "user", "content": [{"type": "toolresult", "id": "x"}]}, "a toolresult"),
        ({"role": "assistant", "content": [{"type": "toolcall", "name": "x"}]}, "a toolcall"),
        ({"role": "assistant", "content": [{**CALL, "id": ""}]}, "a toolcall"),
        ({"role": "assistant", "content": [{**CALL, "id": {"provider": ""}}]}, "a toolcall"),
        ({"role": "assistant", "content": [{**CALL, "function": {"name": ""}}]}, "a name"),
        ({"role": "user", "content": [{**RESULT, "call": ""}]}, "a toolresult"),
        ({"role": "user", "content": [{**RESULT, "name": ""}]}, "the name"),
        (
            {
                "role": "user",
                "content": [
                    {"type": "image", "data": {"type": "url", "value": "blob:../../etc/passwd"}}
                ],
            },
            "blob:",
        ),
    ],
)
def test_what_no_reader_could_use_is_refused(root: Path, line: Object, told: str) -> None:
    ok("new", "one")
    before = tree(root)

    done = run("append", "one", stdin=dumps(line))

    assert done.status == 2
    assert told in done.err
    assert tree(root) == before
