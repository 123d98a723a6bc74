"""A scan looks into all that lies in a session, and says so of what it cannot look into."""

from __future__ import annotations

import gzip
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.storage.directory import DirStore
from tests.cli.running import join, ok, run, tree, turns, write
from tests.e2e.torture import fill
from tests.e2e.torture_states import SECRET
from tests.unit.storage.faults import calls_of, die_at

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.running import Done

WORD = "tangerine-7731-kettle"
OURS = f".agentmem-{'a' * 32}.rig-part"
PLACES = (
    "logs/notes.txt",
    "logs/below/more.jsonl",
    "logs/a\\b.jsonl",
    f"files/{OURS}",
    "logs/main.jsonl.rig-part",
    "files/plugins/x.rig-trash/kept",
    "beside.txt",
    "old/logs/main.jsonl",
)


def _scan(*words: str) -> Done:
    return run("scan", *words, "--no-rules", "--literals", "-", stdin=WORD.encode() + b"\n")


def _redact(*words: str) -> Done:
    given = ("--no-rules", "--literals", "-")
    return run("redact", "one", "--yes", "--force", *given, *words, stdin=WORD.encode() + b"\n")


@pytest.fixture
def session(root: Path) -> Path:
    write(root, "one", "main", join(turns(2)))
    return root / "one"


def _put(session: Path, where: str, text: str) -> Path:
    path = session / where
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("text", [f"it is {WORD}.\n", f'{{"a":"\\u0074{WORD[1:]}"}}\n'])
def test_what_is_no_log_and_no_file_is_looked_into(session: Path, where: str, text: str) -> None:
    assert _scan("one").status == 0
    _put(session, where, text)
    before = tree(session)

    done = _scan("one", "--json")

    assert done.status == 1
    assert where in {each.get("file") for each in done.objects}
    (told,) = [each for each in done.objects if each.get("file") == where]
    assert (told["fate"], told["masked"]) == ("stray", False)
    assert done.objects[-1]["clean"] is False
    assert tree(session) == before


@pytest.mark.parametrize("where", ["logs/x.jsonl", "files/x", "beside"])
@pytest.mark.parametrize("what", ["link", "pipe"])
def test_a_link_and_a_pipe_are_told_as_not_looked_into(
    session: Path, where: str, what: str
) -> None:
    (session / "files").mkdir(mode=0o700, exist_ok=True)
    if what == "link":
        (session / where).symlink_to("/etc/hostname")
    else:
        os.mkfifo(session / where)

    done = _scan("one", "--json")

    assert done.status == 1
    assert where in {each.get("file") for each in done.objects}
    assert (done.objects[-1]["clean"], done.objects[-1]["unread"]) == (False, 1)


@pytest.mark.parametrize(
    "where",
    [f"logs/{WORD}.txt", f"{WORD}/", f"files/plugins/{WORD}/", f"files/{WORD}|", f"old/{WORD}@"],
)
def test_a_name_is_looked_at_too(session: Path, where: str) -> None:
    path = session / where.rstrip("/|@")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if where.endswith("/"):
        path.mkdir()
    elif where.endswith("|"):
        os.mkfifo(path)
    elif where.endswith("@"):
        path.symlink_to("/nowhere")
    else:
        path.write_text("")

    for done in (_scan("one"), _redact()):
        assert done.status == 1
        assert WORD not in done.out + done.err


def test_the_empty_folders_of_a_session_are_its_own(session: Path) -> None:
    for name in ("files/blobs", "files/plugins"):
        (session / name).mkdir(mode=0o700, parents=True)

    assert _scan("one").status == 0
    assert DirStore.open(session).astray() == []


def test_a_lock_that_says_something_is_looked_into(session: Path) -> None:
    _put(session, ".rig-memory.lock", WORD)

    assert _scan("one").status == 1


@pytest.mark.parametrize("packed", [gzip.compress(b"it says"), "it says so".encode("utf-16")])
@pytest.mark.parametrize("rules", [True, False])
def test_what_is_packed_behind_lines_of_text_is_told_as_not_looked_into(
    session: Path, packed: bytes, rules: bool
) -> None:
    path = session / "logs/main.jsonl"
    path.write_bytes(path.read_bytes() + packed + b"\n")
    words = () if rules else ("--no-rules", "--literals", "-")

    def look() -> Done:
        return run("scan", "one", "--json", *words, stdin=WORD.encode() + b"\n")

    for _ in range(2):
        done = look()
        assert done.status == 1
        assert done.objects[-1]["clean"] is False
        assert done.objects[-1]["unread"] >= 1
        run("repair", "one", "--force")
    assert len(list(session.glob("files/recovered/*"))) == 1


@pytest.mark.parametrize("where", [each for each in PLACES if not each.endswith(OURS)])
def test_redact_tells_what_it_leaves_in_such_places(session: Path, where: str) -> None:
    path = _put(session, where, f"it is {WORD}.\n")

    done = _redact()

    assert done.status == 1
    assert where in done.out
    assert "gc removes what a stopped command left" in " ".join(done.out.split())
    assert path.read_text() == f"it is {WORD}.\n"


def test_redact_takes_away_what_one_of_ours_left_though_nothing_else_is_to_be_masked(
    session: Path,
) -> None:
    path = _put(session, f"files/{OURS}", f"it is {WORD}.\n")

    assert _redact().status == 0
    assert not path.exists()
    assert _scan("one").status == 0


def test_so_does_rewrite(session: Path, tmp_path: Path) -> None:
    path = _put(session, f"files/{OURS}", f"it is {WORD}.\n")
    (tmp_path / "rules").write_text(f"{WORD} ==> gone\n")

    ok("rewrite", "one", "--yes", "--force", "--replace-file", tmp_path / "rules")

    assert not path.exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_wherever_a_redaction_is_killed_a_scan_is_not_clean_while_a_value_stands_there(
    root: Path, tmp_path: Path
) -> None:
    (tmp_path / "base").mkdir()
    first = fill(tmp_path / "base")

    def given(root: Path, *words: str) -> Done:
        literals = ("--no-rules", "--literals", "-")
        return run("--root", root, *words, *literals, stdin=f"{SECRET}\n".encode())

    def mask() -> None:
        given(root, "redact", "one", "--yes", "--force")

    def renewed() -> None:
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(first, root)

    names: list[str] = []
    for _ in range(2):  # the key of masks is made the first time
        renewed()
        names = calls_of(mask)
    outcomes = set()
    for at, name in enumerate(names):
        if name in ("open", "fsync", "mkdir"):
            continue
        renewed()
        assert die_at(at, mask, after=True)
        held = any(
            SECRET.encode() in path.read_bytes() for path in root.rglob("*") if path.is_file()
        )
        assert given(root, "scan", "one").status == held
        mask()
        assert given(root, "scan", "one").status == 0
        outcomes.add(held)
    assert outcomes == {True, False}


@pytest.mark.parametrize("where", [".agentmem.rig-part/a1/logs/main.jsonl", "two.rig-trash/x"])
def test_what_is_left_of_a_session_half_made_or_half_gone_is_told(
    root: Path, session: Path, where: str
) -> None:
    _put(root, where, WORD)

    for done in (_scan("--json"), _scan("--all", "--json")):
        assert done.status == 1
        assert (done.objects[-1]["clean"], done.objects[-1]["unread"]) == (False, 1)
        assert "gc --all removes it" in " ".join(str(each.get("why")) for each in done.objects)
    assert _scan("one").status == 0
    masked = run(
        *("redact", "--all", "--yes", "--force", "--no-rules", "--literals", "-"),
        stdin=WORD.encode() + b"\n",
    )
    assert "gc --all removes it" in " ".join((masked.out + masked.err).split())
    assert masked.status == 1
    ok("gc", "--all", "--yes", "--force")
    assert _scan().status == 0
