from __future__ import annotations

import pytest

from agentmem_cli import errors
from agentmem_cli.session import fold as kinds
from agentmem_cli.session import lines
from agentmem_cli.session.author import Author
from agentmem_cli.session.fold import Cut, LogFold
from agentmem_cli.session.reader import HeldFiles
from agentmem_cli.session.source import LogSource
from agentmem_cli.storage.logfile import BytesLog

HEADER = b'{"seq":0,"n":0,"t":1,"type":"header","format":"rig-session/4","log":"main","lineage":7}'
HELLO = (
    b'{"seq":1,"n":1,"t":2,"type":"push","entries":[{"message":{"role":"user",'
    b'"content":[{"type":"text","text":"hello"}]},"id":0}]}'
)
VALUE = b'{"seq":2,"n":2,"t":3,"type":"state","key":"k","value":18446744073709551616}'
END = b'{"seq":3,"n":3,"t":4,"type":"retired"}'
WHOLE = (HEADER, HELLO, VALUE, END)


def fold(*parts: bytes, strict: bool = True, cut: Cut | None = None, end: bytes = b"\n") -> LogFold:
    data = b"\n".join(parts) + end
    return LogFold("main", LogSource(BytesLog(data), HeldFiles({})), strict=strict).run(cut)


def test_a_whole_log_is_folded() -> None:
    folded = fold(*WHOLE)

    assert folded.header is not None
    assert (folded.header.lineage, folded.conversation.lineage) == (7, 7)
    assert [message.text for message in folded.conversation.messages] == ["hello"]
    assert folded.conversation.entries[0].made == 2
    assert folded.conversation.changes == 1
    assert folded.saved == {"k": 2**64}
    assert folded.retired
    assert (folded.records, folded.last_seq, folded.last_n, folded.last_t) == (4, 3, 3, 4)
    assert folded.end == len(b"\n".join(WHOLE)) + 1
    assert folded.damages == []


@pytest.mark.parametrize("strict", [True, False])
def test_an_author_without_a_kind_is_the_user_wherever_it_stands(strict: bool) -> None:
    pushed = HELLO.replace(b'"id":0', b'"author":{"title":"a"},"id":0')
    noted = (
        b'{"seq":2,"n":2,"t":3,"by":{},"type":"aside","id":0,'
        b'"aside":{"kind":"note","after":0,"author":{}}}'
    )

    folded = fold(HEADER, pushed, noted, strict=strict)

    assert folded.damages == []
    assert folded.conversation.entries[0].author == Author.user(title="a")
    assert folded.conversation.asides[0].author == Author.user()


def test_the_newest_saved_value_wins_and_null_removes_it() -> None:
    def value(seq: int, text: str) -> bytes:
        return f'{{"seq":{seq},"n":{seq},"t":1,"type":"state","key":"k","value":{text}}}'.encode()

    assert fold(HEADER, value(1, "1"), value(2, "-0")).saved["k"].__reduce__()[1] == ("-0",)
    assert fold(HEADER, value(1, "1"), value(2, "null")).saved == {}


def test_a_torn_tail_is_no_error_and_ends_the_log() -> None:
    folded = fold(HEADER, HELLO, VALUE[:30], end=b"")

    assert folded.torn is not None
    assert folded.torn.kind == lines.TORN
    assert folded.end == len(HEADER + HELLO) + 2
    assert folded.records == 2


BAD = [
    (b"[]", lines.NO_RECORD),
    (b"null", lines.NO_RECORD),
    (b"42", lines.NO_RECORD),
    (b'"x"', lines.NO_RECORD),
    (b"{}", kinds.BAD_RECORD),
    (b'{"type":["message"]}', kinds.BAD_RECORD),
    (b'{"seq":1.0,"n":1,"t":2,"type":"halt"}', kinds.BAD_RECORD),
    (b'{"seq":1,"n":1e400,"t":2,"type":"halt"}', kinds.BAD_RECORD),
    (b'{"seq":1,"n":18446744073709551616,"t":2,"type":"halt"}', kinds.BAD_RECORD),
    (HELLO[:40], lines.NOT_JSON),
    (b"\0" * 90, lines.ZEROED),
    (b"\0" * 9 + HELLO, lines.ZEROED),
    (HELLO[:30] + HELLO, lines.WELDED),
    (HELLO.replace(b"hello", b"hel\xfflo"), lines.NOT_UTF8),
    (b'{"seq":1,"n":1,"t":2,"type":"aside","id":0,"aside":' + b"[" * 2_000, lines.TOO_DEEP),
    (b'{"seq":1,"n":1,"t":2,"type":["push"]}', kinds.BAD_RECORD),
    (b'{"seq":1,"n":1,"t":2}', kinds.BAD_RECORD),
    (b'{"seq":1,"n":1,"t":2,"type":"newer"}', kinds.UNKNOWN_TYPE),
    (b'{"seq":1,"n":1,"t":2,"type":"push","entries":7}', kinds.BAD_RECORD),
    (b'{"seq":1,"n":1,"t":2,"by":7,"type":"halt"}', kinds.BAD_RECORD),
    (b'{"seq":1,"n":1,"t":2,"type":"state"}', kinds.BAD_RECORD),
    (b'{"seq":1,"n":1,"t":2,"type":"halt","halt":"newer"}', kinds.NOT_APPLIED),
    (
        b'{"seq":1,"n":1,"t":2,"type":"splice","from":0,"to":1,"removed":[0],"with":[]}',
        kinds.NOT_APPLIED,
    ),
    (HEADER.replace(b'"seq":0,"n":0', b'"seq":1,"n":1'), kinds.BAD_HEADER),
]


@pytest.mark.parametrize(("line", "kind"), BAD)
def test_damage_is_an_error_with_its_line_when_strict(line: bytes, kind: str) -> None:
    with pytest.raises(errors.Record) as caught:
        fold(HEADER, line, VALUE, END)

    assert (caught.value.log, caught.value.line) == ("main", 2)
    assert caught.value.why


@pytest.mark.parametrize(("line", "kind"), BAD)
def test_damage_is_named_and_passed_over_when_lenient(line: bytes, kind: str) -> None:
    folded = fold(HEADER, line, VALUE, END, strict=False)
    found = [damage for damage in folded.damages if damage.kind != kinds.BAD_STAMP]

    assert [(damage.line, damage.kind) for damage in found] == [(2, kind)]
    assert len(HEADER) < found[0].offset < len(HEADER) + 1 + len(line)
    assert folded.saved == {"k": 2**64}
    assert folded.retired


@pytest.mark.parametrize(
    ("stamp", "told"),
    [
        (b'"seq":2,"n":1', "seq 2 follows 0"),
        (b'"seq":0,"n":1', "seq 0 follows 0"),
        (b'"seq":1,"n":0', "n 0 does not increase"),
    ],
)
def test_a_stamp_out_of_order_is_an_error_when_strict_and_folded_when_lenient(
    stamp: bytes, told: str
) -> None:
    line = HELLO.replace(b'"seq":1,"n":1', stamp)

    lenient = fold(HEADER, line, strict=False)

    assert [damage.kind for damage in lenient.damages] == [kinds.BAD_STAMP]
    assert len(lenient.conversation) == 1
    with pytest.raises(errors.Record, match=told):
        fold(HEADER, line)


@pytest.mark.parametrize("found", ["rig-session/5", "", None, 7])
def test_another_format_is_refused_by_its_name(found: str | int | None) -> None:
    told = "null" if found is None else f'"{found}"' if isinstance(found, str) else str(found)
    line = HEADER.replace(b'"rig-session/4"', told.encode())

    lenient = fold(line, HELLO, strict=False)

    assert lenient.damages[0].kind == kinds.BAD_FORMAT
    assert len(lenient.conversation) == 1
    with pytest.raises(errors.Format) as caught:
        fold(line, HELLO)
    assert caught.value.found == (found if isinstance(found, str) else None)


@pytest.mark.parametrize(
    "line",
    [
        HEADER.replace(b'"main"', b'"other"'),
        HEADER.replace(b'"lineage":7', b'"lineage":-1'),
        HEADER.replace(b'"type":"header"', b'"type":["header"]'),
        HELLO.replace(b'"seq":1,"n":1', b'"seq":0,"n":0'),
    ],
)
def test_a_log_that_does_not_begin_with_its_header_is_refused(line: bytes) -> None:
    lenient = fold(line, strict=False)

    assert lenient.damages[0].kind == kinds.BAD_HEADER
    with pytest.raises(errors.Record) as caught:
        fold(line)
    assert caught.value.line == 1


def test_keys_may_stand_in_any_order_and_unknown_ones_beside_them() -> None:
    header = (
        b'{"lineage":7,"log":"main","newer":{"a":1},"format":"rig-session/4",'
        b'"type":"header","t":1,"n":0,"seq":0}'
    )

    folded = fold(header, HELLO.replace(b'"type":"push"', b'"type":"push","newer":[1]'))

    assert folded.header is not None
    assert folded.header.extra == {"newer": {"a": 1}}
    assert len(folded.conversation) == 1


def test_a_cut_by_place_ends_before_the_first_record_past_it() -> None:
    assert [fold(*WHOLE, cut=Cut(n=n)).records for n in range(6)] == [0, 1, 2, 3, 4, 4]
    assert fold(*WHOLE, cut=Cut(n=2)).ended
    assert not fold(*WHOLE, cut=Cut(n=4)).ended


def test_a_cut_by_time_follows_the_latest_time_so_far() -> None:
    late = HELLO.replace(b'"t":2', b'"t":50')
    early = VALUE

    assert fold(HEADER, late, early, cut=Cut(t=10)).records == 1
    assert fold(HEADER, late, early, cut=Cut(t=10, future=40)).records == 3
    assert fold(HEADER, HELLO, early, cut=Cut(t=2)).records == 2


def test_every_record_is_told_after_it_was_folded() -> None:
    seen: list[tuple[int, int]] = []
    data = b"\n".join(WHOLE) + b"\n"
    source = LogSource(BytesLog(data), HeldFiles({}))

    LogFold("main", source, strict=True).run(
        on_record=lambda line, so_far: seen.append((line.number, so_far.records))
    )

    assert seen == [(1, 1), (2, 2), (3, 3), (4, 4)]


def at_n(seq: int, n: int) -> bytes:
    return f'{{"seq":{seq},"n":{n},"t":1,"type":"state","key":"k","value":{seq}}}'.encode()


@pytest.mark.parametrize(
    ("places", "n", "clashes"),
    [
        ((1, 2, 3), 2, []),
        ((1, 2, 3), 4, []),
        ((1, 2, 2), 2, [(3, 2), (4, 2)]),
        ((1, 1, 2), 2, [(2, 1), (3, 1)]),
        ((1, 1, 2), 3, []),
        ((1, 5, 2), 3, [(4, 2)]),
        ((1, 5, 5), 3, []),
    ],
)
def test_what_makes_a_cut_ambiguous_is_told_when_lenient(
    places: tuple[int, ...], n: int, clashes: list[tuple[int, int]]
) -> None:
    records = [at_n(seq, place) for seq, place in enumerate(places, 1)]

    folded = fold(HEADER, *records, strict=False, cut=Cut(n=n))

    assert folded.clashes == clashes


@pytest.mark.parametrize(
    "line",
    [
        b'{"seq":1,"n":1,"t":2,"type":"state","key":"k","value":"a\xff"}',
        (
            b'{"seq":1,"n":1,"t":2,"type":"aside","id":0,"aside":{"kind":"a\xff",'
            b'"author":{"kind":"rig"}}}'
        ),
        (
            b'{"seq":1,"n":1,"t":2,"type":"push","entries":[{"message":{"role":"a\xff"},"id":0,'
            b'"author":{"kind":"rig","x":[1.10]}}]}'
        ),
    ],
)
def test_a_record_with_a_byte_that_is_not_utf8_is_folded_when_lenient(line: bytes) -> None:
    folded = fold(HEADER, line, strict=False)
    conversation = folded.conversation
    kinds_of = [aside.kind for aside in conversation.asides.values()]
    roles = [message.role for message in conversation.messages]

    assert [damage.kind for damage in folded.damages] == [lines.NOT_UTF8]
    assert [*kinds_of, *roles, *folded.saved.values()] == ["a\ufffd"]
