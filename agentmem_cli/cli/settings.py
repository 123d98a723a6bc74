"""What the global options and the environment say, for one run of a command."""

from __future__ import annotations

import os
import sys
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from agentmem_cli.cli import output
from agentmem_cli.limits import LOCK_WAIT_S

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import tzinfo

    from typer import Context


class Settings:
    """The global options of one run; commands get it by `Settings.of`.

    Attributes:
        lock_wait_s: Seconds to wait for a session's lock.
        no_colour: Colour was forbidden by an option.
        no_pager: The pager was forbidden by an option.
        zone: The zone of times on the screen and of times without one; None is
            the machine's own.
        debug: Errors show their traceback.
    """

    def __init__(
        self,
        *,
        root: Path | None = None,
        lock_wait_s: float = LOCK_WAIT_S,
        no_colour: bool = False,
        no_pager: bool = False,
        utc: bool = False,
        debug: bool = False,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """Keep the options; *environ* None is the process's environment."""
        self._root = root
        self._utc = utc
        self._environ = os.environ if environ is None else environ
        self.lock_wait_s = lock_wait_s
        self.no_colour = no_colour
        self.no_pager = no_pager
        self.debug = debug

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment, for programs that are started."""
        return self._environ

    @classmethod
    def of(cls, context: Context) -> Settings:
        """Return the settings of the run that *context* belongs to."""
        settings = context.find_root().obj
        assert isinstance(settings, cls), "the main callback makes the settings"
        return settings

    @cached_property
    def root(self) -> Path:
        """The folder of the sessions: ``--root``, AGENTMEM_ROOT, or the user data folder.

        It need not exist.
        """
        named = self._root or self._environ.get("AGENTMEM_ROOT")
        if named:
            return Path(named).expanduser()
        from agentmem_cli.storage.root import default_root

        return default_root()

    @cached_property
    def config_folder(self) -> Path:
        """The folder of the key of masks: AGENTMEM_CONFIG, or the user's one for settings."""
        named = self._environ.get("AGENTMEM_CONFIG")
        if named:
            return Path(named).expanduser()
        from agentmem_cli.storage.root import config_root

        return config_root()

    @cached_property
    def cache_folder(self) -> Path:
        """The folder of compiled rules: AGENTMEM_CACHE, or the user's one for caches."""
        named = self._environ.get("AGENTMEM_CACHE")
        if named:
            return Path(named).expanduser()
        from agentmem_cli.storage.root import cache_root

        return cache_root()

    def editor(self) -> list[str]:
        """Return the words of the editor to start: VISUAL, else EDITOR, else ``vi``.

        Raises:
            UsageError: They do not read as words.
        """
        import shlex

        from agentmem_cli.errors import UsageError

        named = self._environ.get("VISUAL") or self._environ.get("EDITOR") or "vi"
        try:
            words = shlex.split(named)
        except ValueError:
            words = []
        if not words:
            raise UsageError(f"VISUAL or EDITOR is {named!r}, which names no program")
        return words

    @cached_property
    def zone(self) -> tzinfo | None:
        """The zone that times are read and shown in; None is the machine's own."""
        if not self._utc:
            return None
        from datetime import UTC

        return UTC

    @cached_property
    def now_ms(self) -> int:
        """The time of this run, milliseconds since 1970 in UTC; read once."""
        from agentmem_cli.cli import clock

        return clock.now_ms()

    @cached_property
    def colour(self) -> bool:
        """Is the result to be coloured?"""
        return output.use_colour(
            self._environ, is_terminal=_is_terminal(1), forbidden=self.no_colour
        )

    @cached_property
    def columns(self) -> int | None:
        """The width that tables are to fit; None where nobody looks on."""
        return self._size()[0] if _is_terminal(1) else None

    @cached_property
    def talks(self) -> bool:
        """Does a person read standard error (progress, questions)?"""
        return _is_terminal(2)

    @cached_property
    def asks(self) -> bool:
        """Can a question be put: are standard input and error a terminal?"""
        return _is_terminal(0) and _is_terminal(2)

    def output(self, *, paged: bool = False) -> output.Output:
        """Open standard output, through a pager where *paged* text is tall and a person reads.

        Use it in a ``with``; at its end everything is handed over.
        """
        if not paged or self.no_pager or not _is_terminal(1):
            return output.Output()
        command = output.pager_command(self._environ)
        return output.Paged(command, self._size()[1]) if command else output.Output()

    def _size(self) -> tuple[int, int]:
        from shutil import get_terminal_size

        return get_terminal_size()


def _is_terminal(descriptor: int) -> bool:
    stream = (sys.stdin, sys.stdout, sys.stderr)[descriptor]
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False
