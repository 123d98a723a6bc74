"""Estimate the messages of a log ten times over: what `dump_messages` is the yardstick of."""

import sys
from pathlib import Path

import orjson

from agentmem_cli import Message, estimate_tokens


def main() -> None:
    """Estimate what the log named on the command line holds."""
    with Path(sys.argv[1]).open("rb") as stream:
        lines = [orjson.loads(line) for line in stream]
    messages = [Message.of(entry["message"]) for line in lines for entry in line.get("entries", ())]
    for _ in range(10):
        estimate_tokens(messages)


main()
