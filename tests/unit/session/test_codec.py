from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from agentmem_cli.session import codec
from agentmem_cli.session.codec import Number, dumps, loads, same
from agentmem_cli.session.scanning import DEPTH_MAX
from tests.strategies import NUMBER_TEXTS, json_values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem_cli.session.codec import JSON


@pytest.fixture(
    scope="module", params=["by what stands in it", "by what it comes to"], autouse=True
)
def exactness(request: pytest.FixtureRequest) -> Iterator[None]:
    """How it is known that the fast decoder loses nothing, as for short and for long texts."""
    with pytest.MonkeyPatch.context() as patched:
        if request.param == "by what it comes to":
            patched.setattr(codec, "_LONG_BYTES", -1)
        yield


@given(value=json_values(12))
def test_what_is_written_reads_as_the_same_value(value: JSON) -> None:
    raw = dumps(value)

    assert same(loads(raw), value)
    assert dumps(loads(raw)) == raw


@pytest.mark.parametrize(
    "text",
    [
        *NUMBER_TEXTS,
        "1e+16",
        "1e16",
        "1e-07",
        "1e-7",
        "100000000000000000000.0",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775809",
        "9007199254740993",
        "0",
        "-1",
        "0.1",
    ],
)
def test_a_number_is_written_as_it_was_read(text: str) -> None:
    raw = f'{{"a":[{text}]}}'.encode()

    assert dumps(loads(raw)) == raw


def test_a_float_that_was_made_here_reads_as_the_same_value() -> None:
    for value in (1e16, 1e-7, 5e-324, 1.7976931348623157e308, -0.0, 1e22):
        assert same(loads(dumps([value])), [value])


def test_lone_surrogates_go_in_and_out_as_escapes() -> None:
    raw = b'{"\\udc00":"\\ud83d x"}'

    value = loads(raw)

    assert value == {"\udc00": "\ud83d x"}
    assert dumps(value) == raw


def test_a_number_compares_by_its_spelling_and_survives_pickling() -> None:
    number = Number("1e400")

    assert pickle.loads(pickle.dumps(number)) == number
    assert number == Number("1e400")
    assert number != Number("1e401")
    assert number == float("inf")
    assert hash(number) == hash(float("inf"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (1, 1.0),
        (0.0, -0.0),
        (None, False),
        ([1], [1, 1]),
        ({"a": 1}, {"b": 1}),
        ({"a": [1]}, {"a": [True]}),
        ("1", 1),
        (Number("1.10"), 1.1),
        ([], {}),
    ],
)
def test_values_of_other_json_are_not_the_same(one: JSON, other: JSON) -> None:
    assert not same(one, other)
    assert not same(other, one)


def test_the_order_of_keys_does_not_count() -> None:
    assert same({"a": 1, "b": [2]}, {"b": [2], "a": 1})


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b" ",
        b"{",
        b'{"a":1,}',
        b"[1 2]",
        b"1 2",
        b"{}x",
        b"NaN",
        b"Infinity",
        b"-Infinity",
        b'{"a":NaN,"b":1.10}',
        b'"\x01"',
        b"\xff",
        b"\xef\xbb\xbf{}",
        b"'a'",
        b"01",
        b"\0",
    ],
)
def test_what_is_not_json_is_a_value_error(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        loads(raw)

    assert not isinstance(caught.value, codec.TooDeep)


@pytest.mark.parametrize("raw", [b"[]", b"null", b"42", b'"x"', b"1.10"])
def test_what_is_no_object_is_a_value_error_where_one_is_wanted(raw: bytes) -> None:
    with pytest.raises(ValueError, match="not a JSON object"):
        codec.loads_object(raw)


def nested(depth: int, inner: bytes = b"1") -> bytes:
    return b'{"a":' * depth + inner + b"}" * depth


def called_from(frames: int, raw: bytes) -> JSON:
    """Decode with *frames* more calls on the stack."""
    return called_from(frames - 1, raw) if frames else codec.loads_text(raw.decode())


@pytest.mark.parametrize("depth", [900, DEPTH_MAX])
@pytest.mark.parametrize("frames", [0, 150])
def test_what_is_deep_but_within_the_bound_reads_from_any_place(depth: int, frames: int) -> None:
    raw = nested(depth, b"1.10")

    value = called_from(frames, raw)

    assert dumps(value) == raw
    assert same(value, loads(raw))


@pytest.mark.parametrize("depth", [DEPTH_MAX + 1, 2_000, 100_000])
@pytest.mark.parametrize("inner", [b"1", b'"\\ud800"', b"1.10"])
def test_what_is_too_deep_says_so(depth: int, inner: bytes) -> None:
    with pytest.raises(codec.TooDeep, match="nested"):
        loads(nested(depth, inner))


@pytest.mark.parametrize("raw", [b"[" * 2_000, b"[" * 100_000, b'{"a":' * 2_000 + b"]"])
def test_what_is_too_deep_and_broken_too_is_too_deep(raw: bytes) -> None:
    with pytest.raises(codec.TooDeep):
        loads(raw)


@pytest.mark.parametrize("raw", [b"[1 2" + b"[" * 2_000, b'["' + b"[" * 2_000, b"x" + b"[" * 2_000])
def test_what_is_broken_before_it_is_deep_is_no_json(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        loads(raw)

    assert not isinstance(caught.value, codec.TooDeep)


def test_many_brackets_that_are_not_deep_are_fine() -> None:
    raw = b'[1.10,"' + b"[" * 3_000 + b'\\"[",' + b",".join([b"[[]]"] * 2_000) + b"]"

    assert dumps(loads(raw)) == raw


def test_members_and_elements_say_where_things_stand() -> None:
    text = '{ "a" : [1, {"b":2} ,"]"] , "c":7, "a":8}'

    spans = codec.members(text)
    begin = text.index("[")
    elements = codec.elements(text, begin)

    assert {key: text[start:end] for key, (start, end) in spans.items()} == {"a": "8", "c": "7"}
    assert [text[start:end] for start, end in elements] == ["1", '{"b":2}', '"]"']
    assert codec.members("{}") == {}
    assert codec.elements("[ ]", 0) == []


@pytest.mark.parametrize("text", ["[]", '{"a":1 "b":2}', "{1:2}"])
def test_members_of_what_is_no_object_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        codec.members(text)


@pytest.mark.parametrize("text", ["{}", "[1 2]"])
def test_elements_of_what_is_no_array_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        codec.elements(text, 0)


@pytest.mark.parametrize("value", [{1: 2}, [object()], {"a": {1, 2}}])
def test_what_has_no_json_form_is_a_type_error(value: JSON) -> None:
    with pytest.raises(TypeError):
        dumps(value)


def test_the_exact_writer_knows_every_kind_of_value() -> None:
    value: JSON = [2**70, True, False, None, 1.5, float("nan"), "é\ud800", {"a": [], "b": {}}]

    assert (
        dumps(value)
        == b'[1180591620717411303424,true,false,null,1.5,null,"\xc3\xa9\\ud800",{"a":[],"b":{}}]'
    )


@given(value=json_values(12))
def test_what_counts_as_exact_when_decoded_fast_is_what_the_exact_reader_gives(value: JSON) -> None:
    data = dumps(value)
    try:
        fast = codec.loads_fast(data)
    except ValueError:
        return  # half of a surrogate pair, which only the exact reader reads

    assert not codec.is_exact(fast) or same(fast, loads(data))


@pytest.mark.parametrize(
    "text", ["1.10", "-0", "1e400", "18446744073709551616", "[-0]", '{"a":1.0}']
)
def test_numbers_that_may_have_been_changed_are_not_exact(text: str) -> None:
    try:
        fast = codec.loads_fast(text.encode())
    except ValueError:
        fast = 1.0

    assert not codec.is_exact(fast)
    assert codec.is_exact([{"a": "1.10", "b": [7, None, True, -1]}])
