"""Render a full core memory of ordinary text, and parse it back, as often as is asked for."""

import sys

from agentmem_cli import CoreMemory, parse

LINE = "She prefers short answers & code where a < b; see <b>notes</b> of 2026-05-05.\n"


def main() -> None:
    """Do it as often as the command line says."""
    memory = CoreMemory()
    for name in ("human", "facts"):
        memory.set_block(name, (LINE * 300)[:16_384])
    again = memory
    for _ in range(int(sys.argv[1])):
        again = parse(memory.render())
    assert again.used_bytes() == memory.used_bytes() == memory.max_bytes()


main()
