"""Rewriting a session on disk, with the maps of its imports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from agentmem_cli.operations.imports.besidemending import is_mended, mend_imports
from agentmem_cli.session.rewriter import rewrite
from agentmem_cli.storage.seen import IDLE_MS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from agentmem_cli.session.author import Author
    from agentmem_cli.session.rewriting import Rewrite, Rewritten
    from agentmem_cli.session.staged import Staged
    from agentmem_cli.storage.directory import DirStore
    from agentmem_cli.storage.seen import Seen


def rewrite_session(  # noqa: PLR0913 - one a wish, all of them named
    store: DirStore,
    by: Author | None,
    with_: Rewrite,
    *,
    damaged: Literal["refuse", "as-text"] = "refuse",
    expect: Mapping[str, Seen] | None = None,
    finish: Callable[[Staged], None] | None = None,
    check: Callable[[Staged], None] | None = None,
    if_idle_ms: int | None = IDLE_MS,
    now_ms: int | None = None,
    drop_blobs: Collection[str] = (),
    progress: Callable[[int], None] | None = None,
    wait_s: float | None = None,
) -> Rewritten:
    """Rewrite a session in place as `rewriter.rewrite` does, its imports' maps included.

    The maps are not given to *with_*: they are brought in line with what it
    did, and the names and ids in them go through its `Rewrite.file_line`.

    Args:
        store: The session.
        by: As in `rewriter.rewrite`, like all that follow.
        with_: What is asked at every place.
        damaged: What becomes of logs that do not read.
        expect: How the session was when it was looked at.
        finish: Called when all is staged, the maps too.
        check: Called last.
        if_idle_ms: For how long another program must have left the logs alone.
        now_ms: The time now.
        drop_blobs: Blobs to give up.
        progress: Called with the bytes read since the last call.
        wait_s: Seconds to wait for the lock.

    Returns:
        What changed.

    Raises:
        AgentMemError: As `rewriter.rewrite` does; nothing changed.
        OSError: The same.
    """

    def finished(staged: Staged) -> None:
        mend_imports(staged)
        if finish is not None:
            finish(staged)

    return rewrite(
        store,
        by,
        with_,
        damaged=damaged,
        expect=expect,
        skip=is_mended,
        finish=finished,
        check=check,
        if_idle_ms=if_idle_ms,
        now_ms=now_ms,
        drop_blobs=drop_blobs,
        progress=progress,
        wait_s=wait_s,
    )
