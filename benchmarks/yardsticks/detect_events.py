"""Call the engine, with the rules of the project, once per line over its decoded strings."""

import sys
from pathlib import Path

import orjson

from agentmem_cli.operations.secrets.engine import Detector


def collect(value: object, texts: list[str]) -> None:
    """Gather the strings and keys of a value."""
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, dict):
        for key, inner in value.items():
            texts.append(key)
            collect(inner, texts)
    elif isinstance(value, list):
        for inner in value:
            collect(inner, texts)


def main() -> None:
    """Look at the file named first; the second word is the folder of the compiled rules."""
    detector = Detector(cache_dir=Path(sys.argv[2]))
    with Path(sys.argv[1]).open("rb") as stream:
        for line in stream:
            texts: list[str] = []
            collect(orjson.loads(line), texts)
            detector.scan("\n".join(texts).encode())


main()
