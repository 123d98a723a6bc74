"""Times: the one place that reads the clock, and how times are written and read.

A time inside the program is an int, milliseconds since 1970 in UTC. On a screen
it carries its zone; in JSON it is UTC with a ``Z``. A *zone* of None is the
machine's own (which follows TZ), with its summer time as it was at that time.
"""

from __future__ import annotations

import re
import time
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from agentmem_cli.errors import UsageError

if TYPE_CHECKING:
    from datetime import tzinfo

SECOND_MS: Final = 1000
MINUTE_MS: Final = 60 * SECOND_MS
HOUR_MS: Final = 60 * MINUTE_MS
DAY_MS: Final = 24 * HOUR_MS

# Milliseconds that datetime can hold: the years 2 to 9998, so that no zone
# carries a time out of the years 1 to 9999.
_FIRST_MS: Final = -62_104_060_800_000
_LAST_MS: Final = 253_370_764_799_999

_UNITS_MS: Final = {
    "s": SECOND_MS,
    "m": MINUTE_MS,
    "min": MINUTE_MS,
    "h": HOUR_MS,
    "d": DAY_MS,
    "w": 7 * DAY_MS,
}
_UNTIL_DAYS_MS: Final = 60 * DAY_MS
_UNTIL_MONTHS_MS: Final = 730 * DAY_MS
_EPOCH_SECONDS_MAX: Final = 11
"""Digits of a time in whole seconds; one in milliseconds has more."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

_HINT: Final = "Times look like 2026-05-05, 2026-05-05T10:00, 2026-05-05T10:00Z, 2h, 3d, yesterday."


def now_ms() -> int:
    """Read the clock: milliseconds since 1970 in UTC."""
    return time.time_ns() // 1_000_000


def utc_time(t_ms: int) -> str:
    """Write *t_ms* for a program: ``2026-05-05T08:00:03.120Z``.

    Outside the years 2 to 9998 it is ``@`` and the milliseconds, so that no
    number in a log keeps its session from being shown.
    """
    if not _FIRST_MS <= t_ms <= _LAST_MS:
        return f"@{t_ms}"
    # Why by hand: a listing writes 20,000 of these, and many of the same days.
    days, rest = divmod(t_ms, DAY_MS)
    minutes, milliseconds = divmod(rest, MINUTE_MS)
    seconds = f"{milliseconds // SECOND_MS:02d}.{milliseconds % SECOND_MS:03d}"
    return f"{_utc_day(days)}T{minutes // 60:02d}:{minutes % 60:02d}:{seconds}Z"


@lru_cache(maxsize=1_000)
def _utc_day(days: int) -> str:
    return (_EPOCH + timedelta(days)).isoformat()[:10]


def screen_time(t_ms: int, zone: tzinfo | None) -> str:
    """Write *t_ms* for a person, with its offset: ``2026-05-05 10:00:03 +02:00``.

    Args:
        t_ms: Milliseconds since 1970 in UTC.
        zone: The zone to write it in; None is the machine's.

    Returns:
        26 characters; ``UTC`` padded takes the place of the offset zero. Or
        ``@`` and the milliseconds outside the years 2 to 9998.
    """
    if not _FIRST_MS <= t_ms <= _LAST_MS:
        return f"@{t_ms}"
    told = _datetime(t_ms // SECOND_MS, zone).isoformat(sep=" ")
    offset = told[19:]
    return f"{told[:19]} {'UTC   ' if offset == '+00:00' else offset}"


def screen_day(t_ms: int, zone: tzinfo | None) -> str:
    """Write the day of *t_ms* in *zone*: ``2026-05-05``."""
    if not _FIRST_MS <= t_ms <= _LAST_MS:
        return f"@{t_ms}"
    return _datetime(t_ms // SECOND_MS, zone).isoformat()[:10]


def age(t_ms: int, now_ms: int) -> str:
    """Say how long before *now_ms* it was: ``just now``, ``3 h ago``, ``in 2 d``.

    Counted in whole units of elapsed time, never in calendar days: what was
    23 hours ago is ``23 h ago`` on either side of midnight.
    """
    passed = now_ms - t_ms
    size = abs(passed)
    if size < MINUTE_MS:
        return "just now"
    if size < HOUR_MS:
        told = f"{size // MINUTE_MS} min"
    elif size < 2 * DAY_MS:
        told = f"{size // HOUR_MS} h"
    elif size < _UNTIL_DAYS_MS:
        told = f"{size // DAY_MS} d"
    elif size < _UNTIL_MONTHS_MS:
        told = f"{size // (30 * DAY_MS)} months"
    else:
        told = f"{size // (365 * DAY_MS)} years"
    return f"in {told}" if passed < 0 else f"{told} ago"


def parse_time(text: str, *, now_ms: int, zone: tzinfo | None, end: bool = False) -> int:
    """Read a point in time.

    Args:
        text: ISO 8601 with or without a zone; a day; a length of time before
            now (``2h``, ``3d``, ``90min``, ``1w``); ``now``, ``today``, ``yesterday``;
            seconds or milliseconds since 1970 after an ``@``.
        now_ms: The current time, milliseconds since 1970 in UTC.
        zone: The zone of what states none; None is the machine's.
        end: A day means its end (the next day's first instant), not its
            beginning. It makes ``--until 2026-03-02`` take in that day.

    Returns:
        Milliseconds since 1970 in UTC.

    Raises:
        UsageError: The text is no time.
    """
    words = text.strip().lower()
    if words == "now":
        return now_ms
    if re.fullmatch(r"@-?[0-9]{1,18}", words):
        number = int(words[1:])
        return number if len(words.strip("@-")) > _EPOCH_SECONDS_MAX else number * SECOND_MS
    try:
        length_ms = _length_ms(words)
        if length_ms is not None:
            return now_ms - length_ms
        day = _day(words, now_ms, zone)
        if day is not None:
            return _ms(
                datetime.combine(day + timedelta(days=1 if end else 0), datetime.min.time()), zone
            )
        return _ms(datetime.fromisoformat(text.strip()), zone)
    except (ValueError, OverflowError, OSError):
        message = f"{text!r} is no time"
        raise UsageError(message, hint=_HINT) from None


def parse_length(text: str) -> int:
    """Read a length of time (``90s``, ``2h``, ``3d``, ``1w``) as milliseconds.

    Raises:
        UsageError: The text is no length of time.
    """
    length_ms = _length_ms(text.strip().lower())
    if length_ms is None:
        message = f"{text!r} is no length of time"
        raise UsageError(message, hint="Lengths of time look like 30s, 90min, 2h, 3d or 1w.")
    return length_ms


def _datetime(seconds: int, zone: tzinfo | None) -> datetime:
    # Why: not fromtimestamp, which asks the C library and gives up on some years.
    moment = _EPOCH + timedelta(seconds=seconds)
    try:
        return moment.astimezone(zone)
    except (OverflowError, OSError, ValueError):
        return moment


def _length_ms(words: str) -> int | None:
    match = re.fullmatch(r"([0-9]{1,9}) ?(s|min|m|h|d|w)(?: ago)?", words)
    if match is None:
        return None
    return int(match[1]) * _UNITS_MS[match[2]]


def _day(words: str, now_ms: int, zone: tzinfo | None) -> date | None:
    """Read *words* as a day of the calendar in *zone*, or return None."""
    if words in ("today", "yesterday"):
        today = _datetime(now_ms // SECOND_MS, zone).date()
        return today - timedelta(days=1 if words == "yesterday" else 0)
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", words):
        return date.fromisoformat(words)
    return None


def _ms(moment: datetime, zone: tzinfo | None) -> int:
    if moment.tzinfo is None:
        # Without a zone of its own: astimezone takes it as the machine's time.
        moment = moment.replace(tzinfo=zone) if zone is not None else moment.astimezone()
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
