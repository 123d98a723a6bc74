"""`redact` of messages that were streamed in pieces, wherever in a session these stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem_cli.operations.imports.packed import packed
from agentmem_cli.operations.secrets import engine
from agentmem_cli.session.codec import dumps
from tests.cli.running import header, join, ok, record, run, said, write
from tests.secrets_made import StandIn, token
from tests.unit.secrets.test_secrets_deltas import FORMS

if TYPE_CHECKING:
    from pathlib import Path

TOKEN = token(1)
PIECES = {
    "a token": [f"so {TOKEN[:9]}", f"{TOKEN[9:]} it is"],
    "a password": ["password=zu", "lu and"],
    "a password behind its name": ["password=", "zulu and"],
}


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "Detector", lambda **_: StandIn())


def piece(seq: int, text: str) -> bytes:
    """The record of a side record that holds one piece."""
    value = FORMS["anthropic"](text)
    return record(
        seq, "aside", id=seq, aside={"kind": "x", "author": {"kind": "rig"}, "value": value}
    )


def is_masked(data: bytes) -> bool:
    """Whether one mask stands there, and no character of the secrets."""
    left = (TOKEN[:9], TOKEN[9:], "zulu", "=zu", '"lu')
    return data.count(b"[REDACTED:") == 1 and not any(each.encode() in data for each in left)


@pytest.mark.parametrize("pieces", PIECES.values(), ids=PIECES)
@pytest.mark.parametrize(
    "before", [[], [b""], [b"", b"  ", b"\r"], [*[b""] * 40]], ids=["none", "1", "3", "40"]
)
def test_pieces_in_a_log_are_masked_where_blank_lines_stand_before_them(
    root: Path, before: list[bytes], pieces: list[str]
) -> None:
    lines = [header(), said(1, "hello"), *before]
    lines += [piece(seq, text) for seq, text in enumerate(pieces, 2)]
    last = len(pieces) + 2
    path = write(root, "one", "main", join([*lines, piece(last, "nothing"), said(last + 1, "x")]))

    ok("redact", "one", "--yes", "--force")

    assert is_masked(path.read_bytes())
    assert piece(last, "nothing") in path.read_bytes()
    assert ok("redact", "one", "--yes", "--force").out == "one: nothing to mask\n"


@pytest.mark.parametrize("pieces", PIECES.values(), ids=PIECES)
def test_so_they_are_in_a_log_of_which_lines_are_damaged_or_missing(
    root: Path, pieces: list[str]
) -> None:
    lines = [header(), said(2, "hello"), b'{"seq":3,"n":3', said(4, "so")]
    lines += [piece(seq, text) for seq, text in enumerate(pieces, 9)]
    path = write(root, "one", "main", join([*lines, said(20, "x")]))

    ok("redact", "one", "--yes", "--force", "--damaged", "as-text")

    assert is_masked(path.read_bytes())


def test_one_record_that_stands_twice_is_masked_twice(root: Path) -> None:
    lines = [header(), piece(1, "password="), piece(2, "zulu and"), said(3, "x")]
    path = write(root, "one", "main", join([*lines, *lines[1:3]]))

    ok("redact", "one", "--yes", "--force", "--damaged", "as-text")

    assert path.read_bytes().count(b"[REDACTED:password:") == 2
    assert b"zulu" not in path.read_bytes()


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("pieces", PIECES.values(), ids=PIECES)
def test_pieces_in_a_file_of_a_session_are_masked_and_the_rest_of_it_stays(
    root: Path, pieces: list[str], *, is_packed: bool
) -> None:
    write(root, "one", "main", join([header(), said(1, "hello")]))
    place = root / "one" / "files" / "plugins" / "x" / "all.jsonl"
    place.parent.mkdir(parents=True)
    filled = [dumps({"n": n, "text": "nothing"}) for n in range(3)]
    lines = [*filled, b"", *(dumps(FORMS["codex"](text)) for text in pieces), *filled]
    place.write_bytes(packed(join(lines)) if is_packed else join(lines))

    scanned = run("scan", "one", "--json")
    ok("redact", "one", "--yes", "--force")
    data = _plain(place)

    assert scanned.objects[-1]["findings"] == 1
    assert is_masked(data)
    assert data.startswith(join([*filled, b""]))
    assert data.endswith(join(filled))


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_literal_that_stands_in_two_pieces_is_masked(root: Path, *, is_packed: bool) -> None:
    write(root, "one", "main", join([header(), said(1, "hello")]))
    place = root / "one" / "files" / "plugins" / "x" / "all.jsonl"
    place.parent.mkdir(parents=True)
    lines = join([dumps(FORMS["codex"](text)) for text in ("my quiet", " word is")])
    place.write_bytes(packed(lines) if is_packed else lines)

    ok("redact", "one", "--yes", "--force", "--no-rules", "--literals", "-", stdin=b"quiet word\n")

    data = _plain(place)
    assert b"quiet" not in data
    assert b"word" not in data
    assert data.count(b"[REDACTED:") == 1


def _plain(path: Path) -> bytes:
    from agentmem_cli.operations.imports.packed import Unpacked, is_packed

    data = path.read_bytes()
    return b"".join(Unpacked([data])) if is_packed(data) else data
