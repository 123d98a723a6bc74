from __future__ import annotations

import pytest

from agentmem_cli.cli import choices, core_files, exported, secret_options, shown
from agentmem_cli.cli.choices import offered
from agentmem_cli.cli.tree import commands
from agentmem_cli.operations import given, listing
from agentmem_cli.operations.imports import sniff


def offers(command: str, name: str) -> list[str]:
    """Return what is offered for an option, or for an argument by its metavar."""
    told = next(each for each in commands() if each.name == command)
    words = [*told.options, *told.arguments]
    return [*next(word.offers for word in words if name in word.names or name == word.metavar)]


@pytest.mark.parametrize(
    ("command", "name", "wanted"),
    [
        ("list", "--sort", listing.SORTS),
        ("show", "--format", shown.FORMATS),
        ("export", "--as", exported.FORMS),
        ("export", "--shape", exported.SHAPES),
        ("core export", "--format", core_files.FORMATS),
        ("append", "--role", given.ROLES),
        ("import", "--from", sniff.kinds()),
        ("scan", "--pii", (*secret_options.GROUPS, "all")),
        ("redact", "--damaged", ("refuse", "as-text")),
        ("grep", "--role", ("user", "assistant", "system", "tool")),
        ("completion", "SHELL", ("bash", "zsh", "fish")),
    ],
)
def test_what_an_option_takes_is_offered(command: str, name: str, wanted: tuple[str, ...]) -> None:
    assert offers(command, name) == [*wanted]


@pytest.mark.parametrize(
    ("command", "name", "wanted"),
    [
        ("show", "SESSION", choices.SESSIONS),
        ("grep", "[SESSION]...", choices.SESSIONS),
        ("show", "--agent", choices.AGENTS),
        ("diff", "A", choices.PLACES),
        ("diff", "B", choices.PLACES),
        ("core restore", "--as-of", choices.PLACES),
        ("import", "SOURCE...", choices.FILES),
        ("append", "[FILE]", choices.FILES),
        ("list", "--project", choices.FOLDERS),
    ],
)
def test_what_is_looked_up_is_known_by_its_metavar(command: str, name: str, wanted: str) -> None:
    assert offers(command, name) == [wanted]


def test_every_list_that_is_named_belongs_to_an_option() -> None:
    there = {f"{told.name} {word.names[0]}" for told in commands() for word in told.options}

    assert set(choices._LISTS) <= there


@pytest.mark.parametrize(
    ("told", "wanted"),
    [
        ("text, markdown or json.", ["text", "markdown", "json"]),
        ("Private too: email, home, or all.", ["email", "home", "all"]),
        ("What to do: refuse it, or as-text.", ["refuse", "as-text"]),
        ("Nothing to choose.", []),
    ],
)
def test_words_are_read_out_of_the_help(told: str, wanted: list[str]) -> None:
    assert [*offered("a --b", "FORMAT", told, [])] == wanted


def test_what_the_option_offers_itself_comes_before_the_help() -> None:
    assert offered("a --b", "FORMAT", "one or two", ["three"]) == ("three",)


def test_a_value_that_nothing_is_known_of_offers_nothing() -> None:
    assert offered("a --b", "TEXT", "this or that", []) == ()
