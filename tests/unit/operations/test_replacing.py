"""Files of replacements."""

from __future__ import annotations

import pytest

from agentmem_cli.errors import UsageError
from agentmem_cli.operations.replacing import Literal, parse_replacements


def parsed(text: str) -> list[Literal]:
    return list(parse_replacements(text.encode(), "pairs").literals)


@pytest.mark.parametrize(
    ("line", "old", "new"),
    [
        ("a b ==> c d", "a b", "c d"),
        ("  a  ==>  b  ", "a", "b"),
        ("a==>b", "a", "b"),
        ("a ==>", "a", ""),
        ('" a\\n" ==> "\\u0062 "', " a\n", "b "),
        (r"C:\new\table ==> D:\x", r"C:\new\table", r"D:\x"),
        (r"a \==> b ==> c \==> d", "a ==> b", "c ==> d"),
        ("literal:# a ==> b", "# a", "b"),
        ("literal:regex:a ==> b", "regex:a", "b"),
        ('literal:"a" ==> b', '"a"', "b"),
        ("\ufeffa ==> b\r", "a", "b"),
    ],
)
def test_a_line_is_read_as_documented(line: str, old: str, new: str) -> None:
    assert parsed(line) == [Literal(old, new)]


def test_empty_lines_and_comments_count_for_the_numbers_alone() -> None:
    with pytest.raises(UsageError) as caught:
        parsed("# a ==> b\n\na ==> b\nxyzzy\n")

    assert str(caught.value) == "pairs, line 4: no ==> in it"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "nothing to replace is in it"),
        ("# only\n\n", "nothing to replace is in it"),
        ("==> xyzzy", "line 1: nothing stands before ==>"),
        ('"" ==> xyzzy', "line 1: nothing stands before ==>"),
        ("xyzzy ==> xyzzy", "line 1: both sides are the same"),
        ("xyzzy ==> b ==> c", "line 1: 2 times ==> in it"),
        ('"xyzzy ==> b', "line 1: it begins with a quote and is no JSON string"),
        ('"xyzzy" y ==> b', "line 1: it begins with a quote and is no JSON string"),
        ("xyzzy ==> a\nb ==> c\nxyzzy ==> d", "line 3: the same literal as in line 1"),
        ("regex:(xyzzy ==> b", "line 1: no regular expression (at character 1 of it)"),
        ("regex:x* ==> b", "line 1: the expression fits an empty text"),
        ("regex: ==> b", "line 1: the expression fits an empty text"),
        (r"regex:(xyzzy) ==> \2", "line 1: what is to stand there names a group"),
        (r"regex:(xyzzy) ==> \g<n>", "line 1: what is to stand there names a group"),
    ],
)
def test_a_bad_line_is_named_by_its_number_and_none_of_its_words(text: str, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        parsed(text)

    assert told in str(caught.value)
    assert "xyzzy" not in f"{caught.value} {caught.value.hint}"


def test_bytes_that_are_no_utf8_are_named_by_their_line() -> None:
    with pytest.raises(UsageError, match="line 2: not UTF-8"):
        parse_replacements(b"a ==> b\n\xff ==> c", "pairs")


def test_literals_are_replaced_in_one_pass_the_longest_first() -> None:
    given = parse_replacements(b"a ==> b\nb ==> c\nabc ==> long\n", "pairs")

    assert given.text("a b abc ab") == "b c long bc"


def test_expressions_follow_in_their_order() -> None:
    given = parse_replacements(
        b"one ==> two\nregex:t(w)o ==> <\\1>\nregex:<(?P<n>\\w)> ==> \\g<n>!", "pairs"
    )

    assert given.text("one two") == "w! w!"
