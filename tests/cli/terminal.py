"""A command as a process whose output goes to a terminal of a certain width."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]

_MOVES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def on_terminal(words: list[str], *, columns: int, rows: int = 60, **more: str) -> list[str]:
    """Run a command with standard output and error on a terminal; return its lines, uncoloured."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    environ = {
        name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")
    }
    environ |= {"PYTHONPATH": str(PROJECT), "TERM": "xterm", "PAGER": "cat", **more}
    with subprocess.Popen(
        [sys.executable, "-m", "agentmem_cli", *words],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env=environ,
    ) as running:
        os.close(theirs)
        told = b""
        while data := _read(ours):
            told += data
        running.wait()
    os.close(ours)
    return _MOVES.sub("", told.decode()).replace("\r", "").splitlines()


def _read(descriptor: int) -> bytes:
    # A terminal whose last writer has gone is an error on Linux and an end on macOS.
    try:
        return os.read(descriptor, 65_536)
    except OSError:
        return b""


def in_process(words: list[str], *, stdin: bytes = b"") -> tuple[int, str, str]:
    """Run a command as a process of its own; return its status, output and errors."""
    done = subprocess.run(
        [sys.executable, "-m", "agentmem_cli", *words],
        input=stdin,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        timeout=50,
        check=False,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()
