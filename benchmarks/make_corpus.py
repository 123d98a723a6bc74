"""Make synthetic sessions and transcripts to measure with: the same bytes on every machine.

    python -m benchmarks.make_corpus FOLDER KIND [--sessions N] [--megabytes N]
                                       [--records N] [--source FILE]

KIND is one of

    listed   N small sessions, each with the meta.json that agentmem writes
    bare     N sessions without a meta.json, one log of some megabytes each
    long     one session named "long": a log of 2 KB lines, so many megabytes or records
    pi       one transcript of pi, version 3; from the messages of --source where it is given
    claude   one transcript of Claude Code; codex: one rollout of Codex
    claude-image, codex-image
             one of 11 lines, a line of which holds so many mebibytes of base64
    leaky    one transcript with secrets planted in it, and the truth beside it
    leaky-sessions
             N sessions with such events, of so many megabytes each
    edits    one session named "edited", whose core memory was edited so many times (--records)
    imported N sessions as an import leaves them, the log of one so many megabytes long

FOLDER is made whole or not at all, and left as it is when it holds that corpus
already; its ``corpus.json`` says what it holds. Logs are of the format
rig-session/4 as DESIGN.md tells it: dense stamps, every tool call answered, at
rest at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
from pathlib import Path
from typing import Final

from benchmarks.claude import make_claude, make_claude_image
from benchmarks.codex import make_codex, make_codex_image
from benchmarks.core_corpus import make_edits
from benchmarks.imported import make_imported
from benchmarks.leaky import make_leaky, make_leaky_sessions
from benchmarks.sessions import Session
from benchmarks.texts import WORDS, dumped, fragments
from benchmarks.transcripts import make_pi

Facts = dict[str, str | int]

VERSION: Final = 2
"""Raise it when the bytes of a corpus change: cached ones are made again."""

SEED: Final = 20260207
TRANSCRIPTS: Final = {
    "claude": make_claude,
    "codex": make_codex,
    "claude-image": make_claude_image,
    "codex-image": make_codex_image,
}
KINDS: Final = (
    *("listed", "bare", "long", "imported", "pi", "leaky", "leaky-sessions", "edits"),
    *TRANSCRIPTS,
)

LINE_BYTES: Final = 2_000
"""What a line of a log is long, about."""

OVERHEAD_BYTES: Final = 190
"""What of a line is not its text, about."""


def main() -> None:
    """Make the corpus that the command line asks for, unless it is there."""
    parser = argparse.ArgumentParser(description="Make a synthetic corpus.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--sessions", type=int, default=0)
    parser.add_argument("--megabytes", type=int, default=0)
    parser.add_argument("--records", type=int, default=0)
    parser.add_argument("--source", type=Path)
    options = parser.parse_args()
    # Why: sessions are private, so agentmem's own modes are the ones to measure with.
    os.umask(0o077)
    wanted = _recipe(options)
    if _holds(options.folder, wanted):
        return
    part = options.folder.with_name(options.folder.name + ".part")
    for stale in (part, options.folder):
        if stale.exists():
            shutil.rmtree(stale)
    (part / "root").mkdir(parents=True)
    facts = _make(part, options)
    (part / "corpus.json").write_bytes(dumped({"recipe": wanted, "facts": facts}))
    part.rename(options.folder)


def _recipe(options: argparse.Namespace) -> Facts:
    recipe: Facts = {
        "version": VERSION,
        "kind": options.kind,
        "sessions": options.sessions,
        "megabytes": options.megabytes,
        "records": options.records,
    }
    if options.source is not None:
        status = options.source.stat()
        recipe["source"] = f"{options.source.resolve()} {status.st_size} {status.st_mtime_ns}"
    return recipe


def _holds(folder: Path, recipe: Facts) -> bool:
    try:
        found = json.loads((folder / "corpus.json").read_bytes())
    except (FileNotFoundError, ValueError):
        return False
    return isinstance(found, dict) and found.get("recipe") == recipe


def _make(folder: Path, options: argparse.Namespace) -> Facts:
    dice = random.Random(SEED)
    size = options.megabytes * 1_000_000
    if options.kind in TRANSCRIPTS:
        make = TRANSCRIPTS[options.kind]
        return make(folder, options.megabytes << 20 if "image" in options.kind else size, dice)
    if options.kind == "leaky":
        return make_leaky(folder, size, dice)
    if options.kind == "edits":
        return make_edits(folder / "root", options.records, dice)
    return _make_sessions(folder, options, size, dice)


def _make_sessions(
    folder: Path, options: argparse.Namespace, size: int, dice: random.Random
) -> Facts:
    match options.kind:
        case "leaky-sessions":
            return make_leaky_sessions(folder / "root", options.sessions, size, dice)
        case "listed":
            return _make_listed(folder / "root", options.sessions, dice)
        case "bare":
            return _make_bare(folder / "root", options.sessions, size, dice)
        case "long":
            return _make_long(folder / "root", size, options.records, dice)
        case "imported":
            return make_imported(folder / "root", options.sessions, size, dice)
        case _:
            return make_pi(folder / "transcript.jsonl", size, options.source, dice)


# Sessions


def _make_listed(root: Path, sessions: int, dice: random.Random) -> Facts:
    texts = fragments(dice, 300)
    messages = 0
    for number in range(sessions):
        pushes = 4 * (1 + number % 3)
        session = Session(root / _session_name(number), number)
        session.write(texts, records=pushes)
        session.write_meta()
        messages += pushes
    return {"sessions": sessions, "messages": messages}


def _make_bare(root: Path, sessions: int, size: int, dice: random.Random) -> Facts:
    texts = fragments(dice, LINE_BYTES - OVERHEAD_BYTES)
    for number in range(sessions):
        Session(root / _session_name(number), number).write(texts, size=size)
    return {"sessions": sessions}


def _make_long(root: Path, size: int, records: int, dice: random.Random) -> Facts:
    session = Session(root / "long", 0)
    session.write(fragments(dice, LINE_BYTES - OVERHEAD_BYTES), size=size, records=records)
    session.write_meta()
    log = root / "long" / "logs" / "main.jsonl"
    return {
        "session": "long",
        "log": str(log.relative_to(root.parent)),
        "bytes": log.stat().st_size,
        "messages": session.messages,
        "last_n": session.next_n - 1,
    }


def _session_name(number: int) -> str:
    return f"{WORDS[number % 7 + 28]}-{WORDS[number // 7 % 11 + 40]}-{number:05d}"


if __name__ == "__main__":
    main()
