"""The examples of Codex's rollouts and of OpenAI's messages."""

from __future__ import annotations

from pathlib import Path

from agentmem_cli.operations.export import messages
from agentmem_cli.operations.exports.turns import Left
from agentmem_cli.operations.imports.adapter import CWD
from agentmem_cli.operations.imports.openai import KIND
from agentmem_cli.session.codec import loads
from agentmem_cli.session.keys import MODEL, TITLE
from tests.unit.imports.building import asides_of, session_of, store_of, take, texts_of

EXAMPLES = Path(__file__).parents[3] / "examples"


def test_the_rollout_has_everything_it_promises(root: Path) -> None:
    path = EXAMPLES / "codex-rollout.jsonl"
    before = path.read_bytes()

    report = take(path, root)

    main = session_of(report).main_agent()
    assert main is not None
    assert (report.messages, report.lost, report.torn) == (10, 0, None)
    assert texts_of(report)[2] == "Why is week 1 doubled in the chart?"
    assert [each.kind for each in asides_of(report)] == [
        "import.compaction",
        "import.aborted",
        "import.rollback",
    ]
    assert main.saved == {
        CWD: "/home/ada/harvest",
        MODEL: "openai/gpt-5.5",
        TITLE: "Doubled week, again",
    }
    assert main.conversation.entries[-1].message.value["stop"] == "aborted"
    assert take(path, root).nothing_new
    assert path.read_bytes() == before
    assert store_of(report).read_file("plugins/import/codex-rollout.jsonl") == before


def test_the_messages_come_back_as_they_are(root: Path) -> None:
    path = EXAMPLES / "openai-messages.json"

    main = session_of(take(path, root)).main_agent()

    assert main is not None
    found = messages(main.conversation.entries, "openai", Left(), kind=KIND)
    assert [*found] == loads(path.read_bytes())
