"""`export --as tar` and the way back, and every tar that is refused."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.operations import exported_tar
from agentmem_cli.operations.imports.packed import packed
from agentmem_cli.storage.directory import DirStore
from tests.cli.running import join, ok, run, said, tree, turns, write, write_meta

if TYPE_CHECKING:
    from collections.abc import Callable


EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
LOG = join(turns(2))


@pytest.fixture
def session(root: Path) -> Path:
    """A session with two agents, an image, kept sources, and a torn end."""
    ok("import", EXAMPLES / "claude-code")
    (path,) = (each for each in root.iterdir() if each.name.startswith("claude"))
    with (path / "logs" / "main.jsonl").open("ab") as log:
        log.write(b'{"torn')
    return path


def _files(folder: Path) -> dict[str, bytes]:
    """What a session holds: paths below it, and bytes."""
    found = {}
    for path in sorted([*(folder / "logs").rglob("*"), *(folder / "files").rglob("*")]):
        if path.is_file():
            found[str(path.relative_to(folder))] = path.read_bytes()
    return found


@pytest.mark.parametrize("name", ["s.tar", "s.tar.gz", "s.TGZ", "s.tar.zst", "s.any"])
def test_a_session_comes_back_from_a_tar_byte_for_byte(
    session: Path, tmp_path: Path, name: str
) -> None:
    ok("export", session, "--as", "tar", "-o", tmp_path / name)

    done = ok("--root", tmp_path / "other", "import", tmp_path / name, "--json").object

    assert _files(tmp_path / "other" / session.name) == _files(session)
    assert (done["kind"], done["created"], done["session"]) == ("tar", True, session.name)
    assert (done["messages"], done["agents"], done["blobs"]) == (12, 2, 1)


def test_the_same_session_gives_the_same_tar_wherever_it_stands(
    session: Path, tmp_path: Path
) -> None:
    first = ok("export", session.name, "--as", "tar").stdout
    for path in session.rglob("*"):
        path.chmod(0o755)
        os.utime(path, (1, 1))
    ok("--root", tmp_path / "other", "import", put(tmp_path / "a.tar", first))

    again = ok("--root", tmp_path / "other", "export", session.name, "--as", "tar").stdout

    assert ok("export", session.name, "--as", "tar").stdout == first
    assert again == first
    assert len(first) % 10_240 == 0


def test_a_tar_has_sorted_names_no_owner_private_modes_and_times_of_records(
    session: Path,
) -> None:
    data = ok("export", session, "--as", "tar").stdout

    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        found = tar.getmembers()

    names = [each.name for each in found]
    assert names == sorted(names, key=lambda name: name.split("/"))
    assert {(each.uid, each.gid, each.uname, each.gname) for each in found} == {(0, 0, "", "")}
    assert {each.mode for each in found if each.isfile()} == {0o600}
    assert {each.mode for each in found if each.isdir()} == {0o700}
    assert all(1_780_000_000 < each.mtime < 1_790_000_000 for each in found)
    assert not any("lock" in name for name in names)


def test_exporting_changes_nothing_in_the_session(session: Path) -> None:
    before = tree(session)

    ok("export", session, "--as", "tar")

    assert tree(session) == before


def test_what_is_no_part_of_a_session_is_left_out_and_told(session: Path) -> None:
    (session / "notes.txt").write_text("mine")
    (session / "link").symlink_to("/etc")
    (session / "files" / "link").symlink_to("/etc/passwd")
    (session / "files" / "x.rig-part").write_text("half")

    done = ok("export", session, "--as", "tar")

    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as tar:
        names = tar.getnames()
    assert not any(word in name for name in names for word in ("notes", "link", "rig-part"))
    assert "2 files and folders" in done.err
    assert "link, notes.txt" in done.err


@pytest.mark.parametrize("name", ["with space", "quo'te\"s", "emoji 🙂", "日本", "x" * 150, "-x"])
def test_a_name_of_any_kind_comes_back(root: Path, tmp_path: Path, name: str) -> None:
    write(root, name, "main", LOG)
    ok("export", "--as", "tar", "-o", tmp_path / "a.tar", "--", name)

    ok("--root", tmp_path / "other", "import", tmp_path / "a.tar")

    assert [each.name for each in (tmp_path / "other").iterdir()] == [name]


@pytest.mark.skipif(os.name == "nt", reason="no such names there")
def test_a_name_that_no_session_should_have_gets_a_safe_one(root: Path, tmp_path: Path) -> None:
    write(root, "two\nlines", "main", LOG)
    ok("export", root / "two\nlines", "--as", "tar", "-o", tmp_path / "a.tar")

    ok("--root", tmp_path / "other", "import", tmp_path / "a.tar")

    (made,) = (tmp_path / "other").iterdir()
    assert made.name.startswith("two_lines-")
    assert (made / "logs" / "main.jsonl").read_bytes() == LOG


def test_a_file_that_is_there_is_written_over_by_force_only(root: Path, tmp_path: Path) -> None:
    write(root, "one", "main", LOG)
    target = put(tmp_path / "a.tar", b"precious")

    done = run("export", "one", "--as", "tar", "-o", target)
    kept = target.read_bytes()
    ok("export", "one", "--as", "tar", "-o", target, "--force")

    assert done.status == 4
    assert kept == b"precious"
    assert tarfile.is_tarfile(target)
    assert target.stat().st_mode & 0o777 == 0o600 or os.name == "nt"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--agent", "main"), "--agent"),
        (("--as-of", "1"), "--as-of"),
        (("-o", "folder/"), "folder/session.tar"),
        (("--json",), "--output"),
    ],
)
def test_what_does_not_go_with_a_tar_is_refused(
    root: Path, words: tuple[str, ...], told: str
) -> None:
    write(root, "one", "main", LOG)

    done = run("export", "one", "--as", "tar", *words)

    assert done.status == 2
    assert told in done.err


def test_a_log_that_is_replaced_meanwhile_ends_the_export_without_a_file(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(root, "one", "main", LOG)
    contents = exported_tar.contents

    def replaced(store: DirStore) -> exported_tar.Told:
        plain = exported_tar._check_same

        def check(*words: object) -> None:
            path.write_bytes(LOG.replace(b"text 1", b"text X"))
            plain(*words)  # type: ignore[arg-type]

        monkeypatch.setattr(exported_tar, "_check_same", check)
        return contents(store)

    monkeypatch.setattr(exported_tar, "contents", replaced)

    done = run("export", "one", "--as", "tar", "-o", tmp_path / "a.tar")

    assert done.status == 4
    assert "logs/main.jsonl: it changed" in done.err
    assert [each.name for each in tmp_path.iterdir()] == ["root"]


def test_a_log_that_grows_meanwhile_is_in_it_as_it_was(root: Path) -> None:
    path = write(root, "one", "main", LOG)
    pieces = exported_tar.tar_of(DirStore.open(root / "one"))
    got: list[bytes] = []
    while LOG not in b"".join(got):
        got.append(next(pieces))
    with path.open("ab") as log:
        log.write(said(3, "later") + b"\n")

    with tarfile.open(fileobj=io.BytesIO(b"".join([*got, *pieces]))) as tar:
        size = tar.getmember("one/logs/main.jsonl").size

    assert size == len(LOG)


def put(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


# -- the way back -------------------------------------------------------------


def test_the_same_tar_again_is_nothing_new(root: Path, tmp_path: Path) -> None:
    write(root, "one", "main", LOG)
    ok("export", "one", "--as", "tar", "-o", tmp_path / "a.tar")
    before = tree(root)

    done = ok("import", tmp_path / "a.tar", "--json").object

    assert done["nothing_new"] is True
    assert tree(root) == before


def test_another_session_of_its_name_is_left_alone(root: Path, tmp_path: Path) -> None:
    write(root, "one", "main", LOG)
    ok("export", "one", "--as", "tar", "-o", tmp_path / "a.tar")
    ok("append", "one", "--role", "user", stdin=b"more")
    before = tree(root)

    done = run("import", tmp_path / "a.tar")

    assert done.status == 4
    assert "'one' is there already" in done.err
    assert tree(root) == before
    assert ok("import", tmp_path / "a.tar", "--again", "--json").object["session"] == "one-2"


def test_a_dry_run_reads_and_writes_nothing(root: Path, tmp_path: Path) -> None:
    write(root, "one", "main", LOG)
    ok("export", "one", "--as", "tar", "-o", tmp_path / "a.tar")

    done = ok("--root", tmp_path / "other", "import", "-n", tmp_path / "a.tar", "--json").object

    assert (done["messages"], done["dry_run"]) == (2, True)
    assert not (tmp_path / "other").exists()


def test_a_tar_that_gnu_tar_made_of_a_session_is_taken(root: Path, tmp_path: Path) -> None:
    write(root, "one", "main", LOG)
    ok("append", "one", "--role", "user", stdin=b"so that it has a lock")
    subprocess.run(["tar", "-cf", tmp_path / "a.tar", "-C", root, "./one"], check=True)

    ok("--root", tmp_path / "other", "import", tmp_path / "a.tar")

    assert _files(tmp_path / "other" / "one") == _files(root / "one")


Fields = dict[str, object]


def _tar(*members: tuple[str, Fields], log: bool = True) -> bytes:
    """A tar of a session's log and of *members*: names, and what their headers say."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w", format=tarfile.PAX_FORMAT) as tar:
        given: list[tuple[str, Fields]] = [("one/logs/main.jsonl", {"data": LOG})] if log else []
        for name, fields in [*given, *members]:
            told = tarfile.TarInfo(name)
            data = fields.pop("data", b"")
            assert isinstance(data, bytes)
            told.size = len(data)
            for field, value in fields.items():
                setattr(told, field, value)
            tar.addfile(told, io.BytesIO(data))
    return held.getvalue()


HOSTILE: dict[str, tuple[tuple[str, Fields], str]] = {
    "leaves": (("one/files/../../../x", {}), "'..'"),
    "leaves-at-the-top": (("../one/logs/a.jsonl", {}), "'..'"),
    "absolute": (("/one/logs/a.jsonl", {}), "not relative"),
    "dot": (("one/files/./x", {}), "'.'"),
    "empty-part": (("one/files//x", {}), "an empty part"),
    "backslash": (("one/files/..\\..\\x", {}), "backslash"),
    "control": (("one/files/a\nb", {}), "control character"),
    "another-session": (("two/logs/main.jsonl", {}), "another session"),
    "symbolic-link": (("one/files/a", {"type": tarfile.SYMTYPE, "linkname": "/etc"}), "link"),
    "link": (("one/logs/b.jsonl", {"type": tarfile.LNKTYPE, "linkname": "/etc/passwd"}), "a link"),
    "device": (("one/files/a", {"type": tarfile.CHRTYPE}), "a device"),
    "disk": (("one/files/a", {"type": tarfile.BLKTYPE}), "a device"),
    "pipe": (("one/files/a", {"type": tarfile.FIFOTYPE}), "a pipe"),
    "holes": (("one/files/a", {"pax_headers": {"GNU.sparse.major": "1"}}), "holes"),
    "unknown": (("one/files/a", {"type": b"Z"}), "unknown type"),
    "twice": (("one/logs/main.jsonl", {}), "there twice"),
    "below-a-file": (("one/files/a", {"data": b"x"}), "below a file"),
    "elsewhere": (("one/.ssh/id", {}), "no log and no file"),
    "at-the-top": (("one/x.jsonl", {}), "no log and no file"),
    "deep-log": (("one/logs/a/b.jsonl", {}), "more than one part"),
    "no-log": (("one/logs/a.txt", {}), "no log and no file"),
    "half-written": (("one/files/a.rig-part", {}), "leftover"),
    "redo": (("one/.agentmem.redo", {}), "no log and no file"),
    "long-name": (("one/files/" + "x" * 300, {}), "300 bytes"),
    "size-of-a-pax-header": (
        ("one/files/a", {"pax_headers": {"size": "99999999999999999999"}}),
        "cut off",
    ),
    "odd-size": (("one/files/a", {"pax_headers": {"size": "-5"}}), "a size that is none"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_member_is_refused_by_its_name_and_nothing_is_written(
    root: Path, tmp_path: Path, kind: str
) -> None:
    (name, fields), why = HOSTILE[kind]
    more: list[tuple[str, Fields]] = [("one/files/a/b", {})] if kind == "below-a-file" else []
    path = put(tmp_path / "a.tar", _tar((name, dict(fields)), *more))
    before = sorted(each.name for each in tmp_path.rglob("*"))

    done = run("import", path)

    shown = (more[0][0] if more else name).rpartition("/")[2].replace("\\", "\\\\")
    assert done.status == 5, done
    assert why in done.err
    assert shown.replace("\n", "\\n") in done.err
    assert sorted(each.name for each in tmp_path.rglob("*")) == before
    assert not root.exists()


def test_a_tar_without_a_log_is_refused(tmp_path: Path) -> None:
    path = put(tmp_path / "a.tar", _tar(("one/files/a", {"data": b"x"}), log=False))

    done = run("import", path)

    assert done.status == 5
    assert "without a log" in done.err


@pytest.mark.parametrize("pack", [bytes, gzip.compress, packed])
def test_a_tar_that_is_cut_off_is_refused(
    root: Path, tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    # What stands behind the log's two blocks is the end; one block of that says so.
    data = pack(_tar())[: 3 * 512]
    path = tmp_path / "a.tar"

    done = [run("import", put(path, data[:-cut])) for cut in range(1, len(data) - 200, 37)]

    assert {each.status for each in done} <= {2, 5}
    assert [each for each in done if str(path) not in each.err] == []
    assert not root.exists()


@pytest.mark.parametrize("pack", [gzip.compress, packed])
def test_a_bomb_is_refused_before_anything_is_written(
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    pack: Callable[[bytes], bytes],
) -> None:
    monkeypatch.setattr("agentmem_cli.operations.imports.tarred.TAR_UNPACKED_FREE", 1 << 20)
    path = put(tmp_path / "a.tar.gz", pack(_tar(("one/files/zeros", {"data": bytes(8 << 20)}))))

    done = run("import", path)

    assert done.status == 6
    assert f"{path}: " in done.err
    assert "become" in done.err
    assert not root.exists()


def test_more_members_than_any_session_has_are_refused(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentmem_cli.operations.imports.tarred.TAR_MEMBERS_MAX", 3)
    path = put(tmp_path / "a.tar", _tar(*((f"one/files/{each}", {}) for each in range(5))))

    done = run("import", path)

    assert done.status == 6
    assert not root.exists()


def test_a_disk_without_room_is_told_before(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "agentmem_cli.operations.imports.restored.shutil.disk_usage",
        lambda _: type("Usage", (), {"free": 10})(),
    )

    done = run("import", put(tmp_path / "a.tar", _tar()))

    assert done.status == 6
    assert "room for 10" in done.err


def test_a_damaged_header_is_refused(root: Path, tmp_path: Path) -> None:
    data = bytearray(_tar(("one/files/a", {"data": b"x"})))
    at = data.index(b"one/files/a")
    data[at] ^= 0x20

    done = run("import", put(tmp_path / "a.tar", bytes(data)))

    assert done.status == 5
    assert "no header" in done.err


def test_a_tar_inside_a_folder_is_passed_by(tmp_path: Path) -> None:
    folder = tmp_path / "src"
    folder.mkdir()
    put(folder / "a.tar", _tar())

    done = run("import", folder)

    assert done.status == 1
    assert "no transcript" in done.err


def test_packed_logs_that_are_no_tar_go_their_own_way(tmp_path: Path) -> None:
    done = run("import", put(tmp_path / "a.jsonl.zst", packed(b'{"a":1}\n' * 100)))

    assert done.status == 2
    assert "no message recognised" in done.err


def test_meta_and_labels_come_along(root: Path, tmp_path: Path) -> None:
    write(root, "one", "main", LOG)
    write_meta(root, "one", b'{"title":"T","labels":{"k":"v"},"messages":2,"updated":1}')
    ok("export", "one", "--as", "tar", "-o", tmp_path / "a.tar")

    ok("--root", tmp_path / "other", "import", tmp_path / "a.tar")

    row = ok("--root", tmp_path / "other", "list", "--json").object
    assert (row["title"], row["labels"], row["problem"]) == ("T", {"k": "v"}, None)


@pytest.mark.skipif(sys.platform == "win32", reason="modes say nothing there")
def test_a_session_in_which_nothing_was_said_yet_comes_back(root: Path, tmp_path: Path) -> None:
    ok("new", "bare", "--title", "Tides", "--label", "kind=log")
    ok("export", "bare", "--as", "tar", "-o", tmp_path / "bare.tar")
    other = tmp_path / "other"

    ok("--root", other, "import", tmp_path / "bare.tar")

    (row,) = ok("--root", other, "list", "--json").objects
    assert (row["id"], row["title"], row["labels"]) == ("bare", "Tides", {"kind": "log"})
    assert tree(other / "bare").keys() == tree(root / "bare").keys()


def test_what_comes_out_of_a_tar_is_private(root: Path, tmp_path: Path) -> None:
    path = put(tmp_path / "a.tar", _tar(("one/files/a", {"data": b"x", "mode": 0o4777})))

    ok("import", path)

    modes = {each.stat().st_mode & 0o7777 for each in (root / "one").rglob("*") if each.is_file()}
    assert modes == {0o600}


def test_the_messages_of_a_tar_are_counted_whatever_is_written_in_them(
    root: Path, tmp_path: Path
) -> None:
    lines = b'{"role":"user","content":"a\\ud800b"}\n{"role":"assistant","content":"x"}\n'
    ok("new", "odd")
    ok("append", "odd", stdin=lines)
    ok("export", "odd", "--as", "tar", "-o", tmp_path / "odd.tar")

    done = ok("import", "--again", tmp_path / "odd.tar", "--json")

    assert done.objects[0]["messages"] == 2
