"""`export -o`: every kind of thing that can stand where an export is to go."""

from __future__ import annotations

import errno
import json
import os
import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.running import ok, run, tree
from tests.unit.imports import building
from tests.unit.imports.building import put

if TYPE_CHECKING:
    from tests.cli.running import Done

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "claude-code"
FORMS = pytest.mark.parametrize("form", ["original", "messages"])


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A session of one source, imported as ``pi-a``."""
    data = building.lines(
        building.header(id="a"), building.user(1, "Why?"), building.reply(2, "Because.")
    )
    path = put(tmp_path / "src" / "talk.jsonl", data)
    ok("import", path)
    return path


def _refused(done: Done, status: int, *words: str | Path) -> bool:
    """Whether a command ended so, with *words* in what it told and a hint."""
    told = done.err
    return done.status == status and "hint: " in told and all(str(word) in told for word in words)


def test_several_sources_do_not_go_over_a_file_by_force_either(tmp_path: Path) -> None:
    ok("import", EXAMPLE)
    target = put(tmp_path / "file", b"precious")

    done = run("export", "@last", "--as", "original", "-o", target)
    forced = run("export", "@last", "--as", "original", "-o", target, "--force")

    for each in (done, forced):
        assert _refused(each, 4, target, "a file", "Name a folder", "--agent")
    assert target.read_bytes() == b"precious"


def test_a_file_in_the_way_of_a_folder_inside_stops_all(tmp_path: Path) -> None:
    ok("import", EXAMPLE)
    target = tmp_path / "out"
    name = next(EXAMPLE.glob("*.jsonl")).stem
    put(target / name, b"precious")

    done = run("export", "@last", "--as", "original", "-o", target, "--force")

    assert _refused(done, 4, target / name)
    assert [path.name for path in target.iterdir()] == [name]


@FORMS
def test_a_folder_in_the_place_of_a_file_is_told(source: Path, tmp_path: Path, form: str) -> None:
    folder = tmp_path / "out"
    (folder / source.name).mkdir(parents=True)

    done = run("export", "pi-a", "--as", form, "-o", folder, "--force")

    place = folder / source.name if form == "original" else folder
    assert _refused(done, 4, place, "a folder", "Name a file in it")


def test_messages_do_not_go_into_a_folder_that_is_to_be_made(source: Path, tmp_path: Path) -> None:
    assert source.exists()

    done = run("export", "pi-a", "--as", "messages", "-o", f"{tmp_path}/new/")

    assert _refused(done, 2, "one file", "new/messages.json")
    assert not (tmp_path / "new").exists()


@FORMS
@pytest.mark.parametrize("end", ["x", "x/"])
def test_no_folder_above_is_made(source: Path, tmp_path: Path, form: str, end: str) -> None:
    assert source.exists()

    done = run("export", "pi-a", "--as", form, "-o", f"{tmp_path}/nodir/{end}")

    status = 2 if (form, end) == ("messages", "x/") else 3
    assert _refused(done, status, "nodir")
    assert not (tmp_path / "nodir").exists()


@FORMS
def test_a_file_is_no_folder_to_write_in(source: Path, tmp_path: Path, form: str) -> None:
    assert source.exists()
    file = put(tmp_path / "file", b"precious")

    done = run("export", "pi-a", "--as", form, "-o", file / "x", "--force")

    assert _refused(done, 4, file, "a file")


@FORMS
def test_a_link_is_neither_followed_nor_written_over(
    source: Path, tmp_path: Path, form: str
) -> None:
    assert source.exists()
    target = put(tmp_path / "target", b"precious")
    link = tmp_path / "link"
    link.symlink_to(target)
    nowhere = tmp_path / "nowhere"
    nowhere.symlink_to(tmp_path / "not there")

    for path in (link, nowhere):
        assert _refused(run("export", "pi-a", "--as", form, "-o", path), 4, path, "link")
        assert _refused(run("export", "pi-a", "--as", form, "-o", path, "--force"), 4, path)

    assert target.read_bytes() == b"precious"
    assert not (tmp_path / "not there").exists()


@pytest.mark.skipif(os.name == "nt", reason="it has no such pipes")
@FORMS
def test_a_pipe_takes_an_export_and_stays_a_pipe(source: Path, tmp_path: Path, form: str) -> None:
    assert source.exists()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()

    ok("export", "pi-a", "--as", form, "-o", pipe)
    reader.join(10)

    assert got == [ok("export", "pi-a", "--as", form).stdout]
    assert pipe.is_fifo()


@pytest.mark.skipif(os.name == "nt", reason="it has no such device")
@FORMS
def test_a_device_takes_an_export(source: Path, form: str) -> None:
    assert source.exists()

    done = ok("export", "pi-a", "--as", form, "-o", os.devnull, "--json").object

    assert done["bytes"] > 0
    assert not Path(os.devnull).is_file()


@pytest.mark.skipif(os.name == "nt", reason="no sockets in folders there")
def test_what_is_no_file_is_not_written_over(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert source.exists()
    monkeypatch.chdir(tmp_path)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("sock")

        done = run("export", "pi-a", "--as", "messages", "-o", "sock", "--force")

    assert _refused(done, 4, "sock", "no regular file")


@FORMS
def test_no_export_goes_into_a_session(root: Path, source: Path, tmp_path: Path, form: str) -> None:
    assert source.exists()
    link = tmp_path / "link"
    link.symlink_to(root / "pi-a")
    before = tree(root)
    places = [
        root / "pi-a" / "logs" / "main.jsonl",
        root / "pi-a" / "new",
        root / "other" / "x",
        link / "logs" / "main.jsonl",
    ]

    for place in places:
        assert _refused(run("export", "pi-a", "--as", form, "-o", place, "--force"), 2, place)

    assert tree(root) == before


@FORMS
@pytest.mark.parametrize("more", [b"", b'{"type":"message"'])
def test_the_source_itself_is_never_written_over(
    source: Path, tmp_path: Path, form: str, more: bytes
) -> None:
    source.write_bytes(source.read_bytes() + more)
    before = tree(tmp_path / "src")

    run("export", "pi-a", "--as", form, "-o", source)
    done = run("export", "pi-a", "--as", form, "-o", source, "--force")

    assert tree(tmp_path / "src") == before
    if form == "original" and not more:
        assert done.status == 0
    else:
        assert _refused(done, 4, source, "imported from")


def test_by_force_an_original_goes_over_what_it_was_not_made_of(
    source: Path, tmp_path: Path
) -> None:
    target = put(tmp_path / "old", source.read_bytes()[:-5] + b"other")

    ok("export", "pi-a", "--as", "original", "-o", target, "--force")

    assert target.read_bytes() == source.read_bytes()


@FORMS
@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS, errno.ENOSPC])
def test_a_place_that_must_not_be_written_in_is_named(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, code: int
) -> None:
    assert source.exists()
    target = tmp_path / "x"
    opened = os.open

    def refuse(path: str, flags: int, *more: Any, **others: Any) -> int:  # noqa: ANN401
        if flags & os.O_CREAT and str(path).endswith(".rig-part"):
            raise OSError(code, os.strerror(code), path)
        return opened(path, flags, *more, **others)

    monkeypatch.setattr(os, "open", refuse)

    done = run("export", "pi-a", "--as", form, "-o", target)

    assert _refused(done, 2, f"{target}: {os.strerror(code)}")
    assert not target.exists()


@FORMS
def test_errors_of_targets_are_objects_with_json(source: Path, tmp_path: Path, form: str) -> None:
    assert source.exists()
    target = put(tmp_path / "file", b"precious")

    done = run("export", "pi-a", "--as", form, "-o", target, "--json")

    told = json.loads(done.err)["error"]
    assert (told["kind"], told["exit_code"]) == ("conflict", 4)
    assert "--force" in told["hint"]
