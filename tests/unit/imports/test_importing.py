from __future__ import annotations

import base64
import os
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.errors import AgentMemError, UsageError
from agentmem_cli.operations.imports.adapter import CWD
from agentmem_cli.operations.imports.folders import import_paths
from agentmem_cli.operations.imports.importing import import_source
from agentmem_cli.session.author import Author
from agentmem_cli.session.change import ChangeRecord, Push
from agentmem_cli.session.entry import Entry
from agentmem_cli.session.keys import FORKED_FROM, MODEL, TITLE
from agentmem_cli.session.message import Message
from agentmem_cli.session.meta import SessionMeta
from agentmem_cli.session.reader import fold_log, history
from agentmem_cli.session.record import encode_record
from tests.unit.imports.building import (
    BASE_MS,
    NOW,
    SESSION_ID,
    asides_of,
    entry,
    header,
    lines,
    main_of,
    put,
    reply,
    session_of,
    stamp,
    store_of,
    take,
    texts_of,
    times_of,
    tree_of,
    user,
)

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import JSON

PLAIN = lines(header(), user(1, "What is a tide?"), reply(2, "A wave."))
PIXEL = b"\x89PNG not really"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return put(tmp_path / "src" / f"2026_{SESSION_ID}.jsonl", PLAIN)


def picture(second: int, data: bytes = PIXEL) -> bytes:
    image: JSON = {
        "type": "image",
        "data": base64.b64encode(data).decode(),
        "mimeType": "image/png",
    }
    return user(second, [image])


def test_a_transcript_becomes_a_session_that_reads_strictly(source: Path, root: Path) -> None:
    report = take(source, root)

    assert report.path == root / f"pi-{SESSION_ID}"
    assert (report.messages, report.new, report.known, report.created) == (2, 4, 0, True)
    assert texts_of(report) == ["What is a tide?", "A wave."]
    assert times_of(report) == [1, 2]
    assert session_of(report).repairs == []


def test_what_is_listed_is_in_meta_and_saved_values(source: Path, root: Path) -> None:
    report = take(source, root)
    main = session_of(report).main_agent()
    meta = SessionMeta.read(store_of(report))

    assert main is not None
    assert main.id == "main"
    assert main.saved == {CWD: "/home/ada/tides", MODEL: "anthropic/claude-opus-4-5"}
    assert meta == SessionMeta(
        title="What is a tide?",
        updated=BASE_MS + 2_000,
        model="anthropic/claude-opus-4-5",
        messages=2,
        listed={
            "source": "pi",
            "cwd": "/home/ada/tides",
            "agentmem": {
                "logs": {"main": store_of(report).log_stat("main").size},
                "started": session_of(report).agents[0].started_ms,
                "damaged": 0,
            },
        },
    )


def test_a_title_that_was_given_goes_before_the_first_text(source: Path, root: Path) -> None:
    put(source, PLAIN + lines(entry("session_info", 3, name="Tides")))

    report = take(source, root)

    assert SessionMeta.read(store_of(report)).title == "Tides"
    assert fold_log(store_of(report), "main").saved[TITLE] == "Tides"


def test_the_source_is_kept_byte_for_byte_and_never_written_to(source: Path, root: Path) -> None:
    put(source, b"\xef\xbb\xbf" + PLAIN.replace(b"\n", b"\r\n") + b'{"type":"mess')
    before = tree_of(source.parent)

    report = take(source, root)

    kept = store_of(report).read_file(f"plugins/import/{source.name}")
    assert kept == source.read_bytes()
    assert tree_of(source.parent) == before
    assert report.torn == (4, len(kept) - 13, 13)


def test_without_the_source_the_map_stays(source: Path, root: Path) -> None:
    report = take(source, root, keep_source=False)

    names = [name for name in store_of(report).files() if name.startswith("plugins/")]
    assert names == [f"plugins/import/{source.name}.map.jsonl"]
    assert not report.kept_source
    assert take(source, root, keep_source=False).nothing_new


def test_a_dry_run_counts_and_writes_nothing(source: Path, root: Path) -> None:
    report = import_source(source, root, now_ms=NOW, dry_run=True)

    assert (report.messages, report.new, report.dry_run) == (2, 4, True)
    assert not root.exists()


def test_a_dry_run_over_an_import_tells_what_is_known(source: Path, root: Path) -> None:
    take(source, root)
    before = tree_of(root)
    put(source, PLAIN + lines(user(3, "And an ebb?")))

    report = import_source(source, root, now_ms=NOW, dry_run=True)

    assert (report.known, report.new) == (4, 1)
    assert tree_of(root) == before


def test_an_image_is_one_blob_however_often_it_stands_there(source: Path, root: Path) -> None:
    put(source, lines(header(), picture(1), picture(2), picture(3, b"other")))

    report = take(source, root)

    blobs = [name for name in store_of(report).files() if name.startswith("blobs/")]
    first = main_of(report).entries[0].message.parts[0]
    assert report.blobs == 2
    assert len(blobs) == 2
    assert first["data"] == {"type": "base64", "value": base64.b64encode(PIXEL).decode()}
    assert base64.b64encode(PIXEL) not in store_of(report).read_log("main")


def test_base64_that_does_not_decode_stays_in_the_message(source: Path, root: Path) -> None:
    image: JSON = {"type": "image", "data": "no base64!", "mimeType": "image/png"}
    put(source, lines(header(), user(1, [image])))

    report = take(source, root)

    part = main_of(report).entries[0].message.parts[0]
    assert report.blobs == 0
    assert part["data"] == {"type": "base64", "value": "no base64!"}


def test_records_are_written_as_the_session_layer_writes_them(source: Path, root: Path) -> None:
    put(source, PLAIN + lines(entry("custom_message", 3, customType="é", content="x")))

    report = take(source, root)

    written = store_of(report).read_log("main").splitlines(keepends=True)[1:]
    again = [encode_record(*record) for record in history(store_of(report), "main")]
    assert written == again


def test_an_aside_names_its_line_and_stands_behind_its_entry(source: Path, root: Path) -> None:
    put(source, PLAIN + lines(entry("compaction", 3, summary="S"), user(4, "go on")))

    report = take(source, root)

    (aside,) = asides_of(report)
    assert (aside.kind, aside.after, aside.value) == (
        "import.compaction",
        1,
        {"line": 4, "summary": "S"},
    )
    assert aside.author == Author.plugin("import")


def test_file_order_is_kept_whatever_the_clocks_said(source: Path, root: Path) -> None:
    seconds = [5, 3, 3, 1, None, 6]
    put(source, lines(header(), *(user(at, str(index)) for index, at in enumerate(seconds))))

    report = take(source, root)

    assert texts_of(report) == ["0", "1", "2", "3", "4", "5"]
    assert times_of(report) == [5, 3, 3, 1, 1, 6]
    assert b'"time":"before"' in _map(report.path)


def test_before_the_first_time_the_next_one_is_taken(source: Path, root: Path) -> None:
    put(source, lines(user(None, "a"), user(None, "b"), user(9, "c")))

    report = take(source, root)

    assert times_of(report) == [9, 9, 9]
    assert _map(report.path).count(b'"time":"after"') == 2


def test_a_source_without_any_time_takes_the_files_own(source: Path, root: Path) -> None:
    put(source, lines(user(None, "a"), user(None, "b")))
    os.utime(source, (BASE_MS / 1000 + 42, BASE_MS / 1000 + 42))

    report = take(source, root)

    assert times_of(report) == [42, 42]
    assert _map(report.path).count(b'"time":"file"') == 2


@pytest.mark.parametrize("odd", ["nonsense", "0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z", -5])
def test_a_time_that_is_none_is_as_good_as_missing(source: Path, root: Path, odd: JSON) -> None:
    put(source, lines(user(4, "a"), user(None, "b", timestamp=odd)))

    report = take(source, root)

    assert times_of(report) == [4, 4]


def _map(path: Path) -> bytes:
    (found,) = path.glob("files/plugins/import/*.map.jsonl")
    return found.read_bytes()


@pytest.mark.parametrize(
    "session", ["../../x", "/tmp/victim", "a/../../b", "..", "C:\\x", "a\0b", "\ud83d", "é" * 300]
)
def test_a_hostile_id_stays_under_the_root(tmp_path: Path, root: Path, session: str) -> None:
    name = "2026_x\n..jsonl" if os.name != "nt" else "2026_x.jsonl"
    path = put(tmp_path / "src" / name, lines(header(id=session), user(1, "a")))

    report = take(path, root)

    assert [each.name for each in root.iterdir()] == [report.session]
    assert report.path.parent == root
    assert report.session.startswith("pi-")
    assert texts_of(report) == ["a"]
    assert take(path, root).nothing_new


def test_ids_that_map_alike_give_two_sessions(tmp_path: Path, root: Path) -> None:
    one, two = (
        put(tmp_path / f"{index}.jsonl", lines(header(id=session), user(1, "a")))
        for index, session in enumerate(["a/b", "a:b"])
    )

    reports = [take(one, root), take(two, root)]

    assert reports[0].session != reports[1].session


def test_half_a_character_anywhere_is_carried_through(source: Path, root: Path) -> None:
    half = "boats \ud83d"
    put(
        source,
        lines(
            header(cwd=half),
            user(1, half, id=half, parentId=None),
            entry("session_info", 2, name=half, id="b", parentId=half),
            reply(3, "x", extra={half: half}),
        ),
    )

    report = take(source, root)

    assert texts_of(report)[0] == half
    assert SessionMeta.read(store_of(report)).title == half
    assert take(source, root).nothing_new
    store_of(report).read_log("main").decode("utf-8")


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "0 records"),
        (b"\n\n", "0 records"),
        (lines(header()), "1 line, no message recognised"),
        (b'{"payload":1}\n' * 50, "50 lines, no message recognised"),
        (lines(header(), entry("custom", 1)) * 25, "50 lines, no message recognised"),
        (b"\x01\x02 nothing\n\xc3\x28\n", "2 lines, no message recognised"),
        (PLAIN[:60], "no message recognised"),
    ],
)
def test_a_source_without_a_message_is_an_error_and_no_session(
    source: Path, root: Path, data: bytes, told: str
) -> None:
    put(source, data)

    with pytest.raises(AgentMemError, match=told) as failure:
        take(source, root)

    assert failure.value.exit_code == 2
    assert str(source) in str(failure.value)
    assert not root.exists()


def test_metadata_before_the_header_does_not_hide_the_kind(source: Path, root: Path) -> None:
    odd = [entry("title", 0, title="T"), b'{"type":"future"}', b"[]", b'{"cut":']
    put(source, lines(*odd) + PLAIN)

    report = take(source, root)

    assert report.session == f"pi-{SESSION_ID}"
    assert len(texts_of(report)) == 2
    assert report.lost == 2


def test_a_kind_can_be_forced_and_an_unknown_one_is_named(source: Path, root: Path) -> None:
    put(source, lines(b'{"type":"message","message":{"role":"user","content":"x"},"uuid":"u"}'))

    forced = import_source(source, root, now_ms=NOW, kind="pi")
    with pytest.raises(AgentMemError, match="no message recognised"):
        take(source, root)
    with pytest.raises(UsageError, match="'nosuch'"):
        import_source(source, root, now_ms=NOW, kind="nosuch")

    assert texts_of(forced) == ["x"]


def test_every_line_is_accounted_for(source: Path, root: Path) -> None:
    damaged = PLAIN + b'[]\n{"type":7}\n\n' + PLAIN[:30] + user(3, "x") + b"\n{"
    put(source, damaged + b'"cut')

    report = take(source, root)

    counted = sum(report.types.values())
    assert report.lines == 8
    assert counted == 5
    assert report.lost == 3
    assert [flaw.line for flaw in report.unusable] == [4, 5, 7]
    assert report.torn is not None


def test_a_fork_names_the_place_it_left_its_parent_at(tmp_path: Path, root: Path) -> None:
    copied = [user(1, "a", id="a1", parentId=None), user(2, "b", id="a2", parentId="a1")]
    parent = put(
        tmp_path / "2026_par.jsonl",
        lines(header(id="par"), *copied, user(3, "parents own", id="a3", parentId="a2")),
    )
    child = put(
        tmp_path / "2026_kid.jsonl",
        lines(
            header(id="kid", timestamp=stamp(60), parentSession=str(parent)),
            *copied,
            user(61, "own", id="a4", parentId="a2"),
        ),
    )
    first = take(parent, root)

    report = take(child, root)

    value = fold_log(store_of(report), "main").saved[FORKED_FROM]
    assert isinstance(value, dict)
    n = value["n"]
    assert (value["session"], value["agent"]) == ("pi-par", "main")
    before = [stamp.n for stamp, record in history(store_of(first), "main") if _is_push(record)]
    assert isinstance(n, int)
    assert [at < n for at in before] == [True, True, False]


def _is_push(record: object) -> bool:
    return isinstance(record, ChangeRecord) and isinstance(record.change, Push)


def test_a_fork_of_a_session_that_is_not_here_names_it_all_the_same(
    source: Path, root: Path
) -> None:
    put(source, lines(header(branchedFrom="/x/2026_far.jsonl"), user(1, "a")))

    report = take(source, root)

    value = fold_log(store_of(report), "main").saved[FORKED_FROM]
    assert value == {"session": "pi-far", "agent": "main"}


def test_progress_counts_the_bytes_up_to_the_whole(source: Path, root: Path) -> None:
    seen: list[tuple[int, int]] = []

    import_source(source, root, now_ms=NOW, progress=lambda done, whole: seen.append((done, whole)))

    assert seen[-1] == (len(PLAIN), len(PLAIN))


def test_several_sources_are_imported_and_one_that_fails_stops_no_other(
    tmp_path: Path, root: Path
) -> None:
    folder = tmp_path / "src"
    put(folder / "a.jsonl", b"")
    put(folder / "deep" / "b.jsonl", PLAIN)
    put(folder / "notes.txt", b"x")

    outcomes = list(import_paths([folder, tmp_path / "gone.jsonl"], root, now_ms=NOW))

    assert [outcome.source.name for outcome in outcomes] == ["a.jsonl", "b.jsonl", "gone.jsonl"]
    assert [outcome.report is not None for outcome in outcomes] == [False, True, False]
    assert isinstance(outcomes[0].error, AgentMemError)
    assert isinstance(outcomes[2].error, FileNotFoundError)


def test_a_folder_is_no_source_by_itself(tmp_path: Path, root: Path) -> None:
    with pytest.raises(UsageError, match="folder"):
        take(tmp_path, root)

    assert not root.exists()


def test_an_imported_message_equals_the_library_s_own(source: Path, root: Path) -> None:
    report = take(source, root)

    first = main_of(report).entries[0]
    assert first == Entry(0, Message.user("What is a tide?"))
