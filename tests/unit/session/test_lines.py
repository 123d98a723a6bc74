from __future__ import annotations

from typing import NamedTuple

import pytest

from agentmem_cli.session import lines
from agentmem_cli.session.codec import JSON, scan_text
from agentmem_cli.session.lines import Damage, Line, scan, whole_records
from agentmem_cli.storage.logfile import BytesLog

ONE = b'{"seq":0,"n":0,"t":1,"type":"header"}'
TWO = b'{"seq":1,"n":1,"t":1,"type":"retired"}'
THREE = b'{"seq":2,"n":2,"t":1,"type":"state","key":"k","value":"\xe6\x97\xa5"}'


class Scanned(NamedTuple):
    records: list[Line]
    damages: list[Damage]

    @property
    def kinds(self) -> list[str]:
        return [damage.kind for damage in self.damages]

    def spans(self, data: bytes) -> list[bytes]:
        return [data[line.offset : line.offset + line.length] for line in self.records]


def scanned(data: bytes) -> Scanned:
    damages: list[Damage] = []
    return Scanned(list(scan(BytesLog(data), damages.append)), damages)


def deep(depth: int) -> bytes:
    return b'{"seq":1,"n":1,"t":1,"type":"state","key":"k","value":' + (
        b"[" * depth + b"]" * depth + b"}"
    )


def test_whole_lines_come_with_their_places() -> None:
    data = ONE + b"\n" + TWO + b"\n" + THREE + b"\n"

    found = scanned(data)

    assert found.damages == []
    assert found.spans(data) == [ONE, TWO, THREE]
    assert [line.number for line in found.records] == [1, 2, 3]


@pytest.mark.parametrize("data", [b"", b"\n", b"\n\n", b" \r\n\t\n"])
def test_an_empty_log_and_blank_lines_are_no_damage(data: bytes) -> None:
    assert scanned(data) == Scanned([], [])


def test_lines_end_at_a_newline_and_nowhere_else() -> None:
    text = '{"seq":0,"n":0,"t":1,"type":"a\u2028b\u0085c","x":1}\r\n'.encode()

    found = scanned(text)

    assert found.damages == []
    assert len(found.records) == 1


@pytest.mark.parametrize("cut", range(1, len(TWO) + 1))
def test_bytes_after_the_last_newline_are_a_torn_tail(cut: int) -> None:
    data = ONE + b"\n" + TWO[:cut]

    found = scanned(data)

    assert found.spans(data) == [ONE]
    assert found.damages == [
        Damage(2, len(ONE) + 1, cut, lines.TORN, f"the last line is cut off ({cut} bytes)")
    ]


@pytest.mark.parametrize("tail", [TWO[:20], b"\0" * 50, b"\xff\xfe", b"x"])
def test_a_last_line_that_is_not_json_is_a_torn_tail_with_its_end(tail: bytes) -> None:
    data = ONE + b"\n" + tail + b"\n"

    found = scanned(data)

    assert found.spans(data) == [ONE]
    assert found.kinds == [lines.TORN]
    assert found.damages[0][:3] == (2, len(ONE) + 1, len(tail) + 1)


@pytest.mark.parametrize(
    ("line", "kind", "offset", "length", "saved"),
    [
        (TWO[:20], lines.NOT_JSON, 0, 20, []),
        (b"\0" * 512, lines.ZEROED, 0, 512, []),
        (b"\0" * 300 + TWO, lines.ZEROED, 0, 300, [TWO]),
        (TWO + b"\0" * 30, lines.ZEROED, len(TWO), 30, [TWO]),
        (TWO[:20] + THREE, lines.WELDED, 0, 20, [THREE]),
        (TWO + THREE, lines.WELDED, 0, len(TWO + THREE), [TWO, THREE]),
        (TWO + b" " + THREE, lines.WELDED, 0, len(TWO + THREE) + 1, [TWO, THREE]),
        (b'{"seq":9,"n' + TWO, lines.WELDED, 0, 11, [TWO]),
        (b"\xff\xfe\x80", lines.NOT_JSON, 0, 3, []),
        (THREE.replace(b"\xe6\x97\xa5", b"a\xff"), lines.NOT_UTF8, 56, 1, None),
        (b"[]", lines.NO_RECORD, 0, 2, []),
        (b"null", lines.NO_RECORD, 0, 4, []),
        (b"42", lines.NO_RECORD, 0, 2, []),
        (b"1.10", lines.NO_RECORD, 0, 4, []),
        (b"true", lines.NO_RECORD, 0, 4, []),
        (b'"x"', lines.NO_RECORD, 0, 3, []),
        (b'"\\ud800"', lines.NO_RECORD, 0, 8, []),
        (deep(2_000), lines.TOO_DEEP, 0, len(deep(2_000)), []),
        (deep(100_000), lines.TOO_DEEP, 0, len(deep(100_000)), []),
    ],
)
def test_damage_in_the_middle_is_named_and_its_neighbours_read(
    line: bytes, kind: str, offset: int, length: int, saved: list[bytes] | None
) -> None:
    data = ONE + b"\n" + line + b"\n" + THREE + b"\n"
    begin = len(ONE) + 1

    found = scanned(data)

    assert [(d.line, d.offset, d.length, d.kind) for d in found.damages] == [
        (2, begin + offset, length, kind)
    ]
    assert found.damages[0].why
    assert found.spans(data) == [ONE, *([line] if saved is None else saved), THREE]


def test_what_is_deep_but_within_the_bound_reads() -> None:
    data = ONE + b"\n" + deep(900) + b"\n" + THREE + b"\n"

    assert scanned(data).damages == []
    assert len(scanned(data).records) == 3


def test_a_byte_that_is_not_utf8_reads_as_a_replacement() -> None:
    broken = THREE.replace(b"\xe6\x97\xa5", b"a\xffb")

    found = scanned(ONE + b"\n" + broken + b"\n")

    assert found.records[1].fields["value"] == "a\ufffdb"
    assert found.kinds == [lines.NOT_UTF8]


def test_two_records_of_one_stamp_are_both_salvaged() -> None:
    data = TWO[:-3] + TWO + b"\n" + THREE + b"\n"

    assert scanned(data).spans(data) == [TWO, THREE]


def test_records_inside_strings_of_a_whole_line_are_not_salvaged() -> None:
    inner = TWO.decode().replace('"', '\\"')
    line = f'{{"seq":0,"n":0,"t":1,"type":"state","key":"k","value":"{inner}"}}'.encode()

    found = scanned(line + b"\n")

    assert [record.length for record in found.records] == [len(line)]
    assert found.damages == []


def test_a_log_that_grew_since_it_was_opened_is_read_as_it_was() -> None:
    class Grown(BytesLog):
        def __init__(self, data: bytes, size: int) -> None:
            super().__init__(data)
            self.size = size

    data = ONE + b"\n" + TWO + b"\n"
    damages: list[Damage] = []

    at_an_end = list(scan(Grown(data, len(ONE) + 1), damages.append))
    inside = list(scan(Grown(data, len(ONE) + 5), damages.append))

    assert [len(at_an_end), len(inside)] == [1, 1]
    assert [(damage.kind, damage.offset, damage.length) for damage in damages] == [
        (lines.TORN, len(ONE) + 1, 4)
    ]


def test_the_search_for_records_gives_up_on_a_line_made_to_cost() -> None:
    line = b'{"seq":' * 5_000

    assert list(whole_records(line)) == []


@pytest.mark.parametrize("piece", [b'{"seq":1,"n":1,"t":1,"type":"push"', b'[{"seq":1,"a":"'])
@pytest.mark.parametrize("count", [300, 3_000, 30_000])
def test_the_search_for_records_reads_a_line_a_few_times_at_most(
    monkeypatch: pytest.MonkeyPatch, piece: bytes, count: int
) -> None:
    line = piece * count
    tried: list[int] = []

    def counted(text: str, start: int) -> tuple[JSON, int]:
        tried.append(len(text) - start)
        return scan_text(text, start)

    monkeypatch.setattr(lines, "scan_text", counted)

    assert list(whole_records(line)) == []
    assert sum(tried) <= (256 << 10) + 17 * len(line)


def test_a_whole_object_without_a_stamp_is_not_salvaged() -> None:
    line = b'{"type":"x"} {"seq":true,"n":1,"t":1,"type":"x"} {"seq":1,"n":1,"t":1,"type":[]}'

    assert list(whole_records(line)) == []
