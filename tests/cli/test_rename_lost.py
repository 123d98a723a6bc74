"""`rename --agent` of an agent whose log lost something: what was set aside is found again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.storage.directory import DirStore
from tests.cli.running import header, join, ok, run, said, write, write_meta

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.running import Value

LOGS = ("main", "aide", "aide-2", "aid")


@pytest.fixture
def mended(root: Path) -> Path:
    """A session of four agents, each of which lost a record that was set aside."""
    for index, log in enumerate(LOGS):
        n = index * 10
        cut = b'{"seq":2,"n":%d,"log' % (n + 2)
        lines = [header(log, n=n), said(1, "a", n=n + 1), cut, said(3, "b", n=n + 3)]
        write(root, "one", log, join(lines))
    assert run("repair", "one", "--force").status == 1
    return root / "one"


def lost(session: Path) -> dict[str, Value]:
    """What each log says is lost, by the log."""
    found = {}
    for path in (session / "logs").iterdir():
        for line in path.read_bytes().splitlines():
            value = json.loads(line)
            if value.get("aside", {}).get("kind") == "agentmem.lost":
                found[path.stem] = value["aside"]["value"]
    return found


def test_what_was_set_aside_goes_by_the_new_name_and_the_lost_place_says_so(mended: Path) -> None:
    before = lost(mended)

    ok("rename", "one", "--agent", "aide=helper", "--force")
    after = lost(mended)

    assert after.keys() == {"main", "helper", "aide-2", "aid"}
    assert after["helper"]["file"] == before["aide"]["file"].replace("aide-", "helper-")
    assert [after[log] for log in ("main", "aide-2", "aid")] == [
        before[log] for log in ("main", "aide-2", "aid")
    ]
    for log, told in after.items():
        data = (mended / "files" / told["file"]).read_bytes()
        assert data.startswith(b'{"seq":2,"n":'), log
    assert len([*(mended / "files" / "recovered").iterdir()]) == len(LOGS)
    assert run("verify", "one").status == 0


def test_a_log_that_the_meta_says_is_shorter_is_so_by_its_new_name(root: Path) -> None:
    for index, log in enumerate(("main", "aide")):
        lines = [header(log, n=index * 10), said(1, "a", n=index * 10 + 1)]
        write(root, "one", log, join([*lines, said(2, "b", n=index * 10 + 2)]))
    ok("meta", "refresh", "one")
    path = root / "one" / "logs" / "aide.jsonl"
    path.write_bytes(join(path.read_bytes().splitlines()[:2]))
    run("repair", "one", "--force")

    ok("rename", "one", "--agent", "aide=helper", "--force")
    meta = json.loads((root / "one/files/meta.json").read_bytes())["listed"]["agentmem"]

    assert meta["lost"].keys() == {"helper"}
    assert meta["logs"].keys() == {"helper", "main"}
    assert run("verify", "one").status == 0


@pytest.mark.parametrize("meta", [b"{", b"[1]", b'{"listed":[1]}', b'{"listed":{"agentmem":7}}'])
def test_a_meta_that_tells_of_no_logs_stays_as_it_is(root: Path, meta: bytes) -> None:
    write(root, "one", "main", join([header(), said(1, "a")]))
    write(root, "one", "aide", join([header("aide", n=5), said(1, "a", n=6)]))
    path = write_meta(root, "one", meta)

    ok("rename", "one", "--agent", "aide=helper", "--force")

    assert path.read_bytes() == meta
    assert (root / "one" / "logs" / "helper.jsonl").exists()


def test_a_session_that_has_the_name_already_is_told_so(root: Path) -> None:
    path = write(root, "one", "main", join([header(), said(1, "a")]))
    before = path.read_bytes()

    done = run("rename", "one", "one")

    assert done.status == 2
    assert "is called 'one' already" in done.err
    assert path.read_bytes() == before


def test_a_session_is_renamed_though_its_files_cannot_be_listed(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ok("new", "one")

    def refused(_: DirStore) -> list[str]:
        raise PermissionError(13, "Permission denied", "files")

    monkeypatch.setattr(DirStore, "files", refused)
    done = run("rename", "one", "two")

    assert (done.status, done.out) == (0, "one is called two now\n")
    assert "could not be looked for" in done.err
    assert (root / "two").is_dir()
