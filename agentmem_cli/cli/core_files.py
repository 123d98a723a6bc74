"""The verbs of core memory that bring it out and in: export, import."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentmem_cli.cli.core_options import (
    AsOfOption,
    ByOption,
    LogOption,
    MatchAllOption,
    ReasonOption,
    look_at,
    open_core,
    request_of,
)
from agentmem_cli.cli.options import DryRunOption, ForceOption, JsonOption, SessionArg, parse_path
from agentmem_cli.errors import ConflictError, UsageError

if TYPE_CHECKING:
    from agentmem_cli.cli.core_options import Open
    from agentmem_cli.operations.core.exchange import Given

FORMATS = ("json", "markdown")


def export(
    context: typer.Context,
    session: SessionArg,
    format_: Annotated[
        str,
        typer.Option("--format", metavar="FORMAT", help="json, or markdown: a file for a block."),
    ] = "json",
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="PATH", help="The file, - for standard output; the folder."
        ),
    ] = "-",
    agent: LogOption = None,
    as_of: AsOfOption = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Give core memory out, as JSON or as a folder of Markdown files.

    A Markdown file has a front matter that says type, label and the like;
    what follows is the content, byte for byte. Only the folder that is named
    is made, none above it.
    """
    from agentmem_cli.cli.output import talk
    from agentmem_cli.cli.render import count
    from agentmem_cli.operations.core.exchange import to_files

    if format_ not in FORMATS:
        raise UsageError(f"--format: {format_!r} is none of {', '.join(FORMATS)}")
    if format_ == "markdown" and output == "-":
        raise UsageError("--format markdown needs a folder", hint="Name it by --output.")
    opened = open_core(context, session, agent)
    values = look_at(opened, as_of).values
    if output == "-":
        from agentmem_cli.operations.core.exchange import SCHEMA, to_object

        with opened.settings.output() as out:
            out.object(SCHEMA, to_object(values))
        return
    target = parse_path(output)
    files = to_files(values, target, format_)
    _check_targets(opened, target, [path.name for path in files], format_, force=force)
    written = [(path, _write(path, data, force=force)) for path, data in files.items()]
    if json:
        with opened.settings.output() as out:
            for path, size in written:
                told = {"session": opened.id, "log": opened.log}
                out.object("agentmem.core-file/1", {**told, "output": str(path), "bytes": size})
    else:
        talk(f"{count(len(values.blocks), 'block')} written to {output}")


def _check_targets(
    opened: Open, target: Path, names: list[str], format_: str, *, force: bool
) -> None:
    """See that what is exported may be written, before the first byte is."""
    from agentmem_cli.operations.exports.targets import check_file, check_folder

    where = (opened.store.path, opened.settings.root)
    if format_ == "json":
        check_file(target, *where, force=force)
        return
    if target.exists() and not target.is_dir():
        msg = f"{target}: a file, and Markdown goes into a folder"
        raise ConflictError(msg, hint="Name a folder with -o.")
    check_folder(target, names, *where, force=force)


def _write(path: Path, data: bytes, *, force: bool) -> int:
    from agentmem_cli.operations.exports.targets import is_stream
    from agentmem_cli.storage.files import write_atomically
    from agentmem_cli.storage.named import names_file

    if is_stream(path):
        with names_file(path), path.open("wb") as stream:
            return stream.write(data)
    return write_atomically(path, [data], over=force)


def import_(
    context: typer.Context,
    session: SessionArg,
    source: Annotated[
        str,
        typer.Argument(
            metavar="[PATH]", help="A file, or a folder of Markdown; - is standard input."
        ),
    ] = "-",
    only: Annotated[
        bool, typer.Option("--only", help="Take out the blocks that are not in it.")
    ] = False,
    agent: LogOption = None,
    reason: ReasonOption = None,
    by: ByOption = None,
    if_match: MatchAllOption = None,
    force: Annotated[
        bool,
        typer.Option("--force", "-f", help="Replace what another program put that is no block."),
    ] = False,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> int:
    """Set the blocks that a file or a folder holds, all of them or none.

    It takes what export wrote, and what render printed. Blocks that are not
    in it stay, unless --only is given.
    """
    from agentmem_cli.cli.core_print import tell_change
    from agentmem_cli.cli.output import warn
    from agentmem_cli.operations.core.exchange import take

    opened = open_core(context, session, agent, change=not dry_run)
    given = _given(source)
    for name in given.passed:
        warn(f"{source}: {name} is no block, and was passed by")
    for told in given.unknown:
        warn(f"{source}: {told}")
    request = request_of(
        opened.settings, by=by, reason=reason, match=if_match, force=force, dry_run=dry_run
    )
    done = take(opened.store, opened.log, given, request, only=only)
    return tell_change(opened, done, dry_run=dry_run, json=json)


def _given(source: str) -> Given:
    from agentmem_cli.cli.given_files import read_given
    from agentmem_cli.operations.core.exchange import read_file, read_folder, read_text

    if source == "-":
        return read_text(*read_given("-", "core memory"))
    path = parse_path(source)
    return read_folder(path) if path.is_dir() else read_file(Path(path))
