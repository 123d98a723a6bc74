from __future__ import annotations

import json

import pytest

from agentmem_cli.session.codec import same
from agentmem_cli.session.scanning import DEPTH_MAX, TooDeep, is_too_deep, walk

_SCALAR = json.JSONDecoder().raw_decode


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[" * DEPTH_MAX + "]" * DEPTH_MAX, False),
        ("[" * DEPTH_MAX + "{}" + "]" * DEPTH_MAX, True),
        ("[" + ",".join(["[]"] * 3_000) + "]", False),
        ('["' + "[" * 3_000 + '\\"["]', False),
    ],
)
def test_depth_is_counted_outside_strings_only(text: str, expected: bool) -> None:
    assert is_too_deep(text, 0, len(text)) is expected


def test_the_walker_stops_at_its_bound_whatever_follows() -> None:
    with pytest.raises(TooDeep, match=str(DEPTH_MAX)):
        walk("[" * 100_000, 0, _SCALAR)


def test_the_walker_reads_what_the_exact_reader_reads() -> None:
    text = '{ "a" : [ 1.10 , { } , [ ] , "x\\ud800" ] , "b":null , "a" : true }'

    value, end = walk(text, 0, _SCALAR)

    assert same(value, {"a": True, "b": None})
    assert end == len(text)


@pytest.mark.parametrize(
    "text", ["[1 2]", '{"a" 1}', "{1:2}", '{"a":1', "[", "[1,]", '{"a":1,}', ""]
)
def test_the_walker_refuses_what_is_not_json(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        walk(text, 0, _SCALAR)
