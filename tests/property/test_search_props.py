"""Whatever a log's spelling, a search finds what stands in the decoded texts, and no more."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from agentmem_cli import MemoryStore
from agentmem_cli.operations.needles import needle_of
from agentmem_cli.operations.searching import Limits, search_log

if TYPE_CHECKING:
    from collections.abc import Callable

_LETTERS = 'abKs/"\\\n é日😀\u0130'
_TEXTS = st.text(_LETTERS, max_size=8)


def _number(one: str) -> str:
    data = one.encode("utf-16-be")
    return "".join(f"\\u{data[at]:02x}{data[at + 1]:02x}" for at in range(0, len(data), 2))


def _spelt(text: str, choose: Callable[[], int]) -> str:
    """Write a JSON string, each character in one of the ways there are."""
    told = ['"']
    for one in text:
        short = {'"': '\\"', "\\": "\\\\", "\n": "\\n"}.get(one, one)
        ways = [short, _number(one), _number(one).upper().replace("\\U", "\\u"), short]
        ways += ["\\/"] if one == "/" else []
        told.append(ways[choose() % len(ways)])
    return "".join([*told, '"'])


@given(
    texts=st.lists(_TEXTS, min_size=1, max_size=6),
    words=st.text(_LETTERS, min_size=1, max_size=3),
    layers=st.integers(0, 2),
    fold=st.booleans(),
    ways=st.lists(st.integers(0, 19), min_size=1, max_size=30),
)
def test_a_search_finds_what_the_texts_hold(
    texts: list[str], words: str, layers: int, fold: bool, ways: list[int]
) -> None:
    turns = cycle(ways)

    def choose() -> int:
        return next(turns)

    lines = [
        b'{"seq":0,"n":0,"t":0,"type":"header","format":"rig-session/4","log":"main","lineage":9}'
    ]
    for seq, text in enumerate(texts, 1):
        held = text
        for _ in range(layers):
            held = '{"k":' + _spelt(held, choose) + "}"
        message = f'{{"role":"user","content":{_spelt(held, choose)}}}'
        head = f'{{"seq":{seq},"n":{seq},"t":{seq},"type":"push","entries":['
        lines.append(f'{head}{{"message":{message},"id":{seq - 1}}}]}}'.encode())
    store = MemoryStore()
    store.append_log("main", 0, b"".join(line + b"\n" for line in lines))
    needle = needle_of(words, fixed=True, ignore_case=fold)

    found = {hit.id for hit in search_log(store, "main", needle, Limits())}

    wanted = {at for at, text in enumerate(texts) if needle.is_in(text)}
    assert wanted <= found
    if not layers:
        assert found == wanted
