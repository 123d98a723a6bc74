"""Which lines are decoded exactly for a number that the fast decoder would round."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from agentmem_cli.operations.imports.foreign import _has_long_number

PIECES = st.lists(
    st.one_of(
        st.integers(1, 40).map(lambda count: b"7" * count),
        st.sampled_from([b".", b"-", b"e", b",", b" ", b'"', b"\xc3\xa9", b"0"]),
    ),
    max_size=12,
).map(b"".join)


@given(PIECES)
@example(b"1" * 18)
@example(b"1" * 19)
@example(b"0." + b"1" * 19)
@example(b"0." + b"1" * 30 + b"," + b"1" * 19)
@example(b"1" * 19 + b".0")
def test_a_run_of_nineteen_digits_counts_unless_it_is_a_fraction(piece: bytes) -> None:
    wanted = re.search(rb"(?<![0-9.])[0-9]{19}", piece) is not None

    assert _has_long_number(piece) == wanted
