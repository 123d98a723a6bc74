"""Core memory as saved values: their exact shape, and what other programs may have put there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem_cli.errors import Full
from agentmem_cli.session.codec import dumps, loads
from agentmem_cli.session.core_memory import MemoryBlock, MemoryBlockId, MemoryBlockType
from agentmem_cli.session.core_values import (
    CONFIG,
    NO_ID,
    BadValue,
    CoreValues,
    StoredBlock,
    read_block,
)

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON, Object

ID = MemoryBlockId("00000000-0000-4000-8000-000000000001")
BLOCK = MemoryBlock(ID, MemoryBlockType.HUMAN, "who", "Ada", 1, 2)
TEXT = st.text(st.characters(), max_size=20)
MAYBE = st.none() | TEXT


def test_a_block_has_exactly_the_fields_that_the_design_names() -> None:
    full = StoredBlock(BLOCK, "bob", "asked", 7, True, "about the user", {"new": [1]})

    assert full.to_value() == {
        "content": "Ada",
        "label": "who",
        "id": str(ID),
        "created": 1,
        "modified": 2,
        "by": "bob",
        "reason": "asked",
        "undoes": 7,
        "read_only": True,
        "description": "about the user",
        "new": [1],
    }
    assert StoredBlock(BLOCK._replace(label=None)).to_value() == {
        "content": "Ada",
        "id": str(ID),
        "created": 1,
        "modified": 2,
        "by": "user",
    }


@given(TEXT, MAYBE, MAYBE, MAYBE, st.none() | st.integers(0, 2**64), st.booleans())
def test_writing_and_reading_a_block_are_inverse(
    content: str,
    label: str | None,
    reason: str | None,
    description: str | None,
    undoes: int | None,
    read_only: bool,
) -> None:
    label = label if label is None or len(label.encode("utf-8", "surrogatepass")) < 65 else None
    block = BLOCK._replace(content=content, label=label)
    stored = StoredBlock(block, "x", reason, undoes, read_only, description, {"k": {"a": 1}})

    value = loads(dumps(stored.to_value()))

    assert read_block(MemoryBlockType.HUMAN, value) == stored


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("Ada", "it is a text, not an object"),
        (None, "it is null"),
        ([1], "it is an array"),
        (3, "it is a number"),
        ({}, "no content"),
        ({"content": None}, "no content"),
        ({"content": 3}, "no content"),
        ({"content": "x", "label": 3}, "its label is a number"),
        ({"content": "x", "id": "no"}, "not a UUID"),
        ({"content": "x", "id": 7}, "not a UUID"),
        ({"content": "x", "created": "now"}, "its created is a text"),
        ({"content": "x", "modified": 1.5}, "its modified is a number, not a whole"),
        ({"content": "x", "created": True}, "its created is true or false"),
        ({"content": "x", "by": {}}, "its by is an object"),
        ({"content": "x", "reason": []}, "its reason is an array"),
        ({"content": "x", "undoes": "1"}, "its undoes is a text"),
        ({"content": "x", "read_only": 1}, "its read_only is a number"),
        ({"content": "x", "description": False}, "its description is true or false"),
    ],
)
def test_a_value_of_another_shape_is_named_with_why(value: JSON, why: str) -> None:
    with pytest.raises(BadValue, match=why):
        read_block(MemoryBlockType.HUMAN, value)


def test_what_is_not_said_is_not_missed() -> None:
    stored = read_block(MemoryBlockType.FACTS, {"content": "x", "modified": 9})

    assert stored.block == MemoryBlock(NO_ID, MemoryBlockType.FACTS, None, "x", 9, 9)
    assert (stored.by, stored.reason, stored.read_only) == ("user", None, False)


def test_a_log_gives_its_blocks_in_order_and_names_the_rest() -> None:
    saved: Object = {
        "rig::model": "a/b",
        "core_memory.goals": {"content": "g"},
        "core_memory.system": {"content": "s"},
        "core_memory.human": "Ada",
        "core_memory.plans": {"content": "p"},
        CONFIG: {"max_bytes": 5000},
    }

    values = CoreValues.of(saved)

    assert [kind.value for kind in values.blocks] == ["system", "goals"]
    assert values.max_bytes == 5000
    assert list(values.bad) == ["core_memory.human", "core_memory.plans"]
    assert "rig::model" not in values.raw


@pytest.mark.parametrize(
    "config", [{}, 7, {"max_bytes": "x"}, {"max_bytes": 4095}, {"max_bytes": True}, {"max": 1}]
)
def test_a_bound_that_is_none_is_named_and_the_default_counts(config: JSON) -> None:
    values = CoreValues.of({CONFIG: config})

    assert values.max_bytes == 32768
    assert list(values.bad) == [CONFIG]


def test_more_than_there_may_be_is_read_and_told() -> None:
    saved: Object = {f"core_memory.{name}": {"content": "x" * 3000} for name in ("human", "facts")}
    values = CoreValues.of({**saved, CONFIG: {"max_bytes": 4096}})

    with pytest.raises(Full):
        values.memory()

    assert (values.used_bytes, values.over_bytes) == (6000, 1904)


def test_the_hash_is_of_what_the_block_says_and_not_of_who_said_it() -> None:
    one = StoredBlock(BLOCK)

    assert one.digest() == StoredBlock(BLOCK._replace(modified_at_ms=99), "bob", "why").digest()
    assert one.digest() != StoredBlock(BLOCK._replace(content="Eve")).digest()
    assert one.digest() != StoredBlock(BLOCK._replace(label=None)).digest()
    assert one.digest() != one._replace(read_only=True).digest()


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"content": "é" * 8193}, "its content is 16386 bytes; a block holds 16384"),
        ({"content": "x", "label": "é" * 33}, "its label is 66 bytes; 64 are allowed"),
    ],
)
def test_a_block_that_is_larger_than_it_may_be_is_one_and_is_told(value: JSON, why: str) -> None:
    values = CoreValues.of({"core_memory.human": value})

    assert values.bad == {}
    assert values.large == {"core_memory.human": why}
    assert [block.block_type for block in values.shown()] == ["human"]
