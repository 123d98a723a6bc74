"""One call of every command on a session `one`, for tests that try them all."""

from __future__ import annotations

from typing import NamedTuple

from agentmem_cli.cli.app import COMMANDS


class Call(NamedTuple):
    """A call, and what it gets on standard input. ``@`` in a word is a folder beside the root."""

    words: tuple[str, ...]
    stdin: bytes = b""
    writes: bool = False

    @property
    def known(self) -> bool:
        """Whether the program has the command yet."""
        return self.words[0] in COMMANDS

    @property
    def name(self) -> str:
        return " ".join(self.words)


_READING = (
    "list",
    "show one",
    "show one --agent aide",
    "log one",
    "as-of one start",
    "diff one start now",
    "grep what one",
    "stats one",
    "blobs one",
    "scan one --no-rules --literals -",
    "export one --as messages",
    "core list one",
    "value list one",
    "meta show one",
    "compact one --plan",
    "verify one",
    "verify",
)
_WRITING = (
    "new two",
    "append one --role user",
    "append one --agent aide --role user",
    "splice one 0:1 --force",
    "compact one --summary-file -",
    "clear one --keep 0",
    "undo one",
    "redo one",
    "restore one m1",
    "core set one human Ada",
    "core clear one",
    'value set one mood "calm"',
    "meta title one Tides",
    "meta refresh one",
    "fork one three",
    "fork one --as-agent twin",
    "rename one uno",
    "rename one --agent aide=helper",
    "redact one --yes --no-rules --literals -",
    "rewrite one --yes --replace-file -",
    "remap /home/ada=/srv one --yes",
    # What is not there yet comes with its command.
    "repair one",
    "gc one --yes",
    "prune --older 1d --yes",
    "rm one --yes",
)
_STDIN = {
    "append": b"what comes next",
    "compact": b"They talked.",
    "scan": b"wJalrXUtnFEMIK7MDENG",
    "redact": b"wJalrXUtnFEMIK7MDENG",
    "rewrite": b"tides ==> ebbs\n",
}


def _calls() -> list[Call]:
    reading = [(words, False) for words in _READING]
    writing = [(words, True) for words in _WRITING]
    return [
        Call(tuple(words.split()), _STDIN.get(words.split()[0], b""), writes)
        for words, writes in [*reading, *writing]
    ]


CALLS = _calls()


def known_calls() -> list[Call]:
    return [call for call in CALLS if call.known]
