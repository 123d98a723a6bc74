"""Every error this package raises on purpose.

AgentMemError            exit 2   any trouble not listed below
├── UsageError           exit 2   the words of a call do not fit
├── Unrecognised         exit 2   no known kind of transcript
│   └── NoMessageYet     exit 2   the beginning of one, without a message
├── EngineMissing        exit 2   the package that knows secrets is not installed
├── NotFoundError        exit 3   the session, agent, place or file is not there
│   └── AmbiguousError   exit 3   more than one fits; the candidates are listed
├── ConflictError        exit 4   someone else holds it or changed it
│   ├── Busy             exit 4   the lock was not free in time
│   ├── Stale            exit 4   it changed since it was looked at
│   └── Appeared         exit 4   a session that was being made is there already
├── DamageError          exit 5   bytes on disk disagree with what they claim
├── LimitError           exit 6   a bound in ``limits`` was passed
├── CoreMemoryError      exit 2   core memory: a change that cannot be made
│   ├── BadBlockType     exit 2   no such type of a block
│   ├── BadConfig        exit 2   a bound outside what is allowed
│   ├── NotCoreMemory    exit 2   a text that no core memory was rendered to
│   ├── BlockNotFound    exit 3   there is no block of the type
│   ├── BlockTooLarge    exit 6   one content is too large
│   ├── LabelTooLong     exit 6   a label is too long
│   └── Full             exit 6   all contents together are too large
├── LogWriteError        exit 4   a log was not written
│   └── LogChanged       exit 4   it is not as long as the writer read it
└── SessionError         exit 2   a session cannot be read or saved
    ├── Io               exit 2   the operating system refused
    ├── OldLayout        exit 2   an older layout, left untouched
    ├── Format           exit 5   a header of another format, or none
    ├── Record           exit 5   a record cannot be read or applied
    └── Changed          exit 4   the log was changed since it was read

The names of the last two families are the ones that rig's users know. A
broken invariant of our own is an ``assert``, never one of these. An absent
file is a plain ``FileNotFoundError`` at the storage layer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class AgentMemError(Exception):
    """Base of all operating errors; catch this one to catch them all.

    ``exit_code`` is the command's exit status, ``kind`` the word that stands
    in ``--json`` errors, ``hint`` what to do next (None: nothing useful).
    """

    exit_code: ClassVar[int] = 2
    kind: ClassVar[str] = "error"
    hint: str | None = None

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        """Keep *message* (what and where) and *hint* (what to do next)."""
        super().__init__(message)
        self.hint = self.hint if hint is None else hint

    def __reduce__(self) -> tuple[object, ...]:
        """Return what makes it anew in another process, with all that was said of it since."""
        # Why without its making: notes, and a hint that came later, are no arguments of that.
        return (_anew, (type(self), self.args), vars(self))


def _anew(of: type[AgentMemError], words: tuple[object, ...]) -> AgentMemError:
    return of.__new__(of, *words)


class UsageError(AgentMemError):
    """The words of a call do not fit: a bad option value, a bad place."""

    kind = "usage"


class Unrecognised(AgentMemError):
    """A file is no transcript of a known kind, or holds nothing at all."""

    kind = "not_understood"


class EngineMissing(AgentMemError):
    """The package that knows what secrets look like is not installed."""

    kind = "engine_missing"
    hint = (
        "pip install kingfisher-secret-scanner. It has no build for some systems (musl, "
        "free-threaded Python); there, only your own literals and expressions can be masked."
    )

    def __init__(self) -> None:
        """Say what cannot be done without it."""
        super().__init__("secrets cannot be looked for: kingfisher-secret-scanner is missing")


class NoMessageYet(Unrecognised):
    """A file is empty, or each of its records is known and none of them is a message."""


class NotFoundError(AgentMemError):
    """The session, agent, place or file is not there."""

    exit_code = 3
    kind = "not_found"


class AmbiguousError(NotFoundError):
    """More than one thing fits the words; ``candidates`` are their names."""

    kind = "ambiguous"

    def __init__(
        self, message: str, candidates: Sequence[str] = (), *, hint: str | None = None
    ) -> None:
        """Keep the *candidates*, in the order they are to be shown."""
        super().__init__(message, hint=hint)
        self.candidates = tuple(candidates)


class ConflictError(AgentMemError):
    """Someone else holds it or changed it."""

    exit_code = 4
    kind = "conflict"


class Busy(ConflictError):
    """The session's lock was not free within the time allowed."""

    kind = "busy"
    hint = "Another program is writing to this session; try again, or raise --lock-wait."

    def __init__(self, path: Path, waited_s: float) -> None:
        """Name the lock file *path* and the seconds waited for it."""
        super().__init__(f"{path}: still locked after {waited_s:g} s")
        self.path = path
        self.waited_s = waited_s


class Stale(ConflictError):
    """A log or a file is not as it was when the session was looked at."""

    kind = "changed"
    hint = "Another program wrote to the session meanwhile; run the command again."

    def __init__(self, where: str) -> None:
        """Name what changed, as a path below the session."""
        super().__init__(f"{where}: it changed since it was looked at")
        self.where = where


class Appeared(ConflictError):
    """A session that was being made stands there already; nothing was changed."""

    hint = "Another program has begun it meanwhile; run the command again."


class DamageError(AgentMemError):
    """Bytes on disk disagree with what they claim to be."""

    exit_code = 5
    kind = "damaged"
    hint = "agentmem verify names every damaged place."


class LimitError(AgentMemError):
    """A bound in ``agentmem_cli.limits`` was passed."""

    exit_code = 6
    kind = "limit"


class LogWriteError(AgentMemError):
    """A log was not written; nothing of it changed."""

    exit_code = 4
    kind = "conflict"


class LogChanged(LogWriteError):
    """A log is not as long as the writer read it, so nothing was written."""

    kind = "changed"
    hint = "Another program wrote to the log meanwhile; run the command again."

    def __init__(self, log: str, expected: int, found: int) -> None:
        """Keep the *log*'s name and both lengths in bytes (0: there is none)."""
        super().__init__(f"log {log!r} is {found} bytes long, not {expected} as it was read")
        self.log = log
        self.expected = expected
        self.found = found


class SessionError(AgentMemError):
    """A session cannot be read or saved."""

    kind = "session"


class Io(SessionError):
    """The operating system refused; the ``OSError`` is the cause."""

    kind = "io"


class OldLayout(SessionError):
    """The directory holds an older layout (a ``*.jsonl`` at its top)."""

    kind = "old_layout"
    hint = "If it is a session, open it once with the program that wrote it. Nothing was changed."

    def __init__(self, path: str, found: str) -> None:
        """Name the directory *path* and the file *found* at its top."""
        super().__init__(f"{path}: an older session layout ({found} stands at its top)")
        self.path = path
        self.found = found


class Format(SessionError):
    """A log's header names another format, or none."""

    exit_code = 5
    kind = "format"
    hint = "A newer program may have written it; nothing was changed."

    def __init__(self, log: str, found: str | None) -> None:
        """Keep the *log*'s name and the format *found* (None: none named)."""
        told = "no format" if found is None else f"the format {found!r}"
        super().__init__(f"log {log!r}: its header names {told}")
        self.log = log
        self.found = found


class Record(SessionError):
    """A record of a log cannot be read or applied."""

    exit_code = 5
    kind = "damaged"
    hint = "agentmem verify names every damaged place; show still reads around it."

    def __init__(self, log: str, line: int, why: str) -> None:
        """Keep the *log*'s name, the *line* (counted from 1) and *why*."""
        super().__init__(f"log {log!r}, line {line}: {why}")
        self.log = log
        self.line = line
        self.why = why


class Changed(SessionError):
    """The log does not hold what the conversation continues."""

    exit_code = 4
    kind = "changed"
    hint = "Another program wrote to the session meanwhile; read it again."

    def __init__(self, log: str) -> None:
        """Keep the *log*'s name."""
        super().__init__(f"log {log!r} was changed since it was read")
        self.log = log


class CoreMemoryError(AgentMemError):
    """A change of a core memory that cannot be made; nothing changed."""

    kind = "core_memory"


class BadBlockType(CoreMemoryError):
    """There is no such type of a block."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        """Keep the *name*, and the names of the types that are *known*."""
        super().__init__(f"{name!r} is no type of a block", hint=f"Types: {', '.join(known)}.")
        self.name = name
        self.known = known


class BadConfig(CoreMemoryError):
    """A core memory cannot be made to hold so much."""

    def __init__(self, found: object, min_bytes: int, max_bytes: int) -> None:
        """Keep what was *found*, and the bounds, inclusive."""
        bounds = f"{min_bytes} to {max_bytes} bytes"
        super().__init__(f"the bound of a core memory is {bounds}, not {found!r}")
        self.found = found
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes


class NotCoreMemory(CoreMemoryError):
    """A text is not what a core memory is rendered to."""

    def __init__(self, at: int, why: str) -> None:
        """Keep the place (*at*, characters from 0) and *why*."""
        super().__init__(f"no core memory (character {at}): {why}")
        self.at = at
        self.why = why


class BlockNotFound(CoreMemoryError):
    """There is no block of the type."""

    exit_code = 3
    kind = "not_found"

    def __init__(self, block_type: str) -> None:
        """Keep the *block_type* that was asked for."""
        super().__init__(f"there is no block {str(block_type)!r}")
        self.block_type = block_type


class BlockTooLarge(CoreMemoryError):
    """One block's content is too large."""

    exit_code = 6
    kind = "limit"

    def __init__(self, size_bytes: int, max_bytes: int) -> None:
        """Keep the content's *size_bytes* and what one may have."""
        over = f"{size_bytes - max_bytes} more than the {max_bytes} that a block holds"
        super().__init__(f"the content is {size_bytes} bytes, {over}")
        self.size_bytes = size_bytes
        self.max_bytes = max_bytes


class LabelTooLong(CoreMemoryError):
    """A block's label is too long."""

    exit_code = 6
    kind = "limit"

    def __init__(self, size_bytes: int, max_bytes: int) -> None:
        """Keep the label's *size_bytes* and what one may have."""
        super().__init__(f"the label is {size_bytes} bytes; {max_bytes} are allowed")
        self.size_bytes = size_bytes
        self.max_bytes = max_bytes


class Full(CoreMemoryError):
    """All contents together would be too large."""

    exit_code = 6
    kind = "limit"

    def __init__(
        self, current_bytes: int, max_bytes: int, requested_bytes: int, over_bytes: int
    ) -> None:
        """Keep what is used and allowed, the new content's bytes, and how many are too many."""
        used = f"{current_bytes} of {max_bytes} bytes are used"
        over = f"with {requested_bytes} for this block it would be {over_bytes} too many"
        super().__init__(f"{used}; {over}")
        self.current_bytes = current_bytes
        self.max_bytes = max_bytes
        self.requested_bytes = requested_bytes
        self.over_bytes = over_bytes
