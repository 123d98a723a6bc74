from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentmem_cli.errors import AgentMemError
from agentmem_cli.limits import CHUNK_BYTES
from agentmem_cli.operations.imports import mending
from agentmem_cli.operations.imports.adapter import FLAWS_MAX, Tally
from agentmem_cli.operations.imports.foreign import ForeignFile, brief, read_lines
from agentmem_cli.operations.imports.mending import DEPTH_MAX, depth
from agentmem_cli.session.codec import dumps, scan_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem_cli.session.codec import JSON, Object


def record(name: str) -> bytes:
    return b'{"type":"message","name":"%b"}' % name.encode()


A, B, C, D = (record(name) for name in "ABCD")


def is_message(value: Object) -> bool:
    return value.get("type") == "message"


def read(data: bytes, size: int = 7) -> tuple[list[str], Tally]:
    """Read *data* in chunks of *size* bytes; return the records' names and the tally."""
    tally = Tally()
    chunks: Iterator[bytes] = (data[at : at + size] for at in range(0, len(data), size))
    found = [str(line.value.get("name")) for line in read_lines(chunks, is_message, tally)]
    return found, tally


@pytest.mark.parametrize(
    "data",
    [
        A + b"\n" + B + b"\n",
        A + b"\n" + B,
        A + b"\r\n" + B + b"\r\n",
        A + b"\n\n  \t\n" + B + b" \t\r\n\n",
        b"\xef\xbb\xbf" + A + b"\n" + B + b"\n",
        b"\xff\xfe" + (A + b"\n" + B + b"\n").decode().encode("utf-16-le"),
        b"\xfe\xff" + (A + b"\n" + B).decode().encode("utf-16-be"),
        b"\xff\xfe\0\0" + (A + b"\n" + B).decode().encode("utf-32-le"),
    ],
)
def test_every_spelling_of_whole_lines_is_read_without_a_word(data: bytes) -> None:
    found, tally = read(data)

    assert found == ["A", "B"]
    assert (tally.records, tally.lost, tally.mended, tally.torn) == (2, 0, 0, None)


@pytest.mark.parametrize("cut", [1, 10, len(C) - 1])
def test_a_cut_last_line_is_a_torn_end_and_costs_no_other_line(cut: int) -> None:
    found, tally = read(A + b"\n" + B + b"\n" + C[:cut])

    assert found == ["A", "B"]
    assert tally.torn == (3, len(A) + len(B) + 2, cut)
    assert tally.lost == 0


def test_an_end_inside_a_character_is_a_torn_end() -> None:
    cut = '{"type":"message","name":"\u20ac'.encode()[:-1]

    found, tally = read(A + b"\n" + cut)

    assert found == ["A"]
    assert tally.torn == (2, len(A) + 1, len(cut))


def test_a_cut_record_that_ends_with_a_whole_inner_object_gives_no_record() -> None:
    found, tally = read(A + b'\n{"type":"message","content":[{"type":"text","name":"inner"}')

    assert found == ["A"]
    assert tally.torn is not None


@pytest.mark.parametrize("cut", [1, 9, 20, len(B) - 1])
def test_a_whole_record_behind_a_stub_is_salvaged_and_the_stub_told(cut: int) -> None:
    found, tally = read(A + b"\n" + B[:cut] + C + b"\n" + D + b"\n")

    assert found == ["A", "C", "D"]
    assert [(flaw.line, flaw.byte, flaw.lost) for flaw in tally.flaws] == [(2, len(A) + 1, True)]
    assert str(cut) in tally.flaws[0].why


def test_a_stub_and_a_whole_record_of_the_same_id_give_the_record_once() -> None:
    found, tally = read(B[:-4] + B + b"\n")

    assert found == ["B"]
    assert tally.lost == 1


@pytest.mark.parametrize("piece", [b'{"seq":1,"type":"push"', b'{"a":"x",'])
@pytest.mark.parametrize("count", [300, 3_000, 30_000])
def test_a_line_made_to_cost_is_read_a_few_times_at_most(
    monkeypatch: pytest.MonkeyPatch, piece: bytes, count: int
) -> None:
    tried: list[int] = []

    def counted(text: str, start: int) -> tuple[JSON, int]:
        tried.append(len(text) - start)
        return scan_text(text, start)

    monkeypatch.setattr(mending, "scan_text", counted)

    found, tally = read(piece * count + b"\n" + B)

    assert (found, tally.lost) == (["B"], 1)
    assert sum(tried) <= (1 << 20) + 70 * len(piece * count)


def test_whole_records_that_share_a_line_all_come_out() -> None:
    found, tally = read(A + B + C + b"\n" + D)

    assert found == ["A", "B", "C", "D"]
    assert [(flaw.line, flaw.lost) for flaw in tally.flaws] == [(1, False)]
    assert "3 records" in tally.flaws[0].why


def test_bytes_behind_a_whole_record_cost_only_themselves() -> None:
    found, tally = read(A + b" and so on\n" + B)

    assert found == ["A", "B"]
    assert (tally.lost, tally.flaws[0].byte) == (1, len(A) + 1)


@pytest.mark.parametrize(
    ("data", "byte", "lost"),
    [
        (A + b"\n" + bytes(512) + b"\n" + B + b"\n", len(A) + 1, True),
        (A + b"\n" + bytes(300) + B + b"\n", len(A) + 1, False),
        (A + bytes(20) + b"\n" + B + b"\n", len(A), False),
        (A + bytes(20) + B + b"\n", len(A), False),
    ],
)
def test_runs_of_nul_hide_no_record(data: bytes, byte: int, lost: bool) -> None:
    found, tally = read(data)

    assert found == ["A", "B"]
    assert [(flaw.byte, flaw.lost) for flaw in tally.flaws] == [(byte, lost)]


@pytest.mark.parametrize("end", [b"\n", b""])
def test_nuls_at_the_end_are_a_torn_end(end: bytes) -> None:
    found, tally = read(A + end + bytes(4096))

    assert found == ["A"]
    assert tally.torn is not None
    assert tally.torn[1:] == (len(A) + len(end), 4096)
    assert tally.flaws == []


def test_a_byte_that_is_not_utf8_becomes_a_mark_and_is_told_with_its_place() -> None:
    bad = b'{"type":"message","name":"caf\xe9"}'

    found, tally = read(A + b"\n" + bad + b"\n" + C + b"\n")

    assert found == ["A", "caf\ufffd", "C"]
    assert [tuple(flaw) for flaw in tally.flaws] == [
        (2, len(A) + 1 + bad.index(b"\xe9"), "not UTF-8", False, None)
    ]


def test_a_raw_control_character_in_a_string_is_read() -> None:
    found, tally = read(b'{"type":"message","name":"a\tb"}\n' + B)

    assert found == ["a\tb", "B"]
    assert (tally.mended, tally.lost) == (1, 0)


@pytest.mark.parametrize("levels", [DEPTH_MAX + 1, 900, 2_000, 100_000])
def test_a_line_nested_too_deeply_is_counted_and_nothing_else_suffers(levels: int) -> None:
    deep = b'{"a":' * levels + b"1" + b"}" * levels

    found, tally = read(A + b"\n" + deep + b"\n" + C + b"\n", size=1 << 16)

    assert found == ["A", "C"]
    assert [(flaw.line, flaw.lost) for flaw in tally.flaws] == [(2, True)]
    assert "deep" in tally.flaws[0].why


def test_many_brackets_beside_one_another_are_not_deep() -> None:
    wide = b'{"type":"message","name":"W","a":[' + b"{}," * 2_000 + b"{}]}"

    found, tally = read(wide + b"\n", size=1 << 16)

    assert found == ["W"]
    assert tally.lost == 0


def test_depth_counts_arrays_and_objects() -> None:
    depths = [depth(1), depth([]), depth({"a": [{"b": 1}], "c": 2})]

    assert depths == [0, 1, 3]


@pytest.mark.parametrize(
    ("line", "why"),
    [(b"[]", "array"), (b"null", "null"), (b"42", "number"), (b'"x"', "string"), (b"true", "true")],
)
def test_json_that_is_no_object_is_unusable_by_line_number(line: bytes, why: str) -> None:
    found, tally = read(A + b"\n" + line + b"\n" + C + b"\n")

    assert found == ["A", "C"]
    assert [(flaw.line, flaw.lost) for flaw in tally.flaws] == [(2, True)]
    assert why in tally.flaws[0].why


@pytest.mark.parametrize(
    "text",
    [b'"boats \\ud83d"', b"340282366920938463463374607431768211456", b"-9223372036854775809"],
)
def test_what_the_fast_decoder_would_lose_is_exact(text: bytes) -> None:
    tally = Tally()

    found = list(read_lines([b'{"a":' + text + b"}\n"], is_message, tally))

    assert [dumps(line.value) for line in found] == [b'{"a":' + text + b"}"]


def test_a_long_number_far_inside_a_huge_line_is_exact() -> None:
    number = b"340282366920938463463374607431768211456"
    for padding in (CHUNK_BYTES - 30, CHUNK_BYTES - 20, 3 * CHUNK_BYTES):
        text = b'{"a":"' + b"x" * padding + b'","b":' + number + b"}"

        (found,) = read_lines([text], is_message, Tally())

        assert found.value["b"] == int(number)


def test_a_brief_look_sees_every_record_and_leaves_out_the_inside_of_a_long_text(
    tmp_path: Path,
) -> None:
    path = tmp_path / "long.jsonl"
    long = b'{"a":"' + b"QUJD" * CHUNK_BYTES + b'","b":1}'
    path.write_bytes(b"\n".join([A, long, B, long]) + b"\n")
    tally = Tally()

    found = list(read_lines(brief(ForeignFile(path).lent_chunks()), is_message, tally))

    assert [line.value.get("name") for line in found] == ["A", None, "B", None]
    assert [line.value.get("b") for line in found] == [None, 1, None, 1]
    assert all(len(dumps(line.value)) < 3 * CHUNK_BYTES for line in found)
    assert (tally.lines, tally.records, tally.lost) == (4, 4, 0)


@pytest.mark.parametrize("mark", [b'"', b"\\", b"\n", b",", b"\0", b"\xc3\xa9"])
def test_a_brief_look_leaves_out_nothing_but_the_inside_of_a_text(mark: bytes) -> None:
    plain = b"x" * CHUNK_BYTES
    marked = plain[len(mark) :] + mark

    seen = list(brief([plain, plain, marked, plain[1:], plain]))

    assert seen == [plain, marked, plain[1:]]


def test_beyond_a_bound_flaws_are_only_counted() -> None:
    found, tally = read(b"[]\n" * (FLAWS_MAX + 50) + A, size=1 << 16)

    assert found == ["A"]
    assert (len(tally.flaws), tally.lost) == (FLAWS_MAX, FLAWS_MAX + 50)


@given(st.binary(max_size=200), st.integers(1, 64))
@example(b"\xff\xfe", 1)
@example(b"\xff\xfe\x00\xd8" + b"{\x00", 3)
@example(b"\0\n{\0", 2)
def test_any_bytes_between_two_records_cost_neither(noise: bytes, size: int) -> None:
    found, tally = read(A + b"\n" + noise + b"\n" + B + b"\n", size)

    assert found[0] == "A"
    assert found[-1] == "B"
    assert tally.torn is None


@given(st.lists(st.sampled_from([A, B, C, D]), max_size=5), st.data())
def test_a_cut_anywhere_keeps_every_record_before_it(
    records: list[bytes], data: st.DataObject
) -> None:
    whole = b"".join(record + b"\n" for record in records)
    at = data.draw(st.integers(0, len(whole)))

    found, tally = read(whole[:at])

    assert len(found) == whole[: at + 1].count(b"\n")
    assert (tally.torn is None) == (at == 0 or b"\n" in whole[at - 1 : at + 1])


def test_a_file_is_read_as_long_as_it_was_when_it_was_opened(tmp_path: Path) -> None:
    path = tmp_path / "live.jsonl"
    path.write_bytes(A + b"\n")
    with ForeignFile(path) as source:
        with path.open("ab") as stream:
            stream.write(B + b"\n")

        data = b"".join(source.chunks())

    assert data == A + b"\n"


def test_a_pipe_is_refused_without_waiting_for_its_writer(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    if hasattr(os, "mkfifo"):
        os.mkfifo(path)
    else:
        path = Path(os.devnull)

    with pytest.raises(AgentMemError, match="not a regular file"):
        ForeignFile(path)
