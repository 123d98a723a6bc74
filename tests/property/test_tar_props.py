"""Tars of any bytes: refused with a reason, or a session; never anything else on the disk."""

from __future__ import annotations

import io
import tarfile
import tempfile
from contextlib import suppress
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from agentmem_cli.errors import AgentMemError
from agentmem_cli.operations.exported_pack import packed
from agentmem_cli.operations.exported_tar import tar_of
from agentmem_cli.operations.imports.importing import Options
from agentmem_cli.operations.imports.restored import import_tar
from agentmem_cli.storage.directory import DirStore
from agentmem_cli.storage.names import is_name
from tests.cli.running import join, turns, write

OPTIONS = Options(1)
BLOCK = 512
NAMES = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"), exclude_characters="/\\"),
    min_size=1,
    max_size=60,
).filter(lambda name: name not in (".", "..") and len(name.encode()) <= 200)


def _tar(folder: Path) -> bytes:
    write(folder / "from", "one", "main", join(turns(2)))
    (folder / "from" / "one" / "files" / "plugins").mkdir(parents=True)
    (folder / "from" / "one" / "files" / "plugins" / "p").write_bytes(b"kept" * 200)
    return b"".join(tar_of(DirStore.open(folder / "from" / "one")))


def _with_sum(block: bytes) -> bytes:
    """Return a header whose sum is right again."""
    blank = block[:148] + b" " * 8 + block[156:]
    return blank[:148] + b"%06o\0 " % sum(blank) + blank[156:]


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@given(
    changes=st.lists(
        st.tuples(st.integers(0, 6), st.integers(0, BLOCK - 1), st.binary(min_size=1, max_size=12)),
        min_size=1,
        max_size=3,
    )
)
@example(changes=[(1, 0, b"../../../../x")])
@example(changes=[(2, 156, b"2"), (2, 157, b"/etc/passwd")])
@example(changes=[(2, 124, b"\xff" * 12)])
@example(changes=[(2, 124, b"\x80" + b"\x7f" * 11)])
@example(changes=[(2, 156, b"x")])
@example(changes=[(2, 156, b"L")])
def test_a_tar_with_any_header_is_refused_or_a_session(
    changes: list[tuple[int, int, bytes]],
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        blocks = _tar(folder)
        for at, begin, data in changes:
            block = blocks[at * BLOCK : (at + 1) * BLOCK]
            changed = (block[:begin] + data + block[begin + len(data) :])[:BLOCK]
            blocks = blocks[: at * BLOCK] + _with_sum(changed) + blocks[(at + 1) * BLOCK :]
        (folder / "a.tar").write_bytes(blocks)
        made: set[str] = set()
        with suppress(AgentMemError):
            made = {import_tar(folder / "a.tar", folder / "to", OPTIONS).session}

        assert _names(folder) == {"a.tar", "from"} | ({"to"} if made else set())
        assert not made or _names(folder / "to") == made


@given(
    session=NAMES,
    files=st.dictionaries(NAMES, st.binary(max_size=2_000), max_size=4),
    how=st.sampled_from([None, "gzip", "zstd"]),
)
def test_any_session_comes_back_from_its_tar(
    session: str, files: dict[str, bytes], how: str | None
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "from", session, "main", join(turns(1)))
        store = DirStore.open(folder / "from" / session)
        kept = {f"plugins/{each}": data for each, data in files.items() if is_name(each)}
        (store.path / "files" / "plugins").mkdir(parents=True)
        for each, data in kept.items():
            (store.path / "files" / each).write_bytes(data)
        data = b"".join(packed(tar_of(store), how))
        (folder / "a").write_bytes(data)

        report = import_tar(folder / "a", folder / "to", OPTIONS)

        back = DirStore.open(folder / "to" / report.session)
        assert back.read_log("main") == join(turns(1))
        assert {each: back.read_file(each) for each in back.files()} == kept
        with tarfile.open(fileobj=io.BytesIO(b"".join(tar_of(store)))) as tar:
            assert tar.getnames()[0] == session
