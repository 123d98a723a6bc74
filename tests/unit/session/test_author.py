from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from agentmem_cli.session.author import Author
from agentmem_cli.session.codec import same
from tests.strategies import authors

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON


@given(author=authors())
def test_an_author_comes_back_from_its_json(author: Author) -> None:
    again = Author.of(author.to_value())

    assert again == author
    assert same(again.to_value(), author.to_value())


def test_authors_are_made_as_the_format_has_them() -> None:
    assert Author.user().to_value() == {"kind": "user"}
    assert Author.agent("b", request="r", title="t").to_value() == {
        "kind": "agent",
        "from": "b",
        "request": "r",
        "title": "t",
    }
    assert Author.rig().to_value() == {"kind": "rig"}
    assert Author.plugin("p").to_value() == {"kind": {"plugin": "p"}}


@pytest.mark.parametrize("value", [None, 7, "user", []])
def test_what_is_no_object_is_no_author(value: JSON) -> None:
    with pytest.raises(ValueError, match="author"):
        Author.of(value)


def test_an_author_without_a_kind_is_the_user() -> None:
    assert Author.of({}) == Author.user()
    assert Author.of({"title": "a"}).to_value() == {"kind": "user", "title": "a"}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("user", "user"),
        ({"plugin": "cron"}, "cron"),
        ({"plugin": 7}, "unknown"),
        ({}, "unknown"),
        (None, "unknown"),
        ([1], "unknown"),
    ],
)
def test_an_author_has_a_name_whatever_its_kind(kind: JSON, name: str) -> None:
    assert Author.of({"kind": kind}).name == name


def test_authors_differ_by_any_field_and_by_the_kind_of_a_number() -> None:
    assert Author("user", extra={"x": 1}) != Author("user", extra={"x": True})
    assert Author.user() != Author.rig()
    assert Author.user() != {"kind": "user"}
