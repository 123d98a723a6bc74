"""How the rules of the engine get ready, and how work is parted among processes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.operations.secrets import loading
from agentmem_cli.operations.secrets.loading import Load, Loaded
from agentmem_cli.operations.secrets.pool import largest_first
from agentmem_cli.operations.secrets.working import Target

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def no_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin as a new process does."""
    monkeypatch.setattr(loading, "_LOADS", {})
    monkeypatch.setattr(loading, "_VOCABULARY", [])


def _pretend(monkeypatch: pytest.MonkeyPatch, *answers: Loaded | Exception) -> list[str]:
    """Have rules get ready without the engine; return the threads on which they did."""
    threads: list[str] = []
    waiting = iter(answers)

    def load(_: Path | None) -> Loaded:
        threads.append(threading.current_thread().name)
        answer = next(waiting)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(loading, "_load", load)
    return threads


READY = Loaded(None, lambda _: [])  # type: ignore[arg-type]


def test_compiled_rules_are_loaded_ahead_and_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.vscdb").touch()
    threads = _pretend(monkeypatch, READY)

    loading.begin(tmp_path)
    loading.begin(tmp_path)
    found = loading.load(tmp_path).result()

    assert found is READY
    assert threads == ["agentmem-rules"]


def test_rules_that_must_be_compiled_are_not_begun_ahead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = _pretend(monkeypatch, READY)

    loading.begin(tmp_path / "not there")

    assert threads == []


@pytest.mark.parametrize(("seconds", "told"), [(0.0, ["slow"]), (60.0, [])])
def test_whoever_waits_for_the_compiling_is_told_once(
    seconds: float, told: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = threading.Event()

    def load(_: Path | None) -> Loaded:
        if seconds == 0.0:
            go.wait()
        return READY

    monkeypatch.setattr(loading, "_load", load)
    monkeypatch.setattr(loading, "SLOW_S", seconds)
    heard: list[str] = []

    def slow() -> None:
        heard.append("slow")
        go.set()

    found = loading.load(tmp_path, slow)

    assert found.is_ready
    assert heard == told


def test_what_failed_once_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _pretend(monkeypatch, ValueError("a bad rule"), READY)
    with pytest.raises(ValueError, match="a bad rule"):
        loading.load(tmp_path)

    found = loading.load(tmp_path)

    assert found.result() is READY


def test_a_load_says_whether_it_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    _pretend(monkeypatch, READY)
    load = Load(None)
    before = load.is_ready
    load.start()
    load.join()

    assert (before, load.is_ready) == (False, True)


def test_the_largest_target_is_begun_first(tmp_path: Path) -> None:
    (tmp_path / "small").write_bytes(b"x" * 10)
    session = tmp_path / "session" / "logs"
    session.mkdir(parents=True)
    (session / "a.jsonl").write_bytes(b"x" * 70)
    (session / "b.jsonl").write_bytes(b"x" * 30)
    (tmp_path / "middle").write_bytes(b"x" * 50)
    names = ("small", "gone", "session", "middle")

    order = largest_first(
        [Target(name, str(tmp_path / name), is_session=name == "session") for name in names]
    )

    assert order == [(2, 100), (3, 50), (0, 10), (1, 0)]


def test_the_vocabulary_is_read_beside_the_rules_and_only_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    _pretend(monkeypatch, READY, READY)
    monkeypatch.setattr(loading, "_ask", lambda: asked.append(threading.current_thread().name))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)

    loading.load(tmp_path)
    loading.load(tmp_path / "other")
    loading.settle()

    assert asked == ["agentmem-vocabulary"]


def test_one_processor_reads_the_vocabulary_when_a_value_asks_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    _pretend(monkeypatch, READY)
    monkeypatch.setattr(loading, "_ask", lambda: asked.append("asked"))
    monkeypatch.setattr(os, "cpu_count", lambda: 1)

    loading.load(tmp_path)
    loading.settle()

    assert asked == []


def test_the_rule_that_asks_for_the_vocabulary_is_one_the_engine_takes() -> None:
    rules, scan = loading._scanner([str(loading._ASKING)], None, builtins=False)

    found = scan(loading._ASKED, timeout=None, cancellation=None)
    often = scan(b"agentmem-vocabulary=" + b"a" * 32, timeout=None, cancellation=None)

    assert [rule["id"] for rule in rules.metadata()] == ["custom.vocabulary"]
    assert len(found) == 1
    assert often == []


def test_a_vocabulary_that_cannot_be_read_ahead_is_nobodys_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail() -> None:
        raise ImportError("no engine")

    monkeypatch.setattr(loading, "_engine", fail)

    loading._ask()


@pytest.mark.e2e
def test_what_asks_vendors_about_secrets_is_never_imported() -> None:
    program = (
        "import sys\n"
        "from agentmem_cli.operations.secrets.loading import _engine\n"
        "_engine()\n"
        "print(sorted(name for name in sys.modules if name.startswith('kingfisher')))\n"
        "import kingfisher_sdk\n"
        "print(kingfisher_sdk.Scanner.__name__)"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )

    assert done.stdout.splitlines() == ["['kingfisher_sdk._native']", "Scanner"]
