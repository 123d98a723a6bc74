"""Whether a session's maps are whole, and say what its logs say."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import DamageError
from agentmem_cli.operations.imports.beside import NOTES, check_beside, noted
from agentmem_cli.operations.imports.foreign import new_digest
from agentmem_cli.operations.imports.maps import FOLDER, MAP_END, NO_DIGEST, OldMap
from agentmem_cli.operations.imports.standing import LogIndex, is_kept
from agentmem_cli.session.lines import scan
from agentmem_cli.session.reader import open_log
from agentmem_cli.session.refiling import copied

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from agentmem_cli.session.fold import LogFold
    from agentmem_cli.session.lines import Damage
    from agentmem_cli.storage.directory import DirStore


BAD: Final = "bad-map"
"""`BadMap.kind` of a map, or a kept source, that is not as it should be."""

AWAITED: Final = "missing-output"
"""`BadMap.kind` of what a whole map says was not to be had: no damage."""

UNMAPPED: Final = "missing-map"
"""`BadMap.kind` of a kept source whose map is gone: it is whole, and no import goes on with it."""

LOST: Final = "lost-record"
"""`BadMap.kind` of what a log says is lost: no damage any more."""

_AWAITED_MAX: Final = 20
"""Messages of one map whose missing outputs are told one by one."""


class BadMap(NamedTuple):
    """A map, or the source it belongs to, that is not as it should be."""

    file: str
    """Its name among the session's files; of a missing output the log that lacks it."""
    why: str
    kind: str = BAD
    """`BAD`, `AWAITED`, `UNMAPPED` or `LOST`."""


def check_maps(
    store: DirStore,
    folds: Mapping[str, LogFold],
    indexes: Mapping[str, LogIndex] | None = None,
    looked: set[str] | None = None,
    noted_lost: Mapping[str, Collection[int]] | None = None,
) -> list[BadMap]:
    """Check every map of an import against itself and against the logs.

    Header and lines are read, counted, and every ``n`` and id is looked for.
    A log that was rewritten in place is not looked into: no import goes on
    with it.

    Args:
        store: The session; nothing in it is changed.
        folds: Its logs, folded to their ends, damaged ones too.
        indexes: What stands in them, where the caller has noted it (by
            ``LogIndex().look``, called with every line); else the logs that
            maps name are read once more.
        looked: Gets the names of the files whose bytes were checked.
        noted_lost: By log, the ``n`` of places that say that what stood there is lost.

    Returns:
        What is wrong, by file; empty for a session that was not imported.

    Raises:
        OSError: A file cannot be read.
    """
    found: list[BadMap] = []
    checked: set[str] = set() if looked is None else looked
    known_indexes = dict(indexes or {})
    names = [file for file in store.files() if file.startswith(FOLDER)]
    for file in names:
        if not file.endswith(MAP_END):
            continue
        checked.add(file)
        try:
            old = OldMap(file.removesuffix(MAP_END), store.read_file(file))
            lost, told = _lost(store, old, folds, known_indexes, noted_lost or {})
        except DamageError as error:
            found.append(BadMap(file, str(error).removeprefix(f"files/{file}").lstrip(":, ")))
            continue
        found += _gone(file, lost, told)
        found += _awaited(old)
        if not is_kept(store, old):
            found.append(BadMap(old.name, f"not the {old.header.kept} bytes that its map says"))
        elif _is_told(old):
            checked.add(old.name)
            if not _is_source(store, old):
                found.append(BadMap(old.name, "not the bytes that its map says"))
    found += (BadMap(file, why) for file, why in check_beside(store))
    with suppress(DamageError):
        there = noted(store)
        checked.update(each.stored for each in there)
        checked.update([NOTES] if there else [])
        found += _unmapped(names, {each.stored for each in there})
    return found


def _unmapped(names: list[str], beside: set[str]) -> Iterator[BadMap]:
    """Yield the kept sources that no map belongs to."""
    mapped = {name.removesuffix(MAP_END) for name in names if name.endswith(MAP_END)}
    for name in names:
        if name not in mapped and not name.endswith(MAP_END) and name not in {NOTES, *beside}:
            why = "no map says what of it stands in the logs, so no import goes on with it"
            yield BadMap(name, why, UNMAPPED)


def _gone(file: str, lost: Counter[str], told: Counter[str]) -> Iterator[BadMap]:
    """Yield what does not stand in the logs, and what a log says that itself."""
    for log, count in sorted(lost.items()):
        if count:
            things = "1 thing that it names is" if count == 1 else f"{count} things it names are"
            yield BadMap(file, f"{things} not in log {log!r}, at the places it says")
    for log, count in sorted(told.items()):
        things = "1 thing that it names is" if count == 1 else f"{count} things it names are"
        yield BadMap(file, f"{things} lost, as log {log!r} says", LOST)


def _is_told(old: OldMap) -> bool:
    """Whether a map says of the kept source what its bytes are."""
    header = old.header
    return 0 < header.kept == header.size and header.digest != NO_DIGEST


def _is_source(store: DirStore, old: OldMap) -> bool:
    digest = new_digest(bytes.fromhex(old.header.key))
    with store.open_file(old.name) as opened:
        for data in copied(opened, 0, opened.size):
            digest.update(data)
    return digest.hexdigest() == old.header.digest


def _awaited(old: OldMap) -> list[BadMap]:
    """Return what messages refer to that was not to be had beside the source."""
    found: list[BadMap] = []
    more = 0
    for known in old.awaiting():
        if len(found) == _AWAITED_MAX:
            more += 1
            continue
        files = " and ".join(known.awaited)
        why = f"message {known.id}: the output in {files} was not to be had at the import"
        how = "importing again takes it once it stands in the session's own folder"
        found.append(BadMap(known.log, f"{why}; {how}", AWAITED))
    if more:
        found.append(BadMap(found[-1].file, f"{more} more messages like these", AWAITED))
    return found


def _lost(
    store: DirStore,
    old: OldMap,
    folds: Mapping[str, LogFold],
    indexes: dict[str, LogIndex],
    noted_lost: Mapping[str, Collection[int]],
) -> tuple[Counter[str], Counter[str]]:
    """Count what does not stand in the logs, by log, and of what a log says that itself."""
    lost: Counter[str] = Counter()
    told: Counter[str] = Counter()
    for known in old.known():
        fold = folds.get(known.log)
        if fold is not None and fold.header is not None and fold.header.rewrites:
            continue
        index = indexes.get(known.log)
        if index is None:
            index = indexes[known.log] = _index(store, known.log)
        if index.code_at(known.n) != known.code:
            (told if known.n in noted_lost.get(known.log, ()) else lost)[known.log] += 1
    return lost, told


def _index(store: DirStore, log: str) -> LogIndex:
    index = LogIndex()

    def pass_by(_: Damage) -> None:
        """Do nothing: what is damaged in a log is told with the log."""

    try:
        for line in scan(open_log(store, log), pass_by):
            index.look(line)
    except FileNotFoundError:
        pass
    return index
