"""Agents' files and the sessions they belong to, where one was imported without the other.

Nothing is moved and nothing removed: an agent that became a session of its own stays one,
and what belongs to it is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.errors import AgentMemError
from agentmem_cli.operations.imports.maps import source_name
from agentmem_cli.operations.imports.naming import session_name
from agentmem_cli.operations.imports.unchanged import headers_of
from agentmem_cli.storage.directory import DirStore

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.operations.imports.adapter import Transcript


def at_home(transcript: Transcript, root: Path) -> Transcript:
    """Return what is to be imported of *transcript*, given the sessions under *root*.

    The file of an agent whose session's own file is gone goes on in that
    session where it was imported before; but for an agent that has become a
    session of its own already, which goes on in that one.
    """
    whole = transcript.whole
    if whole is None:
        return transcript
    try:
        held = headers_of(DirStore.open(root / session_name(whole.kind, whole.id)))
    except (AgentMemError, OSError):
        return transcript
    if source_name(whole.streams[0].name) in held:
        return whole
    is_alone = (root / session_name(transcript.kind, transcript.id)).exists()
    return whole if held and not is_alone else transcript


def standing_alone(transcript: Transcript, root: Path) -> tuple[str, ...]:
    """Return the sessions under *root* that hold an agent of *transcript* by itself.

    They come of imports for which the rest of the session was not at hand.
    """
    found = (getattr(stream, "alone", None) for stream in transcript.streams)
    names = (session_name(transcript.kind, each) for each in found if isinstance(each, str))
    return tuple(name for name in names if (root / name).is_dir())
