"""What any store must do, as tests that a store of anyone's can be put through.

Derive a class from `StoreConformance`, give it the fixture ``open_store``, and
pytest runs the suite::

    class TestMyStore(StoreConformance):
        @pytest.fixture
        def open_store(self, tmp_path: Path) -> OpenStore:
            return lambda: MyStore(tmp_path)

``open_store()`` gives a handle on one and the same store, new at the first
call; a second call gives a second handle.
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.errors import LogChanged
from agentmem_cli.storage.store import as_async, batch_of, open_log_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem_cli.storage.store import Batch, Store

    OpenStore = Callable[[], Store]

BAD_NAMES = [
    "",
    "/",
    "/abs",
    "a//b",
    "a/",
    ".",
    "..",
    "a/../b",
    "./a",
    "a\\b",
    "C:\\x",
    "nul\0",
    "line\nbreak",
    "del\x7f",
    "c1\x9b",
    "half\ud83d",
    "x" * 256,
    "é" * 128,
    "a.rig-part",
    "a.rig-trash/b",
]
GOOD_NAMES = ["a", "a/b/c", "é" * 120, "...", " ", "공유드라이브", "x" * 255, "a.part", "-", "~"]


class Interrupt(Exception):  # stands for anything that leaves a block
    """Raised by tests inside a block."""


class StoreConformance:
    """The suite; see the module."""

    # -- logs --------------------------------------------------------------

    def test_a_log_that_was_never_written_is_missing(self, open_store: OpenStore) -> None:
        store = open_store()

        assert store.logs() == []
        with pytest.raises(FileNotFoundError):
            store.read_log("a")
        with pytest.raises(FileNotFoundError):
            open_log_of(store, "a")

    def test_appends_follow_one_another(self, open_store: OpenStore) -> None:
        store = open_store()
        store.append_log("a", 0, b"one\n")
        store.append_log("a", 4, b"two\n")

        assert store.read_log("a") == b"one\ntwo\n"
        assert store.logs() == ["a"]

    def test_appending_nothing_starts_no_log(self, open_store: OpenStore) -> None:
        store = open_store()
        store.append_log("a", 0, b"")

        assert store.logs() == []

    @pytest.mark.parametrize("length", [0, 3, 5, 1 << 40])
    def test_an_append_at_another_length_writes_nothing(
        self, open_store: OpenStore, length: int
    ) -> None:
        store = open_store()
        store.append_log("a", 0, b"one\n")

        with pytest.raises(LogChanged) as caught:
            store.append_log("a", length, b"two\n")
        assert (caught.value.log, caught.value.expected, caught.value.found) == ("a", length, 4)
        assert store.read_log("a") == b"one\n"

    @pytest.mark.parametrize("length", [0, 3, 5])
    def test_a_replacement_at_another_length_writes_nothing(
        self, open_store: OpenStore, length: int
    ) -> None:
        store = open_store()
        store.append_log("a", 0, b"one\n")

        with pytest.raises(LogChanged):
            store.replace_log("a", length, b"two\n")
        assert store.read_log("a") == b"one\n"

    def test_writing_to_a_log_that_is_expected_and_missing_makes_none(
        self, open_store: OpenStore
    ) -> None:
        store = open_store()

        with pytest.raises(LogChanged):
            store.append_log("a", 4, b"two\n")
        with pytest.raises(LogChanged):
            store.replace_log("a", 4, b"two\n")
        assert store.logs() == []

    def test_a_replacement_stands_in_the_log_s_place(self, open_store: OpenStore) -> None:
        store = open_store()
        store.append_log("a", 0, b"one\n")
        store.replace_log("a", 4, b"replaced\n")
        store.replace_log("b", 0, b"new\n")

        assert store.read_log("a") == b"replaced\n"
        assert store.read_log("b") == b"new\n"
        assert store.logs() == ["a", "b"]

    def test_an_open_log_gives_its_lines_and_bytes(self, open_store: OpenStore) -> None:
        store = open_store()
        data = b"one\n\r\n" + b"x" * 3_000_000 + b"\n\xe2\x80\xa8\nlast"
        store.append_log("a", 0, data)
        with open_log_of(store, "a") as log:
            lines = list(log.lines())
            later = list(log.lines(4))
            middle = log.read_at(1, 3)
            past = log.read_at(len(data) - 2, 100) + log.read_at(len(data) + 5, 1)
            size = log.size

        assert lines == [
            b"one\n",
            b"\r\n",
            b"x" * 3_000_000 + b"\n",
            b"\xe2\x80\xa8\n",
            b"last",
        ]
        assert later == lines[1:]
        assert middle == b"ne\n"
        assert past == b"st"
        assert size == len(data)

    def test_an_open_log_stays_as_it_was(self, open_store: OpenStore) -> None:
        store = open_store()
        store.append_log("a", 0, b"one\n")
        with open_log_of(store, "a") as log:
            store.append_log("a", 4, b"two\n")
            store.replace_log("a", 8, b"other\n")
            content = b"".join(log.lines())

        assert content == b"one\n"

    # -- files -------------------------------------------------------------

    def test_a_file_that_was_never_written_is_missing(self, open_store: OpenStore) -> None:
        store = open_store()
        store.remove_file("meta.json")

        assert store.files() == []
        with pytest.raises(FileNotFoundError):
            store.read_file("meta.json")

    def test_files_are_written_added_to_and_removed(self, open_store: OpenStore) -> None:
        store = open_store()
        store.write_file("meta.json", b"{}")
        store.write_file("meta.json", b"[]")
        store.append_file("blobs/a.png", b"1")
        store.append_file("blobs/a.png", b"2")
        store.append_file("empty", b"")
        store.write_file("plugins/p/gone", b"x")
        store.remove_file("plugins/p/gone")

        assert store.files() == ["blobs/a.png", "empty", "meta.json"]
        assert store.read_file("meta.json") == b"[]"
        assert store.read_file("blobs/a.png") == b"12"
        assert store.read_file("empty") == b""
        assert store.logs() == []

    @pytest.mark.parametrize("name", BAD_NAMES)
    def test_a_bad_name_is_refused_everywhere(self, open_store: OpenStore, name: str) -> None:
        store = open_store()
        calls: list[Callable[[], object]] = [
            lambda: store.write_file(name, b"x"),
            lambda: store.append_file(name, b"x"),
            lambda: store.read_file(name),
            lambda: store.remove_file(name),
            lambda: store.read_log(name),
            lambda: open_log_of(store, name),
            lambda: store.append_log(name, 0, b"x"),
            lambda: store.replace_log(name, 0, b"x"),
        ]

        for call in calls:
            with pytest.raises(ValueError, match="name"):
                call()
        assert store.files() == store.logs() == []

    @pytest.mark.parametrize("name", ["a/b", "x" * 250])
    def test_a_log_s_name_is_one_part_with_room_for_its_ending(
        self, open_store: OpenStore, name: str
    ) -> None:
        store = open_store()

        with pytest.raises(ValueError, match="log name"):
            store.append_log(name, 0, b"x")
        assert store.logs() == []

    @pytest.mark.parametrize("name", GOOD_NAMES)
    def test_a_good_name_comes_back(self, open_store: OpenStore, name: str) -> None:
        store = open_store()
        store.write_file(name, b"x")

        assert store.files() == [name]
        assert store.read_file(name) == b"x"

    # -- several at once ---------------------------------------------------

    def test_two_handles_see_each_other_s_writes(self, open_store: OpenStore) -> None:
        one, two = open_store(), open_store()
        one.append_log("a", 0, b"one\n")
        two.append_log("a", 4, b"two\n")
        two.write_file("f", b"x")

        assert one.read_log("a") == b"one\ntwo\n"
        assert one.read_file("f") == b"x"
        with pytest.raises(LogChanged):
            one.append_log("a", 4, b"late\n")

    def test_of_racing_threads_one_wins_at_each_length(self, open_store: OpenStore) -> None:
        wins = _race(open_store, threads=6, rounds=5)

        assert wins == [1] * 5
        assert len(open_store().read_log("a")) == 5 * 4

    def test_a_store_serves_async_callers(self, open_store: OpenStore) -> None:
        store = as_async(open_store())

        async def use() -> tuple[bytes, bytes]:
            await store.append_log_async("a", 0, b"one\n")
            await store.replace_log_async("a", 4, b"two\n")
            await store.write_file_async("f", b"x")
            return await store.read_log_async("a"), await store.read_file_async("f")

        assert asyncio.run(use()) == (b"two\n", b"x")
        assert as_async(store) is store

    # -- batches -----------------------------------------------------------

    def test_a_batch_makes_all_its_changes(self, open_store: OpenStore) -> None:
        store = open_store()
        fill(store)
        with batch_of(store) as batch:
            change(batch)

        assert contents(store) == CHANGED

    def test_a_batch_that_is_left_by_an_exception_makes_none(self, open_store: OpenStore) -> None:
        store = open_store()
        fill(store)
        before = contents(store)

        with pytest.raises(Interrupt), batch_of(store) as batch:
            change_and_leave(batch)
        assert contents(store) == before

    def test_nothing_of_a_batch_shows_before_its_end(self, open_store: OpenStore) -> None:
        store = open_store()
        fill(store)
        before = contents(store)
        with batch_of(store) as batch:
            change(batch)
            during = contents(store)

        assert during == before

    def test_a_batch_sees_what_it_staged(self, open_store: OpenStore) -> None:
        store = open_store()
        fill(store)
        with batch_of(store) as batch:
            change(batch)
            names = batch.files()
            files = {name: batch.read_file(name) for name in names}
            with pytest.raises(FileNotFoundError):
                batch.read_file("gone")
            with pytest.raises(FileNotFoundError):
                batch.read_file("never")

        assert names == sorted(CHANGED["files"])
        assert files == CHANGED["files"]

    def test_what_a_batch_staged_can_be_opened_piece_by_piece(self, open_store: OpenStore) -> None:
        store = open_store()
        fill(store)
        large = b"0123456789abcdef\n" * 200_000
        with batch_of(store) as batch:
            change(batch)
            batch.open_log_new("large", 0).write(large)
            batch.open_file("blobs/large").write(large)
            seen: dict[str, bytes] = {}
            for log in (*CHANGED["logs"], "large"):
                with batch.open_staged_log(log) as opened:
                    seen[log] = b"".join(opened.lines())
            for name in (*CHANGED["files"], "blobs/large"):
                with batch.open_staged_file(name) as opened:
                    seen[name] = opened.read_at(0, opened.size)
            for opener, absent in ((batch.open_staged_log, "no"), (batch.open_staged_file, "gone")):
                with pytest.raises(FileNotFoundError):
                    opener(absent)

        assert seen == {
            **CHANGED["logs"],
            **CHANGED["files"],
            "large": large,
            "blobs/large": large,
        }

    def test_a_wrong_length_in_a_batch_is_refused_at_once(self, open_store: OpenStore) -> None:
        store = open_store()
        fill(store)
        before = contents(store)

        with batch_of(store) as batch:
            for call in (batch.append_log, batch.replace_log):
                with pytest.raises(LogChanged):
                    call("added", 3, b"x")
            for sink in (batch.open_append, batch.open_log_new):
                with pytest.raises(LogChanged):
                    sink("added", 3)
            with pytest.raises(LogChanged):
                batch.cut_log("added", 3, 1)
        assert contents(store) == before

    def test_lengths_in_a_batch_are_as_the_batch_left_the_log(self, open_store: OpenStore) -> None:
        store = open_store()
        with batch_of(store) as batch:
            batch.append_log("a", 0, b"12")
            batch.append_log("a", 2, b"34")
            batch.replace_log("a", 4, b"567")
            batch.append_log("a", 3, b"8")

        assert store.read_log("a") == b"5678"

    @pytest.mark.parametrize("name", BAD_NAMES)
    def test_a_bad_name_is_refused_by_a_batch(self, open_store: OpenStore, name: str) -> None:
        store = open_store()

        with batch_of(store) as batch:
            calls: list[Callable[[], object]] = [
                lambda: batch.write_file(name, b"x"),
                lambda: batch.append_file(name, b"x"),
                lambda: batch.read_file(name),
                lambda: batch.remove_file(name),
                lambda: batch.open_file(name),
                lambda: batch.append_log(name, 0, b"x"),
                lambda: batch.replace_log(name, 0, b"x"),
                lambda: batch.open_append(name, 0),
                lambda: batch.open_log_new(name, 0),
                lambda: batch.cut_log(name, 0, 0),
            ]
            for call in calls:
                with pytest.raises(ValueError, match="name"):
                    call()
        assert store.files() == store.logs() == []

    def test_a_batch_in_which_nothing_happens_changes_nothing(self, open_store: OpenStore) -> None:
        store = open_store()
        fill(store)
        before = contents(store)
        with batch_of(store) as batch:
            batch.append_log("added", 4, b"")
            batch.append_log("none", 0, b"")
            batch.cut_log("cut", 9, 9)
            batch.remove_file("never")

        assert contents(store) == before

    @pytest.mark.parametrize(
        ("keep", "added"), [(6, b""), (6, b"more\n"), (0, b"new\n"), (6, b"x" * 3)]
    )
    def test_a_log_is_cut_and_goes_on_from_there(
        self, open_store: OpenStore, keep: int, added: bytes
    ) -> None:
        store = open_store()
        store.append_log("a", 0, b"whole\ntor")
        with batch_of(store) as batch:
            batch.cut_log("a", 9, keep)
            batch.append_log("a", keep, added)

        assert store.read_log("a") == b"whole\n"[:keep] + added

    def test_a_removed_file_can_be_written_again_in_the_same_batch(
        self, open_store: OpenStore
    ) -> None:
        store = open_store()
        fill(store)
        with batch_of(store) as batch:
            batch.remove_file("gone")
            batch.append_file("gone", b"back")
            batch.remove_file("meta.json")
            batch.write_file("meta.json", b"2")

        assert store.read_file("gone") == b"back"
        assert store.read_file("meta.json") == b"2"

    def test_large_contents_pass_through_sinks(self, open_store: OpenStore) -> None:
        store = open_store()
        block = b"0123456789abcdef" * 4096
        store.append_log("grown", 0, b"head\n")
        with batch_of(store) as batch:
            grown = batch.open_append("grown", 5)
            whole = batch.open_log_new("whole", 0)
            file = batch.open_file("blobs/large.bin")
            for _ in range(40):
                assert grown.write(block) == len(block)
                whole.write(block)
                file.write(block)

        assert store.read_log("grown") == b"head\n" + block * 40
        assert store.read_log("whole") == block * 40
        assert store.read_file("blobs/large.bin") == block * 40

    # -- the end -----------------------------------------------------------

    def test_a_destroyed_store_is_empty_and_can_be_begun_anew(self, open_store: OpenStore) -> None:
        store = open_store()
        fill(store)
        store.destroy()
        gone = contents(open_store())
        store.destroy()
        store.append_log("a", 0, b"new\n")

        assert gone == {"logs": {}, "files": {}}
        assert contents(open_store()) == {"logs": {"a": b"new\n"}, "files": {}}


# -- a store's contents, before and after one batch of every kind of change -----

Contents = dict[str, dict[str, bytes]]

CHANGED: Contents = {
    "logs": {
        "added": b"old\nnew\nnewer\n",
        "begun": b"begun\n",
        "cut": b"whole\nmore\n",
        "kept": b"kept\n",
        "replaced": b"other\n",
    },
    "files": {
        "blobs/new.png": b"pixels",
        "log.txt": b"line 1\nline 2\n",
        "meta.json": b'{"title":"new"}',
        "recovered/cut.part": b"tor",
    },
}


def fill(store: Store) -> None:
    """Put into an empty *store* what `change` changes."""
    store.append_log("added", 0, b"old\n")
    store.append_log("cut", 0, b"whole\ntor")
    store.append_log("kept", 0, b"kept\n")
    store.append_log("replaced", 0, b"old content\n")
    store.write_file("gone", b"removed by the change")
    store.write_file("log.txt", b"line 1\n")
    store.write_file("meta.json", b'{"title":"old"}')


def change(batch: Batch) -> None:
    """Stage one change of every kind; with them a filled store becomes `CHANGED`."""
    batch.write_file("recovered/cut.part", b"tor")
    batch.cut_log("cut", 9, 6)
    batch.append_log("cut", 6, b"more\n")
    batch.append_log("added", 4, b"new\n")
    batch.open_append("added", 8).write(b"newer\n")
    batch.open_log_new("begun", 0).write(b"begun\n")
    batch.replace_log("replaced", 12, b"other\n")
    batch.open_file("blobs/new.png").write(b"pixels")
    batch.append_file("log.txt", b"line 2\n")
    batch.write_file("meta.json", b'{"title":"new"}')
    batch.remove_file("gone")


def change_and_leave(batch: Batch) -> None:
    """Do `change`, and leave the block by an exception."""
    change(batch)
    raise Interrupt


def contents(store: Store) -> Contents:
    """Return all that *store* holds."""
    return {
        "logs": {name: store.read_log(name) for name in store.logs()},
        "files": {name: store.read_file(name) for name in store.files()},
    }


def _race(open_store: OpenStore, *, threads: int, rounds: int) -> list[int]:
    """Let *threads* threads append at the same length, *rounds* times; count who won."""
    wins = []
    for turn in range(rounds):
        gate = threading.Barrier(threads)
        won: list[int] = []

        def run(number: int, turn: int = turn, gate: threading.Barrier = gate) -> None:
            store = open_store()
            gate.wait()
            try:
                store.append_log("a", turn * 4, b"%03d\n" % number)
            except LogChanged:
                return
            won.append(number)  # noqa: B023  # joined before the next round

        workers = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        wins.append(len(won))
    return wins
