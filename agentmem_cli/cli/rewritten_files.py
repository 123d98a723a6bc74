"""How `rewrite --files` is carried out, one file after the other, and told."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from agentmem_cli.cli.failure import explain, with_name
from agentmem_cli.cli.many import confirm
from agentmem_cli.cli.output import talk, warn
from agentmem_cli.cli.render import count, progress, size
from agentmem_cli.cli.rewritten_words import CANNOT, FAILED
from agentmem_cli.cli.text import one_line
from agentmem_cli.errors import AgentMemError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.cli.output import Output
    from agentmem_cli.cli.settings import Settings
    from agentmem_cli.operations.outside import Care, Gathered, Passed
    from agentmem_cli.operations.replacing import Replacements
    from agentmem_cli.operations.rewrites import Wanted
    from agentmem_cli.session.codec import Object

REWRITE_FILE: Final = "agentmem.rewrite-file/1"

_FILES_TOLD: Final = 20


def run_rewrite_files(
    settings: Settings,
    words: Sequence[str],
    pairs: Replacements,
    wanted: Wanted,
    *,
    force: bool,
    yes: bool,
    json: bool,
) -> int | None:
    """Replace texts in files outside any session."""
    from agentmem_cli.operations.outside import LEFT, Care, gather

    gathered = gather(words, changes=not wanted.dry_run)
    for path in gathered.removed:
        warn(f"{path}: removed; it was {LEFT}")
    care = Care(wanted.now_ms, wanted.if_idle_ms, force)
    run = _FileRun(settings, pairs, care, gathered, json=json)
    if not wanted.dry_run and not yes:
        if not run.each(dry=True):
            return run.end(dry=True)
        talk(CANNOT)
        if not confirm(settings, f"Change {count(run.changed, 'file')}?", yes=False):
            return 1
    run.each(dry=wanted.dry_run)
    return run.end(dry=wanted.dry_run)


class _FileRun:
    """One run of replacements over files."""

    def __init__(
        self,
        settings: Settings,
        pairs: Replacements,
        care: Care,
        gathered: Gathered,
        *,
        json: bool,
    ) -> None:
        self._settings = settings
        self._pairs = pairs
        self._care = care
        self._gathered = gathered
        self._json = json
        self._status: int | None = None
        self._begun_s = time.monotonic()
        self._bytes = 0
        self._unread: list[Passed] = []
        self.changed = 0

    def each(self, *, dry: bool) -> bool:
        """Work on every file; return whether one changed, or would."""
        from agentmem_cli.operations.outside import Passed
        from agentmem_cli.operations.replacing_files import replace_in_file

        self.changed = 0
        self._status = None
        self._unread = []
        total = self._gathered.size_bytes if self._settings.talks else None
        with self._settings.output() as out, progress("files", total, self._settings) as advance:
            for path in self._gathered.files:
                try:
                    done = replace_in_file(
                        path, self._pairs, self._care, dry_run=dry, progress=advance
                    )
                except (AgentMemError, OSError) as error:
                    if len(self._gathered.files) == 1:
                        raise
                    self._failed(out, path, error)
                    continue
                self._bytes += done.size
                self.changed += done.changed
                if self._json:
                    told: Object = {"file": path, "dry_run": dry, "changed": done.changed}
                    read: Object = {"bytes": done.size, "unread": done.unread}
                    out.object(REWRITE_FILE, {**told, "lines": done.lines, **read})
                elif done.changed:
                    out.line(f"{one_line(path)}: {count(done.lines, 'line')}")
                if done.unread is not None:
                    self._unread.append(Passed(path, done.unread))
        return bool(self.changed)

    def _failed(self, out: Output, path: str, error: BaseException) -> None:
        failure = explain(error)
        self._status = self._status or failure.exit_code
        if self._json:
            told: Object = {"kind": failure.kind, "message": failure.message, "hint": failure.hint}
            out.object(FAILED, {"file": path, "error": {**told, "exit_code": failure.exit_code}})
        else:
            warn(with_name(path, failure.message) + (f" ({failure.hint})" if failure.hint else ""))

    def end(self, *, dry: bool) -> int | None:
        """Tell how much was done in what time."""
        left = [*self._unread, *self._gathered.passed]
        for each in left[:_FILES_TOLD]:
            warn(f"{each.path}: not looked into: {each.why}")
        if len(left) > _FILES_TOLD:
            warn(f"and {count(len(left) - _FILES_TOLD, 'more that was', 'more that were')} not")
        elapsed_s = max(time.monotonic() - self._begun_s, 1e-3)
        rate = size(int(self._bytes / elapsed_s))
        files = count(len(self._gathered.files), "file")
        told = f"{files}, {count(self.changed)} changed: {size(self._bytes)} in {elapsed_s:.1f} s"
        talk(f"{told} ({rate}/s){'; nothing was written (dry run)' if dry else ''}")
        return self._status or (1 if left else None)
