from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentmem_cli.errors import UsageError
from agentmem_cli.operations.needles import Probes, needle_of, probes_for, required_text


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("plain words", "plain words"),
        (r"error \d+ in file", " in file"),
        (r"ab+cde", "bcde"),
        (r"abc?de", "ab"),
        (r"abx*de", "ab"),
        (r"abx{2}def", "def"),
        (r"a(bcdef)gh", "gh"),
        (r"[abc]def", "def"),
        (r"[]abc]def", "def"),
        (r"[^]abc]def", "def"),
        (r"a\.py", "a.py"),
        (r"foo\bbarbar", "barbar"),
        (r"^start$", "start"),
        (r"one|two", ""),
        (r"(one|two) three", " three"),
        (r"(?i)words", ""),
        (r"(?x)a b", ""),
        (r"(?P<name>x)words", "words"),
        (r"(?=no)words", "words"),
        (r"\x41bc", "bc"),
        (r"\u0041bc", "bc"),
        (r"\N{LATIN SMALL LETTER A}bc", "bc"),
        (r"(a\)b)cd", "cd"),
        (r"([)])cd", "cd"),
        (r"(a)\1cd", "cd"),
        (r"ab{cd", "cd"),
        (r"ab++cd", "bcd"),
        (r"ab+?cd", "bcd"),
        (".*", ""),
    ],
)
def test_the_text_that_an_expression_needs(expression: str, text: str) -> None:
    re.compile(expression)

    assert required_text(expression) == text


_ATOMS = st.sampled_from(
    ["a", "b", "c", ".", r"\d", "[ab]", "[^c]", "(ab)", "(a|b)", r"\.", r"\b", "(?:bc)", "(?=a)"]
)
_TIMES = st.sampled_from(["", "", "", "?", "*", "+", "{2}", "{0,1}", "+?", "*?"])
_EXPRESSIONS = st.lists(st.tuples(_ATOMS, _TIMES).map("".join), min_size=1, max_size=6)


@given(
    parts=st.lists(_EXPRESSIONS.map("".join), min_size=1, max_size=2),
    texts=st.lists(st.text("abc.1", max_size=12), max_size=20),
)
@example(parts=["ab+c"], texts=["abbc"])
def test_what_matches_holds_the_text_that_is_needed(parts: list[str], texts: list[str]) -> None:
    try:
        pattern = re.compile("|".join(parts))
    except re.error:
        return
    needed = required_text(pattern.pattern)

    assert all(needed in text for text in texts if pattern.search(text))


def test_no_other_letters_match_those_of_a_window_whatever_the_case() -> None:
    letters = [chr(code) for code in range(0x20, 0x7F) if chr(code).lower() not in "ksi"]
    others = "".join(map(chr, [*range(0x80, 0xD800), *range(0xE000, 0x20000)]))

    found = {one for one in letters if re.search(re.escape(one), others, re.IGNORECASE)}

    assert found == set()


def _hits(probes: Probes, data: bytes) -> list[int]:
    return probes.places(memoryview(data))


@pytest.mark.parametrize("text", ["Rosebud", "日本", "né", "a/b", 'say "x"', "two\nlines", "😀x"])
def test_probes_find_a_text_however_it_is_spelt(text: str) -> None:
    probes = probes_for(text, ignore_case=False)
    assert probes is not None
    numbered = "".join(
        f"\\u{int.from_bytes(unit, 'big'):04X}"
        for one in text
        for half in [one.encode("utf-16-be")]
        for unit in (half[:2], half[2:])
        if unit
    )
    mixed = text[:1] + numbered[6:] if ord(text[0]) < 0x10000 else numbered

    assert _hits(probes, text.encode())
    assert _hits(probes, numbered.encode())
    assert _hits(probes, numbered.lower().encode())
    assert _hits(probes, mixed.encode())
    assert _hits(probes, b"nothing of the kind") == []


def test_only_slashes_are_looked_for_as_such_and_other_signs_everywhere() -> None:
    slashes = probes_for("//", ignore_case=False)

    assert slashes is not None
    assert _hits(slashes, rb"a\/b") == [2]
    assert _hits(slashes, rb"a\u002Fb") == [1]
    assert _hits(slashes, rb"a\\u002fb") == [2]
    assert probes_for('"', ignore_case=False) is None
    assert probes_for("\n", ignore_case=True) is None


@pytest.mark.parametrize("spelt", ["PARTLY", "partly", "pArTlY", r"p\u0041rtly", r"\u0050ARTLY"])
def test_probes_of_any_case(spelt: str) -> None:
    probes = probes_for("Partly", ignore_case=True)

    assert probes is not None
    assert _hits(probes, spelt.encode())


def test_letters_that_other_letters_match_are_no_probe() -> None:
    assert probes_for("kiss", ignore_case=True) is None
    assert needle_of("kiss", fixed=True, ignore_case=True).is_in("\u212aISS")


@pytest.mark.parametrize(
    ("words", "text", "lines"),
    [
        ("b", "a\nb\nabc\n", [1, 2]),
        ("^b", "a\nb\nabc", [1]),
        ("a$", "a\nba\nabc", [0, 1]),
        ("a\nb", "x\na\nb\nx", [1, 2]),
        (r"a\s+b", "a b\na\n\nb\na b", [0, 1, 2, 3, 4]),
        ("^$", "a\n\nb", [1]),
        ("x*", "a\nb", [0, 1]),
        ("a\n", "a\na\nb", [0, 1]),
        ("b.", "ab\nbc", [1]),
    ],
)
def test_lines_that_match(words: str, text: str, lines: list[int]) -> None:
    needle = needle_of(words, fixed=False, ignore_case=False)

    assert needle.lines(text) == lines
    assert needle.matching(text) == [text.split("\n")[at] for at in lines]
    assert needle.is_in(text)


@pytest.mark.parametrize("fold", [True, False])
def test_a_plain_text_is_no_expression(fold: bool) -> None:
    needle = needle_of("a.b", fixed=True, ignore_case=fold)

    assert needle.lines("axb\na.b") == [1]
    assert needle.spans("a.b a.b") == [(0, 3), (4, 7)]


@pytest.mark.parametrize("words", ["", "(", "a" * 3 + "\udcff", "x{99999999999}"])
def test_patterns_that_are_none(words: str) -> None:
    with pytest.raises(UsageError):
        needle_of(words, fixed=False, ignore_case=False)
