"""String tokens of a line, and edits that leave every other byte alone."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem_cli.limits import JSON_DEPTH_MAX
from agentmem_cli.session.codec import TooDeep
from agentmem_cli.session.tokens import (
    apply_edits,
    encode_text,
    removal,
    spans_to_edits,
    string_tokens,
    text_of,
)

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def strings_of(value: object, path: tuple[str | int, ...] = ()) -> list[object]:
    if isinstance(value, str):
        return [(False, path, value)]
    found: list[object] = []
    if isinstance(value, dict):
        for key, item in value.items():
            found.append((True, (*path, key), key))
            found += strings_of(item, (*path, key))
    if isinstance(value, list):
        for index, item in enumerate(value):
            found += strings_of(item, (*path, index))
    return found


@given(JSON_VALUES, st.booleans(), st.sampled_from([None, 1]))
def test_every_string_is_found_with_its_path(
    value: object,
    escaped: bool,
    indent: int | None,
) -> None:
    raw = json.dumps(value, ensure_ascii=escaped, indent=indent).encode()  # noqa: TID251 - other spellings than ours

    found = [(token.is_key, token.path, text_of(raw, token)) for token in string_tokens(raw)]

    assert found == strings_of(value)


@given(st.text(), st.text(), st.data())
def test_a_span_is_replaced_and_every_other_byte_stays(
    text: str, new: str, data: st.DataObject
) -> None:
    spelled = "".join(
        data.draw(st.sampled_from([json.dumps(each)[1:-1], encode_text(each).decode()]))  # noqa: TID251 - other spellings than ours
        for each in text
    )
    raw = b'{ "a" : 1e400, "b":"' + spelled.encode() + b'"  }'
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    token = string_tokens(raw)[-1]

    edited = apply_edits(raw, spans_to_edits(raw, token, [(start, end, new)]))

    assert text_of(edited, string_tokens(edited)[-1]) == text[:start] + new + text[end:]
    place, stop, inside = spans_to_edits(raw, token, [(start, end, new)])[0]
    assert edited == raw[:place] + inside + raw[stop:]


def test_many_spans_of_one_string_are_replaced_in_one_go() -> None:
    text = 'é"x😀' * 1000
    raw = json.dumps({"k": text}).encode()  # noqa: TID251 - other spellings than ours
    token = string_tokens(raw)[1]
    spans = [(4 * index + 2, 4 * index + 3, "y") for index in range(1000)]

    edited = apply_edits(raw, spans_to_edits(raw, token, spans))

    assert json.loads(edited) == {"k": 'é"y😀' * 1000}


def test_half_of_a_pair_and_the_loser_of_a_duplicate_key_are_strings_like_others() -> None:
    raw = rb'{"k":"one \ud83d","k":"two","n":12345678901234567890123}'

    tokens = string_tokens(raw)

    assert [text_of(raw, token) for token in tokens] == ["k", "one \ud83d", "k", "two", "n"]
    edits = spans_to_edits(raw, tokens[1], [(0, 3, "1")])
    assert apply_edits(raw, edits) == raw.replace(b"one", b"1")


@pytest.mark.parametrize(
    ("line", "left"),
    [
        (b'{"a":1, "s":"x", "b":2}', b'{"a":1, "b":2}'),
        (b'{"a":1 , "s" : "x" }', b'{"a":1  }'),
        (b'{"s":"x"}', b"{}"),
        (b'{ "s":"x" , "b":2}', b'{ "b":2}'),
    ],
)
def test_a_member_goes_with_one_comma(line: bytes, left: bytes) -> None:
    tokens = string_tokens(line)
    key, value = next(
        (key, value)
        for key, value in itertools.pairwise(tokens)
        if key.is_key and text_of(line, key) == "s"
    )

    assert apply_edits(line, [removal(line, key, value.end)]) == left


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b'{"a"}',
        b'{"a":}',
        b'{"a":1,}',
        b"[1,]",
        b"[1 2]",
        b"[1}",
        b'{"a":1]',
        b'"a" "b"',
        b'{"a":01}',
        b'{a:"b"}',
        b'"\n"',
        b'"\\x"',
        b'"\\u12"',
        b'"\xff"',
        b"nul",
        b'{1:"a"}',
        b",",
        b":",
        b"]",
        b'["a":"b"]',
    ],
)
def test_what_is_not_one_json_value_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"JSON|codec can't decode"):
        string_tokens(line)


def test_nesting_beyond_the_bound_is_its_own_error() -> None:
    inside = b'{"a":' * JSON_DEPTH_MAX + b"1" + b"}" * JSON_DEPTH_MAX

    assert len(string_tokens(inside)) == JSON_DEPTH_MAX
    with pytest.raises(TooDeep):
        string_tokens(b"[" + inside + b"]")
