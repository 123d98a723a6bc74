"""A meta that cannot be read just now is not written over, nor left out."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from agentmem_cli.storage.directory import DirStore
from tests.cli.running import header, join, ok, run, said, tree, write

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_meta_that_cannot_be_read_is_not_made_anew(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, "one", "main", join([header(), said(1, "hello")]) + b'{"seq":')
    ok("meta", "label", "one", "a=b")
    before = tree(root / "one/files")
    real = DirStore.read_file

    def refused(store: DirStore, name: str) -> bytes:
        if name == "meta.json":
            raise OSError(errno.EIO, "broken disk", "meta.json")
        return real(store, name)

    with monkeypatch.context() as patched:
        patched.setattr("agentmem_cli.storage.survey._content", lambda _: (None, 0, 0))
        patched.setattr(DirStore, "read_file", refused)
        done = run("repair", "one", "--force")

    assert done.status == 2
    assert "broken disk" in done.err
    assert tree(root / "one/files") == before
    ok("repair", "one", "--force")
    assert ok("meta", "label", "one").out.strip() == "a=b"


def test_a_session_whose_meta_cannot_be_read_is_not_forked_without_its_labels(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, "one", "main", join([header(), said(1, "hello"), said(2, "yes", "assistant")]))
    ok("meta", "label", "one", "a=b")
    real = DirStore.read_file

    def refused(store: DirStore, name: str) -> bytes:
        if name == "meta.json":
            raise OSError(errno.EIO, "broken disk", "meta.json")
        return real(store, name)

    with monkeypatch.context() as patched:
        patched.setattr(DirStore, "read_file", refused)
        done = run("fork", "one", "two")

    assert done.status == 2
    assert "broken disk" in done.err
    assert not (root / "two").exists()
    ok("fork", "one", "two")
    assert ok("meta", "label", "two").out.strip() == "a=b"
