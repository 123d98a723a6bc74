"""The commands that look: list, show, log, as-of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agentmem_cli.cli.options import (
    AgentOption,
    JsonOption,
    LabelOption,
    LargerOption,
    ModelOption,
    OlderOption,
    PlaceArg,
    SessionArg,
    SinceOption,
    TitleOption,
    UntilOption,
    filters,
)
from agentmem_cli.cli.settings import Settings
from agentmem_cli.errors import UsageError
from agentmem_cli.limits import LIST_ROWS

if TYPE_CHECKING:
    from agentmem_cli.cli.shown import Opened
    from agentmem_cli.operations.projects import Project

ShownArg = Annotated[
    str | None,
    typer.Argument(
        metavar="SESSION",
        help="A session: its path, its name or the beginning of it, or @last; or an address.",
    ),
]
LastOption = Annotated[
    int | None,
    typer.Option("--last", metavar="N", min=0, help="Only the last N messages."),
]
FromOption = Annotated[
    str | None,
    typer.Option("--from", metavar="MESSAGE", help="From this message on (its number)."),
]
ToOption = Annotated[
    str | None,
    typer.Option("--to", metavar="MESSAGE", help="Up to this message (its number)."),
]
AsOfOption = Annotated[
    str | None,
    typer.Option("--as-of", metavar="PLACE", help="As it was at this place in time."),
]
FullOption = Annotated[
    bool, typer.Option("--full", help="Print tool calls and results whole, not folded.")
]
ProjectOption = Annotated[
    str | None,
    typer.Option(
        "--project",
        metavar="FOLDER",
        help="Only sessions that worked in this folder or below it, or in one of this name.",
    ),
]
TreeOption = Annotated[
    bool, typer.Option("--tree", help="List the agents of each session under it.")
]
SortOption = Annotated[
    str,
    typer.Option(
        "--sort",
        metavar="BY",
        help="By updated, started, size, messages, title or id; updated if not given.",
    ),
]
LimitOption = Annotated[
    int | None,
    typer.Option("--limit", metavar="N", min=0, help="Print N sessions at most; 0: all of them."),
]
FollowOption = Annotated[
    bool,
    typer.Option(
        "--follow", help="Show the last 10 messages, then those that come; Ctrl-C ends it."
    ),
]
FollowAllOption = Annotated[
    bool, typer.Option("--all", help="With --follow: all agents, those that come too.")
]
IntervalOption = Annotated[
    float | None,
    typer.Option(
        "--interval",
        metavar="SECONDS",
        min=0.05,
        help="How often --follow looks; every half second if not given.",
    ),
]


def list_sessions(
    context: typer.Context,
    since: SinceOption = None,
    until: UntilOption = None,
    model: ModelOption = None,
    label: LabelOption = None,
    title: TitleOption = None,
    larger: LargerOption = None,
    older: OlderOption = None,
    agent: Annotated[
        str | None,
        typer.Option("--agent", metavar="ID", help="Only sessions with an agent of this id."),
    ] = None,
    project: ProjectOption = None,
    tree: TreeOption = False,
    sort: SortOption = "updated",
    limit: LimitOption = None,
    json: JsonOption = False,
) -> None:
    """List the sessions, the last updated first.

    Without --limit the table has 50 rows at most and says how many sessions
    there are; JSON has them all. Filters look at all sessions. A question mark
    stands where the facts were not to be had without reading whole logs.
    """
    from agentmem_cli.cli.listed import print_json, print_table
    from agentmem_cli.operations.listing import SORTS, matching, ordered, rows

    settings = Settings.of(context)
    if sort not in SORTS:
        msg = f"--sort: {sort!r} is none of {', '.join(SORTS)}"
        raise UsageError(msg)
    if agent == "":
        msg = "--agent is empty"
        raise UsageError(msg)
    wanted = filters(
        settings,
        since=since,
        until=until,
        model=model,
        label=label,
        title=title,
        larger=larger,
        older=older,
    )
    place = _project(project)
    everything = list(rows(str(settings.root)))
    found = ordered(matching(everything, wanted, agent, place), sort)
    most = limit if limit is not None else (0 if json else LIST_ROWS)
    shown = found[:most] if most else found
    if json:
        print_json(settings, shown, tree=tree)
    else:
        print_table(
            settings,
            shown,
            fitting=len(found),
            everything=len(everything),
            tree=tree,
            project=place is not None,
        )


def _project(words: str | None) -> Project | None:
    if words is None:
        return None
    from agentmem_cli.operations.projects import Project

    if not words:
        msg = "--project is empty"
        raise UsageError(msg)
    return Project(words)


def show(
    context: typer.Context,
    session: ShownArg = None,
    agent: AgentOption = None,
    last: LastOption = None,
    from_: FromOption = None,
    to: ToOption = None,
    as_of: AsOfOption = None,
    full: FullOption = False,
    asides: Annotated[
        bool, typer.Option("--asides", help="Show side records where they stand.")
    ] = False,
    format_: Annotated[
        str,
        typer.Option("--format", metavar="FORMAT", help="text, markdown, json or html."),
    ] = "text",
    follow: FollowOption = False,
    everything: FollowAllOption = False,
    interval: IntervalOption = None,
    json: JsonOption = False,
) -> None:
    """Show the conversation of a session.

    Each message has its number, which --from, --to and the place mN take. All
    of them take an address as grep prints it, SESSION:AGENT:mN, too; it names
    the session and the agent, and alone it means from this message on.
    Tool results are folded to a few lines unless --full is given. Around
    damage it shows what can be read, and warns.
    """
    from agentmem_cli.cli.addressed import aim_from
    from agentmem_cli.cli.shown import FORMATS, print_conversation

    settings = Settings.of(context)
    chosen = "json" if json else format_
    if chosen not in FORMATS:
        msg = f"--format: {chosen!r} is none of {', '.join(FORMATS)}"
        raise UsageError(msg)
    if follow:
        _check_follow(chosen, {"--as-of": as_of, "--to": to}, agent, everything=everything)
    given = {"--from": from_, "--to": to, "--as-of": as_of}
    session, agent, words = aim_from(settings, session, agent, given)
    from_id, to_id = (_message_number(name, words[name]) for name in ("--from", "--to"))
    if follow:
        from agentmem_cli.cli.followed import Wanted, print_following

        if everything and agent is not None:
            raise UsageError("--all follows every agent, and an address names one")
        wanted = Wanted(agent, everything, from_id, last, chosen, full, asides, interval)
        print_following(settings, session, wanted)
        return
    if everything or interval is not None:
        msg = f"{'--all' if everything else '--interval'} goes with --follow only"
        raise UsageError(msg)
    opened = open_place(settings, session, agent, words["--as-of"] or "now")
    print_conversation(
        settings,
        opened,
        chosen,
        from_id=from_id,
        to_id=to_id,
        last=last,
        full=full,
        asides=asides,
    )


def as_of(
    context: typer.Context,
    session: SessionArg,
    place: PlaceArg,
    agent: AgentOption = None,
    last: Annotated[
        int,
        typer.Option("--last", metavar="N", min=0, help="The last N messages; 20 if not given."),
    ] = 20,
    full: FullOption = False,
    json: JsonOption = False,
) -> None:
    """Show a session as it was at a place in time.

    It prints counts, saved values, core memory and the last messages. A place
    is N (the records with a smaller n), mN (before message N), ~N (N records
    back), a time, before-compaction, start or now. Only what the logs still
    hold can be seen: a redaction changes the past on purpose.
    """
    from agentmem_cli.cli.shown import print_view

    settings = Settings.of(context)
    opened = open_place(settings, session, agent, place)
    print_view(settings, opened, last=last, full=full, json=json)


def log(
    context: typer.Context,
    session: SessionArg,
    agent: AgentOption = None,
    everything: Annotated[
        bool, typer.Option("--all", help="The records of every log, in the order they were made.")
    ] = False,
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", metavar="TYPE", help="Only records of this type; repeatable."),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="KEY", help="Only saved values of this key."),
    ] = None,
    oneline: Annotated[
        bool, typer.Option("--oneline", help="One line a record, without details.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Show the records of a session: stamps, who, what."""
    from agentmem_cli.cli.opening import open_to_look
    from agentmem_cli.cli.records import print_records
    from agentmem_cli.operations.catalog import log_to_look
    from agentmem_cli.operations.records import TYPES
    from agentmem_cli.session.keys import SESSION

    settings = Settings.of(context)
    for one in kind or ():
        if one not in TYPES:
            msg = f"--kind: {one!r} is none of {', '.join(TYPES)}"
            raise UsageError(msg)
    found, store = open_to_look(settings, session)
    own = agent == SESSION and SESSION in store.logs()
    logs = store.logs() if everything else [SESSION if own else log_to_look(store, agent)]
    print_records(
        settings,
        found.id,
        store,
        logs,
        kinds=frozenset(kind or ()),
        key=key,
        oneline=oneline,
        json=json,
    )


def _check_follow(
    format_: str, ends: dict[str, str | None], agent: str | None, *, everything: bool
) -> None:
    """See that what is given goes with following; *ends* are options that say where to end."""
    from agentmem_cli.cli.followed import FORMATS

    for option, words in ends.items():
        if words is not None:
            msg = f"{option} says where to end, and --follow goes on"
            raise UsageError(msg, hint="Leave one of them out.")
    if format_ not in FORMATS:
        msg = f"--follow goes with the formats {', '.join(FORMATS)}, not with {format_}"
        raise UsageError(msg)
    if everything and agent is not None:
        msg = "--all follows every agent, and --agent names one"
        raise UsageError(msg, hint="Leave one of them out.")


def _message_number(option: str, words: str | None) -> int | None:
    """Read a message's number: ``12``, ``m12`` or ``#12``."""
    if words is None:
        return None
    number = words.removeprefix("m").removeprefix("#")
    if not number.isascii() or not number.isdigit():
        msg = f"{option}: {words!r} is no message number"
        raise UsageError(msg, hint="agentmem show numbers the messages.")
    return int(number)


def open_place(
    settings: Settings, session: str, agent: str | None, place: str, *, change: bool = False
) -> Opened:
    """Find a session, its agent and a place in time, which may be a message's address.

    Of a session without an agent its own log is opened, unless a *change* needs a conversation.
    """
    from agentmem_cli.cli.addressed import aim
    from agentmem_cli.cli.clock import parse_time
    from agentmem_cli.cli.opening import open_to_look
    from agentmem_cli.cli.shown import Opened
    from agentmem_cli.operations.catalog import choose_agent, log_to_look
    from agentmem_cli.operations.places import resolve

    session, agent, words = aim(settings, session, agent, {"PLACE": place})
    place = words["PLACE"] or ""
    found, store = open_to_look(settings, session)
    chosen = (choose_agent if change else log_to_look)(store, agent)

    def read_time(words: str) -> int:
        return parse_time(words, now_ms=settings.now_ms, zone=settings.zone)

    resolved = resolve(store, chosen, place, now_ms=settings.now_ms, read_time=read_time)
    return Opened(found.id, store, chosen, resolved)
