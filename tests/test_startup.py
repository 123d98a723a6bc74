"""What a start of the program does not load. Exact, where a clock would not be."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

PROJECT = Path(__file__).resolve().parent.parent
PROGRAM = "import sys; from agentmem_cli._entry import main; sys.exit(main())"
SLOW = frozenset(
    {
        "pydantic",
        "rich",
        "filelock",
        "asyncio",
        "platformdirs",
        "kingfisher_sdk",
        "ahocorasick_rs",
        "markdown_it",
    }
)
HEADER = (
    b'{"seq":0,"n":0,"t":1772407800000,"type":"header","format":"rig-session/4",'
    b'"log":"main","lineage":12345}\n'
)
PUSH = (
    b'{"seq":1,"n":1,"t":1772407801000,"type":"push","entries":[{"message":'
    b'{"role":"user","content":[{"type":"text","text":"Hello"}]},"id":0}]}\n'
)
SOURCE = (
    b'{"type":"session","version":3,"id":"one","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}\n'
    b'{"type":"message","timestamp":"2026-01-01T00:00:01.000Z",'
    b'"message":{"role":"user","content":"Hello"}}\n'
)


def _loaded(program: str, *words: str, status: int = 0, **more: str) -> set[str]:
    """Run *program* and return the modules that it imported."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", program, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(PROJECT), **more},
        timeout=50,
        check=False,
    )
    told = done.stderr.decode()
    assert done.returncode == status, told[-2000:]
    times = [line for line in told.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in times}


def _packages(modules: set[str]) -> set[str]:
    return {module.partition(".")[0] for module in modules}


@pytest.fixture
def session(root: Path) -> Path:
    """A session of one message, written by hand: no command takes its lock."""
    logs = root / "by-hand" / "logs"
    logs.mkdir(parents=True)
    (logs / "main.jsonl").write_bytes(HEADER + PUSH)
    return root / "by-hand"


def test_the_version_loads_the_entry_and_nothing_else() -> None:
    bare = _loaded("import __future__, gc, sys")

    loaded = _loaded(PROGRAM, "--version")

    assert loaded - bare == {"agentmem_cli", "agentmem_cli._entry"}


def test_tab_for_a_session_loads_neither_typer_nor_a_codec(session: Path) -> None:
    loaded = _loaded(PROGRAM, "__complete", "sessions", "0", "", "", "", "by")

    assert session.is_dir()
    assert _packages(loaded) & (SLOW | {"typer", "orjson"}) == set()
    assert {name for name in loaded if name.startswith("agentmem_cli.session")} == set()


def test_the_help_loads_nothing_slow() -> None:
    loaded = _packages(_loaded(PROGRAM, "--help"))

    assert loaded & SLOW == set()
    assert "typer" in loaded


def test_the_help_loads_no_operation_and_no_codec() -> None:
    loaded = _loaded(PROGRAM, "--help")

    lower = ("operations", "session", "storage")
    assert {
        name for name in loaded if name.startswith(tuple(f"agentmem_cli.{x}" for x in lower))
    } == set()
    assert "orjson" not in loaded


@pytest.mark.parametrize("words", [("list",), ("list", "--json")])
def test_a_list_of_nothing_loads_nothing_slow(words: tuple[str, ...]) -> None:
    loaded = _packages(_loaded(PROGRAM, *words))

    assert loaded & SLOW == set()


@pytest.mark.parametrize(
    "words",
    [
        ("list",),
        ("show", "by-hand"),
        ("show", "by-hand", "--json"),
        ("core", "list", "by-hand"),
        ("core", "render", "by-hand", "--as-of", "now"),
        ("core", "history", "by-hand"),
    ],
)
def test_looking_at_a_session_loads_nothing_slow(words: tuple[str, ...], session: Path) -> None:
    loaded = _packages(_loaded(PROGRAM, *words))

    assert session.is_dir()
    assert loaded & SLOW == set()


def test_a_look_at_core_memory_loads_nothing_of_its_changes(session: Path) -> None:
    loaded = _loaded(PROGRAM, "core", "render", "by-hand")

    assert session.is_dir()
    assert "agentmem_cli.operations.core.looking" in loaded
    assert "agentmem_cli.operations.core.changing" not in loaded


@pytest.mark.parametrize("words", [("redact", "--help"), ("scan", "--help")])
def test_the_help_of_what_looks_for_secrets_loads_no_rules(words: tuple[str, ...]) -> None:
    loaded = _packages(_loaded(PROGRAM, *words))

    assert loaded & SLOW == set()


def test_a_session_that_is_not_there_loads_nothing_slow() -> None:
    loaded = _packages(_loaded(PROGRAM, "show", "nothing", status=3))

    assert loaded & SLOW == set()


def test_an_import_with_nothing_new_loads_nothing_that_folds_or_writes(tmp_path: Path) -> None:
    source = tmp_path / "a.jsonl"
    source.write_bytes(SOURCE)
    root = str(tmp_path / "root")
    _loaded(PROGRAM, "--root", root, "import", str(source))
    source.touch()

    loaded = _loaded(PROGRAM, "--root", root, "import", str(source))

    unwanted = ("session.reader", "session.record", "operations.imports.writing", "storage.batch")
    assert loaded.isdisjoint(f"agentmem_cli.{name}" for name in unwanted)
    assert loaded.isdisjoint({"tempfile", "secrets", "filelock", "asyncio", "rich"})


def test_a_root_by_option_needs_no_user_folder(tmp_path: Path) -> None:
    loaded = _packages(_loaded(PROGRAM, "--root", str(tmp_path), "list", AGENTMEM_ROOT=""))

    assert "platformdirs" not in loaded


def test_a_mistyped_command_loads_nothing_slow() -> None:
    loaded = _packages(_loaded(PROGRAM, "lst", status=2))

    assert loaded & SLOW == set()


def test_the_package_alone_loads_nothing_but_itself() -> None:
    bare = _loaded("import __future__")

    loaded = _loaded("import agentmem_cli")

    assert loaded - bare == {"agentmem_cli"}
