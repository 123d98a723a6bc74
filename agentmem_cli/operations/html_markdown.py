"""What a model wrote, as HTML: headings, lists, tables, code.

The parser makes tokens; the elements are ours alone, a fixed set of them. HTML in
the text is text. Where the form would lose a letter of what was written (cells that
no column is for, quotes deeper than are followed), the text is shown as it stands.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from agentmem_cli.operations.html_words import is_link, link

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

    from agentmem_cli.operations.html_words import Look

CHARACTERS_MAX: Final = 1 << 17
"""Characters of a text whose form is looked at; a longer one is shown as it stands."""

_NESTED_MAX: Final = 20
_PLAIN_HINT: Final = re.compile(r"[`*_~\[\]<>#|\\+=]|^[ \t]|^ {0,3}(?:-|\d{1,9}[.)])", re.MULTILINE)
_LETTERS: Final = re.compile(r"[\W_]+")

_BLOCKS: Final = {
    "paragraph": "p",
    "blockquote": "blockquote",
    "bullet_list": "ul",
    "ordered_list": "ol",
    "thead": "thead",
    "tbody": "tbody",
    "tr": "tr",
    "em": "em",
    "strong": "strong",
    "s": "s",
}
"""Tokens that open and close an element without more ado."""

_HEADINGS: Final = {"h1": "h3", "h2": "h4", "h3": "h5", "h4": "h6", "h5": "h6", "h6": "h6"}
"""A message's headings stand below the page's own."""

_ALIGNED: Final = {"text-align:right": ' class="right"', "text-align:center": ' class="middle"'}


def markdown(look: Look, text: str) -> Iterator[str]:
    """Yield *text* as HTML by its form as Markdown, or as it stands where that loses some of it."""
    if len(text) <= CHARACTERS_MAX:
        source = look.visible(text.replace("\r\n", "\n"))
        if not _PLAIN_HINT.search(source):
            # Why apart: most texts are a sentence or two, and the parser takes its time.
            yield from _paragraphs(look, source)
            return
        made = _Page(look)
        tokens = _parser().parse(source)
        # Why a bound: rows of a wide table are filled up with cells that nobody wrote.
        if len(tokens) <= len(source) + 20:
            made.write(tokens)
            if made.letters() == _letters(source):
                yield "".join(made.pieces)
                return
    yield from look.plain(text)


def _paragraphs(look: Look, source: str) -> Iterator[str]:
    for each in re.split(r"\n(?:[ \t]*\n)+", source.strip("\n")):
        if each.strip():
            yield f'<p dir="auto">{_broken(look, each.strip())}</p>\n'


def _broken(look: Look, text: str) -> str:
    return look.text(text).replace("\n", "<br>\n")


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _NESTED_MAX})
    parser.enable(["table", "strikethrough"])
    # Why: both take text away that somebody wrote, and show none or another.
    parser.disable(["reference", "entity"])
    # Why: what an address may be is judged where it is written.
    parser.validateLink = _any  # type: ignore[assignment, method-assign]
    parser.normalizeLink = _same  # type: ignore[assignment, method-assign]
    return parser


def _any(_address: str) -> bool:
    return True


def _same(address: str) -> str:
    return address


def _letters(text: str) -> int:
    return len(_LETTERS.sub("", text))


class _Page:
    """Pieces of HTML, and the letters of the text that they show."""

    def __init__(self, look: Look) -> None:
        self.pieces: list[str] = []
        self._look = look
        self._told: list[str] = []
        self._links: list[tuple[str, str]] = []

    def letters(self) -> int:
        """How many letters and digits were shown."""
        return _letters("".join(self._told))

    def write(self, tokens: Sequence[Token]) -> None:
        """Write *tokens*, whatever is in them."""
        for token in tokens:
            if token.children is not None and token.type == "inline":
                self.write(token.children)
                continue
            name, _, side = token.type.rpartition("_")
            if name in _BLOCKS:
                hidden = token.hidden and name == "paragraph"
                self._side("span" if hidden else _BLOCKS[name], side, name)
            elif side in ("open", "close") and hasattr(self, f"_{name}_{side}"):
                getattr(self, f"_{name}_{side}")(token)
            else:
                self._leaf(token)

    def _side(self, tag: str, side: str, name: str) -> None:
        own = ' dir="auto"' if name == "paragraph" else ""
        end = "\n" if side == "close" and name not in ("em", "strong", "s") else ""
        self.pieces.append(f"<{tag}{own}>" if side == "open" else f"</{tag}>{end}")

    def _heading_open(self, token: Token) -> None:
        self.pieces.append(f'<{_HEADINGS[token.tag]} dir="auto">')

    def _heading_close(self, token: Token) -> None:
        self.pieces.append(f"</{_HEADINGS[token.tag]}>\n")

    def _table_open(self, _token: Token) -> None:
        self.pieces.append('<div class="wide"><table>\n')

    def _table_close(self, _token: Token) -> None:
        self.pieces.append("</table></div>\n")

    def _list_item_open(self, token: Token) -> None:
        number = token.info if token.info.isdigit() else ""
        self._told.append(number)
        self.pieces.append(f'<li value="{int(number)}">' if number else "<li>")

    def _list_item_close(self, _token: Token) -> None:
        self.pieces.append("</li>\n")

    def _th_open(self, token: Token) -> None:
        self._cell(token)

    def _td_open(self, token: Token) -> None:
        self._cell(token)

    def _cell(self, token: Token) -> None:
        self.pieces.append(f"<{token.tag}{_ALIGNED.get(str(token.attrs.get('style')), '')}>")

    def _th_close(self, _token: Token) -> None:
        self.pieces.append("</th>")

    def _td_close(self, _token: Token) -> None:
        self.pieces.append("</td>")

    def _link_open(self, token: Token) -> None:
        address = str(token.attrs.get("href") or "")
        title = str(token.attrs.get("title") or "")
        is_auto = token.info == "auto"
        if not is_auto:
            self._told.append(address)
        beside = []
        if address and not (is_auto or is_link(address)):
            beside.append(address)
        if title:
            self._told.append(title)
            beside.append(f'"{title}"')
        if is_link(address):
            self.pieces.append(link(self._look.one_line(address), "").removesuffix("</a>"))
        told = f' <span class="address">({self._look.line(" ".join(beside))})</span>'
        self._links.append(("</a>" if is_link(address) else "", told if beside else ""))

    def _link_close(self, _token: Token) -> None:
        end, told = self._links.pop()
        self.pieces.append(end + told)

    def _leaf(self, token: Token) -> None:
        """Write what has no end of its own; of what is not known its text."""
        look = self._look
        if token.type in ("softbreak", "hardbreak"):
            self.pieces.append("<br>\n")
            self._told.append("\n")
        elif token.type == "hr":
            self.pieces.append("<hr>\n")
        elif token.type in ("fence", "code_block"):
            self._code(token)
        elif token.type == "code_inline":
            self._told.append(token.content)
            self.pieces.append(f"<code>{look.text(token.content)}</code>")
        elif token.type == "image":
            self._image(token)
        else:
            self._told.append(token.content)
            self.pieces.append(look.text(token.content))

    def _code(self, token: Token) -> None:
        info = token.info.strip()
        self._told += [info, token.content]
        if info:
            self.pieces.append(f'<div class="info">{self._look.line(info)}</div>')
        self.pieces.extend(self._look.plain(token.content.removesuffix("\n")))

    def _image(self, token: Token) -> None:
        """Write of an image what it is called and where it is: nothing is loaded."""
        address = str(token.attrs.get("src") or "")
        title = str(token.attrs.get("title") or "")
        words = [token.content, f"({address})", f'"{title}"' if title else ""]
        self._told += [token.content, address, title]
        told = self._look.line(" ".join(word for word in words if word))
        shown = f'<span class="address">[image] {told}</span>'
        # Why: a link in a link ends the outer one.
        fit = is_link(address) and not self._links
        self.pieces.append(link(self._look.one_line(address), shown) if fit else shown)
