"""`rm` and `prune`: whole sessions, only when somebody says so, and never anything else."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.operations.catalog import find
from agentmem_cli.operations.removing import remove
from agentmem_cli.storage.directory import DirStore
from agentmem_cli.storage.locks import held
from tests.cli.running import (
    BASE_MS,
    header,
    join,
    ok,
    record,
    run,
    said,
    tree,
    turns,
    write,
    write_meta,
)
from tests.cli.test_redact_asks import answered
from tests.unit.storage.faults import calls_of, die_at

if TYPE_CHECKING:
    from pathlib import Path

DAY_MS = 86_400_000
NEWER_MS = BASE_MS + 200 * DAY_MS


def old_and_new(root: Path) -> None:
    """A session of January 2026, and one that is 200 days younger; their files are as old."""
    write(root, "old", "main", join(turns(2)))
    write(root, "new", "main", join([header(t=NEWER_MS), said(1, "x", t=NEWER_MS)]))
    for path in root.rglob("*.jsonl"):
        os.utime(path, (1_600_000_000, 1_600_000_000))


def test_a_dry_run_says_what_would_go_and_removes_nothing(root: Path) -> None:
    old_and_new(root)
    before = tree(root)

    text = ok("rm", "old", "--dry-run")
    told = ok("rm", "old", "--dry-run", "--json").object

    assert tree(root) == before
    assert text.out.startswith("would be removed  old: 'text 1' last written 2026-01-01 00:00:02")
    assert " ;" not in text.out
    assert (told["dry_run"], told["removed"]) == (True, False)
    assert (told["agents"], told["logs"], told["blobs"]) == (1, 1, 0)


@pytest.mark.parametrize(
    "words", [("rm", "old"), ("rm", "nosuch"), ("prune", "--older", "1d"), ("gc", "--all")]
)
def test_where_nobody_can_answer_it_stops_at_once_and_names_the_flag(
    root: Path, words: tuple[str, ...]
) -> None:
    old_and_new(root)
    before = tree(root)

    done = run(*words, "--force", "--json")

    assert (done.status, done.out) == (2, "")
    assert "--yes" in done.error["message"]
    assert "--dry-run" in done.error["hint"]
    assert tree(root) == before


@pytest.mark.parametrize("words", [("rm",), ("gc",), ("repair",)])
def test_a_dry_run_refuses_what_the_run_refuses(root: Path, words: tuple[str, ...]) -> None:
    write(root, "old", "main", join(turns(2)))
    os.utime(root / "old" / "logs" / "main.jsonl", None)
    (root / "old" / ".rig-memory.lock").touch(mode=0o600)
    os.utime(root / "old" / ".rig-memory.lock", (1, 1))

    done = run(*words, "old", "--dry-run")

    assert done.status == 4


def test_with_yes_the_session_goes_with_all_it_holds(root: Path) -> None:
    old_and_new(root)
    write(root, "old", "aide", join([header("aide", n=9, parent="main")]))
    blob = root / "old" / "files" / "blobs" / "x.png"
    blob.parent.mkdir(parents=True)
    blob.write_bytes(b"x")

    told = ok("rm", "old", "--yes", "--force", "--json").object

    assert [path.name for path in root.iterdir()] == ["new"]
    assert (told["removed"], told["agents"], told["blobs"]) == (True, 2, 1)
    assert run("show", "old").status == 3


def test_a_dry_run_wins_over_yes(root: Path) -> None:
    old_and_new(root)

    ok("rm", "old", "--yes", "--dry-run")

    assert (root / "old").exists()


def test_forks_that_hold_the_same_text_are_named_and_stay(root: Path) -> None:
    ok("new", "one")
    ok("append", "one", "--role", "user", stdin=b"x")
    ok("append", "one", "--role", "assistant", stdin=b"y")
    ok("fork", "one", "two")

    done = ok("rm", "one", "--yes", "--json")
    text = run("rm", "two", "--dry-run")

    assert done.object["kin"] == ["two"]
    assert [path.name for path in root.iterdir()] == ["two"]
    assert text.status == 0


def test_prune_goes_by_the_time_of_records_and_never_of_files(root: Path) -> None:
    old_and_new(root)
    os.utime(root / "old" / "logs" / "main.jsonl", None)

    plan = ok("prune", "--until", "2026-03-01", "--force", "--dry-run", "--json")
    ok("prune", "--until", "2026-03-01", "--yes", "--force")

    assert [value["session"] for value in plan.objects] == ["old"]
    assert sorted(path.name for path in root.iterdir()) == ["new"]


def test_prune_does_not_believe_a_meta_that_says_it_is_older(root: Path) -> None:
    old_and_new(root)
    write_meta(root, "new", b'{"updated":1000,"messages":1}')
    listed = {value["id"]: value["updated"] for value in ok("list", "--json").objects}

    plan = ok("prune", "--older", "1d", "--until", "2026-03-01", "--dry-run", "--json")

    assert listed["new"].startswith("1970")
    assert [value["session"] for value in plan.objects] == ["old"]


def test_a_session_of_unknown_time_is_no_old_one(root: Path) -> None:
    write(root, "junk", "main", b"junk\n")

    done = ok("prune", "--older", "1s", "--yes")

    assert "No session fits" in done.err


def test_prune_needs_a_filter(root: Path) -> None:
    old_and_new(root)

    done = run("prune", "--yes")

    assert done.status == 2
    assert "needs a filter" in done.err
    assert (root / "old").exists()


@pytest.mark.parametrize(
    ("words", "gone"),
    [
        (("--label", "keep=no"), {"two"}),
        (("--title", "^text"), {"one"}),
        (("--larger", "1kB"), {"three"}),
        (("--project", "/work/place"), {"four"}),
        (("--model", "acme"), {"five"}),
    ],
)
def test_prune_takes_every_filter(root: Path, words: tuple[str, ...], gone: set[str]) -> None:
    write(root, "one", "main", join([header(), said(1, "text")]))
    write(root, "two", "main", join([header(), said(1, "b")]))
    write_meta(root, "two", b'{"labels":{"keep":"no"}}')
    write(root, "three", "main", join([header(), said(1, "c" * 2_000)]))
    cwd = record(1, "state", key="agentmem.cwd", value="/work/place")
    write(root, "four", "main", join([header(), cwd, said(2, "d", id_=0)]))
    model = record(1, "state", key="rig::model", value="acme/large")
    write(root, "five", "main", join([header(), model, said(2, "e", id_=0)]))

    found = ok("prune", *words, "--force", "--dry-run", "--json").objects

    assert {value["session"] for value in found} == gone


def test_a_busy_session_is_refused(root: Path) -> None:
    ok("new", "one")
    ok("append", "one", "--role", "user", stdin=b"x")
    import threading

    done: list[int] = []
    with held(str(root / "one"), 1.0):
        words = ("--lock-wait", "0", "rm", "one", "--yes")
        thread = threading.Thread(target=lambda: done.append(run(*words).status))
        thread.start()
        thread.join()
    write(root, "two", "main", join(turns(1)))

    assert done == [4]
    assert run("rm", "two", "--yes").status == 4
    assert (root / "one").exists()
    assert (root / "two").exists()


def test_a_link_to_a_session_is_refused(root: Path, tmp_path: Path) -> None:
    old_and_new(root)
    (root / "old").rename(tmp_path / "mine")
    (root / "old").symlink_to(tmp_path / "mine")

    done = run("rm", "old", "--yes", "--force")

    assert done.status == 2
    assert "is a link to" in done.err
    assert (tmp_path / "mine" / "logs" / "main.jsonl").exists()


def test_links_in_a_session_are_not_followed(root: Path, tmp_path: Path) -> None:
    old_and_new(root)
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "x").write_bytes(b"precious")
    (root / "old" / "files").symlink_to(mine)

    run("rm", "old", "--yes", "--force")

    assert (mine / "x").read_bytes() == b"precious"


@pytest.mark.parametrize("name", ["src", "notes.txt"])
def test_a_folder_with_anything_else_in_it_is_refused(root: Path, name: str) -> None:
    old_and_new(root)
    (root / "old" / name).write_bytes(b"precious")

    done = run("rm", "old", "--yes", "--force")

    assert done.status == 2
    assert "no part of a session" in done.err
    assert (root / "old" / name).exists()


def test_a_folder_elsewhere_that_only_looks_like_a_session_is_refused(
    root: Path, tmp_path: Path
) -> None:
    root.mkdir()
    logs = tmp_path / "app" / "logs"
    logs.mkdir(parents=True)
    (logs / "server.jsonl").write_bytes(b'{"level":"info"}\n')

    done = run("rm", str(tmp_path / "app"), "--yes", "--force")

    assert done.status == 2
    assert (logs / "server.jsonl").exists()


def test_a_session_elsewhere_goes_by_its_path(root: Path, tmp_path: Path) -> None:
    write(tmp_path / "other", "one", "main", join(turns(1)))
    root.mkdir()

    ok("rm", str(tmp_path / "other" / "one"), "--yes", "--force")

    assert list((tmp_path / "other").iterdir()) == []


@pytest.mark.parametrize("words", ["../../x", "/tmp/victim", "a/../../b", "..", "C:\\x", "nosuch"])
def test_words_that_name_no_session_remove_nothing(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a" / "b")
    old_and_new(root)
    before = tree(root)

    done = run("rm", words, "--yes", "--force")

    assert done.status == 3
    assert tree(root) == before


def test_several_go_and_one_that_fails_does_not_keep_the_others(root: Path) -> None:
    old_and_new(root)
    (root / "new" / "mine").write_bytes(b"x")

    done = run("rm", "old", "new", "--yes", "--force", "--json")

    assert done.status == 2
    assert [value["schema"] for value in done.objects] == ["agentmem.rm/1", "agentmem.failed/1"]
    assert sorted(path.name for path in root.iterdir()) == ["new"]


@pytest.mark.e2e
@pytest.mark.parametrize(("answer", "gone"), [("y", True), ("n", False)])
def test_on_a_terminal_it_asks(root: Path, answer: str, gone: bool) -> None:
    old_and_new(root)

    status, told = answered(root, answer, "rm", "@last", "--force")

    left = {path.name for path in root.iterdir() if not path.name.startswith(".")}
    assert "Remove 1 session, 240 B? It cannot be undone." in told
    assert status == (0 if gone else 1)
    assert (len(left) == 1) == gone


def test_a_beginning_of_a_name_is_told_and_removes_nothing_that_nobody_looks_at(
    root: Path,
) -> None:
    old_and_new(root)
    before = tree(root)

    plan = ok("rm", "ol", "--dry-run", "--force")
    done = run("rm", "ol", "--yes", "--force")

    assert "'ol' is the beginning of 'old'" in plan.err
    assert (done.status, "give the whole name" in done.err) == (2, True)
    assert tree(root) == before


def test_a_session_in_which_a_folder_is_closed_stays_whole(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old_and_new(root)
    before = tree(root)
    closed = str(root / "old" / "logs")
    monkeypatch.setattr("os.access", lambda path, _: str(path) != closed)

    plan = run("rm", "old", "--dry-run", "--force")
    done = run("rm", "old", "--yes", "--force")

    assert (plan.status, done.status) == (2, 2)
    assert f"{closed}: Permission denied" in done.err
    assert tree(root) == before


def test_what_cannot_be_removed_after_all_is_said_to_be_left(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old_and_new(root)

    def refused(_: str, **_named: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patched:
        patched.setattr("shutil.rmtree", refused)
        done = run("rm", "old", "--yes", "--force")
    left = run("verify", "--json").objects[-1]

    assert done.status == 2
    assert f"what is left stands in {root / 'old.rig-trash'} (gc --all)" in done.err
    assert [each["where"] for each in left["findings"]] == ["old.rig-trash"]


def test_a_session_that_cannot_be_read_is_named_and_stays(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old_and_new(root)
    real = os.scandir
    closed = str(root / "new" / "logs")

    def refused(path: object) -> object:
        if path == closed:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return real(path)  # type: ignore[call-overload]

    with monkeypatch.context() as patched:
        patched.setattr("os.scandir", refused)
        done = run("prune", "--older", "1d", "--yes", "--force")
        redacted = run(
            "redact",
            "--all",
            "--older",
            "1d",
            "--dry-run",
            "--no-rules",
            "--literals",
            "-",
            stdin=b"text",
        )

    assert done.status == 2
    assert "new: Permission denied: it is not known whether it fits, so it stays" in done.err
    assert "1 session" in redacted.err  # it is looked into, whatever the filters say
    assert {path.name for path in root.iterdir() if path.name[0] != "."} == {"new"}


def test_what_goes_is_counted_among_all_there_are(root: Path) -> None:
    old_and_new(root)

    size = (root / "old/logs/main.jsonl").stat().st_size
    some = ok("prune", "--title", "text", "--dry-run", "--force").err
    all_ = ok("prune", "--title", ".", "--dry-run", "--force").err
    done = ok("prune", "--title", "text", "--yes", "--force").err
    named = ok("rm", "new", "--yes", "--force").err

    assert f"It would remove 1 of 2 sessions, {size} B." in some
    assert f"It would remove all 2 sessions, {size + 240} B." in all_
    assert done.splitlines()[-1] == f"Removed 1 of 2 sessions, {size} B."
    assert named.splitlines()[-1] == "Removed 1 session, 240 B."


@pytest.mark.parametrize("words", [("--older", "0s"), ("--older", "0d"), ("--larger", "0 kB")])
def test_a_filter_that_fits_every_session_is_none(root: Path, words: tuple[str, str]) -> None:
    old_and_new(root)

    done = run("prune", *words, "--yes", "--force")

    assert (done.status, "fits every session" in done.err) == (2, True)
    assert len(ok("list", "--json").objects) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_after_a_kill_at_any_call_the_session_is_there_whole_or_not_listed(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
    count = len(calls_of(lambda: _made_and_removed(root, "measured")))
    outcomes = set()
    for at in range(count):
        name = f"s{at}"
        _make(root, name)
        die_at(at, lambda name=name: _remove(root, name))  # type: ignore[misc]
        listed = {value["id"] for value in ok("list", "--json").objects}
        if name in listed:
            assert (root / name / "logs" / "main.jsonl").read_bytes() == join(turns(2))
        outcomes.add(name in listed)
        for path in root.iterdir():
            assert path.name in listed or path.name.endswith(".rig-trash") or not path.exists()
        ok("gc", "--all", "--yes", "--force")
        assert not [path for path in root.iterdir() if path.name.endswith(".rig-trash")]

    assert outcomes == {True, False}


def _make(root: Path, name: str) -> None:
    write(root, name, "main", join(turns(2)))


def _made_and_removed(root: Path, name: str) -> None:
    _make(root, name)
    _remove(root, name)


def _remove(root: Path, name: str) -> None:
    store = DirStore.open(root / name)
    remove(find(root, name), store, now_ms=BASE_MS, if_idle_ms=None)


def test_a_removal_that_is_interrupted_says_what_is_left_and_what_takes_it_away(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, "one", "main", join(turns(2)))

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("agentmem_cli.storage.destroying.remove_tree", interrupt)
    done = run("rm", "one", "--yes", "--force")

    assert done.status == 130
    assert "one.rig-trash (gc --all)" in " ".join(done.err.split())
    monkeypatch.undo()
    assert [path.name for path in root.iterdir()] == ["one.rig-trash"]
