"""The format's own names: of itself, of the session's log, of saved values."""

from __future__ import annotations

from typing import Final

FORMAT: Final = "rig-session/4"
"""The format that a header names."""

SESSION: Final = "session"
"""The session's own log, which holds saved values and no conversation."""

MODEL: Final = "rig::model"
"""The saved value of an agent's model, ``vendor/model``."""

TITLE: Final = "rig::title"
"""The saved value of an agent's title, a string."""

CURRENT: Final = "rig::current_agent"
"""The saved value (in the session's log) of the agent that is talked to."""

FORKED_FROM: Final = "agentmem.forked_from"
"""The saved value that notes a fork: ``{"session", "agent", "n"}``."""

NAME: Final = "agentmem.name"
"""The saved value of an agent's name as it was given, where its log is called otherwise."""

LOST: Final = "agentmem.lost"
"""The kind of side record that stands in the place of what a repair found lost."""

REPAIRS: Final = "agentmem.repairs"
"""The header's field that tells of repairs: ``[{"t": ms}]``, oldest first."""
