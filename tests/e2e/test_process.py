"""The program as a process: pipes, disks, signals, locales and terminals."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import agentmem_cli

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.e2e

PROJECT = Path(__file__).resolve().parents[2]
# The entry that the installed script has, with the commands of the tests added.
PROGRAM = (
    "import sys; from agentmem_cli._entry import command\n"
    "if sys.argv[1:] != ['--version']:\n"
    "    from agentmem_cli.cli import app; from tests.e2e.commands import PLACES\n"
    "    app.COMMANDS.update(PLACES)\n"
    "command()"
)
COMMAND = [sys.executable, "-c", PROGRAM]


def _environ(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(PROJECT), **more}


def _run(
    *words: str, stdout: int = subprocess.PIPE, **more: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*COMMAND, *words],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=_environ(**more),
        timeout=50,
        check=False,
    )


@pytest.fixture
def closed_pipe() -> Iterator[int]:
    """A pipe's end for writing, whose reader has gone."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


@pytest.mark.parametrize(
    "words", [("--version",), ("--help",), ("lines",), ("lines", "--json", "--count", "100000")]
)
def test_a_reader_that_has_gone_is_no_error(words: tuple[str, ...], closed_pipe: int) -> None:
    done = _run(*words, stdout=closed_pipe)

    assert done.returncode == 0
    assert done.stderr == b""


def test_a_reader_that_leaves_in_the_middle_is_no_error() -> None:
    with subprocess.Popen(
        [*COMMAND, "lines", "--count", "1000000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_environ(),
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        first = running.stdout.readline()
        running.stdout.close()
        told = running.stderr.read()

    assert first == b"line 0\n"
    assert told == b""
    assert running.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("words", [("--version",), ("--help",), ("lines",), ("lines", "--json")])
def test_a_full_disk_is_an_error(words: tuple[str, ...]) -> None:
    full = os.open("/dev/full", os.O_WRONLY)

    done = _run(*words, stdout=full)

    os.close(full)
    assert done.returncode == 2
    assert b"No space left on device" in done.stderr
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


@pytest.mark.parametrize("words", [("--version",), ("lines",)])
def test_standard_output_that_is_closed_is_an_error(words: tuple[str, ...]) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *COMMAND, *words],
        stderr=subprocess.PIPE,
        env=_environ(),
        timeout=50,
        check=False,
    )

    assert done.returncode == 2
    assert done.stderr == b"agentmem: error: standard output: Bad file descriptor\n"


def test_ctrl_c_ends_with_130_and_one_line() -> None:
    with subprocess.Popen(
        [*COMMAND, "wait"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=_environ()
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.readline()
        running.send_signal(signal.SIGINT)
        told = running.stderr.read()

    assert running.returncode == 130
    assert told == b"agentmem: error: interrupted\n"


def test_an_ascii_locale_changes_no_byte() -> None:
    done = _run(
        "lines",
        "--count",
        "1",
        "--wide",
        LC_ALL="C",
        PYTHONIOENCODING="ascii",
        PYTHONUTF8="0",
        PYTHONCOERCECLOCALE="0",
    )

    assert done.stderr == b""
    assert done.stdout == "Grüße ☃ 0\n".encode()


def test_an_error_is_told_in_an_ascii_locale() -> None:
    done = _run("nosuch☃", LC_ALL="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0")

    assert done.returncode == 2
    assert done.stderr.startswith(b"agentmem: error: no such command 'nosuch")


def test_python_without_checks_is_refused() -> None:
    done = _run("lines", PYTHONOPTIMIZE="1")

    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.startswith(b"agentmem: error: python -O")


def test_the_module_runs_as_the_program_does() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "agentmem_cli", "--version"],
        stdout=subprocess.PIPE,
        env=_environ(),
        timeout=50,
        check=True,
    )

    assert done.stdout.decode() == f"agentmem {agentmem_cli.__version__}\n"


def test_tab_asks_for_sessions_without_typer(root: Path) -> None:
    (root / "pi-1").mkdir(parents=True)

    done = _run("__complete", "sessions", "0", "", "", "", "p")

    assert done.stdout == b"pi-1\n"


def _on_terminal(words: list[str], **more: str) -> tuple[int, bytes]:
    """Run the program on a terminal of 24 lines and return its status and output."""
    controller, terminal = pty.openpty()
    running = subprocess.Popen(
        [*COMMAND, *words],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env=_environ(LINES="24", COLUMNS="80", TERM="xterm", **more),
    )
    os.close(terminal)
    parts = []
    while True:
        try:
            part = os.read(controller, 1 << 16)
        except OSError:
            break
        if not part:
            break
        parts.append(part)
    os.close(controller)
    return running.wait(50), b"".join(parts)


@pytest.fixture
def pager(tmp_path: Path) -> Path:
    """A pager that says what it was given: the number of lines."""
    program = tmp_path / "pager"
    program.write_text("#!/bin/sh\necho paged $(wc -l)\n")
    program.chmod(0o700)
    return program


def test_a_tall_text_is_paged_on_a_terminal(pager: Path) -> None:
    status, shown = _on_terminal(["lines", "--count", "100"], PAGER=str(pager))

    assert status == 0
    assert shown == b"paged 100\r\n"


def test_a_short_text_is_not_paged(pager: Path) -> None:
    status, shown = _on_terminal(["lines", "--count", "2"], PAGER=str(pager))

    assert status == 0
    assert shown == b"line 0\r\nline 1\r\n"


@pytest.mark.parametrize(("words", "value"), [(["--no-pager"], "pager"), ([], "")])
def test_the_pager_can_be_declined(words: list[str], value: str, pager: Path) -> None:
    program = str(pager) if value else ""

    status, shown = _on_terminal([*words, "lines", "--count", "100"], PAGER=program)

    assert status == 0
    assert shown.count(b"\r\n") == 100


def test_a_pager_that_is_left_is_no_error(tmp_path: Path) -> None:
    program = tmp_path / "pager"
    program.write_text("#!/bin/sh\nread line; echo first $line\n")
    program.chmod(0o700)

    status, shown = _on_terminal(["lines", "--count", "1000000"], PAGER=str(program))

    assert status == 0
    assert shown == b"first line 0\r\n"


def test_json_errors_of_the_program_are_one_line() -> None:
    done = _run("fail", "busy", "--json")

    error = json.loads(done.stderr)["error"]
    assert done.returncode == 4
    assert error["kind"] == "busy"


ENDINGS = """
import io, sys
from agentmem_cli import _entry
how = sys.argv[1]
def main():
    sys.stdout.write("told")
    if how == "interrupted":
        raise KeyboardInterrupt
    if how == "full":
        sys.stdout = open("/dev/full", "w")
        sys.stdout.write("x")
    return 7
_entry.main = main
_entry.command()
"""
"""Ends as a command does whose status is 7, unless something comes between."""


@pytest.mark.parametrize(
    ("how", "status"),
    [
        ("plainly", 7),
        ("interrupted", 130),
        pytest.param(
            "full",
            2,
            marks=pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full"),
        ),
    ],
)
def test_a_process_ends_with_the_status_once_all_is_told(how: str, status: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDINGS, how], capture_output=True, env=_environ(), check=False
    )

    assert done.returncode == status
    assert done.stderr == b""
    assert how != "plainly" or done.stdout == b"told"


def test_a_process_waits_for_no_thread_that_goes_on() -> None:
    program = (
        "import threading, time\nfrom agentmem_cli import _entry\n"
        "threading.Thread(target=time.sleep, args=(600,)).start()\n"
        "_entry.main = lambda: 0\n_entry.command()"
    )

    done = subprocess.run([sys.executable, "-c", program], env=_environ(), timeout=30, check=False)

    assert done.returncode == 0
