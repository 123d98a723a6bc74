"""`export --as jsonl`, `markdown`, `html` and `tar`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentmem_cli.cli.exported import check_file_target, tell_written, write_pieces
from agentmem_cli.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from agentmem_cli.cli.settings import Settings
    from agentmem_cli.cli.shown import Opened
    from agentmem_cli.operations.transcript import Note, Turn
    from agentmem_cli.session.codec import JSON
    from agentmem_cli.session.fold import LogFold
    from agentmem_cli.storage.directory import DirStore

_GATHERED_BYTES: Final = 256 << 10
"""Bytes that are written at once."""


def export_form(
    settings: Settings,
    session: str,
    form: str,
    wanted: tuple[str | None, str],
    target: Path | None,
    *,
    force: bool,
    json: bool,
) -> None:
    """Write a session as *form* says; *wanted* is the agent and the place."""
    if form == "tar":
        _export_tar(settings, session, wanted[0], target, force=force, json=json)
    else:
        _export_text(settings, session, form, wanted, target, force=force, json=json)


def _export_text(
    settings: Settings,
    session: str,
    form: str,
    wanted: tuple[str | None, str],
    target: Path | None,
    *,
    force: bool,
    json: bool,
) -> None:
    from agentmem_cli.cli.look import open_place
    from agentmem_cli.cli.shown import warn_of
    from agentmem_cli.operations.travel import view_agent

    opened = open_place(settings, session, *wanted)
    if target is not None:
        check_file_target(settings, opened.store, target, force=force)
    fold = view_agent(opened.store, opened.agent, opened.place)
    pieces = _pieces(settings, opened, fold, form)
    size = write_pieces(settings, pieces, target, force=force)
    warn_of(opened.id, opened.agent, fold.damages)
    if form in ("html", "markdown"):
        _warn_of_missing(opened)
    if target is not None:
        told: dict[str, JSON] = {
            "session": opened.id,
            "agent": opened.agent,
            "as": form,
            "output": str(target),
            "bytes": size,
            "messages": len(fold.conversation),
        }
        tell_written(settings, [told], json=json)


def _warn_of_missing(opened: Opened) -> None:
    """Say which images the reader of a page will not see."""
    from agentmem_cli.cli.output import warn
    from agentmem_cli.cli.render import count
    from agentmem_cli.operations.blobs import MISSING, blobs_of

    found = [blob for blob in blobs_of(opened.store, check=False) if blob.state == MISSING]
    missing = sum(any(named.agent == opened.agent for named in blob.named) for blob in found)
    if missing:
        told = count(missing, "blob that is named is", "blobs that are named are")
        warn(f"{opened.id}: {told} missing; agentmem blobs --missing lists them")


def _pieces(settings: Settings, opened: Opened, fold: LogFold, form: str) -> Iterator[bytes]:
    """Return the bytes of a conversation in one of the forms."""
    from agentmem_cli.operations.transcript import transcript

    wanted = range(len(fold.conversation))
    if form == "html":
        from agentmem_cli.cli.page import page_bytes

        return _gathered(page_bytes(settings, opened, fold, wanted))
    items = transcript(opened.store, fold.conversation, wanted)
    if form == "jsonl":
        return _gathered(_json_lines(opened, fold, items))
    return _gathered(_markdown(settings, opened, fold, items))


def _json_lines(opened: Opened, fold: LogFold, items: Iterable[Turn | Note]) -> Iterator[bytes]:
    """Yield the lines that `show --json` prints."""
    from agentmem_cli.cli.output import json_line
    from agentmem_cli.cli.shown import head_of, value_of

    shown = len(fold.conversation)
    yield json_line({"schema": "agentmem.show/1", **head_of(opened, fold), "shown": shown})
    for item in items:
        schema, fields = value_of(item)
        yield json_line({"schema": schema, **fields})


def _markdown(
    settings: Settings, opened: Opened, fold: LogFold, items: Iterable[Turn | Note]
) -> Iterator[bytes]:
    """Yield a title, what it is of, and what `show --format markdown` prints."""
    from agentmem_cli.cli.markdown import markdown_head, markdown_lines
    from agentmem_cli.cli.output import encode

    head = markdown_head(settings, opened.id, opened.place.words, fold)
    yield encode("\n".join([*head, ""]))
    for item in items:
        yield encode("\n".join([*markdown_lines(settings, item), ""]))


def _gathered(lines: Iterable[bytes]) -> Iterator[bytes]:
    held: list[bytes] = []
    size = 0
    for line in lines:
        held.append(line)
        size += len(line)
        if size >= _GATHERED_BYTES:
            yield b"".join(held)
            held.clear()
            size = 0
    yield b"".join(held)


def _warn_of_damage(session: str, store: DirStore) -> None:
    """Say what of the logs that were given out is damaged: it is damaged there, too."""
    from agentmem_cli.cli.shown import warn_of
    from agentmem_cli.session.reader import fold_log

    for log in store.logs():
        warn_of(session, log, fold_log(store, log, strict=False).damages)


def _export_tar(
    settings: Settings,
    session: str,
    agent: str | None,
    target: Path | None,
    *,
    force: bool,
    json: bool,
) -> None:
    from agentmem_cli.cli.opening import open_to_look
    from agentmem_cli.cli.output import warn
    from agentmem_cli.cli.render import count
    from agentmem_cli.operations.exported_pack import packed, packing_of
    from agentmem_cli.operations.exported_tar import check_whole, contents, tar_of

    if agent is not None:
        msg = "--agent: a tar is the whole session, with every agent"
        raise UsageError(msg, hint="Leave --agent out; --as jsonl gives one agent out.")
    if target is None and settings.columns is not None:
        msg = "a tar is nothing for a terminal"
        raise UsageError(msg, hint="Name a file by --output, or put a pipe behind.")
    found, store = open_to_look(settings, session)
    check_whole(store)
    if target is not None:
        check_file_target(settings, store, target, force=force)
    held = contents(store)
    how = None if target is None else packing_of(target.name)
    size = write_pieces(settings, packed(tar_of(store), how), target, force=force)
    _warn_of_damage(found.id, store)
    if held.left:
        names = ", ".join(held.left[:5]) + (", ..." if len(held.left) > 5 else "")  # noqa: PLR2004
        number = count(len(held.left), "file or folder", "files and folders")
        warn(
            f"{found.id}: {number} beside logs/ and files/ left out, no part of a session: {names}"
        )
    if target is not None:
        told: dict[str, JSON] = {
            "session": found.id,
            "agent": None,
            "as": "tar",
            "output": str(target),
            "bytes": size,
            "logs": held.logs,
            "files": held.files,
        }
        tell_written(settings, [told], json=json)
