"""Each kind of transcript with anything between its lines, and each file that an import keeps."""

from __future__ import annotations

import contextlib
import gzip
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentmem_cli.errors import AgentMemError
from agentmem_cli.operations.exported_tar import tar_of
from agentmem_cli.operations.imports.importing import Options, import_source
from agentmem_cli.operations.imports.maps import FOLDER
from agentmem_cli.operations.imports.packed import packed
from agentmem_cli.operations.imports.restored import import_tar
from agentmem_cli.operations.imports.sniff import kinds
from agentmem_cli.operations.verify import verify
from agentmem_cli.session.codec import dumps, loads, loads_object
from agentmem_cli.session.session import Session
from agentmem_cli.storage.directory import DirStore
from tests import strategies
from tests.cli.running import join, turns, write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hypothesis.strategies import DrawFn

    from agentmem_cli.session.codec import JSON

NOW = 1_800_000_000_000
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SOURCES = (
    "pi-session.jsonl",
    "claude-code/5c1de000-0000-4000-8000-00000000c0de.jsonl",
    "codex-rollout.jsonl",
    "openai-messages.json",
)
FEW = settings(max_examples=strategies.fewer(6))


def _strings(value: JSON) -> Iterator[tuple[str, bool]]:
    """Yield every short string of a value, and whether it is a key."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield key, True
            yield from _strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)
    elif isinstance(value, str) and len(value) < 40:
        yield value, False


class Source:
    """An example of one kind: its records, and the words that records of it are made of."""

    def __init__(self, name: str) -> None:
        data = (EXAMPLES / name).read_bytes()
        self.name = Path(name).name
        self.is_array = data[:1] == b"["
        whole = loads(data) if self.is_array else [loads(line) for line in data.splitlines()]
        assert isinstance(whole, list)
        self.records = whole
        found = dict.fromkeys(_strings(whole))
        self.keys = [word for word, is_key in found if is_key]
        self.words = [word for word, is_key in found if not is_key]

    def data(self, records: list[JSON]) -> bytes:
        if self.is_array:
            return dumps([*records])
        return b"".join(dumps(each) + b"\n" for each in records)


MADE = {name: Source(name) for name in SOURCES}


@st.composite
def mixed(draw: DrawFn, source: Source) -> list[JSON]:
    """Draw records of a source with others between, that are made of its words."""
    leaves = st.sampled_from(source.words) | strategies.json_values(2)
    values = st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(source.keys), inner, max_size=4)
        ),
        max_leaves=10,
    )
    records = [*source.records[: draw(st.integers(0, len(source.records)))]]
    for _ in range(draw(st.integers(1, 4))):
        odd: JSON = draw(st.dictionaries(st.sampled_from(source.keys), values, max_size=7))
        base = draw(st.sampled_from(source.records))
        if draw(st.booleans()) and isinstance(base, dict) and isinstance(odd, dict):
            odd = {**base, **odd}
        records.insert(draw(st.integers(0, len(records))), odd)
    return records


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("forced", [False, True])
@given(data=st.data())
@FEW
def test_any_records_of_its_words_are_imported_or_refused_in_words(
    name: str, forced: bool, data: st.DataObject
) -> None:
    source = MADE[name]
    kind = data.draw(st.sampled_from(kinds())) if forced else None
    text = source.data(data.draw(mixed(source)))
    with tempfile.TemporaryDirectory() as folder:
        path, root = Path(folder, source.name), Path(folder, "root")
        path.write_bytes(text)
        try:
            report = import_source(path, root, now_ms=NOW, kind=kind)
        except AgentMemError as error:
            assert str(path) in str(error)  # noqa: PT017 - either way is right
            assert not root.exists()
            return
        session = Session.read(DirStore.open(report.path))
        again = import_source(path, root, now_ms=NOW, kind=kind)

        assert sum(len(agent.conversation) for agent in session.agents) > 0
        assert again.nothing_new
        assert verify(DirStore.open(report.path)).problems == 0


@pytest.mark.parametrize("name", SOURCES)
@given(data=st.data())
@FEW
def test_any_bytes_where_a_transcript_is_are_imported_or_refused_in_words(
    name: str, data: st.DataObject
) -> None:
    source = MADE[name]
    text = data.draw(strategies.damaged(source.data(source.records)))
    with tempfile.TemporaryDirectory() as folder:
        path, root = Path(folder, source.name), Path(folder, "root")
        path.write_bytes(text)
        try:
            report = import_source(path, root, now_ms=NOW)
        except AgentMemError as error:
            assert str(path) in str(error)  # noqa: PT017 - either way is right
            return

        assert import_source(path, root, now_ms=NOW).nothing_new
        assert verify(DirStore.open(report.path)).problems == 0


_PACKED = packed(MADE["codex-rollout.jsonl"].data(MADE["codex-rollout.jsonl"].records))


@given(strategies.damaged(_PACKED))
@example(_PACKED + _PACKED)
@example(_PACKED[:40])
@FEW
def test_any_packed_bytes_are_imported_or_refused_in_words(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, root = Path(folder, "rollout-2026.jsonl.zst"), Path(folder, "root")
        path.write_bytes(data)
        try:
            report = import_source(path, root, now_ms=NOW)
        except AgentMemError as error:
            assert str(path) in str(error)  # noqa: PT017 - either way is right
            return

        Session.read(DirStore.open(report.path))
        assert import_source(path, root, now_ms=NOW).nothing_new


def _tar() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), "one", "main", join(turns(3)))
        return b"".join(tar_of(DirStore.open(Path(folder, "one"))))


_TAR = _tar()


@pytest.mark.parametrize("pack", [bytes, lambda data: gzip.compress(data, mtime=0), packed])
@given(data=st.data())
@FEW
def test_any_bytes_where_a_tar_is_make_a_session_or_are_refused_in_words(
    pack: object, data: st.DataObject
) -> None:
    assert callable(pack)
    whole = pack(_TAR)
    text = data.draw(strategies.damaged(whole))
    with tempfile.TemporaryDirectory() as folder:
        path, root = Path(folder, "a.tar"), Path(folder, "root")
        path.write_bytes(text)
        try:
            report = import_tar(path, root, Options(NOW))
        except AgentMemError as error:
            assert str(path) in str(error)  # noqa: PT017 - either way is right
            assert not root.exists()
            return

        assert DirStore.open(report.path).logs()


@pytest.mark.parametrize("name", SOURCES)
@given(data=st.data())
@FEW
def test_an_import_on_anything_that_stands_where_its_notes_are_says_so_or_goes_on(
    name: str, data: st.DataObject
) -> None:
    source = MADE[name]
    with tempfile.TemporaryDirectory() as folder:
        path, root = Path(folder, source.name), Path(folder, "root")
        path.write_bytes(source.data(source.records[:-1]))
        report = import_source(path, root, now_ms=NOW)
        store = DirStore.open(report.path)
        notes = [each for each in store.files() if each.startswith(FOLDER)]
        which = data.draw(st.sampled_from(notes))
        store.write_file(which, data.draw(strategies.damaged(store.read_file(which))))
        before = {log: store.read_log(log) for log in store.logs()}
        path.write_bytes(source.data(source.records))
        verify(store)
        try:
            import_source(path, root, now_ms=NOW)
        except (AgentMemError, OSError) as error:
            assert str(error)  # noqa: PT017 - either way is right

        Session.read(store)
        assert [log for log in before if not store.read_log(log).startswith(before[log])] == []


def test_a_note_that_calls_a_value_a_message_makes_none_of_it() -> None:
    name = next(name for name in SOURCES if name.startswith("claude-code/"))
    source = MADE[name]
    with tempfile.TemporaryDirectory() as folder:
        path, root = Path(folder, source.name), Path(folder, "root")
        path.write_bytes(source.data(source.records[:-1]))
        store = DirStore.open(import_source(path, root, now_ms=NOW).path)
        (note,) = [each for each in store.files() if each.endswith(f"{source.name}.map.jsonl")]
        lines = store.read_file(note).splitlines(keepends=True)
        at = next(at for at, line in enumerate(lines) if b'"open":true' in line)
        told = loads_object(lines[at])
        again = dumps({**told, "n": loads_object(lines[at + 1]).get("n"), "fp": ""})
        store.write_file(note, b"".join([*lines[: at + 1], again + b"\n", *lines[at + 1 :]]))
        path.write_bytes(source.data(source.records))

        with contextlib.suppress(AgentMemError):
            import_source(path, root, now_ms=NOW)

        Session.read(store)
