"""The command `repair`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from agentmem_cli.cli.many import (
    BusyForceOption,
    IdleOption,
    NamedArg,
    RootOption,
    Sought,
    idle_ms,
    sessions_meant,
)
from agentmem_cli.cli.options import DryRunOption, JsonOption
from agentmem_cli.cli.settings import Settings

if TYPE_CHECKING:
    from agentmem_cli.cli.output import Output
    from agentmem_cli.operations.catalog import Found
    from agentmem_cli.operations.repaired import Repaired
    from agentmem_cli.operations.repairing import Wanted
    from agentmem_cli.session.codec import JSON

SCHEMA: Final = "agentmem.repair/1"


def repair(
    context: typer.Context,
    sessions: NamedArg = None,
    everything: RootOption = False,
    tighten: Annotated[
        bool, typer.Option("--tighten", help="Keep other users of this machine out of it, too.")
    ] = False,
    unknown: Annotated[
        bool,
        typer.Option(
            "--set-aside-unknown",
            help="Set records of unknown types aside, too; else such a log stays as it is.",
        ),
    ] = False,
    keep_first: Annotated[
        bool,
        typer.Option(
            "--keep-first",
            help="Of different records of one stamp keep the first; else all stay, and nothing "
            "can be appended.",
        ),
    ] = False,
    if_idle: IdleOption = "60s",
    force: BusyForceOption = False,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> int | None:
    """Mend what verify names: set damaged bytes aside, and delete none.

    Whole records stay, and lost places are filled by a side record that says
    so. A session is mended as a whole or not at all. The exit status is 1
    where something is lost, or left that cannot be mended.
    """
    from agentmem_cli.operations.repairing import Wanted

    settings = Settings.of(context)
    found = sessions_meant(settings, sessions, Sought({}), everything=everything)
    wanted = Wanted(
        settings.now_ms,
        if_idle_ms=idle_ms(if_idle, force=force),
        tighten=tighten,
        unknown=unknown,
        keep_first=keep_first,
        dry_run=dry_run,
    )
    run = _Run(settings, wanted, root=everything, json=json)
    return run.all(found)


class _Run:
    """One run over some sessions."""

    def __init__(self, settings: Settings, wanted: Wanted, *, root: bool, json: bool) -> None:
        self._settings = settings
        self._wanted = wanted
        self._root = root
        self._json = json
        self._status: int | None = None

    def all(self, found: list[Found]) -> int | None:
        """Repair each; return the exit status."""
        from agentmem_cli.cli.failure import failed
        from agentmem_cli.cli.opening import warn_of_places
        from agentmem_cli.cli.output import talk
        from agentmem_cli.errors import AgentMemError

        warn_of_places(self._settings, found)
        if not found:
            talk(f"No sessions under {self._settings.root}: nothing was looked at.")
        with self._settings.output() as out:
            for each in found:
                try:
                    done = self._one(each)
                except (AgentMemError, OSError) as error:
                    if len(found) == 1 and not self._root:
                        raise
                    status = failed(out, each.id, error, json=self._json)
                    self._status = max(self._status or 0, status)
                    continue
                if done.left or done.lost:
                    self._status = self._status or 1
                self._tell(out, each.id, done)
            if self._root:
                self._tell_root(out)
        if self._wanted.dry_run:
            talk("Nothing was changed (dry run).")
        return self._status

    def _one(self, found: Found) -> Repaired:
        from agentmem_cli.cli.render import progress
        from agentmem_cli.cli.text import one_line
        from agentmem_cli.operations.catalog import open_session
        from agentmem_cli.operations.repairing import repair as mend

        store = open_session(found, lock_wait_s=self._settings.lock_wait_s, finish=False)
        with progress(f"repair {one_line(found.id)}", None, self._settings) as advance:
            return mend(store, self._wanted._replace(progress=advance))

    def _tell_root(self, out: Output) -> None:
        """Remove sessions half made or half removed, and tell."""
        from agentmem_cli.operations.collecting import collect_root
        from agentmem_cli.operations.repaired import Mended, Repaired

        root = str(self._settings.root)
        gone = collect_root(root, dry_run=self._wanted.dry_run)
        done = tuple(Mended("leftover", each.name, f"removed: {each.why}") for each in gone)
        if done:
            self._tell(out, root, Repaired(done, ()))

    def _tell(self, out: Output, session: str, done: Repaired) -> None:
        from agentmem_cli.cli.render import count
        from agentmem_cli.cli.text import one_line, wrapped

        if self._json:
            out.object(SCHEMA, _fields(session, done, dry_run=self._wanted.dry_run))
            return
        columns = self._settings.columns
        would = "would be mended" if self._wanted.dry_run else "mended"
        for word, items in ((would, done.mended), ("lost", done.lost)):
            for each in items:
                many = f" ({each.places:,})" if each.places > 1 else ""
                where = f" in files/{each.file}" if each.file else ""
                place = f"{session}, {each.where}" if each.where else session
                line = one_line(f"{word}  {place}: {each.kind}{many}: {each.why}{where}")
                out.line(wrapped(line, columns))
        for left in done.left:
            place = f"{session}, {left.where}" if left.where else session
            out.line(wrapped(one_line(f"left  {place}: {left.kind}: {left.why}"), columns))
        told = count(len(done.mended), "thing") + f" {would}" if done.mended else "nothing to mend"
        if done.lost:
            told += f", {count(len(done.lost), 'thing')} lost"
        if done.left:
            told += f", {count(len(done.left), 'problem')} left"
        out.line(wrapped(f"{one_line(session)}: {told}", columns))


def _fields(session: str, done: Repaired, *, dry_run: bool) -> dict[str, JSON]:
    mended: list[JSON] = [{**each._asdict()} for each in done.mended]
    lost: list[JSON] = [{**each._asdict()} for each in done.lost]
    left: list[JSON] = [{**each._asdict()} for each in done.left]
    return {
        "session": session,
        "dry_run": dry_run,
        "changed": bool(done.done) and not dry_run,
        "mended": mended,
        "lost": lost,
        "left": left,
    }
