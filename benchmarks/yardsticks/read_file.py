"""Read a file from its beginning to its end, a mebibyte at a time, and keep none of it."""

import sys
from pathlib import Path

CHUNK_BYTES = 1 << 20


def main() -> None:
    """Read the file named on the command line."""
    buffer = bytearray(CHUNK_BYTES)
    with Path(sys.argv[1]).open("rb", buffering=0) as stream:
        while stream.readinto(buffer):
            pass


main()
