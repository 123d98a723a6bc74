"""Read what a listing shows, the bare way: each session's meta.json, and each log's stat.

Plain ``open`` and string paths: pathlib would cost this loop as much as the work.
"""

import os
import sys

import orjson


def main() -> None:
    """Go over the sessions below the folder named on the command line."""
    for session in os.scandir(sys.argv[1]):
        with open(f"{session.path}/files/meta.json", "rb") as stream:  # noqa: PTH123 -- see above
            orjson.loads(stream.read())
        for log in os.scandir(f"{session.path}/logs"):
            log.stat()


main()
