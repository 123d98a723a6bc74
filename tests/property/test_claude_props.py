"""A Claude Code transcript that grows, with its agents, ends as if it had come whole."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from agentmem_cli.operations.imports.importing import import_source
from agentmem_cli.session.codec import dumps
from agentmem_cli.session.reader import fold_log
from agentmem_cli.storage.directory import DirStore
from tests.unit.imports.claude_building import (
    OTHER,
    SID,
    call,
    piece,
    prompt,
    record,
    result,
    text,
)

if TYPE_CHECKING:
    from agentmem_cli.operations.imports.report import Report
    from agentmem_cli.session.codec import JSON, Object

STEPS = (
    "prompt",
    "piece",
    "result",
    "progress",
    "gap",
    "back",
    "again",
    "title",
    "summary",
    "queue",
    "boundary",
    "error",
    "side",
    "kid",
    "unknown",
    "late",
)


class Made:
    """Makes lines of a session and of an agent of it, each depending on those before."""

    def __init__(self, *, fork: int) -> None:
        self.main: list[bytes] = []
        self.kid: list[bytes] = []
        self.uuids: list[str] = []
        self.fork = fork

    def add(self, step: str, which: int) -> None:
        number = len(self.main) + len(self.kid)
        uuid = f"x{number}"
        session: Object = {"sessionId": SID if number >= self.fork else OTHER}
        parent = self.uuids[-1] if self.uuids else None
        made = self._made(step, which, uuid, parent, session)
        if step == "kid":
            self.kid.append(made)
            return
        self.main.append(made)
        if step in ("prompt", "piece", "result", "back", "error"):
            self.uuids.append(uuid)

    def _made(self, step: str, which: int, uuid: str, parent: str | None, session: Object) -> bytes:
        number = len(self.main) + len(self.kid)
        known = self.uuids[which % len(self.uuids)] if self.uuids else None
        side: Object = {"isSidechain": True}
        loose: dict[str, Object] = {
            "title": {"type": "ai-title", "aiTitle": f"t{which}"},
            "summary": {"type": "summary", "summary": f"s{which}", "leafUuid": f"x{which * 3}"},
            "queue": {"type": "queue-operation", "operation": "enqueue", "content": uuid},
        }
        if step in loose:
            return dumps(loose[step])
        lines: dict[str, bytes] = {
            "prompt": prompt(uuid, parent, f"user {uuid}", number, **session),
            "piece": piece(uuid, parent, f"m{number // 3}", text(uuid), second=number, **session),
            "late": piece(uuid, parent, f"m{which}", text(uuid), second=number, **session),
            "result": result(
                uuid, parent, "c", uuid, number, toolUseResult={"agentId": f"k{which}"}, **session
            ),
            "progress": record("progress", uuid, parent, number, **session),
            "gap": prompt(uuid, "nowhere", f"user {uuid}", number, **session),
            "back": prompt(uuid, known, f"user {uuid}", number, **session),
            "again": self.main[which % len(self.main)] if self.main else b"",
            "boundary": record("system", uuid, None, number, subtype="compact_boundary", **session),
            "error": piece(
                uuid, parent, f"e{number}", text(uuid), isApiErrorMessage=True, **session
            ),
            "side": prompt(uuid, None if which % 2 else known, uuid, number, **side, **session),
            "kid": piece(uuid, None, f"k{number // 4}", text(uuid), call(None), **side),
        }
        return lines.get(step, dumps({"type": "future", "x": which}))


def state_of(report: Report) -> dict[str, list[JSON]]:
    """Every log's messages and asides, and its saved values."""
    store = DirStore.open(report.path)
    found: dict[str, list[JSON]] = {}
    for log in store.logs():
        fold = fold_log(store, log)
        conversation = fold.conversation
        found[log] = [
            [entry.stored.value for entry in conversation.entries],
            [[aside.kind, aside.value] for aside in conversation.asides.values()],
            {**fold.saved},
        ]
    return found


@given(
    steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 9)), min_size=1, max_size=40),
    cuts=st.lists(st.integers(0, 40), max_size=4),
    fork=st.sampled_from([0, 0, 3, 99]),
)
def test_a_transcript_that_grew_is_the_same_as_one_that_came_whole(
    steps: list[tuple[str, int]], cuts: list[int], fork: int
) -> None:
    made = Made(fork=fork)
    made.add("prompt", 0)
    sizes = [(1, 0)]
    for step, which in steps:
        made.add(step, which)
        sizes.append((len(made.main), len(made.kid)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{SID}.jsonl")
        kid = Path(folder, SID, "subagents", "agent-kid.jsonl")
        kid.parent.mkdir(parents=True)
        stops = sorted(min(cut, len(steps)) for cut in cuts)
        for main_size, kid_size in (*(sizes[stop] for stop in stops), sizes[-1]):
            path.write_bytes(b"".join(line + b"\n" for line in made.main[:main_size]))
            kid.write_bytes(b"".join(line + b"\n" for line in made.kid[:kid_size]))
            import_source(path, Path(folder, "grown"), now_ms=1)
        whole = import_source(path, Path(folder, "whole"), now_ms=1)

        again = import_source(path, Path(folder, "grown"), now_ms=1)
        assert state_of(again) == state_of(whole)
        assert again.nothing_new
