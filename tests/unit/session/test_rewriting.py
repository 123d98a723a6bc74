from __future__ import annotations

import re
import tracemalloc
from typing import TYPE_CHECKING, Any, cast

import pytest

from agentmem_cli import errors
from agentmem_cli.limits import CHUNK_BYTES
from agentmem_cli.session.codec import dumps, loads, loads_object
from agentmem_cli.session.keys import CURRENT, FORKED_FROM
from agentmem_cli.session.mapping import is_text, key_edits, map_strings, seems_lines
from agentmem_cli.session.passing import BLOCK_BYTES, blocks, changed_lines
from agentmem_cli.session.rawlines import strings_changed, torn_at
from agentmem_cli.session.rewriter import rewrite
from agentmem_cli.session.rewriting import (
    File,
    Messages,
    Record,
    Rewrite,
    Strings,
    rewrite_file,
    rewrite_value,
)
from agentmem_cli.session.stamp import Stamp
from agentmem_cli.session.tokens import apply_edits, string_tokens, text_of
from agentmem_cli.storage.directory import DirStore
from agentmem_cli.storage.dirfiles import DirFiles
from agentmem_cli.storage.logfile import BytesLog
from agentmem_cli.storage.memory import MemoryStore
from tests.unit.session.rewriting_sessions import AT

HEAD = b'{"seq":0,"n":0,"t":1,"type":"header","format":"rig-session/4","log":"a","lineage":5}'

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.rewriting import Place
    from agentmem_cli.storage.store import Store

HERE = Record("main", Stamp(1, 1, 1), None)
UPPER = Strings(str.upper)


def upper(record: Object) -> Object:
    return loads_object(UPPER.line(HERE, dumps(record)))


# -- what is form and what is not ------------------------------------------


def test_fields_and_tags_of_a_message_stay_and_what_is_said_changes() -> None:
    call: Object = {
        "type": "toolcall",
        "id": {"provider": "c1"},
        "function": {"name": "read", "arguments": {"type": "a", "path": "b"}},
    }
    result: Object = {
        "type": "toolresult",
        "call": "c1",
        "name": "read",
        "content": [{"type": "text", "text": "t"}, {"type": "json", "value": {"text": "v"}}],
    }
    picture: Object = {
        "type": "image",
        "media_type": "png",
        "data": {"type": "url", "value": f"blob:{'a' * 64}.png"},
    }
    away: Object = {"type": "image", "data": {"type": "url", "value": "https://x"}}
    content: list[JSON] = [call, result, picture, away]
    message: Object = {
        "role": "assistant",
        "stop": {"kind": "end"},
        "content": content,
        "more": "m",
    }
    entry: Object = {
        "message": message,
        "author": {"kind": {"plugin": "p"}, "from": "f", "request": "r", "title": "t"},
        "id": 0,
    }
    record: Object = {"seq": 1, "n": 1, "t": 1, "type": "push", "entries": [entry]}

    new = cast("Any", upper(record)["entries"])[0]

    assert new["author"] == {
        "kind": {"plugin": "p"},
        "from": "f",
        "request": "R",
        "title": "T",
    }
    told = new["message"]
    assert told["stop"] == {"kind": "end"}
    assert told["MORE"] == "M"
    assert told["content"] == [
        {
            "type": "toolcall",
            "id": {"provider": "C1"},
            "function": {"name": "READ", "arguments": {"TYPE": "A", "PATH": "B"}},
        },
        {
            "type": "toolresult",
            "call": "C1",
            "name": "READ",
            "content": [{"type": "text", "text": "T"}, {"type": "json", "value": {"TEXT": "V"}}],
        },
        picture,
        {"type": "image", "data": {"type": "url", "value": "HTTPS://X"}},
    ]


def _aside(**more: JSON) -> Object:
    aside: Object = {"kind": "k", "author": {"kind": "rig"}, **more}
    return {"type": "aside", "id": 1, "aside": aside}


def _header(**more: JSON) -> Object:
    rewrites: list[JSON] = [{"t": 1, "by": {"kind": "user", **more}}]
    return {"type": "header", "format": "f", "log": "l", "parent": "p", "rewrites": rewrites}


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (_aside(x="y"), _aside(X="Y")),
        (_aside(value="y"), _aside(value="Y")),
        ({"type": "state", "key": "k", "value": {"a": "b"}}, None),
        ({"type": "state", "key": CURRENT, "value": "main"}, "same"),
        ({"type": "state", "key": FORKED_FROM, "value": {"session": "s"}}, "same"),
        (
            {"type": "state", "key": "rig::title", "value": "t"},
            {"type": "state", "key": "rig::title", "value": "T"},
        ),
        ({"type": "halt", "halt": "kept"}, "same"),
        (
            {"type": "reset", "state": {"entries": [], "asides": [{"id": 0, "aside": None}]}},
            "same",
        ),
        (_header(title="x"), _header(title="X")),
    ],
)
def test_what_a_record_is_stays(record: Object, expected: Object | str | None) -> None:
    stamped: Object = {"seq": 1, "n": 1, "t": 1, **record}

    new = upper(stamped)

    if expected is None:
        expected = {"type": "state", "key": "K", "value": {"A": "B"}}
    wanted = record if isinstance(expected, str) else expected
    assert new == {"seq": 1, "n": 1, "t": 1, **wanted}


def test_the_losers_among_doubled_keys_are_no_form() -> None:
    raw = (
        b'{"type":"hidden","seq":1,"n":1,"t":1,"halt":"word","halt":null,'
        b'"type":"halt","type":"halt"}'
    )

    new = UPPER.line(HERE, raw)

    assert new == raw.replace(b"hidden", b"HIDDEN").replace(b"word", b"WORD")


def test_hooks_are_asked_for_every_part_and_told_where() -> None:
    asked: list[tuple[str, Place, object]] = []

    class Asking(Rewrite):
        def message(self, at: Record, message: Object) -> bool:
            asked.append(("message", at, message["role"]))
            return False

        def aside(self, at: Record, aside: Object) -> bool:
            asked.append(("aside", at, aside["kind"]))
            return False

        def author(self, at: Record, author: Object) -> bool:
            asked.append(("author", at, author["title"]))
            return False

        def value(self, at: Place, key: str, value: JSON) -> tuple[JSON, bool]:
            asked.append((f"value {key}", at, value))
            return value, False

        def key(self, at: Place, key: str) -> str:
            asked.append(("key", at, key))
            return key

    def who(title: str) -> Object:
        return {"kind": "user", "title": title}

    entries: list[JSON] = [{"message": {"role": "r"}, "author": who("e"), "id": 0}, 7, {"id": 1}]
    aside: Object = {"id": 0, "aside": {"kind": "k", "author": who("a")}}
    records: list[Object] = [
        {"type": "push", "by": who("b"), "entries": entries},
        {"type": "splice", "with": entries},
        {"type": "reset", "state": {"entries": entries, "asides": [aside, None]}},
        {"type": "aside", **aside},
        {"type": "state", "key": "k", "value": [1]},
        {"type": "state", "key": "gone", "value": None},
        {"type": "header", "rewrites": [{"t": 1, "by": who("h")}, {"t": 2}]},
        {"type": "retired"},
    ]
    for record in records:
        raw = dumps(record)
        assert Asking().line(HERE, raw) is raw

    assert all(at is HERE for _, at, _ in asked)
    message, entry = ("message", "r"), ("author", "e")
    assert [(kind, told) for kind, _, told in asked] == [
        ("author", "b"), message, entry,
        message, entry,
        message, entry, ("aside", "k"), ("author", "a"),
        ("aside", "k"), ("author", "a"),
        ("value k", [1]), ("key", "k"), ("key", "gone"),
        ("author", "h"),
    ]  # fmt: skip


def test_a_hook_that_changes_more_than_strings_has_the_record_encoded_anew() -> None:
    def cut(_: Record, message: Object) -> bool:
        del message["signature"]
        return True

    raw = (
        b'{"seq":1, "n":1,"t":1,"type":"push","big":1e400,'
        b'"entries":[{"message":{"signature":"x","role":"user","n":-0},"id":0}]}'
    )

    new = Messages(cut).line(HERE, raw)

    assert new == raw.replace(b', "n"', b',"n"').replace(b'"signature":"x",', b"")


# -- files -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"a": ["b", 1e400]}\n', b'{"A": ["B", 1e400]}\n'),
        (b'\xef\xbb\xbf{"a":"b"}', b'\xef\xbb\xbf{"A":"B"}'),
        (b'{"a":"b"}\r\n\r\n{"c":1}\nnot json\n', b'{"A":"B"}\r\n\r\n{"C":1}\nNOT JSON\n'),
        (b"plain text\n{ and so on", b"PLAIN TEXT\n{ AND SO ON"),
        (b'"just a string"', b'"JUST A STRING"'),
        (b"", b""),
        (b" \n", b" \n"),
        (b"\xff\xfe a", b"\xff\xfe a"),
        (("[" * 3_000 + "é").encode(), ("[" * 3_000 + "É").encode()),
    ],
)
def test_a_file_is_mapped_as_what_it_is(data: bytes, expected: bytes, tmp_path: Path) -> None:
    files = DirFiles(tmp_path)
    files.write_file("a/b", data)

    changed = rewrite_file(files, "a/b", UPPER)

    assert files.read_file("a/b") == expected
    assert changed == (data != expected)


def test_an_absent_file_is_left_and_one_that_stays_is_not_written(tmp_path: Path) -> None:
    files = DirFiles(tmp_path)
    files.write_file("a", b"AB")
    before = (tmp_path / "a").stat().st_mtime_ns

    assert not rewrite_file(files, "none", UPPER)
    assert not rewrite_file(files, "a", UPPER)
    assert (tmp_path / "a").stat().st_mtime_ns == before
    assert files.files() == ["a"]


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/../../b", "..", "a\x00b"])
def test_a_file_whose_name_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        rewrite_file(DirFiles(tmp_path / "in"), name, UPPER)

    assert list(tmp_path.iterdir()) == []


def test_a_value_is_mapped_by_itself() -> None:
    value, changed = rewrite_value({"a": ["b"]}, File("x"), "", UPPER)
    text, same = rewrite_value("A", File("x"), "", UPPER)

    assert (value, changed) == ({"A": ["B"]}, True)
    assert (text, same) == ("A", False)


def test_a_file_hook_of_ones_own_gets_every_file_whole() -> None:
    got: dict[str, bytes] = {}

    class Own(Rewrite):
        def file(self, name: str, data: bytes) -> bytes:
            got[name] = data
            return data

    store = MemoryStore()
    contents = {"plugins/a.jsonl": b"{}\n{}\n", "plugins/b": b"\0\xff", "meta.json": b"{}"}
    for name, data in contents.items():
        store.write_file(name, data)
    rewrite(store, None, Own(), now_ms=AT)

    assert got == contents


def test_a_large_text_is_told_by_its_beginning() -> None:
    most = 8

    assert is_text(b"abcdefg\xc3", most)
    assert not is_text(b"abcdef\xc3", most)
    assert not is_text(b"abc\xc3defg", most)
    assert not is_text(b"abc\0", most)
    assert seems_lines("x.jsonl", b"")
    assert seems_lines("x", b'\xef\xbb\xbf\n{"a":"\\ud83d"}\n{')
    assert not seems_lines("x", b'{"a":1}\n')
    assert not seems_lines("x", b"1\n2\n")


# -- strings ---------------------------------------------------------------


def test_keys_that_would_become_the_same_are_kept_apart() -> None:
    value: Object = {"a1": 1, "x": 2, "a2": 3, "a3": {"a1": 4, "a2": 5}}
    raw = dumps(value)
    strings = Strings(lambda text: "x" if text.startswith("a") else text)

    mapped, changed = map_strings(loads(raw), strings.f)
    new = strings.file_line(File("f"), 0, raw)

    expected: Object = {"x#2": 1, "x": 2, "x#3": 3, "x#4": {"x": 4, "x#2": 5}}
    assert changed
    assert mapped == expected
    assert list(loads_object(new)) == list(expected)
    assert loads(new) == expected


def test_edits_of_keys_leave_those_that_stay() -> None:
    raw = b'{"a":1,"b":{"a":2}}'
    tokens = [token for token in string_tokens(raw) if token.is_key]
    keys = [(token, text_of(raw, token), text_of(raw, token).upper()) for token in tokens[:1]]
    keys += [(token, text_of(raw, token), text_of(raw, token)) for token in tokens[1:]]

    assert apply_edits(raw, key_edits(keys)) == b'{"A":1,"b":{"a":2}}'


def test_depth_costs_no_stack() -> None:
    value: JSON = "a"
    for _ in range(5_000):
        value = [value]

    mapped, changed = map_strings(value, str.upper)

    assert changed
    for _ in range(5_000):
        assert isinstance(mapped, list)
        (mapped,) = mapped
    assert mapped == "A"


def test_strings_that_changed_are_counted() -> None:
    assert strings_changed(b'{"a":"b","c":"d"}', b'{"A":"b","c":"D"}') == 2
    assert strings_changed(b'{"a":"b","c":"d"}', b'{"a":"b"}') == 2
    assert strings_changed(b'{"a":1}', b'{"a":2}') == 1


# -- blocks ----------------------------------------------------------------


@pytest.mark.parametrize("sizes", [[1], [10, BLOCK_BYTES], [3 * BLOCK_BYTES, 5], [7] * 200_000])
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_blocks_are_whole_lines_and_all_of_the_file(sizes: list[int], end: bytes) -> None:
    data = b"\n".join(b"x" * size for size in sizes) + end

    found = list(blocks(BytesLog(data), len(data)))

    assert b"".join(block.data for block in found) == data
    assert all(block.data.endswith(b"\n") for block in found[:-1])
    at = 0
    for block in found:
        assert block.offset == at
        at += len(block.data)


def test_only_lines_with_a_hit_are_looked_at() -> None:
    data = b"one\ntwo\nthree\nfour"
    seen: list[tuple[int, bytes]] = []

    def change(start: int, raw: bytes) -> bytes:
        seen.append((start, raw))
        return raw.upper() if raw != b"two" else raw

    assert changed_lines(data, [], change) is data
    assert changed_lines(data, [5], change) is data
    assert changed_lines(data, [16, 9, 10, 6], change) == b"one\ntwo\nTHREE\nFOUR"
    assert seen == [(4, b"two"), (4, b"two"), (8, b"three"), (14, b"four")]
    assert changed_lines(data, None, change) == b"ONE\ntwo\nTHREE\nFOUR"


@pytest.mark.parametrize(
    ("data", "torn"),
    [
        (b"", 0),
        (b'{"a":1}\n', 8),
        (b'{"a":1}\n{"b"', 8),
        (b'{"a":1}\nno\n', 8),
        (b'{"a":1}\n\n', 9),
        (b'{"a":1}\nno\n\n', 12),
        (b"x" * 300_000, 0),
        (b'{"a":1}\n' + b"x" * 300_000 + b"\n", 8),
        (b'{"a":1}\n"' + b"x" * 300_000 + b'"\n', 300_011),
    ],
)
def test_a_torn_tail_is_found_from_the_end(data: bytes, torn: int) -> None:
    assert torn_at(BytesLog(data)) == torn


def test_a_long_line_and_a_word_across_blocks_are_mapped(store: Store) -> None:
    long = "y" * (3 * CHUNK_BYTES)
    lines = [HEAD]
    texts = [long + "word" + long, "plain", "word", *(["plain" * 50] * 5_000), "word"]
    for number, text in enumerate(texts, 1):
        record: Object = {"seq": number, "n": number, "t": 1, "type": "state", "key": "k"}
        lines.append(dumps({**record, "value": text}))
    store.append_log("a", 0, b"\n".join(lines) + b"\n")

    class Some(Strings):
        def hits(self, block: bytes) -> Sequence[int] | None:
            return [found.start() for found in re.finditer(b"word", block)]

    done = rewrite(store, None, Some(lambda text: text.replace("word", "W")), if_idle_ms=None)

    new = store.read_log("a").split(b"\n")
    assert done.logs[0].records == 3
    assert [line.replace(b"W", b"word") for line in new[1:-1]] == lines[1:]


def test_a_refusal_names_the_line_wherever_it_stands(store: Store) -> None:
    head = HEAD + b"\n"
    line = b'{"seq":%d,"n":%d,"t":1,"type":"state","key":"k","value":"' + b"x" * 400 + b'"}\n'
    lines = [line % (number, number) for number in range(1, 2_000)]
    lines[1_500] = b"word\n"
    store.append_log("a", 0, head + b"".join(lines))

    with pytest.raises(errors.Record) as caught:
        rewrite(store, None, UPPER, if_idle_ms=None)

    assert caught.value.line == 1_502


def test_memory_grows_with_the_longest_line_and_not_with_the_log(tmp_path: Path) -> None:
    store = DirStore.open(tmp_path / "s")
    head = HEAD + b"\n"
    begin = b'{"seq":%d,"n":%d,"t":1,"type":"state","key":"k","value":"word '
    line = begin + b"x" * 20_000 + b'"}\n'
    store.append_log("a", 0, head + b"".join(line % (n, n) for n in range(1, 1_500)))
    store.write_file("plugins/p/a.jsonl", b'{"a":"word"}\n' * 2_000_000)
    store.write_file("recovered/a", b"word \xff\n" * 2_000_000)

    class Few(Strings):
        def hits(self, block: bytes) -> Sequence[int] | None:
            return [block.find(b"word")]

    tracemalloc.start()
    try:
        rewrite(store, None, Few(lambda text: text.replace("word", "W")), if_idle_ms=None)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 12 * CHUNK_BYTES
