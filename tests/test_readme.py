"""What README and the pages of docs/ say is printed is what is printed.

A line that begins with ``$ agentmem`` is run, with what stands below it as its
output; each page in a folder of its own, from its first line to its last. Of
other lines the commands are read: their words and options must be there.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from agentmem_cli.cli.app import COMMANDS, EXIT_STATUS, app
from scripts import picture

PROJECT = Path(__file__).parent.parent
PAGES = ["README.md", *sorted(f"docs/{path.name}" for path in (PROJECT / "docs").glob("*.md"))]
README = (PROJECT / "README.md").read_text(encoding="utf-8")
AGE = re.compile(r"(\d+ \w+ ago|now)")
TIME = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d\.\d{3}Z| \d\d:\d\d:\d\d UTC)")
KEY = bytes(range(32)).hex()
"""The key of masks under which the pages show them."""

FOUND_SOMETHING = ("scan", "diff")
"""They end with 1 where there is something to tell."""


def blocks(page: str) -> list[list[str]]:
    """Return the indented blocks of a page, as lines without their indentation."""
    text = (PROJECT / page).read_text(encoding="utf-8")
    found = re.findall(r"(?:^    .*\n|^\n)+", text, re.MULTILINE)
    return [[line.removeprefix("    ") for line in block.splitlines()] for block in found]


def examples(page: str) -> list[tuple[str, str]]:
    """Return each ``$ agentmem`` line of a page with what it says is printed."""
    found: list[tuple[str, str]] = []
    for lines in blocks(page):
        shows_output = False
        for line in lines:
            if line.startswith("$ "):
                found.append((line[2:], ""))
                shows_output = True
            elif shows_output and not line.startswith("agentmem "):
                found[-1] = (found[-1][0], f"{found[-1][1]}{line}\n")
            else:
                shows_output = False
    return found


def commands(page: str) -> list[str]:
    """Return every agentmem command of a page, those within pipelines too, as they are typed."""
    lines = [line for block in blocks(page) for line in block]
    found: list[str] = []
    for line in lines:
        bare = line.removeprefix("$ ").partition("  # ")[0]
        if re.match(r"(?:agentmem|[a-z]+ .*[|&;] *agentmem) ", bare):
            pieces = re.split(r"\s(?:\|\|?|&&|>|<|&)\s", f" {bare} ")
            found += [piece.strip() for piece in pieces if piece.strip().startswith("agentmem ")]
    return found


def flat(text: str) -> str:
    """Return *text* without what differs from day to day: ages, and the padding around them."""
    text = TIME.sub("TIME", AGE.sub("AGE", text))
    lines = [re.sub(r"\s+", " ", line).strip() for line in text.splitlines()]
    return "\n".join(line for line in lines if line)


def agentmem(words: list[str], root: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "agentmem_cli", "--root", str(root), "--utc", *words],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in ((0, 1) if words[0] in FOUND_SOMETHING else (0,)), done.stderr
    return done.stdout


def read(words: list[str]) -> None:
    """Read a command line as the program does, and run nothing."""
    command = typer.main.get_command(app)
    with command.make_context("agentmem", words, resilient_parsing=False) as context:
        rest = [*context._protected_args, *context.args]
        while getattr(command, "commands", None):
            command = command.commands[rest[0]]  # type: ignore[attr-defined]
            inner = command.make_context(rest[0], rest[1:], parent=context)
            rest = [*inner._protected_args, *inner.args]


def test_readme_begins_with_the_first_commands() -> None:
    first = [command.split()[1] for command, _ in examples("README.md")]

    assert first[:3] == ["import", "list", "show"]


def test_each_command_stands_once_in_the_table() -> None:
    table = README.partition("## The commands\n")[2].partition("\n\nEach has")[0]
    cells = re.findall(r"^\| (.+?) \| ", table, re.MULTILINE)

    rows = [name for cell in cells for name in re.findall(r"`([a-z-]+)", cell)]

    assert sorted(rows) == sorted(COMMANDS)


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if examples(page)])
def test_every_example_prints_what_the_page_shows(page: str, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "mask.key").write_text(KEY)
    for command, expected in examples(page):
        words = shlex.split(command)

        printed = agentmem(words[1:], tmp_path / "root")

        assert words[0] == "agentmem"
        assert flat(expected) == flat(printed), command


@pytest.mark.parametrize(
    ("page", "command"), [(page, command) for page in PAGES for command in commands(page)]
)
def test_every_command_that_a_page_names_is_read(page: str, command: str) -> None:
    words = shlex.split(command)[1:]

    read(words)

    assert words[0] in COMMANDS, page


def test_a_command_that_is_none_is_found() -> None:
    with pytest.raises(KeyError):
        read(["nosuch"])
    with pytest.raises(Exception, match="--nosuch"):
        read(["core", "get", "--nosuch", "a", "human"])


def test_every_page_is_named_by_readme() -> None:
    missing = [page for page in PAGES[1:] if f"]({page})" not in README]

    assert missing == []


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_points_to_is_there(page: str) -> None:
    text = (PROJECT / page).read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^):#]+)(?:#[^)]*)?\)", text)

    missing = [name for name in targets if not ((PROJECT / page).parent / name).exists()]

    assert missing == []


def test_the_exit_statuses_are_those_of_the_program() -> None:
    for status, told in EXIT_STATUS:
        assert f"\n| {status} | {told} |" in README


def test_the_picture_shows_what_the_commands_print() -> None:
    svg = picture.PICTURE.read_text(encoding="utf-8")

    assert _texts(svg) == _texts(picture.draw(picture.screen()))
    assert re.findall(r"https?://[^\s\"<]+", svg) == [
        "http://www.w3.org/2000/svg",
        "https://www.textualize.io",
    ]


def _texts(svg: str) -> list[str]:
    """Return what a picture of a terminal says, whatever it looks like."""
    return [re.sub(r"<[^>]+>", "", text) for text in re.findall(r"<text.*?</text>", svg, re.DOTALL)]


def test_the_library_example_runs_as_written() -> None:
    block = README.partition("## As a library")[2].partition("`DirStore")[0]
    source = "\n".join(line.removeprefix("    ") for line in block.splitlines())

    exec(compile(source, "README.md", "exec"), {})
