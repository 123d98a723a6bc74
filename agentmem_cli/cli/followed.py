"""How `show --follow` prints a session as it grows."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.cli.output import talk, warn
from agentmem_cli.cli.render import count, styled
from agentmem_cli.cli.shown import Opened, head_of, print_item, warn_of
from agentmem_cli.cli.text import one_line
from agentmem_cli.errors import NotFoundError
from agentmem_cli.operations.damage import causes
from agentmem_cli.operations.places import Place
from agentmem_cli.operations.tailing import (
    CHANGED,
    DAMAGED,
    GONE,
    RETIRED,
    REWRITTEN,
    STARTED,
    Following,
)
from agentmem_cli.session.keys import SESSION
from agentmem_cli.session.lines import TORN

if TYPE_CHECKING:
    from agentmem_cli.cli.output import Output
    from agentmem_cli.cli.settings import Settings
    from agentmem_cli.operations.tailing import Event
    from agentmem_cli.session.codec import JSON
    from agentmem_cli.storage.directory import DirStore

SCHEMA: Final = "agentmem.follow/1"
"""Something that happened to a session that is followed, other than a new message."""

FORMATS: Final = ("text", "markdown", "json")
"""What goes on and on: a page that has an end does not."""

LAST: Final = 10
"""Messages that are shown first unless told otherwise, as `tail` does with lines."""

INTERVAL_S: Final = 0.5
"""Seconds between two looks, which cost some 10 us for each log."""


class Wanted(NamedTuple):
    """What is to be shown, and how."""

    agent: str | None
    """Words for the one that is followed; None: the main one."""
    everything: bool
    """Every agent is followed."""
    from_id: int | None
    last: int | None
    format: str
    full: bool
    asides: bool
    interval_s: float | None
    """Seconds between two looks; None: the usual time."""


def print_following(settings: Settings, session: str, wanted: Wanted) -> None:
    """Show what stands of a session, then what comes, until an interrupt or a closed pipe.

    Raises:
        NotFoundError: There is no such session or agent, or it is gone.
        KeyboardInterrupt: Ctrl-C.
        ClosedOutputError: The reader of standard output has gone.
    """
    from agentmem_cli.cli.opening import open_to_follow

    interval_s = wanted.interval_s or INTERVAL_S
    found, store = open_to_follow(settings, session)
    with settings.output() as out:
        agent = None if wanted.everything else _agent(store, wanted, out)
        following = Following(store, agent, asides=wanted.asides)
        told = _Told(settings, out, found.id, wanted)
        told.begin(store, following)
        while True:
            out.flush()
            out.check_open()
            time.sleep(interval_s)
            for event in following.poll():
                told.event(event)


def _agent(store: DirStore, wanted: Wanted, out: Output) -> str:
    """Return the log that is followed; where the session has not begun, wait until it does."""
    from agentmem_cli.operations.catalog import choose_agent

    waits = False
    while True:
        try:
            return choose_agent(store, wanted.agent)
        except NotFoundError:
            if wanted.agent is not None or any(log != SESSION for log in store.logs()):
                raise
            if not store.path.is_dir():
                raise
        if not waits:
            talk("No message yet; waiting for the first one.")
            waits = True
        out.check_open()
        time.sleep(wanted.interval_s or INTERVAL_S)


class _Told:
    """Tells what comes."""

    def __init__(self, settings: Settings, out: Output, session: str, wanted: Wanted) -> None:
        self._settings = settings
        self._out = out
        self._session = session
        self._wanted = wanted

    def begin(self, store: DirStore, following: Following) -> None:
        """Print what stands."""
        wanted, tails = self._wanted, following.tails
        last = LAST if wanted.last is None and wanted.from_id is None else wanted.last
        shown = following.shown(from_id=wanted.from_id, last=last)
        if wanted.format == "json":
            for log, tail in sorted(tails.items()):
                opened = Opened(self._session, store, log, Place("now", None))
                number = sum(event.agent == log for event in shown)
                head = {**head_of(opened, tail.fold), "shown": number}
                self._out.object("agentmem.show/1", head)
        for event in shown:
            self._item(event)
        self._out.flush()
        for log, tail in sorted(tails.items()):
            damages = (each for each in tail.fold.damages if each.kind != TORN)
            warn_of(self._session, log, causes(damages))
        if wanted.format == "text":
            standing = sum(len(tail.fold.conversation) for tail in tails.values())
            talk(f"{count(len(shown))} of {count(standing, 'message')}; Ctrl-C ends it.")

    def event(self, event: Event) -> None:
        """Print what came."""
        if event.item is not None:
            self._item(event)
        elif self._wanted.format == "json":
            self._out.object(SCHEMA, self._value(event))
        elif event.kind == DAMAGED:
            warn(f"{self._session}/logs/{event.agent}.jsonl, {event.why}")
        else:
            words = _words(event)
            if words:
                told = f"-- {one_line(event.agent)}: {words}"
                if self._wanted.format == "markdown":
                    self._out.line(f"*{told}*\n")
                else:
                    self._out.line(styled(told, "yellow", self._settings) + "\n")

    def _item(self, event: Event) -> None:
        assert event.item is not None
        print_item(
            self._settings,
            self._out,
            event.item,
            self._wanted.format,
            full=self._wanted.full,
            agent=event.agent if self._wanted.everything else None,
        )

    def _value(self, event: Event) -> dict[str, JSON]:
        return {
            "session": self._session,
            "agent": event.agent,
            "event": event.kind,
            "n": event.n,
            "why": event.why,
            "gone": [*event.gone],
            "edited": [*event.edited],
            "back": [*event.back],
        }


def _words(event: Event) -> str:
    """Say what happened; nothing, where all there is to it are new messages."""
    fixed = {
        STARTED: "the agent begins",
        RETIRED: "the agent is retired",
        GONE: "the agent is gone; it has another name now, or none",
    }
    if event.kind in fixed:
        return fixed[event.kind]
    if event.kind == REWRITTEN:
        return f"the log was rewritten: {event.why}"
    assert event.kind == CHANGED, event.kind
    told = [] if event.why is None else [event.why]
    for words, ids in (("gone", event.gone), ("edited", event.edited), ("back", event.back)):
        if ids:
            told.append(f"{count(len(ids), 'message')} {words} ({_ids(ids)})")
    return "; ".join(told)


def _ids(ids: tuple[int, ...]) -> str:
    if len(ids) == 1:
        return f"#{ids[0]}"
    if ids == tuple(range(ids[0], ids[0] + len(ids))):
        return f"#{ids[0]} to #{ids[-1]}"
    more = ", ..." if len(ids) > _NAMED else ""
    return ", ".join(f"#{id_}" for id_ in ids[:_NAMED]) + more


_NAMED: Final = 8
"""Ids that are named one by one."""
