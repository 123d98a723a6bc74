"""Passwords as people make them, where nothing but their place tells what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem_cli.operations.secrets.engine import Detector
from agentmem_cli.operations.secrets.findings import Place
from agentmem_cli.operations.secrets.looking import Eye, Looking
from agentmem_cli.operations.secrets.masks import Masks
from agentmem_cli.operations.secrets.quick import text_of_json
from agentmem_cli.session.codec import dumps
from tests.secrets_made import KEY, looking, made
from tests.unit.secrets.test_secrets_commands import sure
from tests.unit.secrets.test_secrets_single import redacted

if TYPE_CHECKING:
    from agentmem_cli.operations.secrets.findings import Finding
    from agentmem_cli.session.codec import JSON

HEX = "0123456789abcdef"


@pytest.fixture(scope="session")
def detector(tmp_path_factory: pytest.TempPathFactory) -> Detector:
    return Detector(cache_dir=tmp_path_factory.getbasetemp().parent / "agentmem-rules")


def found(detector: Detector, value: JSON) -> list[Finding]:
    """Return what is surely found in a line, both by the quick way and string by string."""
    eye = Eye(Looking(detector, Masks(KEY)))
    raw = dumps(value)
    rows = [row for row in eye.look(raw, Place("f", 1)).rows if row.fate != "unsure"]
    assert bool(eye.touched([text_of_json(raw) or b""])) == bool(rows)
    return rows


def odd(seed: int) -> list[str]:
    """Return passwords with signs that end a value where nothing goes around it."""
    return [
        f"{made(seed, 5)}{sign}{made(seed + 1, 4)}{made(seed + 2, 2, '23456789')}"
        for sign in ("'", '"', "\\", "`", ",", ";", ")", "]", "}", ">", '"\\', " @ ")
    ]


@pytest.mark.parametrize("value", odd(3))
@pytest.mark.parametrize("key", ["password", "db_password", "passwd", "PGPASS", "userPassword"])
def test_a_password_that_is_all_of_a_string_is_found_whole(
    detector: Detector, key: str, value: str
) -> None:
    lines: list[JSON] = [
        {key: value},
        {"a": [{"b": {key: [value]}}]},
        {"env": [{"name": key, "value": value}]},
        {"args": [f"--{key}", value]},
        {"text": dumps({key: value}).decode()},
    ]

    assert [[row.value for row in found(detector, line)] for line in lines] == [[value]] * 5


@pytest.mark.parametrize(
    "form", ["DB_PASSWORD='{}'", "password: '{}'", 'see {{"password":"{}"}} there']
)
def test_a_password_with_signs_in_quotes_is_found_whole(detector: Detector, form: str) -> None:
    values = [f"{made(3, 1)}{sign}{made(4, 6)}73" for sign in ("`", ",", ";", ")", "!", "]")]
    texts = [form.format(value) for value in values]

    assert [sure(detector, text) for text in texts] == [[value] for value in values]


def test_a_password_with_an_escaped_quote_is_found_whole(detector: Detector) -> None:
    value = f'{made(3, 1)}\\"{made(4, 6)}73'

    assert sure(detector, f'out: {{"password":"{value}"}} there') == [value]


@pytest.mark.parametrize("key", ["password", "pwd", "userPasscode"])
def test_digits_that_are_a_password_are_found(detector: Detector, key: str) -> None:
    digits = made(5, 10, "23456789")

    assert [row.value for row in found(detector, {key: digits})] == [digits]


def test_a_number_that_is_a_password_is_told_and_stays(detector: Detector) -> None:
    raw = dumps({"a": {"password": 8812736455}, "n": 1.5})
    wanted = looking()._replace(detector=detector)

    run = redacted(raw, wanted)

    assert run.new == raw
    assert [(row.path, row.value, row.fate) for row in run.findings.left()] == [
        (("a", "password"), "8812736455", "structural")
    ]


NONE: list[JSON] = [
    {"password": "Enter your password, please"},
    {"password": "must be 8 to 64 characters, with a digit"},
    {"password": "Don't tell it"},
    {"password": "^(?=.*[A-Z])(?=.*\\d).{8,}$"},
    {"password": "\\d{4,8}"},
    {"password": "os.environ['DB_PASSWORD1']"},
    {"password": "get_secret('a1', 'b2')"},
    {"password": "${DB_PASSWORD:-'a1b2'}"},
    {"password": "123456"},
    {"password": 1234},
    {"password": True},
    {"pass": 1200345},
    {"max_password_length": 1234567},
    {"password_hint": "the dog's name, and 2 digits"},
    {"passwordId": 88127364},
    {"apiKeyId": "8f3b2c1d9e7a"},
    {"api_key": "123456789012"},
    {"api_key": "deadbeefcafe"},
    {"sha": "8f3b2c1d9e7a55aa", "key": "8f3b2c1d9e7a", "token": "8f3b2c1d9e7a"},
    {"commit": "api key 8f3b2c1d9e7a"},
]


@pytest.mark.parametrize("value", NONE)
def test_what_tells_of_passwords_is_none(detector: Detector, value: JSON) -> None:
    assert found(detector, value) == []


@pytest.mark.parametrize("size", [12, 14, 16, 18])
@pytest.mark.parametrize("name", ["api_key", "apiKey", "API_TOKEN", "client-secret-key"])
def test_a_short_key_in_hexadecimal_is_found_by_a_clear_name(
    detector: Detector, name: str, size: int
) -> None:
    value = made(size, size - 1, HEX) + "b7"[size % 2]

    assert [row.value for row in found(detector, {name: value})] == [value]
    assert sure(detector, f"{name} = '{value}'") == [value]


WORDS = ("пароль", "Пароль", "senha", "Kennwort", "wachtwoord", "parola", "hasło", "heslo",
         "jelszó", "lösenord", "salasana", "şifre", "密码", "口令", "パスワード", "비밀번호",
         "Passwort", "contraseña", "mot de passe")  # fmt: skip


@pytest.mark.parametrize("word", WORDS)
def test_a_password_is_found_by_its_name_in_other_languages(detector: Detector, word: str) -> None:
    value = f"{made(7, 6)}q73"
    texts = [f"{word}: {value}", f'{word} = "{value}"']

    assert [sure(detector, text) for text in texts] == [[value]] * 2


def test_words_of_other_languages_in_a_sentence_are_none(detector: Detector) -> None:
    text = "пароль: введите новый пароль; parola: nuova; senha: sua senha aqui; 密码: 请输入密码"

    assert sure(detector, text) == []


@pytest.mark.parametrize(
    "form",
    [
        "net use z: \\\\\\\\srv\\\\share /user:acme\\\\kim {}",
        "net use \\\\srv\\share /user:kim {} /persistent:no",
        "NET USE \\\\srv\\share {} /user:kim",
        "net user kim {} /add",
        "net user kim {}\nnet user",
        "C:\\\\> net user kim {}",
    ],
)
def test_a_password_of_windows_networks_is_found(detector: Detector, form: str) -> None:
    value = made(9, 11) + "7"

    assert sure(detector, form.format(value)) == [value]


def test_a_sentence_about_net_user_is_none(detector: Detector) -> None:
    assert sure(detector, "the net user growth was fine; net use was slow, see /user: none") == []
