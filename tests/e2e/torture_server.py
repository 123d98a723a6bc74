"""Where the commands of the fault harness run: forked from one process, or each on its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple, Self

PROJECT = Path(__file__).resolve().parents[2]

WRAPPER = '''\
"""Ends the process at the call of a number, and tells each call that is made."""

import os
import signal

at = int(os.environ.get("TORTURE_AT", "0"))
listed = os.environ.get("TORTURE_CALLS", "")
count = 0
told = open(listed, "w", buffering=1) if listed else None


def wrapped(name, real):
    def call(*words, **named):
        global count
        count += 1
        if count == at:
            os.kill(os.getpid(), signal.SIGKILL)
        if told:
            told.write(name + "\\n")
        return real(*words, **named)

    return call


if at or listed:
    for name in ("replace", "unlink", "write"):
        setattr(os, name, wrapped(name, getattr(os, name)))
'''
"""A `sitecustomize` of its own, which Python loads before the program."""


class Ended(NamedTuple):
    """How a command ended."""

    status: int
    hit: bool
    out: str
    err: str

    @property
    def killed(self) -> bool:
        return self.status == -signal.SIGKILL


class Server:
    """The process that commands are forked from."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.e2e.fork_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(PROJECT), "TZ": "UTC"},
            cwd=PROJECT,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()

    def run(
        self,
        root: Path,
        *words: str,
        stdin: bytes = b"",
        seed: str = "first",
        at: int = 0,
        how: str = "",
        calls: str = "",
        held: int | None = None,
    ) -> Ended:
        """Run a command on the sessions in *root*; see `fork_server` for what is named."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        given = self.folder / "stdin"
        given.write_bytes(stdin)
        told = {name: self.folder / name for name in ("out", "err")}
        request = {
            "words": _words(root, words),
            "stdin": str(given),
            "out": str(told["out"]),
            "err": str(told["err"]),
            "environ": {"AGENTMEM_CONFIG": str(root.parent / "config")},
            "seed": seed,
            "at": at,
            "how": how,
            "calls": calls,
            "held": held,
        }
        self._process.stdin.write(json.dumps(request).encode() + b"\n")  # noqa: TID251 - no record
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        out, err = (path.read_text() for path in told.values())
        return Ended(answer["status"], answer["hit"], out, err)


class Started(Server):
    """A server whose commands that are to fail are processes of their own, by the real entry."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        (folder / "wrapper").mkdir()
        (folder / "wrapper/sitecustomize.py").write_text(WRAPPER)

    def run(
        self,
        root: Path,
        *words: str,
        stdin: bytes = b"",
        seed: str = "first",
        at: int = 0,
        how: str = "",
        calls: str = "",
        held: int | None = None,
    ) -> Ended:
        """Run a command, in a process of its own where it is to be killed or its calls told."""
        if not at and not calls:
            return super().run(root, *words, stdin=stdin, seed=seed, held=held)
        assert how in {"", "KILL"}
        done = subprocess.run(
            [sys.executable, "-m", "agentmem_cli", *_words(root, words)],
            input=stdin,
            capture_output=True,
            env={
                **os.environ,
                "PYTHONPATH": f"{self.folder / 'wrapper'}{os.pathsep}{PROJECT}",
                "TZ": "UTC",
                "AGENTMEM_CONFIG": str(root.parent / "config"),
                "TORTURE_AT": str(at),
                "TORTURE_CALLS": calls,
            },
            cwd=PROJECT,
            timeout=50,
            check=False,
        )
        if calls:
            told = Path(calls).read_text().split()
            Path(calls).write_text(json.dumps(told))  # noqa: TID251 - no record
        hit = done.returncode == -signal.SIGKILL
        return Ended(done.returncode, hit, done.stdout.decode(), done.stderr.decode())


def _words(root: Path, words: tuple[str, ...]) -> list[str]:
    beside = (str(root.parent / word[3:]) if word.startswith("../") else word for word in words)
    return ["--root", str(root), *beside]
