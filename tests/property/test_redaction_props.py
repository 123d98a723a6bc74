"""What always holds of a redaction: nothing is left, and nothing else changes."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING
from urllib.parse import quote

from hypothesis import given, settings
from hypothesis import strategies as st

from agentmem_cli.operations.secrets.masks import MASK
from agentmem_cli.operations.secrets.redaction import Wishes, redact_session
from agentmem_cli.session.author import Author
from agentmem_cli.session.codec import dumps, loads_object
from agentmem_cli.session.session import Session
from agentmem_cli.storage.memory import MemoryStore
from tests.secrets_made import LETTERS, looking, made, token
from tests.strategies import texts

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON, Object

VALUES = (token(1), token(2), made(3, 16), made(4, 20, LETTERS + "+/"))
KNOWN = f"{VALUES[0]} {VALUES[1]} password={VALUES[2]} api_key={VALUES[3]}"
BY = Author.plugin("agentmem")
WISHES = Wishes(now_ms=1_800_000_000_000)


def _written(text: str, way: str) -> str:
    if way == "json":
        return json.dumps({"in": text})  # noqa: TID251 - as other programs write
    if way == "url":
        return quote(text.encode("utf-8", "replace"), safe="")
    if way == "base64":
        return base64.b64encode(text.encode("utf-8", "replace")).decode()
    return text


def _saying() -> st.SearchStrategy[str]:
    """Texts with a value in them, written in some way, and texts without."""
    with_value = st.builds(
        lambda before, value, after, way: _written(before + value + after, way),
        st.text('ab \n"\\/é中', max_size=8),
        st.sampled_from(VALUES),
        st.text('ab \n"\\/é中', max_size=8),
        st.sampled_from(["plain", "json", "url", "base64"]),
    )
    return with_value | texts()


def _message(text: str, number: int, where: int) -> Object:
    part: Object = {"type": "text", "text": text if where == 0 else "x"}
    if where == 1:
        part["native"] = {"item": [{"deep": text}]}
    author: Object = {"author": {"kind": "rig", "title": text}} if where == 2 else {}
    return {"message": {"role": "user", "content": [part]}, **author, "id": number}


def _record(text: str, number: int, where: int) -> Object:
    if where == 3:
        aside: Object = {"kind": "k", "author": {"kind": "rig"}, "value": {text: [text]}}
        return {"type": "aside", "id": number, "aside": aside}
    if where == 4:
        return {"type": "state", "key": f"k{text}", "value": {"v": text}}
    return {"type": "push", "entries": [_message(text, number, where)]}


def _log(name: str, said: list[tuple[str, int]], n: int) -> bytes:
    records: list[Object] = [
        {"type": "header", "format": "rig-session/4", "log": name, "lineage": 2**64 - 9}
    ]
    entries = 0
    for number, (text, where) in enumerate(said):
        record = _record(text, number if where == 3 else entries, where)
        entries += record["type"] == "push"
        records.append(record)
    stamped = ({"seq": seq, "n": n + seq, "t": 1, **each} for seq, each in enumerate(records))
    return b"".join(dumps(each) + b"\n" for each in stamped)


def _everything(store: MemoryStore) -> dict[str, bytes]:
    logs = {f"logs/{log}": store.read_log(log) for log in store.logs()}
    return logs | {name: store.read_file(name) for name in store.files()}


def _forms(value: str) -> list[bytes]:
    found = [value.encode(), quote(value, safe="").encode(), dumps(value)[1:-1]]
    for skip in range(3):
        whole = base64.b64encode(b"\0" * skip + value.encode())
        found.append(whole[(0, 2, 3)[skip] : -4])
    return found


SAID = st.lists(st.tuples(_saying(), st.integers(0, 4)), max_size=5)


@given(SAID, SAID, st.lists(_saying(), max_size=4))
@settings(max_examples=60)
def test_nothing_is_left_in_any_encoding_and_nothing_else_changes(
    main: list[tuple[str, int]], other: list[tuple[str, int]], lines: list[str]
) -> None:
    store = MemoryStore()
    store.replace_log("main", 0, _log("main", [(KNOWN, 0), *main], 0))
    store.replace_log("other", 0, _log("other", other, 100))
    odd: JSON = [1.5, None]
    told = b"\n".join(dumps({"line": each, "n": odd}) for each in lines)
    store.write_file("plugins/p/a.jsonl", told)
    store.write_file("plugins/p/b.txt", "\n".join(lines).encode("utf-8", "replace"))
    before = _everything(store)

    done = redact_session(store, BY, looking(), WISHES)
    after = _everything(store)
    again = redact_session(store, BY, looking(), WISHES)

    forms = [form for value in VALUES for form in _forms(value)]
    assert done.is_whole
    assert not [name for name, data in after.items() if any(form in data for form in forms)]
    assert not again.rewritten.changed
    assert _everything(store) == after
    assert before.keys() == after.keys()
    for name, data in after.items():
        _only_masks_differ(before[name], data, is_log=name.startswith("logs/"))
    Session.read(store)


def _only_masks_differ(before: bytes, after: bytes, *, is_log: bool) -> None:
    old, new = before.split(b"\n"), after.split(b"\n")
    assert len(old) == len(new)
    for number, (was, became) in enumerate(zip(old, new, strict=True)):
        if is_log and number == 0:
            was_fields, fields = loads_object(was), loads_object(became)
            assert fields["log"] == was_fields["log"]
            continue
        at = 0
        pieces = MASK.split(became)
        assert was.startswith(pieces[0])
        assert was.endswith(pieces[-1])
        for piece in pieces:
            at = was.find(piece, at)
            assert at >= 0
            at += len(piece)
