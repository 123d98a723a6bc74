from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem_cli.operations.secrets.literals import Hit, Literals
from agentmem_cli.session.codec import dumps

if TYPE_CHECKING:
    from collections.abc import Callable

VALUES = st.text(
    alphabet=st.sampled_from("abcXYZ019+/=_-.:@%&\"\\ \n\u00e9\u4e2d\U0001f600'"),
    min_size=8,
    max_size=24,
).filter(lambda text: len(text.strip()) == len(text))
SPARE = st.text(alphabet="xyz \n", max_size=7)


@given(VALUES, SPARE, SPARE, st.booleans(), st.integers(0, 2))
def test_a_value_is_found_in_json_of_any_layers(
    value: str, before: str, after: str, ascii_only: bool, layers: int
) -> None:
    text = before + value + after
    for _ in range(layers):
        text = json.dumps(text, ensure_ascii=ascii_only)[1:-1]  # noqa: TID251 - another spelling
    raw = json.dumps({"a": text}, ensure_ascii=ascii_only).encode()  # noqa: TID251 - as above
    literals = Literals([value])

    hits = literals.find(text.encode())

    assert literals.candidates(raw)
    assert [hit.value for hit in hits] == [0] * len(hits)
    assert value not in _cut(text, hits)
    assert hits


def _cut(text: str, hits: list[Hit]) -> str:
    data = text.encode()
    for start, end, _ in reversed(hits):
        data = data[:start] + data[end:]
    return data.decode()


@given(VALUES, SPARE, SPARE)
def test_a_value_is_found_in_base64_with_the_base64_around_it(
    value: str, before: str, after: str
) -> None:
    plain = before.encode() + value.encode() + after.encode()
    literals = Literals([value])
    encoded = [base64.b64encode(plain), base64.urlsafe_b64encode(plain)]

    found = [literals.find(b"<" + each + b">") for each in encoded]

    assert [[hit[:2] for hit in hits] for hits in found] == [
        [(1, 1 + len(each))] for each in encoded
    ]
    assert all(literals.candidates(dumps(each.decode())) for each in encoded)


@pytest.mark.parametrize("safe", ["", "/", "!'()*", ";,/?:@&=+$#!'()*"])
@given(value=VALUES)
def test_a_value_is_found_percent_encoded(value: str, safe: str) -> None:
    literals = Literals([value])
    great = quote(value, safe=safe)
    small = re.sub("%..", lambda found: found[0].lower(), great)
    encoded = [great, small, quote_plus(value)]

    assert all(literals.find(each.encode()) for each in encoded)
    assert all(literals.candidates(dumps(each)) for each in encoded)


@given(VALUES)
def test_a_line_with_characters_written_by_their_numbers_is_a_candidate(value: str) -> None:
    raw = "".join(f"\\u{ord(each):04x}" for each in value if ord(each) < 0x10000)
    literals = Literals([value])

    assert literals.candidates(f'{{"a":"{raw}"}}'.encode())


def _by_number(text: str) -> str:
    pairs = text.encode("utf-16-be")
    return "".join(f"\\u{pairs[at : at + 2].hex()}" for at in range(0, len(pairs), 2))


SPELLINGS: dict[str, Callable[[str], str]] = {
    "slashes": lambda text: dumps(text).decode()[1:-1].replace("/", "\\/"),
    "slashes in ascii": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),  # noqa: TID251
    "numbers": _by_number,
    "great numbers": lambda text: _by_number(text).upper().replace("\\U", "\\u"),
    "one number": lambda text: dumps(text).decode()[1:-1].replace("a", "\\u0061"),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("layers", [0, 1, 2])
@given(value=VALUES)
def test_a_value_is_found_in_every_spelling_of_json_without_quotes(
    spelling: str, layers: int, value: str
) -> None:
    text = SPELLINGS[spelling](value)
    for _ in range(layers):
        text = dumps(text).decode()[1:-1]
    literals = Literals([value])

    assert literals.candidates(f"say {text} ok".encode())
    assert literals.find(f"say {text} ok".encode()) == [(4, 4 + len(text.encode()), 0)]


def test_of_values_that_overlap_all_is_found_and_the_widest_gives_the_name() -> None:
    literals = Literals(["abcdefgh1234", "1234ijkl", "unrelated-one"])

    hits = literals.find(b"< abcdefgh1234ijkl >")

    assert hits == [(2, 18, 0)]


def test_values_side_by_side_in_long_base64_are_found_with_all_of_it() -> None:
    # With an expression that begins anew at every sign, each would take seconds.
    run = b"A" * 60_000
    value = "tok_0123456789abcdefg"
    encoded = base64.b64encode(f"xyz{value}".encode())
    literals = Literals([value])

    hits = [literals.find(b"<" + run + encoded + run[:at] + b">")[0] for at in range(8)]

    assert [hit[:2] for hit in hits] == [(1, 1 + 60_000 + len(encoded) + at) for at in range(8)]


def test_nothing_is_a_candidate_where_nothing_is_looked_for() -> None:
    literals = Literals([])

    assert literals.candidates(b'{"a":"\\u0041"}') == []
    assert literals.find(b"a") == []


@pytest.mark.parametrize("value", ["\u5bc6\u7801\u5b57", '"\\"\\"', "\u00e9" * 8])
def test_a_value_without_a_plain_run_is_found(value: str) -> None:
    literals = Literals([value])
    raws = [json.dumps(value).encode(), dumps(value)]  # noqa: TID251 - by numbers, and not
    raws.append(raws[0].replace(b"\\u5bc6", b"\\u5BC6"))

    assert all(literals.candidates(raw) for raw in raws)
    assert literals.find(value.encode())


def test_long_values_that_begin_alike_are_told_apart_also_where_a_text_ends() -> None:
    head = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ"
    short, long, other = f"{head}AAAB", f"{head}AAABxyzxyz", f"{head}AAAC"
    literals = Literals([short, long, other])

    found = [
        [(hit.start, hit.end, hit.value) for hit in literals.find(text.encode())]
        for text in (f"<{short}", f"<{long}", f"{other}>", f"{head}AAAD", head)
    ]

    assert found == [
        [(1, 1 + len(short), 0)],
        [(1, 1 + len(long), 1)],
        [(0, len(other), 2)],
        [],
        [],
    ]
