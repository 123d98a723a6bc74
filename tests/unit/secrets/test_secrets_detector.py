from __future__ import annotations

import base64
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.errors import EngineMissing
from agentmem_cli.operations.secrets import engine
from agentmem_cli.operations.secrets.engine import Detector, Span
from agentmem_cli.session import codec
from tests.secrets_made import LETTERS, made, pem

if TYPE_CHECKING:
    from pathlib import Path

HEX = "0123456789abcdef"
URL_SAFE = LETTERS + "-_"
UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


@pytest.fixture(scope="session")
def rules_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of compiled rules that all tests and runs share."""
    return tmp_path_factory.getbasetemp().parent / "agentmem-rules"


@pytest.fixture(scope="session")
def detector(rules_folder: Path) -> Detector:
    return Detector(cache_dir=rules_folder)


def sure(detector: Detector, text: str) -> list[str]:
    """Return the texts of what is found in *text*, without what is weak."""
    data = text.encode()
    spans = [each for each in detector.scan(data) if each.confidence != "low"]
    return [data[each.start : each.end].decode() for each in spans]


def kinds(detector: Detector, text: str) -> list[str]:
    return [each.kind for each in detector.scan(text.encode()) if each.confidence != "low"]


def password(seed: int) -> str:
    """Return a password as people make them."""
    return f"Harbour{made(seed, 1, '!#-_')}tiger{made(seed, 3, '23456789')}"


TOKENS = {
    "aws-access-key-id": lambda n: "AKIA" + made(n, 16, UPPER),
    "github-token": lambda n: "ghp_" + made(n, 36),
    "gitlab-token": lambda n: "glpat-" + made(n, 19, URL_SAFE) + "7",
    "openai-key": lambda n: "sk-proj-" + made(n, 74, URL_SAFE),
    "anthropic-key": lambda n: "sk-ant-api03-" + made(n, 95, URL_SAFE),
    "openrouter-key": lambda n: "sk-or-v1-" + made(n, 64, HEX),
    "groq-key": lambda n: "gsk_" + made(n, 52),
    "huggingface-token": lambda n: "hf_" + made(n, 34),
    "slack-token": lambda n: (
        f"xoxb-{made(n, 12, '123456789')}-{made(n, 12, '123456789')}-" + made(n, 24)
    ),
    "stripe-key": lambda n: "rk_live_" + made(n, 24),
    "supabase-key": lambda n: "sb_secret_" + made(n, 30) + "4",
    "vault-token": lambda n: "hvs." + made(n, 90),
    "databricks-token": lambda n: "dapi" + made(n, 32, HEX),
    "digitalocean-token": lambda n: "dop_v1_" + made(n, 64, HEX),
    "npm-token": lambda n: "npm_" + made(n, 36),
    "telegram-token": lambda n: made(n, 10, "123456789") + ":AA" + made(n, 33),
    "google-oauth-secret": lambda n: "GOCSPX-" + made(n, 28),
    "shopify-token": lambda n: "shpat_" + made(n, 32, HEX),
    "sendgrid-key": lambda n: f"SG.{made(n, 22)}.{made(n, 43)}",
    "pypi-token": lambda n: "pypi-AgEIcHlwaS5vcmc" + made(n, 120, LETTERS),
    "tailscale-key": lambda n: f"tskey-auth-{made(n, 12)}-{made(n, 32)}",
    "age-key": lambda n: "AGE-SECRET-KEY-1" + made(n, 58, UPPER),
    "slack-webhook": lambda n: (
        f"https://hooks.slack.com/services/T{made(n, 9, UPPER)}/B{made(n, 9, UPPER)}/{made(n, 24)}"
    ),
}
PLACES = [
    "{}",
    "I set it to {} and it works.",
    "(see {}, please)",
    "'{}'",
    '\\"{}\\"',
    "\\n{}\\n",
    "a={}&b=1",
    "<b>{}</b>",
    "- {}.",
]


@pytest.mark.parametrize("kind", TOKENS)
def test_a_token_with_a_vendors_mark_is_found_whole_wherever_it_stands(
    detector: Detector, kind: str
) -> None:
    value = TOKENS[kind](3)

    found = {place: sure(detector, f"before {place.format(value)} after") for place in PLACES}

    assert {place: "".join(each) for place, each in found.items()} == dict.fromkeys(PLACES, value)


@pytest.mark.parametrize("kind", TOKENS)
def test_a_kind_is_named_by_what_is_found(detector: Detector, kind: str) -> None:
    found = kinds(detector, f"x {TOKENS[kind](5)} y")

    assert found == [kind]


ASSIGNED = [
    "{name}={value}",
    "export {name}='{value}'",
    'export {name}="{value}"',
    "{lower}: {value}",
    '  {lower}: "{value}"',
    '"{lower}": "{value}"',
    '\\"{lower}\\": \\"{value}\\"',
    "{name} = '{value}'  # live",
    'const {lower}: string = "{value}";',
    '{lower} := "{value}"',
    "'{lower}' => '{value}',",
    '$env:{name} = "{value}"',
    "ENV {name}={value}",
    "docker run -e {name}={value} image",
    "- name: {name}\n  value: {value}",
    '<add key="{name}" value="{value}"/>',
    "<{lower}>{value}</{lower}>",
    "os.environ['{name}'] = '{value}'",
    "--{option} {value} \\",
    "--{option}={value}",
]


@pytest.mark.parametrize("place", ASSIGNED)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SERVICE_API_KEY", made(1, 32, HEX)),
        ("CLIENT_SECRET", made(2, 40)),
        ("ACCESS_TOKEN", base64.b64encode(made(3, 33).encode()).decode()),
        ("DB_PASSWORD", password(4)),
        ("SMTP_PASS", made(5, 11) + "7#"),
    ],
)
def test_a_value_that_a_secrets_name_is_given_is_found_whole(
    detector: Detector, place: str, name: str, value: str
) -> None:
    lower = name.lower()
    text = place.format(name=name, lower=lower, option=lower.replace("_", "-"), value=value)

    found = sure(detector, f"one\n{text}\ntwo")

    assert found == [value]


@pytest.mark.parametrize(
    "place",
    [
        "postgres://app:{}@db.internal:5432/app",
        "redis://:{}@cache:6379/0",
        "curl -u deploy:{} https://repo.internal/",
        "curl --user 'ci:{}' -T a.tgz https://repo.internal",
        "mysql -u root -p{} app",
        "sshpass -p {} ssh root@host",
        "PGPASSWORD={} psql -h db",
        "docker login -u me -p {} registry.internal",
        "CREATE USER app IDENTIFIED BY '{}';",
        "ALTER USER app WITH PASSWORD '{}'",
        "machine host.internal login me password {}",
        "db.internal:5432:app:me:{}",
        "Server=h;User Id=sa;Password={};Encrypt=true",
        'ConvertTo-SecureString "{}" -AsPlainText -Force',
        "echo '{}' | sudo -S id",
        "the password is {} for the staging box",
        "Password for admin: {}",
    ],
)
def test_a_password_is_found_in_a_place_that_is_made_for_one(
    detector: Detector, place: str
) -> None:
    value = password(6)

    found = sure(detector, f"one\n{place.format(value)}\ntwo")

    assert found == [value]


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("Authorization: Bearer {}", "authorization"),
        ("authorization: Token {}", "authorization"),
        ("Authorization: SSWS {}", "authorization"),
        ('{{"Authorization": "Bearer {}"}}', "authorization"),
        ("X-Api-Key: {}", "secret"),
        ("Cookie: theme=dark; session={}; lang=en", "cookie"),
        ("Set-Cookie: sid={}; HttpOnly", "cookie"),
        ("https://b.internal/f?exp=1&X-Amz-Signature={}", "secret"),
        ("https://api.internal/v1?api_key={}&page=2", "secret"),
        ("//registry.internal/:_authToken={}", "npm-token"),
    ],
)
def test_a_secret_is_found_in_headers_and_queries(
    detector: Detector, place: str, kind: str
) -> None:
    value = made(7, 40, HEX)

    text = place.format(value)

    assert sure(detector, text) == [value]
    assert kinds(detector, text)[0] == kind


def test_basic_credentials_are_found_by_what_they_hold(detector: Detector) -> None:
    value = base64.b64encode(f"me:{made(8, 12)}".encode()).decode()

    found = sure(detector, f"> Authorization: Basic {value}\n")
    words = sure(detector, "> Authorization: Basic authentication\n")

    assert found == [value]
    assert words == []


@pytest.mark.parametrize("place", ["{}", "$ cat key\n{}\n$ ", 'key = """{}"""'])
def test_a_private_key_is_one_span_from_begin_to_end(detector: Detector, place: str) -> None:
    key = pem(9)

    found = sure(detector, place.format(key))

    assert found == [key]


def test_a_private_key_is_found_in_json_that_was_not_decoded(detector: Detector) -> None:
    key = codec.dumps(pem(10) + "\n").decode()

    found = sure(detector, f'"private_key": {key}, "client_email": "a@b"')

    assert found == [key.strip('"')]


def test_a_private_key_that_was_cut_is_found_to_where_it_was_cut(detector: Detector) -> None:
    lines = pem(11).split("\n")
    head, tail = "\n".join(lines[:3]), "\n".join(lines[4:])

    assert sure(detector, f"$ head -3 key\n{head}\n$ ls -l here\n") == [head]
    assert sure(detector, f"$ tail key\n{tail}\n$ ls") == [tail]


def test_a_certificate_and_a_public_key_are_no_secrets(detector: Detector) -> None:
    key = pem(12)

    for label in ("CERTIFICATE", "PUBLIC KEY"):
        assert sure(detector, key.replace("RSA PRIVATE KEY", label)) == []


def test_what_stands_in_base64_is_found_as_the_whole_of_the_base64_text(
    detector: Detector,
) -> None:
    inside = f"export CLIENT_SECRET={made(13, 40)}\nexport PATH=/usr/bin\n"
    once = base64.b64encode(inside.encode()).decode()
    plain = base64.b64encode(b"export CLIENT_SECRET=$(cat secret)\nexport PATH=/usr/bin").decode()

    assert sure(detector, f'"data": "{once}"') == [once]
    assert sure(detector, f'"data": "{plain}"') == []


def test_what_is_escaped_for_a_url_or_html_is_found_in_its_place(detector: Detector) -> None:
    value = made(17, 20) + "7"
    texts = [
        f"GET /go?to=https%3A%2F%2Fada%3A{value}%40db.internal%2Fx HTTP/1.1",
        f"body: password%3D{value}%26next%3D1",
        f"%7B%22api_key%22%3A%22{value}%22%7D",
        f"https%253A%252F%252Fada%253A{value}%2540db.internal",
        f"<pre>&quot;client_secret&quot;: &quot;{value}&quot;</pre>",
        "word " * 3000 + f"%22api_key%22%3A%22{value}%22" + " word" * 3000,
    ]

    assert [sure(detector, text) for text in texts] == [[value]] * len(texts)


def test_escapes_inside_a_value_are_part_of_it(detector: Detector) -> None:
    value = f"{made(18, 8)}%21{made(19, 8)}%23x"

    assert sure(detector, f"url=amqp%3A%2F%2Fada%3A{value}%40mq%3A5672") == [value]


def test_two_lines_with_escapes_never_make_one_value(detector: Detector) -> None:
    begin, end = (f"-----{word} RSA PRIVATE KEY-----" for word in ("BEGIN", "END"))
    text = f"a%3D1 {begin}\n" + "plain words\n" * 50 + f"b%3D2 {end}\n"

    found = detector.scan(text.encode())

    assert not any(
        each.start < text.index("plain") and each.end > text.rindex("plain") for each in found
    )


NOTHING = [
    "see /login%3Fnext%3D%2Fhome%26password%3D%24%7BPASSWORD%7D",
    "&quot;password&quot;: &quot;${DB_PASSWORD}&quot;",
    'password = os.environ["DB_PASSWORD"]',
    "const token = await getToken(userId);",
    "token: string | undefined;",
    "secret = config.get('secret_name')",
    "apiKey: process.env.API_KEY,",
    "def authenticate(user, password=None): ...",
    "def login(self, username: str, password: str) -> Token: ...",
    'password = getpass.getpass("Password: ")',
    "connect(user=user, password=password2, host=host)",
    'key = "user_profile_settings_v2"',
    "max_tokens: 4096, cache_creation_input_tokens: 12345",
    "SECRET_KEY=${SECRET_KEY}",
    "password: ${DB_PASSWORD}",
    "API_KEY={{ secrets.API_KEY }}",
    "DB_PASSWORD=changeme",
    'api_key = "your-api-key-here"',
    "password: <your password>",
    "OPENAI_API_KEY=sk-...",
    "GITHUB_TOKEN=ghp_" + "x" * 36,
    "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE",
    'errors.password = "Passwords do not match";',
    '{"password": {"type": "string", "minLength": 8}}',
    "PASSWORD_HASHERS = ['hashers.PBKDF2PasswordHasher']",
    "Bearer token authentication is required; the access token must be valid.",
    "the token is expired; the secret is rotated daily",
    "password is required",
    "PASS: test_login_with_token (0.4 s)",
    "postgres://user:${PASSWORD}@host/db",
    "https://user:password@host/",
    "tokens_used=123456789 key_id=42",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer <token>",
]
DRAWN = [
    "commit {hex40}",
    "sha256:{hex64}  app.tar.gz",
    '"integrity": "sha512-{b64}"',
    "![img](data:image/png;base64,{blob})",
    "request_id={uuid} trace={hex32}",
    'etag: W/"{hex32}"',
    "cursor={url} page=2",
    '"next_page_token": "{url}"',
    "pk_live_{an24} is the publishable key",
    '"id": "toolu_01{an24}", "call_id": "call_{an24}"',
    '"thinking": "read the key", "signature": "{blob}"',
    "encrypted_content\ngAAAA{blob}",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA{b64} me@host",
    "image: repo@sha256:{hex64} cache key {hex64}",
    '"public_key": "{b64}", "fingerprint": "{hex40}"',
    "{hex32}",
    "{uuid}",
    "{b64}",
]


@pytest.mark.parametrize("text", NOTHING)
def test_code_references_and_examples_are_left_alone(detector: Detector, text: str) -> None:
    found = sure(detector, f"one\n{text}\ntwo")

    assert found == []


@pytest.mark.parametrize("text", DRAWN)
def test_what_a_machine_has_drawn_is_no_secret_by_that_alone(detector: Detector, text: str) -> None:
    for seed in range(20):
        parts = {
            "hex32": made(seed, 32, HEX),
            "hex40": made(seed, 40, HEX),
            "hex64": made(seed, 64, HEX),
            "an24": made(seed, 24),
            "url": made(seed, 60, URL_SAFE),
            "b64": made(seed, 86, LETTERS + "+/") + "==",
            "blob": made(seed, 900, LETTERS + "+/"),
            "uuid": "-".join(made(seed + n, size, HEX) for n, size in enumerate((8, 4, 4, 4, 12))),
        }

        assert sure(detector, f"one\n{text.format(**parts)}\ntwo") == []


def test_a_mark_inside_a_longer_text_in_base64_is_chance(detector: Detector) -> None:
    blob = made(14, 300, URL_SAFE) + "-ghp_" + made(15, 36) + made(16, 300, URL_SAFE)

    assert sure(detector, f'"data": "{blob}"') == []


def test_a_word_that_prose_calls_a_password_is_weak(detector: Detector) -> None:
    spans = detector.scan(b"the password is tidewater7 there")

    assert [(each.kind, each.confidence) for each in spans] == [("password", "low")]


def test_more_matches_than_the_bound_are_counted(
    detector: Detector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "FINDINGS_MAX", 1_000)
    lines = 1_500
    data = "\n".join(f"password={made(n, 8)}1x" for n in range(lines)).encode()

    spans = detector.scan(data)

    assert 0 < spans.capped <= 500
    assert len(spans) <= 1_000


def test_offsets_are_bytes_and_spans_are_in_order(detector: Detector) -> None:
    first, second = password(17), made(18, 32, HEX)
    data = f"ünï password={first}\ngröße api_key={second}\n".encode()

    spans = detector.scan(data)

    assert [data[each.start : each.end].decode() for each in spans] == [first, second]
    assert isinstance(spans[0], Span)


def test_a_scan_opens_no_connection(rules_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a scan must not use the network")

    for name in ("socket", "create_connection", "getaddrinfo", "gethostbyname"):
        monkeypatch.setattr(socket, name, refuse)

    found = sure(Detector(cache_dir=rules_folder), f"x {TOKENS['github-token'](19)} y")

    assert len(found) == 1


def test_without_the_engine_its_absence_is_told_and_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [each for each in sys.modules if each.partition(".")[0] == "kingfisher_sdk"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "kingfisher_sdk", None)

    with pytest.raises(EngineMissing) as caught:
        Detector()

    assert caught.value.exit_code == 2
    assert "pip install" in (caught.value.hint or "")


@pytest.mark.e2e
def test_the_module_of_the_detector_loads_without_the_engine() -> None:
    program = (
        "import sys; import agentmem_cli.operations.secrets.engine; "
        "print('kingfisher_sdk' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)

    assert done.stdout.strip() == b"False"
