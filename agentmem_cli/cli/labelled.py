"""The commands of what a listing shows: `agentmem meta show|title|label|refresh`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from agentmem_cli.cli.options import JsonOption, SessionArg, parse_label
from agentmem_cli.cli.settings import Settings
from agentmem_cli.cli.verbs import group
from agentmem_cli.errors import UsageError

if TYPE_CHECKING:
    from agentmem_cli.operations.labelling import Listed
    from agentmem_cli.session.codec import JSON

SCHEMA: Final = "agentmem.meta/1"
"""What a listing shows of a session."""

app = group(
    "meta",
    """What a listing shows: titles, labels, and making it anew.

    It is kept in files/meta.json. All but labels can be made anew from the
    logs.""",
)


@app.command("show")
def show(context: typer.Context, session: SessionArg, json: JsonOption = False) -> None:
    """Show what is kept for listings."""
    from agentmem_cli.cli.opening import open_to_look
    from agentmem_cli.operations.labelling import meta_of

    settings = Settings.of(context)
    found, store = open_to_look(settings, session)
    _tell(settings, found.id, meta_of(store), json=json, whole=True)


@app.command("title")
def title(
    context: typer.Context,
    session: SessionArg,
    text: Annotated[
        str | None, typer.Argument(metavar="[TEXT]", help="The title; without it, it is printed.")
    ] = None,
    none: Annotated[
        bool, typer.Option("--none", help="Take the first words of the user as the title again.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Print the title of a session, or give it one.

    It is saved in the log of the main agent too, so its past stays.
    """
    from agentmem_cli.cli.opening import open_to_change, open_to_look
    from agentmem_cli.operations.labelling import meta_of, set_title

    settings = Settings.of(context)
    if text is not None and none:
        raise UsageError("give either a title or --none")
    look = text is None and not none
    found, store = (open_to_look if look else open_to_change)(settings, session)
    if look:
        _tell(settings, found.id, meta_of(store), json=json)
        return
    done = set_title(store, text, now_ms=settings.now_ms)
    _tell(settings, found.id, done, json=json)


@app.command("label")
def label(
    context: typer.Context,
    session: SessionArg,
    labels: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KEY=VALUE]...", help="Labels to set; without any they are printed."
        ),
    ] = None,
    remove: Annotated[
        list[str] | None,
        typer.Option("--remove", metavar="KEY", help="Take this label away; repeatable."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Print the labels of a session, set some, or take some away."""
    from agentmem_cli.cli.opening import open_to_change, open_to_look
    from agentmem_cli.cli.text import one_line
    from agentmem_cli.operations.labelling import meta_of, set_labels

    settings = Settings.of(context)
    put: dict[str, str] = {}
    for words in labels or ():
        key, value = parse_label(words)
        if value is None:
            msg = f"{words!r} has no value"
            raise UsageError(msg, hint="Write KEY=VALUE; --remove KEY takes one away.")
        put[key] = value
    both = sorted(put.keys() & set(remove or ()))
    if both:
        raise UsageError(f"{both[0]!r} is to be set and to be removed")
    look = not put and not remove
    found, store = (open_to_look if look else open_to_change)(settings, session)
    done = meta_of(store) if look else set_labels(store, put, remove or ())
    if json:
        _tell(settings, found.id, done, json=json)
        return
    _warn(found.id, done)
    with settings.output() as out:
        for key, value in done.meta.labels.items():
            out.line(one_line(f"{key}={value}"))


@app.command("refresh")
def refresh(context: typer.Context, session: SessionArg, json: JsonOption = False) -> None:
    """Make it anew from the logs; labels stay.

    One that cannot be read is set aside under files/recovered/ first.
    """
    from agentmem_cli.cli.opening import open_to_change
    from agentmem_cli.operations.labelling import make_anew

    settings = Settings.of(context)
    found, store = open_to_change(settings, session)
    _tell(settings, found.id, make_anew(store), json=json, whole=True)


def _tell(
    settings: Settings, session: str, done: Listed, *, json: bool, whole: bool = False
) -> None:
    from agentmem_cli.cli.clock import screen_time
    from agentmem_cli.cli.text import cell, one_line

    meta = done.meta
    _warn(session, done)
    with settings.output() as out:
        if json:
            out.object(SCHEMA, _fields(session, done))
        elif not whole:
            out.line(cell(meta.title or "", 400))
        else:
            updated = None if meta.updated is None else screen_time(meta.updated, settings.zone)
            rows = [
                ("title", meta.title),
                ("labels", " ".join(f"{key}={each}" for key, each in meta.labels.items())),
                ("updated", updated),
                ("model", meta.model),
                ("messages", None if meta.messages is None else f"{meta.messages:,}"),
            ]
            for name, told in rows:
                if told:
                    out.line(f"{name:<8}  {one_line(told).strip()}")


def _warn(session: str, done: Listed) -> None:
    from agentmem_cli.cli.output import warn

    aside = done.refreshed
    if aside.why is not None:
        lost = "; labels, if it had any, are lost" if aside.labels_lost else ""
        where = f"; it was set aside as files/{aside.set_aside}" if aside.set_aside else ""
        warn(f"{session}/files/meta.json: {aside.why}{where}{lost}")
    if done.meta_error is not None:
        warn(f"{session}: the meta was not written ({done.meta_error}); list goes by the logs")
    if done.torn is not None:
        warn(
            f"{session}/logs/{done.torn.log}.jsonl: {done.torn.cut} torn bytes were set aside "
            f"in files/{done.torn.set_aside}"
        )


def _fields(session: str, done: Listed) -> dict[str, JSON]:
    from agentmem_cli.cli.clock import utc_time

    meta = done.meta
    return {
        "session": session,
        "title": meta.title,
        "labels": {**meta.labels},
        "updated": None if meta.updated is None else utc_time(meta.updated),
        "model": meta.model,
        "messages": meta.messages,
        "changed": done.changed,
        "set_aside": None if done.torn is None else done.torn.set_aside,
        "meta_set_aside": done.refreshed.set_aside,
    }
