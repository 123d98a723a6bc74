"""What logs tell by their first and last lines, and which agent is the main one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentmem_cli.session.codec import loads_object
from agentmem_cli.session.keys import CURRENT, FORMAT, SESSION
from agentmem_cli.session.reader import fold_log, open_log, reading
from agentmem_cli.session.record import BadRecord, Header, decode_header
from agentmem_cli.session.session import choose_main
from agentmem_cli.session.stamp import Stamp

if TYPE_CHECKING:
    from agentmem_cli.session.conversation import Conversation
    from agentmem_cli.session.source import OpenLog
    from agentmem_cli.storage.store import Store

_HEAD_BYTES = 64 << 10


class Head(NamedTuple):
    """What a log's first and last lines tell without a fold."""

    log: str
    header: Header | None
    """None: the first line is no header of this format."""
    n: int
    """The header's ``n``."""
    t: int | None
    """The header's time in ms."""
    last: Stamp | None
    """The last whole record's stamp."""
    retired: bool


def read_head(store: Store, log: str) -> Head:
    """Read a log's header and its last record's stamp.

    Raises:
        FileNotFoundError: There is no such log.
        errors.Io: The operating system refused.
    """
    opened = open_log(store, log)
    with reading(f"log {log!r}"):
        header, n, t = _first(opened)
        last, retired = _last(opened)
    return Head(log, header, n, t, last, retired)


def _first(log: OpenLog) -> tuple[Header | None, int, int | None]:
    head = log.read_at(0, min(log.size, _HEAD_BYTES))
    if b"\n" not in head:
        head = next(iter(log.lines()), b"")
    try:
        fields = loads_object(head.partition(b"\n")[0])
        if fields.get("type") != "header" or fields.get("format") != FORMAT:
            return None, 0, None
        n, t = fields.get("n"), fields.get("t")
        header = decode_header(fields)
    except (ValueError, BadRecord):
        return None, 0, None
    return header, n if type(n) is int else 0, t if type(t) is int else None


def _last(log: OpenLog) -> tuple[Stamp | None, bool]:
    """Walk back from the end, in growing steps, to the last line that is a whole record."""
    length = _HEAD_BYTES
    while True:
        start = max(0, log.size - length)
        tail = log.read_at(start, log.size - start)
        lines = tail.split(b"\n")
        whole = lines[:-1] if start == 0 else lines[1:-1]
        for line in reversed(whole):
            found = _stamp_of(line)
            if found is not None:
                return found
        if start == 0:
            return None, False
        length *= 8


def stamp_before(log: OpenLog, end: int) -> Stamp | None:
    """Return the stamp of the record whose line ends at byte *end* of a log; None: none does.

    Raises:
        OSError: The disk refused.
    """
    if not 0 < end <= log.size or log.read_at(end - 1, 1) != b"\n":
        return None
    length = _HEAD_BYTES
    while True:
        start = max(0, end - length)
        _, found, line = log.read_at(start, end - 1 - start).rpartition(b"\n")
        if found or start == 0:
            stamp = _stamp_of(line)
            return None if stamp is None else stamp[0]
        length *= 8


def _stamp_of(line: bytes) -> tuple[Stamp, bool] | None:
    if not line.lstrip().startswith(b"{"):
        return None  # Why: a decoder takes 20 us to say so, and a log may hold a million such lines
    try:
        fields = loads_object(line)
    except ValueError:
        return None
    seq, n, t = fields.get("seq"), fields.get("n"), fields.get("t")
    if type(seq) is int and type(n) is int and type(t) is int:
        return Stamp(n, seq, t), fields.get("type") == "retired"
    return None


def read_heads(store: Store) -> list[Head]:
    """Read the head of every agent's log, in the order the logs were started."""
    heads = [read_head(store, log) for log in store.logs() if log != SESSION]
    return sorted(heads, key=lambda head: (head.n, head.log))


def main_log(
    store: Store, *, joined_by: str | None = None, renamed: tuple[str, str] | None = None
) -> str | None:
    """Return the main agent's log by the full rule; None: the session has no agents.

    The session's own log is folded leniently for ``rig::current_agent``.

    Args:
        store: The session.
        joined_by: Answer as if an agent of this id, which nothing spawned, were there too.
        renamed: Answer as if the agent of the first id were called by the second.
    """
    agents = [(head.log, _parent(head), head.retired) for head in read_heads(store)]
    if joined_by is not None:
        agents.append((joined_by, None, False))
    current = None
    if len(agents) > 1 and SESSION in store.logs():
        current = fold_log(store, SESSION, strict=False).saved.get(CURRENT)
    if renamed is not None:
        old, new = renamed
        agents = [
            (new if id_ == old else id_, new if parent == old else parent, retired)
            for id_, parent, retired in agents
        ]
        current = new if current == old else current
    return choose_main(agents, current)


def _parent(head: Head) -> str | None:
    return None if head.header is None else head.header.parent


def read_conversation(store: Store, agent: str | None = None) -> tuple[str, Conversation] | None:
    """Return an agent's id and conversation, reading that log alone.

    Args:
        store: Where the logs are.
        agent: Its id; None: the main agent, found from the headers alone (so
            one that is retired counts, and ``rig::current_agent`` does not).

    Returns:
        None where there is no such agent.

    Raises:
        errors.SessionError: Its log does not read.
    """
    if agent is None:
        heads = read_heads(store)
        agent = choose_main([(head.log, _parent(head), False) for head in heads], None)
    if agent is None or agent == SESSION:
        return None
    try:
        return agent, fold_log(store, agent).conversation
    except FileNotFoundError:
        return None
