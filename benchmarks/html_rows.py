"""The row about pages of HTML."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Final

from benchmarks.measure import Failed
from benchmarks.running import Bench, Pair, Row, yardstick

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.measure import Sample

_ENDING: Final = b"</html>\n"


def _html(bench: Bench) -> Pair:
    root, log = _imported(bench)
    page = bench.folder / "page.html"

    def check(_: Sample) -> str | None:
        return None if page.read_bytes().endswith(_ENDING) else "the page has no end"

    words = ("export", "@last", "--as", "html", "--force", "-o", str(page))
    command = bench.agentmem(*words, root=root)._replace(check=check)
    return Pair(command, yardstick("parse_lines", log))


def _imported(bench: Bench) -> tuple[Path, Path]:
    """Give the root and the log of the transcript that was given, or of one of 2 MB."""
    source = bench.source
    root = bench.folder / ("page" if source is None else "page-given")
    if source is None:
        source = bench.corpus("pi", megabytes=2)[0] / "transcript.jsonl"
    bringing = bench.agentmem("import", str(source), root=root)
    subprocess.run(bringing.words, env=bringing.environment, check=True, capture_output=True)
    logs = sorted(root.glob("*/logs/main.jsonl"))
    if len(logs) != 1:
        raise Failed(f"{len(logs)} sessions in {root}, not one")
    return root, logs[0]


HTML_ROWS: Final = (
    Row(
        "html",
        "`export --as html` of a session of pi (2.4 MB, 990 messages, where it is the real one)",
        "orjson.loads of each line",
        0,
        _html,
        with_startup=False,
        extra_s=2.0,
        peak_mb_max=100,
    ),
)
