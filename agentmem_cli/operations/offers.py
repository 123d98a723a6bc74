"""What TAB offers: sessions, agents, places. It takes no lock, writes nothing, and is quick.

Only what stands in the folders is asked, so that a root of 100,000 sessions costs
one walk through their names.
"""

from __future__ import annotations

import os
from heapq import nsmallest
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.storage.layout import LOG_END, LOGS, TRASH
from agentmem_cli.storage.root import is_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentmem_cli.session.codec import JSON, Object

OFFERED_MAX: Final = 200
"""Names offered at once; more would not be read, and a shell asks before it shows more."""

TITLED_MAX: Final = 40
"""Sessions whose titles are read: each is a file."""

LAST_AMONG_MAX: Final = 2_000
"""Sessions among which the last one is looked for, which looks into each of them."""

TAIL_BYTES: Final = 64 << 10
"""How much of a log's end is read for its last messages."""

MESSAGES_MAX: Final = 10
BACK_MAX: Final = 9

LAST: Final = "@last"
"""What `catalog.LAST` is; that module is not loaded for names."""


class Offer(NamedTuple):
    """A word, and a line about it (or an empty text)."""

    word: str
    about: str = ""


def sessions(
    root: str, begun: str, *, shown: Callable[[str], str], titled: bool = False
) -> list[Offer]:
    """Offer the sessions whose names begin so, and the last one.

    Args:
        root: The folder of the sessions.
        begun: What was typed of the name.
        shown: Makes a name safe for a screen; such names are found by it, too.
        titled: With their titles, where there are few.

    Raises:
        OSError: The root cannot be read.
    """
    found: list[tuple[str, str]] = []
    with os.scandir(root) as entries:
        for entry in entries:
            name = entry.name
            # Why in this order: 100,000 names are walked through, and most are plain.
            word = name if name.isascii() and name.isprintable() else shown(name)
            if word.startswith(begun) and _is_offered(name, begun) and is_folder(entry):
                found.append((word, name))
    about = [""] * OFFERED_MAX
    if len(found) > OFFERED_MAX:
        found = nsmallest(OFFERED_MAX, found)
    else:
        found.sort()
    if titled and len(found) <= TITLED_MAX:
        about = [shown(_title(os.path.join(root, name))) for _, name in found]  # noqa: PTH118
    offers = [Offer(word, told) for (word, _), told in zip(found, about, strict=False)]
    if LAST.startswith(begun):
        offers.insert(0, Offer(LAST, "the session that list shows first"))
    return offers[:OFFERED_MAX]


def _is_offered(name: str, begun: str) -> bool:
    if name[0] == "-" and not begun.startswith("-"):
        return False  # Why: it would be read as an option.
    return name[0] != "." and not name.endswith(TRASH)


def agents(root: str, session: str, begun: str, *, shown: Callable[[str], str]) -> list[Offer]:
    """Offer the agents of a session.

    Raises:
        AgentMemError: There is no such session.
        OSError: It cannot be read.
    """
    with os.scandir(os.path.join(_folder(root, session), LOGS)) as entries:  # noqa: PTH118
        names = [shown(each.name.removesuffix(LOG_END)) for each in entries if _is_log(each)]
    return [Offer(name) for name in sorted(names) if name.startswith(begun)][:OFFERED_MAX]


def _is_log(entry: os.DirEntry[str]) -> bool:
    return entry.name.endswith(LOG_END) and entry.name != f"session{LOG_END}"


PLACES: Final = (
    Offer("start", "before everything"),
    Offer("now", "as it is"),
    Offer("before-compaction", "before the newest compaction"),
    Offer("yesterday", "at the beginning of that day"),
    Offer("today", "at the beginning of this day"),
    Offer("1h", "an hour ago"),
    Offer("1d", "24 hours ago"),
)


def places(
    root: str, session: str, agent: str, begun: str, *, shown: Callable[[str], str]
) -> list[Offer]:
    """Offer places in time: words, the last messages, and the last records.

    Args:
        root: The folder of the sessions.
        session: The session, as it was typed; empty: none yet.
        agent: The agent, as it was typed; empty: the main one.
        begun: What was typed of the place.
        shown: Makes a text safe for a screen.

    Raises:
        AgentMemError: There is no such session or agent.
        OSError: It cannot be read.
    """
    fixed = [offer for offer in PLACES if offer.word.startswith(begun)]
    if fixed and begun:
        return fixed
    from_log: list[Offer] = []
    if session and begun[:1] in ("", "m", "~"):
        from_log = [
            Offer(offer.word, shown(offer.about))
            for offer in _in_log(_folder(root, session), agent)
            if offer.word.startswith(begun)
        ]
    return [*fixed, *from_log]


def messages(
    root: str, session: str, agent: str, begun: str, *, shown: Callable[[str], str]
) -> list[Offer]:
    """Offer the last messages by their numbers; see `places`.

    Raises:
        AgentMemError: There is no such session or agent.
        OSError: It cannot be read.
    """
    if not session or begun[:1] not in ("", "m"):
        return []
    found = places(root, session, agent, "m", shown=shown)
    return [offer for offer in found if offer.word.startswith(begun or "m")]


def keys(root: str, session: str, agent: str, begun: str) -> list[Offer]:
    """Offer the keys of values that were saved last; see `places`.

    Raises:
        AgentMemError: There is no such session or agent.
        OSError: It cannot be read.
    """
    if not session:
        return []
    found = (record.get("key") for record in reversed(_records(_folder(root, session), agent)))
    names = dict.fromkeys(key for key in found if isinstance(key, str) and key.isprintable())
    return [Offer(key, "") for key in names if key.startswith(begun)]


def _in_log(folder: str, agent: str) -> Iterator[Offer]:
    """Offer what the end of a log has: its messages by number, its records counted back."""
    records = _records(folder, agent)
    offers = [offer for record in records for offer in _messages(record)]
    yield from offers[: -MESSAGES_MAX - 1 : -1]
    for back, record in enumerate(reversed(records[-BACK_MAX:]), 1):
        if record.get("type") != "header":
            said = next((offer.about for offer in _messages(record)), "")
            yield Offer(f"~{back}", f"before {record.get('type')} {said}".rstrip())


def _records(folder: str, agent: str) -> list[Object]:
    """Return the records at the end of a log that can be read."""
    from agentmem_cli.session.codec import loads_fast
    from agentmem_cli.storage.survey import head_and_tail

    log = _log(folder, agent)
    _, tail, size = head_and_tail(folder, log, 0, TAIL_BYTES)
    lines = [line for line in tail.split(b"\n") if line]
    records = []
    for line in lines if len(tail) == size else lines[1:]:
        try:
            record = loads_fast(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            records.append(record)
    return records


def _messages(record: Object) -> Iterator[Offer]:
    from agentmem_cli.session.meta import title_of

    for key in ("entries", "with"):
        entries = record.get(key)
        for entry in entries if isinstance(entries, list) else ():
            number = entry.get("id") if isinstance(entry, dict) else None
            message = entry.get("message") if isinstance(entry, dict) else None
            if type(number) is int and isinstance(message, dict):
                said = title_of(_text(message.get("content")))
                yield Offer(f"m{number}", f"{message.get('role')}: {said}")


def _text(content: JSON) -> str:
    if isinstance(content, str):
        return content
    parts = (
        [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    )
    texts = [text for part in parts if isinstance(text := part.get("text"), str)]
    kinds = [str(part.get("type")) for part in parts]
    return " ".join(texts) if any(map(str.strip, texts)) else ", ".join(kinds)


def _log(folder: str, agent: str) -> str:
    from pathlib import Path

    from agentmem_cli.operations.catalog import log_to_look
    from agentmem_cli.session.keys import SESSION
    from agentmem_cli.storage.directory import DirStore

    if agent == SESSION:
        return SESSION
    return log_to_look(DirStore.open(Path(folder)), agent or None)


def _folder(root: str, session: str) -> str:
    from pathlib import Path

    from agentmem_cli.errors import NotFoundError
    from agentmem_cli.operations.catalog import find, names

    if session == LAST and len(names(root)) > LAST_AMONG_MAX:
        raise NotFoundError("too many sessions to look into each of them")
    return find(Path(root), session).path


def _title(folder: str) -> str:
    """Return the title of a session for a listing; an empty text where there is none."""
    from agentmem_cli.session.meta import BadMeta, SessionMeta
    from agentmem_cli.storage.survey import glance

    try:
        data = glance(folder).meta
        return (SessionMeta.decode(data, exact=False).title or "") if data else ""
    except (OSError, BadMeta):
        return ""
