"""Runs commands in processes that are forked from one in which everything is imported.

`python -m tests.e2e.fork_server` reads one JSON object a line and answers each with one. A
command runs by the program's own entry, in a process of its own with files for its standard
streams; one of its calls that touch the disk can be made to fail, or to end the process.
"""

from __future__ import annotations

import builtins
import errno
import fcntl
import gc
import hashlib
import importlib
import io
import itertools
import json
import mmap
import os
import pkgutil
import signal
import sys
import time
from typing import TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

CALLS: Final = (
    "open",
    "write",
    "fsync",
    "replace",
    "rename",
    "unlink",
    "ftruncate",
    "mkdir",
    "rmdir",
    "link",
    "fchmod",
    "flock",
)
"""The calls that are counted; an ``open`` to write, Python's own too, is told as ``make``."""

PATIENCE_S: Final = 60
"""Seconds after which a command that does not end is killed by ``SIGALRM``."""

NOW_NS: Final = 1_800_000_000_000_000_000

Answer = dict[str, Any]
Words = tuple[object, ...]

_CHANGES: Final = frozenset(
    {
        *("write", "fsync", "replace", "rename", "unlink", "ftruncate", "mkdir", "rmdir", "link"),
        "fchmod",
    }
)
_GROWS: Final = frozenset({"write", "mkdir", "link"})
_CREATES: Final = os.O_CREAT | os.O_TRUNC


class Fault:
    """What happens at the call with number ``at`` (from 1), and after it where it lasts.

    ``how`` is the name of an error number; or ``SHORT`` (half of a write is made), ``KILL`` and
    ``SIGINT`` (before the call), ``LATE`` (killed after it), ``TORN`` (killed after half of a
    write), ``FULL`` (from here on nothing grows), ``READONLY`` (from here on nothing changes).
    """

    def __init__(self, at: int, how: str, counter: mmap.mmap) -> None:
        self.at = at
        self.how = how
        self.calls: list[str] = []
        self._counter = counter
        self._real: dict[str, Callable[..., object]] = {}

    def install(self) -> None:
        for name in CALLS:
            place: Any = fcntl if name == "flock" else os
            real = self._real[name] = getattr(place, name)
            setattr(place, name, self._wrapped(name, real))
        real = builtins.open
        opening: Any = self._wrapped("open", real)
        builtins.open = io.open = opening

    def _wrapped(self, name: str, real: Callable[..., object]) -> Callable[..., object]:
        def call(*words: object, **named: object) -> object:
            creates = name == "open" and len(words) > 1 and _writes(words[1])
            self.calls.append("make" if creates else name)
            count = len(self.calls)
            if count == self.at:
                self._counter[0] = 1
                return self._act(name, real, words, named)
            if count > self.at > 0 and self.how in {"FULL", "READONLY"}:
                self._lasting(name, words)
            if name == "fsync":
                return None  # a process that dies loses nothing it wrote
            return real(*words, **named)

        return call

    def _act(
        self, name: str, real: Callable[..., object], words: Words, named: Mapping[str, object]
    ) -> object:
        how = self.how
        if how in {"FULL", "READONLY"}:
            self._lasting(name, words)
        elif how == "KILL":
            os.kill(os.getpid(), signal.SIGKILL)
        elif how == "SIGINT":
            os.kill(os.getpid(), signal.SIGINT)
        elif how in {"SHORT", "TORN"} and name == "write":
            descriptor, data = words
            assert isinstance(data, bytes | bytearray | memoryview)
            taken = real(descriptor, bytes(data)[: max(1, len(data) // 2)])
            if how == "TORN":
                os.kill(os.getpid(), signal.SIGKILL)
            return taken
        elif how == "LATE":
            real(*words, **named)
            os.kill(os.getpid(), signal.SIGKILL)
        elif hasattr(errno, how):
            number = getattr(errno, how)
            raise OSError(number, os.strerror(number))
        return real(*words, **named)

    def _lasting(self, name: str, words: Words) -> None:
        creates = name == "open" and len(words) > 1 and _makes(words[1])
        if self.how == "FULL" and (name in _GROWS or creates):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        writes = name == "open" and len(words) > 1 and _writes(words[1])
        if self.how == "READONLY" and (name in _CHANGES or writes):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))


def _makes(mode: object) -> bool:
    return bool(mode & _CREATES) if isinstance(mode, int) else "w" in str(mode) or "x" in str(mode)


def _writes(mode: object) -> bool:
    if isinstance(mode, int):
        return bool(mode & (os.O_WRONLY | os.O_RDWR | _CREATES))
    return any(letter in str(mode) for letter in "wxa+")


def _steady(seed: str) -> None:
    """Let the clock stand still, and chance be the same for the same *seed*."""
    drawn = itertools.count()
    moment = itertools.count(NOW_NS, 1_000_000)

    def urandom(size: int) -> bytes:
        digest = hashlib.shake_256(f"{seed} {next(drawn)}".encode())
        return digest.digest(size)

    os.urandom = urandom
    started = next(moment)
    time.time_ns = lambda: started


def _hold_no_more(most_bytes: int) -> None:
    """Let a change of *most_bytes* go the ways on the disk that one of 8 MiB goes."""
    for module, name in (("extending", "HELD"), ("spool", "BUDGET"), ("spool", "CHUNK")):
        held = importlib.import_module(f"agentmem_cli.storage.{module}")
        assert hasattr(held, f"{name}_BYTES")
        setattr(held, f"{name}_BYTES", most_bytes)


def _child(request: Mapping[str, Any], counter: mmap.mmap) -> NoReturn:
    from agentmem_cli._entry import main

    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.alarm(PATIENCE_S)
    for number, name in ((0, request["stdin"]), (1, request["out"]), (2, request["err"])):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        descriptor = os.open(name, flags, 0o600)
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), "utf-8")
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w", closefd=False)), "utf-8")
    sys.stderr = io.TextIOWrapper(io.BufferedWriter(io.FileIO(2, "w", closefd=False)), "utf-8")
    os.environ.update(request["environ"])
    os.umask(request.get("umask", 0o022))
    _steady(request["seed"])
    if request.get("held") is not None:
        _hold_no_more(request["held"])
    fault = Fault(request["at"], request["how"], counter)
    real_open, real_write = os.open, os.write
    fault.install()
    status = main(request["words"])
    sys.stdout.flush()
    sys.stderr.flush()
    if request.get("calls"):
        target = real_open(request["calls"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        real_write(target, json.dumps(fault.calls).encode())  # noqa: TID251 - no record
    os._exit(status)


def _forked(request: Mapping[str, Any], counter: mmap.mmap) -> Answer:
    counter[0] = 0
    child = os.fork()
    if child == 0:
        try:
            _child(request, counter)
        except BaseException:  # noqa: BLE001 - nothing of it may come back to the server
            import traceback

            traceback.print_exc()
            sys.stderr.flush()
            os._exit(99)
    _, status = os.waitpid(child, 0)
    return {"status": os.waitstatus_to_exitcode(status), "hit": bool(counter[0])}


def import_all() -> None:
    """Import every module of the program, and what it imports only when it needs it."""
    import agentmem_cli

    for found in pkgutil.walk_packages(agentmem_cli.__path__, "agentmem_cli."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
    for name in ("filelock", "filelock._native._unix", "platformdirs", "kingfisher_sdk", "orjson"):
        importlib.import_module(name)


def serve() -> None:
    """Answer requests until there are no more."""
    import_all()
    counter = mmap.mmap(-1, mmap.PAGESIZE)
    gc.freeze()  # what is here stays, and is not to be copied for each child's collector
    requests = sys.stdin
    answers = os.dup(1)
    for line in iter(requests.readline, ""):
        answer = _forked(json.loads(line), counter)
        os.write(answers, json.dumps(answer).encode() + b"\n")  # noqa: TID251 - no record


if __name__ == "__main__":
    serve()
