"""The command schema: what the JSON of every command looks like, for programs."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from agentmem_cli.cli.options import JsonOption
from agentmem_cli.cli.settings import Settings
from agentmem_cli.errors import NotFoundError

SCHEMA: Final = "agentmem.schema/1"
"""One schema."""


def _offered(incomplete: str) -> list[str]:
    from agentmem_cli.cli.schemas import schemas

    return [name for name in schemas() if name.startswith(incomplete)]


def schema(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="A schema, like agentmem.session/1 or session; all are listed if not given.",
            autocompletion=_offered,
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Print what the JSON of a command looks like, as JSON Schema.

    Fields that a schema does not name can come under the same version; a
    field that changes its meaning or goes away makes a new one.
    """
    from agentmem_cli.cli.render import Column, table
    from agentmem_cli.cli.schemas import json_schema, schemas
    from agentmem_cli.session.codec import dumps

    settings = Settings.of(context)
    wanted = [one.name for one in schemas().values() if not one.is_part]
    if name is not None:
        wanted = [_found(name)]
    with settings.output(paged=name is None and not json) as out:
        if json:
            for each in wanted:
                about = schemas()[each].about
                out.object(SCHEMA, {"name": each, "about": about, "json_schema": json_schema(each)})
        elif name is not None:
            out.write_bytes(dumps(json_schema(wanted[0])) + b"\n")
        else:
            columns = [Column("NAME", style="cyan"), Column("WHAT", least=8)]
            table(out, columns, [[each, schemas()[each].about] for each in wanted], settings)


def _found(name: str) -> str:
    """Return the schema that *name* is, with or without ``agentmem.`` and the version."""
    from agentmem_cli.cli.schemas import schemas
    from agentmem_cli.operations.suggesting import near

    fitting = [
        each
        for each in schemas()
        if name in (each, each.removeprefix("agentmem."))
        or name in (each.partition("/")[0], each.removeprefix("agentmem.").partition("/")[0])
    ]
    if fitting:
        # The newest version, where none is named; a part of the same name comes last.
        return max(fitting, key=lambda each: (name == each, each.startswith("agentmem."), each))
    printed = [one.name for one in schemas().values() if f"`{name}" in one.about]
    if printed:
        hint = f"{name} prints {', '.join(printed)}."
    else:
        meant = near(name, [each.removeprefix("agentmem.").partition("/")[0] for each in schemas()])
        hint = f"Did you mean {meant}?" if meant else "agentmem schema lists them."
    raise NotFoundError(f"no such schema: {name!r}", hint=hint)
