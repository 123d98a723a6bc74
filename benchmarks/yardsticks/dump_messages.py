"""Encode the messages of a log with orjson, ten times over."""

import sys
from pathlib import Path

import orjson


def main() -> None:
    """Encode what the log named on the command line holds."""
    with Path(sys.argv[1]).open("rb") as stream:
        lines = [orjson.loads(line) for line in stream]
    messages = [entry["message"] for line in lines for entry in line.get("entries", ())]
    for _ in range(10):
        for message in messages:
            orjson.dumps(message)


main()
