"""``python -m agentmem_cli`` is ``agentmem``."""

from __future__ import annotations

import sys

from agentmem_cli._entry import main

if __name__ == "__main__":
    sys.exit(main())
