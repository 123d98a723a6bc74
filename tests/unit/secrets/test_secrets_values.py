from __future__ import annotations

import time

import pytest

from agentmem_cli.operations.secrets import kinds, pem, plausible
from agentmem_cli.operations.secrets.encoded import decoded
from agentmem_cli.operations.secrets.extents import value_at
from agentmem_cli.operations.secrets.pii import GROUPS, finders
from agentmem_cli.operations.secrets.spans import Span, merged
from agentmem_cli.operations.secrets.words import entropy, is_shaped, is_wordy
from tests.secrets_made import LETTERS, made


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("k=abc def", "abc"),
        ('k="abc def" x', "abc def"),
        ("k='a\"b' x", 'a"b'),
        (r'k="a\"b" x', r"a\"b"),
        (r"\"k\": \"abc\", \"l\"", "abc"),
        ("k=abc, l=def", "abc"),
        ("k=a,b", "a,b"),
        ("k=abc;l=def", "abc"),
        ("k=a&b", "a&b"),
        ("k=abc&l=def", "abc"),
        ("f(k=abc)", "abc"),
        ("k=a(b)c", "a(b)c"),
        ("k=abc.", "abc"),
        ("k=abc* x", "abc*"),
        ('k="abc\nl', "abc"),
        (r"k=abc\nl=def", "abc"),
    ],
)
def test_a_value_ends_where_its_place_says(text: str, value: str) -> None:
    data = text.encode()
    start = data.index(value.encode())

    place = value_at(data, start)

    assert data[place.start : place.end].decode() == value


def test_words_and_names_are_told_from_what_a_machine_drew() -> None:
    names = ["user_profile_settings", "accessTokenHandler2", "my-service-account", "readonly"]
    drawn = [made(seed, 24) for seed in range(200)]

    assert [each for each in names if not is_wordy(each)] == []
    assert [each for each in drawn if is_wordy(each)] == []


@pytest.mark.parametrize(
    ("value", "kind", "searched"),
    [
        ("postgres", "password", False),
        ("my_app_database", "password", False),
        ("short1", "password", False),
        ("Harbour!tiger7", "password", True),
        (made(1, 16), "secret", True),
        ("aaaaaaaa1", "password", False),
        ("AKIA" + "Z" * 16, "aws-access-key-id", True),
    ],
)
def test_only_a_telling_value_is_searched_for_everywhere(
    value: str, kind: str, searched: bool
) -> None:
    assert is_shaped(value, kind) is searched


def test_entropy_is_bits_a_character() -> None:
    assert entropy("aaaa") == 0
    assert entropy("abcd") == 2


@pytest.mark.parametrize(
    ("judge", "values"),
    [
        (plausible.is_reference, ["$X", "${X:-y}", "%X%", "{{ x }}", "%(x)s", "<token>", "@X@"]),
        (plausible.is_code, ["os.environ['X']", "get(x)", "a.b.c", "self.token", "a::b"]),
        (plausible.is_example, ["changeme", "your-key", "xxxxxxxx", "REDACTED", "dummy-1"]),
        (plausible.is_named, ["toolu_abc", "sha256-abc", "arn:aws:x", "1.2.3", "a@b.org", "x.pem"]),
        (plausible.is_path, ["/etc/secret/key", "~/.ssh/id", "./a/b", "C:\\keys\\a"]),
    ],
)
def test_what_is_no_secret_is_known(judge: object, values: list[str]) -> None:
    assert callable(judge)

    assert [each for each in values if not judge(each)] == []


@pytest.mark.parametrize(
    "judge",
    [
        plausible.is_reference,
        plausible.is_code,
        plausible.is_example,
        plausible.is_named,
        plausible.is_path,
        is_wordy,
    ],
)
def test_what_a_machine_drew_is_none_of_it(judge: object) -> None:
    assert callable(judge)
    drawn = [made(seed, 32) for seed in range(300)]

    assert [each for each in drawn if judge(each)] == []


@pytest.mark.parametrize("text", ["a", "A_", "_a1", "/a", "{{", "${", "a.", "a(", "x" * 7 + " "])
def test_no_judgement_takes_long_over_a_long_value(text: str) -> None:
    value = text * 5_000 + "!"
    started = time.process_time()

    plausible.is_nothing(value)
    plausible.is_code(value)

    # Not a measurement: what backtracks needs hours.
    assert time.process_time() - started < 20


def test_a_long_run_of_base64_before_the_end_of_a_key_is_read_once() -> None:
    data = b"A" * 60_000 + b" x\n-----END PRIVATE KEY-----"

    assert pem.cut_key(data, data.index(b"-----END")) is None


def test_base64_is_decoded_padded_or_not_and_in_both_alphabets() -> None:
    assert decoded(b"YWI_Pz8=") == b"ab???"
    assert decoded(b"YWI/Pz8") == b"ab???"
    assert decoded(b"not base64!") is None


def test_overlapping_spans_become_one_with_the_surest_name() -> None:
    spans = merged(
        [
            Span(10, 20, "b", "medium", "r.b"),
            Span(5, 12, "a", "high", "r.a"),
            Span(20, 25, "c", "medium", "r.c"),
        ]
    )

    assert spans == [Span(5, 20, "a", "high", "r.a"), Span(20, 25, "c", "medium", "r.c")]


def test_a_weak_span_never_widens_a_sure_one() -> None:
    sure, weak = Span(5, 10, "a", "high", "r.a"), Span(8, 30, "b", "low", "r.b")
    free = Span(40, 50, "c", "low", "r.c")

    assert merged([weak, sure, free]) == [sure, free]


def test_a_rule_of_the_catalogue_that_helps_others_is_known_by_its_name() -> None:
    assert kinds.is_helper("betterleaks.algolia-application-id")
    assert kinds.is_helper("betterleaks.auth0-client-id.1")
    assert not kinds.is_helper("betterleaks.aws-secret-access-key")


def test_kinds_keep_their_names_whatever_rule_finds_them() -> None:
    assert kinds.kind_of("betterleaks.github-pat") == "github-token"
    assert kinds.kind_of("agentmem.github-token") == "github-token"
    assert kinds.kind_of("agentmem.secret.2") == "secret"
    assert kinds.kind_of("veles.secrets/npmjsaccesstoken") == "npm-token"


def found(group: str, text: str) -> list[str]:
    (find,) = finders(frozenset({group}))
    data = text.encode()
    return [data[each.start : each.end].decode() for each in find(data)]


@pytest.mark.parametrize(
    ("group", "text", "values"),
    [
        ("email", "mail ann.lee@corp.io, and a@b", ["ann.lee@corp.io"]),
        ("email", "git@github.com:a/b icon@2x.png pkg@1.2.3 a@example.com", []),
        ("home", "/home/annlee/x /Users/annlee", ["annlee", "annlee"]),
        ("home", r"C:\\Users\\annlee\\x /home/user/y", ["annlee"]),
        ("card", "4111 1111 1111 1234 4012-8888-8888-1881", ["4012-8888-8888-1881"]),
        ("card", "1234567890123456 0000000000000000", []),
        ("iban", "IBAN DE89 3704 0044 0532 0130 00.", ["DE89 3704 0044 0532 0130 00"]),
        ("iban", "DE88370400440532013000", []),
        ("ipv4", "from 203.0.113.7:80", ["203.0.113.7"]),
        ("ipv4", "127.0.0.1 0.0.0.0 255.255.255.0 1.2.3.4 10.1.2.3.4 999.1.1.1", []),
    ],
)
def test_private_data_is_known_by_its_form(group: str, text: str, values: list[str]) -> None:
    assert found(group, text) == values


def test_a_group_that_there_is_not_is_named() -> None:
    with pytest.raises(ValueError, match="postcode"):
        finders(frozenset({"postcode", "email"}))

    assert len(finders(GROUPS)) == 5
    assert made(1, 4, LETTERS)
