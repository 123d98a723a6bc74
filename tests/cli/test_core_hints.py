"""`core`: what a hint says to do can be done, by options that the command has."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

import pytest

import agentmem_cli
from agentmem_cli.cli import clock
from agentmem_cli.cli.tree import commands
from tests.cli.running import at, header, join, ok, record, run, write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem_cli.session.codec import JSON

OPTIONS = {
    told.path: {name for word in told.options for name in word.names} | {"--help", "-h"}
    for told in commands()
}
"""Each command of the live tree -> what its options are called."""
VERBS = sorted(path[1] for path in OPTIONS if len(path) == 2 and path[0] == "core")

WORDS: dict[str, str] = {
    "append": "human x",
    "blame": "human",
    "clear": "",
    "config": "--max-bytes 4096",
    "diff": "start",
    "edit": "human",
    "export": "",
    "get": "human",
    "history": "human",
    "import": "",
    "insert": "human x",
    "label": "human x",
    "lint": "",
    "list": "",
    "protect": "human",
    "remove": "human",
    "render": "",
    "replace": "human --old a --new b",
    "restore": "human --as-of 2",
    "set": "human x",
    "show": "human",
    "undo": "",
    "unprotect": "human",
}
"""Each verb, with what it is given behind the session."""
GIVEN = b'{"blocks": [{"type": "human", "content": "given"}]}'
NO_HASH = "0" * 64


class Odd(NamedTuple):
    """What a verb may stumble over."""

    values: tuple[JSON, ...] = ()
    """What was saved as the block ``human``, one after the other."""
    more: str = ""
    """Words more, each of which must be an option of the verb or its value."""
    retired: bool = False


A: JSON = {"content": "a"}
ODD: dict[str, Odd] = {
    "nothing there": Odd(),
    "no block": Odd((A, 7)),
    "was no block": Odd((A, 7, A)),
    "read-only": Odd((A, {"content": "aa", "read_only": True})),
    "seen otherwise": Odd((A, {"content": "aa"}), f"--if-match {NO_HASH}"),
    "merged": Odd((A, {"content": "aa"}), f"--if-match {NO_HASH} --merge"),
    "merge alone": Odd((A,), "--merge"),
    "no hash": Odd((A,), "--if-match x"),
    "not there then": Odd((A,), "--as-of start"),
    "no place": Odd((A,), "--as-of ~99"),
    "no such agent": Odd((A,), "--agent nobody"),
    "retired": Odd((A, {"content": "aa"}), "--agent aide", retired=True),
    "twice": Odd((A, {"content": "a a"})),
    "not so often": Odd((A, {"content": "a a"}), "--nth 0"),
    "no line": Odd((A,), "--line 99"),
    "no number": Odd((A,), "--line x"),
    "too many steps": Odd((A,), "--steps 99"),
    "no steps": Odd((A,), "--steps 0"),
    "no folder": Odd((A,), "--format markdown"),
    "large": Odd(({"content": "x" * 9000, "label": "l" * 99},)),
    "too long": Odd((A,), f"--label {'l' * 99}"),
    "not UTF-8": Odd((A,), "--by a\udcff"),
}
"""Each thing that may be odd."""


@pytest.fixture(autouse=True)
def _ticking(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let each command happen a second after the one before, and an editor empty what it gets."""
    seconds = iter(range(100, 10_000))
    monkeypatch.setattr(clock, "now_ms", lambda: at(next(seconds)))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("EDITOR", "sed -i d")
    monkeypatch.delenv("VISUAL", raising=False)


def _faults(hint: str, path: tuple[str, ...]) -> Iterator[str]:
    """Say which options in a *hint* of the command *path* there are not.

    An option behind ``agentmem COMMAND``, in the same part of a sentence, is that
    command's; any other is that of the command that was called.
    """
    for part in re.split(r"[,;.](?:\s|$)", hint):
        of = path
        named = re.search(r"\bagentmem ((?:core )?[a-z][a-z-]*)", part)
        if named is not None:
            of = tuple(named[1].split())
            if of not in OPTIONS:
                yield f"agentmem {named[1]}"
                continue
        for name in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", part):
            if name not in OPTIONS[of]:
                yield f"agentmem {' '.join(of)} {name}"


def _words(verb: str, odd: Odd) -> list[str] | None:
    """Return the words of a call; None: the verb has no such option."""
    if not {word for word in odd.more.split() if word.startswith("--")} <= OPTIONS["core", verb]:
        return None
    return ["core", verb, "one", *WORDS[verb].split(), *odd.more.split()]


def test_every_verb_of_the_live_tree_has_words_here() -> None:
    assert sorted(WORDS) == VERBS


@pytest.mark.parametrize("case", ODD)
def test_each_option_in_a_hint_is_one_of_the_command(root: Path, case: str) -> None:
    odd = ODD[case]
    hints = []
    for verb in VERBS:
        words = _words(verb, odd)
        if words is None:
            continue
        name = f"{verb}-{case.replace(' ', '-')}"
        lines = [
            record(n, "state", key="core_memory.human", value=value)
            for n, value in enumerate(odd.values, 1)
        ]
        log = "aide" if odd.retired else "session"
        end = [record(len(lines) + 1, "retired")] if odd.retired else []
        write(root, name, log, join([header(log), *lines, *end]))
        words[2] = name

        done = run(*words, stdin=GIVEN)

        found = [line.removeprefix("hint: ") for line in done.err.splitlines() if "hint: " in line]
        hints += [(verb, each) for each in found]
        assert [fault for each in found for fault in _faults(each, ("core", verb))] == []
    assert hints or case in SILENT


SILENT = {"large", "no place", "no steps", "too long", "not so often", "not UTF-8"}
"""What says all in the message itself."""


def _gives_a_hint(node: ast.AST) -> TypeGuard[ast.keyword | ast.Assign]:
    if isinstance(node, ast.keyword):
        return node.arg == "hint"
    return isinstance(node, ast.Assign) and "hint" in ast.unparse(node.targets[0]).lower()


def _texts() -> Iterator[str]:
    """Yield each text that the code of core memory gives as a hint, its variables as ``X``."""
    package = Path(agentmem_cli.__file__).parent
    for path in (*package.glob("cli/core*.py"), *package.glob("operations/core/*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if _gives_a_hint(node):
                each = node.value
                if isinstance(each, ast.Constant) and isinstance(each.value, str):
                    yield each.value
                elif isinstance(each, ast.JoinedStr):
                    parts = [p.value if isinstance(p, ast.Constant) else "X" for p in each.values]
                    yield "".join(map(str, parts))


def test_each_text_of_a_hint_names_only_commands_and_options_that_there_are() -> None:
    texts = list(_texts())

    wrong = [
        text
        for text in texts
        if all(any(_faults(text, path)) for path in OPTIONS if path[:1] == ("core",) and path[1:])
    ]

    assert len(texts) > 15
    assert wrong == []


@pytest.mark.parametrize(
    ("hint", "verb", "wrong"),
    [
        ("--force replaces it.", "label", ["agentmem core label --force"]),
        ("--force replaces it.", "set", []),
        ("agentmem core undo SESSION --force takes it back.", "label", []),
        ("agentmem core label SESSION --force takes it.", "undo", ["agentmem core label --force"]),
        ("agentmem core forget SESSION.", "undo", ["agentmem core forget"]),
        ("agentmem log SESSION --key k shows it; --force replaces it.", "set", []),
    ],
)
def test_what_is_looked_for_would_be_found(hint: str, verb: str, wrong: list[str]) -> None:
    assert list(_faults(hint, ("core", verb))) == wrong


@pytest.mark.parametrize("verb", ["label", "protect", "unprotect", "replace", "insert"])
@pytest.mark.parametrize("more", [(), ("--dry-run",)], ids=" ".join)
def test_a_verb_without_force_does_not_hint_at_it(
    root: Path, verb: str, more: tuple[str, ...]
) -> None:
    line = record(1, "state", key="core_memory.human", value=7)
    write(root, "one", "session", join([header("session"), line]))

    done = run("core", verb, "one", *WORDS[verb].split(), *more)

    assert done.status == 5
    assert "agentmem log SESSION" in done.err
    assert "--force" not in done.err


@pytest.mark.parametrize("verb", ["set", "append", "remove", "import", "edit", "restore"])
def test_a_verb_with_force_hints_at_it_and_does_it(
    root: Path, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", "sh -c 'echo x > \"$1\"' sh")
    lines = [
        record(1, "state", key="core_memory.human", value={"content": "a"}),
        record(2, "state", key="core_memory.human", value=7),
    ]
    write(root, "one", "session", join([header("session"), *lines]))

    refused = run("core", verb, "one", *WORDS[verb].split(), stdin=GIVEN)
    ok("core", verb, "one", *WORDS[verb].split(), "--force", stdin=GIVEN)

    assert refused.status == 5
    assert "; --force replaces it." in refused.err
    assert run("core", "list", "one", "--json").object["unusable"] == {}
