"""Names, links, special files and modes that someone else put there."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.errors import Io, OldLayout
from agentmem_cli.storage.directory import DirFiles, DirStore, PluginFiles
from agentmem_cli.storage.files import replace_atomically
from agentmem_cli.storage.store import batch_of
from agentmem_cli.storage.survey import head_and_tail, survey
from tests.conformance import change, contents, fill

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX links, modes and FIFOs")
pytestmark = posix

SECRET = b"outside\n"


@pytest.fixture(autouse=True, params=["descriptors", "paths"])
def by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reach folders by descriptors, and as where the system has none (Windows)."""
    if request.param == "paths":
        monkeypatch.setattr("agentmem_cli.storage.folder.USES_DESCRIPTORS", False)


@pytest.fixture
def session(tmp_path: Path) -> Path:
    fill(DirStore.open(tmp_path / "s"))
    return tmp_path / "s"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder that a link of the session leads to, with everything in it a session has."""
    folder = tmp_path / "outside"
    (folder / "blobs").mkdir(parents=True)
    for name in ("a.jsonl", "meta.json", "blobs/a.png", "file"):
        (folder / name).write_bytes(SECRET)
    return folder


def tree(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    paths = [folder, *folder.rglob("*")]
    return {str(path.relative_to(folder)): stat.S_IMODE(path.lstat().st_mode) for path in paths}


# -- links -----------------------------------------------------------------


def refuse_all(calls: list[Callable[[], object]], code: int = errno.ELOOP) -> None:
    for call in calls:
        with pytest.raises(OSError, match="not") as caught:
            call()
        assert not isinstance(caught.value, FileNotFoundError)
        assert caught.value.errno == code
        assert caught.value.filename is not None


def test_a_link_in_the_place_of_a_log_is_not_followed(session: Path, outside: Path) -> None:
    (session / "logs" / "a.jsonl").symlink_to(outside / "a.jsonl")
    store = DirStore.open(session)
    before = tree(outside)

    refuse_all(
        [
            lambda: store.read_log("a"),
            lambda: store.open_log("a"),
            lambda: store.log_stat("a"),
            lambda: store.append_log("a", len(SECRET), b"x"),
            lambda: store.append_log("a", 0, b"x"),
            lambda: store.replace_log("a", len(SECRET), b"x"),
            lambda: head_and_tail(str(session), "a", 9, 9),
        ]
    )
    assert "a" not in store.logs()
    assert "a" not in [name for name, _, _ in survey(str(session)).logs]
    assert tree(outside) == before


def test_a_dangling_link_makes_nothing_at_its_end(session: Path, tmp_path: Path) -> None:
    (session / "logs" / "a.jsonl").symlink_to(tmp_path / "made.jsonl")
    (session / "files" / "f").symlink_to(tmp_path / "made")
    store = DirStore.open(session)

    refuse_all(
        [
            lambda: store.append_log("a", 0, b"x"),
            lambda: store.replace_log("a", 0, b"x"),
            lambda: store.write_file("f", b"x"),
            lambda: store.append_file("f", b"x"),
        ]
    )
    assert not (tmp_path / "made.jsonl").exists()
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("folder", ["logs", "files", "files/blobs"])
def test_a_link_in_the_place_of_a_folder_is_not_followed(
    session: Path, outside: Path, folder: str
) -> None:
    place = session / folder
    if place.exists():
        place.rename(session / "moved")
    place.symlink_to(outside / "blobs" if folder == "files/blobs" else outside)
    store = DirStore.open(session)
    before = tree(outside)
    work: dict[str, list[Callable[[], object]]] = {
        "logs": [
            store.logs,
            lambda: store.read_log("a"),
            lambda: store.append_log("a", len(SECRET), b"x"),
            lambda: store.append_log("new", 0, b"x"),
            lambda: head_and_tail(str(session), "a", 9, 9),
        ],
        "files": [
            store.files,
            lambda: store.read_file("file"),
            lambda: store.write_file("file", b"x"),
            lambda: store.append_file("new", b"x"),
            lambda: store.remove_file("file"),
        ],
        "files/blobs": [
            lambda: store.read_file("blobs/a.png"),
            lambda: store.write_file("blobs/new.png", b"x"),
            lambda: store.remove_file("blobs/a.png"),
        ],
    }

    refuse_all(work[folder])
    assert tree(outside) == before
    if folder == "files/blobs":
        assert not [name for name in store.files() if name.startswith("blobs")]
    found = survey(str(session))
    assert found.meta is None or folder != "files"
    assert not found.logs or folder != "logs"


def test_a_link_in_the_place_of_a_blob_or_of_meta_is_not_followed(
    session: Path, outside: Path
) -> None:
    store = DirStore.open(session)
    store.write_file("blobs/b.png", b"x")
    (session / "files" / "blobs" / "a.png").symlink_to(outside / "blobs" / "a.png")
    (session / "files" / "meta.json").unlink()
    (session / "files" / "meta.json").symlink_to(outside / "meta.json")
    before = tree(outside)

    refuse_all(
        [
            lambda: store.read_file("blobs/a.png"),
            lambda: store.write_file("blobs/a.png", b"x"),
            lambda: store.append_file("blobs/a.png", b"x"),
            lambda: store.remove_file("blobs/a.png"),
            lambda: store.file_stat("meta.json"),
            lambda: store.write_file("meta.json", b"x"),
        ]
    )
    assert tree(outside) == before
    assert "blobs/a.png" not in store.files()
    assert survey(str(session)).meta is None


def test_a_link_in_the_place_of_the_lock_is_refused(session: Path, outside: Path) -> None:
    (session / ".rig-memory.lock").unlink()
    (session / ".rig-memory.lock").symlink_to(outside / "lock")
    store = DirStore.open(session)
    before = contents(store)

    with pytest.raises(Io, match="symbolic link"):
        store.append_log("added", 4, b"x")
    assert contents(store) == before
    assert not (outside / "lock").exists()


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_in_the_place_of_the_redo_file_is_refused(
    session: Path, outside: Path, exists: bool
) -> None:
    (session / ".agentmem.redo").symlink_to(outside / ("file" if exists else "none"))
    store = DirStore.open(session)
    before = contents(store)

    assert store.pending()
    refuse_all([lambda: store.append_log("added", 4, b"x"), store.recover])
    assert contents(store) == before
    assert tree(outside)["file"] == SECRET


@pytest.mark.parametrize("kind", ["symbolic", "hard"])
def test_a_part_file_is_never_an_existing_one(
    session: Path, outside: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr("os.urandom", lambda size: b"\0" * size)
    part = session / "files" / f".agentmem-{'0' * 32}.rig-part"
    link = os.symlink if kind == "symbolic" else os.link
    link(outside / "file", part)
    store = DirStore.open(session)

    with pytest.raises(FileExistsError):
        store.write_file("f", b"x")
    assert (outside / "file").read_bytes() == SECRET


def test_links_in_a_destroyed_session_are_not_followed(session: Path, outside: Path) -> None:
    (session / "files" / "link").symlink_to(outside)
    (session / "files" / "link.json").symlink_to(outside / "file")
    before = tree(outside)
    DirStore.open(session).destroy()

    assert not session.exists()
    assert tree(outside) == before
    assert sorted(path.name for path in session.parent.iterdir()) == ["outside"]


def test_the_way_to_a_session_may_be_a_link(session: Path) -> None:
    link = session.with_name("link")
    link.symlink_to(session)
    store = DirStore.open(link)
    store.append_log("added", 4, b"by the link\n")

    assert DirStore.open(session).read_log("added") == b"old\nby the link\n"
    assert link.is_symlink()


def test_a_crafted_redo_file_reaches_nothing_outside(session: Path, outside: Path) -> None:
    from agentmem_cli.storage import redo

    key = b"k" * 32
    part = f".agentmem-{'0' * 32}.rig-part"
    before = tree(outside)
    for target in ("../outside/file", "files/../../outside/file", "/etc/x", "x", "logs/a/b.jsonl"):
        folder = target.rpartition("/")[0]
        for kind in ("remove", "replace", "append"):
            staged = f"{folder}/{part}".lstrip("/") if kind != "remove" else ""
            step = redo.Step(kind, target, len(SECRET), 0, "", staged, 1, "")
            (session / ".agentmem.redo").write_bytes(redo.encode(redo.Redo(key, (step,))))
            assert DirStore.open(session).recover()

            assert tree(outside) == before
            assert not (session / ".agentmem.redo").exists()


# -- things that are no files ------------------------------------------------


@pytest.mark.parametrize("kind", ["fifo", "folder"])
def test_what_is_no_regular_file_is_refused_and_nothing_waits_for_it(
    session: Path, kind: str
) -> None:
    store = DirStore.open(session)
    make = os.mkfifo if kind == "fifo" else os.mkdir
    for place in ("logs/a.jsonl", "files/f", ".agentmem.redo"):
        make(session / place)
    (session / "files" / "meta.json").unlink()
    make(session / "files" / "meta.json")

    calls: list[Callable[[], object]] = [
        lambda: store.read_log("a"),
        lambda: store.open_log("a"),
        lambda: store.read_file("f"),
        lambda: store.log_stat("a"),
        lambda: head_and_tail(str(session), "a", 1, 1),
        lambda: store.append_log("added", 4, b"x"),
    ]
    refuse_all(calls, errno.EINVAL)
    assert survey(str(session)).meta is None
    assert survey(str(session)).unfinished
    assert "a" not in store.logs()
    redo = session / ".agentmem.redo"
    (redo.unlink if kind == "fifo" else redo.rmdir)()
    refuse_all(
        [
            lambda: store.append_log("a", 0, b"x"),
            lambda: store.replace_log("a", 0, b"x"),
            lambda: store.write_file("f", b"x"),
            lambda: store.append_file("f", b"x"),
            lambda: store.remove_file("f"),
        ],
        errno.EINVAL,
    )


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_regular_file_is_no_lock(session: Path, make: Callable[[Path], None]) -> None:
    (session / ".rig-memory.lock").unlink()
    make(session / ".rig-memory.lock")

    with pytest.raises(Io, match="no regular file"):
        DirStore.open(session).append_log("added", 4, b"x")


def test_a_file_in_the_place_of_a_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "logs").write_bytes(b"")
    (tmp_path / "file").write_bytes(b"")
    store = DirStore.open(tmp_path / "s")

    with pytest.raises(NotADirectoryError):
        store.logs()
    with pytest.raises(NotADirectoryError):
        store.append_log("a", 0, b"x")
    with pytest.raises(NotADirectoryError):
        DirStore.open(tmp_path / "file")


def test_an_older_layout_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "main.jsonl").write_bytes(b"{}\n")

    with pytest.raises(OldLayout, match=r"main\.jsonl") as caught:
        DirStore.open(tmp_path / "s")
    assert caught.value.found == "main.jsonl"
    assert tree(tmp_path / "s") == {"main.jsonl": b"{}\n"}
    assert survey(str(tmp_path / "s")).old_layout


def test_what_is_not_a_session_s_is_left_alone(session: Path) -> None:
    for name in ("notes.txt", "other/deep/file", "logs/readme", "logs/sub/x.jsonl"):
        (session / name).parent.mkdir(parents=True, exist_ok=True)
        (session / name).write_bytes(b"mine")
    store = DirStore.open(session)
    with batch_of(store) as batch:
        change(batch)

    for name in ("notes.txt", "other/deep/file", "logs/readme", "logs/sub/x.jsonl"):
        assert (session / name).read_bytes() == b"mine"
    assert store.logs() == ["added", "begun", "cut", "kept", "replaced"]


def test_opening_and_reading_write_nothing(tmp_path: Path) -> None:
    store = DirStore.open(tmp_path / "none" / "s")
    store.remove_file("f")
    store.destroy()

    assert store.logs() == store.files() == store.leftovers() == store.loose() == []
    assert store.written_by_others() == []
    assert not store.pending()
    assert not store.recover()
    assert list(tmp_path.iterdir()) == []


def test_names_on_the_disk_that_no_store_would_take_are_not_listed(session: Path) -> None:
    for raw in (b"logs/\xff.jsonl", b"logs/a\nb.jsonl", b"files/\xff", b"files/a\x1b[2J"):
        with open(os.fsencode(session) + b"/" + raw, "wb") as file:  # noqa: PTH123  # bytes
            file.write(b"x")
    store = DirStore.open(session)

    assert store.logs() == ["added", "cut", "kept", "replaced"]
    assert store.files() == ["gone", "log.txt", "meta.json"]
    assert len(survey(str(session)).logs) == 4


# -- modes -----------------------------------------------------------------


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_everything_is_private_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    with umask(mask):
        store = DirStore.open(tmp_path / "a" / "b" / "s")
        fill(store)
        with batch_of(store) as batch:
            change(batch)
        DirFiles(tmp_path / "d").write_file("x/y", b"1")
        replace_atomically(tmp_path / "d" / "z", b"1")

    found = {**modes(tmp_path / "a"), **modes(tmp_path / "d")}
    assert {mode for name, mode in found.items() if (tmp_path / "a" / name).is_dir()} == {0o700}
    assert all(mode in {0o600, 0o700} for mode in found.values())


def test_files_are_private_from_their_first_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write
    seen: list[int] = []

    def write(descriptor: int, data: bytes) -> int:
        seen.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        return real(descriptor, data)

    monkeypatch.setattr("os.write", write)
    with umask(0):
        store = DirStore.open(tmp_path / "s")
        fill(store)
        with batch_of(store) as batch:
            change(batch)

    assert set(seen) == {0o600}


@pytest.mark.parametrize(
    ("old", "new"), [(0o400, 0o400), (0o600, 0o600), (0o644, 0o600), (0o666, 0o600)]
)
def test_a_replaced_file_s_mode_is_never_loosened(session: Path, old: int, new: int) -> None:
    names = ("logs/replaced.jsonl", "files/meta.json")
    for name in names:
        (session / name).chmod(old)
    store = DirStore.open(session)
    with batch_of(store) as batch:
        change(batch)

    assert [modes(session)[name] for name in names] == [new, new]


def test_what_others_may_read_is_named(session: Path) -> None:
    store = DirStore.open(session)
    private = store.loose()
    (session / "files" / "meta.json").chmod(0o644)
    shut = store.loose()
    session.chmod(0o755)
    inner_shut = store.loose()
    (session / "files").chmod(0o750)

    assert private == shut == []
    assert inner_shut == ["."]
    assert store.loose() == [".", "files", "files/meta.json"]
    assert store.file_stat("meta.json").mode == 0o644


# -- files beside the session ------------------------------------------------


def test_files_over_any_directory_keep_to_it(tmp_path: Path, outside: Path) -> None:
    files = DirFiles(tmp_path / "d")
    files.remove_file("x")
    empty = files.files()
    files.write_file("a/b", b"1")
    files.append_file("a/b", b"2")
    files.append_file("c", b"3")
    files.remove_file("c")
    files.remove_file("c")
    (tmp_path / "d" / "link").symlink_to(outside)

    assert empty == []
    assert files.files() == ["a/b"]
    assert files.read_file("a/b") == b"12"
    with pytest.raises(OSError, match="link"):
        files.write_file("link/file", b"x")
    with pytest.raises(ValueError, match="name"):
        files.write_file("../x", b"x")
    with pytest.raises(FileNotFoundError):
        files.read_file("c")
    assert (outside / "file").read_bytes() == SECRET


def test_plugins_see_their_files_only(session: Path) -> None:
    store = DirStore.open(session)
    plugins = PluginFiles(store)
    plugins.write_file("p/a", b"1")
    plugins.append_file("p/a", b"2")
    plugins.write_file("p/b", b"")
    plugins.remove_file("p/b")

    assert plugins.files() == ["p/a"]
    assert plugins.read_file("p/a") == store.read_file("plugins/p/a") == b"12"
    with pytest.raises(ValueError, match="name"):
        plugins.read_file("../meta.json")
