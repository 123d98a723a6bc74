"""Write what is made from the commands themselves: completions/ and man/.

    python -m scripts.docs           write them
    python -m scripts.docs --check   say what is not as it would be written; status 1

It is `make docs`. Run it when a command, an option or an example changed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from agentmem_cli.cli.completion import SHELLS
from agentmem_cli.cli.shellscripts import script
from scripts.manpages import pages

PROJECT: Final = Path(__file__).resolve().parent.parent

SCRIPTS: Final = {"bash": "agentmem.bash", "zsh": "_agentmem", "fish": "agentmem.fish"}


def made() -> dict[str, str]:
    """Return the content of each file, by its path in the project."""
    files = {f"completions/{SCRIPTS[shell]}": script(shell) for shell in SHELLS}
    return files | {f"man/{name}": page for name, page in pages().items()}


def stale() -> list[str]:
    """Return the paths that are not as they would be written, or should not be there."""
    wanted = made()
    there = {
        f"{folder}/{path.name}": path
        for folder in ("completions", "man")
        for path in (PROJECT / folder).glob("*")
    }
    differing = [
        name
        for name, text in wanted.items()
        if name not in there or there[name].read_text(encoding="utf-8") != text
    ]
    return sorted({*differing, *(there.keys() - wanted.keys())})


def main() -> None:
    changed = stale()
    if "--check" in sys.argv[1:]:
        raise SystemExit(f"run make docs: {', '.join(changed)} changed" if changed else 0)
    wanted = made()
    for name in changed:
        path = PROJECT / name
        path.parent.mkdir(exist_ok=True)
        if name in wanted:
            path.write_text(wanted[name], encoding="utf-8")
        else:
            path.unlink()
        print(f"{'wrote' if name in wanted else 'removed'} {name}")


if __name__ == "__main__":
    main()
