"""The command `gc`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from agentmem_cli.cli.many import (
    BusyForceOption,
    IdleOption,
    NamedArg,
    RootOption,
    Sought,
    check_may_remove,
    idle_ms,
    sessions_meant,
)
from agentmem_cli.cli.options import DryRunOption, JsonOption, YesOption
from agentmem_cli.cli.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.cli.output import Output
    from agentmem_cli.operations.catalog import Found
    from agentmem_cli.operations.collecting import Collected, Garbage, Wanted
    from agentmem_cli.session.codec import JSON

SCHEMA: Final = "agentmem.gc/1"


def gc(
    context: typer.Context,
    sessions: NamedArg = None,
    everything: RootOption = False,
    young: Annotated[
        str,
        typer.Option(
            "--young", metavar="LENGTH", help="How old a blob must be that nothing names."
        ),
    ] = "1h",
    though_lost: Annotated[
        bool,
        typer.Option(
            "--though-lost",
            help="Remove them also where records of the session are lost that may have named them.",
        ),
    ] = False,
    if_idle: IdleOption = "60s",
    force: BusyForceOption = False,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    json: JsonOption = False,
) -> int | None:
    """Remove blobs that nothing names, and what stopped commands left.

    A blob is named by any record of any agent, the past too, and by kept
    sources and maps. Where a log is gone, damaged or unread all of it stays (5).
    With --all sessions half made or half removed go, too.
    """
    from agentmem_cli.cli.clock import parse_length
    from agentmem_cli.operations.collecting import Wanted

    settings = Settings.of(context)
    found = sessions_meant(settings, sessions, Sought({}), everything=everything)
    check_may_remove(settings, dry_run=dry_run, yes=yes)
    wanted = Wanted(
        settings.now_ms,
        idle_ms(if_idle, force=force),
        parse_length(young),
        though_lost=though_lost,
        dry_run=dry_run,
    )
    return _Run(settings, wanted, root=everything, yes=yes, json=json).all(found)


class _Run:
    """One run over some sessions."""

    def __init__(
        self, settings: Settings, wanted: Wanted, *, root: bool, yes: bool, json: bool
    ) -> None:
        self._settings = settings
        self._wanted = wanted
        self._root = root
        self._yes = yes
        self._json = json
        self._status: int | None = None
        self._count = 0

    def all(self, found: Sequence[Found]) -> int | None:
        """Look, ask where that is needed, remove; return the exit status."""
        from agentmem_cli.cli.opening import warn_of_places
        from agentmem_cli.cli.output import talk
        from agentmem_cli.cli.render import count

        warn_of_places(self._settings, found)
        if not self._wanted.dry_run and not self._yes:
            self._pass(found, self._wanted._replace(dry_run=True))
            if self._status is not None or not self._count:
                return self._status
            things = count(self._count, "thing")
            if not typer.confirm(f"Remove {things}? It cannot be undone.", err=True):
                talk("Nothing was removed.")
                return 1
        self._pass(found, self._wanted)
        if self._wanted.dry_run:
            talk("Nothing was removed (dry run).")
        return self._status

    def _pass(self, found: Sequence[Found], wanted: Wanted) -> None:
        from agentmem_cli.cli.failure import failed
        from agentmem_cli.errors import AgentMemError
        from agentmem_cli.operations.collecting import Collected, collect_root

        self._count = 0
        with self._settings.output() as out:
            for each in found:
                try:
                    done = self._one(each, wanted)
                except (AgentMemError, OSError) as error:
                    if len(found) == 1 and not self._root:
                        raise
                    status = failed(out, each.id, error, json=self._json)
                    self._status = max(self._status or 0, status)
                    continue
                self._tell(out, each.id, done, dry=wanted.dry_run)
            if self._root:
                root = str(self._settings.root)
                left = collect_root(root, dry_run=wanted.dry_run)
                if left:
                    self._tell(out, root, Collected(tuple(left), ()), dry=wanted.dry_run)

    def _one(self, found: Found, wanted: Wanted) -> Collected:
        from agentmem_cli.cli.render import progress
        from agentmem_cli.cli.text import one_line
        from agentmem_cli.operations.catalog import open_session
        from agentmem_cli.operations.collecting import collect

        store = open_session(found, lock_wait_s=self._settings.lock_wait_s, finish=False)
        with progress(f"gc {one_line(found.id)}", None, self._settings) as advance:
            return collect(store, wanted._replace(progress=advance))

    def _tell(self, out: Output, session: str, done: Collected, *, dry: bool) -> None:
        from agentmem_cli.cli.render import count, size
        from agentmem_cli.cli.text import one_line, wrapped

        self._count += len(done.removed)
        if self._json:
            fields: dict[str, JSON] = {
                "session": session,
                "dry_run": dry,
                "removed": [_item(each) for each in done.removed],
                "young": [_item(each) for each in done.young],
                "kept": [_item(each) for each in done.kept],
                "bytes": sum(each.size or 0 for each in done.removed),
            }
            out.object(SCHEMA, fields)
            return
        columns = self._settings.columns
        word = "would be removed" if dry else "removed"
        for told, items in ((word, done.removed), ("stays", done.young + done.kept)):
            for each in items:
                much = f" ({size(each.size)})" if each.size is not None else ""
                line = one_line(f"{told}  {session}, {each.name}{much}: {each.kind}: {each.why}")
                out.line(wrapped(line, columns))
        total = size(sum(each.size or 0 for each in done.removed))
        things = f"{count(len(done.removed), 'thing')} {word}, {total}"
        things = things if done.removed else "nothing to remove"
        out.line(wrapped(f"{one_line(session)}: {things}", columns))


def _item(each: Garbage) -> dict[str, JSON]:
    return {"kind": each.kind, "name": each.name, "bytes": each.size, "why": each.why}
