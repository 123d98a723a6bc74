"""The rows about imports, and about listing what was imported."""

from __future__ import annotations

import os
import shutil
from time import sleep
from typing import TYPE_CHECKING, Final

from benchmarks.running import Bench, Pair, Row, yardstick

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from benchmarks.measure import Sample

SETTLED_S: Final = 3
"""How long a source must have been left alone for its times to be trusted, and more."""


def _pi(bench: Bench) -> Pair:
    return _first_import(bench, "pi")


def _claude(bench: Bench) -> Pair:
    return _first_import(bench, "claude")


def _codex(bench: Bench) -> Pair:
    return _first_import(bench, "codex")


def _first_import(bench: Bench, kind: str) -> Pair:
    folder, facts = bench.corpus(kind, megabytes=bench.sized(100, 5))
    transcript = folder / str(facts["transcript"])
    command = _importing(bench, transcript, int(facts["bytes"]) // 4)
    return Pair(command.command, yardstick("parse_lines_json", transcript))


def _importing(bench: Bench, transcript: Path, least: int) -> Pair:
    """Import into an empty root each time; *least* bytes must come of it."""
    root = bench.folder / "imported"

    def clear() -> None:
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        os.sync()

    def check(_: Sample) -> str | None:
        kept = (*root.glob("*/logs/*.jsonl"), *root.glob("*/files/blobs/*"))
        found = sum(path.stat().st_size for path in kept)
        shutil.rmtree(root)
        return None if found > least else f"{found} bytes came of {transcript.stat().st_size}"

    command = bench.agentmem("import", str(transcript), root=root)
    return Pair(command._replace(prepare=clear, check=check), yardstick("read_file", transcript))


def _claude_again(bench: Bench) -> Pair:
    return _again(bench, "claude")


def _codex_again(bench: Bench) -> Pair:
    return _again(bench, "codex")


def _claude_touched(bench: Bench) -> Pair:
    return _again(bench, "claude", touched=True)


def _codex_touched(bench: Bench) -> Pair:
    return _again(bench, "codex", touched=True)


def _again(bench: Bench, kind: str, *, touched: bool = False) -> Pair:
    """Import what was imported; *touched*: only its bytes tell that nothing is new."""
    folder, facts = bench.corpus(kind, megabytes=bench.sized(100, 5))
    transcript = folder / str(facts["transcript"])
    root = bench.folder / f"imported-{kind}"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    command = bench.agentmem("import", str(transcript), root=root)
    sleep(SETTLED_S)
    command.run()
    before = _sizes(root)

    def prepare() -> None:
        if touched:
            transcript.touch()
        os.sync()

    def check(_: Sample) -> str | None:
        return None if _sizes(root) == before else "something was added"

    command = command._replace(prepare=prepare, check=check)
    return Pair(command, yardstick("read_file", transcript))


def _sizes(root: Path) -> dict[str, int]:
    return {str(log): log.stat().st_size for log in root.glob("*/logs/*.jsonl")}


def _claude_image(bench: Bench) -> Pair:
    return _image(bench, "claude-image")


def _codex_image(bench: Bench) -> Pair:
    return _image(bench, "codex-image")


def _image(bench: Bench, kind: str) -> Pair:
    mebibytes = bench.sized(64, 4)
    folder, facts = bench.corpus(kind, megabytes=mebibytes)
    transcript = folder / str(facts["transcript"])
    command = _importing(bench, transcript, (mebibytes << 20) // 4 * 3 - 1).command
    return Pair(command, yardstick("decode_base64", folder / str(facts["base64"])))


def _list_imported(bench: Bench) -> Pair:
    return _listing(bench, "list")


def _list_imported_all(bench: Bench) -> Pair:
    return _listing(bench, "list", "--json", "--limit", "0")


def _listing(bench: Bench, *words: str) -> Pair:
    sessions = bench.sized(5_000, 200)
    folder, _ = bench.corpus("imported", sessions=sessions, megabytes=bench.sized(500, 20))
    least = sessions if "0" in words else 10

    def check(sample: Sample) -> str | None:
        return None if sample.lines >= least else f"{sample.lines} lines came of {sessions}"

    command = bench.agentmem(*words, root=folder / "root")._replace(check=check)
    return Pair(command, yardstick("read_meta", folder / "root"))


def _import_row(
    name: str, task: str, make: Callable[[Bench], Pair], *, peak_mb_max: int | None = 200
) -> Row:
    return Row(name, task, "json.loads of each line", 6, make, peak_mb_max=peak_mb_max)


READING: Final = "read the file"
DECODING: Final = "base64.b64decode and sha256 of the base64 alone"
LISTING: Final = "scandir, read and parse each meta.json, stat each log"

IMPORT_ROWS: Final = (
    _import_row("import", "`import` of a pi transcript of 100 MB", _pi),
    _import_row("import-claude", "`import` of a Claude Code transcript of 100 MB", _claude),
    _import_row("import-codex", "`import` of a Codex rollout of 100 MB", _codex),
    Row("again-claude", "`import` of the Claude Code one again", READING, 2, _claude_again),
    Row("again-codex", "`import` of the Codex one again", READING, 2, _codex_again),
    Row("touched-claude", "the same, its times changed", READING, 2, _claude_touched),
    Row("touched-codex", "the same of Codex, its times changed", READING, 2, _codex_touched),
    Row(
        "image-claude",
        "`import` of 11 lines of Claude Code, one with 64 MiB of base64",
        DECODING,
        3,
        _claude_image,
        peak_mb_max=400,
    ),
    Row(
        "image-codex",
        "`import` of 11 lines of Codex, one with 64 MiB of base64",
        DECODING,
        3,
        _codex_image,
        peak_mb_max=400,
    ),
    Row(
        "list-imported",
        "`list`, 5,000 imported sessions, one of 500 MB",
        LISTING,
        2,
        _list_imported,
    ),
    Row(
        "list-imported-all",
        "`list --json --limit 0` of the same",
        LISTING,
        2,
        _list_imported_all,
    ),
)
