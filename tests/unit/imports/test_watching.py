"""A watcher's looks: each source once, and only where something changed."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.errors import Busy, Unrecognised
from agentmem_cli.operations.imports import codex_tree, watching
from agentmem_cli.operations.imports.folders import import_found
from agentmem_cli.operations.imports.importing import Options
from agentmem_cli.operations.imports.report import Outcome
from agentmem_cli.operations.imports.watching import GONE, Watcher
from tests.unit.imports.building import NOW, header, lines, put, user
from tests.unit.imports.codex_building import CHILD, THREAD, meta, prompt, rollout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from agentmem_cli.operations.imports.folders import Source
    from agentmem_cli.session.codec import Object


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a", "b"):
        put(tmp_path / "src" / f"{name}.jsonl", lines(header(id=name), user(1, "one")))
    return tmp_path / "src"


@pytest.fixture
def watcher(folder: Path, root: Path) -> Watcher:
    return Watcher([folder], root, Options(NOW))


def _names(watcher: Watcher) -> list[str]:
    return [outcome.source.name for outcome in watcher.poll(NOW)]


def _grow(path: Path, data: bytes) -> None:
    path.write_bytes(path.read_bytes() + data)


def test_the_first_look_takes_all_and_the_next_one_nothing(watcher: Watcher) -> None:
    assert _names(watcher) == ["a.jsonl", "b.jsonl"]
    assert _names(watcher) == []


def test_a_source_that_grew_is_taken_once(watcher: Watcher, folder: Path) -> None:
    _names(watcher)
    _grow(folder / "b.jsonl", lines(user(2, "two")))

    assert _names(watcher) == ["b.jsonl"]
    assert _names(watcher) == []


def test_what_comes_while_a_source_is_read_is_seen_by_the_next_look(
    watcher: Watcher, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _names(watcher)
    real = import_found

    def grows(source: Source, root: Path, options: Options, *, kind: str | None) -> Outcome:
        outcome = real(source, root, options, kind=kind)
        _grow(source.path, lines(user(3, "three")))
        return outcome

    monkeypatch.setattr(watching, "import_found", grows)
    _grow(folder / "a.jsonl", lines(user(2, "two")))
    first = [outcome.report for outcome in watcher.poll(NOW)]
    monkeypatch.setattr(watching, "import_found", real)
    second = [outcome.report for outcome in watcher.poll(NOW)]

    assert [report.new for report in first if report is not None] == [1]
    assert [report.new for report in second if report is not None] == [1]


def test_a_new_file_in_the_folder_is_taken(watcher: Watcher, folder: Path) -> None:
    _names(watcher)
    put(folder / "more" / "c.jsonl", lines(header(id="c"), user(1, "one")))

    assert _names(watcher) == ["c.jsonl"]


def test_an_agents_own_file_makes_its_session_be_looked_at(root: Path, tmp_path: Path) -> None:
    def line(session: str, text: str, **more: object) -> bytes:
        sidechain = '"isSidechain":true,"agentId":"x",' if more else '"isSidechain":false,'
        return (
            f'{{"type":"user","uuid":"{text}","parentUuid":null,{sidechain}'
            f'"sessionId":"{session}","timestamp":"2026-01-01T00:00:01.000Z",'
            f'"message":{{"role":"user","content":"{text}"}}}}\n'
        ).encode()

    main = put(tmp_path / "src" / "s1.jsonl", line("s1", "hello"))
    watcher = Watcher([tmp_path / "src"], root, Options(NOW))
    first = _names(watcher)
    child = put(main.with_suffix("") / "subagents" / "agent-x.jsonl", line("s1", "do", agent=True))
    second = _names(watcher)
    _grow(child, line("s1", "again", agent=True))

    assert (first, second) == (["s1.jsonl"], ["s1.jsonl"])
    assert _names(watcher) == ["s1.jsonl"]
    assert _names(watcher) == []


def test_what_fails_for_a_while_is_tried_again_though_nothing_changed(
    watcher: Watcher, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = import_found

    def busy(source: Source, root: Path, options: Options, *, kind: str | None) -> Outcome:
        del options, kind
        return Outcome(source.path, error=Busy(root, 1.0))

    monkeypatch.setattr(watching, "import_found", busy)
    first = _names(watcher)
    monkeypatch.setattr(watching, "import_found", real)

    assert _names(watcher) == first
    assert _names(watcher) == []


def test_what_is_not_understood_waits_for_a_change(watcher: Watcher, folder: Path) -> None:
    path = put(folder / "c.jsonl", b'{"no":"transcript"}\n')

    assert "c.jsonl" in _names(watcher)
    assert _names(watcher) == []

    _grow(path, lines(header(id="c"), user(1, "one")))

    assert _names(watcher) == ["c.jsonl"]


def test_sources_older_than_asked_for_wait_for_a_change(folder: Path, root: Path) -> None:
    os.utime(folder / "a.jsonl", (1_000_000, 1_000_000))
    watcher = Watcher([folder], root, Options(NOW), since_ms=1_500_000_000_000)

    assert _names(watcher) == ["b.jsonl"]
    assert _names(watcher) == []

    _grow(folder / "a.jsonl", lines(user(2, "two")))

    assert _names(watcher) == ["a.jsonl"]


def test_a_source_that_is_not_there_yet_is_taken_when_it_comes(tmp_path: Path, root: Path) -> None:
    path = tmp_path / "later.jsonl"
    watcher = Watcher([path], root, Options(NOW))
    (missing,) = watcher.poll(NOW)
    put(path, lines(header(id="l"), user(1, "one")))
    (there,) = watcher.poll(NOW)

    assert isinstance(missing.error, FileNotFoundError)
    assert there.report is not None
    assert list(watcher.poll(NOW)) == []


def _noticed(watcher: Watcher) -> list[tuple[str, str | None]]:
    """Look once; return what was noticed on the way: names, and why if something is gone."""
    for _ in watcher.poll(NOW):
        pass
    return [(each.source.name, each.skipped) for each in watcher.notices()]


def test_an_imported_source_that_is_gone_is_noticed_once_and_taken_when_it_is_back(
    watcher: Watcher, folder: Path
) -> None:
    first = _noticed(watcher)
    data = (folder / "a.jsonl").read_bytes()
    (folder / "a.jsonl").unlink()
    second = _noticed(watcher)
    third = _noticed(watcher)
    put(folder / "a.jsonl", data + lines(user(2, "two")))
    (back,) = watcher.poll(NOW)

    assert (first, second, third) == ([], [("a.jsonl", GONE)], [])
    assert back.report is not None
    assert back.report.new == 1


def test_a_source_that_was_moved_is_not_gone(watcher: Watcher, folder: Path) -> None:
    _noticed(watcher)
    put(folder / "archive" / "z.jsonl", (folder / "a.jsonl").read_bytes())
    (folder / "a.jsonl").unlink()

    assert _noticed(watcher) == []


def test_what_was_never_imported_is_not_missed(watcher: Watcher, folder: Path) -> None:
    path = put(folder / "c.jsonl", b"")
    _noticed(watcher)
    path.unlink()

    assert _noticed(watcher) == []


@pytest.mark.parametrize("garbage", [b"\x00\xff garbage \n" * 9, b"{}\n"])
def test_an_imported_source_that_is_no_transcript_any_more_is_noticed_at_once(
    watcher: Watcher, folder: Path, garbage: bytes
) -> None:
    _noticed(watcher)
    (folder / "a.jsonl").write_bytes(garbage)

    assert _noticed(watcher) == [("a.jsonl", None)]
    assert _noticed(watcher) == []


def test_an_imported_document_that_is_none_any_more_is_noticed(root: Path, tmp_path: Path) -> None:
    path = put(tmp_path / "src" / "a.json", b'[{"role":"user","content":"Hi"}]')
    watcher = Watcher([tmp_path / "src"], root, Options(NOW))
    first = _noticed(watcher)
    path.write_bytes(b'{"settings":1}')
    for _ in watcher.poll(NOW):
        pass
    (notice,) = watcher.notices()

    assert first == []
    assert isinstance(notice.error, Unrecognised)


def test_a_new_file_of_no_known_kind_is_noticed_when_it_stays_so(
    watcher: Watcher, folder: Path
) -> None:
    path = put(folder / "c.jsonl", b'{"no":"transcript"}\n')
    first = _noticed(watcher)
    _grow(path, b'{"no":"transcript"}\n')
    second = _noticed(watcher)
    third = _noticed(watcher)
    fourth = _noticed(watcher)

    assert (first, second, third, fourth) == ([], [], [("c.jsonl", None)], [])


@pytest.mark.parametrize("data", [b"", lines(header(id="c"))])
def test_a_file_that_holds_no_message_yet_is_not_noticed(
    watcher: Watcher, folder: Path, data: bytes
) -> None:
    put(folder / "c.jsonl", data)

    assert [_noticed(watcher) for _ in range(3)] == [[], [], []]


def test_of_a_folder_that_cannot_be_looked_into_nothing_is_gone_and_it_is_told_once(
    watcher: Watcher, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(folder / "deep" / "c.jsonl", lines(header(id="c"), user(1, "one")))
    _noticed(watcher)
    real = os.walk

    def refusing(
        top: Path, *, onerror: Callable[[OSError], object]
    ) -> Iterator[tuple[str, list[str], list[str]]]:
        for place, folders, names in real(top):
            if place.endswith("deep"):
                onerror(PermissionError(errno.EACCES, os.strerror(errno.EACCES), place))
            else:
                yield place, folders, names

    monkeypatch.setattr(os, "walk", refusing)
    looks = [[*watcher.poll(NOW)] for _ in range(2)]
    noticed = watcher.notices()
    monkeypatch.undo()

    assert [isinstance(each.error, PermissionError) for each in looks[0]] == [True]
    assert (looks[1], noticed) == ([], [])
    assert _names(watcher) == []


def test_below_a_folder_that_is_gone_itself_no_file_is_missed(
    watcher: Watcher, folder: Path
) -> None:
    _noticed(watcher)
    away = folder.rename(folder.with_name("away"))
    (missing,) = watcher.poll(NOW)
    noticed = watcher.notices()
    away.rename(folder)

    assert isinstance(missing.error, FileNotFoundError)
    assert noticed == []
    assert _names(watcher) == ["a.jsonl", "b.jsonl"]


def test_a_child_that_comes_is_taken_though_its_parent_stays_as_it_is(
    root: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    rollout(home, THREAD, meta(), prompt(1, "Why?"))
    watcher = Watcher([home], root, Options(NOW))
    for _ in watcher.poll(NOW):
        pass
    rollout(home, CHILD, meta(CHILD, parent_thread_id=THREAD), prompt(2, "Look."), day="06")
    (come,) = watcher.poll(NOW)

    assert come.report is not None
    assert come.report.session == f"codex-{THREAD}"
    assert (come.report.messages, come.report.agents) == (2, 2)
    assert list(watcher.poll(NOW)) == []


def test_many_rollouts_are_looked_at_once_a_look_and_not_again_while_they_stay(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    for number in range(6):
        thread = f"{THREAD[:-1]}{number}"
        rollout(home, thread, meta(thread), prompt(1, "Why?"))
    heads: list[Path] = []
    trees: list[Path] = []
    head, files = codex_tree._head, codex_tree._files

    def head_of(path: Path) -> list[Object]:
        heads.append(path)
        return head(path)

    def files_of(folder: Path, deep: bool) -> list[Path]:
        trees.append(folder)
        return files(folder, deep)

    monkeypatch.setattr(codex_tree, "_head", head_of)
    monkeypatch.setattr(codex_tree, "_files", files_of)
    watcher = Watcher([home], root, Options(NOW))
    looks = [len([*watcher.poll(NOW)]) for _ in range(2)]

    assert looks == [6, 0]
    assert len(heads) == 6
    assert len(trees) == 2
