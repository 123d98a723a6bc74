from __future__ import annotations

from base64 import urlsafe_b64encode

import pytest

from agentmem_cli.operations.secrets.engine import Detector
from agentmem_cli.session.codec import JSON, dumps
from tests.secrets_made import made
from tests.unit.secrets.test_secrets_commands import sure


@pytest.fixture(scope="session")
def detector(tmp_path_factory: pytest.TempPathFactory) -> Detector:
    return Detector(cache_dir=tmp_path_factory.getbasetemp().parent / "agentmem-rules")


def part(value: JSON) -> str:
    """Return *value* as a token has it."""
    return urlsafe_b64encode(dumps(value)).rstrip(b"=").decode()


PLACES = ("jwt {}", "Authorization: Bearer {}", '"token": "{}"', "token={}", "see {}, it is", "{}")
HEADERS: list[JSON] = [
    {"alg": "HS256", "typ": "JWT"},
    {"typ": "JWT", "alg": "RS256"},
    {"alg": "ES256", "kid": "2026-key-1", "typ": "JWT"},
    {"alg": "none"},
]
SAMPLE: dict[str, JSON] = {"sub": "1234567890", "name": "John Doe", "iat": 1516239022}


@pytest.mark.parametrize("header", HEADERS)
def test_a_header_alone_is_none(detector: Detector, header: JSON) -> None:
    texts = [place.format(part(header)) for place in PLACES]

    assert [sure(detector, text) for text in texts] == [[]] * len(PLACES)


@pytest.mark.parametrize("more", [{}, {"admin": True}])
def test_the_token_of_manuals_is_none(detector: Detector, more: dict[str, JSON]) -> None:
    value = ".".join((part(HEADERS[0]), part({**SAMPLE, **more}), made(3, 43)))
    texts = [place.format(value) for place in PLACES]

    assert [sure(detector, text) for text in texts] == [[]] * len(PLACES)


@pytest.mark.parametrize(
    "payload",
    [{**SAMPLE, "sub": "1234567891"}, {**SAMPLE, "scope": "all"}, {"sub": "8812", "name": "Kim"}],
)
def test_a_token_of_somebodys_is_found_whole(detector: Detector, payload: JSON) -> None:
    value = ".".join((part(HEADERS[0]), part(payload), made(3, 43)))
    texts = [place.format(value) for place in PLACES]

    assert [sure(detector, text) for text in texts] == [[value]] * len(PLACES)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("aws_secret_access_key", "aws-secret-access-key"),
        ("SecretAccessKey", "aws-secret-access-key"),
        ("SECRET_KEY", "aws-secret-access-key"),
        ("CLOUDFLARE_API_TOKEN", "cloudflare-token"),
        ("cloudflare_api_token", "cloudflare-token"),
        ("ACME_API_TOKEN", "secret"),
        ("STRIPE_SECRET_KEY", "secret"),
    ],
)
def test_a_value_is_named_by_whose_name_stands_before_it(
    detector: Detector, name: str, kind: str
) -> None:
    spans = detector.scan(f"{name}={made(11, 38)}q7".encode())

    assert [span.kind for span in spans] == [kind]
