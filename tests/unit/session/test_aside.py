from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from agentmem_cli.session.aside import Aside
from agentmem_cli.session.author import Author
from agentmem_cli.session.codec import dumps, loads
from tests.strategies import asides

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON


@given(aside=asides())
def test_an_aside_comes_back_from_its_json(aside: Aside) -> None:
    again = Aside.of(loads(dumps(aside.to_value())))

    assert again == aside
    assert again.saved is aside.saved
    assert dumps(again.to_value()) == dumps(aside.to_value())


def test_what_is_null_or_usual_is_left_out() -> None:
    aside = Aside("note", Author.rig())

    assert aside.to_value() == {"kind": "note", "author": {"kind": "rig"}}


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        [],
        {},
        {"kind": 7, "author": {"kind": "rig"}},
        {"kind": "a"},
        {"kind": "a", "author": "rig"},
        {"kind": "a", "author": {"kind": "rig"}, "after": "1"},
        {"kind": "a", "author": {"kind": "rig"}, "after": True},
        {"kind": "a", "author": {"kind": "rig"}, "after": -1},
        {"kind": "a", "author": {"kind": "rig"}, "after": 1.0},
    ],
)
def test_a_value_of_another_shape_is_no_aside(value: JSON) -> None:
    with pytest.raises(ValueError, match=r"aside|author"):
        Aside.of(value)


def test_asides_compare_by_their_json_at_any_depth() -> None:
    deep: JSON = 1
    for _ in range(5_000):
        deep = [deep]
    one, other = Aside("a", Author.rig(), deep), Aside("a", Author.rig(), [deep])

    assert one == Aside("a", Author.rig(), deep)
    assert one != other
    assert Aside("a", Author.rig(), 1) != Aside("a", Author.rig(), True)
    assert one != "a"
