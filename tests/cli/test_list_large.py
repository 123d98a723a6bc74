"""`list` of a large log without a meta: its first and last lines tell what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem_cli.limits import LISTING_HEAD_BYTES, LISTING_TAIL_BYTES
from agentmem_cli.operations import doubts
from tests.cli.running import header, join, ok, pushed, record, run, said, tree, write
from tests.cli.test_gc import blob, shown

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import Object

MANY = 400
LONG = "x" * ((LISTING_HEAD_BYTES + LISTING_TAIL_BYTES) // MANY * 4)


def _log(first: list[bytes], last: list[bytes]) -> bytes:
    """A log whose middle no listing reads."""
    start = len(first) + 1
    middle = [said(seq, LONG, "assistant") for seq in range(start, start + MANY)]
    return join([header(), *first, *middle, *last])


def test_a_title_at_the_beginning_and_a_model_at_the_end_are_seen(root: Path) -> None:
    first = [record(1, "state", key="rig::title", value="Tides"), said(2, "go")]
    last = [
        record(MANY + 3, "state", key="rig::model", value="anthropic/claude-x"),
        said(MANY + 4, "bye"),
    ]
    write(root, "one", "main", _log(first, last))

    (row,) = ok("list", "--json").objects

    assert (row["title"], row["model"]) == ("Tides", "anthropic/claude-x")


def test_the_newest_title_counts(root: Path) -> None:
    first = [record(1, "state", key="rig::title", value="Tides"), said(2, "go")]
    last = [record(MANY + 3, "state", key="rig::title", value="Ebbs")]
    write(root, "one", "main", _log(first, last))

    (row,) = ok("list", "--json").objects

    assert row["title"] == "Ebbs"


@pytest.mark.parametrize("odd", [b"\0" * 40, b'{"seq":1,"n', b"[1]", b'"x"', b"\xff\xfe"])
def test_lines_that_cannot_be_read_hide_no_others(root: Path, odd: bytes) -> None:
    bare: Object = {"role": "user", "content": [{"type": "text", "text": "What about tides?"}]}
    first = [odd, record(1, "push", entries=[7, {"message": 7, "id": 0}]), pushed(2, bare, id_=1)]
    write(root, "one", "main", _log(first, [said(MANY + 4, "bye"), odd]))

    (row,) = ok("list", "--json").objects

    assert row["title"] == "What about tides?"
    assert row["updated"] is not None


def test_a_log_that_the_disk_does_not_give_keeps_every_blob(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unnamed = blob(root, b"unnamed")
    write(root, "one", "main", join([header(), shown(1, blob(root, b"named"))]))
    ok("gc", "one", "--dry-run", "--force")
    before = tree(root / "one" / "files")

    def refuse(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(doubts, "fold_log", refuse)
    done = run("gc", "one", "--yes", "--force", "--young", "0s")

    assert done.status == 5
    assert "main: it cannot be read" in done.err
    assert tree(root / "one" / "files") == before
    assert (root / "one" / "files" / "blobs" / unnamed).exists()
