from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem_cli.session.message import Message
from agentmem_cli.session.refusals import CalledTool, Empty, SummaryError, TooLong, Truncated
from agentmem_cli.session.summarizer import Summarizer, SummaryLimits, SummaryPrompts, snippet
from tests.talks import ask, call, reply, result, talks

SUMMARIZER = Summarizer()


def test_the_conversation_is_text_in_one_user_message() -> None:
    talk = [
        ask("build it"),
        call("a", path="x.py", text="I look."),
        result("a", "12 lines"),
        reply(),
    ]

    request = SUMMARIZER.request(talk)

    assert request.message.role == "user"
    assert request.system == SummaryPrompts().system
    assert request.max_tokens == 12_000
    for told in (
        "User: build it",
        "Agent: I look.",
        'Agent calls read: {"path":"x.py"}',
        "Result of read: 12 lines",
        "Agent: done",
        SummaryPrompts().initial,
        SummaryPrompts().format,
    ):
        assert told in request.text


def test_an_earlier_summary_is_given_and_is_to_be_brought_up_to_date() -> None:
    request = SUMMARIZER.request([ask("more")], "they built a hull", "the mast")

    assert "they built a hull" in request.text
    assert "the mast" in request.text
    assert SummaryPrompts().update in request.text
    assert SummaryPrompts().initial not in request.text


def test_an_output_is_cut_to_a_snippet_that_says_how_much_was_cut() -> None:
    summarizer = Summarizer(limits=SummaryLimits(snippet_chars=100))

    text = summarizer.request([call("a"), result("a", "x" * 1_000 + "END")]).text

    assert "[... 903 characters cut ...]" in text
    assert "END" in text
    assert "x" * 101 not in text


@pytest.mark.parametrize("most", [0, 1, 2, 10])
def test_a_snippet_keeps_as_many_characters_as_it_may(most: int) -> None:
    text = "".join(map(str, range(9)))

    cut = snippet(text, most)

    assert cut == text if most >= 9 else f"[... {9 - most} characters cut ...]" in cut


def test_where_there_is_no_room_the_first_and_the_newest_messages_stay() -> None:
    talk = [ask("THE GOAL"), *[reply(f"step {n} " + "x" * 300) for n in range(50)]]
    prompts = SummaryPrompts("", "", "", "", "", "")
    summarizer = Summarizer(prompts, SummaryLimits(unknown_window_chars=2_000))

    text = summarizer.request(talk).text

    assert len(text) < 2_100
    assert "THE GOAL" in text
    assert "step 49" in text
    assert "step 20 " not in text
    assert "messages between were left out" in text


@given(talks(), st.integers(0, 40_000), st.text(max_size=200))
def test_a_request_keeps_to_the_window(talk: list[Message], window: int, previous: str) -> None:
    limits = SummaryLimits(reserve=1_000, summary_tokens=2_000)
    summarizer = Summarizer(limits=limits)
    empty = summarizer.request([], previous, "", window)

    request = summarizer.request(talk, previous, "", window)

    room = max(window - limits.reserve, window // 2)
    assert request.max_tokens == max(1, min(2_000, room // 2))
    assert len(request.text) <= max(4 * (room - request.max_tokens), len(empty.text))


def test_what_asks_in_place_names_the_format_and_the_focus() -> None:
    text = SUMMARIZER.instruction("the mast")

    assert SummaryPrompts().in_place in text
    assert SummaryPrompts().format in text
    assert "the mast" in text


@pytest.mark.parametrize(
    "answer", ["  they built it\n", Message.assistant("they built it", stop="stop")]
)
def test_an_answer_is_its_text(answer: Message | str) -> None:
    assert SUMMARIZER.read_answer(answer) == "they built it"


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Message.assistant("x", stop="length"), Truncated),
        (Message.assistant("x", stop="max_tokens"), Truncated),
        (Message.assistant("x", stop={"kind": "maxTokens"}), Truncated),
        (call("a", text="I look first"), CalledTool),
        (Message.assistant(""), Empty),
        (Message.assistant([]), Empty),
        ("", Empty),
        (" \n\t", Empty),
        ("x" * 96_100, TooLong),
    ],
)
def test_an_answer_that_is_no_summary_is_refused(
    answer: Message | str, error: type[SummaryError]
) -> None:
    with pytest.raises(error):
        SUMMARIZER.read_answer(answer)


@pytest.mark.parametrize("name", ["goal", "constraints", "progress", "decisions", "next steps"])
def test_the_format_asks_for_what_goes_on_needs(name: str) -> None:
    assert f"## {name}" in SummaryPrompts().format.lower()


def test_the_format_asks_for_exact_words() -> None:
    for word in ("paths", "names", "commands", "reason", "Critical context"):
        assert word in SummaryPrompts().format
