"""The rows of the table: what is measured, against what, and within which bounds."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.measure import Program, Sample

if TYPE_CHECKING:
    from collections.abc import Callable

HERE: Final = Path(__file__).resolve().parent
PROJECT: Final = HERE.parent
STDIN_MESSAGE: Final = "One more question: where is the header of a log written?\n"


class Row(NamedTuple):
    """One line of the table."""

    name: str
    task: str
    against: str
    factor: float
    make: Callable[[Bench], Pair]
    with_startup: bool = True
    """Whether the start-up of ``import typer`` is added to the bound."""
    peak_mb_max: int | None = None
    """Megabytes (millions of bytes) that the command may hold at its peak."""
    flat_against: str | None = None
    """A smaller row of the same task, whose peak this one must not leave behind."""


class Pair(NamedTuple):
    """A command and its yardstick, ready to run."""

    command: Program
    yardstick: Program


class Bench:
    """Where corpora lie, how large they are, and how commands are started."""

    def __init__(self, folder: Path, *, quick: bool, source: Path | None) -> None:
        """Keep the *folder* for corpora and the *source* transcript; *quick*: small ones."""
        self.folder = folder
        self.quick = quick
        self.source = source
        self._agentmem = _agentmem(folder)

    def corpus(self, kind: str, **sizes: int) -> tuple[Path, dict[str, str | int]]:
        """Make a corpus unless it is cached; give its folder and what it holds."""
        words = [kind]
        for name, size in sizes.items():
            words += [f"--{name}", str(size)]
        folder = self.folder / "-".join(word.lstrip("-") for word in words)
        if kind == "pi" and self.source is not None:
            words += ["--source", str(self.source)]
            folder = folder.with_name(folder.name + "-given")
        made = [sys.executable, "-m", "benchmarks.make_corpus", str(folder), *words]
        subprocess.run(made, check=True, env=environment())
        facts = json.loads((folder / "corpus.json").read_bytes())["facts"]
        return folder, facts

    def sized(self, full: int, quick: int) -> int:
        """Choose a size by whether this is a quick run."""
        return quick if self.quick else full

    def agentmem(self, *words: str, root: Path) -> Program:
        """Prepare an agentmem command on the sessions below *root*."""
        return Program([*self._agentmem, *words], environment(root))

    def empty_root(self) -> Path:
        """Give a folder without sessions."""
        root = self.folder / "empty"
        root.mkdir(parents=True, exist_ok=True)
        return root


def environment(root: Path | None = None) -> dict[str, str]:
    """Give the environment that each measured program gets."""
    found = {**os.environ, "PYTHONPATH": str(PROJECT), "COLUMNS": "120", "TZ": "UTC"}
    for unwanted in ("PYTHONSTARTUP", "PYTHONDONTWRITEBYTECODE", "PYTHONPROFILEIMPORTTIME"):
        found.pop(unwanted, None)
    if root is not None:
        found["AGENTMEM_ROOT"] = str(root)
    return found


def python(*words: str) -> Program:
    """Prepare the interpreter that runs this program."""
    return Program([sys.executable, *words], environment())


def yardstick(name: str, *words: object) -> Program:
    """Prepare one of the small programs in yardsticks/."""
    script = HERE / "yardsticks" / f"{name}.py"
    return python(str(script), *(str(word) for word in words))


def _agentmem(folder: Path) -> list[str]:
    """Give the words that start agentmem: the installed program, or what pip would install."""
    installed = Path(sys.executable).with_name("agentmem")
    if installed.is_file():
        return [str(installed)]
    folder.mkdir(parents=True, exist_ok=True)
    launcher = folder / "agentmem.py"
    # Why `re`: the program that pip writes imports it, which --version pays for.
    launcher.write_text(
        "import re, sys\nfrom agentmem_cli._entry import main\nsys.exit(main())\n",
        encoding="utf-8",
    )
    return [sys.executable, str(launcher)]


# What each row runs


def _version(bench: Bench) -> Pair:
    return Pair(bench.agentmem("--version", root=bench.empty_root()), python("-c", "pass"))


def _list_empty(bench: Bench) -> Pair:
    return Pair(bench.agentmem("list", root=bench.empty_root()), python("-c", "import typer"))


def _help(bench: Bench) -> Pair:
    return Pair(bench.agentmem("--help", root=bench.empty_root()), python("-c", "import typer"))


def _list_meta(bench: Bench) -> Pair:
    sessions = bench.sized(10_000, 1_000)
    folder, _ = bench.corpus("listed", sessions=sessions)
    return _listing(bench, folder / "root", sessions, "read_meta")


def _list_bare(bench: Bench) -> Pair:
    sessions = bench.sized(200, 40)
    folder, _ = bench.corpus("bare", sessions=sessions, megabytes=2)
    return _listing(bench, folder / "root", sessions, "read_ends")


def _list_bare_few(bench: Bench) -> Pair:
    folder, _ = bench.corpus("bare", sessions=20, megabytes=2)
    return _listing(bench, folder / "root", 20, "read_ends")


def _listing(bench: Bench, root: Path, sessions: int, name: str) -> Pair:
    def check(sample: Sample) -> str | None:
        if sample.lines < sessions:
            return f"{sample.lines} lines came for {sessions} sessions"
        return None

    command = bench.agentmem("list", "--json", "--limit", "0", root=root)
    return Pair(command._replace(check=check), yardstick(name, root))


def _as_of(bench: Bench) -> Pair:
    folder, facts = _long(bench)
    place = str(int(facts["last_n"]) - 100)
    return _looking(bench, folder, facts, "as-of", "long", place)


def _show(bench: Bench) -> Pair:
    folder, facts = _long(bench)
    return _looking(bench, folder, facts, "show", "long", "--last", "20")


def _verify(bench: Bench) -> Pair:
    folder, facts = _long(bench)
    command = bench.agentmem("verify", "long", root=folder / "root")
    return Pair(command, yardstick("parse_lines", folder / str(facts["log"])))


def _long(bench: Bench) -> tuple[Path, dict[str, str | int]]:
    return bench.corpus("long", megabytes=bench.sized(500, 20))


def _looking(bench: Bench, folder: Path, facts: dict[str, str | int], *words: str) -> Pair:
    def check(sample: Sample) -> str | None:
        # Twenty messages of some kilobytes, folded or not, are more than this.
        return None if sample.written_bytes > 1_000 else "next to nothing was printed"  # noqa: PLR2004

    command = bench.agentmem(*words, root=folder / "root")._replace(check=check)
    return Pair(command, yardstick("parse_lines", folder / str(facts["log"])))


def _append(bench: Bench) -> Pair:
    folder, facts = bench.corpus("long", records=bench.sized(100_000, 5_000))
    log = folder / str(facts["log"])
    message = bench.folder / "message.txt"
    message.write_text(STDIN_MESSAGE, encoding="utf-8")
    restore = _restorer(folder / "root" / "long", log, int(facts["bytes"]))

    def check(_: Sample) -> str | None:
        grown = log.stat().st_size - int(facts["bytes"])
        restore()
        return None if grown >= len(STDIN_MESSAGE) else f"the log grew by {grown} bytes"

    command = bench.agentmem("append", "long", "--role", "user", "-", root=folder / "root")
    command = command._replace(stdin=message, prepare=restore, check=check)
    return Pair(command, yardstick("parse_lines", log))


def _restorer(session: Path, log: Path, size: int) -> Callable[[], None]:
    """Give what puts a session back to how its corpus was made, and the disk to rest."""
    meta = session / "files" / "meta.json"
    kept = meta.read_bytes()
    made_ns = (session / "logs" / "session.jsonl").stat().st_mtime_ns

    def restore() -> None:
        if log.stat().st_size != size or meta.read_bytes() != kept:
            os.truncate(log, size)
            meta.write_bytes(kept)
            for path in (log, meta, session / ".rig-memory.lock"):
                os.utime(path, ns=(made_ns, made_ns))
        os.sync()

    return restore


def _import(bench: Bench) -> Pair:
    folder, facts = bench.corpus("pi", megabytes=bench.sized(100, 5))
    transcript = folder / str(facts["transcript"])
    root = bench.folder / "imported"

    def clear() -> None:
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        os.sync()

    def check(_: Sample) -> str | None:
        found = sum(path.stat().st_size for path in root.glob("*/logs/*.jsonl"))
        shutil.rmtree(root)
        expected = int(facts["bytes"]) // 2
        return None if found > expected else f"logs of {found} bytes came of {facts['bytes']}"

    command = bench.agentmem("import", str(transcript), root=root)
    return Pair(
        command._replace(prepare=clear, check=check), yardstick("parse_lines_json", transcript)
    )


ROWS: Final = (
    Row("version", "`--version`", "`python -c pass`", 2.5, _version, with_startup=False),
    Row(
        "list-empty", "`list`, no sessions", "`import typer`", 1.3, _list_empty, with_startup=False
    ),
    Row("help", "`--help`", "`import typer`", 1.3, _help, with_startup=False),
    Row(
        "list-meta",
        "`list --json`, 10,000 sessions",
        "scandir, read and parse each meta.json, stat each log",
        2,
        _list_meta,
    ),
    Row(
        "list-bare-few",
        "`list --json`, 20 sessions without meta, logs of 2 MB",
        "read 64 KiB at both ends of each log",
        10,
        _list_bare_few,
    ),
    Row(
        "list-bare",
        "`list --json`, 200 sessions without meta, logs of 2 MB",
        "read 64 KiB at both ends of each log",
        10,
        _list_bare,
        flat_against="list-bare-few",
    ),
    Row(
        "as-of",
        "`as-of` near the end of a log of 500 MB",
        "orjson.loads of each line",
        2.5,
        _as_of,
        peak_mb_max=150,
    ),
    Row(
        "show",
        "`show --last 20` of the same",
        "orjson.loads of each line",
        2.5,
        _show,
        peak_mb_max=150,
    ),
    Row(
        "verify",
        "`verify` of the same",
        "orjson.loads of each line",
        3,
        _verify,
        peak_mb_max=150,
    ),
    Row(
        "append",
        "`append` of one message to a log of 100,000 records",
        "orjson.loads of each line",
        2,
        _append,
    ),
    Row(
        "import",
        "`import` of a pi transcript of 100 MB",
        "json.loads of each line",
        6,
        _import,
        peak_mb_max=200,
    ),
)
