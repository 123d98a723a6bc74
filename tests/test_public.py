"""The public face: what it promises is there, and is the same for type checkers."""

from __future__ import annotations

import ast
from pathlib import Path

import agentmem_cli
from agentmem_cli._exports import EXPORTS

SOURCE = Path(agentmem_cli.__file__).read_text("utf-8")


def test_every_public_name_is_listed_once_in_each_place() -> None:
    typed = {
        alias.name: node.module
        for node in ast.walk(ast.parse(SOURCE))
        if isinstance(node, ast.ImportFrom) and node.module != "__future__"
        for alias in node.names
        if node.module != "importlib"
    }

    assert typed == EXPORTS
    assert sorted(agentmem_cli.__all__) == sorted(EXPORTS)


def test_every_public_name_can_be_fetched() -> None:
    missing = [name for name in agentmem_cli.__all__ if getattr(agentmem_cli, name, None) is None]

    assert missing == []


def test_the_public_names_are_completed() -> None:
    assert set(agentmem_cli.__all__) <= set(dir(agentmem_cli))
