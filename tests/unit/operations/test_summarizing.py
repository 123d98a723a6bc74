"""A summarizer that is a program: what it gets, what it may do, and that nothing of it stays."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.errors import UsageError
from agentmem_cli.operations.summarizing import Command, command_of, refuse_call, run_command
from agentmem_cli.session.message import Message
from agentmem_cli.session.refusals import (
    CalledTool,
    Empty,
    SummarizerFailed,
    SummaryError,
    TooLong,
)
from agentmem_cli.session.summarizer import Summarizer, SummaryLimits, SummaryRequest
from tests.cli.running import ok, run
from tests.cli.talking import LONG, add, conversation, log_bytes, start
from tests.talks import ask, call, reply, result

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups")

REQUEST = SummaryRequest("be short", Message.user("what was said " * 10_000), 50)
SUMMARIZER = Summarizer(limits=SummaryLimits(summary_tokens=50))


def python(code: str) -> str:
    """A command line that runs *code*."""
    return shlex.join([sys.executable, "-c", code])


def summary_of(code: str, limit_s: float = 30) -> str:
    return run_command(command_of(python(code), os.environ, limit_s), REQUEST, SUMMARIZER)


def test_it_gets_the_request_and_gives_the_summary() -> None:
    code = "import sys; text = sys.stdin.read(); print(len(text), text[:13])"

    assert summary_of(code) == f"{len(REQUEST.text)} what was said"


def test_it_finds_the_system_prompt_and_the_bound_in_its_environment() -> None:
    code = "import os; print(os.environ['AGENTMEM_SYSTEM'], os.environ['AGENTMEM_MAX_TOKENS'])"

    assert summary_of(code) == "be short 50"


def test_it_need_not_read_what_it_is_given() -> None:
    assert summary_of("print('fine')") == "fine"


def test_words_are_split_as_a_shell_does_and_no_shell_is_started() -> None:
    command = command_of("a 'b c' $HOME; rm *", {}, 1)

    assert command.words == ("a", "b c", "$HOME;", "rm", "*")


@pytest.mark.parametrize("line", ["", "   ", "a 'b"])
def test_a_line_without_words_is_refused(line: str) -> None:
    with pytest.raises(UsageError):
        command_of(line, {}, 1)


@pytest.mark.parametrize(
    ("code", "error", "told"),
    [
        ("raise SystemExit(3)", SummarizerFailed, "status 3"),
        ("import sys; sys.exit('no such model')", SummarizerFailed, "no such model"),
        ("import os; os.kill(os.getpid(), 9)", SummarizerFailed, "killed"),
        ("pass", Empty, "no text"),
        ("print('  ')", Empty, "no text"),
        ("import sys; sys.stdout.buffer.write(b'\\xff')", SummarizerFailed, "UTF-8"),
        ("print('x' * 500)", TooLong, "50 were asked for"),
        ("print('x' * 10_000_000)", TooLong, "50 were asked for"),
        ("print('{\"tool_calls\": []}')", CalledTool, "calls a tool"),
        ("print('text'); raise SystemExit(1)", SummarizerFailed, "status 1"),
    ],
)
def test_what_is_no_summary_is_refused(code: str, error: type[SummaryError], told: str) -> None:
    with pytest.raises(error, match=told):
        summary_of(code)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_one_that_never_stops_printing_is_stopped(stream: str) -> None:
    code = f"import sys\nwhile True: sys.{stream}.write('y' * 9999)"
    began = time.monotonic()

    with pytest.raises((TooLong, SummarizerFailed)):
        summary_of(code, limit_s=2)

    assert time.monotonic() - began < 30


def test_one_that_hangs_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    child = "import time; time.sleep(600)"
    code = (
        "import subprocess, sys, time\n"
        f"started = subprocess.Popen([sys.executable, '-c', {child!r}])\n"
        f"open({str(note)!r}, 'w').write(str(started.pid))\n"
        "time.sleep(600)"
    )

    with pytest.raises(SummarizerFailed, match="longer than 3 s"):
        summary_of(code, limit_s=3)

    assert _is_gone(int(note.read_text()))


def test_what_a_finished_one_left_running_is_killed_too(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    code = (
        "import subprocess, sys\n"
        "started = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'],"
        " stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)\n"
        f"open({str(note)!r}, 'w').write(str(started.pid))\n"
        "print('fine')"
    )

    assert summary_of(code) == "fine"
    assert _is_gone(int(note.read_text()))


def _is_gone(pid: int) -> bool:
    for _ in range(200):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        # A killed one that nobody waits for is a zombie, which is gone too.
        told = subprocess.run(
            ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, check=False
        )
        if told.stdout.strip()[:1] in (b"Z", b""):
            return True
        time.sleep(0.05)
    return False


def test_a_line_that_was_meant_for_a_shell_says_how_to_have_one() -> None:
    command = command_of(f"{sys.executable} -c 'import sys; sys.exit(3)' | head", {}, 20)

    with pytest.raises(SummarizerFailed) as caught:
        run_command(command, REQUEST, SUMMARIZER)

    assert "sh -c" in str(caught.value.hint)


def test_one_that_cannot_be_started_is_told() -> None:
    with pytest.raises(SummarizerFailed, match="no-such-program cannot be started"):
        run_command(Command(("no-such-program",), {}), REQUEST, SUMMARIZER)


@pytest.mark.parametrize(
    "text",
    [
        '{"type": "tool_use", "name": "read", "input": {}}',
        '[{"type":"function_call"}]',
        '```json\n{"tool_calls": [{"id": "a"}]}\n```',
        "<tool_call>read</tool_call>",
        "<function_calls>\n<invoke>",
        "[TOOL_CALLS] [{}]",
        'I will look.\n{"type":"tool_use","id":"x","name":"bash","input":{}}',
        'First I look:\n\n```json\n{"tool_calls": [{"id": "a"}]}\n```',
        "Let me see.\n<tool_call>\n{}\n</tool_call>",
        'I call it.\n{\n "type": "function_call",\n "name": "a"\n}',
    ],
)
def test_a_printed_tool_call_is_no_summary(text: str) -> None:
    with pytest.raises(CalledTool):
        refuse_call(f"\n{text}\n")


@pytest.mark.parametrize(
    "text", ["", "{not json", '{"goal": "a boat"}', "[1]", "`x`", "a <tool_call>"]
)
def test_a_summary_may_look_like_json(text: str) -> None:
    refuse_call(text)


# -- from the shell ------------------------------------------------------------


def talk() -> None:
    start("s", ask("build a boat"), call("a"), result("a", LONG), reply("done"))


def test_compact_takes_its_summary_from_a_command(root: Path) -> None:
    talk()

    ok("compact", "s", "--summarizer", python("print('They built a boat.')"))

    assert "They built a boat." in conversation(root, "s").messages[0].text


@pytest.mark.parametrize(
    "code", ["raise SystemExit(1)", "pass", "print('x' * 999_999)", "print('{\"tool_calls\":1}')"]
)
def test_a_failed_command_leaves_the_log_byte_for_byte(root: Path, code: str) -> None:
    talk()
    before = log_bytes(root, "s")

    done = run("compact", "s", "--summarizer", python(code), "--json")

    assert done.status == 2
    assert done.error["kind"] == "summary"
    assert log_bytes(root, "s") == before


def test_a_command_that_takes_too_long_is_told_with_the_way_out(root: Path) -> None:
    talk()
    before = log_bytes(root, "s")
    code = "import time; time.sleep(60)"

    done = run("compact", "s", "--summarizer", python(code), "--time-limit", "0.5")

    assert done.status == 2
    assert "--time-limit" in done.err
    assert log_bytes(root, "s") == before


def test_a_dry_run_starts_no_command(root: Path, tmp_path: Path) -> None:
    talk()
    note = tmp_path / "ran"
    code = f"open({str(note)!r}, 'w')"

    done = ok("compact", "s", "--summarizer", python(code), "--dry-run")

    assert "? after" in done.out
    assert not note.exists()


def _meanwhile(root: Path, *words: str) -> str:
    """A summarizer that changes the session it sums up."""
    inner = [sys.executable, "-m", "agentmem_cli", "--root", str(root), *words]
    code = f"import subprocess; subprocess.run({inner!r}, input=b'x', check=True); print('short')"
    return python(code)


@pytest.fixture
def _imports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))


@pytest.mark.usefixtures("_imports")
def test_what_is_appended_while_it_runs_stays_behind_the_summary(root: Path) -> None:
    talk()
    again = _meanwhile(root, "append", "s", "--role", "user")

    ok("compact", "s", "--summarizer", again)

    texts = [message.text for message in conversation(root, "s").messages]
    assert "short" in texts[0]
    assert texts[1:] == ["done", "x"]


@pytest.mark.usefixtures("_imports")
@pytest.mark.parametrize(
    "words",
    [
        ("splice", "s", "0:1"),
        ("clear", "s", "--keep", "0"),
        ("compact", "s"),
        ("splice", "s", "3:"),
    ],
)
def test_messages_that_change_while_it_runs_refuse_its_summary(
    root: Path, words: tuple[str, ...]
) -> None:
    talk()
    add("s", ask("and more"), reply("ok " * 200)) if words[0] == "compact" else None

    done = run("compact", "s", "--summarizer", _meanwhile(root, *words))

    assert done.status == 4
    assert "changed meanwhile" in done.err
    assert all("short" not in message.text for message in conversation(root, "s").messages)
