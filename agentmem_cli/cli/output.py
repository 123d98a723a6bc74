"""Standard output: the result of a command, whole, in UTF-8, whatever the locale.

An `Output` writes text and JSON lines; a `Paged` one shows them through a pager
once they are taller than the screen. Talk (warnings, hints) goes to standard
error through `warn`, and never ends a command.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO, Final

from agentmem_cli.cli import text as safe
from agentmem_cli.cli import waiting

if TYPE_CHECKING:
    from collections.abc import Mapping
    from subprocess import Popen
    from types import TracebackType

    from agentmem_cli.session.codec import JSON

STANDARD_OUTPUT: Final = "standard output"

# What JSON leaves as it is, but a terminal acts on or hides: DEL, C1 controls,
# and the UTF-8 of the characters that cli/text.py shows as <U+....>.
_DRIVING: Final = (
    rb"\x7f|\xc2[\x80-\x9f\xad]|\xd8\x9c|\xe1\xa0\x8e|\xe2\x80[\x8b-\x8f\xa8-\xae]|\xe2\x81[\xa0-\xaf]"
    rb"|\xef\xbb\xbf|\xef\xbf[\xb0-\xbb]|\xf3\xa0[\x80-\xbf][\x80-\xbf]"
)
_FLUSH_BYTES: Final = 1 << 16


class ClosedOutputError(BrokenPipeError):
    """The reader of standard output has gone; nobody is left to tell."""


class Output:
    """Writes a command's result to standard output.

    Lines are gathered and written in blocks, and at once where a person looks on.
    """

    def __init__(self, stream: BinaryIO | None = None, *, is_terminal: bool | None = None) -> None:
        """Write to *stream*; None is standard output."""
        self._stream = _standard_output() if stream is None else stream
        self.is_terminal = self._stream.isatty() if is_terminal is None else is_terminal
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0

    def __enter__(self) -> Output:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # What was written before a failure is still of use, as it is with a pipe.
        if not isinstance(error, ClosedOutputError):
            self.close()

    def line(self, text: str = "") -> None:
        """Write *text*, already safe for a screen, and a newline."""
        self.write_bytes(encode(text) + b"\n")

    def write(self, text: str) -> None:
        """Write *text*, already safe for a screen, as it is."""
        self.write_bytes(encode(text))

    def object(self, schema: str, fields: Mapping[str, JSON]) -> None:
        """Write one JSON object on a line of its own.

        Args:
            schema: Its schema's name and version, like ``agentmem.list/1``; it
                becomes the first key, ``schema``.
            fields: The other keys. Times are to be UTC texts already.
        """
        self.write_bytes(json_line({"schema": schema, **fields}))

    def write_bytes(self, data: bytes) -> None:
        """Write *data* as it is (an export, a blob, lines already encoded).

        Raises:
            ClosedOutputError: The reader has gone; the command ends quietly.
            OSError: Standard output took no more (a full disk).
        """
        self._waiting.append(data)
        self._waiting_bytes += len(data)
        if self._waiting_bytes >= _FLUSH_BYTES or self.is_terminal:
            self.flush()

    def flush(self) -> None:
        """Hand over all that waits. Raises what `write_bytes` does."""
        data = b"".join(self._waiting)
        self._waiting.clear()
        self._waiting_bytes = 0
        self._hand_over(data)

    def check_open(self) -> None:
        """See, without writing, that the reader of a pipe is still there.

        Raises:
            ClosedOutputError: It has gone.
        """
        if _is_closed(self._stream):
            raise ClosedOutputError

    def close(self) -> None:
        """Hand over what waits; the stream itself stays open."""
        self.flush()

    def _hand_over(self, data: bytes) -> None:
        _put(self._stream, data)


class Paged(Output):
    """An output that starts the pager when more lines come than the screen has."""

    def __init__(
        self, command: list[str], screen_lines: int, stream: BinaryIO | None = None
    ) -> None:
        """Page through *command* what is taller than *screen_lines* lines."""
        super().__init__(stream)
        self._command = command
        self._lines_left = screen_lines - 1
        self._held: list[bytes] = []
        self._pager: Popen[bytes] | None = None
        self._decided = False

    def close(self) -> None:
        """Hand over what waits, and stay until the pager was left."""
        super().close()
        self._decide(pager=False)
        if self._pager is not None:
            self._wait(self._pager)

    def _hand_over(self, data: bytes) -> None:
        if not self._decided:
            self._held.append(data)
            self._lines_left -= data.count(b"\n")
            if self._lines_left < 0:
                self._decide(pager=True)
            return
        self._pass_on(data)

    def _decide(self, *, pager: bool) -> None:
        if self._decided:
            return
        self._decided = True
        if pager:
            self._pager = _start_pager(self._command)
        held = b"".join(self._held)
        self._held.clear()
        self._pass_on(held)

    def _pass_on(self, data: bytes) -> None:
        if self._pager is None or self._pager.stdin is None:
            _put(self._stream, data)
            return
        try:
            self._pager.stdin.write(data)
            self._pager.stdin.flush()
        except BrokenPipeError:
            self._wait(self._pager)
            raise ClosedOutputError from None
        except KeyboardInterrupt:
            self._wait(self._pager)
            raise

    @staticmethod
    def _wait(pager: Popen[bytes]) -> None:
        if pager.stdin is not None:
            with suppress(BrokenPipeError):
                pager.stdin.close()
        # Ctrl-C belongs to the pager while it has the screen.
        while True:
            try:
                pager.wait()
            except KeyboardInterrupt:
                continue
            return


def encode(text: str) -> bytes:
    """Encode *text* as UTF-8; a lone surrogate that is still there becomes its escape."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="backslashreplace")


def json_line(fields: Mapping[str, JSON]) -> bytes:
    """Encode an object on one line, with its newline.

    Characters that a terminal would act on are escaped: the same value for a
    program, and harmless for a person who looks on.
    """
    from agentmem_cli.session.codec import dumps

    data = dumps(dict(fields))
    if not data.isascii() or b"\x7f" in data:
        data = re.sub(_DRIVING, _escaped, data)
    return data + b"\n"


def warn(message: str) -> None:
    """Tell *message* on standard error, safe for a screen, each line as ``agentmem: ...``.

    Never fails: a result is not lost because nobody hears the talk.
    """
    lines = safe.visible(message).split("\n")
    talk(*(f"agentmem: {line}" for line in lines))


def talk(*lines: str) -> None:
    """Write *lines*, already safe, on standard error. Never fails."""
    waiting.clear()
    stream = sys.stderr
    # Why: it is None where the descriptor was closed before the start.
    if stream is None:
        return
    try:
        stream.flush()
        stream.buffer.write(b"".join(encode(line) + b"\n" for line in lines))
        stream.buffer.flush()
    except (OSError, ValueError):
        return


def use_colour(environ: Mapping[str, str], *, is_terminal: bool, forbidden: bool) -> bool:
    """Decide on colour: on a capable terminal only, and only where nobody forbids it."""
    if forbidden or environ.get("NO_COLOR") or not is_terminal:
        return False
    return environ.get("TERM", "") not in ("", "dumb")


def pager_command(environ: Mapping[str, str]) -> list[str]:
    """Return the words of the pager to start; none where it is empty or ``cat``.

    It is AGENTMEM_PAGER, else PAGER, else ``less``.
    """
    import shlex
    import shutil

    named = environ.get("AGENTMEM_PAGER")
    if named is None:
        named = environ.get("PAGER", "less")

    try:
        words = shlex.split(named)
    except ValueError:
        return []
    if not words or words[0] == "cat" or shutil.which(words[0], path=environ.get("PATH")) is None:
        return []
    return words


def _standard_output() -> BinaryIO:
    if sys.stdout is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), STANDARD_OUTPUT)
    # What print or Typer wrote before comes first.
    sys.stdout.flush()
    return sys.stdout.buffer


def _is_closed(stream: BinaryIO) -> bool:
    """Whether *stream* is a pipe that nobody reads any more, as far as the system tells."""
    import select

    if not hasattr(select, "poll"):
        return False
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):
        return False
    looking = select.poll()
    looking.register(descriptor, 0)
    return any(flags & (select.POLLERR | select.POLLNVAL) for _, flags in looking.poll(0))


def _put(stream: BinaryIO, data: bytes) -> None:
    if not data:
        return
    waiting.clear()
    try:
        stream.write(data)
        stream.flush()
    except BrokenPipeError:
        raise ClosedOutputError from None
    except OSError as error:
        raise OSError(error.errno, error.strerror, STANDARD_OUTPUT) from error


def _start_pager(command: list[str]) -> Popen[bytes] | None:
    from subprocess import PIPE, Popen

    waiting.clear()
    environ = dict(os.environ)
    # Colours pass, a single screen is not held, and the text stays when less ends.
    environ.setdefault("LESS", "FRX")
    try:
        return Popen(command, stdin=PIPE, env=environ)  # noqa: S603 - the person's own PAGER
    except OSError:
        return None


def _escaped(match: re.Match[bytes]) -> bytes:
    code = ord(match.group().decode())
    if code > 0xFFFF:  # noqa: PLR2004 - the last one that \u can name alone
        high, low = divmod(code - 0x10000, 0x400)
        return b"\\u%04x\\u%04x" % (0xD800 + high, 0xDC00 + low)
    return b"\\u%04x" % code
