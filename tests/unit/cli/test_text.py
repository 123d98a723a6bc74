from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem_cli.cli import text

ANY_TEXT = st.text(st.characters(exclude_categories=()))
HOSTILE = "\x1b]0;owned\x07\x1b[2J\x1b[1A\rline2\u202egnp.exe"


def test_escapes_carriage_returns_and_overrides_are_shown() -> None:
    shown = text.visible(HOSTILE)

    assert shown == "␛]0;owned␇␛[2J␛[1A␍line2<U+202E>gnp.exe"


@pytest.mark.parametrize(
    ("character", "shown"),
    [
        ("\x00", "␀"),
        ("\x08", "␈"),
        ("\x7f", "␡"),
        ("\x9b", "<U+009B>"),
        ("\xad", "<U+00AD>"),
        ("\u061c", "<U+061C>"),
        ("\u200b", "<U+200B>"),
        ("\u2028", "<U+2028>"),
        ("\u2029", "<U+2029>"),
        ("\u2066", "<U+2066>"),
        ("\u2069", "<U+2069>"),
        ("\u3164", "<U+3164>"),
        ("\ufeff", "<U+FEFF>"),
        ("\ud800", "<U+D800>"),
        ("\udcff", "<U+DCFF>"),
        ("\U000e0041", "<U+E0041>"),
        ("\U000e0100", "<U+E0100>"),
    ],
)
def test_a_character_that_hides_or_drives_is_shown(character: str, shown: str) -> None:
    assert text.visible(f"a{character}b") == f"a{shown}b"


def test_newlines_and_tabs_stay_in_a_text_and_are_shown_on_a_line() -> None:
    source = "a\tb\nc"

    assert text.visible(source) == source
    assert text.one_line(source) == "a␉b␊c"


@pytest.mark.parametrize(
    "source",
    [
        "Grüße, 世界",
        "👩\u200d👩\u200d👧",
        "❤\ufe0f ok",
        "👋🏽",
        "🇩🇪",
        "\u0645\u06cc\u200c\u062e\u0648",
        "क\u094d\u200dष",
        "e\u0301",
    ],
)
def test_what_languages_and_emoji_need_stays(source: str) -> None:
    assert text.one_line(source) == source


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("a\u200db", "a<U+200D>b"),
        ("a\u200cb", "a<U+200C>b"),
        ("\u200d", "<U+200D>"),
        ("👩\u200d", "👩<U+200D>"),
        ("x\ufe0f\ufe0e\ufe0f", "x\ufe0f<U+FE0E><U+FE0F>"),
        (" \ufe0f", " <U+FE0F>"),
    ],
)
def test_joiners_and_selectors_out_of_place_are_shown(source: str, shown: str) -> None:
    assert text.one_line(source) == shown


@given(ANY_TEXT)
def test_no_text_drives_a_terminal(source: str) -> None:
    shown = text.one_line(source)

    may_stand = {"\u200c", "\u200d"}
    drawn = {"\u0600", "\u0601", "\u0602", "\u0603", "\u0604", "\u0605", "\u06dd"}
    drawn |= {"\u0890", "\u0891", "\u08e2", "\U000110bd", "\U000110cd"}
    bad = [
        character
        for character in shown
        if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        and character not in may_stand | drawn
    ]
    assert bad == []


@given(ANY_TEXT)
def test_making_safe_twice_is_making_safe_once(source: str) -> None:
    once = text.visible(source)

    assert text.visible(once) == once


@pytest.mark.parametrize(
    ("source", "columns"),
    [
        ("", 0),
        ("abc", 3),
        ("世界", 4),
        ("\uff46", 2),
        ("e\u0301", 1),
        ("👩\u200d👩\u200d👧", 2),
        ("👋🏽", 2),
        ("❤\ufe0f", 2),
        ("🇩🇪", 2),
        ("한", 2),
        ("\u1112\u1161\u11ab", 2),
        ("\U0001faff", 2),
    ],
)
def test_the_width_is_what_a_terminal_draws(source: str, columns: int) -> None:
    assert text.width(source) == columns


@pytest.mark.parametrize(
    ("source", "columns", "fitting"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 5, "abcd…"),
        ("abc def", 5, "abc…"),
        ("世界和平", 8, "世界和平"),
        ("世界和平", 7, "世界和…"),
        ("世界和平", 6, "世界…"),
        ("世", 1, "…"),
        ("abc", 0, ""),
        ("👩\u200d👩\u200d👧x!", 3, "👩\u200d👩\u200d👧…"),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
    ],
)
def test_a_cut_keeps_whole_characters(source: str, columns: int, fitting: str) -> None:
    assert text.cut(source, columns) == fitting


@given(ANY_TEXT.map(text.one_line), st.integers(0, 40))
def test_a_padded_text_takes_exactly_its_columns(source: str, columns: int) -> None:
    left = text.pad(source, columns)
    right = text.pad(source, columns, "right")

    assert text.width(left) == columns
    assert text.width(right) == columns


def test_a_text_is_padded_on_the_side_away_from_its_edge() -> None:
    assert text.pad("ab", 4) == "ab  "
    assert text.pad("ab", 4, "right") == "  ab"


def test_a_cell_is_one_safe_line_however_long_its_text() -> None:
    short = text.cell("a\nb", 10)
    long = text.cell("x\n" * 1_000_000, 5)
    stacked = text.cell("e" + "\u0301" * 1_000, 5)

    assert short == "a␊b"
    assert long == "x␊x␊…"
    assert stacked.endswith("…")
    assert text.width(stacked) <= 5


def test_every_suspect_is_shown_beside_plain_text_as_it_is_alone() -> None:
    pattern = text._suspects(keep="\t\n")
    suspects = [chr(code) for code in range(0x110000) if pattern.match(chr(code))]

    hidden = [one for one in suspects if text._is_plain(f"x\t{one}\nx")]
    hidden += [one for one in suspects if text._is_plain(f"\u65e5{one}")]

    assert len(suspects) > 4_000
    assert hidden == []
    assert text._is_plain("plain\n\tna\u00efve \u65e5\u672c \u2014 \U0001f600")


@pytest.mark.parametrize(
    ("words", "columns", "lines"),
    [
        ("left  one: a b", None, "left  one: a b"),
        ("left  one: a b", 14, "left  one: a b"),
        ("left  one: a b c", 14, "left  one: a b\n    c"),
        ("left  /a/very/long/path: why", 12, "left\n    /a/very/long/path:\n    why"),
        ("字字字 字字", 8, "字字字\n    字字"),
        ("  in here", 6, "  in\n    here"),
        ("", 4, ""),
    ],
)
def test_a_line_is_parted_between_words_and_no_word_is(
    words: str, columns: int | None, lines: str
) -> None:
    assert text.wrapped(words, columns) == lines
