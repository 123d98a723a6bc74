"""`import --watch`: sources that grow while it runs, as a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.operations.imports import folders
from agentmem_cli.operations.imports.importing import import_one
from tests.cli.running import ok, run
from tests.unit.imports.building import header, lines, put, user

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem_cli.operations.imports.importing import Options
    from agentmem_cli.operations.imports.report import Report
    from tests.cli.running import Value

PROJECT = Path(__file__).resolve().parents[2]
PATIENCE_S = 40.0
_COMMAND = (sys.executable, "-m", "agentmem_cli", "import", "--watch", "--interval=0.05", "--json")

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there is no SIGINT to send there")


class Watching:
    """A watch that runs, and what it has printed so far."""

    def __init__(self, *words: str | Path) -> None:
        self.process = subprocess.Popen(
            [*_COMMAND, *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(PROJECT), "PYTHONUNBUFFERED": "1"},
        )
        self.printed: list[Value] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.printed.append(json.loads(line))

    def until(self, count: int) -> list[Value]:
        """Wait until *count* objects were printed; return them."""
        end = time.monotonic() + PATIENCE_S
        while len(self.printed) < count and time.monotonic() < end:
            time.sleep(0.02)
        return list(self.printed)

    def end(self, number: int = signal.SIGINT) -> tuple[int, str]:
        """Press Ctrl-C, or send another signal; return the status and what was told."""
        self.process.send_signal(number)
        assert self.process.stderr is not None
        told = self.process.stderr.read().decode()
        status = self.process.wait(PATIENCE_S)
        self._thread.join(PATIENCE_S)
        return status, told

    def close(self) -> None:
        """Leave nothing of it behind."""
        self.process.kill()
        self.process.wait(PATIENCE_S)
        self._thread.join(PATIENCE_S)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    put(tmp_path / "src" / "a.jsonl", lines(header(id="a"), user(1, "one")))
    return tmp_path / "src"


@pytest.fixture
def watching(folder: Path) -> Iterator[Watching]:
    watch = Watching(folder)
    yield watch
    watch.close()


def _grow(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_what_is_added_is_imported_and_new_files_are_taken(
    folder: Path, watching: Watching
) -> None:
    first = watching.until(1)
    _grow(folder / "a.jsonl", lines(user(2, "two")))
    second = watching.until(2)
    put(folder / "deep" / "b.jsonl", lines(header(id="b"), user(1, "hello")))
    third = watching.until(3)
    status, told = watching.end()

    assert [value["session"] for value in third] == ["pi-a", "pi-a", "pi-b"]
    assert [value["new"] for value in (*first, *second[1:], *third[2:])] == [2, 1, 2]
    assert status == 130
    assert "5 new in 2 sources" in told
    assert [row["messages"] for row in ok("list", "--json", "--sort", "id").objects] == [2, 1]


def test_half_a_line_waits_until_it_is_whole(folder: Path, watching: Watching) -> None:
    watching.until(1)
    line = lines(user(2, "two"))
    _grow(folder / "a.jsonl", line[:30])
    time.sleep(0.3)
    _grow(folder / "a.jsonl", line[30:])
    printed = watching.until(2)
    status, told = watching.end()

    assert [value["new"] for value in printed] == [2, 1]
    assert status == 130
    assert "cut off" not in told


def test_files_without_a_message_yet_are_counted_at_the_end(
    folder: Path, watching: Watching
) -> None:
    put(folder / "b.jsonl", b"")
    put(folder / "c.jsonl", lines(header(id="c")))
    put(folder / "d.jsonl", lines(header(id="d"), user(1, "hello")))
    watching.until(2)
    status, told = watching.end()

    assert status == 130
    assert told.count("2 files without a message yet") == 1
    assert "jsonl" not in told


def test_a_file_without_a_message_yet_is_no_trouble(folder: Path, watching: Watching) -> None:
    watching.until(1)
    path = put(folder / "b.jsonl", b"")
    time.sleep(0.2)
    _grow(path, lines(header(id="b"), user(1, "hello")))
    printed = watching.until(2)
    _, told = watching.end()

    assert [value["session"] for value in printed] == ["pi-a", "pi-b"]
    assert "b.jsonl" not in told


def test_what_cannot_be_read_to_the_end_is_told_at_the_end(
    folder: Path, watching: Watching
) -> None:
    put(folder / "c.jsonl", b'{"no":"transcript"}\n')
    put(folder / "d.jsonl", lines(header(id="d"), user(1, "hello")))
    watching.until(2)
    status, told = watching.end()

    assert status == 130
    assert told.count("c.jsonl: 1 line, no message recognised") == 1


def test_nothing_is_printed_where_nothing_is_new(folder: Path, watching: Watching) -> None:
    watching.until(1)
    (folder / "a.jsonl").touch()
    put(folder / "b.jsonl", lines(header(id="b"), user(1, "hello")))
    printed = watching.until(2)
    status, told = watching.end()

    assert [value["session"] for value in printed] == ["pi-a", "pi-b"]
    assert status == 130
    assert "4 new in 2 sources" in told


def test_what_becomes_of_imported_sources_is_told_once(folder: Path, watching: Watching) -> None:
    whole = lines(header(id="b"), user(1, "one"), user(2, "two"))
    put(folder / "b.jsonl", whole)
    put(folder / "c.jsonl", lines(header(id="c"), user(1, "hello")))
    watching.until(3)
    (folder / "a.jsonl").unlink()
    (folder / "b.jsonl").write_bytes(lines(header(id="b"), user(1, "one")))
    (folder / "c.jsonl").write_bytes(b"garbage\n")
    put(folder / "d.jsonl", lines(header(id="d"), user(1, "hello")))
    watching.until(4)
    put(folder / "e.jsonl", lines(header(id="e"), user(1, "hello")))
    watching.until(5)
    status, told = watching.end()

    assert status == 130
    assert told.count(f"{folder / 'a.jsonl'}: gone; what was imported of it stays") == 1
    assert told.count("b.jsonl: an older copy of what was imported") == 1
    assert told.count("c.jsonl: 1 line, no message recognised") == 1
    assert sorted(row["messages"] for row in ok("list", "--json").objects) == [1, 1, 1, 1, 2]


def test_a_watch_that_is_told_to_end_tells_what_it_brought(watching: Watching) -> None:
    watching.until(1)
    status, told = watching.end(signal.SIGTERM)

    assert status == 130
    assert "2 new in 1 source" in told


def test_what_is_imported_when_an_interrupt_comes_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(folder / "b.jsonl", lines(header(id="b"), user(1, "hello")))

    def interrupted(path: Path, root: Path, options: Options, *, kind: str | None = None) -> Report:
        report = import_one(path, root, options, kind=kind)
        signal.raise_signal(signal.SIGINT)
        return report

    monkeypatch.setattr(folders, "import_one", interrupted)
    done = run("import", folder, "--json")

    assert done.status == 130
    assert [value["session"] for value in done.objects] == ["pi-a"]
    assert [row["id"] for row in ok("list", "--json").objects] == ["pi-a"]


@pytest.mark.parametrize("option", ["--dry-run", "--again"])
def test_a_watch_goes_with_no_dry_run_and_no_again(folder: Path, option: str) -> None:
    done = run("import", folder, "--watch", option)

    assert done.status == 2
    assert option in done.err


def test_an_interval_of_nothing_is_refused(folder: Path) -> None:
    assert run("import", folder, "--watch", "--interval", "0").status == 2
