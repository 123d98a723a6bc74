"""Records that are whole, and hold anything where our own notes stand: commands answer in words."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentmem_cli.session.codec import dumps
from agentmem_cli.session.keys import CURRENT, FORKED_FROM, LOST, MODEL, NAME, REPAIRS, TITLE
from tests import strategies
from tests.cli.commands_made import CALLS, Call
from tests.cli.running import at, header, join, record, run, said, write, write_meta

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from agentmem_cli.session.codec import JSON, Object

ASIDES = (LOST, "agentmem.undo", "compacted", "note", "rig.turn", "import.compaction")
MORE_ASIDES = ("import.agent", "import.branch", "import.fork", "import.gap", "import.orphan")
BLOCKS = ("system", "persona", "human", "facts", "goals", "scratch", "config", "other", "")
KEYS = (MODEL, TITLE, CURRENT, FORKED_FROM, NAME, "agentmem.cwd", "agentmem.spawned_by")
FIELDS = (
    *("undoes", "summary", "replaced", "state", "tracked", "file", "at", "bytes", "why", "blobs"),
    *("session", "agent", "n", "content", "label", "id", "created", "modified", "by", "reason"),
    *("read_only", "description", "max_bytes", "first", "last", "call", "tool", "name", "log"),
)

numbers: SearchStrategy[JSON] = st.integers(-2, 9) | st.sampled_from([2**64, -(2**70), 1.5])
plausible: SearchStrategy[JSON] = (
    numbers
    | st.sampled_from(["main", "aide", "human", "", "\ud800", "recovered/main-0.part"])
    | st.lists(numbers, max_size=3)
    | strategies.json_values(4)
)
notes: SearchStrategy[JSON] = (
    st.dictionaries(
        st.sampled_from(FIELDS),
        plausible | st.dictionaries(st.sampled_from(FIELDS), plausible, max_size=3),
        max_size=5,
    )
    | plausible
)


def _aside(kind: str, value: JSON, id_: int, after: JSON) -> Object:
    author: Object = {"kind": "rig"}
    aside: Object = {"kind": kind, "author": author, "value": value}
    if after is not None:
        aside["after"] = after
    return {"type": "aside", "id": id_, "aside": aside}


def _saved(key: str, value: JSON) -> Object:
    return {"type": "state", "key": key, "value": value}


def _pushed(message: Object, id_: int, author: JSON) -> Object:
    entry: Object = {"message": message, "id": id_}
    if author is not None:
        entry["author"] = author
    return {"type": "push", "entries": [entry]}


def _spliced(bounds: tuple[int, int], message: Object, by: JSON) -> Object:
    low, high = sorted(bounds)
    removed: list[JSON] = [*range(low, high)]
    entry: Object = {"message": message, "id": 20 + low, "author": by}
    made: Object = {"type": "splice", "from": low, "to": high, "removed": removed}
    return {**made, "by": by, "with": [entry]}


authors: SearchStrategy[JSON] = st.none() | strategies.authors().map(lambda each: each.to_value())
records: SearchStrategy[Object] = st.one_of(
    st.builds(
        _aside, st.sampled_from([*ASIDES, *MORE_ASIDES]), notes, st.integers(0, 3), st.none()
    ),
    st.builds(_aside, st.sampled_from(ASIDES), notes, st.integers(0, 3), st.integers(0, 9)),
    st.builds(
        _saved,
        st.sampled_from(KEYS) | st.sampled_from(BLOCKS).map(lambda kind: f"core_memory.{kind}"),
        notes,
    ),
    st.builds(_pushed, strategies.message_values(), st.integers(2, 9), authors),
    st.builds(
        _spliced,
        st.tuples(st.integers(0, 2), st.integers(0, 2)),
        strategies.message_values(),
        st.just({"kind": {"plugin": "compaction"}}),
    ),
)
metas: SearchStrategy[Object] = st.dictionaries(
    st.sampled_from(["title", "labels", "updated", "model", "messages", "listed"]),
    notes
    | st.dictionaries(
        st.sampled_from(["agentmem", "forked_from", "part_of", "name", "names", "cwd", "held"]),
        notes
        | st.dictionaries(
            st.sampled_from(["logs", "lost", "started", "damaged"]),
            st.dictionaries(st.sampled_from(["main", "gone"]), plausible) | plausible,
        ),
    ),
)
READING = [call for call in CALLS if not call.writes]
WRITING = [call for call in CALLS if call.writes and call.words[0] not in {"rename", "new", "rm"}]


def _log(name: str, n: int, made: list[Object], more: dict[str, Any]) -> bytes:
    lines = [header(name, n=n, **more)]
    if name != "session":
        lines += [said(1, "what tides are", n=n + 1), said(2, "the moon", "assistant", n=n + 2)]
    for each in made:
        fields = {key: value for key, value in each.items() if key != "type"}
        seq = len(lines)
        lines.append(record(seq, str(each["type"]), n=n + seq, t=at(seq), **fields))
    return join(lines)


@pytest.fixture(autouse=True)
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare the disk: nothing dies here."""
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


@given(
    main=st.lists(records, max_size=5),
    own=st.lists(st.builds(_saved, st.sampled_from(KEYS) | st.just("core_memory.human"), notes)),
    meta=st.none() | metas,
    more=st.dictionaries(st.sampled_from(["rewrites", REPAIRS, "other"]), notes),
    reading=st.lists(st.sampled_from(READING), min_size=3, max_size=5),
    writing=st.lists(st.sampled_from(WRITING), min_size=1, max_size=3),
)
@settings(max_examples=strategies.fewer(5))
@example(
    main=[_aside("agentmem.undo", {"undoes": 2}, 0, None), _aside("compacted", {}, 1, 0)],
    own=[_saved(CURRENT, {"agent": "main"})],
    meta={
        "listed": {
            "agentmem": {"logs": {"main": "x"}, "lost": {"gone": -1, "main": {"size": -1, "t": 1}}}
        }
    },
    more={REPAIRS: [{"t": None}]},
    reading=READING[:9],
    writing=[call for call in WRITING if call.words[0] in {"undo", "compact", "repair", "gc"}],
)
def test_commands_answer_in_words_whatever_our_own_notes_say(
    main: list[Object],
    own: list[Object],
    meta: Object | None,
    more: dict[str, Any],
    reading: list[Call],
    writing: list[Call],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "root")
        write(root, "one", "main", _log("main", 0, main, more))
        if own:
            write(root, "one", "session", _log("session", 50, own, {}))
        if meta is not None:
            write_meta(root, "one", dumps(meta))
        for call in (*reading, *writing, *reading):
            words = [word.replace("@", str(Path(folder, "beside"))) for word in call.words]
            with patch.dict("os.environ", {"AGENTMEM_CONFIG": str(Path(folder, "config"))}):
                done = run("--root", root, *words, stdin=call.stdin)

            assert b"internal error" not in done.stderr, (call, done.stderr)
            assert done.status in {0, 1, 2, 3, 4, 5, 6}, (call, done)
