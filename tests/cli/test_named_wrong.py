"""Words that name no session: what stands there is said, and nothing that is no session offered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.running import join, run, tree, turns, write

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("command", ["rm", "show", "verify"])
def test_what_stands_there_and_is_no_session_is_not_offered_again(
    root: Path, tmp_path: Path, command: str
) -> None:
    write(root, "one", "main", join(turns(1)))
    (root / "plain").mkdir()
    (tmp_path / "victim").mkdir()
    (root / "vic").symlink_to(tmp_path / "victim")
    extra = ("--dry-run",) if command == "rm" else ()

    link = run(command, "vic", *extra)
    plain = run(command, "plain", *extra)
    slip = run(command, "plaim", *extra)

    assert (link.status, plain.status, slip.status) == (3, 3, 3)
    assert "'vic' is a link, but holds none" in link.err
    assert "'plain' is there, but holds none" in plain.err
    assert "Did you mean" not in link.err + plain.err + slip.err


def test_a_name_that_is_nothing_like_it_is_not_offered(root: Path) -> None:
    write(root, "openai-messages", "main", join(turns(1)))

    done = run("rm", "nope", "--dry-run")

    assert done.status == 3
    assert "Did you mean" not in done.err


@pytest.mark.parametrize("part", ["logs", "files"])
def test_a_part_of_a_session_is_called_so(root: Path, part: str) -> None:
    write(root, "one", "main", join(turns(1)))
    (root / "one" / "files").mkdir(mode=0o700)
    before = tree(root)

    done = run("rm", root / "one" / part, "--yes", "--force")

    assert done.status == 3
    assert "is a part of a session" in done.err
    assert "The session is one." in done.err
    assert tree(root) == before
