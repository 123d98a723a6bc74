"""Markdown as HTML: what a model meant is seen, what it wrote is there, and nothing runs."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentmem_cli.cli.page import look_of
from agentmem_cli.cli.settings import Settings
from agentmem_cli.operations.html_markdown import CHARACTERS_MAX, markdown
from agentmem_cli.operations.html_words import BLOCK_CHARACTERS, blocks, is_link
from tests.pages import Page, fragment

LOOK = look_of(Settings(utc=True))


def _made(text: str) -> Page:
    return fragment("".join(markdown(LOOK, text)))


def _tags(text: str) -> list[str]:
    return [tag for tag, _ in _made(text).elements]


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("one\n\ntwo", "p p"),
        ("one\ntwo", "p br"),
        ("# head\n\n**bold** *soft* ~~old~~ `code`", "h3 p strong em s code"),
        ("- a\n- b", "ul li span li span"),
        ("> said", "blockquote p"),
        ("```py\nx\n```", "div pre"),
        ("    indented", "pre"),
        ("---", "hr"),
        ("|a|b|\n|-|-:|\n|1|2|", "div table thead tr th th tbody tr td td"),
    ],
)
def test_forms_become_elements(text: str, tags: str) -> None:
    assert _tags(text) == tags.split()


def test_numbers_of_a_list_are_those_that_were_written() -> None:
    page = _made("3. a\n7. b\n\n1) c")

    assert [found["value"] for found in page.of("li")] == ["3", "7", "1"]


def test_links_lead_to_the_web_and_to_mail_only() -> None:
    page = _made(
        "[a](https://example.com/?a=1&b=2) <mailto:a@example.com> [b](HTTP://example.com 'title')\n"
        "[c](javascript:run()) [d](data:text/html,x) [e](src/main.py) [f](//example.com)"
        " [g](file:/x) [h](vbscript:x) ![i](https://example.com/i.png) "
        "[![j](https://a.example)](https://b.example) [k](https://c.example/\"onclick='1')"
    )

    assert [found["href"] for found in page.of("a")] == [
        "https://example.com/?a=1&b=2",
        "mailto:a@example.com",
        "HTTP://example.com",
        "https://example.com/i.png",
        "https://b.example",
        "https://c.example/\"onclick='1'",
    ]
    assert "(javascript:run())" in page.text
    assert "(src/main.py)" in page.text
    assert '("title")' in page.text


@pytest.mark.parametrize(
    "address",
    [
        "javascript:x",
        " https://example.com",
        "\x01https://example.com",
        "jav\nascript:x",
        "data:image/png;base64,x",
        "blob:https://example.com",
        "ftp://example.com",
        "https:example.com",
        "",
    ],
)
def test_other_addresses_are_no_links(address: str) -> None:
    assert not is_link(address)


HIDING = [
    "|a|b|\n|-|-|\n|1|2|three|",
    "[//]: # (hidden)\n\n[ref]: https://example.com 'title'",
    ">" * 40 + " deep",
    "".join("  " * depth + f"- level{depth}\n" for depth in range(40)),
    "<!-- comment --> <b>bold</b> &amp; &#65; &copy;",
    "[a](x&#106;y)",
]


@pytest.mark.parametrize("text", HIDING)
def test_nothing_that_was_written_is_hidden(text: str) -> None:
    page = _made(text)

    assert re.findall(r"\w+", page.text) == re.findall(r"\w+", text)


def test_definitions_and_entities_are_text_and_keep_no_form_from_being_seen() -> None:
    text = "# head &amp; &lt;b&gt;\n\n[ref]: https://example.com 'title'"

    page = _made(text)

    assert [tag for tag, _ in page.elements] == ["h3", "p"]
    assert "head &amp; &lt;b&gt;" in page.text
    assert "[ref]: https://example.com" in page.text


def test_a_line_end_at_the_beginning_of_a_block_stays() -> None:
    # The first one after the tag is not part of the block.
    assert list(LOOK.plain("\na")) == ['<pre dir="auto">\n\na</pre>\n']


def test_a_table_that_fills_itself_up_is_shown_as_it_stands() -> None:
    text = "|" + "x|" * 200 + "\n|" + "-|" * 200 + "\n" + "|a\n" * 200

    assert _tags(text) == ["pre"]


def test_a_text_without_end_is_shown_as_it_stands() -> None:
    text = "*a* " * (CHARACTERS_MAX // 4 + 1)

    page = _made(text)

    assert {tag for tag, _ in page.elements} == {"pre"}
    assert len(page.elements) == -(-len(text) // BLOCK_CHARACTERS)


def test_what_is_invisible_is_shown_also_where_it_is_written_as_a_number() -> None:
    page = _made("a\u202eb `\x1b[1m` &#x202e; [x](https://example.com/\u202e '&#x202e;')")

    assert "<U+202E>" in page.text
    assert "\u241b[1m" in page.text
    assert "\u202e" not in page.text
    assert all("\u202e" not in str(found["href"]) for found in page.of("a"))


_PIECES = st.sampled_from(
    [
        *"*_`~[]()<>#|>-+=!&;:\\\"' \n\t",
        "\n\n",
        "    ",
        "```",
        "1. ",
        "|-|",
        "](",
        "![",
        "<script>",
        "</pre>",
        "javascript:",
        "https://a.example/",
        "&#106;",
        "&lt;",
        "onerror=",
        "\u202e",
        "\x00",
        "\r",
        "word",
        "ü",
    ]
)


@given(text=st.lists(_PIECES, max_size=60).map("".join) | st.text(max_size=80))
@example(text="[![a](b)](c)")
@example(text="*[a*](b)")
def test_whatever_was_written_stands_there_in_elements_of_ours(text: str) -> None:
    page = _made(text)

    written = re.sub(r"[\W_]+", "", LOOK.visible(text.replace("\r\n", "\n")))
    shown = re.sub(r"[\W_]+", "", page.text)
    links = "".join(str(found.get("href", "")) for found in page.of("a"))
    numbers = "".join(str(found.get("value", "")) for found in page.of("li"))
    assert len(shown) <= len(written) + len("image") * text.count("![")
    assert len(written) <= len(re.sub(r"[\W_]+", "", page.text + links + numbers))


@given(text=st.lists(_PIECES, max_size=20).map("".join), times=st.integers(1, 3_000))
def test_long_texts_are_cut_where_lines_end_and_lose_nothing(text: str, times: int) -> None:
    whole = (text * times)[: 4 * BLOCK_CHARACTERS]

    found = list(blocks(whole))

    assert all(len(each) <= BLOCK_CHARACTERS for each in found)
    assert "".join(found).replace("\n", "") == whole.replace("\n", "")
    assert sum(map(len, found)) + len(found) - 1 >= len(whole)
