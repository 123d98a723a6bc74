"""What `verify` says of an unfinished change, and of calls and results that do not fit."""

from __future__ import annotations

from typing import Final

from agentmem_cli.session.pairing import MERGEABLE, UNANSWERED, UNASKED
from agentmem_cli.storage.recovery import FOREIGN, NOT_WHOLE, WHOLE

UNFINISHED: Final = {
    WHOLE: "a change was cut short; the next command that changes something finishes it",
    NOT_WHOLE: "a change was cut short before it was written down whole, and nothing of it was "
    "made; the next change drops it, and repair keeps its bytes",
    FOREIGN: "a change was cut short, and another program wrote since; repair gives it up, and "
    "keeps what was staged",
}
"""What becomes of a redo file."""
OVER: Final = "the emptied note of a change that was over; the next change removes it"
"""What becomes of an emptied one."""

PAIRING: Final = {
    UNANSWERED: "no result answers the call {call!r}",
    UNASKED: "a result for {call!r}, which no call asked for",
    MERGEABLE: "two replies stand side by side that could be one",
}
"""By the kind of what is wrong with it."""
