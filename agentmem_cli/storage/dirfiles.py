"""Files over any directory, and over the part of a store that plugins have."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from agentmem_cli.storage.files import Folder, put
from agentmem_cli.storage.layout import PART, PLUGINS, split
from agentmem_cli.storage.listing import names_below
from agentmem_cli.storage.names import check_name
from agentmem_cli.storage.streams import token

if TYPE_CHECKING:
    from agentmem_cli.storage.store import Files


class DirFiles:
    """`Files` in a directory, which need not exist before something is written.

    Writes are atomic and durable; there is no lock, so of two writers of one
    file the last one wins.
    """

    __slots__ = ("_path",)

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Use the directory at *path*."""
        self._path = os.path.abspath(path)  # text is all that is needed

    def write_file(self, name: str, data: bytes) -> None:
        """Put *data* at *name*: a reader sees the old content or the new, whole."""
        check_name(name)
        folders, last = split(name)
        with (
            Folder.made(self._path) as root,
            root.reach(folders) as folder,
        ):
            put(folder, last, data, f".agentfile-{token()}{PART}")

    def append_file(self, name: str, data: bytes) -> None:
        """Put *data* at the end of *name*, which is made where missing."""
        check_name(name)
        folders, last = split(name)
        with (
            Folder.made(self._path) as root,
            root.reach(folders) as folder,
        ):
            found = folder.found(last)
            if found is None:
                put(folder, last, data, f".agentfile-{token()}{PART}")
            else:
                folder.append(last, found.st_size, data)

    def read_file(self, name: str) -> bytes:
        """Return the content of *name*; ``FileNotFoundError`` where there is none."""
        check_name(name)
        with Folder.at(self._path) as root:
            return read_below(root, name)

    def remove_file(self, name: str) -> None:
        """Remove *name*; one that is absent is fine."""
        check_name(name)
        folders, last = split(name)
        with (
            contextlib.suppress(FileNotFoundError),
            Folder.at(self._path) as root,
            root.walk(folders) as folder,
        ):
            if folder.found(last) is not None and folder.remove(last):
                folder.sync()

    def files(self) -> list[str]:
        """Return the names of all files, sorted."""
        try:
            root = Folder.at(self._path)
        except FileNotFoundError:
            return []
        with root:
            return names_below(root)


class PluginFiles:
    """The files under ``plugins/`` of a store or a batch, by their names there."""

    __slots__ = ("_files",)

    def __init__(self, files: Files) -> None:
        """Use *files*, a store's or a batch's."""
        self._files = files

    def write_file(self, name: str, data: bytes) -> None:
        """Put *data* at *name*."""
        self._files.write_file(_inside(name), data)

    def append_file(self, name: str, data: bytes) -> None:
        """Put *data* at the end of *name*, which is made where missing."""
        self._files.append_file(_inside(name), data)

    def read_file(self, name: str) -> bytes:
        """Return the content of *name*; ``FileNotFoundError`` where there is none."""
        return self._files.read_file(_inside(name))

    def remove_file(self, name: str) -> None:
        """Remove *name*; one that is absent is fine."""
        self._files.remove_file(_inside(name))

    def files(self) -> list[str]:
        """Return the names of all plugins' files, sorted."""
        names = self._files.files()
        return [name[len(PLUGINS) :] for name in names if name.startswith(PLUGINS)]


def _inside(name: str) -> str:
    check_name(name)
    return PLUGINS + name


def read_below(root: Folder, path: str) -> bytes:
    """Return the content of the file at the relative *path* below the open directory *root*.

    Raises:
        FileNotFoundError: There is none.
        OSError: A link stands on the way, or the system refused.
    """
    folders, name = split(path)
    with root.walk(folders) as folder:
        return folder.read(name)
