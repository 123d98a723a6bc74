from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem_cli.errors import ConflictError
from agentmem_cli.operations.export import check_kept, kept_bytes, originals
from agentmem_cli.operations.imports.maplines import is_print
from agentmem_cli.operations.imports.maps import MAP_END, NO_PRINT, OldMap
from agentmem_cli.operations.imports.sources import find_maps
from agentmem_cli.operations.rewriting import rewrite_session
from agentmem_cli.operations.verify import PROBLEM, verify
from agentmem_cli.session.images import BLOB_FOLDER
from agentmem_cli.session.rewriting import Messages, Strings
from tests.cli.running import run
from tests.unit.imports.building import (
    BASE_MS,
    NOW,
    SESSION_ID,
    entry,
    header,
    lines,
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
    from agentmem_cli.session.codec import Object
    from agentmem_cli.session.rewriting import Record

WORD = "s3cr3t-w0rd"
NAME = f"2026_{SESSION_ID}.jsonl"
DATA = lines(header(), user(1, f"say {WORD}"), reply(2, "no"), entry("compaction", 3, summary="S"))
ELSEWHERE = lines(header(), user(1, "one"), entry("nothing_known", 2, note=WORD), reply(3, "no"))
"""A source whose word stands where an import makes nothing of it."""


def taken(tmp_path: Path, root: Path, data: bytes = DATA, *, keep_source: bool = True) -> Report:
    return take(put(tmp_path / "src" / NAME, data), root, keep_source=keep_source)


def mask(report: Report) -> None:
    masking = Strings(lambda text: text.replace(WORD, "[gone]"))
    rewrite_session(store_of(report), None, masking, if_idle_ms=None, now_ms=NOW + 5)


def map_of(report: Report) -> OldMap:
    (found,) = find_maps(store_of(report))
    return found


def problems(report: Report) -> list[str]:
    return [f"{each}" for each in verify(store_of(report)).findings if each.level == PROBLEM]


@pytest.mark.parametrize("data", [DATA, ELSEWHERE])
@pytest.mark.parametrize("keep_source", [True, False])
def test_verify_is_clean_after_a_rewrite(
    tmp_path: Path, root: Path, data: bytes, keep_source: bool
) -> None:
    report = taken(tmp_path, root, data, keep_source=keep_source)

    mask(report)

    assert problems(report) == []
    assert not [name for name, (kept, _) in tree_of(report.path).items() if WORD.encode() in kept]
    assert map_of(report).is_whole


def test_the_masked_source_is_exported_and_told_to_be_that(tmp_path: Path, root: Path) -> None:
    report = taken(tmp_path, root)
    mask(report)

    (source,) = originals(store_of(report))
    check_kept(store_of(report), source)
    done = run("--root", root, "export", report.session, "--as", "original")

    masked = DATA.replace(WORD.encode(), b"[gone]")
    assert b"".join(kept_bytes(store_of(report), source)) == masked
    assert (done.status, done.stdout) == (0, masked)
    assert "as a rewrite of this session left it" in done.err
    assert source.rewritten == NOW + 5


@pytest.mark.parametrize(("data", "keep_source"), [(DATA, True), (DATA, False), (ELSEWHERE, True)])
def test_the_source_is_refused_after_a_rewrite_and_taken_again_as_a_session_of_its_own(
    tmp_path: Path, root: Path, data: bytes, keep_source: bool
) -> None:
    report = taken(tmp_path, root, data, keep_source=keep_source)
    mask(report)
    before = tree_of(root)
    source = tmp_path / "src" / NAME

    with pytest.raises(ConflictError, match="rewritten since") as failure:
        take(source, root, keep_source=keep_source)
    put(source, data + lines(user(9, "more")))
    with pytest.raises(ConflictError, match="rewritten since"):
        take(source, root, keep_source=keep_source)
    put(source, data)

    assert "--again" in str(failure.value.hint)
    assert tree_of(root) == before
    second = take(source, root, again=True)
    assert second.created
    assert second.path != report.path
    assert take(source, root).path == second.path


def test_nothing_in_a_map_can_be_tried_with_guesses(tmp_path: Path, root: Path) -> None:
    report = taken(tmp_path, root)
    old = map_of(report)

    mask(report)

    new = map_of(report)
    key = bytes.fromhex(new.header.key)
    assert new.header.key != old.header.key
    assert old.header.key.encode() not in new.data
    assert old.header.digest.encode() not in new.data
    assert new.header.seen is None
    prints = {known.print for known in old.known()}
    assert not any(print_.encode() in new.data for print_ in prints)
    body = b'{"role":"user","content":[{"type":"text","text":"say s3cr3t-w0rd"}]}'
    assert not any(is_print(key, known, "said", BASE_MS + 1000, body) for known in new.known())


def test_without_its_source_a_map_keeps_no_digest_of_it(tmp_path: Path, root: Path) -> None:
    report = taken(tmp_path, root, keep_source=False)
    old = map_of(report).header

    mask(report)

    new = map_of(report).header
    assert (new.digest, new.kept, new.size) == (NO_PRINT, 0, old.size)
    assert old.digest.encode() not in map_of(report).data


def test_where_only_messages_change_only_their_prints_go(tmp_path: Path, root: Path) -> None:
    def shout(_: Record, message: Object) -> bool:
        done = message["role"] == "user"
        if done:
            message["content"] = "X"
        return done

    report = taken(tmp_path, root)
    old = map_of(report)
    rewrite_session(store_of(report), None, Messages(shout), if_idle_ms=None)

    new = map_of(report)
    pairs = zip(old.known(), new.known(), strict=True)
    same = [before.print == after.print for before, after in pairs]
    assert same.count(False) == 1
    assert (new.header.key, new.header.digest) == (old.header.key, old.header.digest)
    assert new.header.rewritten is None
    assert problems(report) == []
    (source,) = originals(store_of(report))
    assert b"".join(kept_bytes(store_of(report), source)) == DATA


def test_a_rewrite_that_finds_nothing_leaves_every_byte(tmp_path: Path, root: Path) -> None:
    report = taken(tmp_path, root, lines(header(), user(1, "a"), reply(2, "b")))
    before = tree_of(report.path)

    mask(report)

    assert tree_of(report.path) == before


def test_a_second_rewrite_changes_nothing(tmp_path: Path, root: Path) -> None:
    report = taken(tmp_path, root)
    mask(report)
    before = tree_of(report.path)

    mask(report)

    assert tree_of(report.path) == before


def test_names_and_ids_in_a_map_are_masked_with_the_rest(tmp_path: Path, root: Path) -> None:
    data = lines(header(), user(1, "one", id=f"id-{WORD}"), reply(2, "two"))
    source = put(tmp_path / "src" / f"{WORD}_{SESSION_ID}.jsonl", data)
    report = take(source, root)
    assert WORD.encode() in map_of(report).data

    mask(report)

    assert WORD.encode() not in map_of(report).data
    assert problems(report) == []


def test_a_torn_end_of_a_source_is_counted_anew(tmp_path: Path, root: Path) -> None:
    report = taken(tmp_path, root, DATA + b'{"type":"mess')
    old = map_of(report).header
    assert old.whole < old.size

    mask(report)

    new = map_of(report).header
    assert new.size - new.whole == old.size - old.whole
    assert new.size == store_of(report).file_stat(map_of(report).name).size


def test_blobs_that_a_map_names_are_named_as_they_are_called_now(
    tmp_path: Path, root: Path
) -> None:
    import base64

    svg = f"<svg>{WORD}</svg>".encode()
    image: Object = {
        "type": "image",
        "mimeType": "image/svg+xml",
        "data": base64.b64encode(svg).decode(),
    }
    data = lines(header(), user(1, [{"type": "text", "text": "look"}, image]), reply(2, "I see"))
    report = taken(tmp_path, root, data)
    (before,) = map_of(report).blobs()

    mask(report)

    (after,) = map_of(report).blobs()
    files = store_of(report).files()
    assert after != before
    assert BLOB_FOLDER + after in files
    assert BLOB_FOLDER + before not in files
    assert before.partition(".")[0].encode() not in b"".join(
        data for data, _ in tree_of(report.path).values()
    )
    assert problems(report) == []


def test_a_damaged_map_is_masked_as_text(tmp_path: Path, root: Path) -> None:
    report = taken(tmp_path, root)
    path = report.path / "files" / (map_of(report).name + MAP_END)
    path.write_bytes(f'{{"map":99}}\n{{"raw":"{WORD}"}}\nnot {WORD}'.encode())

    mask(report)

    assert path.read_bytes() == b'{"map":99}\n{"raw":"[gone]"}\nnot [gone]'


def test_texts_are_masked_in_the_session_that_was_imported(tmp_path: Path, root: Path) -> None:
    report = taken(tmp_path, root)

    mask(report)

    assert texts_of(report) == ["say [gone]", "no"]
