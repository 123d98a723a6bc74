from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentmem_cli.operations.secrets.events import Document, event_of
from agentmem_cli.operations.secrets.plain import Plain
from agentmem_cli.operations.secrets.quick import text_of_json
from agentmem_cli.session.codec import dumps
from tests.strategies import texts

VALUES = st.recursive(
    texts() | st.integers() | st.none() | st.booleans(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(texts(), inner, max_size=4)
        | inner.map(lambda value: dumps(value).decode("utf-8"))
    ),
    max_leaves=12,
)


def nothing() -> None:
    """Take no notice of a signature."""


@given(VALUES)
@settings(max_examples=200)
def test_the_quick_text_says_every_string_that_the_document_has(value: object) -> None:
    raw = json.dumps(value).encode()  # noqa: TID251 - other spellings than ours
    try:
        quick = text_of_json(raw)
    except ValueError:
        quick = None  # a lone surrogate, which is looked at string by string

    leaves = Document(raw).leaves

    said = "" if quick is None else quick.decode()
    assert quick is None or all(leaf.text in said for leaf in leaves)


@pytest.mark.parametrize(
    "raw",
    [
        b'{"a":"lost","a":"kept"}',
        b'{"o":{"a":1,"a":{"b":"lost"},"a":2}}',
        b'{"a":"x \\u0022 y","b":1}',
        b'{"in":"{\\"a\\":\\"lost\\",\\"a\\":1}"}',
    ],
)
def test_the_quick_text_says_nothing_of_what_only_the_document_can_tell(raw: bytes) -> None:
    quick = text_of_json(raw)

    assert quick is None


def test_the_loser_of_a_duplicate_key_is_a_leaf() -> None:
    leaves = Document(b'{"a":"lost","a":"kept"}').leaves

    assert [leaf.text for leaf in leaves] == ["a", "lost", "a", "kept"]


def test_a_mask_lands_as_deep_as_the_string_stands() -> None:
    inner = json.dumps({"out": 'say "S" twice'})  # noqa: TID251 - spaces on purpose
    raw = b'{"n": 1e400,"p":' + json.dumps(inner).encode() + b" }"  # noqa: TID251 - as above
    event = Document(raw)
    index = next(at for at, leaf in enumerate(event.leaves) if "S" in leaf.text)
    place = event.leaves[index].text.index("S")

    new = event.masked({index: [(place, place + 1, "[M]")]}, unsigned=nothing)

    assert new == raw.replace(b"S", b"[M]")


def test_secret_named_keys_stand_before_their_values() -> None:
    raw = b'{"api_key":"abc","max_tokens":"12","env":[{"name":"DB_PASSWORD","value":"x1"}]}'

    text, _ = Document(raw).text()
    quick = text_of_json(raw) or b""

    lines = text.split(b"\n")
    assert b"api_key=abc" in lines
    assert b"max_tokens=12" not in lines
    assert b"DB_PASSWORD=x1" in lines
    assert b"api_key=abc" in quick
    assert b"DB_PASSWORD=x1" in quick


def test_an_option_stands_before_the_word_behind_it() -> None:
    raw = b'{"command":["mysql","--password","x1y2"]}'

    text, _ = Document(raw).text()

    assert b"--password=x1y2" in text.split(b"\n")


def test_two_keys_of_one_object_that_become_alike_get_numbers() -> None:
    raw = b'{"S1":1,"S2":2,"[M]":3,"S1":4}'
    event = Document(raw)
    changes = {
        index: [(0, 2, "[M]")] for index, leaf in enumerate(event.leaves) if leaf.text[0] == "S"
    }

    new = event.masked(changes, unsigned=nothing)

    assert new == b'{"[M]#2":1,"[M]#3":2,"[M]":3,"[M]#2":4}'


@pytest.mark.parametrize("name", ["signature", "thinkingSignature", "thoughtSignature"])
def test_a_signature_goes_with_the_text_it_vouched_for(name: str) -> None:
    raw = (
        b'{"type":"m","content":[{"type":"thinking","thinking":"on S","'
        + name.encode()
        + b'":"EqABCDEF=="},{"type":"text","text":"fine","signature":"EqKEPT"}]}'
    )
    gone: list[int] = []
    event = Document(raw)
    index = next(at for at, leaf in enumerate(event.leaves) if leaf.text == "on S")

    new = event.masked({index: [(3, 4, "[M]")]}, unsigned=lambda: gone.append(1))

    part = json.loads(new)["content"]
    assert part[0] == {"type": "thinking", "thinking": "on [M]"}
    assert part[1]["signature"] == "EqKEPT"
    assert len(gone) == 1


def test_signatures_side_by_side_go_together_whatever_they_say() -> None:
    inner = json.dumps({"summary": [{"text": "on S"}], "id": "rs_1"})  # noqa: TID251 - as others
    part = {"thinking": "on S", "thinkingSignature": inner, "signature": "EqABC=="}
    raw = json.dumps({"type": "m", "content": [part]}).encode()  # noqa: TID251 - as others
    event = Document(raw)
    changes = {at: [(3, 4, "[M]")] for at, leaf in enumerate(event.leaves) if leaf.text == "on S"}

    new = event.masked(changes, unsigned=nothing)

    assert len(changes) == 2
    assert json.loads(new)["content"] == [{"thinking": "on [M]"}]


@pytest.mark.parametrize(
    "order", [("s", "t"), ("t", "s"), ("s",), ("t", "s", "x"), ("s", "u", "t")]
)
def test_a_signature_goes_from_every_place_in_its_object(order: tuple[str, ...]) -> None:
    members = {"s": ("signature", "EqA"), "u": ("thoughtSignature", "EqB"), "t": ("text", "S"),
               "x": ("more", "S")}  # fmt: skip
    part = dict(members[each] for each in order)
    raw = json.dumps({"type": "m", "content": [part]}).encode()  # noqa: TID251 - as others
    event = Document(raw)
    changes = {at: [(0, 1, "[M]")] for at, leaf in enumerate(event.leaves) if leaf.text == "S"}

    new = event.masked(changes, unsigned=nothing)

    left = json.loads(new)["content"][0]
    assert all(value == "[M]" for value in left.values()) or not changes


@pytest.mark.parametrize(
    ("raw", "text", "kind"),
    [
        (b'{"type":"a","uuid":"X"}', "X", "id"),
        (b'{"type":"a","message":{"content":[{"type":"tool_use","id":"X"}]}}', "X", "id"),
        (b'{"type":"a","message":{"content":[{"input":{"id":"X"}}]}}', "X", None),
        (b'{"type":"a","toolUseResult":{"id":"X"}}', "X", None),
        (b'{"type":"a","uuid":"X with words"}', "X with words", None),
        (b'{"id":"X","other":1}', "X", None),
        (b'{"type":"r","payload":{"encrypted_content":"gAAAAABabcdefghij"}}',
         "gAAAAABabcdefghij", "encrypted"),
        (b'{"type":"a","message":{"content":[{"type":"redacted_thinking","data":"gAAAAABabcdefghij"}]}}',
         "gAAAAABabcdefghij", "encrypted"),
        (b'{"type":"a","timestamp":"2026-01-02T03:04:05Z"}', "2026-01-02T03:04:05Z", "time"),
    ],
)  # fmt: skip
def test_what_holds_a_record_together_is_told_by_place_and_shape(
    raw: bytes, text: str, kind: str | None
) -> None:
    leaf = next(each for each in Document(raw).leaves if each.text == text)

    assert leaf.structure == kind


def test_bytes_that_are_no_json_are_a_text() -> None:
    event = event_of(b'{"a":"torn')

    assert isinstance(event, Plain)


@given(st.text(alphabet='ab"\n\u00e9\u4e2d', max_size=30), st.integers(0, 2))
def test_a_torn_line_is_read_without_its_escapes(text: str, layers: int) -> None:
    written = f"<{text}>"
    for _ in range(layers + 1):
        written = dumps(written).decode()
    event = Plain(b'{"x":"\\\\\\"' + written.encode())
    shown = f"<{text}>".encode()

    found = [(at, each.find(shown)) for at, each in enumerate(event.texts())]
    layer, start = next((each for each in found if each[1] >= 0), (-1, -1))
    first, last = event.place(layer, start, start + len(shown))

    assert layer >= 0
    assert event.raw[first : first + 1] == b"<"
    assert event.raw[last - 1 : last] == b">"


def test_a_mask_in_a_torn_line_leaves_the_backslash_of_a_quote() -> None:
    event = Plain(rb'{"a":"k=\"abc\" and')
    start = event.raw.index(b"abc")

    new = event.masked({0: [(start, start + 4, "[M]")]}, unsigned=nothing)

    assert new == rb'{"a":"k=\"[M]\" and'
