"""Whatever is done to the files of a session: a repair does what its dry run said, and once."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentmem_cli.operations.findings import PROBLEM
from agentmem_cli.operations.repairing import Wanted, repair
from agentmem_cli.operations.verify import verify
from agentmem_cli.session.message import Message
from agentmem_cli.session.reader import load
from agentmem_cli.session.writer import save
from agentmem_cli.storage.directory import DirStore
from tests.cli.running import at, run
from tests.e2e.torture import fill
from tests.e2e.torture_states import foreign, half_an_append
from tests.hurts import BYTES, PLACES, hurt
from tests.strategies import base64_data
from tests.unit.storage.faults import calls_of, die_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem_cli.session.codec import Object

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and pipes")

WANTED = Wanted(at(99_999_999), if_idle_ms=None)
KINDS = ("plain", "images", "imported", "half a change", "a change of another", "half an append")


def _half_a_change(session: Path) -> None:
    """Leave a repair that died when a part of it was made."""
    log = session / "logs/main.jsonl"
    log.write_bytes(log.read_bytes() + b'{"seq":')
    copy = session.with_name("counted")
    shutil.copytree(session, copy)
    renames = [
        number
        for number, name in enumerate(calls_of(lambda: _mend(copy)))
        if name in ("replace", "ftruncate")
    ]
    shutil.rmtree(copy)
    assert die_at(renames[1], lambda: _mend(session))
    assert DirStore.open(session).pending()


def _mend(session: Path) -> None:
    repair(DirStore.open(session), WANTED)


def _put_image(session: Path) -> None:
    """Add a message whose image becomes a blob."""
    store = DirStore.open(session)
    conversation = load(store, "main")
    image: Object = {"type": "image", "data": base64_data(b"pixels"), "media_type": "png"}
    conversation.push(Message.user([image]))
    save(store, "main", conversation)
    assert list(session.glob("files/blobs/*"))


@pytest.fixture(scope="module")
def bases() -> Iterator[dict[str, Path]]:
    """A session of each kind."""
    with tempfile.TemporaryDirectory() as folder:
        made: dict[str, Path] = {}
        for kind in KINDS:
            place = Path(folder, kind)
            place.mkdir()
            root = fill(place)
            if kind == "a change of another":
                foreign(root)
            assert run("--root", root, "import", place / "source.jsonl").status == 0
            (imported,) = root.glob("pi-*")
            made[kind] = imported if kind == "imported" else root / "one"
        _put_image(made["images"])
        _half_a_change(made["half a change"])
        half_an_append(made["half an append"])
        yield made


@pytest.fixture(autouse=True)
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare the disk: nothing dies here."""
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


def _all(session: Path) -> dict[str, bytes | str | None]:
    found: dict[str, bytes | str | None] = {}
    for path in session.rglob("*"):
        name = path.relative_to(session).as_posix()
        if path.is_symlink():
            found[name] = str(path.readlink())
        else:
            found[name] = path.read_bytes() if path.is_file() else None
    found.pop(".rig-memory.lock", None)
    return found


def _what(session: Path, wanted: Wanted) -> object:
    try:
        return repair(DirStore.open(session), wanted)
    except OSError as error:
        return str(error)


HURTS = st.lists(
    st.tuples(
        st.sampled_from([*BYTES, *PLACES]),
        st.one_of(st.integers(0, 3), st.integers(0, 99)),
        st.integers(0, 9_999),
    ),
    max_size=4,
)


@given(
    kind=st.sampled_from(KINDS),
    hurts=HURTS,
    wanted=st.builds(
        lambda *flags: WANTED._replace(tighten=flags[0], unknown=flags[1], keep_first=flags[2]),
        *[st.sampled_from([False, False, True])] * 3,
    ),
)
@example(kind="imported", hurts=[("drop a line", 0, 3)], wanted=WANTED)
@example(kind="imported", hurts=[("odd byte", 0, 900)], wanted=WANTED)
@example(kind="plain", hurts=[("another format", 0, 0), ("drop a line", 1, 3)], wanted=WANTED)
@example(kind="images", hurts=[("gone", 0, 0)], wanted=WANTED)
@example(kind="images", hurts=[("zeros", 0, 0), ("another format", 1, 0)], wanted=WANTED)
@example(kind="half a change", hurts=[], wanted=WANTED)
@example(kind="half an append", hurts=[], wanted=WANTED)
@example(kind="a change of another", hurts=[("link", 0, 0)], wanted=WANTED)
@example(kind="half a change", hurts=[("pipe", 1, 0)], wanted=WANTED)
def test_the_plan_is_what_is_done_and_it_is_done_once(
    bases: dict[str, Path], kind: str, hurts: list[tuple[str, int, int]], wanted: Wanted
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        session = Path(folder, "s")
        shutil.copytree(bases[kind], session)
        for how, which, place in hurts:
            hurt(session, how, which, place)
        before = _all(session)

        plan = _what(session, wanted._replace(dry_run=True))
        assert _all(session) == before
        done = _what(session, wanted)
        after = _all(session)
        again = _what(session, wanted)

        assert plan == done
        assert _all(session) == after
        if isinstance(done, str):
            assert again == done
            return
        report = verify(DirStore.open(session))
        problems = sorted(
            (each.where, each.kind) for each in report.findings if each.level == PROBLEM
        )
        assert problems == sorted((each.where, each.kind) for each in done.left)  # type: ignore[attr-defined]
        assert again == done._replace(done=())  # type: ignore[attr-defined]
