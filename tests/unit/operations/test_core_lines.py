"""Edits of a block's text by its lines, and two changes made one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem_cli.errors import AmbiguousError, NotFoundError, UsageError
from agentmem_cli.operations.core.lines import (
    END,
    append,
    insert,
    merge,
    places_of,
    replace,
    split_lines,
    steps,
)

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "\n", "\t\n", "d"]), max_size=8)
TEXTS = st.text(st.sampled_from("ab\n\r\t\0\ud800é"), max_size=12)


@pytest.mark.parametrize(
    ("content", "text", "expected"),
    [
        ("", "x", "x"),
        ("a", "x", "a\nx"),
        ("a\n", "x", "a\nx"),
        ("a\r\n", "x\n", "a\r\nx\n"),
        ("a\r", "x", "a\r\nx"),
        ("a", "", "a"),
        ("a\t", "\tx", "a\t\n\tx"),
    ],
)
def test_append_puts_one_newline_between_only_where_it_is_needed(
    content: str, text: str, expected: str
) -> None:
    assert append(content, text) == expected


@pytest.mark.parametrize(
    ("content", "line", "expected"),
    [
        ("a\nb\n", 0, "x\na\nb\n"),
        ("a\nb\n", 1, "a\nx\nb\n"),
        ("a\nb\n", 2, "a\nb\nx"),
        ("a\nb", 2, "a\nb\nx"),
        ("a\nb", END, "a\nb\nx"),
        ("a\r\nb\r\n", 1, "a\r\nx\nb\r\n"),
        ("", 0, "x"),
        ("", END, "x"),
    ],
)
def test_insert_puts_a_line_behind_the_one_that_is_named(
    content: str, line: int, expected: str
) -> None:
    assert insert(content, "x", line) == expected


@pytest.mark.parametrize(("content", "line"), [("a\nb\n", 3), ("", 1), ("a", -2)])
def test_insert_out_of_range_is_an_error(content: str, line: int) -> None:
    with pytest.raises(UsageError, match="the block has"):
        insert(content, "x", line)


@pytest.mark.parametrize(
    ("content", "old", "new", "expected"),
    [
        ("cost: 5", "5", "$&", "cost: $&"),
        ("a.b", "a.b", r"\1\g<0>", r"\1\g<0>"),
        ("axb a.b", "a.b", "-", "axb -"),
        ("a\r\n\tb", "\r\n\t", "\n", "a\nb"),
        ("a\0b", "\0", "", "ab"),
        ("x\ud800y", "\ud800", "é", "xéy"),
        ("a\n", "\n", "", "a"),
    ],
)
def test_replace_takes_both_texts_as_plain(content: str, old: str, new: str, expected: str) -> None:
    assert replace(content, old, new) == expected


def test_replace_refuses_an_empty_search() -> None:
    with pytest.raises(UsageError, match="empty text"):
        replace("abc", "", "x")


def test_replace_of_what_is_not_there_is_told() -> None:
    with pytest.raises(NotFoundError, match="does not stand"):
        replace("abc", "ABC", "x")


def test_replace_of_what_stands_twice_names_the_lines() -> None:
    with pytest.raises(AmbiguousError) as raised:
        replace("one\ntwo\none\n", "one", "x")

    assert raised.value.candidates == ("line 1", "line 3")


def test_places_that_overlap_are_counted() -> None:
    with pytest.raises(AmbiguousError, match="stands 2 times"):
        replace("aaa", "aa", "x")

    assert places_of("abababa", "aba") == [0, 2, 4]
    assert replace("aaa", "aa", "x", nth=2) == "ax"
    assert replace("aaaa", "aa", "x", everywhere=True) == "xx"


@pytest.mark.parametrize(("text", "nth", "often"), [("a a", 3, "2 times"), ("a", 2, "once")])
def test_a_place_that_is_not_there_is_told(text: str, nth: int, often: str) -> None:
    with pytest.raises(NotFoundError, match=f"stands {often}"):
        replace(text, "a", "x", nth=nth)


@pytest.mark.parametrize("nth", [0, -1])
@pytest.mark.parametrize("content", ["a a", "", "b"])
def test_a_count_that_there_cannot_be_does_not_fit(content: str, nth: int) -> None:
    with pytest.raises(UsageError, match=f"--nth {nth}: the first is 1"):
        replace(content, "a", "x", nth=nth)


@given(TEXTS)
def test_lines_make_the_text_again(text: str) -> None:
    lines = split_lines(text)

    assert "".join(lines) == text
    assert all(line.index("\n") == len(line) - 1 for line in lines[:-1])


@given(LINES, LINES)
def test_steps_lead_from_one_text_to_the_other(old: list[str], new: list[str]) -> None:
    made = list(steps(old, new))

    assert [line for step in made for line in old[step.start : step.stop]] == old
    assert [line for step in made for line in new[step.to_start : step.to_stop]] == new
    assert all(
        old[step.start : step.stop] == new[step.to_start : step.to_stop]
        for step in made
        if step.same
    )


def test_many_equal_lines_are_compared_in_time() -> None:
    old, new = ["\n"] * 16_000, ["x\n", *["\n"] * 15_000, "y\n"]

    made = list(steps(old, new))

    assert made[-1].stop == 16_000
    assert made[-1].to_stop == 15_002


def test_changes_of_different_lines_are_both_made() -> None:
    assert merge("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n") == ("A\nb\nC\n", 0)


def test_changes_of_lines_side_by_side_are_both_made() -> None:
    assert merge("a\nb\n", "A\nb\n", "a\nB\n") == ("A\nB\n", 0)


def test_one_line_of_two_that_both_changed_is_the_only_conflict() -> None:
    merged = merge("a\nb\n", "a\nMINE\n", "A\nTHEIRS\n", name="by bob")

    assert merged.conflicts == 1
    assert merged.text == "A\n<<<<<<< yours\nMINE\n=======\nTHEIRS\n>>>>>>> by bob\n"


def test_the_same_change_on_both_sides_is_made_once() -> None:
    assert merge("a\n", "a\nx\n", "a\nx\n") == ("a\nx\n", 0)


def test_two_lines_put_in_at_one_place_are_a_conflict() -> None:
    assert merge("a\nb\n", "a\nx\nb\n", "a\ny\nb\n").conflicts == 1


def test_a_line_taken_away_and_changed_is_a_conflict_with_both_sides() -> None:
    merged = merge("a\nb\nc\n", "a\nc\n", "a\nB\nc\n")

    assert merged == ("a\n<<<<<<< yours\n=======\nB\n>>>>>>> now there\nc\n", 1)


def test_lines_are_never_glued_where_one_side_took_the_last_newline() -> None:
    merged = merge("a\nb\n", "a\nb", "a\nb\nc\n")

    assert merged.conflicts == 1
    assert "bc" not in merged.text


@given(LINES.map("".join), LINES.map("".join))
def test_a_side_that_changed_nothing_gives_way(base: str, changed: str) -> None:
    assert merge(base, changed, base) == (changed, 0)
    assert merge(base, base, changed) == (changed, 0)
    assert merge(base, changed, changed) == (changed, 0)


WHOLE = st.lists(st.sampled_from(["a\n", "b\r\n", "\n"]), max_size=6).map("".join)


@given(WHOLE, WHOLE, WHOLE)
def test_changes_apart_are_both_made_whatever_stands_there(head: str, new: str, tail: str) -> None:
    base = f"{head}between\n{tail}"
    mine, theirs = f"{new}between\n{tail}", f"{base}at the end\n"
    both = f"{new}between\n{tail}at the end\n"

    assert merge(base, mine, theirs) == (both, 0)
    assert merge(base, theirs, mine) == (both, 0)
