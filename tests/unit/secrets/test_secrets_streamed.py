"""Secrets that a name before them tells, or that stand where one look ends and the next begins."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.operations.secrets import deltas, gathering
from agentmem_cli.session.codec import dumps
from tests.secrets_made import made, pem, token
from tests.unit.secrets.test_secrets_deltas import FORMS
from tests.unit.secrets.test_secrets_single import redacted

if TYPE_CHECKING:
    from tests.unit.secrets.test_secrets_single import Run


def streamed(texts: list[str], form: str = "anthropic") -> Run:
    """Redact a message that came in pieces, a line each."""
    return redacted(b"".join(dumps(FORMS[form](text)) + b"\n" for text in texts))


@pytest.mark.parametrize("form", FORMS)
def test_a_value_in_one_piece_is_known_by_the_name_in_the_piece_before(form: str) -> None:
    run = streamed(["so the password", " = ", "zulu", " and so on"], form)

    assert [(row.value, row.fate, row.place.line) for row in run.findings.rows] == [
        ("zulu", "mask", 3)
    ]
    assert b"zulu" not in run.new
    assert run.new.count(b"[REDACTED:password:") == 1
    assert run.left == []


def test_one_that_its_own_piece_tells_is_told_once() -> None:
    run = streamed(["the ", "password=zulu", " and ", token(), " too"])

    assert [(row.value, row.place.line) for row in run.findings.rows] == [
        ("zulu", 2),
        (token(), 4),
    ]
    assert run.new.count(b"[REDACTED:") == 2


def test_findings_come_by_line_whichever_way_they_were_found() -> None:
    run = streamed(["password=", "zulu ", token(1), " api_key=", "kilo ", token(2)])

    assert [row.place.line for row in run.findings.rows] == [2, 3, 5, 6]


def test_pieces_in_one_document_are_known_by_those_before_them_too() -> None:
    run = redacted(b"\n" + dumps({"deltas": ["password=", "zulu", " ok"]}))

    assert [row.value for row in run.findings.rows if row.fate == "mask"] == ["zulu"]
    assert b"zulu" not in run.new
    assert b'" ok"' in run.new


@pytest.mark.parametrize("cut", [1, 9, 27])
@pytest.mark.parametrize("before", [30, 95, 250])
def test_a_long_message_is_looked_at_in_parts_that_overlap(
    monkeypatch: pytest.MonkeyPatch, before: int, cut: int
) -> None:
    monkeypatch.setattr(deltas, "RUN_CHARACTERS_MAX", 100)
    monkeypatch.setattr(deltas, "OVERLAP_CHARACTERS", 40)
    secret = token()
    filled = ["- " * (before // 2), *["word "] * 30]
    pieces = [*filled, f"so {secret[:cut]}", f"{secret[cut:]} .", *filled, f"{secret[:cut]}"]

    run = streamed([*pieces, secret[cut:]])

    assert [row.value for row in run.findings.rows] == [secret] * 2
    assert run.new.count(b"[REDACTED:") == 2
    assert secret[cut:].encode() not in run.new


@pytest.mark.parametrize("cut", [3, 20])
def test_a_value_that_begins_in_a_piece_longer_than_a_look_is_found(
    monkeypatch: pytest.MonkeyPatch, cut: int
) -> None:
    monkeypatch.setattr(deltas, "RUN_CHARACTERS_MAX", 100)
    monkeypatch.setattr(deltas, "OVERLAP_CHARACTERS", 40)
    secret, other = token(1), token(2)
    long = "- " * 150

    run = streamed([f"{long}{secret[:cut]}", f"{secret[cut:]} {other[:cut]}", f"{other[cut:]} ."])

    assert [row.value for row in run.findings.rows] == [secret, other]
    assert run.new.count(b"[REDACTED:") == 2


_MARK = re.compile(rb":[0-9a-f]{8}]")
"""What tells one secret from another: a key that was cut by the end of a look has another."""

LINES = [
    *(f"line {number} says nothing" for number in range(9)),
    *pem().split("\n"),
    f"then {token(1)}",
    "x" * 90,
    *pem(7, 3).split("\n"),
    *(f"{made(number, 12)} {token(number)}" for number in range(2, 6)),
    "y" * 700,
    f"{'z' * 700} {pem(8, 2)}",
    "pw is zulu9kilo",
]


@pytest.mark.parametrize("size", [300, 500, 800, 1300])
def test_a_text_looked_at_in_parts_comes_to_what_one_look_at_it_does(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    text = "\n".join(LINES).encode()
    whole = redacted(text)
    monkeypatch.setattr(gathering, "TEXT_BYTES", size + 600)
    monkeypatch.setattr(gathering, "TEXT_OVERLAP", 600)

    parted = redacted(text)

    assert _MARK.sub(b"]", parted.new) == _MARK.sub(b"]", whole.new)
    assert {row.value for row in parted.findings.rows} >= {row.value for row in whole.findings.rows}


def test_what_begins_in_a_line_longer_than_the_overlap_is_seen_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gathering, "TEXT_BYTES", 1200)
    monkeypatch.setattr(gathering, "TEXT_OVERLAP", 100)
    key = pem(3, 2)
    text = "\n".join(["- " * 300, f"{'- ' * 300}{key}", "end"]).encode()

    run = redacted(text)

    assert [row.value for row in run.findings.rows if row.fate == "mask"][-1] == key
    assert not any(line.encode() in run.new for line in key.split("\n")[:-1])


@pytest.mark.parametrize("rest", ["restofit9", "restofit9.more99"])
def test_what_stands_beside_a_mask_is_masked(rest: str) -> None:
    mask = "[REDACTED:password:12345678]"

    run = redacted(f"password={rest}{mask}\n".encode())

    assert [row.value for row in run.findings.rows] == [rest]
    assert rest.encode() not in run.new
    assert run.new.endswith(f"]{mask}\n".encode())
    assert run.new.count(b"[REDACTED:") == 2


def test_a_few_characters_beside_a_mask_are_no_secret() -> None:
    data = b"password=xy[REDACTED:password:12345678]\n"

    assert redacted(data).new == data
