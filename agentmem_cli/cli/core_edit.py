"""The verb of core memory that opens an editor: edit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from agentmem_cli.cli.core_options import (
    AnyTypeArg,
    ByOption,
    ForceOption,
    LogOption,
    MatchOption,
    Open,
    ReasonOption,
    open_core,
    request_of,
    type_of,
)
from agentmem_cli.cli.options import DryRunOption, JsonOption, SessionArg
from agentmem_cli.errors import AgentMemError, UsageError

if TYPE_CHECKING:
    from agentmem_cli.operations.core.changing import Changed, Request
    from agentmem_cli.operations.core.document import Document


def edit(
    context: typer.Context,
    session: SessionArg,
    block: AnyTypeArg = None,
    agent: LogOption = None,
    reason: ReasonOption = None,
    by: ByOption = None,
    if_match: MatchOption = None,
    force: ForceOption = False,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> int:
    """Edit one block, or all as one document, in your editor.

    That is VISUAL, else EDITOR, else vi. What is saved is the wanted end
    state. What others changed meanwhile is kept where it was on other lines;
    else the editor opens again with both sides. Where what was written cannot
    be used, it stays in a file.
    """
    from agentmem_cli.cli.core_print import tell_change

    opened = open_core(context, session, agent, change=not dry_run)
    request = request_of(
        opened.settings, by=by, reason=reason, force=force, dry_run=dry_run, match=if_match
    )
    done = _edit(opened, block, request)
    return tell_change(opened, done, dry_run=dry_run, json=json)


def _edit(opened: Open, block: str | None, request: Request) -> Changed:
    import shutil
    import tempfile

    from agentmem_cli.operations.core.document import document, match_of
    from agentmem_cli.operations.core.looking import look

    kind = None if block is None else type_of(block)
    values = look(opened.store, opened.log).values
    match_of(values, kind, request)
    doc = document(values, kind, force=request.force)
    command = opened.settings.editor()
    folder = Path(tempfile.mkdtemp(prefix="agentmem-edit-"))
    path = folder / (f"{kind.value}.md" if kind is not None else "core-memory.md")
    keeps = False
    try:
        return _until_kept(opened, doc, request, command, path)
    except BaseException:
        keeps = _tell_kept(path, doc)
        raise
    finally:
        if not keeps:
            # Whatever the editor left beside it goes too: the folder is ours.
            shutil.rmtree(folder, ignore_errors=True)


def _until_kept(
    opened: Open, doc: Document, request: Request, command: list[str], path: Path
) -> Changed:
    from agentmem_cli.cli.output import talk
    from agentmem_cli.operations.core.document import CONFLICTS, again, keep, saved
    from agentmem_cli.operations.core.history import edits
    from agentmem_cli.operations.core.looking import follow, look
    from agentmem_cli.storage.named import read_named

    while True:
        path.write_bytes(doc.data)
        path.chmod(0o600)
        _run(command, path)
        try:
            data = read_named(path)
        except FileNotFoundError:
            raise UsageError("the editor took the file away; nothing was changed") from None
        wanted = saved(doc, data)
        try:
            return keep(opened.store, opened.log, doc, wanted, request)
        except CONFLICTS as error:
            values = look(opened.store, opened.log).values
            doc = again(doc, wanted, values, edits(follow(opened.store, opened.log)))
            talk(f"agentmem: {error.brief}; both sides are in the editor")


def _run(command: list[str], path: Path) -> None:
    import subprocess

    from agentmem_cli.cli import waiting

    waiting.clear()

    try:
        done = subprocess.run([*command, str(path)], check=False)  # noqa: S603 - the person's own editor
    except OSError as error:
        msg = f"the editor {command[0]!r} does not start: {error.strerror or error}"
        raise UsageError(msg, hint="VISUAL or EDITOR names another one.") from error
    if done.returncode:
        msg = f"the editor {command[0]!r} ended with status {done.returncode}; nothing was changed"
        raise AgentMemError(msg)


def _tell_kept(path: Path, doc: Document) -> bool:
    """Say where what was written is; whether anything was."""
    from agentmem_cli.cli.output import warn

    try:
        data = path.read_bytes()
    except OSError:
        return False
    if data in (b"", doc.data):
        return False
    warn(f"what you wrote is kept in {path}")
    return True
