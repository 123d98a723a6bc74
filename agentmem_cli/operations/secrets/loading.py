"""The engine's compiled rules: got ready once for a process, and ahead on a thread of their own.

To load them takes 0.3 s of one processor that needs nothing of Python. A command
that will look for secrets calls `begin` as the first thing it does, and goes on.

Some of the engine's rules judge a value by how rare its parts are, in a vocabulary
that is read, in some 0.1 s, when the first such value is met. Where there is another
processor it is read on that meanwhile.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import EngineMissing

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import TypeAlias

    from kingfisher_sdk._native import Finding, Rules

    Match: TypeAlias = Finding
    """What the engine says of one place that a rule fits."""
    Scan: TypeAlias = Callable[..., list[Match]]

RULES: Final = Path(__file__).with_name("rules.yaml")

SLOW_S: Final = 1.0
"""Seconds after which somebody who waits is told why: the rules are being compiled."""

_ASKING: Final = Path(__file__).with_name("vocabulary.toml")
"""A rule that no text of anybody's fits, and that asks for the vocabulary."""

_ASKED: Final = b"agentmem-vocabulary=7c1e94b03da852f6e0b97d4413f8a26c"
"""What fits it."""

_COMPILED: Final = "*.vscdb"
"""What the engine calls the files it keeps compiled rules in."""


class Loaded(NamedTuple):
    """Rules that are ready."""

    rules: Rules
    scan: Scan
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

_VOCABULARY: Final[list[threading.Thread]] = []
"""What reads the vocabulary, or has read it."""

_LOCK: Final = threading.Lock()


def begin(cache_dir: Path) -> None:
    """Begin to get the rules ready, where they were compiled before.

    Why only there: to compile takes seconds of a processor, which a slip of the pen should
    not cost.
    """
    if _is_compiled(cache_dir):
        # Why suppressed: `load` tells of it.
        with suppress(ImportError):
            _started(cache_dir)


def load(cache_dir: Path | None, slow: Callable[[], None] | None = None) -> Load:
    """Return the rules, ready or being made so; once for a process.

    Args:
        cache_dir: Where the engine keeps its compiled rules; None: nowhere.
        slow: Called where they must be compiled, which takes some seconds; that is waited for.

    Raises:
        EngineMissing: The engine's package is not installed.
    """
    before = cache_dir is not None and _is_compiled(cache_dir)
    try:
        found = _started(cache_dir)
    except ImportError as error:
        raise EngineMissing from error
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
            # Why here: a thread that imports takes turns with all that this one imports.
            _engine()
            found = _LOADS[cache_dir] = Load(cache_dir)
            found.start()
            if not _VOCABULARY and (os.cpu_count() or 1) > 1:
                _VOCABULARY.append(threading.Thread(target=_ask, name="agentmem-vocabulary"))
                _VOCABULARY[0].start()
        return found


def settle() -> None:
    """Wait until no thread that was begun here is at work, as whoever forks must."""
    for thread in (*_LOADS.values(), *_VOCABULARY):
        thread.join()


def _engine() -> ModuleType:
    """Return the engine's compiled module.

    Why it alone: its package would import what asks vendors whether a secret works, and
    what revokes one, which take as long, and nothing of which is ever to be called here.

    Raises:
        ImportError: It is not there, or cannot be loaded.
    """
    name = "kingfisher_sdk._native"
    found = sys.modules.get(name)
    if found is not None:
        return found
    package = find_spec("kingfisher_sdk")
    places = None if package is None else package.submodule_search_locations
    spec = None if places is None else PathFinder.find_spec(name, places)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"no module named {name!r}", name=name)
    found = module_from_spec(spec)
    spec.loader.exec_module(found)
    return sys.modules.setdefault(name, found)


def _scanner(paths: list[str], cache_dir: Path | None, *, builtins: bool) -> tuple[Rules, Scan]:
    """Load rules; return them, and what finds their matches."""
    engine = _engine()
    folder = None if cache_dir is None else os.fspath(cache_dir)
    rules = engine.Rules(paths, builtins, "low", cache=folder is not None, cache_dir=folder)
    is_looking_into_base64, drops_repeated, hides = True, False, False
    scanner = engine.Scanner(rules, is_looking_into_base64, drops_repeated, hides, None)
    return rules, scanner.scan_bytes


def _ask() -> None:
    """Have the engine read its vocabulary."""
    # Why suppressed: it is a head start alone. Without it the first value that is so judged waits.
    with suppress(Exception):
        _, scan = _scanner([os.fspath(_ASKING)], None, builtins=False)
        scan(_ASKED, timeout=None, cancellation=None)


def _load(cache_dir: Path | None) -> Loaded:
    return Loaded(*_scanner([os.fspath(RULES)], cache_dir, builtins=True))
