"""The smaller parts: names, surveys, renames, the redo file's bytes."""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from agentmem_cli.errors import ConflictError
from agentmem_cli.limits import META_BYTES_MAX
from agentmem_cli.storage import layout, redo
from agentmem_cli.storage.directory import DirStore
from agentmem_cli.storage.files import RETRY_WAITS_S, Folder, make_folders, replace_atomically
from agentmem_cli.storage.memory import MemoryStore
from agentmem_cli.storage.names import check_log_name, check_name
from agentmem_cli.storage.root import default_root
from agentmem_cli.storage.spool import BUDGET_BYTES
from agentmem_cli.storage.store import open_log_of
from agentmem_cli.storage.survey import head_and_tail, survey
from tests.unit.storage.faults import full_after

if TYPE_CHECKING:
    from pathlib import Path


# -- names -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "empty"),
        ("/etc/passwd", "relative"),
        ("a\\b", "backslash"),
        ("a\0b", "control"),
        ("a//b", "empty part"),
        ("a/..", r"'\.\.'"),
        ("a/./b", r"'\.'"),
        ("x.rig-part", "leftover"),
        ("x.rig-trash/y", "leftover"),
        ("\udfff", "surrogate"),
        ("a/" + "ü" * 128, "256 bytes"),
    ],
)
def test_a_refused_name_says_why(name: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        check_name(name)


def test_a_log_s_name_leaves_room_for_its_ending() -> None:
    check_log_name("x" * 249)

    with pytest.raises(ValueError, match="too long"):
        check_log_name("x" * 250)
    with pytest.raises(ValueError, match="more than one part"):
        check_log_name("a/b")


@pytest.mark.parametrize("name", ["NUL", "con.txt", "a:b", "x.", "x ", "COM1", "a/aux/b", "a?"])
def test_windows_is_not_given_a_name_it_would_take_for_another(name: str) -> None:
    check_name(name)

    with patch("os.name", "nt"), pytest.raises(ValueError, match="Windows"):
        check_name(name)


def test_paths_and_names_belong_together() -> None:
    assert layout.log_of(layout.log_path("main")) == "main"
    assert layout.log_of(layout.file_path("a.jsonl")) is None
    assert layout.split("files/blobs/x") == (("files", "blobs"), "x")
    assert layout.beside("files/blobs/x", "y") == "files/blobs/y"
    assert layout.beside("x", "y") == "y"
    assert layout.is_staged(layout.staged_name("0a" * 16))
    assert not layout.is_staged(".agentmem-0A.rig-part")
    assert not layout.is_staged(f".agentmem-{'g' * 32}.rig-part")


# -- surveys -----------------------------------------------------------------


def test_a_survey_says_what_lies_in_a_session(tmp_path: Path) -> None:
    store = DirStore.open(tmp_path / "s")
    with store.batch() as batch:
        batch.append_log("b", 0, b"12345")
        batch.append_log("a", 0, b"123")
        batch.write_file("meta.json", b"{}")
    (tmp_path / "s" / "logs" / "x.jsonl.rig-part").write_bytes(b"")
    (tmp_path / "s" / "logs" / "d.jsonl").mkdir()
    found = survey(str(tmp_path / "s"))
    (tmp_path / "s" / ".agentmem.redo").write_bytes(b"")

    assert (found.meta, found.meta_size) == (b"{}", 2)
    assert found.meta_mtime_ns == store.file_stat("meta.json").mtime_ns
    assert found.logs == [
        ("a", 3, store.log_stat("a").mtime_ns),
        ("b", 5, store.log_stat("b").mtime_ns),
    ]
    assert (found.old_layout, found.unfinished) == (False, False)
    assert survey(str(tmp_path / "s")).unfinished


def test_a_survey_of_an_empty_folder_finds_nothing_and_of_none_fails(tmp_path: Path) -> None:
    assert survey(str(tmp_path)) == (None, 0, 0, [], False, False)
    with pytest.raises(FileNotFoundError):
        survey(str(tmp_path / "none"))
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotADirectoryError):
        survey(str(tmp_path / "file"))


@pytest.mark.parametrize(("size", "is_read"), [(META_BYTES_MAX, True), (META_BYTES_MAX + 1, False)])
def test_a_survey_does_not_read_a_huge_meta(tmp_path: Path, size: int, is_read: bool) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "meta.json").write_bytes(b" " * size)
    found = survey(str(tmp_path))

    assert (found.meta is not None) == is_read
    assert found.meta_size == size


def test_head_and_tail_overlap_in_a_small_log(tmp_path: Path) -> None:
    DirStore.open(tmp_path / "s").append_log("a", 0, b"0123456789")
    session = str(tmp_path / "s")

    assert head_and_tail(session, "a", 4, 3) == (b"0123", b"789", 10)
    assert head_and_tail(session, "a", 8, 8) == (b"01234567", b"23456789", 10)
    assert head_and_tail(session, "a", 99, 99) == (b"0123456789", b"0123456789", 10)
    assert head_and_tail(session, "a", 99, 2) == (b"0123456789", b"89", 10)
    with pytest.raises(FileNotFoundError):
        head_and_tail(session, "b", 1, 1)
    with pytest.raises(ValueError, match="name"):
        head_and_tail(session, "../a", 1, 1)


@pytest.mark.parametrize("module", ["survey", "directory"])
def test_listing_loads_nothing_heavy(module: str) -> None:
    heavy = ["filelock", "tempfile", "shutil", "dataclasses", "hashlib", "json", "asyncio"]
    code = (
        "import sys\n"
        "before = set(sys.modules)\n"  # what measures the tests may load some by itself
        f"import agentmem_cli.storage.{module}\n"
        f"print(sorted((set(sys.modules) - before).intersection({heavy})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


# -- logs that are open --------------------------------------------------------


def test_an_iteration_outlives_the_name_of_its_log(tmp_path: Path) -> None:
    store = DirStore.open(tmp_path / "s")
    store.append_log("a", 0, b"one\ntwo\n")
    lines = store.open_log("a").lines()
    store.destroy()

    assert list(lines) == [b"one\n", b"two\n"]


def test_two_iterations_do_not_disturb_one_another(tmp_path: Path) -> None:
    store = DirStore.open(tmp_path / "s")
    store.append_log("a", 0, b"".join(b"%d\n" % number for number in range(100_000)))
    with store.open_log("a") as log:
        pairs = [one == other for one, other in zip(log.lines(), log.lines(), strict=True)]
        log.close()

    assert len(pairs) == 100_000
    assert all(pairs)


def test_a_log_cut_underneath_gives_what_is_left(tmp_path: Path) -> None:
    store = DirStore.open(tmp_path / "s")
    store.append_log("a", 0, b"x" * 100)
    with store.open_log("a") as log:
        os.truncate(tmp_path / "s" / "logs" / "a.jsonl", 10)
        found = b"".join(log.lines()), log.read_at(5, 50), log.read_at(50, 5)

    assert found == (b"x" * 10, b"x" * 5, b"")


def test_a_store_without_open_log_is_read_whole() -> None:
    class Plain:
        def read_log(self, name: str) -> bytes:
            return name.encode() + b"\nlast"

    log = open_log_of(Plain(), "a")  # type: ignore[arg-type]  # has what is used

    assert list(log.lines()) == [b"a\n", b"last"]


# -- files ---------------------------------------------------------------------


def test_a_passing_refusal_of_a_rename_is_waited_out(tmp_path: Path) -> None:
    real = os.replace
    refusals = iter([PermissionError()] * 3)
    waits: list[float] = []
    (tmp_path / "a").write_bytes(b"new")
    (tmp_path / "b").write_bytes(b"old")

    def replace(source: str, target: str, **named: int | None) -> None:
        for error in refusals:
            raise error
        real(source, target, src_dir_fd=named["src_dir_fd"], dst_dir_fd=named["dst_dir_fd"])

    with Folder.at(str(tmp_path)) as folder, patch("os.replace", replace):
        folder.replace("a", "b", sleep=waits.append)

    assert (tmp_path / "b").read_bytes() == b"new"
    assert waits == list(RETRY_WAITS_S[:3])


def test_a_lasting_refusal_of_a_rename_leaves_everything_as_it_was(tmp_path: Path) -> None:
    store = DirStore.open(tmp_path / "s")
    store.append_log("a", 0, b"old\n")
    with patch("os.replace", side_effect=PermissionError("in use")):
        with pytest.raises(PermissionError, match="in use"):
            store.replace_log("a", 4, b"new\n")
        with pytest.raises(PermissionError, match="in use"):
            replace_atomically(tmp_path / "s" / "out", b"new")

    assert store.read_log("a") == b"old\n"
    assert store.leftovers() == []
    assert not (tmp_path / "s" / "out").exists()


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    replace_atomically(tmp_path / "out", b"one")
    replace_atomically(str(tmp_path / "out"), b"two")

    assert (tmp_path / "out").read_bytes() == b"two"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    with pytest.raises(FileNotFoundError):
        replace_atomically(tmp_path / "none" / "out", b"x")


def test_many_sinks_hold_little_memory_and_no_descriptors(tmp_path: Path) -> None:
    store = DirStore.open(tmp_path / "s")
    before = sum(1 for _ in os.scandir("/dev/fd"))
    with store.batch() as batch:
        sinks = [batch.open_log_new(f"log{number}", 0) for number in range(300)]
        largest = 0
        for _ in range(10):
            for sink in sinks:
                sink.write(b"x" * 10_000)
                largest = max(largest, batch.waiting_bytes)
        descriptors = sum(1 for _ in os.scandir("/dev/fd"))

    assert largest <= BUDGET_BYTES + 10_000
    assert descriptors < before + 20
    assert store.log_stat("log299").size == 100_000


def test_what_no_bytes_go_to_gets_no_part_file(tmp_path: Path) -> None:
    store = DirStore.open(tmp_path / "s")
    store.append_log("cut", 0, b"whole\ntor")
    store.write_file("gone", b"x")
    with store.batch() as batch:
        batch.cut_log("cut", 9, 6)
        batch.remove_file("gone")
        for number in range(20):
            batch.append_log(f"log{number}", 0, b"x" * 900_000)
        parts = [name for name in store.leftovers() if name.endswith(".rig-part")]

    assert 0 < len(parts) <= 20
    assert store.read_log("cut") == b"whole\n"
    assert "gone" not in store.files()


def test_a_batch_whose_caller_passes_over_a_failed_write_makes_nothing(tmp_path: Path) -> None:
    store = DirStore.open(tmp_path / "s")
    store.append_log("a", 0, b"old\n")

    def work() -> None:
        with store.batch() as batch:
            sink = batch.open_append("a", 4)
            with full_after(10), contextlib.suppress(OSError):
                sink.write(b"x" * (2 << 20))
            sink.write(b"y\n")
            batch.write_file("f", b"z")

    with pytest.raises(OSError, match="earlier write"):
        work()
    assert store.read_log("a") == b"old\n"
    assert store.files() == store.leftovers() == []


def test_a_sink_takes_nothing_after_its_batch_or_once_its_target_has_other_content(
    tmp_path: Path,
) -> None:
    store = DirStore.open(tmp_path / "s")
    with store.batch() as batch:
        stale = batch.open_file("f")
        stale.write(b"stale")
        batch.write_file("f", b"fresh")
        with pytest.raises(ValueError, match="no longer wanted"):
            stale.write(b"x")
        sink = batch.open_append("a", 0)
        sink.write(b"y")

    with pytest.raises(ValueError, match="no longer wanted"):
        sink.write(b"x")
    assert store.read_file("f") == b"fresh"
    assert store.read_log("a") == b"y"


# -- the redo file ---------------------------------------------------------------

STEP = redo.Step("append", "logs/a.jsonl", 4, 4, "00", f"logs/.agentmem-{'0' * 32}.rig-part", 1, "")


def test_a_redo_file_reads_back_as_it_was_written() -> None:
    kinds = (STEP, STEP._replace(kind="replace", old=None, keep=0, target="logs/공.jsonl"))
    whole = redo.Redo(b"k" * 32, kinds)

    assert redo.decode(redo.encode(whole)) == whole


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "move"},
        {"target": "logs/../x.jsonl"},
        {"target": "meta.json"},
        {"target": "logs/a.txt"},
        {"part": "logs/a.jsonl"},
        {"part": f"files/.agentmem-{'0' * 32}.rig-part"},
        {"part": ""},
        {"keep": 5},
        {"keep": -1},
        {"size": -1},
        {"size": True},
        {"old": 1.5},
    ],
)
def test_a_redo_file_whose_steps_make_no_sense_is_not_whole(changes: dict[str, object]) -> None:
    step = redo.Step(**{**STEP._asdict(), **changes})

    assert redo.decode(redo.encode(redo.Redo(b"k" * 32, (step,)))) is None


def test_a_redo_file_of_a_newer_program_is_left_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = DirStore.open(tmp_path / "s")
    store.append_log("a", 0, b"one\n")
    monkeypatch.setattr(redo, "FORMAT", "agentmem-redo/2")
    data = redo.encode(redo.Redo(b"k" * 32, (STEP,)))
    monkeypatch.undo()
    (tmp_path / "s" / ".agentmem.redo").write_bytes(data)

    with pytest.raises(ConflictError, match="agentmem-redo/2"):
        store.append_log("a", 4, b"two\n")
    assert (tmp_path / "s" / ".agentmem.redo").read_bytes() == data
    assert store.read_log("a") == b"one\n"


def test_a_redo_file_tells_nothing_of_what_it_is_about(tmp_path: Path) -> None:
    secret = b"a secret that can be guessed"
    digests: list[str] = []
    real = redo.encode

    def encode(found: redo.Redo) -> bytes:
        digests.extend(step.digest for step in found.steps)
        digests.append(real(found).decode())
        return real(found)

    store = DirStore.open(tmp_path / "s")
    with patch.object(redo, "encode", encode), store.batch() as batch:
        batch.write_file("f", secret)
        batch.write_file("g", secret)

    plain = hashlib.blake2b(secret, digest_size=32).hexdigest()
    assert len(digests) == 3
    assert not any(plain in text for text in digests)
    assert "secret" not in digests[2]


# -- the rest ----------------------------------------------------------------


def test_the_default_root_is_the_user_s_own() -> None:
    assert default_root().name == "sessions"
    assert default_root().parent.name == "agentmem"


def test_stores_of_a_memory_share_and_others_do_not() -> None:
    one = MemoryStore()
    MemoryStore(one).append_log("a", 0, b"x")

    assert one.read_log("a") == b"x"
    assert MemoryStore().logs() == []


def test_a_lock_s_errors_cross_processes(tmp_path: Path) -> None:
    from agentmem_cli.errors import Busy

    error = pickle.loads(pickle.dumps(Busy(tmp_path, 0.5)))

    assert (error.path, error.waited_s) == (tmp_path, 0.5)


def test_a_folder_that_can_never_be_made_is_an_error_not_a_loop() -> None:
    with (
        patch("os.mkdir", side_effect=FileNotFoundError(2, "not there")),
        pytest.raises(FileNotFoundError),
    ):
        make_folders("/nowhere/at/all")
