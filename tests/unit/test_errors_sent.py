"""Errors that are sent from a process of `--jobs` to the first one are the same there."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from agentmem_cli import errors
from agentmem_cli.operations.core import refusals
from agentmem_cli.operations.secrets.crew import Lost
from agentmem_cli.operations.secrets.findings import Finding, Place
from agentmem_cli.operations.secrets.pool import Hidden, Veiled
from agentmem_cli.operations.secrets.proof import Unproven
from agentmem_cli.operations.secrets.told import Veil
from agentmem_cli.session import refusals as session_refusals

ROW = Finding(Place("a", 1), (), False, 0, 4, "token", "high", "r", "abcd", "mask")

SENT: list[errors.AgentMemError] = [
    errors.AgentMemError("it", hint="do"),
    errors.UsageError("it"),
    errors.NotFoundError("it", hint="look"),
    errors.ConflictError("it"),
    errors.DamageError("it", hint="repair"),
    errors.Busy(Path("a"), 1.5),
    errors.Stale("a"),
    errors.Io("it", hint="ask"),
    errors.Record("main", 3, "it cannot be read"),
    errors.Changed("main"),
    errors.Format("main", "rig-session/9"),
    errors.LogChanged("main", 3, 4),
    refusals.BlockProtected(["human"]),
    refusals.BoundTooLow(10, 5),
    refusals.NotABlock("core_memory.human", "it is a text", forcible=False),
    refusals.BlockNotThen("human", "m1"),
    refusals.DescriptionTooLong(2000, 1024),
    refusals.BlockChanged("the block 'human'", "none", "ann"),
    refusals.MergeConflict("human", "a\nb\n"),
    session_refusals.Truncated(),
    session_refusals.NotSmaller(5, 9),
    Lost(),
    Unproven([ROW]),
    Hidden(ValueError("abcd")),
    Veiled.of(errors.Busy(Path("abcd"), 1.0), Veil({"abcd"})),
]


@pytest.mark.parametrize("error", SENT, ids=lambda error: type(error).__name__)
def test_an_error_comes_with_its_words_kind_status_hint_and_notes(
    error: errors.AgentMemError,
) -> None:
    error.hint = f"{error.hint} and so on"
    error.add_note("nothing was changed")

    sent = pickle.loads(pickle.dumps(error))

    assert type(sent) is type(error)
    assert str(sent) == str(error)
    assert (sent.kind, sent.exit_code, sent.hint) == (error.kind, error.exit_code, error.hint)
    assert sent.__notes__ == ["nothing was changed"]
    assert vars(sent) == vars(error)
    assert b"abcd" not in pickle.dumps(Unproven([ROW]))
