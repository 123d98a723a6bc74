from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from agentmem_cli.session.change import ChangeRecord, Reset
from agentmem_cli.session.codec import dumps, loads, same
from agentmem_cli.session.forms import form_of, is_form
from agentmem_cli.session.mapping import edited, map_strings, map_tokens
from agentmem_cli.session.reader import fold_log, load
from agentmem_cli.session.record import Saved, decode_change
from agentmem_cli.session.rewriter import rewrite
from agentmem_cli.session.rewriting import Rewrite, Strings
from agentmem_cli.session.session import Session
from agentmem_cli.session.tokens import string_tokens, text_of
from agentmem_cli.session.writer import append_records, save
from agentmem_cli.storage.memory import MemoryStore
from tests.strategies import Editor, histories, json_values, keys, messages, texts

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.rewriting import Record
    from tests.strategies import Edit

    Map = Callable[[str], str]
    Parts = dict[str, tuple[list[Edit], list[Edit] | None]]

AT = 1_700_000_000_000


def maps() -> st.SearchStrategy[Map]:
    """Ways of mapping a text, and one that makes all texts the same."""

    def replacing(old: str, new: str) -> Map:
        return lambda text: text.replace(old, new) if old else text

    return st.one_of(
        st.sampled_from([str.upper, lambda text: text[::-1], lambda _: "X", lambda text: text]),
        # Why no half of a character: two halves that meet are one, as JSON has it.
        st.builds(replacing, st.sampled_from(["a", "b", " ", '"', "日"]), st.text('xyz"日')),
    )


def without_header(data: bytes) -> list[bytes]:
    return data.split(b"\n")[1:]


def outside_strings(raw: bytes) -> list[bytes]:
    """The bytes between a line's strings."""
    pieces, at = [], 0
    for token in string_tokens(raw):
        pieces.append(raw[at : token.start])
        at = token.end
    return [*pieces, raw[at:]]


def sessions() -> st.SearchStrategy[Parts]:
    """By log, edits of a conversation, and those that are made after a reset."""
    pairs = st.tuples(histories(), st.none() | histories(3))
    return st.dictionaries(st.sampled_from(["main", "b", "c"]), pairs, min_size=1)


def made(parts: Parts, values: list[tuple[str, JSON]]) -> MemoryStore:
    store = MemoryStore()
    for log, (edits, later) in parts.items():
        save(store, log, Editor().run(edits))
        if later is not None:
            reset = ChangeRecord(Reset(load(store, log).state()), None, AT)
            append_records(store, log, lambda _, r=reset: [r], at=AT)  # type: ignore[misc]
            save(store, log, Editor(load(store, log)).run(later))
    for key, value in values:
        append_records(store, "session", lambda _, k=key, v=value: [Saved(k, v)], at=AT)  # type: ignore[misc]
    return store


@given(sessions(), st.lists(st.tuples(keys(), json_values()), max_size=3), maps())
def test_a_rewrite_keeps_every_stamp_and_changes_strings_alone(
    parts: Parts, values: list[tuple[str, JSON]], f: Map
) -> None:
    store = made(parts, values)
    before = {log: store.read_log(log) for log in store.logs()}

    done = rewrite(store, None, Strings(f), now_ms=AT)

    changed = {log.log: log.records for log in done.logs}
    for log, data in before.items():
        after = store.read_log(log)
        if log not in changed:
            assert after == data
            continue
        pairs = list(zip(without_header(data), without_header(after), strict=True))
        differing = [(old, new) for old, new in pairs if old != new]
        assert len(differing) == changed[log]
        for old, new in differing:
            assert outside_strings(old) == outside_strings(new)
            told, will = loads(old), loads(new)
            assert isinstance(told, dict)
            assert isinstance(will, dict)
            assert form_of(told) == form_of(will)
    Session.read(store)


@given(sessions(), maps())
def test_the_fold_of_a_rewritten_log_is_the_old_fold_with_its_strings_mapped(
    parts: Parts, f: Map
) -> None:
    store = made(parts, [])
    olds = {log: load(store, log) for log in store.logs()}
    with_ = Strings(f)

    rewrite(store, None, with_, now_ms=AT)

    for log, old in olds.items():
        new = load(store, log)
        assert [entry.id for entry in new.entries] == [entry.id for entry in old.entries]
        assert [entry.made for entry in new.entries] == [entry.made for entry in old.entries]
        assert new.halt == old.halt
        assert new.next_message == old.next_message
        assert list(new.asides) == list(old.asides)
        for one, other in zip(old.entries, new.entries, strict=True):
            value = loads(one.stored.raw)
            assert isinstance(value, dict)
            with_.message(None, value)  # type: ignore[arg-type]
            assert same(value, other.stored.value)


@given(sessions(), maps())
def test_a_second_rewrite_with_a_map_that_finds_nothing_more_changes_nothing(
    parts: Parts, f: Map
) -> None:
    store = made(parts, [])
    rewrite(store, None, Strings(lambda text: "X" if f(text) != text else text), now_ms=AT)
    before = {log: store.read_log(log) for log in store.logs()}

    done = rewrite(store, None, Strings(lambda text: text), now_ms=AT)

    assert not done.changed
    assert {log: store.read_log(log) for log in store.logs()} == before


class ByHooks(Rewrite):
    """Does by the upper hooks what `Strings` does by tokens."""

    def __init__(self, f: Map) -> None:
        self._strings = Strings(f)

    def message(self, at: Record, message: Object) -> bool:
        return self._strings.message(at, message)

    def aside(self, at: Record, aside: Object) -> bool:
        return self._strings.aside(at, aside)

    def author(self, at: Record, author: Object) -> bool:
        return self._strings.author(at, author)


@given(sessions(), maps())
def test_hooks_for_values_and_hooks_for_bytes_come_to_the_same(parts: Parts, f: Map) -> None:
    one, other = made(parts, []), made(parts, [])

    rewrite(one, None, Strings(f), now_ms=AT)
    rewrite(other, None, ByHooks(f), now_ms=AT)

    for log in one.logs():
        left, right = fold_log(one, log).conversation, fold_log(other, log).conversation
        for a, b in zip(left.entries, right.entries, strict=True):
            assert same(a.stored.value, b.stored.value)
            assert a.author == b.author
        assert left.asides == right.asides


@given(json_values(12), maps())
def test_mapping_tokens_is_mapping_the_value(value: JSON, f: Map) -> None:
    raw = dumps(value)

    new = loads(map_tokens(raw, f))
    expected, changed = map_strings(loads(raw), f)

    assert same(new, expected)
    assert changed == (dumps(expected) != dumps(loads(raw)))


@given(st.lists(st.tuples(keys(), texts()), max_size=5), maps())
def test_of_doubled_keys_every_value_is_mapped_and_keys_stay_apart(
    pairs: list[tuple[str, str]], f: Map
) -> None:
    raw = b"{" + b",".join(dumps(key) + b": " + dumps(text) for key, text in pairs) + b"}"

    new = map_tokens(raw, f)

    found = [text_of(new, token) for token in string_tokens(new)]
    assert found[1::2] == [f(text) for _, text in pairs]
    assert len(set(found[::2])) == len({key for key, _ in pairs})
    firsts = [key for key, _ in pairs]
    assert [firsts.index(key) for key in firsts] == [found[::2].index(key) for key in found[::2]]


@given(json_values(), json_values())
def test_an_edit_makes_the_text_decode_to_the_value(old: JSON, new: JSON) -> None:
    raw = b" " + dumps(old) + b"\r"

    assert same(loads(edited(raw, new)), new)
    assert edited(raw, loads(raw)) is raw


@given(messages())
def test_form_says_of_a_record_nothing_that_its_reader_would_miss(message: object) -> None:
    raw = dumps({"seq": 1, "n": 1, "t": 1, "type": "push", "entries": [_entry(message)]})
    mapped = map_tokens(raw, lambda _: "X", is_form)
    fields = loads(mapped)
    assert isinstance(fields, dict)

    change = decode_change(fields, 1, None, 0, len(mapped))

    assert change is not None


def _entry(message: object) -> Object:
    value = loads(message.raw)  # type: ignore[attr-defined]
    return {"message": value, "id": 0}
