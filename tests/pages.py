"""Pages of HTML taken apart: what stands on one, and that nothing else does.

`parsed` asserts on the way that every element is one that a page may have, with
attributes that it may have, closed in order; that every address is harmless; and that
the two scripts and the style sheet are ours, by the digests in the policy.
"""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from typing import Final

from agentmem_cli.cli.page import SCRIPT, STYLE

_ELEMENTS: Final = """
html head title style body header main section article h1 h2 h3 h4 h5 h6 a b code pre span div
dl dt dd time details summary figure figcaption p ul ol li table thead tbody tr th td
blockquote em strong s script button output
"""
_ATTRIBUTES: Final = """
alt aria-label aria-live autocomplete charset class content datetime decoding dir disabled
enterkeyhint hidden href http-equiv id lang name open placeholder rel role src type value
"""
VOID: Final = frozenset({"br", "hr", "img", "input", "link", "meta"})
ELEMENTS: Final = VOID | frozenset(_ELEMENTS.split())
ATTRIBUTES: Final = frozenset(_ATTRIBUTES.split())
CLASSES: Final = re.compile(r"[a-z ]+")
INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069]"
)


class Page(HTMLParser):
    """A page that was parsed."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        """Each text with the element that it stands in."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ELEMENTS, tag
        assert len(dict(attrs)) == len(attrs), attrs
        for name, value in attrs:
            assert name in ATTRIBUTES, (tag, name)
            if name == "class":
                assert CLASSES.fullmatch(value or ""), value
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, tag
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def handle_pi(self, data: str) -> None:
        raise AssertionError(data)

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(data)

    @property
    def text(self) -> str:
        """All that a person may read, folded or not."""
        return "".join(text for tag, text in self.texts if tag not in ("style", "script"))

    def of(self, tag: str, **attributes: str) -> list[dict[str, str | None]]:
        """The attributes of each element *tag* that has these."""
        wanted = attributes.items()
        return [found for name, found in self.elements if name == tag and wanted <= found.items()]

    def said(self, tag: str) -> list[str]:
        """The texts directly in elements *tag*."""
        return [text for name, text in self.texts if name == tag]

    @property
    def ids(self) -> list[str]:
        return [found["id"] or "" for found in self.of("article")]


def parsed(data: bytes | str) -> Page:
    """Parse a page, and see that nothing stands on it but what may."""
    text = data.decode() if isinstance(data, bytes) else data
    assert INVISIBLE.search(text) is None
    page = fragment(text)
    assert text.startswith("<!DOCTYPE html>\n")
    _check_policy(page)
    return page


def fragment(text: str) -> Page:
    """Parse a part of a page, and see that nothing stands in it but what may."""
    page = Page()
    page.feed(text)
    page.close()
    assert page.open == []
    for tag, found in page.elements:
        for name in ("href", "src"):
            if name in found:
                _check_address(tag, found[name] or "", found)
    return page


def _check_address(tag: str, address: str, found: dict[str, str | None]) -> None:
    if tag == "a" and address.startswith("#"):
        assert re.fullmatch(r"#m\d+", address), address
    elif tag == "a":
        assert re.match("(?i)(https?://|mailto:)", address), address
        assert "noopener" in (found.get("rel") or "").split()
    elif tag == "img":
        assert re.fullmatch(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+=*", address)
    else:
        assert (tag, address) == ("link", "data:,")


def _check_policy(page: Page) -> None:
    policies = [found["content"] or "" for found in page.of("meta") if "http-equiv" in found]
    (policy,) = (each for each in policies if "default-src" in each)
    rules = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    names = [tag for tag, _ in page.elements]
    assert names.index("meta") < names.index("style")
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["img-src"] == "data:"
    assert rules["style-src"].split() == [_digest(STYLE.read_text("utf-8"))]
    assert page.said("style") == [STYLE.read_text("utf-8")]
    assert page.said("script")[-1] == SCRIPT.read_text("utf-8")
    assert set(page.said("script")) <= {SCRIPT.read_text("utf-8"), "/* rest */"}
    assert {_digest(each) for each in page.said("script")} <= set(rules["script-src"].split())
    assert "unsafe" not in policy


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
