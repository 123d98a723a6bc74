"""Sessions that only `repair`, `gc` or an import after it mends: what such a row begins from."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from agentmem_cli.storage import redo
from agentmem_cli.storage.directory import DirStore
from agentmem_cli.storage.files import Folder
from agentmem_cli.storage.layout import REDO, recovered_name
from tests.cli.running import run
from tests.unit.storage.faults import calls_of, die_at

SECRET = "wJalrXUtnFEMIK7MDENGbPxRfiCYzz"
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg"
    "=="
)
LONG = "a line that says much\n" * 60
PART = ".agentmem-" + "0" * 32 + ".rig-part"


def damaged(root: Path) -> None:
    """Cut a record in the middle and the log's end, and spoil the meta."""
    path = root / "one/logs/main.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:3], lines[3][:30], *lines[4:], b'{"seq":']))
    (root / "one/files/meta.json").write_bytes(b"{")


def swapped(root: Path) -> None:
    """Put two records into each other's places, and two at the end."""
    path = root / "one/logs/main.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2], lines[3] = lines[3], lines[2]
    lines[-1], lines[-2] = lines[-2], lines[-1]
    path.write_bytes(b"".join(lines))


def without_images(root: Path) -> None:
    """Let a message name a blob that is gone, and spoil one that nothing names."""
    (root / "one/files/blobs").mkdir(mode=0o700, exist_ok=True)
    (root / f"one/files/blobs/{'0' * 64}.png").write_bytes(b"not what its name says")
    path = root / "one/logs/main.jsonl"
    gone = b'{"type":"url","value":"blob:' + b"1" * 64 + b'.png"}'
    data = path.read_bytes()
    start = data.index(b'"data":') + len(b'"data":')
    end = data.index(b'"', start + 1) + 1
    path.write_bytes(data[:start] + gone + data[end:])


def odd_places(root: Path) -> None:
    """Put a link, a folder and a file where others belong."""
    session = root / "one"
    (session / "files/meta.json").unlink()
    (session / "files/meta.json").symlink_to("../elsewhere")
    (session / "files/recovered").write_bytes(b"kept")
    (session / ".agentmem.redo").mkdir(mode=0o700)
    (session / ".agentmem.redo/kept").write_bytes(b"kept")


def not_whole(root: Path) -> None:
    """Leave a redo file that says nothing, and what was staged with it."""
    (root / "one/.agentmem.redo").write_bytes(b"\xff\xfe of no use")
    (root / "one/logs" / PART).write_bytes(b"staged")


def foreign(root: Path) -> None:
    """Leave a change half done, of which another program changed the rest."""
    session = root / "one"

    def change(path: Path) -> None:
        with DirStore.open(path).batch() as batch:
            batch.write_file("plugins/x/a", b"ours")
            batch.write_file("plugins/x/b", b"ours")

    (session / "files/plugins/x").mkdir(mode=0o700, parents=True)
    for name in "ab":
        (session / "files/plugins/x" / name).write_bytes(b"old")
    counted = root.parent / "counted"
    shutil.copytree(session, counted)
    renames = [at for at, name in enumerate(calls_of(lambda: change(counted))) if name == "replace"]
    shutil.rmtree(counted)
    # The first one puts the redo file in its place.
    assert die_at(renames[1], lambda: change(session), after=True)
    (session / "files/plugins/x/b").write_bytes(b"theirs")


def half_gone(root: Path) -> None:
    """Leave what an import and a removal leave that were killed."""
    stage = root / ".agentmem.rig-part/a1/logs"
    stage.mkdir(mode=0o700, parents=True)
    (stage / "main.jsonl").write_bytes(b"half")
    (root / "gone.rig-trash/logs").mkdir(mode=0o700, parents=True)
    (root / "gone.rig-trash/logs/main.jsonl").write_bytes(b"half")
    loose(root)


def loose(root: Path) -> None:
    """Leave a blob that nothing names, one that is damaged, and a part file."""
    blobs = root / "one/files/blobs"
    blobs.mkdir(mode=0o700)
    data = b"nobody names it"
    (blobs / f"{hashlib.sha256(data).hexdigest()}.png").write_bytes(data)
    (blobs / f"{'0' * 64}.png").write_bytes(b"of other bytes than its name says")
    (root / "one/files" / PART).write_bytes(b"x")


def lost_and_mended(root: Path) -> None:
    """Cut a message of the imported session, and repair that: its source still has it."""
    (session,) = (path for path in root.iterdir() if path.name.startswith("pi-"))
    path = session / "logs/main.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    at = next(index for index, line in enumerate(lines) if b"They are made." in line)
    path.write_bytes(b"".join([*lines[:at], lines[at][:60] + b"\n", *lines[at + 1 :]]))
    os.environ["AGENTMEM_CONFIG"] = str(root.parent / "config")
    done = run("--root", root, "repair", session.name, "--force")
    assert done.status == 1, done
    source = root.parent / "source.jsonl"
    os.utime(source, ns=(1, 1))


def half_an_append(session: Path) -> None:
    """Leave an append of many lines that died after the first of them."""
    log = session / "logs/main.jsonl"
    size = log.stat().st_size
    heads = ('{"seq":9,"n":30,', '{"seq":10,"n":31,')
    key = b"k" * 32
    with Folder.at(str(session)) as root:
        digest = redo.tail_digest_of(root, "logs/main.jsonl", size, key)
    empty = redo.empty_digest(key)
    step = redo.Step("extend", "logs/main.jsonl", size, size, digest, "", 0, empty, heads)
    told = redo.encode(redo.Redo(key, (step,)))
    line = heads[0].encode() + b'"t":1,"type":"halt","halt":"x"}\n'
    (session / REDO).write_bytes(told + b"%d\n" % len(line))
    log.write_bytes(log.read_bytes() + line + heads[1].encode())


def told_beside(root: Path) -> None:
    """Let a plugin's file hold the secret, and bytes of a log that were set aside."""
    torn = b'{"seq":9,"n":40,"t":1,"type":"push","entries":[{"message":"' + SECRET.encode() + b'"'
    name = recovered_name("main", hashlib.sha256(torn).hexdigest())
    files = {
        f"files/{name}": torn,
        "files/plugins/x/a": f"a = {SECRET}\n".encode(),
    }
    for where, data in files.items():
        path = root / "one" / where
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_bytes(data)


def readable(root: Path) -> None:
    """Let everybody read all of it."""
    for place, _, names in os.walk(root):
        Path(place).chmod(0o755)
        for name in names:
            Path(place, name).chmod(0o644)
