"""Whatever a transcript holds: nothing but our own errors, and a session that reads strictly."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import example, given
from hypothesis import strategies as st

from agentmem_cli.errors import AgentMemError
from agentmem_cli.operations.imports.folders import import_paths
from agentmem_cli.operations.imports.importing import import_source
from agentmem_cli.session.codec import dumps
from agentmem_cli.session.session import Session
from agentmem_cli.storage.directory import DirStore
from tests.unit.imports.building import NOW, header, lines, user

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON

WORDS = [
    "type",
    "message",
    "role",
    "content",
    "text",
    "image",
    "data",
    "mimeType",
    "thinking",
    "toolCall",
    "toolResult",
    "toolCallId",
    "toolName",
    "name",
    "id",
    "arguments",
    "isError",
    "user",
    "assistant",
    "custom",
    "customType",
    "bashExecution",
    "command",
    "output",
    "exitCode",
    "excludeFromContext",
    "branchSummary",
    "compactionSummary",
    "summary",
    "hookMessage",
    "session",
    "timestamp",
    "cwd",
    "parentSession",
    "branchedFrom",
    "provider",
    "modelId",
    "model",
    "stopReason",
    "error",
    "model_change",
    "compaction",
    "branch_summary",
    "custom_message",
    "label",
    "session_info",
    "title",
    "parentId",
    "api",
]
TIMES = ("2026-01-01T00:00:01Z", "2026-01-01T00:00:02+09:00", "2026-13-01", "")

scalars: st.SearchStrategy[JSON] = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(WORDS)
    | st.sampled_from(TIMES)
    | st.text(max_size=5)
    | st.just("\ud83d")
)
values: st.SearchStrategy[JSON] = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5)
    ),
    max_leaves=12,
)
messages = st.fixed_dictionaries(
    {
        "role": st.sampled_from(
            ["user", "assistant", "toolResult", "bashExecution", "custom", "branchSummary", "x"]
        ),
    },
    optional=dict.fromkeys(["content", "toolCallId", "model", "stopReason", "summary"], values),
)
records: st.SearchStrategy[JSON] = (
    values
    | st.dictionaries(st.sampled_from(WORDS), values, max_size=8)
    | st.builds(
        lambda message, more: {**more, "type": "message", "message": message},
        messages,
        st.dictionaries(st.sampled_from(["id", "parentId", "timestamp"]), values),
    )
)


def imported(data: bytes) -> list[str]:
    """Import *data* twice; return the texts of the session, which must read strictly."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "2026_x.jsonl")
        path.write_bytes(data)
        report = import_source(path, Path(folder, "root"), now_ms=NOW)
        session = Session.read(DirStore.open(report.path))
        main = session.main_agent()
        assert main is not None
        assert len(main.conversation) == report.messages
        # A byte order mark alone is no more on a line than a space is.
        pieces = (line.removeprefix(b"\xef\xbb\xbf") for line in data.split(b"\n")[:-1])
        blank = sum(not piece.strip() for piece in pieces)
        assert sum(report.types.values()) + report.lost >= report.lines - blank
        assert import_source(path, Path(folder, "root"), now_ms=NOW).nothing_new
        return [entry.stored.text for entry in main.conversation.entries]


@given(st.lists(records, max_size=6))
@example([{"type": "message", "message": {"role": "assistant", "content": [{"type": "toolCall"}]}}])
@example([{"type": "session_info", "name": "\ud83d"}, {"type": "session", "cwd": "\ud83d"}])
def test_any_records_between_two_messages_leave_both(odd: list[JSON]) -> None:
    data = lines(header(), user(1, "first"), *(dumps(record) for record in odd), user(9, "last"))

    texts = imported(data)

    assert texts[0] == "first"
    assert texts[-1] == "last"


@given(st.lists(st.binary(max_size=60), max_size=6))
@example([b"\xef\xbb\xbf"])
def test_any_bytes_between_two_messages_leave_both(noise: list[bytes]) -> None:
    data = lines(header(), user(1, "first"), *noise, user(9, "last"))

    texts = imported(data)

    assert texts[0] == "first"
    assert texts[-1] == "last"


@given(st.binary(max_size=300) | st.lists(records, max_size=4).map(lambda it: dumps([*it])))
@example(b'{"role":[]}')
@example(b'{"type":"event_msg","payload":{"type":[]}}')
@example(b'{"payload":{"type":{}}}')
def test_any_file_is_imported_or_refused_in_words(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.jsonl")
        path.write_bytes(data)
        root = Path(folder, "root")

        (outcome,) = import_paths([path], root, now_ms=NOW)

        assert path.read_bytes() == data
        if outcome.report is None:
            assert isinstance(outcome.error, AgentMemError)
            assert str(path) in str(outcome.error)
            assert not root.exists()
        else:
            assert outcome.report.messages > 0
