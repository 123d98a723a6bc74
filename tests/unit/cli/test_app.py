from __future__ import annotations

import gc
import re
from typing import TYPE_CHECKING

import pytest
import typer

import agentmem_cli
from agentmem_cli._entry import main
from agentmem_cli.cli import app
from agentmem_cli.cli.core import CoreGroup
from tests.e2e.commands import PLACES

if TYPE_CHECKING:
    from pathlib import Path

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def _commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the commands of the tests."""
    monkeypatch.setattr(app, "COMMANDS", {**app.COMMANDS, **PLACES})


def _commands_by_name() -> dict[str, object]:
    group = typer.main.get_command(app.app)
    assert isinstance(group, app.LazyGroup)
    found: dict[str, object] = dict(group.commands)
    return found


@pytest.mark.parametrize("words", [["--version"], ["--utc", "--version"]])
def test_the_version_is_told(words: list[str], capsys: Capture) -> None:
    ended = main(words)

    assert ended == 0
    assert capsys.readouterr().out == f"agentmem {agentmem_cli.__version__}\n"


@pytest.mark.parametrize("word", ["--help", "-h"])
def test_the_help_names_every_command_and_status(word: str, capsys: Capture) -> None:
    ended = main([word])

    told = capsys.readouterr().out
    assert ended == 0
    for name in app.COMMANDS:
        assert re.search(rf"^  {name}  +\S", told, re.MULTILINE)
    statuses = re.findall(r"^  ([0-9]+)  ", told.split("EXIT STATUS:")[1], re.MULTILINE)
    assert statuses == ["0", "1", "2", "3", "4", "5", "6", "130"]


def test_every_command_is_made_under_its_name() -> None:
    made = _commands_by_name()

    assert list(made) == list(app.COMMANDS)
    assert [getattr(command, "name", None) for command in made.values()] == list(app.COMMANDS)


def test_every_command_explains_itself_and_its_words() -> None:
    faults = []
    verbs = {f"core {name}": command for name, command in CoreGroup(name="core").commands.items()}
    for name, command in {**_commands_by_name(), **verbs}.items():
        texts = [getattr(command, "help", None)]
        for parameter in getattr(command, "params", []):
            texts.append(getattr(parameter, "help", None))
            flag = getattr(parameter, "is_flag", False)
            if not flag and parameter.metavar is None:
                faults.append(f"{name} {parameter.name} has no metavar")
        if not all(texts):
            faults.append(f"{name} has something without help")
        if any("'" in (text or "") for text in texts):
            faults.append(f"{name} has an apostrophe in its help")

    assert faults == []


def test_the_list_of_commands_cuts_no_sentence_off(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    assert main(["--help"]) == 0

    told = capsys.readouterr().out
    every = [
        str(getattr(command, "help", "")).partition("\n")[0].rstrip(".")
        for command in _commands_by_name().values()
    ]
    assert [each for each in every if each not in told] == []


@pytest.mark.usefixtures("_commands")
def test_a_command_returns_its_status_and_gets_the_settings(
    capsys: Capture, tmp_path: Path
) -> None:
    given = main(["--root", str(tmp_path), "--lock-wait", "2.5", "--utc", "status", "1"])
    given_told = capsys.readouterr().err
    default = main(["status", "0"])
    default_told = capsys.readouterr().err

    assert given == 1
    assert given_told == f"agentmem: {tmp_path} 2.5 UTC True\n"
    assert default == 0
    assert default_told == f"agentmem: {tmp_path / 'root'} 10.0 None True\n"


@pytest.mark.usefixtures("_commands")
def test_a_command_may_have_commands_of_its_own(capsys: Capture) -> None:
    ended = main(["group", "inner"])
    main(["group", "--help"])

    assert ended == 1
    assert "Commands of a group." in capsys.readouterr().out


def test_an_empty_root_is_refused(capsys: Capture) -> None:
    ended = main(["--root", "", "list"])

    assert ended == 2
    assert capsys.readouterr().err.startswith("agentmem: error: --root is empty")


@pytest.mark.usefixtures("_commands")
def test_memory_is_collected_while_a_command_runs_and_after() -> None:
    gc.disable()

    main(["status", "0"])

    assert gc.isenabled()
    gc.unfreeze()


def test_the_public_names_are_fetched_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentmem_cli._exports.EXPORTS", {"Busy": "agentmem_cli.errors"})

    fetched = agentmem_cli.__getattr__("Busy")

    from agentmem_cli.errors import Busy

    assert fetched is Busy
    assert "Busy" in dir(agentmem_cli)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        agentmem_cli.__getattr__("Nothing")
    vars(agentmem_cli).pop("Busy")
