"""Parse every line of a file with the standard library: what any reader of it pays."""

import json
import sys
from pathlib import Path


def main() -> None:
    """Parse the lines of the file named on the command line."""
    with Path(sys.argv[1]).open("rb") as stream:
        for line in stream:
            json.loads(line)


main()
