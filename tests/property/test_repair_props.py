"""Whatever is done to the bytes of a log: after repair it reads strictly, and no byte is gone."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentmem_cli.operations.findings import PROBLEM
from agentmem_cli.operations.repairing import Wanted, repair
from agentmem_cli.operations.verify import verify
from agentmem_cli.session.codec import dumps
from agentmem_cli.session.fold import BAD_STAMP, NOT_APPLIED
from agentmem_cli.session.pairing import UNASKED
from agentmem_cli.session.reader import fold_log
from agentmem_cli.storage.directory import DirStore
from tests import strategies
from tests.cli.running import at, header, join, message, pushed, record, said, write

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.fold import LogFold

_ASIDE: Object = {"kind": "note", "author": {"kind": "rig"}, "after": 0, "value": [1]}
_CALL: Object = {"type": "toolcall", "id": "c1", "function": {"name": "ls", "arguments": {}}}
_RESULT: Object = {"type": "toolresult", "call": "c1", "name": "ls", "content": []}
_EDIT: Object = {"message": message("user", "instead"), "id": 4}


def _splice() -> bytes:
    fields: dict[str, JSON] = {"from": 0, "to": 1, "removed": [0], "with": [_EDIT]}
    return dumps({"seq": 7, "n": 15, "t": at(7), "type": "splice", **fields})


LINES = [
    header(n=3),
    said(1, "one", n=4),
    said(2, 'two {"seq":1,"n":1,"t":1,"type":"push"}', "assistant", n=5),
    record(3, "state", n=9, key="rig::model", value="a/b"),
    pushed(4, {"role": "assistant", "content": [_CALL]}, id_=2, n=10),
    pushed(5, {"role": "user", "content": [_RESULT]}, id_=3, n=11),
    record(6, "aside", n=12, id=0, aside=_ASIDE),
    _splice(),
    record(8, "halt", n=16, halt="kept"),
    said(9, "nine", id_=5, n=20),
    said(10, "ten", "assistant", id_=6, n=21),
]
DATA = join(LINES)


def _cut(data: bytes, at_: int, size: int) -> bytes:
    return data[:at_] + data[at_ + size :]


def _double(data: bytes, at_: int, size: int) -> bytes:
    return data[: at_ + size] + data[at_:]


def _zero(data: bytes, at_: int, size: int) -> bytes:
    return data[:at_] + b"\0" * len(data[at_ : at_ + size]) + data[at_ + size :]


def _flip(data: bytes, at_: int, size: int) -> bytes:
    if at_ >= len(data):
        return data
    return data[:at_] + bytes([data[at_] ^ (1 << size % 8)]) + data[at_ + 1 :]


def _glue(data: bytes, at_: int, size: int) -> bytes:
    return data[:at_] + data[at_ : at_ + size * 9].replace(b"\n", b"", 1) + data[at_ + size * 9 :]


def _drop_line(data: bytes, at_: int, _: int) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join(lines[: at_ % len(lines)] + lines[at_ % len(lines) + 1 :]) if lines else data


def _double_line(data: bytes, at_: int, size: int) -> bytes:
    lines = data.splitlines(keepends=True)
    if not lines:
        return data
    begin = at_ % len(lines)
    end = begin + 1 + size % 3
    return b"".join(lines[:end] + lines[begin:])


def _junk(data: bytes, at_: int, size: int) -> bytes:
    lines = data.splitlines(keepends=True)
    lines.insert(
        at_ % (len(lines) + 1), [b"junk\n", b"[]\n", b"{}\n", b"\0\0\n", b"\xff\n"][size % 5]
    )
    return b"".join(lines)


WAYS = (_cut, _double, _zero, _flip, _glue, _drop_line, _double_line, _junk)


@pytest.fixture(autouse=True)
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare the disk: nothing dies here."""
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


HURTS = st.lists(
    st.tuples(st.sampled_from(WAYS), st.integers(0, len(DATA)), st.integers(1, 90)),
    min_size=1,
    max_size=4,
)


def _shown(fold: LogFold) -> list[bytes]:
    return [entry.stored.raw for entry in fold.conversation.entries]


@given(hurts=HURTS)
@example(hurts=[(_flip, DATA.index(b'"seq":4') + 6, 0)])
@example(hurts=[(_flip, DATA.index(b'"n":10') + 4, 1)])
@example(hurts=[(_double_line, 4, 2), (_cut, 300, 40)])
@example(hurts=[(_cut, 0, 60)])
@example(hurts=[(_cut, 105, 1), (_double, 19, 8)])
@example(hurts=[(_cut, 8, 16), (_cut, 8, 90)])
@example(hurts=[(_cut, 0, 1), (_double, 124, 7)])
@example(hurts=[(_double_line, 0, 1), (_cut, 0, 1)])
@example(hurts=[(_glue, 0, 12), (_double_line, 12, 2), (_cut, 603, 90)])
@example(hurts=[(_cut, 0, 1), (_double_line, 15, 2), (_double_line, 0, 1), (_cut, 1460, 1)])
@example(hurts=[(_glue, 594, 88), (_double, 682, 58)])
def test_any_damage_is_mended(hurts: list[tuple[object, int, int]]) -> None:
    data = DATA
    for way, at_, size in hurts:
        assert callable(way)
        data = way(data, at_, size)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write(root, "one", "main", data)
        store = DirStore.open(root / "one")
        before = fold_log(store, "main", strict=False)
        shown = _shown(before)
        wanted = Wanted(at(99), if_idle_ms=None, unknown=True)
        dry = repair(store, wanted._replace(dry_run=True))
        assert store.read_log("main") == data

        done = repair(store, wanted)
        report = verify(store)

        problems = [found for found in report.findings if found.level == PROBLEM]
        log = store.read_log("main")
        kept = b"\n".join([log, *map(store.read_file, store.files())])
        assert dry.done == done.done
        assert repair(store, wanted).done == ()
        assert store.read_log("main") == log
        if any(found.kind == "format" for found in problems):
            assert log == data
            return
        # A call whose name was hurt, in JSON that is whole, is a call of another name.
        assert {found.kind for found in problems} <= {BAD_STAMP, NOT_APPLIED, UNASKED}
        if not problems:
            fold_log(store, "main")
        assert [raw for raw in shown if raw not in log] == []
        for line in re.split(rb"[\n]", data):
            assert _is_kept(line, kept), line


_PIECES_MAX = 9


def _is_kept(line: bytes, kept: bytes) -> bool:
    """Whether a line stands somewhere, in a few pieces: what was glued was taken apart."""
    # The lineage of a header is a fresh one, so each header is two pieces more.
    rest, headers = re.subn(rb'"lineage":[0-9]+', b"", line)
    rest = rest.strip()
    for _ in range(_PIECES_MAX + 2 * headers):
        if not rest:
            return True
        # A beginning of what is there is there too, so the longest is found by halving.
        least, most = 0, len(rest)
        while least < most:
            middle = (least + most + 1) // 2
            least, most = (middle, most) if rest[:middle] in kept else (least, middle - 1)
        if not least:
            return False
        rest = rest[least:].lstrip()
    return not rest


# -- whole lines in any order ------------------------------------------------

CHOSEN = st.lists(
    st.tuples(st.integers(0, len(LINES) - 1), st.sampled_from(["whole", "cut", "glued"])),
    max_size=2 * len(LINES),
)


def _laid(chosen: list[tuple[int, str]]) -> bytes:
    data = b""
    for index, how in chosen:
        line = LINES[index] + b"\n"
        data += {"whole": line, "cut": line[: len(line) // 2] + b"\n", "glued": line[:-1]}[how]
    return data


@given(chosen=CHOSEN, ends=st.booleans())
@example(chosen=[(each, "whole") for each in (0, 1, 3, 2, *range(4, len(LINES)))], ends=True)
@example(chosen=[(each, "whole") for each in (0, *range(len(LINES) - 1, 0, -1))], ends=True)
@example(chosen=[(each, "whole") for each in range(len(LINES) - 1, -1, -1)], ends=True)
@example(chosen=[(0, "whole"), (3, "glued"), (1, "whole"), (2, "whole")], ends=True)
@example(chosen=[*[(0, "glued")] * 4, (0, "whole")], ends=True)
@example(chosen=[(0, "whole"), (3, "glued"), (3, "cut"), (2, "whole"), (3, "whole")], ends=True)
def test_lines_in_any_order_doubled_missing_or_cut_come_to_a_log_that_reads_strictly(
    chosen: list[tuple[int, str]], ends: bool
) -> None:
    data = _laid(chosen) + (b"" if ends else b'{"seq":11,')
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write(root, "one", "main", data)
        store = DirStore.open(root / "one")
        shown = _shown(fold_log(store, "main", strict=False))
        wanted = Wanted(at(99), if_idle_ms=None)

        dry = repair(store, wanted._replace(dry_run=True))
        done = repair(store, wanted)
        log = store.read_log("main")

        fold_log(store, "main")
        problems = [each.kind for each in verify(store).findings if each.level == PROBLEM]
        kept = b"\n".join([log, *map(store.read_file, store.files())])
        assert set(problems) <= {UNASKED}
        assert dry.done == done.done
        assert repair(store, wanted).done == ()
        assert store.read_log("main") == log
        assert [raw for raw in shown if raw not in log] == []
        assert [line for line in data.split(b"\n") if not _is_kept(line, kept)] == []


@given(order=st.permutations(range(len(LINES))))
@example(order=[*range(len(LINES) - 1, -1, -1)])
def test_lines_out_of_order_are_put_into_it_and_nothing_is_set_aside(order: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write(root, "one", "main", join([LINES[index] for index in order]))
        store = DirStore.open(root / "one")

        done = repair(store, Wanted(at(99), if_idle_ms=None))

        sound = order == sorted(order)
        assert [each.kind for each in done.done] == ([] if sound else ["order"]) + ["meta"]
        assert store.read_log("main").splitlines()[1:] == LINES[1:]


def _other(line: bytes) -> bytes:
    """Another record of the same stamp: what was said, or called so, is another thing."""
    return line.replace(b'"text":"', b'"text":"other ').replace(b'"name":"', b'"name":"other ')


@given(
    chosen=st.lists(
        st.tuples(st.integers(0, len(LINES) - 1), st.booleans()), max_size=2 * len(LINES)
    )
)
@settings(max_examples=strategies.fewer(3))
@example(chosen=[(each, each == at_) for at_ in range(3) for each in range(len(LINES))])
@example(chosen=[pair for each in range(len(LINES)) for pair in ((each, False), (each, True))])
@example(chosen=[pair for each in range(len(LINES)) for pair in ((each, True), (each, False))])
def test_of_records_of_one_stamp_the_first_is_enough_to_read_a_log_strictly(
    chosen: list[tuple[int, bool]],
) -> None:
    data = join([_other(LINES[index]) if other else LINES[index] for index, other in chosen])
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write(root, "one", "main", data)
        store = DirStore.open(root / "one")
        wanted = Wanted(at(99), if_idle_ms=None, keep_first=True)

        dry = repair(store, wanted._replace(dry_run=True))
        done = repair(store, wanted)
        log = store.read_log("main")

        fold_log(store, "main")
        problems = {each.kind for each in verify(store).findings if each.level == PROBLEM}
        kept = b"\n".join([log, *map(store.read_file, store.files())])
        assert problems <= {UNASKED}
        assert dry.done == done.done
        assert repair(store, wanted).done == ()
        assert [line for line in data.split(b"\n") if not _is_kept(line, kept)] == []
