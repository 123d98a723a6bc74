"""The command that gives sessions out: export."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from agentmem_cli.cli.options import AgentOption, ForceOption, JsonOption, SessionArg
from agentmem_cli.cli.settings import Settings
from agentmem_cli.errors import ConflictError, NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agentmem_cli.operations.export import Original
    from agentmem_cli.operations.exports.turns import Left
    from agentmem_cli.session.codec import JSON
    from agentmem_cli.storage.directory import DirStore

SCHEMA: Final = "agentmem.export/1"
"""One file that was written."""

FORMS: Final = ("original", "messages", "jsonl", "markdown", "html", "tar")
"""What ``--as`` takes."""

WHOLE: Final = {
    "original": "an original is given out as it was imported",
    "tar": "a tar is the whole session, as it is",
}
"""The forms that hold every agent, and that no place in time is asked of."""

SHAPES: Final = ("openai", "anthropic")
"""What ``--shape`` takes: the keys of `operations.export.SHAPES`."""

_STANDARD: Final = "-"

_FILE_ENDINGS: Final = frozenset((".jsonl", ".ndjson", ".json", ".zst", ".gz", ".txt", ".log"))
"""How the names of transcripts end, and no folder's."""


def export(
    context: typer.Context,
    session: SessionArg,
    as_: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="FORM",
            help="original: the imported source as it was; messages: a JSON array; jsonl: what "
            "show --json prints; markdown; html: a page to read; tar: the whole session.",
        ),
    ] = None,
    shape: Annotated[
        str,
        typer.Option("--shape", metavar="SHAPE", help="Of messages: openai or anthropic."),
    ] = "openai",
    agent: AgentOption = None,
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", metavar="PLACE", help="Messages as they were at this place."),
    ] = None,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to write; - is standard output; of several originals a folder. "
            "The folder above must be there.",
        ),
    ] = _STANDARD,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Export a session: its transcript, its messages, or all of it.

    The original is what import read, byte for byte. Messages are a JSON array
    as a provider takes it: every call is followed by its result, one that
    nothing answered by an error result that says so. The page of html is one
    file with all that it needs; nothing of a session runs on it. A tar holds
    the whole session, and import makes it again; a name that ends in .tar.gz
    or .tar.zst has it packed.
    """
    settings = Settings.of(context)
    if as_ is None:
        raise UsageError("missing option '--as'", hint=f"It is one of {', '.join(FORMS)}.")
    _check(as_, shape, as_of, output, json=json)
    target = None if output == _STANDARD else Path(output)
    slash = output.endswith(("/", os.sep))
    if as_ == "original":
        given = (target, slash or (target is not None and target.is_dir()))
        _export_originals(settings, session, agent, given, force=force, json=json)
        return
    if slash:
        msg = f"{output}: a folder, and {as_} is one file"
        raise UsageError(msg, hint=f"Name a file in it: -o {output}{_FILES[as_]}")
    if as_ == "messages":
        wanted = (shape, agent, as_of or "now")
        _export_messages(settings, session, wanted, target, force=force, json=json)
    else:
        from agentmem_cli.cli.exported_forms import export_form

        export_form(settings, session, as_, (agent, as_of or "now"), target, force=force, json=json)


def _check(as_: str, shape: str, as_of: str | None, output: str, *, json: bool) -> None:
    if as_ not in FORMS:
        msg = f"--as: {as_!r} is none of {', '.join(FORMS)}"
        raise UsageError(msg)
    if shape not in SHAPES:
        msg = f"--shape: {shape!r} is none of {', '.join(SHAPES)}"
        raise UsageError(msg)
    if as_ in WHOLE and as_of is not None:
        msg = f"--as-of: {WHOLE[as_]}"
        raise UsageError(msg, hint="--as messages goes back in time.")
    if not output:
        msg = "--output is empty"
        raise UsageError(msg)
    if json and output == _STANDARD:
        msg = "--json tells what was written, and standard output has the export itself"
        raise UsageError(msg, hint="Name a file by --output.")


_FILES: Final = {
    "messages": "messages.json",
    "jsonl": "session.jsonl",
    "markdown": "session.md",
    "html": "page.html",
    "tar": "session.tar",
}


def _export_messages(
    settings: Settings,
    session: str,
    wanted: tuple[str, str | None, str],
    target: Path | None,
    *,
    force: bool,
    json: bool,
) -> None:
    """Write an agent's messages; *wanted* is the shape, the agent and the place."""
    from agentmem_cli.cli.look import open_place
    from agentmem_cli.cli.shown import warn_of
    from agentmem_cli.operations.export import as_array, kind_of, messages
    from agentmem_cli.operations.exports.turns import Left
    from agentmem_cli.operations.travel import view_agent

    shape, agent, place = wanted
    opened = open_place(settings, session, agent, place)
    if target is not None:
        check_file_target(settings, opened.store, target, force=force)
    fold = view_agent(opened.store, opened.agent, opened.place)
    left = Left()
    counted: list[int] = []
    kind = kind_of(opened.store, opened.agent)
    found = messages(fold.conversation.entries, shape, left, kind=kind)
    data = as_array(found, counted)
    size = write_pieces(settings, data, target, force=force)
    warn_of(opened.id, opened.agent, fold.damages)
    _tell_left(opened.id, left)
    if target is not None:
        (number,) = counted
        told: dict[str, JSON] = {
            "session": opened.id,
            "agent": opened.agent,
            "as": "messages",
            "shape": shape,
            "output": str(target),
            "bytes": size,
            "messages": number,
            "unanswered": left.unanswered,
            "orphans": left.orphans,
            "mended": left.mended,
            "left_out": {**left.parts},
        }
        tell_written(settings, [told], json=json)


def _export_originals(
    settings: Settings,
    session: str,
    agent: str | None,
    given: tuple[Path | None, bool],
    *,
    force: bool,
    json: bool,
) -> None:
    """Write the sources; *given* is where to, and whether that is a folder."""
    from agentmem_cli.cli.opening import open_to_look
    from agentmem_cli.cli.output import warn
    from agentmem_cli.operations.catalog import choose_agent
    from agentmem_cli.operations.export import (
        check_kept,
        kept_bytes,
        originals,
        target_names,
    )
    from agentmem_cli.operations.exports.targets import check_file, check_folder

    target, below = given
    found, store = open_to_look(settings, session)
    chosen = None if agent is None else choose_agent(store, agent)
    sources = originals(store, chosen)
    if target is None and len(sources) > 1:
        more = len(sources) - 1
        warn(f"{found.id}: this is the main source of {more + 1}; --output DIR writes all of them")
        sources = sources[:1]
    for source in sources:
        check_kept(store, source)
        if source.rewritten is not None:
            warn(f"{source.name}: as a rewrite of this session left it, not as it was imported")
        elif source.kept < source.size:
            warn(f"{source.name}: the first {source.kept} of {source.size} bytes are kept, no more")
    if target is None:
        write_pieces(settings, kept_bytes(store, sources[0]), None, force=force)
        return
    if below or len(sources) > 1:
        if not below:
            _check_folder_name(target, len(sources))
        names = target_names(sources)
        check_folder(target, names, store.path, settings.root, force=force)
        paths = [target / name for name in names]
    else:
        check_file(target, store.path, settings.root, force=force)
        paths = [target]
    written = _write_all(settings, store, sources, paths, force=force)
    tell_written(settings, [{"session": found.id, **each} for each in written], json=json)


def _check_folder_name(target: Path, sources: int) -> None:
    """Refuse a name that ends like a file's where several files are to be written."""
    if target.suffix.lower() in _FILE_ENDINGS:
        msg = f"{target}: there are {sources} originals, which go into a folder"
        hint = f"Name a folder: -o {target.with_suffix('')}"
        raise UsageError(msg, hint=hint)


def _write_all(
    settings: Settings,
    store: DirStore,
    sources: Sequence[Original],
    paths: Sequence[Path],
    *,
    force: bool,
) -> list[dict[str, JSON]]:
    """Write each of *sources* to its path; one that stands there already is left alone."""
    from agentmem_cli.operations.export import kept_bytes
    from agentmem_cli.operations.exports.targets import begins_with, check_no_source, is_stream

    there = []
    for source, path in zip(sources, paths, strict=True):
        # Why before the first: all of them are written, or none.
        same = not is_stream(path) and begins_with(path, source)
        there.append(same and path.stat().st_size == source.kept)
        if same and not there[-1]:
            check_no_source(path, [source])
    written: list[dict[str, JSON]] = []
    for source, path, same in zip(sources, paths, there, strict=True):
        size = source.kept
        if not same:
            size = write_pieces(settings, kept_bytes(store, source), path, force=force)
        written.append({"agent": source.log, "as": "original", "output": str(path), "bytes": size})
    return written


def check_file_target(settings: Settings, store: DirStore, target: Path, *, force: bool) -> None:
    """See that messages may be written to *target*, which is none of the session's sources."""
    from agentmem_cli.operations.export import originals
    from agentmem_cli.operations.exports.targets import check_file, check_no_source, is_stream

    check_file(target, store.path, settings.root, force=force)
    if force and target.exists() and not is_stream(target):
        try:
            sources = originals(store)
        except NotFoundError:
            return
        check_no_source(target, sources)


def write_pieces(
    settings: Settings, pieces: Iterable[bytes], target: Path | None, *, force: bool
) -> int:
    """Write *pieces* to a file, or to standard output where *target* is None."""
    from agentmem_cli.operations.exports.targets import is_stream
    from agentmem_cli.storage.files import write_atomically
    from agentmem_cli.storage.named import names_file

    if target is not None and not is_stream(target):
        try:
            return write_atomically(target, pieces, over=force)
        except FileExistsError:
            msg = f"{target}: is there already"
            raise ConflictError(msg, hint="--force writes over it.") from None
        except OSError as error:
            # Why: it names the file beside the target that is written first.
            raise OSError(error.errno, error.strerror, str(target)) from error
    size = 0
    if target is not None:
        with target.open("wb", buffering=0) as stream, names_file(target):
            for piece in pieces:
                size += len(piece)
                rest = memoryview(piece)
                while rest:
                    rest = rest[stream.write(rest) or 0 :]
        return size
    with settings.output() as out:
        for piece in pieces:
            out.write_bytes(piece)
            size += len(piece)
    return size


def _tell_left(session: str, left: Left) -> None:
    from agentmem_cli.cli.output import warn
    from agentmem_cli.cli.render import count

    told = list(_words(left))
    if told:
        warn(f"{session}: {'; '.join(told)}")
    if left.system:
        warn(
            f"{session}: {count(left.system, 'system message')} became text of the user, "
            "since this shape has no role for the system"
        )


def _words(left: Left) -> Iterator[str]:
    from agentmem_cli.cli.render import count

    if left.unanswered:
        yield f"{count(left.unanswered, 'call')} without a result got one that says so"
    if left.orphans:
        yield f"{count(left.orphans, 'result')} of no call left out"
    if left.mended:
        mended = count(left.mended, "message or call", "messages or calls")
        yield f"{mended} put as the API asks"
    for kind, number in sorted(left.parts.items()):
        yield f"{count(number, 'part')} of type {kind} left out"


def tell_written(settings: Settings, written: list[dict[str, JSON]], *, json: bool) -> None:
    """Tell what was *written*, a file each: as JSON, or its name and size on standard error."""
    from agentmem_cli.cli.output import talk
    from agentmem_cli.cli.render import size
    from agentmem_cli.cli.text import one_line

    with settings.output() as out:
        for told in written:
            if json:
                out.object(SCHEMA, told)
            else:
                held = told["bytes"]
                assert isinstance(held, int)
                talk(f"{one_line(str(told['output']))}: {size(held)}")
