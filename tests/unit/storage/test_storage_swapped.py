"""Another folder is put in the place of a session, or of the root, while something is at work."""

from __future__ import annotations

import errno
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.errors import ConflictError
from agentmem_cli.storage import care, destroying, sweeping, trees
from agentmem_cli.storage.directory import DirStore
from agentmem_cli.storage.files import Folder
from agentmem_cli.storage.layout import REDO
from agentmem_cli.storage.oddities import clear_oddities, fixed_oddities

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name == "nt", reason="an open folder is not renamed there")


def _session(path: Path, word: str) -> DirStore:
    store = DirStore.open(path)
    with store.batch() as batch:
        batch.append_log("main", 0, f"{word}\n".encode())
        batch.write_file("meta.json", word.encode())
    return store


def _swap(place: Path, other: Path, *, link: bool) -> Path:
    """Put *other*, or a link to it, in the place of a folder; return where that is now."""
    away = place.with_name("away")
    place.rename(away)
    place.symlink_to(other) if link else shutil.copytree(other, place)
    return away


def _names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    _session(tmp_path / "root/one", "inside")
    _session(tmp_path / "outside/one", "outside")
    return tmp_path / "root"


@pytest.fixture
def outside(root: Path) -> Path:
    return root.with_name("outside")


@pytest.mark.parametrize("link", [False, True])
@pytest.mark.parametrize(
    "look",
    [
        lambda store: store.logs(),
        lambda store: store.files(),
        lambda store: store.read_log("main"),
        lambda store: store.open_log("main"),
        lambda store: store.read_file("meta.json"),
        lambda store: store.file_stat("meta.json"),
        lambda store: store.survey(),
        fixed_oddities,
    ],
)
def test_what_was_opened_is_read_in_no_other_folder(
    root: Path, outside: Path, look: Callable[[DirStore], object], link: bool
) -> None:
    store = DirStore.open(root / "one")
    look(store)
    _swap(root / "one", outside / "one", link=link)

    with pytest.raises(OSError, match="another folder was put in the session's place") as told:
        look(store)

    assert told.value.errno == errno.ESTALE


def test_a_session_that_is_read_while_it_is_locked_is_the_locked_one(
    root: Path, outside: Path
) -> None:
    store = DirStore.open(root / "one")
    with store.lock():
        _swap(root / "one", outside / "one", link=True)

        assert store.read_log("main") == b"inside\n"
        seen = store.survey()

    assert seen.meta == b"inside"


def test_an_unfinished_change_is_looked_for_in_the_folder_that_is_locked(
    root: Path, outside: Path
) -> None:
    store = DirStore.open(root / "one")
    with store.held():
        away = _swap(root / "one", outside / "one", link=False)
        without = store.pending()
        (away / REDO).write_bytes(b"x")

        assert (without, store.pending()) == (False, True)


def test_who_holds_the_lock_holds_it_once_more_wherever_the_path_leads(
    root: Path, outside: Path
) -> None:
    store = DirStore.open(root / "one")
    with store.lock():
        away = _swap(root, outside, link=True)
        store.append_log("main", len(b"inside\n"), b"more\n")

    assert (away / "one/logs/main.jsonl").read_bytes() == b"inside\nmore\n"
    assert (outside / "one/logs/main.jsonl").read_bytes() == b"outside\n"


@pytest.mark.parametrize("link", [False, True])
def test_another_folder_in_the_place_of_a_session_gets_no_other_name(
    root: Path, outside: Path, link: bool
) -> None:
    store = DirStore.open(root / "one")
    with store.lock():
        away = _swap(root / "one", outside / "one", link=link)
        with pytest.raises(ConflictError, match="something else was put in its place"):
            store.move("uno")

    assert sorted(path.name for path in root.iterdir()) == ["away", "one"]
    assert (away / "logs/main.jsonl").read_bytes() == b"inside\n"


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("work", [lambda store: store.move("uno"), lambda store: store.destroy()])
def test_what_comes_in_a_sessions_place_before_the_rename_gets_its_name_back(
    root: Path,
    outside: Path,
    whole: bool,
    work: Callable[[DirStore], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = _names(outside)
    real = Folder.move
    moved: list[str] = []

    def move(folder: Folder, name: str, target: Folder, new: str) -> None:
        if not moved:
            _swap(root if whole else root / "one", outside if whole else outside / "one", link=True)
        moved.append(new)
        real(folder, name, target, new)

    store = DirStore.open(root / "one")
    monkeypatch.setattr(Folder, "move", move)
    if whole:
        work(store)  # it is done in the folder that was open
    else:
        with pytest.raises(ConflictError, match="something else was put in its place"):
            work(store)

    assert _names(outside) == before
    assert len(moved) == (1 if whole else 2)
    if not whole:
        assert (root / "one").is_symlink()


def _swapping(monkeypatch: pytest.MonkeyPatch, module: object, swap: Callable[[], object]) -> None:
    """Have *swap* done right before *module* removes a folder."""

    def remove(above: Folder, name: str) -> None:
        swap()
        trees.remove_tree(above, name)

    monkeypatch.setattr(module, "remove_tree", remove)


def test_what_is_called_as_the_trash_of_a_session_elsewhere_stays(
    root: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (outside / "one").rename(outside / "one.rig-trash")
    before = _names(outside)
    _swapping(monkeypatch, destroying, lambda: _swap(root, outside, link=True))

    DirStore.open(root / "one").destroy()

    assert _names(outside) == before
    assert _names(root.with_name("away")) == []


def test_trash_in_a_session_is_removed_where_it_was_found(
    root: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for session in (root / "one", outside / "one"):
        (session / "logs/x.rig-trash").mkdir()
        (session / "logs/x.rig-trash/kept").touch()
    before = _names(outside)
    swap = (root / "one", outside / "one")
    _swapping(monkeypatch, sweeping, lambda: _swap(*swap, link=True))

    care.clear_leftovers(DirStore.open(root / "one"))

    assert _names(outside) == before
    assert not (root / "away/logs/x.rig-trash").exists()


def test_trash_in_the_root_is_removed_where_it_was_found(
    root: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (root, outside):
        (folder / "one").rename(folder / "one.rig-trash")
    before = _names(outside)
    _swapping(monkeypatch, care, lambda: _swap(root, outside, link=True))

    gone = care.remove_left(str(root), "one.rig-trash")

    assert gone
    assert _names(outside) == before
    assert _names(root.with_name("away")) == []


def test_odd_things_in_another_folder_are_no_reason_to_clear_the_places_of_this_one(
    root: Path, outside: Path
) -> None:
    (outside / "one/files/meta.json").unlink()
    os.mkfifo(outside / "one/files/meta.json")
    store = DirStore.open(root / "one")
    with store.held():
        away = _swap(root / "one", outside / "one", link=True)
        done = clear_oddities(store)

    assert done == []
    assert (away / "files/meta.json").read_bytes() == b"inside"
