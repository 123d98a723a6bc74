"""A session is moved or removed while a command waits for its lock: nothing is made anew."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.storage.session_lock import SessionLock
from tests.cli.commands_made import known_calls
from tests.cli.running import header, join, ok, run, said, tree, turns, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.commands_made import Call

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a folder with an open file stays there")

CALLS = [each for each in known_calls() if each.writes and "one" in each.words]


def _fill(root: Path) -> None:
    write(root, "one", "main", join(turns(4)))
    write(root, "one", "aide", join([header("aide", n=20), said(1, "it ebbs", n=21, id_=0)]))
    ok("meta", "label", "one", "a=b")


def _moving(root: Path, how: str, real: Callable[..., None]) -> Callable[..., None]:
    def take(lock: SessionLock, left_s: float, wait_s: float) -> None:
        session = root / "one"
        if lock.folder == str(session) and session.is_dir() and not (root / "gone").exists():
            session.rename(root / "gone")
            if how == "begun anew":
                shutil.copytree(root / "gone", session)
        real(lock, left_s, wait_s)

    return take


@pytest.mark.parametrize("how", ["moved", "begun anew"])
@pytest.mark.parametrize("each", CALLS, ids=lambda each: each.name)
def test_what_waits_for_the_lock_of_a_session_that_goes_says_so_and_makes_nothing(
    root: Path, each: Call, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fill(root)
    monkeypatch.setattr(SessionLock, "_take_file", _moving(root, how, SessionLock._take_file))

    done = run("--lock-wait", "0.2", *each.words, stdin=each.stdin)

    if not (root / "gone").exists():
        assert done.status, "refused before it took the lock"
        return
    assert done.status in {3, 4}, done
    assert done.err.strip()
    assert (root / "one").exists() == (how == "begun anew")
    left = {name for name in tree(root) if name.startswith(("one/", "gone/"))}
    assert {name for name in left if "rig-part" in name} == set()
