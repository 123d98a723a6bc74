"""What a run looks for and how, as plain values that can go to another process."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentmem_cli.errors import UsageError
from agentmem_cli.operations.secrets.given import LITERAL, PATTERN, VARIABLE, Given
from agentmem_cli.operations.secrets.looking import Looking
from agentmem_cli.operations.secrets.masks import Masks
from agentmem_cli.operations.secrets.pii import GROUPS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agentmem_cli.operations.secrets.engine import Detector
    from agentmem_cli.operations.secrets.masks import AllowList


class Spec(NamedTuple):
    """What is looked for. It holds the user's key and values: it goes through pipes only."""

    cache_dir: Path | None
    """Where the engine keeps its compiled rules."""
    key: bytes | None
    """The user's key; None: masks have no fingerprint."""
    rules: bool = True
    """Whether secrets are looked for by rules; else only what *given* names."""
    groups: frozenset[str] = frozenset()
    given: Given = Given()
    keep: frozenset[str] = frozenset()
    allowed: AllowList | None = None
    aggressive: bool = False
    only: frozenset[str] = frozenset()
    """Kinds that alone are looked for; empty: all."""
    skip: frozenset[str] = frozenset()
    """Kinds that are not looked for."""
    threads: int = 2

    @property
    def fingerprints(self) -> bool:
        """Whether findings are told with the digits that their masks have."""
        return self.key is not None

    def looking(self, slow: Callable[[], None] | None = None) -> Looking:
        """Make what looks; *slow* is called once where rules must be compiled for it.

        Raises:
            EngineMissing: The engine's package is not installed.
            UsageError: A kind that is chosen is none.
        """
        detector = None
        if self.rules:
            from agentmem_cli.operations.secrets.engine import Detector

            detector = Detector(groups=self.groups, cache_dir=self.cache_dir, slow=slow)
            self._check_kinds(detector)
        masks = Masks(self.key, keep=self.keep, allowed=self.allowed)
        kinds: frozenset[str] | None = None
        if self.only:
            kinds = self.only - self.skip
        elif self.skip:
            kinds = _AllBut(self.skip)
        return Looking(detector, masks, self.given, self.aggressive, kinds, self.threads)

    def _check_kinds(self, detector: Detector) -> None:
        # Why so strict: by a slip of the pen nothing would be found, and all would seem clean.
        chosen = self.only | self.skip
        if not chosen:
            return
        known = detector.kinds() | {LITERAL, PATTERN, VARIABLE}
        for kind in sorted(chosen - known):
            if kind in GROUPS:
                if kind in self.skip:
                    continue
                hint = f"--pii {kind} looks for it."
            else:
                from difflib import get_close_matches

                near = get_close_matches(kind, known)
                hint = f"Near it: {', '.join(near)}." if near else "scan tells the kinds it finds."
            msg = f"--only and --skip: {kind!r} is no kind that is looked for"
            raise UsageError(msg, hint=hint)


class _AllBut(frozenset[str]):
    """Every kind there is but some."""

    def __contains__(self, kind: object) -> bool:
        return not super().__contains__(kind)
