"""JSON documents cut into records, and what is compressed."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentmem_cli.operations.imports import foreign
from agentmem_cli.operations.imports.adapter import Tally
from agentmem_cli.operations.imports.documents import Elements, spread
from agentmem_cli.operations.imports.foreign import read_lines
from agentmem_cli.session.codec import JSON, dumps, loads

_SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-9, 9), st.text('a"\\[]{},\n é', max_size=5)
)
_VALUES: st.SearchStrategy[JSON] = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text('k"]}', max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
_SPACES = st.sampled_from([b"", b" ", b"\n", b"\r\n\t"])


@given(
    arrays=st.lists(st.lists(_VALUES, max_size=4), min_size=1, max_size=3),
    space=_SPACES,
    size=st.integers(1, 9),
)
def test_elements_are_cut_out_whole_wherever_the_bytes_are_parted(
    arrays: list[list[JSON]], space: bytes, size: int
) -> None:
    each = [
        b"[" + (space + b"," + space).join(map(dumps, array)) + space + b"]" for array in arrays
    ]
    data = b"\n".join(each)
    elements = Elements()

    found = [*elements.cut(data[at : at + size] for at in range(0, len(data), size))]

    texts = [piece.data for piece in found if piece.data]
    assert [loads(text) for text in texts] == [value for array in arrays for value in array]
    assert len(found) - len(texts) == len(arrays) - 1
    assert all(data.startswith(piece.data, piece.offset) for piece in found)
    assert all(piece.line == 1 + data[: piece.offset].count(b"\n") for piece in found)
    assert elements.lines == 1 + data.count(b"\n")


def test_an_element_that_is_cut_off_is_told_as_such() -> None:
    for data in (b'[{"a":1},{"b', b'[{"a":1},{"b":"\\', b'[{"a":1},{"b":[1'):
        found = [*Elements().cut([data])]

        assert [piece.ended for piece in found] == [True, False]
        assert found[1].data == data[9:]


def read(data: bytes) -> tuple[list[JSON], Tally]:
    tally = Tally()
    return [line.value for line in read_lines([data], lambda _: True, tally)], tally


def test_an_object_on_several_lines_is_one_record() -> None:
    found, tally = read(b'{\n  "messages": [\n    {"role": "user"}\n  ]\n}\n')

    assert found == [{"messages": [{"role": "user"}]}]
    assert (tally.lines, tally.records, tally.lost) == (5, 1, 0)


def test_lines_of_which_the_first_is_cut_off_are_still_lines() -> None:
    found, tally = read(b'{"a":{"b":[\n{"c":1}\n{"d":1}\n')

    assert found == [{"c": 1}, {"d": 1}]
    assert (tally.lines, tally.lost) == (3, 1)


def test_an_object_too_large_to_be_read_whole_is_read_line_by_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(foreign, "DOCUMENT_BYTES_MAX", 4)

    found, tally = read(b'{\n"a":1\n}\n{"b":1}\n')

    assert found == [{"b": 1}]
    assert tally.lost == 3


def test_which_first_lines_go_on() -> None:
    assert [spread(line) for line in (b"{", b' {"a": [', b'{"a": 1,', b'{"a":1}', b"[", b"x,")] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]


def test_damage_in_an_array_costs_its_element_only() -> None:
    found, tally = read(b'[{"a":1}, {"b":}, 7, {"c":1}]')

    assert found == [{"a": 1}, {"c": 1}]
    assert [(flaw.line, flaw.byte) for flaw in tally.flaws] == [(1, 10), (1, 18)]


@pytest.mark.parametrize("tail", [b"]", b"]]", b" ] ", b"],[]]", b"}]", b",]x]"])
def test_brackets_that_close_nothing_are_told_and_end_nothing(tail: bytes) -> None:
    found, tally = read(b'[{"a":1}]' + tail + b'[{"b":2}]')

    assert found[0] == {"a": 1}
    assert 1 <= len(tally.flaws) <= len(tail)


@given(
    data=st.lists(st.sampled_from(b'[]{},"\\ \n1x'), max_size=24).map(bytes), size=st.integers(1, 9)
)
@example(data=b"]", size=1)
@example(data=b"[1]]", size=9)
@example(data=b"[1]]]", size=2)
def test_any_bytes_are_cut_once_and_the_same_wherever_they_are_parted(
    data: bytes, size: int
) -> None:
    pieces = Elements().cut(data[at : at + size] for at in range(0, len(data), size))
    found = [*islice(pieces, len(data) + 1)]

    assert len(found) <= len(data)
    assert found == [*Elements().cut([data])]
    end = 0
    for piece in found:
        assert piece.offset >= end
        assert not data[end : piece.offset].strip(b" \n,[]")
        end = piece.offset + len(piece.data)
    assert not data[end:].strip(b" \n,[]")
