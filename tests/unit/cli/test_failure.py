from __future__ import annotations

import json

import pytest

from agentmem_cli._entry import main
from agentmem_cli.cli import app
from tests.e2e.commands import PLACES

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the commands that fail on demand."""
    monkeypatch.setattr(app, "COMMANDS", {**app.COMMANDS, **PLACES})


@pytest.mark.parametrize(
    ("name", "status", "told"),
    [
        ("busy", 4, "a/.lock: still locked after 10 s"),
        ("damaged", 5, "log 'main', line 3: ␛[2Jno JSON"),
        ("missing", 3, "there: No such file or directory"),
        ("denied", 2, "there: Permission denied"),
        ("fifo", 2, "there/fifo: Broken pipe"),
        ("bug", 2, "internal error, KeyError: 'place'"),
        ("recursion", 2, "internal error, RecursionError: too deep"),
        ("memory", 2, "out of memory"),
        ("interrupt", 130, "interrupted"),
        ("abort", 130, "interrupted"),
        ("parameter", 2, "invalid value: not that"),
    ],
)
def test_an_error_becomes_a_status_and_a_message(
    name: str, status: int, told: str, capsys: Capture
) -> None:
    ended = main(["fail", name])

    captured = capsys.readouterr()
    assert ended == status
    assert captured.out == ""
    assert captured.err.splitlines()[0] == f"agentmem: error: {told}"
    assert "Traceback" not in captured.err


def test_an_error_says_what_to_do_next(capsys: Capture) -> None:
    main(["fail", "busy"])

    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("agentmem: error: ")
    assert second.startswith("hint: Another program is writing")


def test_candidates_are_listed_safely(capsys: Capture) -> None:
    ended = main(["fail", "ambiguous"])

    assert ended == 3
    assert capsys.readouterr().err.splitlines() == [
        "agentmem: error: 'a' fits 2 sessions",
        "  a1",
        "  a␛2",
        "hint: Write more.",
    ]


@pytest.mark.parametrize(
    "words", [["fail", "ambiguous", "--json"], ["fail", "--json", "ambiguous"]]
)
def test_an_error_in_json_is_one_line(words: list[str], capsys: Capture) -> None:
    ended = main(words)

    told = capsys.readouterr().err
    assert ended == 3
    assert told.count("\n") == 1
    assert json.loads(told) == {
        "error": {
            "kind": "ambiguous",
            "message": "'a' fits 2 sessions",
            "hint": "Write more.",
            "exit_code": 3,
            "candidates": ["a1", "a\x1b2"],
        }
    }


@pytest.mark.parametrize(
    ("words", "kind", "status"),
    [
        (["fail", "missing", "--json"], "not_found", 3),
        (["fail", "denied", "--json"], "io", 2),
        (["fail", "bug", "--json"], "internal", 2),
        (["fail", "interrupt", "--json"], "interrupted", 130),
        (["fail", "--json"], "usage", 2),
        (["nosuch", "--json"], "usage", 2),
        (["fail", "busy", "--json", "--nosuch"], "usage", 2),
    ],
)
def test_every_kind_of_error_can_be_json(
    words: list[str], kind: str, status: int, capsys: Capture
) -> None:
    ended = main(words)

    error = json.loads(capsys.readouterr().err)["error"]
    assert ended == status
    assert error["kind"] == kind
    assert error["exit_code"] == status
    assert list(error) == ["kind", "message", "hint", "exit_code"]


def test_json_after_the_end_of_options_is_a_word(capsys: Capture) -> None:
    ended = main(["nosuch", "--", "--json"])

    assert ended == 2
    assert capsys.readouterr().err.startswith("agentmem: error: ")


@pytest.mark.parametrize(
    ("name", "status"), [("exit", 1), ("leave", 5), ("leave-quietly", 0), ("words", 2)]
)
def test_an_exit_asked_for_is_given_without_words(name: str, status: int, capsys: Capture) -> None:
    ended = main(["fail", name])

    assert ended == status
    assert capsys.readouterr().err == ""


def test_a_traceback_is_shown_where_it_is_asked_for(capsys: Capture) -> None:
    main(["--debug", "fail", "bug"])

    told = capsys.readouterr().err
    assert told.startswith("Traceback ")
    assert "agentmem: error: internal error" in told


def test_a_mistyped_command_is_answered_with_the_right_one(capsys: Capture) -> None:
    ended = main(["verfy"])

    assert ended == 2
    assert capsys.readouterr().err.splitlines() == [
        "agentmem: error: no such command 'verfy'",
        "hint: Did you mean 'verify'?",
    ]


def test_a_global_option_behind_its_command_is_told_its_place(capsys: Capture) -> None:
    ended = main(["lines", "--root", "x"])

    assert ended == 2
    assert "hint: --root stands before the command" in capsys.readouterr().err


def test_what_a_command_takes_is_pointed_at(capsys: Capture) -> None:
    missing = main(["fail"])
    missing_told = capsys.readouterr().err
    wrong = main(["--lock-wait", "soon", "lines"])
    wrong_told = capsys.readouterr().err
    none = main([])
    none_told = capsys.readouterr().err

    assert (missing, wrong, none) == (2, 2, 2)
    assert "hint: agentmem fail --help tells what it takes." in missing_told
    assert "--lock-wait" in wrong_told
    assert "hint: agentmem --help lists the commands." in none_told


def test_words_of_the_call_cannot_drive_the_terminal(capsys: Capture) -> None:
    main(["no\x1b[2Jsuch\udcff"])

    told = capsys.readouterr().err
    assert "\x1b" not in told
    assert "no" in told
