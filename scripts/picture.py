"""Draw docs/terminal.svg: a few commands on the example session, as a terminal shows them.

    python -m scripts.picture

The clock stands still meanwhile, so that the picture is the same on every day.
"""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

PROJECT: Final = Path(__file__).resolve().parent.parent
PICTURE: Final = PROJECT / "docs" / "terminal.svg"

COLUMNS: Final = 104
NOW_MS: Final = 1_781_100_000_000
"""A day after the example session, milliseconds since 1970 in UTC."""

SHOWN: Final = (
    ("list",),
    ("grep", "-F", "412.5", "--role", "user"),
    ("show", "@last", "--last", "3"),
    ("diff", "@last", "m17", "now"),
)


PROGRAM: Final = f"""
import sys
from agentmem_cli._entry import main
from agentmem_cli.cli import clock
clock.now_ms = lambda: {NOW_MS}
sys.exit(main())
"""


def run(root: str, words: tuple[str, ...]) -> str:
    """Run a command on a terminal of its own; return what it printed, coloured."""
    ours, terminal = pty.openpty()
    environ = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    environ |= {"AGENTMEM_ROOT": root, "PYTHONPATH": str(PROJECT), "COLUMNS": str(COLUMNS)}
    environ |= {"TERM": "xterm", "PAGER": "cat"}
    running = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "--utc", *words],
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        # Rates are told there, which differ from run to run.
        stderr=subprocess.DEVNULL,
        cwd=PROJECT,
        env=environ,
    )
    os.close(terminal)
    told = b""
    while data := _read(ours):
        told += data
    running.wait()
    os.close(ours)
    return told.decode().replace("\r\n", "\n").rstrip("\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # Linux says so where the other end was closed.
        return b""


def screen() -> str:
    """Return what the terminal shows: each command as it is typed, and what it prints."""
    parts = []
    with tempfile.TemporaryDirectory() as root:
        run(root, ("import", "examples/pi-session.jsonl"))
        for words in SHOWN:
            quoted = " ".join(words)
            parts.append(f"\x1b[1;32m$\x1b[0m \x1b[1magentmem {quoted}\x1b[0m\n{run(root, words)}")
    return "\n\n".join(parts)


def draw(text: str) -> str:
    """Return *text*, with the colours of a terminal, as SVG."""
    from rich.console import Console
    from rich.text import Text

    console = Console(
        record=True,
        file=io.StringIO(),
        width=COLUMNS,
        force_terminal=True,
        color_system="truecolor",
    )
    console.print(Text.from_ansi(text))
    svg = console.export_svg(title="agentmem", unique_id="agentmem")
    # The picture fetches nothing: the reader's own font does.
    svg = re.sub(r"@font-face \{.*?\}\n", "", svg, flags=re.DOTALL)
    svg = svg.replace("Fira Code", "Fira Code, DejaVu Sans Mono, Menlo, Consolas")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def main() -> None:
    PICTURE.write_text(draw(screen()), encoding="utf-8")
    sys.stdout.write(f"wrote {PICTURE.relative_to(PROJECT)}\n")


if __name__ == "__main__":
    main()
