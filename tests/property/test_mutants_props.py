"""Transcripts in which anything can be wrong: imported or refused, and exported as APIs take it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem_cli.errors import AgentMemError
from agentmem_cli.operations.export import SHAPES, kind_of, messages
from agentmem_cli.operations.exports.turns import Left
from agentmem_cli.operations.imports.codex_parts import content_parts
from agentmem_cli.operations.imports.importing import import_source
from agentmem_cli.operations.imports.openai import KIND
from agentmem_cli.session.codec import dumps, loads
from agentmem_cli.session.keys import SESSION
from agentmem_cli.session.reader import fold_log
from agentmem_cli.storage.directory import DirStore
from tests.provider_shapes import check

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SOURCES = (
    "pi-session.jsonl",
    "claude-code/5c1de000-0000-4000-8000-00000000c0de.jsonl",
    "codex-rollout.jsonl",
    "openai-messages.json",
)
_ODD: tuple[JSON, ...] = (None, "", " ", 0, True, 1.5, [], {}, "x", [1], {"type": []}, "\ud83d")


class _Mutator:
    """Makes a transcript worse, a little here and there."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def _sometimes(self, share: float) -> bool:
        return self._random.random() < share

    def value(self, value: JSON) -> JSON:
        if self._sometimes(0.02):
            return self._random.choice(_ODD)
        if isinstance(value, dict):
            made = {key: self.value(each) for key, each in value.items()}
            if made and self._sometimes(0.03):
                made.pop(self._random.choice([*made]))
            if made and self._sometimes(0.02):
                made[self._random.choice([*made])] = self._random.choice([*made.values()])
            return made
        if isinstance(value, list):
            items = [self.value(each) for each in value]
            if items and self._sometimes(0.05):
                items.append(self._random.choice(items))
            if self._sometimes(0.05):
                self._random.shuffle(items)
            return items
        return value

    def data(self, data: bytes) -> bytes:
        whole = data[:1] == b"["
        records = loads(data) if whole else [loads(line) for line in data.splitlines()]
        assert isinstance(records, list)
        found: list[JSON] = []
        for record in records:
            if self._sometimes(0.04):
                continue
            found.append(self.value(record))
            if self._sometimes(0.04):
                found.append(record)
            if self._sometimes(0.04):
                found.insert(self._random.randrange(len(found)), found.pop())
        if whole:
            return dumps(found)
        lines = b"".join(dumps(each) + b"\n" for each in found)
        return lines[: self._random.randrange(len(lines) + 1)] if self._sometimes(0.1) else lines


@pytest.mark.parametrize("source", SOURCES)
@given(seed=st.integers(0, 2**32))
def test_a_transcript_in_which_anything_is_wrong_is_exported_as_the_apis_take_it(
    source: str, seed: int
) -> None:
    # Why a seed: each of thousands of draws would be kept, and made smaller.
    mutator = _Mutator(Random(seed))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, Path(source).name)
        path.write_bytes(mutator.data((EXAMPLES / source).read_bytes()))
        try:
            report = import_source(path, Path(folder, "root"), now_ms=1_800_000_000_000)
        except AgentMemError as error:
            assert str(path) in str(error)  # noqa: PT017 - either way is right
            return
        store = DirStore.open(report.path)
        logs = [log for log in store.logs() if log != SESSION]

        assert logs
        for log in logs:
            entries = fold_log(store, log).conversation.entries
            kind = kind_of(store, log)
            for shape in SHAPES:
                found = list(messages(entries, shape, Left(), kind=kind))
                check(shape, found, back=kind == KIND)


@pytest.mark.parametrize("kind", [[], {}, ["text"], 7])
def test_a_part_of_codex_whose_type_is_no_text_is_kept_as_it_is(kind: JSON) -> None:
    part: JSON = {"type": kind, "text": "x"}

    assert content_parts([part]) == [part]
