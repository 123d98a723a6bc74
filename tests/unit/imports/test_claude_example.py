from __future__ import annotations

from pathlib import Path

from agentmem_cli.operations.imports.claude import SPAWNED
from agentmem_cli.operations.imports.folders import import_paths
from agentmem_cli.session.meta import SessionMeta
from tests.unit.imports.building import NOW, asides_of, main_of, session_of, store_of, texts_of

EXAMPLE = Path(__file__).parents[3] / "examples" / "claude-code"


def test_the_example_of_claude_code_has_everything_it_promises(root: Path) -> None:
    (outcome,) = import_paths([EXAMPLE], root, now_ms=NOW)

    report = outcome.report
    assert report is not None
    assert (report.messages, report.agents, report.blobs, report.lost) == (12, 2, 1, 0)
    assert [aside.kind for aside in asides_of(report)] == [
        "import.agent",
        "import.queued",
        "import.compaction",
        "import.ai-title",
    ]
    assert len(main_of(report).entries[1].stored.parts) == 4
    assert texts_of(report, "c4a27")[0].startswith("List every chart")
    (kid,) = [agent for agent in session_of(report).agents if agent.id == "c4a27"]
    assert (kid.parent, kid.saved[SPAWNED]) == ("main", {"call": "toolu_01b", "type": "Explore"})
    meta = SessionMeta.read(store_of(report))
    assert meta is not None
    assert (meta.title, meta.model) == ("Week 1 drawn twice", "anthropic/claude-sonnet-4-6")
