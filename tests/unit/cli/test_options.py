from __future__ import annotations

import pytest

from agentmem_cli.cli import clock, options
from agentmem_cli.cli.settings import Settings
from agentmem_cli.errors import UsageError

NOW_MS = 1_772_407_800_000


def _settings() -> Settings:
    settings = Settings(utc=True, environ={})
    settings.now_ms = NOW_MS
    return settings


def test_no_words_filter_nothing() -> None:
    assert options.filters(_settings()) == options.Filters()


def test_each_filter_is_read() -> None:
    found = options.filters(
        _settings(),
        since="2026-02-01",
        until="2026-03-01",
        model="GPT",
        label=["team=blue", "kept"],
        title="^fix",
        larger="10MB",
    )

    assert found.since_ms == clock.parse_time("2026-02-01T00:00Z", now_ms=0, zone=None)
    assert found.until_ms == clock.parse_time("2026-03-02T00:00Z", now_ms=0, zone=None)
    assert found.model == "gpt"
    assert found.labels == (("team", "blue"), ("kept", None))
    assert found.title is not None
    assert found.title.search("FIX it")
    assert found.larger_bytes == 10_000_000


def test_the_earlier_of_until_and_older_counts() -> None:
    old = options.filters(_settings(), until="now", older="30d")
    early = options.filters(_settings(), until="2020-01-01", older="30d")

    assert old.until_ms == NOW_MS - 30 * clock.DAY_MS
    assert early.until_ms == clock.parse_time("2020-01-02T00:00Z", now_ms=0, zone=None)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("since", "soon"),
        ("until", "2026-99-99"),
        ("older", "2026-01-01"),
        ("label", "=x"),
        ("title", "("),
        ("larger", "big"),
        ("larger", "10 elephants"),
        ("larger", "-1"),
    ],
)
def test_a_filter_that_cannot_be_read_is_a_usage_error(name: str, words: str) -> None:
    given = {name: [words] if name == "label" else words}

    with pytest.raises(UsageError, match=r"is no|regular expression"):
        options.filters(_settings(), **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "size_bytes"),
    [
        ("0", 0),
        ("300", 300),
        ("20kB", 20_000),
        ("20 KiB", 20_480),
        ("1.5GiB", 3 << 29),
        ("2t", 2 * 10**12),
    ],
)
def test_a_size_is_read(words: str, size_bytes: int) -> None:
    assert options.parse_size(words) == size_bytes


def test_a_labels_value_may_hold_an_equals_sign() -> None:
    assert options.parse_label("url=a=b") == ("url", "a=b")
    assert options.parse_label("key=") == ("key", "")
