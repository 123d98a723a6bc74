"""``python -m agentmem_cli`` is ``agentmem``."""

from __future__ import annotations

from agentmem_cli._entry import command

if __name__ == "__main__":
    command()
