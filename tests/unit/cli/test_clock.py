from __future__ import annotations

import time
from datetime import UTC, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem_cli.cli import clock
from agentmem_cli.errors import UsageError

# 2026-03-01T23:30:00Z
LATE_MS = 1_772_407_800_000
TOKYO = ZoneInfo("Asia/Tokyo")
LOS_ANGELES = ZoneInfo("America/Los_Angeles")
BERLIN = ZoneInfo("Europe/Berlin")


def test_a_time_for_a_program_is_utc_with_milliseconds() -> None:
    assert clock.utc_time(LATE_MS + 7) == "2026-03-01T23:30:00.007Z"
    assert clock.utc_time(-1) == "1969-12-31T23:59:59.999Z"


def test_a_time_on_a_screen_carries_its_zone() -> None:
    assert clock.screen_time(LATE_MS, TOKYO) == "2026-03-02 08:30:00 +09:00"
    assert clock.screen_time(LATE_MS, LOS_ANGELES) == "2026-03-01 15:30:00 -08:00"
    assert clock.screen_time(LATE_MS, UTC) == "2026-03-01 23:30:00 UTC   "
    assert clock.screen_day(LATE_MS, TOKYO) == "2026-03-02"


def test_summer_time_is_that_of_the_moment_shown() -> None:
    winter = clock.screen_time(LATE_MS, BERLIN)
    summer = clock.screen_time(LATE_MS + 120 * clock.DAY_MS, BERLIN)

    assert winter.endswith("+01:00")
    assert summer.endswith("+02:00")


def test_without_a_zone_the_machine_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()

    shown = clock.screen_time(LATE_MS, None)
    read = clock.parse_time("2026-03-02T08:30", now_ms=0, zone=None)

    assert shown == "2026-03-02 08:30:00 +09:00"
    assert read == LATE_MS


@given(st.integers(-(10**20), 10**20))
def test_every_number_can_be_shown(t_ms: int) -> None:
    shown = [
        clock.utc_time(t_ms),
        clock.screen_time(t_ms, None),
        clock.screen_time(t_ms, TOKYO),
        clock.screen_day(t_ms, LOS_ANGELES),
        clock.age(t_ms, LATE_MS),
    ]

    assert all(shown)


def test_a_number_that_is_no_calendar_time_is_shown_as_it_is() -> None:
    assert clock.utc_time(10**17) == "@100000000000000000"
    assert clock.screen_time(-(10**17), None) == "@-100000000000000000"
    assert clock.screen_day(10**17, UTC) == "@100000000000000000"


@given(st.integers(-62_000_000_000_000, 253_000_000_000_000))
def test_a_time_for_a_program_reads_back_as_itself(t_ms: int) -> None:
    read = clock.parse_time(clock.utc_time(t_ms), now_ms=0, zone=TOKYO)

    assert read == t_ms


@pytest.mark.parametrize(
    ("passed_ms", "told"),
    [
        (0, "just now"),
        (59_999, "just now"),
        (-30_000, "just now"),
        (clock.MINUTE_MS, "1 min ago"),
        (59 * clock.MINUTE_MS, "59 min ago"),
        (3 * clock.HOUR_MS, "3 h ago"),
        (23 * clock.HOUR_MS, "23 h ago"),
        (47 * clock.HOUR_MS, "47 h ago"),
        (2 * clock.DAY_MS, "2 d ago"),
        (59 * clock.DAY_MS, "59 d ago"),
        (90 * clock.DAY_MS, "3 months ago"),
        (800 * clock.DAY_MS, "2 years ago"),
        (-2 * clock.DAY_MS, "in 2 d"),
    ],
)
def test_an_age_counts_elapsed_time(passed_ms: int, told: str) -> None:
    assert clock.age(LATE_MS - passed_ms, LATE_MS) == told


@pytest.mark.parametrize(
    ("words", "t_ms"),
    [
        ("now", LATE_MS),
        ("2h", LATE_MS - 2 * clock.HOUR_MS),
        ("90min", LATE_MS - 90 * clock.MINUTE_MS),
        ("3d", LATE_MS - 3 * clock.DAY_MS),
        ("3 d ago", LATE_MS - 3 * clock.DAY_MS),
        ("1w", LATE_MS - 7 * clock.DAY_MS),
        ("2026-03-01T23:30:00Z", LATE_MS),
        ("2026-03-02T08:30:00+09:00", LATE_MS),
        ("2026-03-01 23:30:00.250Z", LATE_MS + 250),
        ("20260301T233000Z", LATE_MS),
        ("@1772407800", LATE_MS),
        ("@1772407800000", LATE_MS),
    ],
)
def test_a_time_that_needs_no_zone_is_read(words: str, t_ms: int) -> None:
    assert clock.parse_time(words, now_ms=LATE_MS, zone=TOKYO) == t_ms


def test_a_day_is_a_day_of_the_stated_zone() -> None:
    tokyo = clock.parse_time("2026-03-02", now_ms=0, zone=TOKYO)
    los_angeles = clock.parse_time("2026-03-02", now_ms=0, zone=LOS_ANGELES)

    assert clock.utc_time(tokyo) == "2026-03-01T15:00:00.000Z"
    assert clock.utc_time(los_angeles) == "2026-03-02T08:00:00.000Z"
    assert tokyo <= LATE_MS < los_angeles


def test_the_end_of_a_day_is_the_beginning_of_the_next() -> None:
    end = clock.parse_time("2026-03-01", now_ms=0, zone=UTC, end=True)
    moment = clock.parse_time("2026-03-01T10:00", now_ms=0, zone=UTC, end=True)

    assert clock.utc_time(end) == "2026-03-02T00:00:00.000Z"
    assert clock.utc_time(moment) == "2026-03-01T10:00:00.000Z"


def test_today_and_yesterday_are_days_of_the_stated_zone() -> None:
    today = clock.parse_time("today", now_ms=LATE_MS, zone=TOKYO)
    yesterday = clock.parse_time("Yesterday", now_ms=LATE_MS, zone=TOKYO)

    assert clock.screen_time(today, TOKYO) == "2026-03-02 00:00:00 +09:00"
    assert clock.screen_time(yesterday, TOKYO) == "2026-03-01 00:00:00 +09:00"


def test_a_day_of_summer_time_change_has_its_own_length() -> None:
    start = clock.parse_time("2026-03-29", now_ms=0, zone=BERLIN)
    end = clock.parse_time("2026-03-29", now_ms=0, zone=BERLIN, end=True)

    assert end - start == 23 * clock.HOUR_MS


@pytest.mark.parametrize(
    "words", ["", "soon", "2026-13-01", "2026-02-30", "99:99", "-3d", "3x", "@", "9999-12-31"]
)
def test_what_is_no_time_is_refused_with_examples(words: str) -> None:
    far_west = timezone(timedelta(hours=-12))

    with pytest.raises(UsageError, match="is no time") as caught:
        clock.parse_time(words, now_ms=LATE_MS, zone=far_west, end=True)

    assert caught.value.hint is not None


@given(st.text())
def test_any_words_are_a_time_or_a_usage_error(words: str) -> None:
    try:
        read = clock.parse_time(words, now_ms=LATE_MS, zone=None)
    except UsageError:
        read = 0

    assert isinstance(read, int)


def test_a_length_of_time_is_read_and_others_are_refused() -> None:
    length_ms = clock.parse_length("30d")

    with pytest.raises(UsageError, match="'month' is no length of time"):
        clock.parse_length("month")

    assert length_ms == 30 * clock.DAY_MS


def test_the_clock_counts_milliseconds() -> None:
    before_ms = time.time_ns() // 1_000_000

    assert before_ms <= clock.now_ms() <= before_ms + clock.MINUTE_MS
