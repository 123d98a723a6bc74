"""What README says is printed is what is printed."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from agentmem_cli.cli.app import COMMANDS

PROJECT = Path(__file__).parent.parent
README = (PROJECT / "README.md").read_text(encoding="utf-8")
AGE = re.compile(r"(\d+ \w+ ago|now)")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
KEY = bytes(range(32)).hex()
"""The key of masks under which README shows them."""


def examples() -> list[tuple[str, str]]:
    """Return each ``$ agentmem`` line of README with what it says is printed."""
    found: list[tuple[str, str]] = []
    for block in re.findall(r"(?:^    .*\n|^\n)+", README, re.MULTILINE):
        lines = [line.removeprefix("    ") for line in block.splitlines()]
        for line in lines:
            if line.startswith("$ "):
                found.append((line[2:], ""))
            elif found and any(each.startswith("$ ") for each in lines):
                found[-1] = (found[-1][0], f"{found[-1][1]}{line}\n")
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
    # A scan that found something ends with 1.
    assert done.returncode in ((0, 1) if words[0] == "scan" else (0,)), done.stderr
    return done.stdout


def test_readme_has_examples() -> None:
    commands = [command.split()[1] for command, _ in examples()]

    assert commands[:3] == ["import", "list", "show"]


def test_each_command_stands_once_in_the_table() -> None:
    table = README.partition("## The commands\n")[2].partition("\n\nEach has")[0]
    cells = re.findall(r"^\| (.+?) \| ", table, re.MULTILINE)

    rows = [name for cell in cells for name in re.findall(r"`([a-z-]+)", cell)]

    assert sorted(rows) == sorted(COMMANDS)


@pytest.mark.slow
def test_every_example_prints_what_readme_shows(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "mask.key").write_text(KEY)
    for command, expected in examples():
        words = shlex.split(command)

        printed = agentmem(words[1:], tmp_path / "root")

        assert words[0] == "agentmem"
        assert flat(expected) == flat(printed), command


def test_the_library_example_runs_as_written() -> None:
    block = README.partition("## As a library")[2].partition("`DirStore")[0]
    source = "\n".join(line.removeprefix("    ") for line in block.splitlines())

    exec(compile(source, "README.md", "exec"), {})


@pytest.mark.parametrize(
    "name",
    ["list", "show", "log", "as-of", "scan", "new", "append", "import", "export", "verify"],
)
def test_every_command_has_a_row(name: str) -> None:
    assert re.search(rf"^\| `{name}\b", README, re.MULTILINE)


@pytest.mark.parametrize("name", ["rename", "redact", "rewrite", "remap"])
def test_every_command_that_replaces_has_a_row(name: str) -> None:
    assert re.search(rf"^\| `{name}\b", README, re.MULTILINE)


@pytest.mark.parametrize("name", ["repair", "gc", "rm", "prune"])
def test_every_command_that_takes_care_has_a_row(name: str) -> None:
    assert re.search(rf"^\| `{name}\b", README, re.MULTILINE)


@pytest.mark.parametrize("name", ["grep", "stats", "blobs", "value", "meta", "fork", "schema"])
def test_every_command_that_finds_or_tells_has_a_row(name: str) -> None:
    assert re.search(rf"^\| `{name}\b", README, re.MULTILINE)
