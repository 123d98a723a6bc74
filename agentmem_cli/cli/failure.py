"""Errors into words and exit statuses; the one place that does it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import AgentMemError, AmbiguousError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.cli.output import Output
    from agentmem_cli.session.codec import JSON

INTERRUPTED: Final = 130
TROUBLE: Final = 2
NOT_FOUND: Final = 3

_CANDIDATES: Final = 20
"""Candidates that are told one by one to a person; JSON has them all."""

_GLOBAL_OPTIONS: Final = ("--root", "--lock-wait", "--no-color", "--no-pager", "--utc", "--debug")
_GLOBAL_VALUES: Final = ("--root", "--lock-wait")
_HELP: Final = "agentmem --help tells what it takes."
_PLAIN_WORDS: Final = {
    "int range": "a whole number",
    "integer range": "a whole number",
    "float range": "a number",
    "integer": "a whole number",
    "int": "a whole number",
    "float": "a number",
}
"""What Typer calls a value, and what a person does; the longer names come first."""

_SUGGESTION: Final = " Did you mean "


class Failure(NamedTuple):
    """What is told about an error."""

    kind: str
    message: str
    exit_code: int
    hint: str | None = None
    candidates: tuple[str, ...] = ()


def report(error: BaseException, arguments: Sequence[str]) -> int:
    """Tell *error* on standard error, in the form that *arguments* ask for.

    Args:
        error: What ended the command, a `SystemExit` included.
        arguments: The words after the program's name.

    Returns:
        The exit status. A closed pipe is 0, and nothing is told.
    """
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else (0 if error.code is None else TROUBLE)
    if isinstance(error, BrokenPipeError) and error.filename is None:
        _silence_output()
        return 0
    words = _before_end(arguments)
    if "--debug" in words:
        _tell_trace(error)
    failure = _with_command(explain(error), words)
    if "--json" in words:
        _tell_json(failure)
    else:
        _tell_text(failure)
    if isinstance(error, OSError):
        _silence_output()
    return failure.exit_code


def explain(error: BaseException) -> Failure:
    """Say what *error* is to a person and to a program, and what it leaves behind."""
    return _with_notes(_explain(error), error)


def _explain(error: BaseException) -> Failure:
    if isinstance(error, AgentMemError):
        candidates = error.candidates if isinstance(error, AmbiguousError) else ()
        hint = error.hint
        if hint is None and error.__cause__ is not None:
            from agentmem_cli.operations.refused import hint_of

            hint = hint_of(error)
        return Failure(error.kind, str(error), error.exit_code, hint, candidates)
    if isinstance(error, OSError):
        return _explain_os(error)
    usage = _explain_usage(error)
    if usage is not None:
        return usage
    if _is_interrupt(error):
        return Failure("interrupted", "interrupted", INTERRUPTED)
    if isinstance(error, MemoryError):
        return Failure("error", "out of memory", TROUBLE)
    told = f"{type(error).__name__}: {error}".removesuffix(": ")
    hint = "This is a mistake in agentmem. agentmem --debug COMMAND shows where it is."
    return Failure("internal", f"internal error, {told}", TROUBLE, hint)


def _with_notes(failure: Failure, error: BaseException) -> Failure:
    """Return *failure* with what was noted on the way out: what it leaves behind."""
    notes = getattr(error, "__notes__", ())
    if not notes or failure.kind == "internal":
        return failure
    return failure._replace(message="; ".join([failure.message, *map(str, notes)]))


def with_name(name: str, message: str) -> str:
    """Return *message* with the *name* of what failed before it, where it does not say it."""
    import re

    whole = rf"(?<![\w.-]){re.escape(name)}(?![\w.-])"
    return message if re.search(whole, message) else f"{name}: {message}"


def _explain_os(error: OSError) -> Failure:
    from agentmem_cli.operations.refused import hint_of

    reason = error.strerror or str(error) or type(error).__name__
    names = [os.fsdecode(name) for name in (error.filename, error.filename2) if _is_name(name)]
    message = f"{' -> '.join(names)}: {reason}" if names else reason
    if isinstance(error, FileNotFoundError):
        return Failure("not_found", message, NOT_FOUND)
    return Failure("io", message, TROUBLE, hint_of(error))


def _is_name(name: object) -> bool:
    return isinstance(name, str | bytes | os.PathLike)


def _explain_usage(error: BaseException) -> Failure | None:
    """Explain what Typer says about the words of a call; None where it is not that."""
    if "typer" not in sys.modules:
        return None
    import typer

    # UsageError itself has no public name.
    usage_error = typer.BadParameter.__mro__[1]
    if not isinstance(error, usage_error):
        return None
    message = str(getattr(error, "format_message", error.__str__)())
    message, found, suggestion = message.partition(_SUGGESTION)
    for words, plain in _PLAIN_WORDS.items():
        message = message.replace(f"is not a valid {words}", f"is not {plain}")
    hint = f"Did you mean {suggestion}" if found else _usage_hint(error, message)
    return Failure("usage", message[:1].lower() + message[1:].rstrip("."), TROUBLE, hint)


def _usage_hint(error: BaseException, message: str) -> str:
    # Typer may go on with options that look alike.
    told = message.partition(" (")[0]
    for option in _GLOBAL_OPTIONS:
        if told.endswith(option):
            return f"{option} stands before the command: agentmem {option} ... COMMAND"
    context = getattr(error, "ctx", None)
    if context is None:
        return _HELP
    path = context.command_path
    if told == message and message.startswith("No such option") and _takes_text(context.command):
        return (
            f"A text that begins with - goes behind --, and options before it: {path} ... -- TEXT"
        )
    return f"{path} --help tells what it takes."


def _with_command(failure: Failure, words: Sequence[str]) -> Failure:
    """Name the command whose help says more: Typer does not say it of an option without value."""
    if failure.hint != _HELP:
        return failure
    from agentmem_cli.cli.app import COMMANDS

    left = list(words)
    while left and left[0].startswith("-"):
        del left[: 2 if left[0] in _GLOBAL_VALUES else 1]
    command = left[0] if left and left[0] in COMMANDS else None
    return (
        failure if command is None else failure._replace(hint=_HELP.replace(" ", f" {command} ", 1))
    )


def _takes_text(command: object) -> bool:
    """Whether a command has an argument that is a text, or a value in JSON."""
    names = [getattr(each, "metavar", None) for each in getattr(command, "params", ())]
    return bool({"[TEXT]", "[JSON]", "PATTERN"} & {str(name) for name in names})


def _is_interrupt(error: BaseException) -> bool:
    if isinstance(error, KeyboardInterrupt):
        return True
    if "typer" not in sys.modules:
        return False
    import typer

    return isinstance(error, typer.Abort)


def failed(out: Output, session: str, error: BaseException, *, json: bool) -> int:
    """Tell that one of several sessions failed; return its exit status."""
    from agentmem_cli.cli.output import warn

    failure = explain(error)
    if json:
        told: dict[str, JSON] = {
            "kind": failure.kind,
            "message": failure.message,
            "hint": failure.hint,
            "exit_code": failure.exit_code,
        }
        out.object("agentmem.failed/1", {"session": session, "error": told})
    else:
        hint = f" ({failure.hint})" if failure.hint else ""
        warn(with_name(session, failure.message) + hint)
    return failure.exit_code


def _before_end(arguments: Sequence[str]) -> list[str]:
    words = list(arguments)
    return words[: words.index("--")] if "--" in words else words


def _tell_text(failure: Failure) -> None:
    from agentmem_cli.cli import output, text

    lines = text.visible(failure.message).split("\n")
    lines[0] = f"agentmem: error: {lines[0]}"
    lines += [f"  {text.one_line(name)}" for name in failure.candidates[:_CANDIDATES]]
    if len(failure.candidates) > _CANDIDATES:
        lines.append(f"  and {len(failure.candidates) - _CANDIDATES:,} more")
    if failure.hint:
        lines.append(f"hint: {text.one_line(failure.hint)}")
    output.talk(*lines)


def _tell_trace(error: BaseException) -> None:
    import traceback

    from agentmem_cli.cli import output, text

    output.talk(text.visible("".join(traceback.format_exception(error))).rstrip("\n"))


def _tell_json(failure: Failure) -> None:
    from agentmem_cli.cli import output

    told: dict[str, JSON] = {
        "kind": failure.kind,
        "message": failure.message,
        "hint": failure.hint,
        "exit_code": failure.exit_code,
    }
    if failure.candidates:
        told["candidates"] = list(failure.candidates)
    output.talk(output.json_line({"error": told}).decode().removesuffix("\n"))


def _silence_output() -> None:
    """Let nothing that still waits for standard output fail once more at the end."""
    if sys.stdout is None:
        return
    try:
        descriptor = sys.stdout.fileno()
        nothing = os.open(os.devnull, os.O_WRONLY)
    except (OSError, ValueError):
        return
    os.dup2(nothing, descriptor)
    os.close(nothing)
