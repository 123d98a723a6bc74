"""Forms that are told apart by what stands beside them: found, or nobody's secret."""

from __future__ import annotations

import base64

import pytest

from agentmem_cli.operations.secrets import escaped
from agentmem_cli.operations.secrets.engine import Detector
from agentmem_cli.operations.secrets.given import read_literals, read_patterns
from tests.secrets_made import looking, made, token
from tests.unit.secrets.test_secrets_commands import sure
from tests.unit.secrets.test_secrets_single import redacted

HEX = "0123456789abcdef"


@pytest.fixture(scope="session")
def detector(tmp_path_factory: pytest.TempPathFactory) -> Detector:
    return Detector(cache_dir=tmp_path_factory.getbasetemp().parent / "agentmem-rules")


DRAWN = made(11, 28)
DIGEST = made(12, 32, HEX)
BASIC = base64.b64encode(f"ann:{made(13, 10)}".encode()).decode()

FOUND = {
    "digest": (
        f'Authorization: Digest username="ann", realm="x", response="{DIGEST}"',
        DIGEST,
    ),
    "oauth": (f'Authorization: OAuth oauth_token="{DRAWN}"', DRAWN),
    "basic": (f"Authorization: Basic {BASIC}", BASIC),
    "user of an address": (f"git clone https://{DRAWN}@h.invalid/x.git", DRAWN),
    "password of an address": (f"postgres://ann:{made(14, 12)}@db.invalid/x", made(14, 12)),
    "an address with another @": (f"ftp://ann:{made(15, 9)}@h.invalid/x", made(15, 9)),
    "quoted user and password": (f"curl -u 'ann:{made(16, 10)}' https://h.invalid", made(16, 10)),
    "a cookie": (f"Cookie: theme=dark; sessionid={DIGEST}; _ga=GA1.2.3", DIGEST),
    "a parameter": (f"https://h.invalid/x?access_token={DRAWN}&page=2", DRAWN),
    "a key behind a space": (f"api_key {made(17, 32)}\n", made(17, 32)),
}


@pytest.mark.parametrize("name", FOUND)
def test_it_is_found(detector: Detector, name: str) -> None:
    text, value = FOUND[name]

    assert sure(detector, text) == [value]


NOTHING = {
    "a port": "postgres://ann:5432@db.invalid/x",
    "a user that is its password": "amqp://guest:guest@localhost/",
    "a placeholder": "https://ann:{password}@h.invalid/x",
    "a scheme's own words": "Authorization: Bearer token",
    "a variable": "Authorization: Bearer $TOKEN",
    "a call": "Authorization: Basic {encode(user)}",
    "a path": "Authorization: /etc/keys/deploy",
    "small words": "Authorization: Custom tides-of-the-sea",
    "a cookie of a shop": "Cookie: theme=dark; _ga=GA1.2.1234567890.1234567890",
    "a file of openssl": "openssl enc -aes-256-cbc -pass file:/run/key.txt",
    "a page": "https://h.invalid/x?token=next&page=2",
    "a sentence": "the password is required for this",
    "a cut token": "the token is abcdefgh1234..",
    "a uuid": "session_id = 0c1a0de0-0000-4000-8000-000000000001",
    "anonymous": "machine h.invalid login anonymous password ann@h.invalid",
}


@pytest.mark.parametrize("name", NOTHING)
def test_it_is_nobodys(detector: Detector, name: str) -> None:
    assert sure(detector, NOTHING[name]) == []


def test_a_long_text_with_escapes_is_looked_at_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(escaped, "TEXT_BYTES", 64)
    lines = [f"n%3D{number}%26a%3D%22{token(number)}%22" for number in range(6)]
    data = "\n".join(lines).encode()

    views = [*escaped.unescaped(data)]

    assert len(views) > 1
    for number in range(6):
        (view,) = [each for each in views if token(number).encode() in each.data]
        at = view.data.index(token(number).encode())
        place = view.place(at, at + 28)
        assert place is not None
        assert data[place[0] : place[1]] == token(number).encode()


def test_a_pattern_over_a_mask_masks_what_stands_on_both_sides_of_it() -> None:
    mask = "[REDACTED:password:12345678]"
    given = read_patterns("begin-.*-end\n", "-")

    run = redacted(f"x begin-one{mask}two-long-end y\n".encode(), looking(given))

    assert run.new.startswith(b"x [REDACTED:pattern:")
    assert run.new.count(mask.encode()) == 1
    assert run.new.endswith(b" y\n")
    assert b"two-long" not in run.new


def test_of_two_that_overlap_the_wider_gives_the_mask() -> None:
    given = read_literals(f"use {token()[:7]}\n", "-")

    run = redacted(f"please use {token()} now\n".encode(), looking(given))

    assert run.new.startswith(b"please [REDACTED:vendor-token:")
    assert run.new.endswith(b"] now\n")
    assert run.new.count(b"[REDACTED:") == 1
