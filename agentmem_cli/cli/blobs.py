"""The command blobs: listing what is kept beside the logs, and giving it out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from agentmem_cli.cli.options import ForceOption, JsonOption, SessionArg
from agentmem_cli.cli.settings import Settings
from agentmem_cli.errors import ConflictError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.operations.blobs import Blob
    from agentmem_cli.storage.directory import DirStore

BLOB: Final = "agentmem.blob/1"
"""One blob."""

EXTRACT: Final = "agentmem.blob-extract/1"
"""One blob that was written to a file."""

_FINDINGS: Final = 1
_STANDARD: Final = "-"


def blobs(
    context: typer.Context,
    session: SessionArg,
    unused: Annotated[
        bool, typer.Option("--unused", help="Only blobs that nothing names: what gc removes.")
    ] = False,
    missing: Annotated[
        bool, typer.Option("--missing", help="Only blobs that are named, and not there.")
    ] = False,
    mismatched: Annotated[
        bool,
        typer.Option("--mismatched", help="Only blobs whose bytes are not what their name says."),
    ] = False,
    extract: Annotated[
        list[str] | None,
        typer.Option(
            "--extract", metavar="NAME", help="Write this blob (or a beginning of it); repeatable."
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Write all that are there.")] = False,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="The folder to write to, made where it is not there; - is standard output.",
        ),
    ] = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> int | None:
    """List the images and other blobs of a session, or write them out.

    Each has its type, its size, and the messages that name it. With --unused,
    --missing or --mismatched only such are listed, and the exit status is 1
    where there are any.
    """
    from agentmem_cli.cli.opening import open_to_look
    from agentmem_cli.operations.blobs import MISMATCHED, MISSING, UNUSED, blobs_of

    settings = Settings.of(context)
    wanted = [
        state
        for state, on in ((UNUSED, unused), (MISSING, missing), (MISMATCHED, mismatched))
        if on
    ]
    _check(extract, output, wanted, everything=everything)
    found, store = open_to_look(settings, session)
    if extract or everything:
        assert output is not None
        return _extract(settings, found.id, store, extract, output, force=force, json=json)
    listed = blobs_of(store, check=mismatched)
    shown = [blob for blob in listed if not wanted or blob.state in wanted]
    if json:
        _print_json(settings, found.id, shown)
    else:
        _print_table(settings, found.id, shown, len(listed))
    return _FINDINGS if wanted and shown else None


def _check(
    extract: Sequence[str] | None, output: str | None, wanted: Sequence[str], *, everything: bool
) -> None:
    if extract and everything:
        raise UsageError("--extract names blobs, and --all means all of them")
    if (extract or everything) and not output:
        msg = "where the blobs are to go is not said"
        raise UsageError(msg, hint="Name a folder with -o; -o - is standard output.")
    if output is not None and not (extract or everything):
        raise UsageError("-o says where blobs go, and none is named", hint="Add --all.")
    if (extract or everything) and wanted:
        raise UsageError(f"--{wanted[0]} lists, and --extract and --all write")
    if output == _STANDARD and (everything or len(extract or ()) > 1):
        raise UsageError("only one blob fits on standard output", hint="Name a folder with -o.")


def _print_json(settings: Settings, session: str, shown: Sequence[Blob]) -> None:
    with settings.output() as out:
        for blob in shown:
            out.object(
                BLOB,
                {
                    "session": session,
                    "name": blob.name,
                    "type": blob.media,
                    "size_bytes": blob.size_bytes,
                    "state": blob.state,
                    "named_times": blob.named_times,
                    "named_by": [
                        {
                            "agent": named.agent,
                            "id": named.id,
                            "address": f"{session}:{named.agent}:m{named.id}",
                            "stands": named.stands,
                        }
                        for named in blob.named
                    ],
                },
            )


def _print_table(settings: Settings, session: str, shown: Sequence[Blob], everything: int) -> None:
    from agentmem_cli.cli.output import talk
    from agentmem_cli.cli.render import Column, count, size, table
    from agentmem_cli.cli.text import one_line

    columns = [
        Column("NAME", least=16, style="cyan"),
        Column("TYPE", least=8, spare=1),
        Column("SIZE", "right"),
        Column("STATE"),
        Column("NAMED BY", least=8),
    ]
    rows = []
    for blob in shown:
        held = "-" if blob.size_bytes is None else size(blob.size_bytes)
        rows.append([blob.name, blob.media, held, blob.state, _named(blob)])
    if rows:
        with settings.output(paged=True) as out:
            table(out, columns, rows, settings)
    held_bytes = sum(blob.size_bytes or 0 for blob in shown)
    if len(shown) < everything:
        talk(f"{count(len(shown))} of {count(everything, 'blob')}, {size(held_bytes)}")
    elif everything:
        talk(f"{count(everything, 'blob')}, {size(held_bytes)}")
    else:
        talk(f"{one_line(session)} has no blobs.")


def _named(blob: Blob) -> str:
    # Why each once: a message that was taken out and put back names it twice.
    places = list(dict.fromkeys(f"{named.agent}:m{named.id}" for named in blob.named))
    told = places[:2]
    more = blob.named_times - len(blob.named) + len(places) - len(told)
    return ", ".join([*told, f"and {more:,} more"] if more else told)


def _extract(
    settings: Settings,
    session: str,
    store: DirStore,
    names: Sequence[str] | None,
    output: str,
    *,
    force: bool,
    json: bool,
) -> int | None:
    from agentmem_cli.cli.output import warn
    from agentmem_cli.cli.render import size
    from agentmem_cli.operations.blobs import MISSING, blobs_of, chosen_blob, is_whole
    from agentmem_cli.operations.exports.targets import check_folder
    from agentmem_cli.operations.imports.naming import safe_name

    if names:
        wanted = list(dict.fromkeys(chosen_blob(store, words) for words in names))
    else:
        wanted = [blob.name for blob in blobs_of(store, check=False) if blob.state != MISSING]
    folder = None if output == _STANDARD else Path(output)
    targets = [safe_name(name) for name in wanted]
    if folder is not None:
        check_folder(folder, targets, store.path, settings.root, force=force)
    elif json:
        msg = "--json tells what was written, and standard output has the blob itself"
        raise UsageError(msg, hint="Name a folder by --output.")
    spoilt = False
    written: list[tuple[str, Path, int, bool]] = []
    for name, target in zip(wanted, targets, strict=True):
        whole = is_whole(store, name)
        if not whole:
            spoilt = True
            warn(f"{session}: blob {name}: its bytes are not those that its name says")
        path = None if folder is None else folder / target
        held = _write(settings, store, name, path, force=force)
        if path is not None:
            written.append((name, path, held, whole))
    _tell(settings, session, written, json=json)
    if folder is not None and not json:
        from agentmem_cli.cli.output import talk

        talk(f"{len(written):,} written, {size(sum(each[2] for each in written))}")
    return _FINDINGS if spoilt else None


def _write(
    settings: Settings, store: DirStore, name: str, path: Path | None, *, force: bool
) -> int:
    from agentmem_cli.operations.blobs import bytes_of
    from agentmem_cli.storage.files import write_atomically

    if path is None:
        held = 0
        with settings.output() as out:
            for piece in bytes_of(store, name):
                out.write_bytes(piece)
                held += len(piece)
        return held
    try:
        return write_atomically(path, bytes_of(store, name), over=force)
    except FileExistsError:
        msg = f"{path}: is there already"
        raise ConflictError(msg, hint="--force writes over it.") from None


def _tell(
    settings: Settings, session: str, written: Sequence[tuple[str, Path, int, bool]], *, json: bool
) -> None:
    from agentmem_cli.cli.output import talk
    from agentmem_cli.cli.render import size
    from agentmem_cli.cli.text import one_line

    with settings.output() as out:
        for name, path, held, whole in written:
            if json:
                out.object(
                    EXTRACT,
                    {
                        "session": session,
                        "name": name,
                        "output": str(path),
                        "bytes": held,
                        "matches": whole,
                    },
                )
            else:
                talk(f"{one_line(str(path))}: {size(held)}")
