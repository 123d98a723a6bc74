"""Read the first and the last 64 KiB of each log: all a listing may read without a meta.json."""

import os
import sys

END_BYTES = 64 << 10


def main() -> None:
    """Go over the logs of the sessions below the folder named on the command line."""
    for session in os.scandir(sys.argv[1]):
        for log in os.scandir(f"{session.path}/logs"):
            descriptor = os.open(log.path, os.O_RDONLY)
            size = os.fstat(descriptor).st_size
            os.pread(descriptor, END_BYTES, 0)
            os.pread(descriptor, END_BYTES, max(0, size - END_BYTES))
            os.close(descriptor)


main()
