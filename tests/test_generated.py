"""completions/ and man/ are as `make docs` writes them, and say all there is to say."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from agentmem_cli.cli.app import COMMANDS, EXIT_STATUS
from agentmem_cli.cli.tree import Told, Word, commands
from scripts import docs, manpages

PROJECT = Path(__file__).parent.parent
SECTIONS = [
    "NAME",
    "SYNOPSIS",
    "DESCRIPTION",
    "OPTIONS",
    "EXIT STATUS",
    "ENVIRONMENT",
    "FILES",
    "EXAMPLES",
    "SEE ALSO",
]
MACROS = {".TH", ".SH", ".SS", ".TP", ".PP", ".B", ".I", ".BR", ".br", ".nf", ".fi", ".RS", ".RE"}


def page(command: str) -> str:
    return manpages.pages()["-".join(("agentmem", *command.split()[:1])) + ".1"]


def read(text: str) -> str:
    """Return what a reader sees of a page, signs and fonts taken away."""
    text = re.sub(r"\\f[BIR]", "", text)
    for sign, roff in manpages._SIGNS.items():
        text = text.replace(roff, sign)
    return text


def test_what_is_committed_is_what_is_made() -> None:
    stale = docs.stale()

    assert stale == [], "run make docs"


def test_what_changed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    made = {**docs.made(), "man/agentmem-new-one.1": "new", "man/agentmem.1": "changed"}
    del made["completions/agentmem.fish"]
    monkeypatch.setattr(docs, "made", lambda: made)

    stale = docs.stale()

    assert stale == ["completions/agentmem.fish", "man/agentmem-new-one.1", "man/agentmem.1"]


def test_there_is_a_page_for_the_program_and_each_command() -> None:
    pages = manpages.pages()

    assert sorted(pages) == sorted(["agentmem.1", *(f"agentmem-{name}.1" for name in COMMANDS)])


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_a_page_has_its_sections_in_order(name: str) -> None:
    found = re.findall(r"^\.SH (.+)$", page(name), re.MULTILINE)

    assert [section for section in found if section in SECTIONS] == SECTIONS


@pytest.mark.parametrize("command", commands(), ids=lambda command: command.name or "agentmem")
def test_a_page_names_every_word_of_its_command(command: Told) -> None:
    told = read(page(command.name))

    for word in (*command.arguments, *command.options):
        assert word.told in told
        assert all(name in told for name in (*word.names, word.metavar))
    for status, about in EXIT_STATUS:
        assert f".B {status}\n{about}\n" in told


def test_pages_hold_nothing_but_their_macros() -> None:
    lines = [line for text in manpages.pages().values() for line in text.splitlines()]

    macros = {line.split()[0] for line in lines if line.startswith(".")}
    assert macros <= MACROS | {'.\\"'}
    assert all(line.isascii() and line.strip() for line in lines)


def test_signs_of_roff_are_only_signs() -> None:
    assert manpages._plain(".br -x \\fB ~'") == "\\&.br \\-x \\efB \\(ti\\(aq"


def test_the_pages_name_the_environment_that_is_read() -> None:
    source = "".join(
        path.read_text(encoding="utf-8") for path in (PROJECT / "agentmem_cli/cli").glob("*.py")
    )
    asked = set(re.findall(r'environ\.get\(\s*"([A-Z_]+)"', source)) - {"PATH"}
    named = {name for names, _ in manpages.ENVIRONMENT for name in names.split(", ")}

    # The zone is read by the C library.
    assert named == asked | {"TZ"}


def test_examples_come_from_the_documents() -> None:
    listing = next(command for command in commands() if command.name == "list")

    shown = [line for line, _ in manpages.examples(listing)]

    assert shown
    assert all(line.startswith("agentmem list") for line in shown)
    assert 0 < len(shown) <= manpages.EXAMPLES_MAX


def test_a_command_that_no_document_shows_has_an_example_too() -> None:
    session, place = Word((), "SESSION", "", required=True), Word((), "[PLACE]", "")
    shape = Word(("--as",), "FORM", "", required=True)

    shown = manpages.examples(Told(("no-such",), "", "", (session, place), (shape,)))

    assert shown == [("agentmem no-such @last --as FORM", "")]


def test_the_wheel_installs_them_where_shells_and_man_look() -> None:
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))

    shared = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    assert shared == {
        "completions/agentmem.bash": "share/bash-completion/completions/agentmem",
        "completions/_agentmem": "share/zsh/site-functions/_agentmem",
        "completions/agentmem.fish": "share/fish/vendor_completions.d/agentmem.fish",
        "man": "share/man/man1",
    }
    assert all((PROJECT / place).exists() for place in shared)
