"""Whether what a map names stands in the session's logs.

A log can lose its end (a power cut, a copy that was cut off), or be emptied
or removed. A map that is trusted then would pass over the very things that
are missing, so each one is looked for by its record's ``n`` and its id.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING, Final

from agentmem_cli.session.codec import dumps, loads_object
from agentmem_cli.session.images import BLOB_FOLDER
from agentmem_cli.session.keys import LOST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from agentmem_cli.operations.imports.maps import Known, OldMap
    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.fold import LogFold
    from agentmem_cli.session.lines import Line
    from agentmem_cli.session.source import LogSource
    from agentmem_cli.storage.directory import DirStore

_ENTRY, _ASIDE, _VALUE, _OTHER = range(4)
_KINDS: Final = 4

_TAIL_BYTES: Final = 4 << 10
"""Bytes of a log that are read at first to find its last record."""

_N_MAX: Final = 1 << 62
"""Beyond it a number does not fit an array; no program counts so far."""


def entry_code(entry: int) -> int:
    """Return what stands for the entry with the id *entry* in a `LogIndex`."""
    return _coded(entry, _ENTRY)


def aside_code(aside: int) -> int:
    """Return what stands for the aside with the id *aside* in a `LogIndex`."""
    return _coded(aside, _ASIDE)


def value_code(key: str) -> int:
    """Return what stands for a saved value of *key* in a `LogIndex`."""
    from zlib import crc32

    return _coded(crc32(key.encode("utf-8", "surrogatepass")), _VALUE)


def is_entry(code: int) -> bool:
    """Whether *code* stands for an entry."""
    return code % _KINDS == _ENTRY


def _coded(number: int, kind: int) -> int:
    return number % (_N_MAX // _KINDS) * _KINDS + kind


class LogIndex:
    """What stands at which ``n`` of a log; 16 bytes a record."""

    __slots__ = ("_codes", "_late_ms", "_numbers", "_others", "holes", "late")

    def __init__(self, late_ms: int | None = None) -> None:
        """Begin with nothing; records of *late_ms* or later are noted in ``late``."""
        self._numbers = array("q")
        self._codes = array("q")
        self._others: dict[int, int] = {}
        self._late_ms = late_ms
        self.late: dict[int, tuple[int, int]] = {}
        """By ``n``: offset and length in bytes. An import may not have written these."""
        self.holes: dict[int, int | None] = {}
        """By ``n`` of a place whose record is lost, as a repair noted: the entry before it."""

    def look(self, line: Line, _: LogFold | None = None) -> None:
        """Note a record; a fold's ``on_record``."""
        fields = line.fields
        n, t = fields.get("n"), fields.get("t")
        if type(n) is not int or not 0 <= n < _N_MAX:
            return
        code = _code_of(fields)
        if fields.get("type") == "aside":
            self._look_for_hole(n, fields.get("aside"))
        if self._numbers and n <= self._numbers[-1]:
            # Why: only a damaged log has these; a search needs the rest to rise.
            self._others[n] = code
        else:
            self._numbers.append(n)
            self._codes.append(code)
        if self._late_ms is not None and type(t) is int and t >= self._late_ms:
            self.late[n] = (line.offset, line.length)

    def _look_for_hole(self, n: int, aside: JSON) -> None:
        if not isinstance(aside, dict) or aside.get("kind") != LOST:
            return
        value, after = aside.get("value"), aside.get("after")
        if not (isinstance(value, dict) and "blobs" in value):  # that tells of lost images
            self.holes[n] = after if type(after) is int else None

    def code_at(self, n: int) -> int | None:
        """Return what stands at *n*; None: no record does."""
        at = bisect_left(self._numbers, n)
        if at < len(self._numbers) and self._numbers[at] == n:
            return self._codes[at]
        return self._others.get(n)

    def has_before(self, n: int, code: int) -> bool:
        """Whether *code* stands at a place before *n* that is not late."""
        stop = bisect_left(self._numbers, n)
        places = range(stop - 1, -1, -1)
        return any(self._codes[at] == code and self._numbers[at] not in self.late for at in places)


def _code_of(fields: Object) -> int:
    kind = fields.get("type")
    if kind in ("push", "splice"):
        entries = fields.get("entries" if kind == "push" else "with")
        first = entries[0] if isinstance(entries, list) and entries else None
        number = first.get("id") if isinstance(first, dict) else None
        return entry_code(number) if isinstance(number, int) else _OTHER
    if kind == "aside":
        number = fields.get("id")
        return aside_code(number) if isinstance(number, int) else _OTHER
    if kind == "state" and isinstance(key := fields.get("key"), str):
        return value_code(key)
    return _OTHER


class Standing:
    """Which of the things that maps name stand in the logs, and which are lost."""

    def __init__(
        self,
        indexes: Mapping[str, LogIndex],
        sources: Mapping[str, LogSource],
        names: Callable[[], Iterable[str]],
    ) -> None:
        """Look into *indexes* and *sources*, both by the log's name.

        Args:
            indexes: What stands where.
            sources: Where records are read from once more.
            names: Returns the names of the session's files.
        """
        self.lost = 0
        """Things that were looked for in vain."""
        self.lost_messages = 0
        """Messages among them."""
        self.blobs_lost: set[str] = set()
        """Blobs that were looked for in vain."""
        self._indexes = indexes
        self._sources = sources
        self._names = names
        self._files: frozenset[str] | None = None
        self._first_lost: dict[str, int] = {}
        self._last_there: dict[str, int] = {}

    def has(self, known: Known, is_its_print: Callable[[str, int, bytes], bool]) -> bool:
        """Whether the thing *known* stands where its map says; one that does not is counted.

        Args:
            known: The thing.
            is_its_print: Whether its fingerprint is the one of this kind of
                item, source time (ms; 0: unknown) and body.
        """
        index = self._indexes.get(known.log)
        if index is not None and index.code_at(known.n) == known.code:
            place = index.late.get(known.n)
            if place is None or self._is_same(known, place, is_its_print):
                last = self._last_there.get(known.log, -1)
                self._last_there[known.log] = max(last, known.n)
                return True
        self.lost += 1
        self.lost_messages += is_entry(known.code)
        if index is None or known.n not in index.holes:
            self.out_of_order(known)
        return False

    def hole_of(self, known: Known) -> tuple[int | None] | None:
        """Return the entry before the place noted as lost for *known*; None: none was noted."""
        index = self._indexes.get(known.log)
        if index is None or known.n not in index.holes:
            return None
        return (index.holes[known.n],)

    def out_of_order(self, known: Known) -> None:
        """Note that *known* is lost and not put back into its place."""
        self._first_lost[known.log] = min(self._first_lost.get(known.log, known.n), known.n)

    def has_blobs(self, known: Known) -> bool:
        """Whether the blobs that *known* refers to are there."""
        if not known.blobs:
            return True
        if self._files is None:
            names = self._names()
            self._files = frozenset(
                name.removeprefix(BLOB_FOLDER) for name in names if name.startswith(BLOB_FOLDER)
            )
        missing = frozenset(known.blobs) - self._files
        self.blobs_lost |= missing
        return not missing

    def was_pushed(self, known: Known) -> bool:
        """Whether the entry of a lost change of it stands, as it was before that change."""
        index = self._indexes.get(known.log)
        return known.open and index is not None and index.has_before(known.n, known.code)

    def broken(self) -> str | None:
        """Return a log that lost something other than its end; None: there is none."""
        for log, first in self._first_lost.items():
            if self._last_there.get(log, -1) > first:
                return log
        return None

    def _is_same(
        self,
        known: Known,
        place: tuple[int, int],
        is_its_print: Callable[[str, int, bytes], bool],
    ) -> bool:
        """Whether a record that someone may have added since is what was imported."""
        fields = self._sources[known.log].exact(*place)
        told = said_by(fields)
        if told is None:
            return False
        kind, body = told
        t = fields.get("t")
        time = t if isinstance(t, int) and b',"time":"' not in known.map_line else 0
        return is_its_print(kind, time, body)


def folded(store: DirStore, maps: Sequence[OldMap]) -> tuple[dict[str, LogFold], Standing]:
    """Fold every log, and note on the way what stands in it.

    Raises:
        SessionError: A log does not read.
    """
    from agentmem_cli.session.reader import fold_log

    folds: dict[str, LogFold] = {}
    indexes: dict[str, LogIndex] = {}
    # Why: what was written after the last import may stand in the place of what was lost.
    late_ms = min((old.header.imported for old in maps), default=None)
    for log in store.logs():
        index = LogIndex(late_ms)
        folds[log] = fold_log(store, log, on_record=index.look if maps else None)
        indexes[log] = index
    sources = {log: fold.source for log, fold in folds.items()}
    return folds, Standing(indexes, sources, store.files)


def seems_whole(store: DirStore, maps: Sequence[OldMap]) -> bool:
    """Whether a session stands as its last import or append left it, seen from a few bytes.

    It looks at the meta's times and sizes, at each log's record that stood
    last after the import, at the kept sources' sizes and at the blobs' names.
    """
    from agentmem_cli.operations.metas import is_current

    if not is_current(store):
        return False
    try:
        for old in maps:
            header = old.header
            if not old.is_whole or (header.items and not header.ends):
                return False
            if not all(_ends_at(store, log, *end) for log, end in header.ends.items()):
                return False
            if not is_kept(store, old):
                return False
        blobs = set().union(*(old.blobs() for old in maps))
        return not blobs or blobs <= {name.removeprefix(BLOB_FOLDER) for name in store.files()}
    except (OSError, ValueError):
        return False


def is_kept(store: DirStore, old: OldMap) -> bool:
    """Whether as many bytes of a source are kept as its map says."""
    if not old.header.kept:
        return True
    try:
        return store.file_stat(old.name).size == old.header.kept
    except FileNotFoundError:
        return False


def _ends_at(store: DirStore, log: str, size: int, n: int) -> bool:
    """Whether the record of *n* ends at byte *size* of a log."""
    with store.open_log(log) as opened:
        length = _TAIL_BYTES
        while True:
            start = max(0, size - length)
            line = opened.read_at(start, size - start)
            if start + len(line) != size or not line.endswith(b"\n"):
                return False
            begin = line.rfind(b"\n", 0, -1)
            if begin >= 0 or start == 0:
                return loads_object(line[begin + 1 :]).get("n") == n
            length *= 8


def said_by(fields: Object) -> tuple[str, bytes] | None:
    """Return a record's kind of item and body, as a map's fingerprints take them."""
    kind = fields.get("type")
    if kind in ("push", "splice"):
        entries = fields.get("entries" if kind == "push" else "with")
        first: JSON = entries[0] if isinstance(entries, list) and entries else None
        message = first.get("message") if isinstance(first, dict) else None
        return ("said", dumps(message))
    if kind == "aside" and isinstance(aside := fields.get("aside"), dict):
        return ("noted", str(aside.get("kind")).encode("utf-8", "surrogatepass"))
    if kind == "state":
        return ("kept", dumps([fields.get("key"), fields.get("value")]))
    return None
