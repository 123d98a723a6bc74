"""`gc`: what nothing names goes; whatever names a blob keeps it."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.storage.layout import STAGES
from agentmem_cli.storage.locks import held
from tests.cli.running import header, join, ok, pushed, record, run, said, tree, write

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import Object
    from tests.cli.running import Value

OLD = (1_000_000_000, 1_000_000_000)


def blob(root: Path, data: bytes, *, old: bool = True) -> str:
    """Put a blob into the session; return its name."""
    name = f"{hashlib.sha256(data).hexdigest()}.png"
    folder = root / "one" / "files" / "blobs"
    for each in (root, root / "one", root / "one" / "files", folder):
        each.mkdir(mode=0o700, exist_ok=True)
    (folder / name).write_bytes(data)
    (folder / name).chmod(0o600)
    if old:
        os.utime(folder / name, OLD)
    return name


def shown(seq: int, name: str, *, id_: int | None = None) -> bytes:
    data: Object = {"type": "url", "value": f"blob:{name}"}
    part: Object = {"type": "image", "media_type": "png", "data": data}
    return pushed(seq, {"role": "user", "content": [part]}, id_=id_)


def there(root: Path) -> set[str]:
    folder = root / "one" / "files" / "blobs"
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


def collected(*words: str) -> Value:
    return ok("gc", "one", "--yes", "--force", "--json", *words).object


def test_a_blob_that_nothing_names_goes_and_verify_agrees(root: Path) -> None:
    named, unnamed = blob(root, b"named"), blob(root, b"unnamed")
    write(root, "one", "main", join([header(), shown(1, named)]))
    before = [each["kind"] for each in ok("verify", "one", "--json").object["findings"]]
    start = tree(root)

    plan = ok("gc", "one", "--dry-run", "--force", "--json").object
    untouched = tree(root)
    done = collected()

    assert before == ["unused-blob"]
    assert untouched == start
    assert plan["removed"] == done["removed"]
    assert [each["name"] for each in done["removed"]] == [f"blobs/{unnamed}"]
    assert done["bytes"] == 7
    assert there(root) == {named}
    assert ok("verify", "one", "--json").object["findings"] == []
    assert collected()["removed"] == []


def test_the_past_other_agents_and_damaged_lines_keep_a_blob(root: Path) -> None:
    names = [blob(root, data) for data in (b"past", b"agent", b"cut", b"spelled", b"aside")]
    removed: Object = {"from": 0, "to": 1, "removed": [0], "with": []}
    lines = [
        header(),
        shown(1, names[0]),
        record(2, "splice").replace(b"}", b"," + _inside(removed) + b"}"),
        shown(3, names[2])[:-9],
        _spelled(shown(4, names[3], id_=3), names[3]),
    ]
    write(root, "one", "main", join(lines))
    write(root, "one", "aide", join([header("aide", n=9), shown(1, names[1])]))
    kept = root / "one" / "files" / "recovered"
    kept.mkdir(mode=0o700)
    (kept / "main.part").write_bytes(b'{"x":"blob:' + names[4].encode())

    done = collected()

    assert done["removed"] == []
    assert there(root) == set(names)


def _inside(fields: Object) -> bytes:
    from agentmem_cli.session.codec import dumps

    return dumps(fields)[1:-1]


def _spelled(line: bytes, name: str) -> bytes:
    """Write one character of a name by its number, as JSON may."""
    spelled = name[:5].encode() + b"\\u00%02x" % ord(name[5]) + name[6:].encode()
    return line.replace(name.encode(), spelled)


def test_kept_sources_and_maps_keep_a_blob(root: Path) -> None:
    names = [blob(root, data) for data in (b"map", b"source", b"beside")]
    write(root, "one", "main", join([header(), said(1, "x")]))
    folder = root / "one" / "files" / "plugins" / "import"
    folder.mkdir(mode=0o700, parents=True)
    (folder / "a.jsonl.map.jsonl").write_bytes(b'{"blobs":["' + names[0].encode() + b'"]}\n')
    (folder / "a.jsonl").write_bytes(names[1].encode())
    (folder / "session.beside.jsonl").write_bytes(b'{"stored":"blobs/' + names[2].encode())

    assert collected()["removed"] == []
    assert there(root) == set(names)


def test_a_young_blob_stays_since_a_record_may_be_about_to_name_it(root: Path) -> None:
    young = blob(root, b"young", old=False)
    write(root, "one", "main", join([header(), said(1, "x")]))

    done = collected()
    told = ok("gc", "one", "--yes", "--force")

    assert done["removed"] == []
    assert [each["name"] for each in done["young"]] == [f"blobs/{young}"]
    assert "stays  one, blobs/" in told.out
    assert there(root) == {young}
    assert collected("--young", "0s")["removed"] != []


def test_leftovers_of_stopped_programs_go(root: Path) -> None:
    path = write(root, "one", "main", join([header(), said(1, "x")]))
    part = path.with_name("x.rig-part")
    part.write_bytes(b"half")

    done = collected()

    assert [each["kind"] for each in done["removed"]] == ["leftover"]
    assert not part.exists()


@pytest.mark.parametrize("words", [("one",), ("--all",)])
def test_without_a_terminal_it_stops_at_once_and_names_the_flag(
    root: Path, words: tuple[str, ...]
) -> None:
    blob(root, b"unnamed")
    write(root, "one", "main", join([header(), said(1, "x")]))
    before = tree(root)

    done = run("gc", *words)

    assert done.status == 2
    assert "--yes" in done.err
    assert tree(root) == before


def test_a_log_that_cannot_be_read_keeps_every_blob(root: Path) -> None:
    name = blob(root, b"unnamed")
    path = write(root, "one", "main", join([header(), said(1, "x")]))
    path.unlink()
    path.mkdir()
    (root / "one" / "files" / "x").symlink_to(path)
    link = root / "one" / "logs"
    link.rename(root / "elsewhere")
    link.symlink_to(root / "elsewhere")

    done = run("gc", "one", "--yes", "--force")

    assert done.status != 0
    assert there(root) == {name}


def test_a_session_that_another_program_writes_to_is_refused(root: Path) -> None:
    name = blob(root, b"unnamed")
    write(root, "one", "main", join([header(), said(1, "x")]))

    done = run("gc", "one", "--yes")

    assert done.status == 4
    assert there(root) == {name}


@pytest.mark.parametrize("command", [("gc", "--yes"), ("repair",)])
def test_sessions_half_made_or_half_removed_are_named_by_verify_and_go(
    root: Path, command: tuple[str, ...]
) -> None:
    ok("new", "one")
    stage = root / STAGES / "a1"
    trash = root / "gone.rig-trash"
    for folder in (stage, trash):
        (folder / "logs").mkdir(parents=True)
        (folder / "logs" / "main.jsonl").write_bytes(b"half")

    named = run("verify", "--json")
    alone = ok("verify", "one", "--json")
    plan = ok(*command, "--all", "--force", "--dry-run", "--json")
    done = ok(*command, "--all", "--force", "--json")
    after = ok("verify", "--json")

    key = "removed" if command[0] == "gc" else "mended"
    name = "name" if command[0] == "gc" else "where"
    left = named.objects[-1]
    assert named.status == 1
    assert [each["where"] for each in left["findings"]] == [f"{STAGES}/a1", "gone.rig-trash"]
    assert len(alone.objects) == 1
    gone = [each[name] for each in done.objects[-1][key]]
    assert plan.objects[-1][key] == done.objects[-1][key]
    assert gone == [f"{STAGES}/a1", "gone.rig-trash"]
    assert not (root / STAGES).exists()
    assert not trash.exists()
    assert len(after.objects) == 1


def test_a_session_that_is_being_made_is_left_alone(root: Path) -> None:
    ok("new", "one")
    stage = root / STAGES / "a1"
    stage.mkdir(parents=True)
    (stage / "x").write_bytes(b"half")

    with held(str(stage), 1.0):
        before = {path: path.read_bytes() for path in stage.rglob("*")}
        named = ok("verify", "--json")
        done = ok("gc", "--all", "--yes", "--force", "--json")

        assert len(named.objects) == 1
        assert [value["removed"] for value in done.objects] == [[]]
        assert {path: path.read_bytes() for path in stage.rglob("*")} == before


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX links and pipes")
@pytest.mark.parametrize("command", [("gc", "--yes"), ("repair",)])
def test_what_is_called_as_left_and_is_no_folder_is_named_and_goes_alone(
    root: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    ok("new", "one")
    target = tmp_path / "mine"
    target.mkdir()
    (target / "x").write_bytes(b"precious")
    (root / "a.rig-trash").symlink_to(target)
    (root / "b.rig-part").symlink_to(target / "x")
    os.mkfifo(root / "c.rig-part")
    (root / STAGES).mkdir()
    (root / STAGES / "d").symlink_to(target)
    own = root / f".agentfile-{'0' * 32}.rig-part"
    own.write_bytes(b"of an export that is under way")
    names = [f"{STAGES}/d", "a.rig-trash", "b.rig-part", "c.rig-part"]

    named = run("verify", "--json")
    plan = ok(*command, "--all", "--force", "--dry-run", "--json")
    done = ok(*command, "--all", "--force", "--json")
    ok("verify")

    key, name = ("removed", "name") if command[0] == "gc" else ("mended", "where")
    assert [each["where"] for each in named.objects[-1]["findings"]] == names
    assert plan.objects[-1][key] == done.objects[-1][key]
    assert [each[name] for each in done.objects[-1][key]] == names
    assert (target / "x").read_bytes() == b"precious"
    assert {path.name for path in root.iterdir()} - {STAGES} == {"one", own.name}


@pytest.mark.skipif(os.name == "nt", reason="modes say nothing there")
@pytest.mark.parametrize("words", ["verify", "verify one", "repair one", "gc one --yes", "rm one"])
def test_a_root_that_anyone_may_write_in_is_warned_about(root: Path, words: str) -> None:
    ok("new", "one")
    root.chmod(0o777)

    done = run(*words.split(), *(["--dry-run"] if words == "rm one" else []))

    assert (done.status, done.err.count(f"chmod o-w {root}")) == (0, 1)


def test_what_is_no_blob_by_its_name_or_its_bytes_stays(root: Path) -> None:
    write(root, "one", "main", join([header(), said(1, "one")]))
    own = blob(root, b"nobody names it")
    folder = root / "one" / "files" / "blobs"
    damaged = folder / f"{'0' * 64}.png"
    for mine in (folder / "notes.txt", damaged):
        mine.write_bytes(b"mine")
        os.utime(mine, (1, 1))

    ok("gc", "one", "--force", "--yes")

    assert not any(own in path.name for path in folder.iterdir())
    assert {path.name for path in folder.iterdir()} == {"notes.txt", damaged.name}
