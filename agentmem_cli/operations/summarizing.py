"""Where a summary comes from: a text, a command, or the embedded summarizer."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import UsageError
from agentmem_cli.session.codec import loads
from agentmem_cli.session.refusals import CalledTool, SummarizerFailed, TooLong

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentmem_cli.session.codec import JSON
    from agentmem_cli.session.summarizer import Summarizer, SummaryRequest

SYSTEM_VARIABLE: Final = "AGENTMEM_SYSTEM"
"""The environment variable that a command finds the system prompt in."""

MAX_TOKENS_VARIABLE: Final = "AGENTMEM_MAX_TOKENS"
"""The one that says how many tokens the summary may take."""

TIME_LIMIT_S: Final = 600.0
"""Seconds that a command may take, unless told otherwise: a slow model on a laptop."""

_OUTPUT_BYTES_PER_TOKEN: Final = 16
_CHUNK_BYTES: Final = 1 << 16
_TAIL_BYTES: Final = 2_000
_GRACE_S: Final = 2.0


class GivenText(NamedTuple):
    """A summary that somebody wrote."""

    text: str


class Embedded(NamedTuple):
    """The embedded summarizer: rules, no model."""


class Command(NamedTuple):
    """A program that is given the request and prints the summary."""

    words: tuple[str, ...]
    environ: Mapping[str, str]
    """The environment it gets, but for the two variables of ours."""
    limit_s: float = TIME_LIMIT_S


Source = GivenText | Embedded | Command


def command_of(line: str, environ: Mapping[str, str], limit_s: float) -> Command:
    """Read a command line into words, as a shell would; no shell is started.

    Raises:
        UsageError: There are no words, or a quote is not closed.
    """
    try:
        words = tuple(shlex.split(line))
    except ValueError as error:
        msg = f"the summarizer {line!r} cannot be read: {error}"
        raise UsageError(msg) from None
    if not words:
        msg = "the summarizer is empty"
        raise UsageError(msg)
    return Command(words, environ, limit_s)


def run_command(command: Command, request: SummaryRequest, summarizer: Summarizer) -> str:
    """Run a command and return the summary that it prints.

    It gets the request's text on its standard input. It runs in a process
    group of its own, and when it takes too long, prints too much, or this
    program is interrupted, the whole group is killed.

    Raises:
        SummaryError: It cannot be started, failed, took too long, or printed
            nothing, too much, or a tool call.
    """
    most_bytes = max(1, request.max_tokens) * _OUTPUT_BYTES_PER_TOKEN
    running = _start(command, request)
    try:
        output, tail = running.wait(command.limit_s, most_bytes)
    finally:
        running.kill()
    name = command.words[0]
    if output is None:
        msg = f"{name} took longer than {command.limit_s:g} s and was stopped"
        raise SummarizerFailed(msg, hint="--time-limit gives it more. Nothing was changed.")
    if len(output) > most_bytes:
        raise TooLong(len(output) // 4, request.max_tokens)
    status = running.process.returncode
    if status != 0:
        told = f"{name} ended with the status {status}" if status > 0 else f"{name} was killed"
        msg = f"{told}: {tail}" if tail else told
        hint = _SHELL if _SHELL_WORDS.intersection(command.words) else ""
        raise SummarizerFailed(msg, hint=hint or None)
    try:
        text = output.decode("utf-8")
    except UnicodeDecodeError as error:
        msg = f"{name} printed no UTF-8 (byte {error.start})"
        raise SummarizerFailed(msg) from None
    refuse_call(text)
    return summarizer.read_answer(text, request.max_tokens)


_SHELL_WORDS: Final = frozenset({"|", ">", "<", "&&", "||", ";", "2>", ">>"})
_SHELL: Final = "No shell is started; write one where it is needed, like: sh -c 'a | b'"


class _Running:
    """A started command, with the threads that feed and read it."""

    def __init__(self, process: subprocess.Popen[bytes], text: bytes) -> None:
        self.process = process
        self._output = bytearray()
        self._tail = bytearray()
        self._full = threading.Event()
        self._most = 0
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._feed = _thread(self._write, process.stdin, text)
        self._read = _thread(self._gather, process.stdout)
        self._errors = _thread(self._keep_tail, process.stderr)

    def wait(self, limit_s: float, most_bytes: int) -> tuple[bytes | None, str]:
        """Return what it printed (None: it took too long) and the end of what it complained."""
        self._most = most_bytes
        for thread in (self._feed, self._read, self._errors):
            thread.start()
        self._read.join(limit_s)
        if self._read.is_alive():
            return None, ""
        if not self._full.is_set():
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(limit_s)
            if self.process.returncode is None:
                return None, ""
            self._errors.join(_GRACE_S)
        lines = bytes(self._tail).decode("utf-8", "replace").strip().splitlines()
        return bytes(self._output), lines[-1].strip() if lines else ""

    def kill(self) -> None:
        """End the command and all that it started."""
        with suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self.process.kill()
            else:
                # Why also when it has ended: what it started may go on without it.
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for thread in (self._feed, self._read, self._errors):
            if thread.is_alive():
                thread.join(_GRACE_S)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with suppress(OSError):
                    stream.close()

    def _gather(self, stream: IO[bytes]) -> None:
        with suppress(OSError, ValueError):
            while len(self._output) <= self._most:
                data = os.read(stream.fileno(), _CHUNK_BYTES)
                if not data:
                    return
                self._output += data
        self._full.set()

    def _keep_tail(self, stream: IO[bytes]) -> None:
        with suppress(OSError, ValueError):
            while data := os.read(stream.fileno(), _CHUNK_BYTES):
                self._tail += data
                del self._tail[:-_TAIL_BYTES]

    @staticmethod
    def _write(stream: IO[bytes], text: bytes) -> None:
        # Why quiet: a command need not read all that it is given.
        with suppress(OSError, ValueError):
            stream.write(text)
        with suppress(OSError, ValueError):
            stream.close()


def _thread(work: object, *arguments: object) -> threading.Thread:
    assert callable(work)
    return threading.Thread(target=work, args=arguments, daemon=True)


def _start(command: Command, request: SummaryRequest) -> _Running:
    environ = {
        **command.environ,
        SYSTEM_VARIABLE: request.system,
        MAX_TOKENS_VARIABLE: str(request.max_tokens),
    }
    try:
        process = subprocess.Popen(  # noqa: S603 - the person's own command, by words
            command.words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environ,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        told = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        msg = f"{command.words[0]} cannot be started: {told}"
        raise SummarizerFailed(msg) from error
    return _Running(process, request.text.encode("utf-8", "replace"))


_CALLS: Final = frozenset({"tool_calls", "function_call", "tool_use"})
_TYPES: Final = frozenset({"tool_use", "toolcall", "tool_call", "function_call", "toolCall"})
_TAGS: Final = ("<tool_call", "<function_call", "<tool_use", "<|tool", "[TOOL_CALLS]")


def refuse_call(text: str) -> None:
    """Refuse a printed answer that is a tool call instead of a summary, or ends with one.

    Raises:
        CalledTool: It is, or does.
    """
    lines = text.strip().splitlines()
    for start in range(max(0, len(lines) - _CALL_LINES), len(lines)):
        if lines[start].lstrip().startswith(_OPENINGS):
            _refuse_whole_call("\n".join(lines[start:]).strip())


_CALL_LINES: Final = 100
"""Lines of the end of an answer that a tool call may begin at."""

_OPENINGS: Final = ("{", "[", "```", *_TAGS)


def _refuse_whole_call(text: str) -> None:
    if text.startswith(_TAGS) and (text.endswith((">", "]", "}")) or "\n" not in text):
        raise CalledTool
    if text.startswith("```"):
        text = text.partition("\n")[2].removesuffix("```").strip()
    if text[:1] not in ("{", "[") or text[-1:] not in ("}", "]"):
        return
    try:
        value = loads(text.encode("utf-8", "surrogatepass"))
    except ValueError:
        return
    items: list[JSON] = value if isinstance(value, list) else [value]
    for item in items:
        if isinstance(item, dict) and (item.keys() & _CALLS or item.get("type") in _TYPES):
            name = item.get("name")
            raise CalledTool(name if isinstance(name, str) else None)
