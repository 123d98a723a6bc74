"""The live command tree as plain facts: for completions, man pages and the tables of the docs."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import typer

from agentmem_cli.cli.app import COMMANDS, EXIT_STATUS, SECTIONS, app
from agentmem_cli.cli.choices import offered

if TYPE_CHECKING:
    from collections.abc import Iterator

    # Typer's copy of Click has no public names for these.
    from typer._click import Command
    from typer._click.core import Context, Parameter

__all__ = ["COMMANDS", "EXIT_STATUS", "SECTIONS", "Told", "Word", "commands"]

PROGRAM: Final = "agentmem"


class Word(NamedTuple):
    """An option, or an argument of a command.

    Attributes:
        names: ``("--dry-run", "-n")``; empty for an argument.
        metavar: What stands for the value; an empty text: a flag.
        told: Its line of help.
        offers: What TAB offers for the value: ``@sessions``, ``@agents``, ``@places``,
            ``@messages``, ``@keys``,
            ``@files``, ``@folders``, or words; nothing at all.
        many: It may be given more than once.
        required: It must be given.
    """

    names: tuple[str, ...]
    metavar: str
    told: str
    offers: tuple[str, ...] = ()
    many: bool = False
    required: bool = False


class Told(NamedTuple):
    """One command, or a group of them.

    Attributes:
        path: Its words behind the program's name; none for the program itself.
        brief: One line, without a full stop.
        about: Its help, paragraphs apart by empty lines.
        arguments: In the order in which they are given.
        options: In the order of the help.
        verbs: The names of its own commands.
    """

    path: tuple[str, ...]
    brief: str
    about: str
    arguments: tuple[Word, ...]
    options: tuple[Word, ...]
    verbs: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The whole command as it is typed, without the program's name."""
        return " ".join(self.path)


@lru_cache(maxsize=1)
def commands() -> tuple[Told, ...]:
    """Return the program, then each command and verb, in the order of the help."""
    return tuple(_walk(typer.main.get_command(app), (), None))


def _walk(command: Command, path: tuple[str, ...], parent: Context | None) -> Iterator[Told]:
    name = path[-1] if path else PROGRAM
    settings = command.context_settings
    context = command.context_class(command, info_name=name, parent=parent, **settings)
    inner: dict[str, Command] = dict(getattr(command, "commands", {}))
    about = (command.help or "").replace("\b\n", "").strip()
    arguments: list[Word] = []
    options: list[Word] = []
    for parameter in command.get_params(context):
        if getattr(parameter, "hidden", False):
            continue
        word = _word(parameter, path, context)
        (options if word.names else arguments).append(word)
    yield Told(
        path,
        " ".join(about.split("\n\n", maxsplit=1)[0].split()).rstrip("."),
        about,
        tuple(arguments),
        tuple(options),
        tuple(inner),
    )
    for name, each in inner.items():
        yield from _walk(each, (*path, name), context)


def _word(parameter: Parameter, path: tuple[str, ...], context: Context) -> Word:
    is_option = parameter.param_type_name == "option"
    names = (*parameter.opts, *parameter.secondary_opts) if is_option else ()
    is_flag = is_option and bool(getattr(parameter, "is_flag", False))
    metavar = "" if is_flag else parameter.metavar or (parameter.name or "").upper()
    told = " ".join(str(getattr(parameter, "help", None) or "").split())
    many = bool(getattr(parameter, "multiple", False)) or parameter.nargs == -1
    # Why the long name first: it says more, and man pages and menus show it first.
    ordered = tuple(sorted(names, key=lambda name: not name.startswith("--")))
    offers: tuple[str, ...] = ()
    if not is_flag:
        listed = [item.value for item in parameter.shell_complete(context, "")]
        key = " ".join((*path, *(ordered[:1] or (re.sub(r"\W", "", metavar),))))
        offers = offered(key, metavar, told, listed)
    return Word(ordered, metavar, told, offers, many, bool(parameter.required))
