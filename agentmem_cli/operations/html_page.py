"""A conversation as one page of HTML: readable alone, and nothing of a session runs on it.

All that a page may do is named in its policy: the one style sheet and the one script,
by their digests, and pictures that stand in it. It loads nothing. The text of a
session is escaped (`html_words`), so the policy is the second wall, not the first.
"""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.operations.damage import causes
from agentmem_cli.operations.html_parts import message, note
from agentmem_cli.operations.transcript import Turn, transcript
from agentmem_cli.session.keys import SESSION
from agentmem_cli.session.message import parts_of
from agentmem_cli.session.meta import BadMeta, SessionMeta, first_title, title_of
from agentmem_cli.session.reader import agent_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentmem_cli.operations.html_words import Look
    from agentmem_cli.session.codec import Object
    from agentmem_cli.session.entry import Entry
    from agentmem_cli.session.fold import LogFold
    from agentmem_cli.storage.directory import DirStore

CONTENTS_LEAST: Final = 3
"""Messages of the user from which on they are listed above the conversation."""

SECTION_MESSAGES: Final = 40
"""Messages of one section: a browser skips those that are out of sight as a whole."""

_NAMED_MAX: Final = 8
"""Agents that are named beside the one that is shown."""

_SECTION_CHARACTERS: Final = 200_000
_REST: Final = "/* rest */"
"""A script that does nothing. Without it Chromium parses megabytes in one go, up to half a
second in which a page does not move; after a script it goes back to pieces of some ms."""

_BAR: Final = """\
<div id="find" role="search" hidden>
<input type="search" aria-label="Search" placeholder="Search"
 autocomplete="off" enterkeyhint="search">
<button type="button" aria-label="previous match" disabled>\N{UPWARDS ARROW}</button>
<button type="button" aria-label="next match" disabled>\N{DOWNWARDS ARROW}</button>
<button type="button">Unfold all</button>
<output aria-live="polite"></output>
</div>
"""
"""The search; the script shows it, since without one it would do nothing."""


class Told(NamedTuple):
    """What a page is to say of itself."""

    session: str
    place: str
    """The place in time, as it was asked for."""
    asides: bool = False
    """Whether side records are shown."""


class _Outline:
    """What a first look at the messages tells."""

    def __init__(self) -> None:
        self.roles: dict[str, int] = {}
        self.calls = 0
        self.first_ms: int | None = None
        self.last_ms: int | None = None
        self.asked: list[tuple[int, str]] = []

    def add(self, entry: Entry) -> None:
        """Count one message."""
        value = entry.stored.value
        role = value.get("role")
        kinds = [part.get("type") for part in parts_of(value)]
        self.calls += kinds.count("toolcall")
        is_result = bool(kinds) and all(kind == "toolresult" for kind in kinds)
        told = "result" if is_result else role if isinstance(role, str) else "unknown"
        self.roles[told] = self.roles.get(told, 0) + 1
        if entry.made is not None:
            self.first_ms = entry.made if self.first_ms is None else min(self.first_ms, entry.made)
            self.last_ms = entry.made if self.last_ms is None else max(self.last_ms, entry.made)
        if told == "user" and (entry.author is None or entry.author.kind == "user"):
            text = _first_text(value)
            if text:
                self.asked.append((entry.id, text))


def _first_text(value: Object) -> str:
    for part in parts_of(value):
        text = part.get("text")
        if part.get("type") == "text" and isinstance(text, str) and text.strip():
            return title_of(text)
    return ""


def page(store: DirStore, fold: LogFold, wanted: range, told: Told, look: Look) -> Iterator[str]:
    """Yield the page of the *wanted* messages of a folded log, piece by piece.

    The pieces are never all in memory. The messages are read twice: once to
    say above them what is below.

    Args:
        store: The session.
        fold: The agent's log, folded up to the place.
        wanted: Indexes of its entries.
        told: What the page says of itself.
        look: How things are written.
    """
    outline = _Outline()
    for index in wanted:
        outline.add(fold.conversation.entries[index])
    yield from _beginning(store, fold, told, look)
    yield from _facts(store, fold, wanted, outline, (told, look))
    yield from _contents(outline, look)
    yield f'</header>\n{_BAR}<main lang="">\n'
    items = transcript(store, fold.conversation, wanted, asides=told.asides)
    yield from _sections(
        message(store, look, item) if isinstance(item, Turn) else note(look, item) for item in items
    )
    if not wanted:
        yield '<p class="attached">No messages.</p>\n'
    yield f"</main>\n<script>{look.script}</script>\n</body>\n</html>\n"


def _sections(messages: Iterable[Iterable[str]]) -> Iterator[str]:
    number = size = 0
    for pieces in messages:
        if number == 0:
            yield "<section>\n"
        elif number >= SECTION_MESSAGES or size >= _SECTION_CHARACTERS:
            yield f"</section>\n<script>{_REST}</script>\n<section>\n"
            number = size = 0
        number += 1
        for piece in pieces:
            yield piece
            size += len(piece)
    if number:
        yield "</section>\n"


def policy(look: Look) -> str:
    """Return the content security policy of a page."""
    scripts = f"'{_digest(look.script)}' '{_digest(_REST)}'"
    return (
        "default-src 'none'; img-src data:; "
        f"style-src '{_digest(look.style)}'; script-src {scripts}; "
        "base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _beginning(store: DirStore, fold: LogFold, told: Told, look: Look) -> Iterator[str]:
    title = _title(store, fold) or told.session
    yield (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(look)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta http-equiv="x-dns-prefetch-control" content="off">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{look.gist(title)}</title>\n<style>{look.style}</style>\n</head>\n<body>\n"
        f'<header>\n<h1 dir="auto">{look.line(title)}</h1>\n'
    )


def _title(store: DirStore, fold: LogFold) -> str | None:
    """Return what the session is called: by its log, by its meta, or by its first question."""
    agent = agent_of(fold)
    if agent.title():
        return agent.title()
    try:
        held = store.survey().meta
        title = None if held is None else SessionMeta.decode(held).title
    except (OSError, BadMeta):
        title = None
    return title or first_title(agent)


def _facts(
    store: DirStore, fold: LogFold, wanted: range, outline: _Outline, how: tuple[Told, Look]
) -> Iterator[str]:
    told, look = how
    yield "<dl>\n"
    yield _fact("session", look.line(told.session))
    yield _fact("agent", look.line(fold.log))
    others = [log for log in store.logs() if log not in (fold.log, SESSION)]
    if others:
        named = ", ".join(map(look.line, others[:_NAMED_MAX]))
        more = len(others) - _NAMED_MAX
        yield _fact("not here", f"{named} and {more:,} more" if more > 0 else named)
    model = agent_of(fold).model()
    if model:
        yield _fact("model", look.gist(model))
    if outline.first_ms is not None and outline.last_ms is not None:
        first, last = look.moment(outline.first_ms), look.moment(outline.last_ms)
        yield _fact("time", first if first == last else f"{first} to {last}")
    if told.place != "now":
        yield _fact("as of", look.line(told.place))
    yield _fact("messages", _counts(look, fold, wanted, outline))
    damaged = len(causes(fold.damages))
    if damaged:
        places = "place" if damaged == 1 else "places"
        words = f"{damaged:,} {places} of the log could not be read; this is what could"
        yield _fact("damage", f'<span class="mark">{words}</span>')
    yield "</dl>\n"


def _fact(name: str, value: str) -> str:
    return f"<div><dt>{name}</dt><dd>{value}</dd></div>\n"


def _counts(look: Look, fold: LogFold, wanted: range, outline: _Outline) -> str:
    whole = len(fold.conversation)
    shown = f"{len(wanted):,}" if len(wanted) == whole else f"{len(wanted):,} of {whole:,}"
    each = [
        f"{number:,} {look.line(role[:40])}"
        for role, number in sorted(outline.roles.items(), key=lambda item: -item[1])[:8]
    ]
    if outline.calls:
        each.append(f"{outline.calls:,} {'call' if outline.calls == 1 else 'calls'}")
    return f"{shown} ({', '.join(each)})" if each else shown


def _contents(outline: _Outline, look: Look) -> Iterator[str]:
    asked = outline.asked
    if len(asked) < CONTENTS_LEAST:
        return
    yield (
        f'<details class="contents"><summary>{len(asked):,} messages of the user</summary>\n<ul>\n'
    )
    for id_, text in asked:
        yield f'<li><a href="#m{id_}">#{id_} <span dir="auto">{look.line(text)}</span></a></li>\n'
    yield "</ul></details>\n"
