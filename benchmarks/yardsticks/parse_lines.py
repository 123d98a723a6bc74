"""Parse every line of a file with orjson and keep none: the least a whole read can cost."""

import sys
from pathlib import Path

import orjson


def main() -> None:
    """Parse the lines of the file named on the command line."""
    with Path(sys.argv[1]).open("rb") as stream:
        for line in stream:
            orjson.loads(line)


main()
