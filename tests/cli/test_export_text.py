"""`export --as jsonl` and `markdown`: what `show` prints, whole, and safe to read elsewhere."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.session.codec import dumps
from tests.cli.running import header, join, message, ok, pushed, run, said, texts, turns, write

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import Object


def _text(text: str) -> Object:
    return {"type": "text", "text": text}


def _result(text: str, name: str = "ls") -> Object:
    part: Object = {"type": "toolresult", "call": "c", "name": name, "content": [_text(text)]}
    return {"role": "user", "content": [part]}


def _markdown(root: Path, *messages: Object) -> str:
    lines = [header(), *(pushed(seq, value) for seq, value in enumerate(messages, 1))]
    write(root, "one", "main", join(lines))
    return ok("export", "one", "--as", "markdown").out


def test_jsonl_is_what_show_prints_as_json(root: Path) -> None:
    write(root, "one", "main", join(turns(30)))
    write(root, "one", "aide", join([header("aide", n=50, parent="main"), said(1, "x", n=51)]))

    for words in ((), ("--agent", "aide"), ("--as-of", "m3")):
        exported = ok("export", "one", "--as", "jsonl", *words).stdout

        assert exported == ok("show", "one", "--json", *words).stdout


def test_the_messages_of_jsonl_go_into_another_session_as_they_are(
    root: Path, tmp_path: Path
) -> None:
    call: Object = {"type": "toolcall", "id": "c", "function": {"name": "ls", "arguments": {}}}
    reply: Object = {"role": "assistant", "content": [call]}
    values: list[Object] = [message("user", "a\u202eb \ud83d"), reply]
    lines = [pushed(seq, value) for seq, value in enumerate([*values, _result("x")], 1)]
    write(root, "one", "main", join([header(), *lines]))
    ok("export", "one", "--as", "jsonl", "-o", tmp_path / "one.jsonl")
    exported = [json.loads(line) for line in (tmp_path / "one.jsonl").read_text().splitlines()]
    messages = b"".join(dumps(each["message"]) + b"\n" for each in exported[1:])

    ok("new", "two")
    ok("append", "two", stdin=messages)

    shown = [each["message"] for each in ok("show", "two", "--json").objects[1:]]
    assert shown == [each["message"] for each in exported[1:]]


@pytest.mark.parametrize("form", ["jsonl", "markdown"])
def test_a_file_is_told_with_its_messages_and_written_over_by_force_only(
    root: Path, tmp_path: Path, form: str
) -> None:
    write(root, "one", "main", join(turns(3)))
    words = ("export", "one", "--as", form, "-o", tmp_path / "out", "--json")

    told = ok(*words).object
    again = run(*words)

    data = (tmp_path / "out").read_bytes()
    assert (told["as"], told["messages"], told["bytes"]) == (form, 3, len(data))
    assert data == ok("export", "one", "--as", form).stdout
    assert again.status == 4
    assert (tmp_path / "out").stat().st_mode & 0o77 == 0


def test_markdown_begins_with_a_title_and_what_it_is_of(root: Path) -> None:
    out = _markdown(root, message("user", "Hi"), message("assistant", "Ho"))

    assert out.startswith(
        "# one\n\nsession `one`, agent `main`, 2 messages, "
        "2026-01-01 00:00:01 UTC to 2026-01-01 00:00:02 UTC\n\n## 0 user - "
    )


def test_a_long_result_is_folded_and_a_short_one_is_not(root: Path) -> None:
    long = "\n".join(map(str, range(40)))

    out = _markdown(root, _result("short"), _result(long, "a<b"))

    told = "<details><summary><b>Result</b> <code>a&lt;b</code>, 40 lines</summary>\n\n```\n0\n"
    assert told in out
    assert "39\n```\n\n</details>\n" in out
    assert "**Result** `ls`\n\n```\nshort\n```\n" in out


@pytest.mark.parametrize(
    "text",
    [
        "<!-- never ended",
        "<script>x",
        "a <details> b",
        "<pre>",
        "`` ` <b> ` ``` <style>",
        "a ` b\nc ` <textarea> ` d `",
        "\\\\<title>",
        "\\`<b>`",
        "<?x",
        "<![CDATA[",
        "</details>",
    ],
)
def test_no_tag_of_a_text_is_one_on_the_page(root: Path, text: str) -> None:
    out = _markdown(root, message("user", text), message("user", "after"))

    body = out.partition("UTC\n\n")[2].partition("## 1 user")[0].partition("UTC\n\n")[2]
    spans = re.sub(r"(?<!\\)(`+)(?!`)[^\n]*?[^`]\1(?!`)", "", body)
    assert not re.search(r"(?<!\\)(?:\\\\)*<[A-Za-z/!?]", spans), body


def test_code_stays_as_it_is_written(root: Path) -> None:
    text = "Use `a<b>` and:\n\n```html\n<p># no heading\n# neither\n```\n\nx < y, 1<2"

    assert text in _markdown(root, message("user", text))


def test_no_text_can_look_like_the_beginning_of_a_message(root: Path) -> None:
    text = "## 1 assistant - now\n# top\n###### deep\nTitle\n===\n1 assistant\n---\n#tag"

    lines = _markdown(root, message("user", text)).splitlines()

    assert sum(line.startswith("## ") for line in lines) == 1
    assert "#### 1 assistant - now" in lines
    assert "### top" in lines
    assert "###### deep" in lines
    assert "\\===" in lines
    assert "\\---" in lines
    assert "#tag" in lines


def test_a_fence_is_longer_than_any_in_what_a_tool_said(root: Path) -> None:
    out = _markdown(root, _result("`````\nx\n`````"))

    assert "\n``````\n`````\nx\n`````\n``````\n" in out


def test_names_are_text_on_the_page(root: Path) -> None:
    line = pushed(1, message("user", "x"))
    author = b'{"kind":"user","title":"<b>*x*_y_ [z](u)"}'
    lines = [header(), line.replace(b'"id":0', b'"author":' + author + b',"id":0')]
    write(root, "one <i>`x`", "main", join(lines))

    out = ok("export", "one <i>`x`", "--as", "markdown").out

    assert out.startswith("# one \\<i>\\`x\\`\n\nsession `` one <i>`x` ``,")
    assert r"(\<b>\*x\*\_y\_ \[z\](u))" in out


@pytest.mark.timeout(20)
def test_a_text_of_nothing_but_marks_takes_no_longer_than_others(root: Path) -> None:
    text = "` `` ``` " * 20_000 + "\n" + "<" * 50_000 + "\\" * 50_000

    out = _markdown(root, message("user", text))

    assert len(out) > 200_000


def test_an_export_as_of_says_so(root: Path) -> None:
    write(root, "one", "main", join(turns(5)))

    out = ok("export", "one", "--as", "markdown", "--as-of", "m2").out

    assert "2 messages, as of `m2`," in out
    assert "text 3" not in out
    assert texts(ok("export", "one", "--as", "jsonl", "--as-of", "m2").objects) == [
        "text 1",
        "text 2",
    ]
