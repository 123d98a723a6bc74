from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.errors import ConflictError, DamageError
from agentmem_cli.operations.imports import importing
from agentmem_cli.operations.imports.folders import import_paths
from agentmem_cli.operations.imports.importing import import_source
from agentmem_cli.session.codec import dumps, loads_object
from agentmem_cli.session.keys import FORKED_FROM, TITLE
from agentmem_cli.session.meta import SessionMeta
from agentmem_cli.session.reader import fold_log
from agentmem_cli.session.record import Saved
from agentmem_cli.session.writer import append_records, save
from tests.unit.imports.building import (
    NOW,
    SESSION_ID,
    asides_of,
    entry,
    header,
    lines,
    main_of,
    put,
    reply,
    store_of,
    take,
    texts_of,
    tree_of,
    user,
)

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.operations.imports.report import Report

FIRST = lines(header(), user(1, "one"), reply(2, "two"), entry("compaction", 3, summary="S"))
MORE = lines(user(4, "three"), reply(5, "four"))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return put(tmp_path / "src" / f"2026_{SESSION_ID}.jsonl", FIRST)


def kept_source(path: Path, source: Path) -> bytes:
    return (path / "files" / "plugins" / "import" / source.name).read_bytes()


def shown_of(report: Report) -> SessionMeta:
    """Return the meta but for the logs' sizes, in which random lineages differ by a digit."""
    meta = SessionMeta.read(store_of(report))
    return meta._replace(
        listed={key: value for key, value in meta.listed.items() if key != "agentmem"}
    )


def test_importing_again_adds_nothing_and_touches_nothing(source: Path, root: Path) -> None:
    take(source, root)
    before = tree_of(root)

    report = take(source, root)

    assert report.nothing_new
    assert report.known == 5
    assert (report.messages, report.asides, report.values) == (2, 1, 2)
    assert tree_of(root) == before


def test_importing_twice_over_a_growing_source_is_importing_it_once(
    tmp_path: Path, source: Path, root: Path
) -> None:
    first = take(source, root)
    put(source, FIRST + MORE)

    grown = take(source, root)

    whole = take(source, tmp_path / "other")
    assert (grown.new, grown.known, grown.created) == (2, 5, False)
    assert first.path == grown.path
    assert texts_of(grown) == texts_of(whole) == ["one", "two", "three", "four"]
    assert kept_source(grown.path, source) == source.read_bytes()
    assert shown_of(grown) == shown_of(whole)
    assert take(source, root).nothing_new


@pytest.mark.parametrize("cut", range(0, len(FIRST + MORE), 23))
def test_a_source_cut_anywhere_and_finished_later_loses_and_doubles_nothing(
    tmp_path: Path, root: Path, cut: int
) -> None:
    path = put(tmp_path / "live.jsonl", (FIRST + MORE)[:cut])
    (early,) = import_paths([path], root, now_ms=NOW)
    put(path, FIRST + MORE)

    report = take(path, root)

    assert texts_of(report) == ["one", "two", "three", "four"]
    assert len(asides_of(report)) == 1
    assert kept_source(report.path, path) == FIRST + MORE
    assert (early.report is None) == (cut < len(lines(header()) + user(1, "one")))


def test_a_source_that_moved_is_known_by_its_session(source: Path, root: Path) -> None:
    take(source, root)
    moved = put(source.parent / "moved.jsonl", FIRST + MORE)

    report = take(moved, root)

    assert (report.new, report.known) == (2, 5)
    assert len(list((report.path / "files/plugins/import").iterdir())) == 2


def test_what_a_person_added_meanwhile_stays(source: Path, root: Path) -> None:
    first = take(source, root)
    append_records(store_of(first), "main", lambda _: [Saved(TITLE, "Mine")], at=NOW)
    meta = SessionMeta.read(store_of(first))
    meta._replace(title="Mine", labels={"k": "v"}).write(store_of(first))
    put(source, FIRST + MORE)

    report = take(source, root)

    meta = SessionMeta.read(store_of(report))
    assert (meta.title, meta.labels, meta.messages) == ("Mine", {"k": "v"}, 4)
    assert texts_of(report) == ["one", "two", "three", "four"]


def test_a_title_that_the_source_gives_anew_replaces_the_listed_one_and_no_other_does(
    source: Path, root: Path
) -> None:
    named = FIRST + lines(entry("session_info", 3, name="Old"))
    put(source, named)
    first = take(source, root)
    SessionMeta.read(store_of(first))._replace(title="Mine").write(store_of(first))
    put(source, named + MORE)
    mine = SessionMeta.read(store_of(take(source, root))).title
    put(source, named + MORE + lines(entry("session_info", 9, name="New")))

    new = SessionMeta.read(store_of(take(source, root))).title

    assert (mine, new) == ("Mine", "New")


def test_a_torn_log_is_mended_before_it_is_added_to(source: Path, root: Path) -> None:
    first = take(source, root)
    log = first.path / "logs" / "main.jsonl"
    log.write_bytes(log.read_bytes() + b'{"seq":9,"n"')
    put(source, FIRST + MORE)

    report = take(source, root)

    recovered = list((report.path / "files" / "recovered").iterdir())
    assert texts_of(report) == ["one", "two", "three", "four"]
    assert [path.read_bytes() for path in recovered] == [b'{"seq":9,"n"']


def _migrated(data: bytes) -> bytes:
    """Give every entry an id and a parent, as pi does when it opens an older file."""
    records = [loads_object(line) for line in data.splitlines()]
    before = None
    for index, record in enumerate(records):
        if record["type"] == "session":
            record["version"] = 3
            continue
        record["id"], record["parentId"] = f"{index:08x}", before
        before = record["id"]
    return lines(*(dumps(record) for record in records))


def test_a_file_rewritten_in_place_with_ids_is_known_again(source: Path, root: Path) -> None:
    put(source, lines(header(version=1), user(1, "one"), reply(2, "two")))
    take(source, root)
    put(source, _migrated(source.read_bytes() + MORE))

    report = take(source, root)

    assert (report.new, report.known) == (2, 4)
    assert texts_of(report) == ["one", "two", "three", "four"]
    assert kept_source(report.path, source) == source.read_bytes()
    assert take(source, root).nothing_new


@pytest.mark.parametrize(
    "other",
    [
        lines(header(), user(1, "one"), reply(2, "something else")) + MORE,
        lines(header(), user(1, "other")),
        FIRST.replace(b"00:02.000Z", b"00:02.500Z") + MORE,
    ],
)
def test_a_source_that_has_parted_is_refused_and_again_takes_it(
    source: Path, root: Path, other: bytes
) -> None:
    take(source, root)
    before = tree_of(root)
    put(source, other)

    with pytest.raises(ConflictError, match="does not go on") as failure:
        take(source, root)

    assert "--again" in str(failure.value.hint)
    assert tree_of(root) == before
    assert take(source, root, again=True).session == f"pi-{SESSION_ID}-2"
    assert take(source, root, again=True).session == f"pi-{SESSION_ID}-3"


@pytest.mark.parametrize("keep_source", [True, False])
@pytest.mark.parametrize("count", range(2, 6))
def test_an_older_copy_brings_nothing_and_takes_nothing(
    source: Path, root: Path, count: int, keep_source: bool
) -> None:
    whole = FIRST + MORE
    put(source, whole)
    take(source, root, keep_source=keep_source)
    before = tree_of(root)
    part = b"".join(whole.splitlines(keepends=True)[:count])
    copy = put(source.parent / "copy.jsonl", part)

    report = take(copy, root)
    dry = import_source(copy, root, now_ms=NOW, dry_run=True)

    assert (report.nothing_new, report.older) == (True, True)
    assert (dry.older, dry.dry_run, report.dry_run) == (True, True, False)
    assert tree_of(root) == before
    assert not take(source, root, keep_source=keep_source).older


def test_an_older_copy_beside_the_newer_one_fails_no_run(source: Path, root: Path) -> None:
    put(source, FIRST + MORE)
    put(source.parent / "a-copy.jsonl", FIRST)
    put(source.parent / "z-copy.jsonl", FIRST[:-10])

    runs = [list(import_paths([source.parent], root, now_ms=NOW)) for _ in range(3)]

    outcomes = runs[-1]
    assert [outcome.error for run in runs for outcome in run] == [None] * 9
    reports = {outcome.source.name[:1]: outcome.report for outcome in outcomes}
    older = {name: report is not None and report.older for name, report in reports.items()}
    assert older == {"2": False, "a": True, "z": True}
    assert reports["2"] is not None
    assert texts_of(reports["2"]) == ["one", "two", "three", "four"]


def test_a_source_goes_on_with_the_session_that_it_was_imported_into(
    source: Path, root: Path
) -> None:
    take(source, root)
    other = lines(header(), user(1, "other"), reply(2, "way"))
    put(source, other)
    second = take(source, root, again=True)
    put(source, other + MORE)

    grown = take(source, root)
    put(source, FIRST + MORE)
    first = take(source, root)
    put(source, other)
    older = take(source, root)

    assert (grown.path, grown.new) == (second.path, 2)
    assert texts_of(grown) == ["other", "way", "three", "four"]
    assert (first.session, first.new) == (f"pi-{SESSION_ID}", 2)
    assert (older.path, older.older) == (second.path, True)


def test_a_rewritten_session_is_passed_by_where_the_source_was_imported_again(
    source: Path, root: Path
) -> None:
    first = take(source, root)
    log = first.path / "logs" / "main.jsonl"
    head, _, rest = log.read_bytes().partition(b"\n")
    log.write_bytes(head[:-1] + b',"rewrites":[{"t":5}]}\n' + rest)
    second = take(source, root, again=True)
    put(source, FIRST + MORE)

    report = take(source, root)

    assert (report.path, report.new) == (second.path, 2)


@pytest.mark.skipif(os.name == "nt", reason="sessions are made in place there")
def test_a_session_that_another_import_makes_meanwhile_is_gone_on_with(
    source: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agentmem_cli.storage import fresh

    appear = fresh._appear
    other: list[Report] = []

    def late(stage: str, target: str) -> None:
        monkeypatch.setattr(fresh, "_appear", appear)
        whole = source.read_bytes()
        put(source, FIRST)
        other.append(take(source, root))
        put(source, whole)
        appear(stage, target)

    monkeypatch.setattr(fresh, "_appear", late)
    put(source, FIRST + MORE)

    report = take(source, root)

    assert (other[0].created, other[0].new) == (True, report.known)
    assert (report.created, report.path) == (False, other[0].path)
    assert report.new > 0
    assert [path.name for path in root.iterdir()] == [report.path.name]
    assert kept_source(report.path, source) == source.read_bytes()


@pytest.mark.skipif(os.name == "nt", reason="sessions are made in place there")
@pytest.mark.parametrize("step", ["find_maps", "refuse_without_map", "folded", "refuse_rewritten"])
@pytest.mark.parametrize("nth", [1, 2])
def test_a_session_that_appears_between_any_two_looks_is_gone_on_with(
    source: Path, root: Path, monkeypatch: pytest.MonkeyPatch, step: str, nth: int
) -> None:
    whole = getattr(importing, step)
    calls: list[str] = []
    other: list[Report] = []

    def late(*words: object) -> object:
        calls.append(step)
        if len(calls) == nth:
            other.append(import_source(source, root, now_ms=NOW))
        return whole(*words)

    monkeypatch.setattr(importing, step, late)

    report = take(source, root)

    assert [path.name for path in root.iterdir()] == [report.path.name]
    assert report.created is not any(each.created for each in other)
    assert texts_of(report) == texts_of(take(source, root))
    assert take(source, root).nothing_new


@pytest.mark.parametrize("key", [b"rewrites", b"re\\u0077rites", b" " * 5_000 + b"rewrites"])
def test_a_session_that_was_rewritten_refuses_its_source(
    source: Path, root: Path, key: bytes
) -> None:
    first = take(source, root)
    log = first.path / "logs" / "main.jsonl"
    head, _, rest = log.read_bytes().partition(b"\n")
    blanks, _, word = key.rpartition(b" ")
    log.write_bytes(head[:-1] + b"," + blanks + b'"' + word + b'":[{"t":5}]}\n' + rest)
    before = tree_of(root)

    with pytest.raises(ConflictError, match="rewritten") as failure:
        take(source, root)

    assert "--again" in str(failure.value.hint)
    assert tree_of(root) == before
    assert take(source, root, again=True).created


def test_a_session_of_the_name_that_no_import_made_is_left_alone(source: Path, root: Path) -> None:
    first = take(source, root)
    for path in (first.path / "files" / "plugins" / "import").iterdir():
        path.unlink()
    before = tree_of(root)

    with pytest.raises(ConflictError, match="no import made"):
        take(source, root)

    assert tree_of(root) == before


def test_again_where_nothing_is_there_is_a_plain_import(source: Path, root: Path) -> None:
    report = take(source, root, again=True)

    assert report.session == f"pi-{SESSION_ID}"


@pytest.mark.parametrize("grown", [b"", MORE])
@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data.replace(b'"fp"', b'"fq"'),
        lambda data: data.replace(b'{"map":1', b'{"map":2'),
        lambda data: data.rpartition(b'{"line"')[0],
    ],
)
def test_a_damaged_map_is_named_and_nothing_is_imported_twice(
    source: Path, root: Path, spoil: object, grown: bytes
) -> None:
    assert callable(spoil)
    first = take(source, root)
    (path,) = first.path.glob("files/plugins/import/*.map.jsonl")
    path.write_bytes(spoil(path.read_bytes()))
    put(source, FIRST + grown)
    before = tree_of(root)

    with pytest.raises(DamageError, match=r"map\.jsonl"):
        take(source, root)

    assert tree_of(root) == before


def test_the_source_can_be_left_out_at_first_and_kept_later(source: Path, root: Path) -> None:
    take(source, root, keep_source=False)

    report = take(source, root)

    assert report.nothing_new
    assert kept_source(report.path, source) == FIRST
    assert texts_of(report) == ["one", "two"]


def test_the_source_can_be_kept_at_first_and_left_out_later(source: Path, root: Path) -> None:
    take(source, root)
    put(source, FIRST + MORE)
    take(source, root, keep_source=False)
    put(source, FIRST + MORE + lines(user(6, "five")))

    report = take(source, root)

    assert texts_of(report) == ["one", "two", "three", "four", "five"]
    assert kept_source(report.path, source) == source.read_bytes()


def test_an_import_that_fails_half_way_leaves_the_session_as_it_was(
    source: Path, root: Path
) -> None:
    take(source, root)
    before = tree_of(root)
    put(source, FIRST + MORE)

    def fail(done: int, whole: int) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        import_source(source, root, now_ms=NOW, progress=fail)

    assert tree_of(root) == before


def test_entries_edited_here_are_not_put_back(source: Path, root: Path) -> None:
    first = take(source, root)
    conversation = fold_log(store_of(first), "main").conversation
    conversation.splice(0, 1, at=NOW)
    save(store_of(first), "main", conversation)
    put(source, FIRST + MORE)

    report = take(source, root)

    assert texts_of(report) == ["two", "three", "four"]
    assert [entry.id for entry in main_of(report).entries] == [1, 2, 3]


def test_a_fork_grows_by_entries_older_than_its_header(source: Path, root: Path) -> None:
    fork = header(timestamp="2026-01-01T00:10:00.000Z", parentSession="/x/2026_far.jsonl")
    copied = lines(fork, user(1, "one"), reply(2, "two"))
    own = lines(user(700, "three"))
    put(source, copied)
    take(source, root)
    put(source, copied + MORE)
    grown = take(source, root)
    put(source, copied + MORE + own)

    report = take(source, root)

    assert (grown.new, grown.known) == (2, 6)
    assert (report.new, report.known) == (1, 8)
    assert texts_of(report) == ["one", "two", "three", "four", "three"]
    saved = fold_log(store_of(report), "main").saved[FORKED_FROM]
    assert saved == {"session": "pi-far", "agent": "main"}
