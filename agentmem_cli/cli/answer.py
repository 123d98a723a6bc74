"""The answer to TAB: ``agentmem __complete KIND ...``, asked by the scripts of the shells.

It is answered before Typer is imported. It never fails: a word of an error would
be printed into the line that is being typed.

    __complete KIND WIDE ROOT SESSION AGENT BEGUN

KIND is sessions, agents, places, messages or keys; WIDE is 1 where the shell shows a line about
each word; the others are what was typed so far, empty where nothing was. The
answer is one word a line, and after a tab what is told about it.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from agentmem_cli.operations.offers import Offer

WORD: Final = "__complete"
_WORDS: Final = 6
_COLUMNS_MAX: Final = 60


def answer(words: list[str]) -> int:
    """Print what is offered for *words*, which follow `WORD`.

    Returns:
        The exit status 0, whatever happened.
    """
    try:
        offers = _offers(words) if len(words) == _WORDS else []
        wide = words[1:2] == ["1"]
        lines = [
            f"{offer.word}\t{_about(offer)}" if wide and offer.about else offer.word
            for offer in offers
        ]
        data = "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
        if data and sys.stdout is not None:
            sys.stdout.buffer.write(data)
            sys.stdout.flush()
    except Exception:  # noqa: BLE001, S110 - see above
        pass
    return 0


def _offers(words: list[str]) -> list[Offer]:
    from agentmem_cli.operations import offers

    kind, wide, root, session, agent, begun = words
    folder = _root(root)
    match kind:
        case "sessions":
            return offers.sessions(folder, begun, shown=_shown, titled=wide == "1")
        case "agents":
            return offers.agents(folder, session, begun, shown=_shown) if session else []
        case "places":
            return offers.places(folder, session, agent, begun, shown=_shown)
        case "messages":
            return offers.messages(folder, session, agent, begun, shown=_shown)
        case "keys":
            return offers.keys(folder, session, agent, begun)
        case _:
            return []


def _root(named: str) -> str:
    named = named or os.environ.get("AGENTMEM_ROOT", "")
    if named:
        return os.path.expanduser(named)  # noqa: PTH111 - pathlib is not loaded here
    from agentmem_cli.storage.root import default_root

    return str(default_root())


def _shown(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    from agentmem_cli.cli.text import one_line

    return one_line(text)


def _about(offer: Offer) -> str:
    if len(offer.about) <= _COLUMNS_MAX and offer.about.isascii():
        return offer.about
    from agentmem_cli.cli.text import cell

    return cell(offer.about, _COLUMNS_MAX)
