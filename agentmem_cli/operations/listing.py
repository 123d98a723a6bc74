"""What `list` shows: one row a session, from its meta or from its logs' ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from agentmem_cli.limits import META_BYTES_MAX
from agentmem_cli.operations.catalog import names
from agentmem_cli.session.keys import SESSION
from agentmem_cli.session.meta import BadMeta, SessionMeta
from agentmem_cli.storage.survey import Survey, glance, survey

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator

    from agentmem_cli.operations.projects import Project
    from agentmem_cli.session.codec import JSON

OURS = "agentmem"
"""The key of ``listed`` under which this program keeps what makes a meta trustworthy."""


class Row(NamedTuple):
    """One session in a listing. None: not known without reading more."""

    id: str
    title: str | None
    agents: int
    """Logs but the session's own."""
    messages: int | None
    """Entries of the main agent's conversation."""
    size_bytes: int
    """Bytes of its logs."""
    started_ms: int | None
    updated_ms: int | None
    model: str | None
    labels: dict[str, str]
    cwd: str | None
    damaged: int | None
    """Damaged places of its logs; None: not every byte was read."""
    problem: str | None
    """Why its meta was not used, or why it cannot be read at all."""
    logs: tuple[str, ...]
    forked_from: tuple[str, int | None] | None = None
    """The session that it is a fork of, and how many messages of that it begins with."""
    part_of: tuple[str, str] | None = None
    """The session that it is an agent of, by itself since it was imported without that one; and
    the agent's name there."""
    unread: bool = False
    """Whether nothing of it could be read, so that no filter can tell whether it fits."""


class Wanted(Protocol):
    """The filters; None stands for any."""

    @property
    def since_ms(self) -> int | None:
        """Updated at this time or later."""

    @property
    def until_ms(self) -> int | None:
        """Updated before this time."""

    @property
    def model(self) -> str | None:
        """Part of the model's name, case folded."""

    @property
    def labels(self) -> tuple[tuple[str, str | None], ...]:
        """Labels that must be there."""

    @property
    def title(self) -> re.Pattern[str] | None:
        """Found in the title."""

    @property
    def larger_bytes(self) -> int | None:
        """It takes more bytes than this."""


def rows(root: str) -> Iterator[Row]:
    """Yield a row for every session under *root*, in the order of their names."""
    for name in names(root):
        row = row_of(name, f"{root}/{name}")
        if row is not None:
            yield row


def row_of(id_: str, path: str) -> Row | None:  # noqa: PLR0911 - one a state of the session
    """Return the row of one session; None: the directory holds none."""
    try:
        # Why twice: almost every session has a fresh meta of ours, and a glance shows that.
        seen = glance(path)
        meta, problem = _meta(seen)
        if meta is not None and problem is None and noted_sizes(meta) and is_fresh(seen, meta):
            return _from_meta(id_, seen, meta)
        seen = survey(path)
    except OSError as error:
        return _unreadable(id_, f"{error.strerror or error}")
    if seen.old_layout:
        return _unreadable(id_, "an older layout")
    if not seen.logs and not seen.meta_size:
        return None
    meta, problem = _meta(seen)
    if meta is not None and problem is None and is_fresh(seen, meta):
        return _from_meta(id_, seen, meta)
    try:
        return _from_logs(id_, path, seen, meta, problem or _gone(seen, meta))
    except OSError as error:
        return _unreadable(id_, f"{error.strerror or error}")


def _meta(seen: Survey) -> tuple[SessionMeta | None, str | None]:
    if seen.meta is None:
        too_big = f"meta.json: {seen.meta_size} bytes, more than {META_BYTES_MAX}"
        return None, too_big if seen.meta_size else None
    try:
        meta = SessionMeta.decode(seen.meta, exact=False)
    except BadMeta as error:
        return beginning_of(seen.meta), f"meta.json: {error}"
    return meta, f"meta.json: {meta.trouble}" if meta.odd else None


def beginning_of(data: bytes) -> SessionMeta | None:
    """Return the whole meta that *data* begins with, whatever follows it; None: it has none.

    Bytes behind it are what an older, longer meta or a power cut left; labels
    stand nowhere else, so they are not given up with them.
    """
    from agentmem_cli.session.codec import dumps, scan_text

    text = data.decode("utf-8", "replace")
    try:
        value, _ = scan_text(text, len(text) - len(text.lstrip()))
    except ValueError:
        return None
    return SessionMeta.decode(dumps(value)) if isinstance(value, dict) else None


def _gone(seen: Survey, meta: SessionMeta | None) -> str | None:
    """Name the logs that the meta knows and the disk does not have."""
    noted = {} if meta is None else noted_sizes(meta)
    there = {log for log, _, _ in seen.logs}
    gone = sorted(log for log in noted or {} if log not in there)
    return f"logs that it had are gone: {', '.join(gone)}" if gone else None


def noted_sizes(meta: SessionMeta) -> dict[str, JSON] | None:
    """Return the bytes of each log that *meta* is true of; None: it does not say."""
    ours = meta.listed.get(OURS)
    sizes = ours.get("logs") if isinstance(ours, dict) else None
    return sizes if isinstance(sizes, dict) else None


def is_fresh(seen: Survey, meta: SessionMeta) -> bool:
    """Whether *meta* is of the logs as they stand: none is newer, and the sizes are as noted.

    One of another program notes no sizes; it has to say at least what was counted, and when.
    """
    newest = max((mtime_ns for _, _, mtime_ns in seen.logs), default=0)
    if seen.meta_mtime_ns < newest or meta.odd:
        return False
    sizes = noted_sizes(meta)
    if sizes is None and seen.logs:
        return None not in (meta.updated, meta.messages)
    if sizes is None:
        return not meta.messages
    return sizes == {log: size for log, size, _ in seen.logs}


def _from_meta(id_: str, seen: Survey, meta: SessionMeta) -> Row:
    ours = meta.listed.get(OURS)
    noted = ours if isinstance(ours, dict) else {}
    started, damaged = noted.get("started"), noted.get("damaged")
    logs = tuple(log for log, _, _ in seen.logs)
    return Row(
        id_,
        meta.title,
        len(logs) - (SESSION in logs),
        meta.messages,
        sum(size for _, size, _ in seen.logs),
        started if type(started) is int else None,
        meta.updated,
        meta.model,
        meta.labels,
        _cwd(meta),
        damaged if type(damaged) is int else None,
        "a change was cut short" if seen.unfinished else None,
        logs,
        fork_of(meta.listed.get("forked_from")),
        _part_of(meta.listed.get("part_of")),
    )


def _from_logs(
    id_: str, path: str, seen: Survey, meta: SessionMeta | None, problem: str | None
) -> Row:
    from agentmem_cli.operations.facts import from_logs

    facts = from_logs(path, seen.logs)
    old = meta or SessionMeta()
    return Row(
        id_,
        facts.title or old.title or facts.first_text,
        facts.agents,
        facts.messages,
        sum(size for _, size, _ in seen.logs),
        facts.started_ms,
        facts.updated_ms if facts.updated_ms is not None else old.updated,
        facts.model or old.model,
        old.labels,
        facts.cwd or _cwd(old),
        facts.damaged,
        problem or ("a change was cut short" if seen.unfinished else None),
        tuple(log for log, _, _ in seen.logs),
        fork_of(old.listed.get("forked_from")) or fork_of(facts.forked_from),
        _part_of(old.listed.get("part_of")) or _part_of(facts.part_of),
    )


def fork_of(value: JSON) -> tuple[str, int | None] | None:
    """Return the session and the number of messages that the note of a fork tells."""
    if not isinstance(value, dict) or not isinstance(session := value.get("session"), str):
        return None
    at = value.get("at")
    return session, at if type(at) is int else None


def _part_of(value: JSON) -> tuple[str, str] | None:
    if not isinstance(value, dict):
        return None
    session, agent = value.get("session"), value.get("agent")
    return (session, agent) if isinstance(session, str) and isinstance(agent, str) else None


def is_held(root: str, part: tuple[str, str]) -> bool:
    """Whether the session that another one is an agent of holds that agent too.

    Args:
        root: The folder of the sessions.
        part: `Row.part_of`.
    """
    from agentmem_cli.operations.imports.naming import safe_name
    from agentmem_cli.storage.survey import has_log

    session, agent = part
    return has_log(f"{root}/{safe_name(session)}", safe_name(agent))


def _cwd(meta: SessionMeta) -> str | None:
    cwd = meta.listed.get("cwd")
    return cwd if isinstance(cwd, str) else None


def _unreadable(id_: str, problem: str) -> Row:
    return Row(id_, None, 0, None, 0, None, None, None, {}, None, None, problem, (), unread=True)


def matching(
    found: Iterable[Row],
    wanted: Wanted,
    agent: str | None = None,
    project: Project | None = None,
) -> Iterator[Row]:
    """Yield the rows that all filters fit; *agent* is the beginning of an agent's id."""
    for row in found:
        if (project is None or project.holds(row.cwd)) and (
            _in_time(row, wanted)
            and _has_labels(row, wanted)
            and (wanted.model is None or wanted.model in (row.model or "").casefold())
            and (wanted.title is None or wanted.title.search(row.title or ""))
            and (wanted.larger_bytes is None or row.size_bytes > wanted.larger_bytes)
            and (agent is None or any(log.startswith(agent) for log in row.logs if log != SESSION))
        ):
            yield row


def _in_time(row: Row, wanted: Wanted) -> bool:
    # Why: a session of unknown time is neither new nor old; no filter by time takes it.
    if wanted.since_ms is not None and (row.updated_ms is None or row.updated_ms < wanted.since_ms):
        return False
    return wanted.until_ms is None or (
        row.updated_ms is not None and row.updated_ms < wanted.until_ms
    )


def _has_labels(row: Row, wanted: Wanted) -> bool:
    return all(
        key in row.labels and value in (None, row.labels[key]) for key, value in wanted.labels
    )


SORTS = ("updated", "started", "size", "messages", "title", "id")
"""What `list --sort` takes; the first is what it does without."""


def ordered(found: Iterable[Row], by: str) -> list[Row]:
    """Sort rows: the newest, largest or most first; titles and ids as in a dictionary.

    What is not known comes last; rows that are alike stand by id.
    """
    if by == "id":
        return sorted(found, key=lambda row: row.id)
    if by == "title":
        return sorted(
            found, key=lambda row: (row.title is None, (row.title or "").casefold(), row.id)
        )
    field = {"updated": "updated_ms", "started": "started_ms", "size": "size_bytes"}.get(by, by)

    def key(row: Row) -> tuple[bool, int, str]:
        value: int | None = getattr(row, field)
        return (value is None, -(value or 0), row.id)

    return sorted(found, key=key)
