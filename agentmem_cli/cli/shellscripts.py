"""Completion scripts for bash, zsh and fish, made from the live command tree."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentmem_cli.cli.tree import commands

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentmem_cli.cli.tree import Told, Word

_FOLDER: Final = Path(__file__).parent / "shells"
_MARK: Final = "@TABLE@\n"


def script(shell: str) -> str:
    """Return the completion script for a shell of `completion.SHELLS`."""
    template = (_FOLDER / shell).read_text(encoding="utf-8")
    rows = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]
    table = "".join(f"{line}\n" for command in commands() for line in rows(command))
    return template.replace(_MARK, table)


def _values(word: Word) -> str:
    return ",".join(word.offers)


def _arguments(command: Told) -> str:
    """Return what each argument is, ``-`` where nothing is offered, the last with ``+``."""
    return " ".join((_values(word) or "-") + "+" * word.many for word in command.arguments)


def _bash(command: Told) -> Iterator[str]:
    flags = [name for word in command.options if not word.metavar for name in word.names]
    valued = [
        f"{name}={_values(word)}" for word in command.options if word.metavar for name in word.names
    ]
    yield f"    {_quoted(command.name)})"
    for name, words in (
        ("_subs", command.verbs),
        ("_flags", flags),
        ("_vals", valued),
        ("_args", _arguments(command).split()),
    ):
        if words:
            yield f"        {name}={_quoted(' '.join(words))}"
    yield "        ;;"


def _zsh(command: Told) -> Iterator[str]:
    values = [
        f"{name} {_quoted(_values(word))}"
        for word in command.options
        if word.metavar
        for name in word.names
    ]
    yield f"    {_quoted(command.name)})"
    for name, words in (
        ("subs", _told(_verbs(command), _in_ansi)),
        ("options", _told(_options(command), _in_ansi)),
        ("values", values),
        ("arguments", [_quoted(each) for each in _arguments(command).split()]),
    ):
        if words:
            yield f"        {name}=("
            yield from (f"            {word}" for word in words)
            yield "        )"
    yield "        ;;"


def _fish(command: Told) -> Iterator[str]:
    vals = [
        _in_fish(f"{name}={_values(word)}")
        for word in command.options
        if word.metavar
        for name in word.names
    ]
    yield f"        case {_in_fish(command.name)}"
    for name, words in (
        ("subs", _told(_verbs(command), _in_fish)),
        ("options", _told(_options(command), _in_fish)),
        ("vals", vals),
        ("kinds", [_in_fish(each) for each in _arguments(command).split()]),
    ):
        for word in words:
            yield f"            set -a {name} {word}"


def _verbs(command: Told) -> list[tuple[str, str]]:
    briefs = {each.path: each.brief for each in commands()}
    return [(verb, briefs[(*command.path, verb)]) for verb in command.verbs]


def _options(command: Told) -> list[tuple[str, str]]:
    return [(name, word.told.rstrip(".")) for word in command.options for name in word.names]


def _told(words: list[tuple[str, str]], quoted: Callable[[str], str]) -> list[str]:
    """Return each word with what is told about it behind a tab, quoted for a shell."""
    return [quoted(f"{word}\t{told}") for word, told in words]


def _in_ansi(text: str) -> str:
    """Return *text* in the quotes of zsh in which a tab can be written."""
    plain = text.replace("\\", "\\\\").replace("'", "\\'").replace("\t", "\\t")
    return f"$'{plain}'"


def _in_fish(text: str) -> str:
    """Return *text* as one word of fish; a tab stands outside of the quotes."""
    inner = text.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + inner.replace("\t", "'\\t'") + "'"


def _quoted(text: str) -> str:
    """Return *text* as one word of bash and zsh."""
    return "'" + text.replace("'", "'\\''") + "'"
