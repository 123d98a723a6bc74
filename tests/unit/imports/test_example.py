from __future__ import annotations

import base64
from pathlib import Path

from agentmem_cli.operations.imports.adapter import CWD
from agentmem_cli.session.keys import MODEL, TITLE
from agentmem_cli.session.meta import SessionMeta
from tests.unit.imports.building import asides_of, session_of, store_of, take, texts_of

EXAMPLE = Path(__file__).parents[3] / "examples" / "pi-session.jsonl"


def test_the_example_has_everything_it_promises(root: Path) -> None:
    report = take(EXAMPLE, root)

    main = session_of(report).main_agent()
    assert main is not None
    assert (report.lines, report.messages, report.lost, report.torn) == (26, 20, 0, None)
    assert [aside.kind for aside in asides_of(report)] == [
        "import.error",
        "import.branch",
        "import.branch_summary",
        "import.compaction",
        "import.session_info",
    ]
    assert main.saved == {
        CWD: "/home/ada/harvest",
        MODEL: "anthropic/claude-sonnet-4-6",
        TITLE: "Doubled week in the harvest chart",
    }
    assert SessionMeta.read(store_of(report)).title == main.saved[TITLE]
    assert texts_of(report)[-1] == "The test passes now and fails with `rglob`."


def test_the_examples_picture_is_a_blob_that_is_put_back(root: Path) -> None:
    report = take(EXAMPLE, root)

    main = session_of(report).main_agent()
    assert main is not None
    picture = main.conversation.entries[0].message.parts[1]
    data = picture["data"]
    assert isinstance(data, dict)
    assert base64.b64decode(str(data["value"])).startswith(b"\x89PNG\r\n\x1a\n")
    assert report.blobs == 1


def test_the_example_is_found_again_unchanged(root: Path) -> None:
    before = EXAMPLE.read_bytes()
    first = take(EXAMPLE, root)

    report = take(EXAMPLE, root)

    assert report.nothing_new
    assert EXAMPLE.read_bytes() == before
    assert store_of(first).read_file("plugins/import/pi-session.jsonl") == before
