"""Making a file that several programs may begin to make in the same moment."""

from __future__ import annotations

import os

from agentmem_cli.storage.files import Folder
from agentmem_cli.storage.keeping import NO_LINKS
from agentmem_cli.storage.streams import token


def make_once(path: str | os.PathLike[str], data: bytes) -> None:
    """Put *data* at *path*, durably, unless a file is there; of several makers the first wins.

    The last wins on a disk without hard links, so look at what stands there then.

    Args:
        path: The file to make. Its folder is made where missing.
        data: The whole content.

    Raises:
        OSError: The system refused; nothing was made.
    """
    folder, name = os.path.split(os.path.abspath(path))
    part = f".agentfile-{token()}.rig-part"
    with Folder.made(folder) as place:
        place.write_new(part, data)
        try:
            place.link(part, name)
        except FileExistsError:
            pass
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
            place.replace(part, name)
        finally:
            place.discard(part)
        place.sync()
