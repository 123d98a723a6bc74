"""Every reader of what someone else wrote, on anything: a value, or an error of ours in words."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentmem_cli.errors import AgentMemError, ConflictError
from agentmem_cli.operations.core.exchange import read_markdown, read_text
from agentmem_cli.operations.replacing import parse_replacements
from agentmem_cli.operations.secrets.given import read_env, read_literals, read_patterns
from agentmem_cli.operations.secrets.masks import AllowList
from agentmem_cli.session.codec import dumps, loads
from agentmem_cli.session.message import Message
from agentmem_cli.session.meta import BadMeta, SessionMeta, title_of
from agentmem_cli.session.policy import CompactionPolicy
from agentmem_cli.storage import redo
from agentmem_cli.storage.directory import DirStore
from agentmem_cli.storage.names import check_log_name, check_name, is_log_name, is_name
from tests import strategies
from tests.bounded import within

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import SearchStrategy

    from agentmem_cli.session.codec import JSON

_BITS = (
    "---",
    "type:",
    "type: human",
    "label: ",
    ":",
    "#",
    "==>",
    " ==> ",
    "regex:",
    "(",
    ")",
    "[",
    "]",
    "*",
    "+",
    "?",
    "{2}",
    "{99999}",
    "(?<=",
    "\\",
    "\\u12",
    '"',
    "'",
    "=",
    "KEY=",
    "export ",
    "\n",
    "\r\n",
    "\r",
    "\u2028",
    "\x00",
    "\ufeff",
    "\x85",
    "a",
    "é",
    "{",
    "}",
    "null",
    "1e999",
    "(a+)+$",
)


def near(*more: str) -> SearchStrategy[str]:
    """Texts put together of what means something to a reader, and of anything else."""
    bits = st.sampled_from([*_BITS, *more]) | st.text(max_size=3)
    return st.lists(bits, max_size=14).map("".join)


def in_words(read: Callable[[], object], ours: type[Exception] = AgentMemError) -> None:
    """Read; what it raises must be an error of ours, in words."""
    told = "nothing"
    try:
        read()
    except ours as error:
        told = str(error)

    assert told


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


@given(near().map(_bytes) | st.binary(max_size=80))
@example(b"regex:(?P<a>x)(?P<a>y) ==> z")
@example(b"regex:[[a] ==> z")
@example(b'"\\ud800" ==> x')
def test_any_file_of_replacements_is_read_or_refused_in_words(data: bytes) -> None:
    in_words(lambda: parse_replacements(data, "there"))


@given(near("[REDACTED:", "(?i)", "(?P<secret>", "\\1"))
@example("[[a]")
@example("[a--b]")
def test_any_file_of_rules_is_read_or_refused_in_words(text: str) -> None:
    in_words(lambda: read_literals(text, "there"))
    in_words(lambda: read_patterns(text, "there"))
    in_words(lambda: read_env(text, "there"))


@given(st.binary(max_size=60) | strategies.json_values().map(dumps))
@example(b'{"salt":"zz","allowed":[]}')
@example(b'{"salt":"00","allowed":[null,{}]}')
@example(b"[" * 3_000)
def test_any_allow_list_is_read_or_refused_in_words(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "list")
        path.write_bytes(data)

        in_words(lambda: AllowList.read(path))


_FIELDS = ("prompts", "limits", "tracked", "clearing", "near_window", "keep_recent", "keep_asked")


@given(
    strategies.json_values()
    | st.dictionaries(
        st.sampled_from([*_FIELDS, "summary_tokens", "reserve", "other"]),
        strategies.json_values()
        | st.dictionaries(
            st.sampled_from(["summary_tokens", "system", "keep", "tool", "argument", "set"]),
            strategies.json_values(),
        )
        | st.lists(st.dictionaries(st.sampled_from(["tool", "argument", "set"]), st.text())),
        max_size=4,
    )
)
@example({"keep_recent": True})
@example({"tracked": [{"tool": 1}]})
def test_any_policy_is_read_or_refused_in_words(value: JSON) -> None:
    in_words(lambda: CompactionPolicy.from_json(value))


@given(
    near("type: human\n", "label: x\n", "read_only: true\n").map(_bytes) | st.binary(max_size=60)
)
@example(b"---\ntype: human\n---")
@example(b'---\nlabel: "\\ud800"\n---\nx')
def test_any_front_matter_is_read_or_refused_in_words(data: bytes) -> None:
    in_words(lambda: read_markdown(data, "there", "human"))
    in_words(lambda: read_markdown(data, "there", None))


@pytest.mark.skipif(os.name == "nt", reason="there is no such limit there")
def test_front_matter_of_millions_of_lines_takes_no_time_by_their_square(tmp_path: Path) -> None:
    data = b"---\ntype: human\n" + b"\n" * 3_000_000 + b"---\nAda"

    ended = within(lambda: (0, read_markdown(data, "there", None).content), tmp_path / "told")

    assert ended == (0, "Ada")


@given(strategies.json_values().map(dumps) | near().map(_bytes))
@example(b'{"blocks":[{"type":"human"}]}')
@example(b'{"schema":"agentmem.core/1","blocks":{}}')
def test_any_core_memory_is_read_or_refused_in_words(data: bytes) -> None:
    in_words(lambda: read_text(data, "there"))


_META = st.dictionaries(
    st.sampled_from(["title", "labels", "updated", "model", "messages", "listed", "other"]),
    strategies.json_values(),
)


@given(st.binary(max_size=60) | strategies.json_values().map(dumps) | _META.map(dumps))
@example(b"\0" * 1_043)
@example(b'{"title":"\\ud800","labels":{"a":null}}')
@example(b'{"updated":1e400}')
def test_any_meta_is_read_or_refused_in_words(data: bytes) -> None:
    for exact in (False, True):
        in_words(lambda exact=exact: SessionMeta.decode(data, exact=exact), BadMeta)  # type: ignore[misc]


@given(
    near("/", "..", ".", "../", "NUL", "con.txt", ".rig-part", ".rig-trash", ".jsonl", "é" * 130)
)
@example("a" * 256)
@example("\ud800")
def test_any_name_leads_into_the_store_or_is_refused(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "s")
        store = DirStore.open(root)
        works: tuple[
            tuple[Callable[[str], None], Callable[[str], bool], Callable[[], None]], ...
        ] = (
            (check_name, is_name, lambda: store.write_file(name, b"x")),
            (check_log_name, is_log_name, lambda: store.append_log(name, 0, b"x\n")),
        )
        for check, is_good, work in works:
            if not is_good(name):
                with pytest.raises(ValueError, match="name"):
                    check(name)
                with pytest.raises(ValueError, match="name"):
                    work()
                continue
            work()
        outside = [each for each in Path(folder).iterdir() if each.name != "s"]
        inside = {each.name for each in root.iterdir()} if root.exists() else set()

        assert outside == []
        assert inside <= {"logs", "files", ".rig-memory.lock"}


@given(st.lists(strategies.json_objects() | strategies.message_values(), max_size=5))
def test_any_message_is_kept_as_it_is_and_has_a_text(values: list[dict[str, JSON]]) -> None:
    messages = [Message.of(value) for value in values]

    for message in messages:
        assert len(title_of(message.text)) <= 60
        assert loads(message.raw) == message.value


_KEY = b"k" * 32


@given(
    st.binary(max_size=120)
    | st.lists(strategies.json_values(), max_size=2).map(lambda it: dumps([*it]))
)
@example(b'{"key":"00","steps":[]}\n00\n')
def test_any_redo_file_is_whole_or_none(data: bytes) -> None:
    in_words(lambda: redo.decode(data), ConflictError)


@given(st.lists(st.tuples(st.sampled_from(["append", "replace", "remove"]), st.text(max_size=12))))
def test_a_redo_file_made_by_someone_else_leads_nowhere_outside(
    steps: list[tuple[str, str]],
) -> None:
    made = tuple(redo.Step(kind, target, 1, 0, "", "", 0, "") for kind, target in steps)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "s")
        root.mkdir()
        Path(folder, "outside").write_bytes(b"x")
        (root / ".agentmem.redo").write_bytes(redo.encode(redo.Redo(_KEY, made)))

        in_words(DirStore.open(root).recover)

        assert {each.name for each in Path(folder).iterdir()} == {"outside", "s"}
        assert Path(folder, "outside").read_bytes() == b"x"
