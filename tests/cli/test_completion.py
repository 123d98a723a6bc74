"""The scripts that complete words, read by the shells they are for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.cli.app import COMMANDS
from agentmem_cli.cli.completion import SHELLS
from agentmem_cli.cli.shellscripts import script
from tests.cli.running import header, join, message, ok, pushed, record, run, write

if TYPE_CHECKING:
    from collections.abc import Sequence

PROJECT = Path(__file__).resolve().parents[2]
BASH = shutil.which("bash") or "/bin/bash"

NAMES = [
    "with space",
    "it's",
    'dq"x',
    "$(touch pwned)",
    "`touch pwned`",
    "new␊line",
    "emoji-\N{PARTY POPPER}",
    "a:b",
    "a=b",
    "back\\slash",
    "star*",
    "semi;rm",
    "~tilde",
    "amp&",
    "par(en)",
    "br[ack]",
    "exc!m",
    "#hash",
    "pi@host",
    "$HOME",
    "{a,b}",
    "<in>",
    "pipe|",
    "pct%",
]
# What bash runs: complete each line of standard input, and print each line as it stands then.
DRIVER = r"""
source "$1"
compopt() { printf 'opt %s\n' "$2"; }
while IFS= read -r COMP_LINE; do
    COMP_POINT=${#COMP_LINE} COMP_WORDBREAKS=$' \t\n"\'@><=;|&(:'
    printf 'line\n'
    _agentmem
    for each in ${COMPREPLY[@]+"${COMPREPLY[@]}"}; do
        printf 'word %s\n' "${COMP_LINE%"$_raw"}$each"
    done
done
"""


def bash(lines: Sequence[str], tmp_path: Path, before: str = "") -> list[list[str]]:
    """Return what bash would make of each line, or what it would look for by itself."""
    place = tmp_path / "script.bash"
    # The last word as it was typed is local to the function; a driver has to see it.
    place.write_text(script("bash").replace("local _words _quote _raw", "local _words _quote"))
    done = subprocess.run(
        [BASH, "--norc", "--noprofile", "-c", before + DRIVER, "bash", str(place)],
        input="".join(f"{line}\n" for line in lines).encode(),
        capture_output=True,
        cwd=tmp_path,
        check=False,
        env={**os.environ, "LC_ALL": "C.UTF-8", "NAMES": "\n".join(NAMES)},
    )
    assert done.stderr.decode() == ""
    found: list[list[str]] = []
    for line in done.stdout.decode().splitlines():
        if line == "line":
            found.append([])
        elif line != "opt nosort":
            found[-1].append(line.removeprefix("word "))
    return found


FAKE = 'agentmem() { printf "%s\\n" "$NAMES"; }\n'


def words_of(line: str, tmp_path: Path) -> list[str]:
    """Return the words that bash makes of a line, which must run nothing."""
    done = subprocess.run(
        [BASH, "--norc", "-c", f'printf "%s\\0" {line}'],
        capture_output=True,
        cwd=tmp_path,
        check=True,
    )
    return done.stdout.decode().split("\0")[:-1]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_is_printed(shell: str) -> None:
    printed = ok("completion", shell)

    assert printed.out == script(shell)
    assert "@TABLE@" not in printed.out
    assert all(name in printed.out for name in COMMANDS)


def test_a_shell_that_is_not_known_is_told() -> None:
    done = run("completion", "tcsh")

    assert (done.status, done.out) == (2, "")
    assert "bash, zsh, fish" in done.err


def test_the_shells_that_are_here_read_their_scripts(tmp_path: Path) -> None:
    for shell in SHELLS:
        program = shutil.which(shell)
        if program is not None:
            (tmp_path / shell).write_text(script(shell))

            done = subprocess.run(
                [program, "-n", str(tmp_path / shell)], capture_output=True, check=False
            )

            assert (done.returncode, done.stderr) == (0, b"")


def test_bash_completes_commands_options_and_values_by_itself(tmp_path: Path) -> None:
    cases = {
        "agentmem gr": ["agentmem grep"],
        "agentmem core ge": ["agentmem core get"],
        "agentmem nosuch ": [],
        "agentmem show x --form": ["agentmem show x --format"],
        "agentmem show --format m": ["agentmem show --format markdown"],
        "agentmem show --format=m": ["agentmem show --format=markdown"],
        "agentmem --utc core get x per": ["agentmem --utc core get x persona"],
        "agentmem show -- --form": [],
        "agentmem list --sort up": ["agentmem list --sort updated"],
        "agentmem export x --as or": ["agentmem export x --as original"],
        "agentmem import ": ["opt default"],
        "agentmem import a b": ["opt default"],
        "agentmem append x ": ["opt default"],
        "agentmem list > ": ["opt default"],
        "agentmem --root ": ["opt dirnames"],
        "agentmem show ./": ["opt dirnames"],
        "agentmem scan --files ": ["opt default"],
        "agentmem grep ": [],
        "agentmem completion z": ["agentmem completion zsh"],
        "agentmem schema agentmem.fork": ["agentmem schema agentmem.fork/1"],
    }

    found = bash([*cases], tmp_path, "agentmem() { echo called >&2; }\n")

    assert dict(zip(cases, found, strict=True)) == cases


def test_bash_quotes_every_name_and_runs_nothing(tmp_path: Path) -> None:
    begun = [
        begin + text
        for name in NAMES
        for begin, text in (
            ("agentmem show ", name[:1] if name[0].isalnum() else f"\\{name[0]}"),
            ("agentmem show '", name[:2].partition("'")[0]),
            ('agentmem show "', name[:2].partition('"')[0] if name[0].isalnum() else ""),
        )
    ]

    made = {line for lines in bash(begun, tmp_path, FAKE) for line in lines}

    closed = [f"{line}{_open(line)}" for line in sorted(made)]
    read = {words_of(line, tmp_path)[-1] for line in closed}
    assert read == set(NAMES)
    assert [path.name for path in tmp_path.iterdir() if path.name == "pwned"] == []


def _open(line: str) -> str:
    """Return the quote that readline closes: the one that the third word begins with."""
    begin = line.removeprefix("agentmem show ")[:1]
    return begin if begin in ("'", '"') else ""


def test_what_several_names_have_in_common_ends_in_no_quote(tmp_path: Path) -> None:
    made = bash(["agentmem show a"], tmp_path, 'agentmem() { printf "a b\\na;c\\na&\\n"; }\n')

    behind = {line.removeprefix("agentmem show a")[:1] for line in made[0]}
    assert len(behind) > 1
    assert sorted(words_of(line, tmp_path)[-1] for line in made[0]) == ["a b", "a&", "a;c"]


def test_bash_completes_nothing_where_the_shell_would_put_something_in(tmp_path: Path) -> None:
    lines = ["agentmem show $(", "agentmem show $H", "agentmem show `to", 'agentmem show "$H']

    assert bash(lines, tmp_path, FAKE) == [[], [], [], []]


def test_bash_asks_for_what_is_there(root: Path, tmp_path: Path) -> None:
    value = record(2, "state", key="water", value="hot")
    write(root, "my one", "aide", join([header("aide"), pushed(1, message("user", "tea")), value]))
    _program(tmp_path)
    lines = [
        "agentmem show m",
        "agentmem show --agent= my\\ one --agent ai",
        f"agentmem --root '{root}' as-of 'my one' --agent aide m",
        "agentmem show 'my one' --agent aide --from ",
        "agentmem value get 'my one' --agent aide ",
    ]

    found = bash(lines, tmp_path, 'PATH="$PWD:$PATH"\n')

    assert found == [
        ["agentmem show my\\ one"],
        [f"{lines[1]}de"],
        [f"{lines[2]}0"],
        [f"{lines[3]}m0"],
        [f"{lines[4]}water"],
    ]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_scripts_have_each_command_and_option_with_its_line(shell: str) -> None:
    text = script(shell)

    assert "'\\t'From this message" in text or "--from\\tFrom this message" in text
    assert "@sessions" in text
    assert "'@files+'" in text
    assert "text,markdown,json" in text


OTHERS = {
    "agentmem gre": "grep",
    "agentmem show m": "my one",
    "agentmem show --format m": "markdown",
    "agentmem show --format=m": "--format=markdown",
    "agentmem as-of my\\ one befo": "before-compaction",
    "agentmem core get x per": "persona",
}
"""What zsh and fish make of lines, where these shells are here."""


def _program(tmp_path: Path) -> None:
    (tmp_path / "agentmem").write_text(
        f'#!/bin/sh\nPYTHONPATH="{PROJECT}" exec "{sys.executable}" -m agentmem_cli "$@"\n'
    )
    (tmp_path / "agentmem").chmod(0o755)


# What zsh runs: its completion system stands only in as far as the script asks for it.
ZSH_DRIVER = r"""
source $1
_wanted() { print -rl -- ${(M)found:#$PREFIX*} }
compset() { PREFIX=${PREFIX#*=} }
words=(${(z)2}) PREFIX=$words[-1] CURRENT=$#words path=($PWD $path)
_agentmem
"""


def test_zsh_completes_as_bash_does(root: Path, tmp_path: Path) -> None:
    zsh = shutil.which("zsh")
    write(root, "my one", "main", join([header()]))
    _program(tmp_path)
    # The last lines make it known to the completion system.
    text = script("zsh").partition("if [[ ${funcstack")[0]
    (tmp_path / "a.zsh").write_text(text)

    for line, wanted in OTHERS.items() if zsh else ():
        done = subprocess.run(
            [str(zsh), "-f", "-c", ZSH_DRIVER, "zsh", "./a.zsh", line],
            capture_output=True,
            cwd=tmp_path,
            check=True,
        )

        assert done.stdout.decode().splitlines() == [wanted.removeprefix("--format=")], done.stderr


def test_fish_completes_as_bash_does(root: Path, tmp_path: Path) -> None:
    fish = shutil.which("fish")
    write(root, "my one", "main", join([header()]))
    _program(tmp_path)
    (tmp_path / "a.fish").write_text(script("fish"))

    for line, wanted in OTHERS.items() if fish else ():
        program = "source a.fish; set -p PATH $PWD; complete -C $argv[1]"
        done = subprocess.run(
            [str(fish), "--no-config", "-c", program, line],
            capture_output=True,
            cwd=tmp_path,
            env={**os.environ, "HOME": str(tmp_path)},
            check=True,
        )

        assert [each.split("\t")[0] for each in done.stdout.decode().splitlines()] == [wanted]
