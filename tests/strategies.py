"""Values that saved sessions hold, the odd ones too, and bytes as damage leaves them."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from hypothesis import settings
from hypothesis import strategies as st

from agentmem_cli.session.aside import Aside
from agentmem_cli.session.author import Author
from agentmem_cli.session.change import ChangeRecord
from agentmem_cli.session.codec import Number, dumps
from agentmem_cli.session.conversation import Conversation
from agentmem_cli.session.message import Message
from agentmem_cli.session.reader import HeldFiles
from agentmem_cli.session.record import Header, encode_header, encode_record
from agentmem_cli.session.stamp import Stamp
from agentmem_cli.session.storing import stored_records

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import DrawFn, SearchStrategy

    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.entry import Entry

START_MS = 1_700_000_000_000
"""A time for everything that takes one: 2023-11-14."""

NUMBER_TEXTS = ("1e400", "-0", "-0.0", "1.10", "1E5", "-1e-400", "0.1e1", "9" * 5_000)
"""Numbers whose spelling no float and no int keeps."""


def fewer(share: int) -> int:
    """Return how many examples a test gets of which each takes long: all where time is no matter.

    Args:
        share: What part of the profile's examples it gets otherwise: 6 for a sixth.
    """
    profile = settings.default
    examples = 50 if profile is None else profile.max_examples
    return examples if examples >= _DEEP else max(5, examples // share)


_DEEP = 5_000


def _joined(text: str) -> str:
    # JSON cannot tell a surrogate pair from two lone surrogates that happen to meet.
    made: list[str] = []
    for character in text:
        if made and "\ud800" <= made[-1] <= "\udbff" and "\udc00" <= character <= "\udfff":
            continue
        made.append(character)
    return "".join(made)


def texts(max_size: int = 12) -> SearchStrategy[str]:
    """Texts of any characters, lone surrogates among them."""
    odd = st.sampled_from(
        [
            "",
            "\ud83d",
            "a\udfffb",
            "\x00",
            "\u2028\u2029\r",
            '"\\/\x1f',
            "日本語",
            "\U0001f600",
            "-0.1",
        ]
    )
    any_text = st.text(st.characters(exclude_categories=()), max_size=max_size).map(_joined)
    return st.one_of(odd, any_text, st.text("ab ", max_size=max_size))


def numbers() -> SearchStrategy[JSON]:
    """Numbers: 64-bit integers and beyond, floats, and spellings that only `Number` keeps."""
    return st.one_of(
        st.integers(-(2**70), 2**70),
        st.sampled_from([0, 2**53 + 1, 2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**25]),
        st.floats(allow_nan=False, allow_infinity=False),
        st.sampled_from(NUMBER_TEXTS).map(Number),
    )


def keys() -> SearchStrategy[str]:
    """Keys of objects, those of the format among them."""
    known = [
        "",
        "type",
        "seq",
        "n",
        "id",
        "message",
        "entries",
        "with",
        "state",
        "__proto__",
        "a b",
    ]
    return st.one_of(st.sampled_from(known), texts(6))


def json_values(max_leaves: int = 6) -> SearchStrategy[JSON]:
    """Any JSON value, small."""
    leaves: SearchStrategy[JSON] = st.one_of(st.none(), st.booleans(), numbers(), texts())

    def nest(inner: SearchStrategy[JSON]) -> SearchStrategy[JSON]:
        lists = st.lists(inner, max_size=3)
        return lists | st.dictionaries(keys(), inner, max_size=3)

    return st.recursive(leaves, nest, max_leaves=max_leaves)


def json_objects() -> SearchStrategy[Object]:
    """JSON objects, small."""
    return st.dictionaries(keys(), json_values(), max_size=3)


def foreign_fields() -> SearchStrategy[Object]:
    """Fields that this version does not know."""
    return st.dictionaries(texts(5).map(lambda text: "x-" + text), json_values(), max_size=2)


CALL_IDS: tuple[JSON, ...] = ("c1", "c2", "", {"provider": "c1"}, {"local": "c3"}, 7, None)


def calls() -> SearchStrategy[Object]:
    """Tool calls; few ids, so that they repeat and pair."""

    def call(id_: JSON, name: str, arguments: JSON) -> Object:
        function: Object = {"name": name, "arguments": arguments}
        return {"type": "toolcall", "id": id_, "function": function}

    return st.builds(
        call, st.sampled_from(CALL_IDS), st.sampled_from(["sh", "read"]), json_values()
    )


def results() -> SearchStrategy[Object]:
    """Tool results."""

    def result(id_: JSON, content: list[JSON], more: Object) -> Object:
        return {"type": "toolresult", "call": id_, "name": "sh", "content": content, **more}

    flags: SearchStrategy[Object] = st.sampled_from([{}, {"is_error": True}, {"is_error": False}])
    inner = st.lists(st.one_of(text_parts(), images(), _json_parts()), max_size=2)
    return st.builds(result, st.sampled_from(CALL_IDS), inner, flags)


def _json_parts() -> SearchStrategy[Object]:
    return json_values().map(_json_part)


def _json_part(value: JSON) -> Object:
    return {"type": "json", "value": value}


def text_parts() -> SearchStrategy[Object]:
    """Text parts, some with fields that this version does not know."""
    return st.builds(
        lambda text, more: {"type": "text", "text": text, **more}, texts(), foreign_fields()
    )


def base64_data(data: bytes) -> Object:
    """Return an image's data as base64."""
    return {"type": "base64", "value": base64.b64encode(data).decode()}


def images() -> SearchStrategy[Object]:
    """Images that come back as they went: base64, good and bad, addresses, none at all.

    Their bytes begin as those of pictures do: a blob that is text may be rewritten, too.
    """
    datas: SearchStrategy[Object] = st.one_of(
        st.binary(max_size=6).map(lambda data: base64_data(b"\x89PNG" + data)),
        st.sampled_from(
            [
                {"type": "base64", "value": "not base64!"},
                {"type": "base64", "value": "QQ"},
                {"type": "base64", "value": "QR=="},
                {"type": "base64", "value": 7},
                {"type": "url", "value": "https://example.org/a.png"},
                {"type": "fileId", "value": "f-1"},
                {"type": "unknown"},
                {"type": "raw", "value": [1, 256]},
                {"type": "raw", "value": "x"},
            ]
        ),
    )
    types: SearchStrategy[Object] = st.sampled_from(
        [{}, {"media_type": "png"}, {"media_type": "jpeg"}, {"media_type": ["png"]}]
    )
    return st.builds(lambda data, kind: {"type": "image", "data": data, **kind}, datas, types)


def odd_parts() -> SearchStrategy[Object]:
    """Reasoning, and parts that this version does not know."""
    return st.one_of(
        json_values().map(_reasoning),
        st.builds(lambda kind, more: {"type": kind, **more}, texts(5), foreign_fields()),
        foreign_fields(),
    )


def _reasoning(value: JSON) -> Object:
    return {"type": "reasoning", "content": value}


def message_values() -> SearchStrategy[Object]:
    """The JSON of messages: of users, models and systems, and of roles nobody knows."""
    user = st.lists(st.one_of(text_parts(), results(), images(), odd_parts()), max_size=3)
    model = st.lists(st.one_of(text_parts(), calls(), images(), odd_parts()), max_size=3)
    stops: SearchStrategy[Object] = st.sampled_from(
        [{}, {}, {"stop": "end"}, {"stop": "error"}, {"stop": {"kind": "aborted"}}, {"stop": 1}]
    )
    return st.one_of(
        st.builds(_valued, st.just("user"), user, foreign_fields()),
        st.builds(_valued, st.just("assistant"), model, stops),
        st.builds(_valued, st.just("system"), texts(), foreign_fields()),
        st.builds(_valued, texts(4), json_values(), foreign_fields()),
        st.builds(_valued, st.sampled_from(["user", "assistant"]), json_values(), stops),
    )


def _valued(role: JSON, content: JSON, more: Object) -> Object:
    return {"role": role, "content": content, **more}


def messages() -> SearchStrategy[Message]:
    """Messages made of values or of bytes."""
    values = message_values()
    return values.map(Message.of) | values.map(lambda value: Message(dumps(value)))


def authors() -> SearchStrategy[Author]:
    """Authors of every kind."""
    kinds: SearchStrategy[JSON] = st.one_of(
        st.sampled_from(["user", "agent", "rig", "newer"]), texts(4).map(_plugin)
    )
    titles = st.none() | texts()
    return st.builds(Author, kinds, st.none() | texts(4), st.none(), titles, foreign_fields())


def _plugin(name: str) -> JSON:
    return {"plugin": name}


def asides(*, saved: SearchStrategy[bool] | None = None) -> SearchStrategy[Aside]:
    """Side records of any kind."""
    after = st.none() | st.integers(0, 6)
    flags = st.booleans() if saved is None else saved
    return st.builds(Aside, texts(5), authors(), json_values(), after, flags, foreign_fields())


class Editor:
    """A conversation that is edited live, and the entries that left it."""

    def __init__(self, conversation: Conversation | None = None) -> None:
        self.conversation = Conversation() if conversation is None else conversation
        self.gone: list[Entry] = []
        self.at = START_MS

    def run(self, edits: list[Edit]) -> Conversation:
        """Make *edits*, one after the other, a second each; return the conversation."""
        for edit in edits:
            self.at += 1_000
            edit(self)
        return self.conversation

    def range_of(self, low: int, high: int) -> tuple[int, int]:
        """Return a range inside the conversation."""
        count = len(self.conversation) + 1
        first, last = sorted((low % count, high % count))
        return first, last


class PushEdit(NamedTuple):
    """One message."""

    message: Message
    author: Author | None
    by: Author | None

    def __call__(self, editor: Editor) -> None:
        editor.conversation.push(self.message, self.author, by=self.by, at=editor.at)


class ExtendEdit(NamedTuple):
    """Several messages."""

    messages: list[Message]

    def __call__(self, editor: Editor) -> None:
        editor.conversation.extend(self.messages, at=editor.at)


class SpliceEdit(NamedTuple):
    """A range replaced: the first of it edited, the others by new messages."""

    low: int
    high: int
    messages: list[Message]
    edited: bool

    def __call__(self, editor: Editor) -> None:
        first, last = editor.range_of(self.low, self.high)
        there = editor.conversation.entries[first:last]
        with_: list[Entry | Message] = [*self.messages]
        if self.edited and there and self.messages:
            with_[0] = there[0].edited(self.messages[0])
        editor.gone += editor.conversation.splice(first, last, with_, at=editor.at)


class RestoreEdit(NamedTuple):
    """Entries that left, put back as they were."""

    low: int
    high: int
    newest: int

    def __call__(self, editor: Editor) -> None:
        first, last = editor.range_of(self.low, self.high)
        entries = editor.conversation.entries
        standing = {entry.id for entry in [*entries[:first], *entries[last:]]}
        back: dict[int, Entry] = {}
        for entry in editor.gone[-self.newest :]:
            if entry.id not in standing:
                back[entry.id] = entry
        editor.gone += editor.conversation.restore(first, last, back.values(), at=editor.at)


class HaltEdit(NamedTuple):
    """A halt set or cleared."""

    halt: str | None

    def __call__(self, editor: Editor) -> None:
        editor.conversation.set_halt(self.halt, at=editor.at)


class AsideEdit(NamedTuple):
    """A side record put; with an id it may replace one."""

    aside: Aside
    id_: int | None

    def __call__(self, editor: Editor) -> None:
        editor.conversation.put_aside(self.aside, self.id_, at=editor.at)


class RemoveAsideEdit(NamedTuple):
    """A side record removed."""

    id_: int

    def __call__(self, editor: Editor) -> None:
        editor.conversation.remove_aside(self.id_, at=editor.at)


class NormalizeEdit(NamedTuple):
    """The conversation mended."""

    def __call__(self, editor: Editor) -> None:
        editor.conversation.normalize(at=editor.at)


Edit: TypeAlias = "Callable[[Editor], None]"
"""Something done to a live conversation."""


def edits() -> SearchStrategy[Edit]:
    """One live edit."""
    places = st.integers(0, 12)
    few = st.lists(messages(), max_size=2)
    return st.one_of(
        st.builds(PushEdit, messages(), st.none() | authors(), st.none() | authors()),
        st.builds(ExtendEdit, few),
        st.builds(SpliceEdit, places, places, few, st.booleans()),
        st.builds(RestoreEdit, places, places, st.integers(1, 4)),
        st.builds(HaltEdit, st.sampled_from([None, "stopped", "kept"])),
        st.builds(AsideEdit, asides(), st.none() | st.integers(0, 3)),
        st.builds(RemoveAsideEdit, st.integers(0, 3)),
        st.builds(NormalizeEdit),
    )


def histories(max_size: int = 6) -> SearchStrategy[list[Edit]]:
    """Whole histories of live edits."""
    return st.lists(edits(), max_size=max_size)


def log_of(conversation: Conversation) -> bytes:
    """Return the unsaved changes as a log, whose lineage is always the same."""
    records = stored_records(conversation.unsaved, HeldFiles({}))
    lines = [encode_header(Stamp(0, 0, START_MS), Header("main", 7))]
    for record in records:
        assert isinstance(record, ChangeRecord)
        lines.append(encode_record(Stamp(len(lines), len(lines), record.at), record))
    return b"".join(lines)


JUNK_LINES = (
    b"[]",
    b"null",
    b"42",
    b'"x"',
    b"{}",
    b"",
    b"\0" * 40,
    b"\xff\xfe",
    b'{"type":["message"]}',
    b'{"seq":1,"n":1,"t":1,"type":["push"]}',
    b'{"seq":1,"n":1,"t":1,"type":"push","entries":{}}',
    b'{"seq":1,"n":1,"t":1,"type":"push","entries":[{"message":7,"id":0}]}',
    b'{"seq":1,"n":1,"t":1,"type":"splice","from":0,"to":9,"removed":[null],"with":1}',
    b'{"seq":1,"n":1,"t":1,"type":"aside","id":"a","aside":[]}',
    b'{"seq":1,"n":1,"t":1,"type":"reset","state":{"asides":[7],"next_message":-1}}',
    b'{"seq":1,"n":1,"t":1,"type":"state","key":[]}',
    b'{"seq":1e400,"n":1,"t":1,"type":"header"}',
    b'{"seq":1,"n":1,"t":1,"type":"future"}',
    b'{"a":' * 2_000 + b"1" + b"}" * 2_000,
)
"""Lines that are no records of ours."""


@st.composite
def damaged(draw: DrawFn, data: bytes) -> bytes:
    """Draw what a crash, a careless editor or a failing disk makes of *data*."""
    for _ in range(draw(st.integers(1, 3))):
        data = _DAMAGES[draw(st.sampled_from(sorted(_DAMAGES)))](draw, data)
    return data


def _place(draw: DrawFn, data: bytes) -> int:
    return draw(st.integers(0, len(data)))


def _cut(draw: DrawFn, data: bytes) -> bytes:
    return data[: _place(draw, data)]


def _overwrite(draw: DrawFn, data: bytes) -> bytes:
    at = _place(draw, data)
    junk = draw(st.sampled_from([b"\0", b"\xff", b"\n", b'"', b"}", b"\0" * 30, b"9", b"\x80"]))
    return data[:at] + junk + data[at + len(junk) :]


def _insert(draw: DrawFn, data: bytes) -> bytes:
    at = _place(draw, data)
    return data[:at] + draw(st.binary(min_size=1, max_size=8)) + data[at:]


def _remove(draw: DrawFn, data: bytes) -> bytes:
    at = _place(draw, data)
    return data[:at] + data[at + draw(st.integers(1, 40)) :]


def _junk_line(draw: DrawFn, data: bytes) -> bytes:
    lines = data.split(b"\n")
    lines.insert(draw(st.integers(0, len(lines))), draw(st.sampled_from(JUNK_LINES)))
    return b"\n".join(lines)


def _weld(draw: DrawFn, data: bytes) -> bytes:
    return data.replace(b"\n", b"", draw(st.integers(1, 2)))


def _repeat(draw: DrawFn, data: bytes) -> bytes:
    at = _place(draw, data)
    return data[:at] + data[max(0, at - draw(st.integers(1, 200))) :]


_DAMAGES: dict[str, Callable[[DrawFn, bytes], bytes]] = {
    "cut": _cut,
    "overwrite": _overwrite,
    "insert": _insert,
    "remove": _remove,
    "junk line": _junk_line,
    "weld": _weld,
    "repeat": _repeat,
}
