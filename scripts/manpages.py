"""Man pages of the live commands: one for the program, one a command or group of commands.

Nothing here names a command. Words come from the commands' own help, examples from
README.md and docs/, where a test runs them.
"""

from __future__ import annotations

import re
import shlex
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentmem_cli import __version__
from agentmem_cli.cli.tree import EXIT_STATUS, SECTIONS, Told, Word, commands

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT: Final = Path(__file__).resolve().parent.parent

DATE: Final = "2026-12-01"
"""The day of the version, which a man page has to name."""

EXAMPLES_MAX: Final = 6

ENVIRONMENT: Final = (
    ("AGENTMEM_ROOT", "The folder of the sessions, where --root does not name it."),
    ("AGENTMEM_CONFIG", "The folder of the key of masks."),
    ("AGENTMEM_CACHE", "The folder of compiled rules; what is in it can be made anew."),
    ("NO_COLOR", "If set and not empty, nothing is printed in colour."),
    (
        "AGENTMEM_PAGER, PAGER",
        "What shows a text taller than the terminal; the first that is set; empty or cat: none.",
    ),
    ("TERM", "No colour where it is dumb or not set."),
    ("TZ", "The zone of times without one, and of times on a screen."),
    ("VISUAL, EDITOR", "The editor that edits core memory; vi without them."),
)
FILES: Final = (
    ("~/.local/share/agentmem/sessions/", "The sessions on Linux."),
    ("~/Library/Application Support/agentmem/sessions/", "The sessions on macOS."),
    ("SESSION/logs/", "The logs of a session: JSON lines, one log an agent."),
    ("SESSION/files/", "Images, kept sources of imports, and a cache for listings."),
    ("~/.config/agentmem/mask.key", "The key of masks on Linux."),
)
PLACES: Final = (
    ("N", "the records with a smaller n, which agentmem log shows"),
    ("mN", "before message N"),
    ("~N", "N records back"),
    ("2026-06-09T14:05, 2h, yesterday", "a time; a day is its start"),
    ("before-compaction, start, now", ""),
)


@lru_cache(maxsize=1)
def pages() -> dict[str, str]:
    """Return each page by the name of its file."""
    every = commands()
    found = {}
    for top in every:
        if len(top.path) > 1:
            continue
        verbs = [each for each in every if each.path[:-1] == top.path and top.path]
        name = "-".join(("agentmem", *top.path))
        found[f"{name}.1"] = "\n".join(_page(name, top, verbs)) + "\n"
    return found


def _page(name: str, command: Told, verbs: list[Told]) -> Iterator[str]:
    yield '.\\" Made by make docs from the commands themselves; changes here are lost.'
    yield f'.TH {_plain(name.upper())} 1 "{DATE}" "agentmem {__version__}" "agentmem"'
    yield ".SH NAME"
    yield f"{_plain(name)} \\- {_plain(command.brief)}"
    yield ".SH SYNOPSIS"
    for index, each in enumerate(verbs or [command]):
        if index:
            yield ".br"
        yield from _synopsis(each)
    yield ".SH DESCRIPTION"
    yield from _about(command.about)
    if not command.path:
        yield from _program()
    if verbs:
        yield ".SH COMMANDS"
        for verb in verbs:
            yield f".SS {_plain(verb.name)}"
            yield from _about(verb.about)
            yield from _words((*verb.arguments, *verb.options))
    words = (*command.arguments, *command.options)
    yield ".SH OPTIONS"
    yield from _words(words)
    if command.path:
        yield ".PP"
        yield "Options of the program itself stand before the command: see"
        yield ".BR agentmem (1)."
    yield from _ends(command)


def _program() -> Iterator[str]:
    """Tell of the whole program: its commands, and how sessions and places are named."""
    briefs = {each.path: each.brief for each in commands()}
    yield ".SH COMMANDS"
    for section, names in SECTIONS.items():
        yield f".SS {_plain(section)}"
        for name in names:
            yield ".TP"
            yield f".BR agentmem\\-{_plain(name)} (1)"
            yield _plain(briefs[(name,)]) + "."
    yield ".SH SESSIONS, AGENTS AND PLACES"
    yield "A"
    yield ".I SESSION"
    yield _plain("is the name of a folder under the root or the beginning of one, a path,")
    yield _plain("or @last: the one that list shows first.")
    yield ".PP"
    yield "An agent is named by its id or the beginning of it; without one the main agent is meant."
    yield ".PP"
    yield "A"
    yield ".I PLACE"
    yield "in time is one of these:"
    for place, told in PLACES:
        yield ".TP"
        yield f".B {_plain(place)}"
        yield _plain(told) or "words for places"


def _synopsis(command: Told) -> Iterator[str]:
    yield f".B {_plain(' '.join(('agentmem', *command.path)))}"
    if not command.path:
        yield "[\\fIOPTIONS\\fR] \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]"
    else:
        yield " ".join(("[\\fIOPTIONS\\fR]", *map(_argument, command.arguments)))


def _argument(word: Word) -> str:
    if word.metavar.startswith("["):
        return re.sub(r"[A-Z=]+", lambda match: f"\\fI{match[0]}\\fR", _plain(word.metavar))
    return f"\\fI{_plain(word.metavar)}\\fR"


def _about(text: str) -> Iterator[str]:
    """Set the paragraphs of a help; one whose lines are indented or aligned stays as it is."""
    for index, paragraph in enumerate(re.split(r"\n\s*\n", text)):
        lines = [line.rstrip() for line in paragraph.splitlines() if line.strip("\b ")]
        if index:
            yield ".PP"
        if any("  " in line.strip() for line in lines):
            yield ".nf"
            yield from (_plain(line) for line in lines)
            yield ".fi"
        else:
            yield _plain(" ".join(line.strip() for line in lines))


def _words(words: tuple[Word, ...]) -> Iterator[str]:
    for word in words:
        yield ".TP"
        if word.names:
            names = ", ".join(f"\\fB{_plain(name)}\\fR" for name in word.names)
            yield f"{names} \\fI{_plain(word.metavar)}\\fR".removesuffix(" \\fI\\fR")
        else:
            yield _argument(word)
        yield _plain(word.told)


def _ends(command: Told) -> Iterator[str]:
    yield ".SH EXIT STATUS"
    for status, told in EXIT_STATUS:
        yield ".TP"
        yield f".B {status}"
        yield _plain(told)
    yield ".SH ENVIRONMENT"
    for name, told in ENVIRONMENT:
        yield ".TP"
        yield f".B {_plain(name)}"
        yield _plain(told)
    yield ".SH FILES"
    for name, told in FILES:
        yield ".TP"
        yield f".I {_plain(name)}"
        yield _plain(told)
    found = examples(command)
    if found:
        yield ".SH EXAMPLES"
        for index, (line, told) in enumerate(found):
            if told:
                yield from [".PP"] * bool(index)
                yield _plain(told[:1].upper() + told[1:]) + ":"
            yield from [".PP"] * bool(index or told)
            yield ".nf"
            yield ".RS"
            yield _plain(line)
            yield ".RE"
            yield ".fi"
    yield ".SH SEE ALSO"
    others = sorted(f"agentmem-{name}" for names in SECTIONS.values() for name in names)
    named = ["agentmem", *others] if command.path else others
    own = "-".join(("agentmem", *command.path))
    near = [name for name in named if name != own and (not command.path or _near(own, name))]
    yield from (
        f".BR {_plain(name)} (1){',' if index + 1 < len(near) else ''}"
        for index, name in enumerate(near)
    )


def _near(own: str, other: str) -> bool:
    """Whether two commands stand in the same section of the help, or one is the program."""
    return other == "agentmem" or any(
        {own.removeprefix("agentmem-"), other.removeprefix("agentmem-")} <= names.keys()
        for names in SECTIONS.values()
    )


def examples(command: Told) -> list[tuple[str, str]]:
    """Return lines of the documents that show the command, with what is told behind each."""
    found: list[tuple[str, str]] = []
    for line in _shown():
        bare, _, told = re.sub(r"^\$ ", "", line).partition("  # ")
        words = tuple(bare.split())
        if words[1 : 1 + len(command.path)] == command.path and bare.rstrip() not in dict(found):
            found.append((bare.rstrip(), told.strip()))
    if not command.path:
        firsts = ("import", "list", "show", "grep", "redact")
        every = {each.path: each for each in commands()}
        found = [examples(every[(name,)])[0] for name in firsts if (name,) in every]
    return found[:EXAMPLES_MAX] or [(_simplest(command), "")]


def _simplest(command: Told) -> str:
    """Return the command with the words that it needs, for one that no document shows."""
    samples = {"SESSION": "@last", "PLACE": "~1"}
    words = [samples.get(word.metavar, word.metavar) for word in command.arguments if word.required]
    needed = [f"{word.names[0]} {word.metavar}" for word in command.options if word.required]
    return " ".join(("agentmem", *command.path, *words, *needed))


@lru_cache(maxsize=1)
def _shown() -> list[str]:
    """Return the command lines of README and of the pages in docs/."""
    texts = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]
    lines = [
        line.strip()
        for text in texts
        for line in text.read_text(encoding="utf-8").splitlines()
        if line.startswith("    ")
    ]
    return [line for line in lines if re.match(r"(?:\$ )?agentmem ", line) and _is_whole(line)]


def _is_whole(line: str) -> bool:
    try:
        shlex.split(line, comments=True)
    except ValueError:
        return False
    return True


_SIGNS: Final = {
    "\\": "\\e", "-": "\\-", "~": "\\(ti", "^": "\\(ha", "`": "\\(ga", "'": "\\(aq", '"': "\\(dq",
}  # fmt: skip


def _plain(text: str) -> str:
    """Return *text* with the signs of roff taken as they are."""
    quoted = "".join(_SIGNS.get(sign, sign) for sign in text)
    return f"\\&{quoted}" if quoted.startswith(".") else quoted
