from __future__ import annotations

import pytest

from agentmem_cli.errors import UsageError
from agentmem_cli.operations.secrets.given import (
    Given,
    read_env,
    read_literals,
    read_patterns,
    together,
)
from tests.secrets_made import made


def test_an_empty_line_among_values_is_passed_over_and_counted() -> None:
    given = read_literals("first-value\n\n   \nsecond value\r\n", "list")

    assert [value for value, _ in given.literals] == ["first-value", "second value"]
    assert given.empty_lines == 2


def test_a_value_that_would_stand_everywhere_is_refused_with_its_line() -> None:
    with pytest.raises(UsageError, match="list, line 2: a value of fewer than 4"):
        read_literals("long enough\nabc\n", "list")


def test_a_bad_expression_is_refused_with_its_line() -> None:
    with pytest.raises(UsageError, match="rules, line 3: not an expression"):
        read_patterns("ab+\n\nx(\n", "rules")


@pytest.mark.parametrize("line", ["a*", "(?:)", "x|", "\\b", "$"])
def test_an_expression_that_matches_nothing_at_all_is_refused(line: str) -> None:
    with pytest.raises(UsageError, match="rules, line 1: matches the empty text"):
        read_patterns(f"{line}\n", "rules")


def test_a_file_of_variables_is_read_as_shells_and_programs_read_it() -> None:
    first, second, third, fourth = (made(seed, 20) for seed in range(4))
    text = (
        f"# a comment\n\nexport ONE={first} # why\nTWO='{second}'\n"
        f'THREE="line {third}\\nand\nmore"\nNAME = {fourth}\r\n'
        "REF=${OTHER}\nEMPTY=\nPORT=5432\nDB_PASSWORD=postgres\n"
    )

    given = read_env(text, ".env")

    values = [value for value, _ in given.literals]
    assert values == [first, second, f"line {third}\nand\nmore", fourth]
    assert given.beside == (("DB_PASSWORD", "postgres"),)


def test_a_line_that_is_no_variable_is_refused_with_its_number() -> None:
    with pytest.raises(UsageError, match=r"\.env, line 2: not KEY=value"):
        read_env("A=1\nwhat is this\n", ".env")


def test_what_is_named_twice_counts_once() -> None:
    one = read_literals("first-value\nfirst-value\n", "list")

    both = together(one, one, read_patterns("ab+\n", "rules"))

    assert len(both.literals) == 1
    assert len(both.patterns) == 1
    assert Given().is_empty
    assert not both.is_empty
