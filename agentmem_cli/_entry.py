"""Where the command `agentmem` starts and ends.

Kept small for its start: `--version` is answered before anything else of the
package is imported, and what TAB asks before Typer is.
"""

from __future__ import annotations

import gc
import os
import sys

from agentmem_cli import __version__

_TROUBLE = 2
_INTERRUPTED = 130


def command() -> None:
    """Be the command `agentmem`, and end the process.

    What it has made is left to the system as it stands: to take down the engine's rules,
    a fold of a large log and the interpreter itself costs up to 70 ms, and gives nothing.
    By now everything is written, closed and told.
    """
    try:
        status = main()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except KeyboardInterrupt:
        status = _INTERRUPTED
    except (OSError, ValueError):
        status = _TROUBLE  # its report could not be told
    os._exit(status)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: The words after the program's name; None: this process's.

    Returns:
        The exit status, as the help's EXIT STATUS lists it.
    """
    if not __debug__:
        sys.stderr.write("agentmem: error: python -O and PYTHONOPTIMIZE switch off checks\n")
        sys.stderr.write("hint: The checks keep sessions from harm; run agentmem without -O.\n")
        return _TROUBLE
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        return _INTERRUPTED  # one more, that came before the first was told


def _run(arguments: list[str] | None) -> int:
    words = sys.argv[1:] if arguments is None else arguments
    give_back = None
    try:
        if words[:1] == ["--version"]:
            _print_version()
            return 0
        if words[:1] == ["__complete"]:
            from agentmem_cli.cli.answer import answer

            return answer(words[1:])
        _keep_owner_bits()
        from agentmem_cli.cli.interrupts import listen

        give_back = listen()
        # Why: what the imports make stays to the end, so that collecting among
        # it finds nothing and costs 5 ms. cli/run.py switches it on again.
        gc.disable()
        if words:
            from agentmem_cli.cli.ahead import begin

            begin(words)
        from agentmem_cli.cli.run import run

        # A copy: Click empties the list that it reads.
        return run([*words])
    except BaseException as error:  # noqa: BLE001 - the one place where every error ends
        from agentmem_cli.cli.failure import report

        if arguments is None and give_back is not None:
            from agentmem_cli.cli.interrupts import deaf

            # Why: one more Ctrl-C would meet a process that ends, and show a trace of that.
            deaf()
            give_back = None
        return report(error, words)
    finally:
        gc.enable()
        if give_back is not None:
            give_back()


def _keep_owner_bits() -> None:
    """Take the owner's bits out of the umask: files that their maker cannot open help nobody."""
    if os.name != "nt":
        os.umask(os.umask(0o077) & 0o077)


def _print_version() -> None:
    if sys.stdout is None:
        raise OSError(9, "Bad file descriptor", "standard output")
    sys.stdout.write(f"agentmem {__version__}\n")
    sys.stdout.flush()
