"""The engine's compiled rules: got ready once for a process, and ahead on a thread of their own.

To load them takes 0.3 s of one processor that needs nothing of Python. A command
that will look for secrets calls `begin` as the first thing it does, and goes on.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import EngineMissing

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from kingfisher_sdk._native import Finding
    from kingfisher_sdk.rules import Rules

    Match: TypeAlias = Finding
    """What the engine says of one place that a rule fits."""

RULES: Final = Path(__file__).with_name("rules.yaml")

SLOW_S: Final = 1.0
"""Seconds after which somebody who waits is told why: the rules are being compiled."""

_COMPILED: Final = "*.vscdb"
"""What the engine calls the files it keeps compiled rules in."""


class Loaded(NamedTuple):
    """Rules that are ready."""

    rules: Rules
    scan: Callable[..., list[Match]]
    """Finds the matches in bytes; any number of threads may call it at once."""


class Load(threading.Thread):
    """Gets the rules ready."""

    def __init__(self, cache_dir: Path | None) -> None:
        """Make one that is not begun; *cache_dir* as `load`."""
        super().__init__(name="agentmem-rules")
        self._cache_dir = cache_dir
        self._loaded: Loaded | None = None
        self._error: BaseException | None = None

    def run(self) -> None:
        """Get them ready, on this thread."""
        try:
            self._loaded = _load(self._cache_dir)
        except BaseException as error:  # noqa: BLE001 - whoever waits gets it
            self._error = error

    @property
    def is_ready(self) -> bool:
        """Whether nobody has to wait for them."""
        return self._loaded is not None

    def result(self) -> Loaded:
        """Wait for the rules."""
        found = self._loaded
        if found is None:
            self.join()
            if self._error is not None:
                raise self._error
            found = self._loaded
            assert found is not None
        return found


_LOADS: Final[dict[Path | None, Load]] = {}
"""By the folder of the compiled rules: what is ready, or being made so."""

_LOCK: Final = threading.Lock()


def begin(cache_dir: Path) -> None:
    """Begin to get the rules ready, where they were compiled before.

    Why only there: a process ends when its threads have, and to compile takes
    seconds, which a slip of the pen should not cost.
    """
    if _is_compiled(cache_dir):
        _started(cache_dir)


def load(cache_dir: Path | None, slow: Callable[[], None] | None = None) -> Load:
    """Return the rules, ready or being made so; once for a process.

    Args:
        cache_dir: Where the engine keeps its compiled rules; None: nowhere.
        slow: Called where they must be compiled, which takes some seconds; that is waited for.

    Raises:
        EngineMissing: The engine's package is not installed.
    """
    try:
        import kingfisher_sdk.rules  # noqa: F401 - is it there?
    except ImportError as error:
        raise EngineMissing from error
    before = cache_dir is not None and _is_compiled(cache_dir)
    found = _started(cache_dir)
    if not before:
        found.join(SLOW_S)
        if slow is not None and found.is_alive():
            slow()
        found.result()
    return found


def _is_compiled(cache_dir: Path) -> bool:
    return any(cache_dir.glob(_COMPILED))


def _started(cache_dir: Path | None) -> Load:
    with _LOCK:
        found = _LOADS.get(cache_dir)
        if found is None or not (found.is_alive() or found.is_ready):
            found = _LOADS[cache_dir] = Load(cache_dir)
            found.start()
        return found


def _load(cache_dir: Path | None) -> Loaded:
    from kingfisher_sdk.rules import Rules
    from kingfisher_sdk.scanner import Scanner

    rules = Rules([RULES], confidence="low", cache=cache_dir is not None, cache_dir=cache_dir)
    # Why the native call: the public one makes an object of every finding, captures and all.
    return Loaded(rules, Scanner(rules, base64=True)._native.scan_bytes)  # noqa: SLF001
