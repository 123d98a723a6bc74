"""How remap, rewrite and rename are carried out, one session or file after the other, and told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentmem_cli.cli.failure import explain, with_name
from agentmem_cli.cli.many import confirm
from agentmem_cli.cli.opening import open_to_change, open_to_look
from agentmem_cli.cli.output import talk, warn
from agentmem_cli.cli.render import count, progress
from agentmem_cli.cli.text import one_line
from agentmem_cli.errors import AgentMemError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentmem_cli.cli.output import Output
    from agentmem_cli.cli.settings import Settings
    from agentmem_cli.operations.catalog import Found
    from agentmem_cli.operations.moves import Move
    from agentmem_cli.operations.replacing import Replacements
    from agentmem_cli.operations.rewrites import Done, Wanted
    from agentmem_cli.session.codec import JSON, Object

REMAP: Final = "agentmem.remap/1"
REWRITE: Final = "agentmem.rewrite/1"
RENAME: Final = "agentmem.rename/1"
FAILED: Final = "agentmem.failed/1"
"""One of several sessions or files that failed."""

CANNOT: Final = "This replaces what is there; it cannot be undone, and no copy is kept."


def run_remap(
    settings: Settings,
    found: Sequence[Found],
    moves: Sequence[Move],
    wanted: Wanted,
    *,
    everywhere: bool,
    yes: bool,
    json: bool,
) -> int | None:
    """Remap sessions, after a look and a question where a person can answer it."""
    from agentmem_cli.operations.moves import Moves
    from agentmem_cli.operations.remap import Remap
    from agentmem_cli.operations.rewrites import change

    ready = Moves(moves)

    def one(each: Found, how: Wanted) -> tuple[Done, Object]:
        with_ = Remap(ready, everywhere=everywhere)
        opener = open_to_look if how.dry_run else open_to_change
        _, store = opener(settings, each.path)
        done = change(store, with_, how)
        counts: Object = {name.replace(" ", "_"): n for name, n in sorted(with_.counts.items())}
        return done, {"by_place": counts}

    return _Run(settings, REMAP, wanted, yes=yes, json=json).sessions(found, one)


def run_rewrite(
    settings: Settings,
    found: Sequence[Found],
    pairs: Replacements,
    wanted: Wanted,
    *,
    yes: bool,
    json: bool,
) -> int | None:
    """Replace texts in sessions."""
    from agentmem_cli.operations.replacing import Replacing
    from agentmem_cli.operations.rewrites import change

    def one(each: Found, how: Wanted) -> tuple[Done, Object]:
        opener = open_to_look if how.dry_run else open_to_change
        _, store = opener(settings, each.path)
        return change(store, Replacing(pairs), how), {}

    return _Run(settings, REWRITE, wanted, yes=yes, json=json).sessions(found, one)


class _Run:
    """One run over several sessions or files."""

    def __init__(
        self, settings: Settings, schema: str, wanted: Wanted, *, yes: bool, json: bool
    ) -> None:
        self._settings = settings
        self._schema = schema
        self._wanted = wanted
        self._yes = yes
        self._json = json
        self._status: int | None = None
        self._changed = 0

    def sessions(
        self, found: Sequence[Found], one: Callable[[Found, Wanted], tuple[Done, Object]]
    ) -> int | None:
        """Do *one* for every session; first dry and with a question, where that is wanted."""
        if not found:
            talk("No session fits: nothing was changed.")
            return None
        dry = self._wanted._replace(dry_run=True)
        if not self._wanted.dry_run and not self._yes:
            self._pass(found, one, dry)
            if self._status is not None or not self._changed:
                return self._end(dry=True)
            talk(CANNOT)
            if not confirm(self._settings, f"Change {self._things(found)}?", yes=False):
                return 1
        self._changed = 0
        self._pass(found, one, self._wanted)
        return self._end(dry=self._wanted.dry_run)

    def _things(self, found: Sequence[Found]) -> str:
        return count(self._changed, "session") if len(found) > 1 else one_line(found[0].id)

    def _pass(
        self,
        found: Sequence[Found],
        one: Callable[[Found, Wanted], tuple[Done, Object]],
        wanted: Wanted,
    ) -> None:
        with self._settings.output() as out:
            for each in found:
                try:
                    done, more = self._watched(each, one, wanted)
                except (AgentMemError, OSError) as error:
                    if len(found) == 1:
                        raise
                    self._failed(out, "session", each.id, error)
                    continue
                self._changed += done.changed
                self._tell(out, each, done, more, dry=wanted.dry_run)

    def _watched(
        self, each: Found, one: Callable[[Found, Wanted], tuple[Done, Object]], wanted: Wanted
    ) -> tuple[Done, Object]:
        from agentmem_cli.operations.rewrites import hint_at_text

        with progress(one_line(each.id), None, self._settings) as advance:
            try:
                return one(each, wanted._replace(progress=advance))
            except AgentMemError as error:
                if wanted.damaged == "refuse":
                    hint_at_text(error)
                raise

    def _failed(self, out: Output, what: str, name: str, error: BaseException) -> None:
        failure = explain(error)
        self._status = self._status or failure.exit_code
        if self._json:
            told: Object = {"kind": failure.kind, "message": failure.message, "hint": failure.hint}
            out.object(FAILED, {what: name, "error": {**told, "exit_code": failure.exit_code}})
            return
        warn(with_name(name, failure.message) + (f" ({failure.hint})" if failure.hint else ""))

    def _tell(self, out: Output, each: Found, done: Done, more: Object, *, dry: bool) -> None:
        if self._json:
            out.object(self._schema, {"session": each.id, **_value(done, dry=dry), **more})
            return
        out.line(f"{one_line(each.id)}: {_words(done, more)}")
        for name, line in done.unread[:_TOLD]:
            warn(f"{each.id}, {name}, line {line}: cannot be read")
        for name in done.set_aside:
            warn(f"{each.id}: a torn end was set aside in files/{name}")

    def _end(self, *, dry: bool) -> int | None:
        if dry:
            talk("Nothing was changed (dry run).")
        return self._status


_TOLD: Final = 5


def _value(done: Done, *, dry: bool) -> Object:
    logs: list[JSON] = [
        {"log": log.log, "records": log.records, "strings": log.strings} for log in done.logs
    ]
    return {
        "dry_run": dry,
        "changed": done.changed,
        "records": done.records,
        "strings": done.strings,
        "logs": logs,
        "files": list(done.files),
        "blobs": done.blobs,
        "set_aside": list(done.set_aside),
        "unread_lines": len(done.unread),
    }


def _words(done: Done, more: Object) -> str:
    if not done.changed:
        return "nothing to change"
    told = []
    if done.logs:
        logs = f"{count(done.records, 'record')} of {count(len(done.logs), 'log')}"
        told.append(f"{count(done.strings, 'string')} in {logs}")
    if done.files:
        told.append(count(len(done.files), "file"))
    if done.blobs:
        told.append(count(done.blobs, "blob"))
    places = more.get("by_place")
    if isinstance(places, dict) and places:
        told.append(", ".join(f"{n} in {_PLACES[name]}" for name, n in places.items()))
    return "; ".join(told)


_PLACES: Final = {
    "working_folder": "working folders",
    "tool_argument": "tool arguments",
    "other_text": "other text",
}


# -- names -----------------------------------------------------------------


def run_rename(
    settings: Settings,
    session: str,
    new: str | None,
    *,
    agent: tuple[str, str] | None,
    file: tuple[str, str] | None,
    if_idle_ms: int | None,
    json: bool,
) -> None:
    """Rename what is to be renamed, and tell."""
    found, store = open_to_change(settings, session)
    told: Object = {"session": found.id, "name": None, "agent": None, "files": []}
    lines: list[str] = []
    if new is not None:
        from agentmem_cli.operations.renaming import forks_of, rename_session

        fresh = rename_session(found, store, new)
        told |= {"session": fresh.id, "name": {"old": found.id, "new": fresh.id}}
        lines.append(f"{one_line(found.id)} is called {one_line(fresh.id)} now")
        try:
            _tell_others(settings, found, len(forks_of(settings.root, found.id)), fresh)
        except (AgentMemError, OSError) as error:
            # Why no failure: it is renamed; that others may go by the old name was a hint.
            warn(f"what goes by its old name could not be looked for: {error}")
    elif agent is not None:
        from agentmem_cli.operations.catalog import choose_agent
        from agentmem_cli.operations.renaming_agents import rename_agent

        old = choose_agent(store, agent[0])
        done = rename_agent(store, old, agent[1], if_idle_ms=if_idle_ms, now_ms=settings.now_ms)
        told["agent"] = {"old": done.old, "new": done.new, "named_by": list(done.logs)}
        told["files"] = list(done.files)
        lines.append(f"{one_line(found.id)}: agent {one_line(old)} is called {done.new} now")
    else:
        from agentmem_cli.operations.renaming import rename_file

        assert file is not None
        pairs = rename_file(store, *file)
        told["files"] = [name for _, name in pairs]
        lines += [f"{one_line(old)} is called {one_line(name)} now" for old, name in pairs]
    with settings.output() as out:
        if json:
            out.object(RENAME, told)
        else:
            for line in lines:
                out.line(line)


def _tell_others(settings: Settings, found: Found, forks: int, fresh: Found) -> None:
    """Say what still goes by a session's old name."""
    if forks:
        things = count(forks, "session says", "sessions say")
        warn(f"{things} that it was forked from {found.id}; that stays")
    from agentmem_cli.operations.catalog import open_session
    from agentmem_cli.operations.imports.maps import FOLDER

    store = open_session(fresh, lock_wait_s=settings.lock_wait_s)
    if any(name.startswith(FOLDER) for name in store.files()):
        warn(
            f"{fresh.id}: import finds a session by its name, so importing its source again "
            f"makes a new one called {found.id}"
        )
