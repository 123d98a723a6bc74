"""Decode a file of base64 and hash what came of it: the least that storing an image costs."""

import base64
import hashlib
import sys
from pathlib import Path


def main() -> None:
    """Decode the file named on the command line."""
    hashlib.sha256(base64.b64decode(Path(sys.argv[1]).read_bytes())).hexdigest()


main()
