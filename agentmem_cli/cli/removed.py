"""The commands that remove whole sessions: rm, prune."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from agentmem_cli.cli.many import (
    BusyForceOption,
    IdleOption,
    Sought,
    check_may_remove,
    idle_ms,
)
from agentmem_cli.cli.options import (
    DryRunOption,
    JsonOption,
    LabelOption,
    LargerOption,
    ModelOption,
    OlderOption,
    SinceOption,
    TitleOption,
    UntilOption,
    YesOption,
)
from agentmem_cli.cli.rewritten import ProjectOption
from agentmem_cli.cli.settings import Settings
from agentmem_cli.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.cli.output import Output
    from agentmem_cli.operations.catalog import Found
    from agentmem_cli.operations.removing import Goes
    from agentmem_cli.session.codec import JSON

SCHEMA: Final = "agentmem.rm/1"

_TROUBLE: Final = 2


def rm(
    context: typer.Context,
    sessions: Annotated[
        list[str],
        typer.Argument(
            metavar="SESSION...",
            help="Sessions: paths, names or beginnings of them, or @last.",
        ),
    ],
    if_idle: IdleOption = "60s",
    force: BusyForceOption = False,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    json: JsonOption = False,
) -> int | None:
    """Remove whole sessions: logs, blobs, kept sources, all of it.

    It says what would go and asks; where nobody can answer it needs --yes, and
    whole names. It cannot be undone. What was imported stands where it came
    from.
    """
    settings = Settings.of(context)
    check_may_remove(settings, dry_run=dry_run, yes=yes)
    blindly = yes and not dry_run
    found = list(dict.fromkeys(_named(settings, words, blindly=blindly) for words in sessions))
    run = _Run(settings, idle_ms(if_idle, force=force), dry_run=dry_run, yes=yes, json=json)
    return run.all(found)


def _named(settings: Settings, words: str, *, blindly: bool) -> Found:
    """Find a session to be removed; tell where *words* are the beginning of its name alone.

    Raises:
        UsageError: They are, and it would go *blindly*.
    """
    from agentmem_cli.cli.opening import find_shown
    from agentmem_cli.cli.output import warn

    found = find_shown(settings, words)
    if words != found.id and found.id.startswith(words):
        msg = f"{words!r} is the beginning of {found.id!r}"
        if blindly:
            # Why: one slip of the hand would remove for good what nobody looked at.
            hint = "Nothing was removed; with --yes, give the whole name."
            raise UsageError(msg, hint=hint)
        warn(msg)
    return found


def prune(
    context: typer.Context,
    project: ProjectOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    model: ModelOption = None,
    label: LabelOption = None,
    title: TitleOption = None,
    larger: LargerOption = None,
    older: OlderOption = None,
    if_idle: IdleOption = "60s",
    force: BusyForceOption = False,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    json: JsonOption = False,
) -> int | None:
    """Remove the sessions that all filters fit; at least one is needed.

    Times are those of records, never of files. It says what would go and
    asks; where nobody can answer it needs --yes. It cannot be undone.
    """
    given = dict(locals())
    from agentmem_cli.cli.output import warn
    from agentmem_cli.operations.catalog import find_all

    settings = Settings.of(context)
    sought = Sought(given)
    if not sought.given:
        msg = "prune needs a filter, so that it never means all sessions"
        raise UsageError(msg, hint="Like --older 90d; rm takes names.")
    _check_leaves_some(older, larger)
    check_may_remove(settings, dry_run=dry_run, yes=yes)
    unread: list[str] = []
    found = _old_enough(settings, sought.chosen(settings, unread), until=until, older=older)
    run = _Run(settings, idle_ms(if_idle, force=force), dry_run=dry_run, yes=yes, json=json)
    status = run.all(found, among=len(find_all(settings.root, ())))
    for each in unread:
        warn(f"{each}: it is not known whether it fits, so it stays")
    return status or (_TROUBLE if unread else None)


def _check_leaves_some(older: str | None, larger: str | None) -> None:
    """See that a length or a size leaves any session out.

    Raises:
        UsageError: It is 0, which all are older or larger than.
    """
    from agentmem_cli.cli.clock import parse_length
    from agentmem_cli.cli.options import parse_size

    for option, words, read in (("--older", older, parse_length), ("--larger", larger, parse_size)):
        if words and read(words) == 0:
            msg = f"{option} {words} fits every session"
            raise UsageError(msg, hint="Give more than 0, or name sessions to rm.")


def _old_enough(
    settings: Settings, found: list[Found], *, until: str | None, older: str | None
) -> list[Found]:
    """Leave out the sessions whose logs say that they are newer than their metas do."""
    from agentmem_cli.cli.options import filters
    from agentmem_cli.operations.removing import newest_ms

    end_ms = filters(settings, until=until, older=older).until_ms
    if end_ms is None:
        return found
    return [each for each in found if (time := newest_ms(each)) is not None and time < end_ms]


class _Run:
    """One run over some sessions."""

    def __init__(
        self, settings: Settings, if_idle_ms: int | None, *, dry_run: bool, yes: bool, json: bool
    ) -> None:
        self._settings = settings
        self._if_idle_ms = if_idle_ms
        self._dry_run = dry_run
        self._yes = yes
        self._json = json
        self._status: int | None = None

    def all(self, found: Sequence[Found], *, among: int | None = None) -> int | None:
        """Tell what would go; remove it where that is wanted; return the exit status.

        *among* is how many sessions there are, where *found* were chosen among all.
        """
        from agentmem_cli.cli.opening import warn_of_places
        from agentmem_cli.cli.output import talk

        warn_of_places(self._settings, found)
        if not found:
            talk("No session fits: nothing was removed.")
            return None
        dry = self._dry_run or not self._yes
        if dry:
            ready = self._pass(found, dry=True)
            sessions = _counted(list(ready.values()), among)
            if self._dry_run and ready:
                talk(f"It would remove {sessions}.")
            if self._dry_run or not ready:
                talk("Nothing was removed (dry run)." if self._dry_run else "Nothing was removed.")
                return self._status
            if not typer.confirm(f"Remove {sessions}? It cannot be undone.", err=True):
                talk("Nothing was removed.")
                return 1
            found = list(ready)
        gone = self._pass(found, dry=False)
        if gone:
            talk(f"Removed {_counted(list(gone.values()), among)}.")
        return self._status

    def _pass(self, found: Sequence[Found], *, dry: bool) -> dict[Found, Goes]:
        """Do each; return those that nothing kept from it."""
        from agentmem_cli.cli.failure import failed
        from agentmem_cli.errors import AgentMemError

        done: dict[Found, Goes] = {}
        with self._settings.output() as out:
            for each in found:
                try:
                    goes = self._one(each, dry=dry)
                except (AgentMemError, OSError) as error:
                    if len(found) == 1:
                        raise
                    status = failed(out, each.id, error, json=self._json)
                    self._status = max(self._status or 0, status)
                    continue
                done[each] = goes
                self._tell(out, goes, dry=dry)
        return done

    def _one(self, found: Found, *, dry: bool) -> Goes:
        from agentmem_cli.operations.catalog import open_session
        from agentmem_cli.operations.removing import (
            check_is_itself,
            check_is_session,
            goes_with,
            remove,
        )
        from agentmem_cli.storage.seen import refuse_busy

        settings = self._settings
        check_is_itself(found)
        store = open_session(found, lock_wait_s=settings.lock_wait_s, finish=False)
        check_is_session(settings.root, found, store)
        goes = goes_with(found, store, settings.now_ms)
        if dry:
            refuse_busy(store, self._if_idle_ms, settings.now_ms)
        else:
            remove(found, store, now_ms=settings.now_ms, if_idle_ms=self._if_idle_ms)
        return goes

    def _tell(self, out: Output, goes: Goes, *, dry: bool) -> None:
        from agentmem_cli.cli.clock import screen_time
        from agentmem_cli.cli.output import warn
        from agentmem_cli.cli.render import count, size
        from agentmem_cli.cli.text import one_line, wrapped

        if self._json:
            out.object(SCHEMA, _fields(goes, dry=dry))
            return
        when = "no time known"
        if goes.updated_ms is not None:
            when = f"last written {screen_time(goes.updated_ms, self._settings.zone).rstrip()}"
        parts = [
            count(goes.agents, "agent"),
            count(goes.logs, "log"),
            count(goes.blobs, "blob"),
            count(goes.files, "other file"),
            size(goes.size),
        ]
        title = f" {goes.title!r}" if goes.title else ""
        word = "would be removed" if dry else "removed"
        line = one_line(f"{word}  {goes.found.id}:{title} {when}; {', '.join(parts)}")
        out.line(wrapped(line, self._settings.columns))
        if goes.kin:
            warn(f"{goes.found.id}: these hold messages of it too, and stay: {', '.join(goes.kin)}")


def _counted(gone: Sequence[Goes], among: int | None) -> str:
    """Say how many sessions these are, of how many, and how much they take."""
    from agentmem_cli.cli.render import count, size

    bytes_ = size(sum(each.size for each in gone))
    if among is None:
        return f"{count(len(gone), 'session')}, {bytes_}"
    if len(gone) == among > 1:
        return f"all {count(among, 'session')}, {bytes_}"
    return f"{len(gone):,} of {count(among, 'session')}, {bytes_}"


def _fields(goes: Goes, *, dry: bool) -> dict[str, JSON]:
    from agentmem_cli.cli.clock import utc_time

    return {
        "session": goes.found.id,
        "path": goes.found.path,
        "dry_run": dry,
        "removed": not dry,
        "title": goes.title,
        "updated": None if goes.updated_ms is None else utc_time(goes.updated_ms),
        "agents": goes.agents,
        "logs": goes.logs,
        "blobs": goes.blobs,
        "files": goes.files,
        "bytes": goes.size,
        "kin": list(goes.kin),
    }
