"""The command line in this process, and sessions written byte by byte."""

from __future__ import annotations

import io
import json
import os
import socket
import stat
import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from agentmem_cli._entry import main
from agentmem_cli.session.codec import dumps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from agentmem_cli.session.codec import JSON, Object

BASE_MS = 1_767_225_600_000
"""2026-01-01T00:00:00Z: the time of the first record."""

SECOND_MS = 1_000

Value = dict[str, Any]


class Done(NamedTuple):
    """What a command came to."""

    status: int
    stdout: bytes
    stderr: bytes

    @property
    def out(self) -> str:
        return self.stdout.decode()

    @property
    def err(self) -> str:
        return self.stderr.decode()

    @property
    def objects(self) -> list[Value]:
        """The JSON objects on standard output, one a line."""
        return [json.loads(line) for line in self.stdout.splitlines()]

    @property
    def object(self) -> Value:
        """The only JSON object on standard output."""
        (one,) = self.objects
        return one

    @property
    def error(self) -> Value:
        """The JSON error on standard error."""
        value: Value = json.loads(self.stderr.splitlines()[-1])["error"]
        return value


@contextmanager
def _stream(name: str, data: bytes = b"") -> Iterator[io.BytesIO]:
    held = io.BytesIO(data)
    before = getattr(sys, name)
    setattr(sys, name, io.TextIOWrapper(held, "utf-8"))
    try:
        yield held
    finally:
        # Why: the wrapper would close what it holds before it is read.
        getattr(sys, name).detach()
        setattr(sys, name, before)


def run(*words: str | Path, stdin: bytes = b"") -> Done:
    """Run a command in this process, with no terminal anywhere."""
    with ExitStack() as stack:
        stack.enter_context(_stream("stdin", stdin))
        out = stack.enter_context(_stream("stdout"))
        err = stack.enter_context(_stream("stderr"))
        status = main([str(word) for word in words])
        sys.stdout.flush()
        sys.stderr.flush()
        return Done(status, out.getvalue(), err.getvalue())


def ok(*words: str | Path, stdin: bytes = b"") -> Done:
    """Run a command that must end with 0."""
    done = run(*words, stdin=stdin)
    assert done.status == 0, done
    return done


def as_stranger(work: Callable[[], int]) -> int:
    """Do *work* in a process that owns nothing here, where this one may become that."""
    child = os.fork()
    if child == 0:
        status = 99
        try:
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(65_534)
                os.setuid(65_534)
            status = work()
        finally:
            os._exit(status)
    _, ended = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(ended)


# -- records ---------------------------------------------------------------


def at(second: float) -> int:
    """The time of a second after BASE_MS, in ms."""
    return BASE_MS + int(second * SECOND_MS)


def header(log: str = "main", *, n: int = 0, t: int = BASE_MS, **more: JSON) -> bytes:
    fields: Object = {"format": "rig-session/4", "log": log, "lineage": 7_000_001}
    return dumps({"seq": 0, "n": n, "t": t, "type": "header", **fields, **more})


def record(
    seq: int, kind: str, *, n: int | None = None, t: int | None = None, **more: JSON
) -> bytes:
    """One record; *n* is *seq* and *t* that many seconds where they are not given."""
    stamp: Object = {"seq": seq, "n": seq if n is None else n, "t": at(seq) if t is None else t}
    return dumps({**stamp, "type": kind, **more})


def message(role: str, text: str, **more: JSON) -> Object:
    return {"role": role, "content": [{"type": "text", "text": text}], **more}


def make_socket(place: Path) -> None:
    """Make a socket that nobody listens at."""
    here = os.open(".", os.O_RDONLY)
    try:
        os.chdir(place.parent)  # its path may be too long for a socket
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(place.name)
    finally:
        os.fchdir(here)
        os.close(here)


def said(seq: int, text: str, role: str = "user", *, id_: int | None = None, **stamp: int) -> bytes:
    """The record of one message with a text; its id is one less than *seq* if not given."""
    return pushed(seq, message(role, text), id_=id_, **stamp)


def pushed(seq: int, value: Object, *, id_: int | None = None, **stamp: int) -> bytes:
    entry: Object = {"message": value, "id": seq - 1 if id_ is None else id_}
    return record(seq, "push", entries=[entry], **stamp)


def turns(count: int, log: str = "main") -> list[bytes]:
    """A header and *count* messages: text 1 of the user, text 2 of the model, and so on."""
    numbers = range(1, count + 1)
    said_ones = [said(seq, f"text {seq}", "user" if seq % 2 else "assistant") for seq in numbers]
    return [header(log), *said_ones]


def join(lines: list[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def write(root: Path, session: str, log: str, data: bytes) -> Path:
    """Write a log as another program would, private as ours are; return its path."""
    logs = root / session / "logs"
    for folder in (root, root / session, logs):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = logs / f"{log}.jsonl"
    path.write_bytes(data)
    path.chmod(0o600)
    return path


def write_meta(root: Path, session: str, data: bytes) -> Path:
    files = root / session / "files"
    files.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = files / "meta.json"
    path.write_bytes(data)
    path.chmod(0o600)
    return path


def tree(folder: Path) -> dict[str, tuple[int, int, int, bytes]]:
    """Everything beneath *folder* (and itself): mode, time, size, bytes."""
    found = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        seen = path.lstat()
        data = path.read_bytes() if stat.S_ISREG(seen.st_mode) else b""
        found[str(path.relative_to(folder))] = (seen.st_mode, seen.st_mtime_ns, len(data), data)
    return found


def texts(shown: list[Value]) -> list[str]:
    """The texts of the messages among what `show --json` printed."""
    found = []
    for value in shown:
        if value["schema"] == "agentmem.message/1":
            parts = value["message"]["content"]
            found.append(
                parts if isinstance(parts, str) else "".join(p.get("text", "") for p in parts)
            )
    return found
