"""`export --as html` and `show --format html`: all of a session on a page, and nothing runs."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.operations.html_page import SECTION_MESSAGES
from agentmem_cli.session.codec import dumps
from agentmem_cli.session.images import blob_name
from tests.cli.running import header, join, message, ok, pushed, record, run, said, turns, write
from tests.pages import Page, parsed

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import JSON, Object

RUN = "window.ran=1"
HOSTILE = "\n".join(
    [
        f"<script>{RUN}</script>",
        f"\"><img src=x onerror='{RUN}'>",
        f"' onmouseover='{RUN}",
        f"</style></script></title></textarea></pre></details></main><script>{RUN}</script>",
        f"<svg/onload='{RUN}'>",
        f"]]><!--<script>{RUN}</script>--><![CDATA[ <?php ?>",
        f"&lt;script&gt;{RUN}&lt;/script&gt; &#60;b&#62; &#x202e; &amp;",
        '<meta http-equiv="refresh" content="0;url=https://example.com/">',
        f"<iframe src=javascript:{RUN}><base href=https://example.com/>",
        f"[a](javascript:{RUN}) ![b](data:text/html;base64,PHNjcmlwdD4=)",
        "\u202egnp.exe\u0000\u001b]0;x\u0007\u2028\u200b\U000e0041",
    ]
)
SHOWN = HOSTILE.translate(
    {
        0: "\u2400",
        0x1B: "\u241b",
        7: "\u2407",
        **{code: f"<U+{code:04X}>" for code in (0x202E, 0x2028, 0x200B, 0xE0041)},
    }
)
SVG = (
    f"<svg xmlns='http://www.w3.org/2000/svg' onload='{RUN}'><script>{RUN}</script></svg>".encode()
)


def _png(width: int = 3, height: int = 2) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = (b"\0" + b"\x80\x40\x20" * width) * height
    data = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + data


def _text(text: str) -> Object:
    return {"type": "text", "text": text}


def _call(id_: str, name: str, arguments: JSON) -> Object:
    return {"type": "toolcall", "id": id_, "function": {"name": name, "arguments": arguments}}


def _result(id_: str, name: str, *parts: Object, **more: JSON) -> Object:
    return {"type": "toolresult", "call": id_, "name": name, "content": [*parts], **more}


def _image(media: JSON, **data: JSON) -> Object:
    return {"type": "image", "media_type": media, "data": {**data}}


def _inline(media: JSON, data: bytes) -> Object:
    return _image(media, type="base64", value=base64.b64encode(data).decode())


def _of(role: str, *parts: Object, **more: JSON) -> Object:
    return {"role": role, "content": [*parts], **more}


def _session(root: Path, *messages: Object) -> None:
    write(root, "s", "main", join([header(), *(pushed(i, m) for i, m in enumerate(messages, 1))]))


def _put(root: Path, data: bytes, extension: str, name: str | None = None) -> Object:
    """Keep a blob beside the session; return the data that refers to it."""
    folder = root / "s" / "files" / "blobs"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    name = name or blob_name(data, extension)
    (folder / name).write_bytes(data)
    return {"type": "url", "value": f"blob:{name}"}


def _page(*words: str) -> Page:
    return parsed(ok("show", "s", "--format", "html", *words).stdout)


def _sources(page: Page) -> list[bytes]:
    found = [str(each["src"]).partition(",")[2] for each in page.of("img")]
    return [base64.b64decode(each) for each in found]


# -- what stands on it -------------------------------------------------------


def test_every_message_has_an_anchor_named_as_places_are(root: Path) -> None:
    write(root, "s", "main", join(turns(5)))

    page = _page()

    numbers = [value["id"] for value in ok("show", "s", "--json").objects[1:]]
    assert page.ids == [f"m{number}" for number in numbers]
    assert [found["href"] for found in page.of("a")][-5:] == [f"#m{number}" for number in numbers]


def test_an_export_is_the_page_that_show_prints(root: Path, tmp_path: Path) -> None:
    write(root, "s", "main", join(turns(3)))

    ok("export", "s", "--as", "html", "-o", tmp_path / "s.html")
    printed = ok("export", "s", "--as", "html").stdout

    assert (tmp_path / "s.html").read_bytes() == printed
    assert printed == ok("show", "s", "--format", "html").stdout


def test_an_export_as_json_tells_what_was_written(root: Path, tmp_path: Path) -> None:
    write(root, "s", "main", join(turns(3)))
    target = tmp_path / "s.html"

    told = ok("export", "s", "--as", "html", "-o", target, "--json").object

    assert told == {
        "schema": "agentmem.export/1",
        "session": "s",
        "agent": "main",
        "as": "html",
        "output": str(target),
        "bytes": target.stat().st_size,
        "messages": 3,
    }


def test_a_folder_is_no_place_for_a_page(root: Path, tmp_path: Path) -> None:
    write(root, "s", "main", join(turns(1)))

    done = run("export", "s", "--as", "html", "-o", f"{tmp_path}/new/")

    assert done.status == 2
    assert "page.html" in done.err
    assert not (tmp_path / "new").exists()


def test_the_head_says_title_agent_model_times_and_counts(root: Path) -> None:
    lines = [
        header(),
        record(1, "state", key="rig::title", value="About <b>ships</b>"),
        record(2, "state", key="rig::model", value="vendor/model"),
        said(3, "Why?", id_=0),
        pushed(4, _of("assistant", _call("c", "ls", {"path": "/"})), id_=1),
        pushed(5, _of("user", _result("c", "ls", _text("bin"))), id_=2),
    ]
    write(root, "s", "main", join(lines))
    write(root, "s", "other", join(turns(1, "other")))

    page = _page("--agent", "main")

    assert page.said("title") == page.said("h1") == ["About <b>ships</b>"]
    facts = dict(
        zip(page.said("dt"), (text for text in page.said("dd") if text.strip()), strict=False)
    )
    assert facts["session"] == "s"
    assert facts["agent"] == "main"
    assert facts["not here"] == "other"
    assert facts["model"] == "vendor/model"
    assert "3 (1 user, 1 assistant, 1 result, 1 call)" in page.said("dd")
    assert page.said("time")[:2] == ["2026-01-01 00:00:03 UTC", "2026-01-01 00:00:05 UTC"]
    assert page.of("time")[0]["datetime"] == "2026-01-01T00:00:03.000Z"


def test_times_carry_the_zone(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    write(root, "s", "main", join(turns(1)))
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        local, utc = _page(), parsed(ok("--utc", "show", "s", "--format", "html").stdout)
    finally:
        monkeypatch.setenv("TZ", "UTC")
        time.tzset()

    assert local.said("time")[-1] == "2026-01-01 09:00:01 +09:00"
    assert utc.said("time")[-1] == "2026-01-01 00:00:01 UTC"


def test_a_time_that_no_calendar_has_is_a_number(root: Path) -> None:
    write(root, "s", "main", join([header(), said(1, "late", t=10**17)]))

    page = _page()

    assert f"@{10**17}" in page.text
    assert page.of("time") == []


def test_the_user_is_listed_above_a_long_conversation_only(root: Path) -> None:
    write(root, "s", "main", join(turns(5)))
    long = _page()
    write(root, "s", "main", join(turns(3)))
    short = _page()

    assert "3 messages of the user" in long.said("summary")
    assert [f["href"] for f in long.of("a")][:3] == ["#m0", "#m2", "#m4"]
    assert short.said("summary") == []


def test_a_page_goes_back_in_time_and_has_a_window(root: Path) -> None:
    write(root, "s", "main", join(turns(9)))

    before = parsed(ok("export", "s", "--as", "html", "--as-of", "m4").stdout)
    some = _page("--from", "2", "--to", "5")

    assert before.ids == ["m0", "m1", "m2", "m3"]
    assert "m4" in before.said("dd")
    assert some.ids == ["m2", "m3", "m4", "m5"]
    assert "4 of 9 (2 user, 2 assistant)" in some.said("dd")


def test_calls_and_results_are_folded_and_whole(root: Path) -> None:
    long = "\n".join(f"line {number}" for number in range(5_000))
    _session(
        root,
        _of("assistant", _call("c", "bash", {"command": f"cat\n{long}", "wait": 3})),
        _of("user", _result("c", "bash", _text(long), is_error=True)),
        _of("assistant", _call("d", "ls", [1, 2])),
    )

    folded, unfolded = _page(), _page("--full")

    assert [f.get("class") for f in folded.of("details")] == ["call", "outcome", "call"]
    assert not folded.of("details", open="")
    assert all("open" in found for found in unfolded.of("details"))
    assert folded.text.replace("\n\n", "\n").count(long) == 2
    assert "5,000 lines" in folded.text
    assert [text for text in folded.said("span") if text in ("error", "no result")] == [
        "error",
        "no result",
    ]


def test_what_is_folded_under_one_line_is_told_in_short(root: Path) -> None:
    command = "ls -l " + "x" * 500
    _session(root, _of("assistant", _call("c", "bash", {"command": command, "time": 9})))

    page = _page()

    (gist,) = [text for tag, text in page.texts if tag == "code"]
    assert gist.startswith("ls -l xxx")
    assert len(gist) == 160


def test_asides_stand_where_they_belong_when_they_are_asked_for(root: Path) -> None:
    aside: Object = {
        "kind": "note",
        "author": {"kind": "rig"},
        "value": {"text": "Aha"},
        "after": 0,
    }
    lines = [*turns(2), record(3, "aside", id=7, aside=aside)]
    write(root, "s", "main", join(lines))

    assert _page("--asides").ids == ["m0", "aside7", "m1"]
    assert _page().ids == ["m0", "m1"]


def test_parts_and_roles_that_nobody_knows_are_shown_by_name(root: Path) -> None:
    _session(root, _of("oracle", {"type": "vision", "seen": "ships"}))

    page = _page()

    assert "oracle" in page.said("span")
    assert "vision" in page.said("b")
    assert "ships" in page.text


def test_a_session_without_messages_is_a_page_too(root: Path) -> None:
    write(root, "s", "main", join([header()]))

    assert "No messages." in _page().text


def test_a_damaged_session_says_so_on_its_page(root: Path) -> None:
    lines = turns(3)
    write(root, "s", "main", join([*lines[:2], b"{junk", *lines[2:]]))

    done = ok("export", "s", "--as", "html")

    assert "1 place of the log could not be read" in parsed(done.stdout).text
    assert "line 3" in done.err


def test_long_conversations_are_cut_into_sections(root: Path) -> None:
    write(root, "s", "main", join(turns(2 * SECTION_MESSAGES + 1)))

    page = _page()

    assert len(page.of("section")) == 3
    assert page.said("script")[:-1] == ["/* rest */"] * 2


def test_a_page_is_written_piece_by_piece(root: Path) -> None:
    from agentmem_cli.cli.page import page_bytes
    from agentmem_cli.cli.settings import Settings
    from agentmem_cli.cli.shown import Opened
    from agentmem_cli.operations.places import Place
    from agentmem_cli.operations.travel import view_agent
    from agentmem_cli.storage.directory import DirStore

    big = _png() + bytes(4 << 20)
    write(root, "s", "main", join([header(), pushed(1, _of("user", _image("png")))]))
    refers = _put(root, big, "png")
    _session(root, _of("user", {**_image("png"), "data": refers}), message("user", "x\n" * 10**6))
    store = DirStore.open(root / "s")
    place = Place("now", None)
    fold = view_agent(store, "main", place)

    pieces = list(page_bytes(Settings(), Opened("s", store, "main", place), fold, range(2)))

    assert len(b"".join(pieces)) > 7_000_000
    assert max(map(len, pieces)) < 500_000


# -- pictures ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("media", "head"),
    [
        ("png", _png()),
        ("jpeg", b"\xff\xd8\xff\xe0 and more"),
        ("gif", b"GIF89a and more"),
        ("webp", b"RIFF\0\0\0\0WEBPVP8 "),
    ],
)
def test_pictures_stand_in_the_page_by_their_bytes(root: Path, media: str, head: bytes) -> None:
    data = head + bytes(range(256)) * 5_000
    write(root, "s", "main", join([header()]))
    refers = _put(root, data, media)
    raw: Object = {"type": "raw", "value": [*head]}
    _session(
        root,
        _of("user", {**_image(media), "data": refers}, _inline("svg", head)),
        _of("user", {**_image(media), "data": raw}),
        _of("user", _result("c", "look", {**_image(media), "data": refers})),
    )

    page = _page()

    assert _sources(page) == [data, head, head, data]
    assert {str(each["src"]).partition(";")[0] for each in page.of("img")} == {
        f"data:image/{media}"
    }


@pytest.mark.parametrize(
    "data", [SVG, b"<html><script>ran()</script></html>", b"%PDF-1.4", b"", b"RIFF....WAVE"]
)
@pytest.mark.parametrize("media", ["png", "svg", "html", 'png"><script>', None])
def test_what_is_no_picture_is_told_of_and_never_loaded(
    root: Path, data: bytes, media: str | None
) -> None:
    write(root, "s", "main", join([header()]))
    refers = _put(root, data, "png")
    _session(root, _of("user", {**_image(media), "data": refers}, _inline(media, data)))

    page = _page()

    assert page.of("img") == []
    assert page.text.count("image") >= 2


def test_what_is_told_of_a_picture_cannot_leave_its_place(root: Path) -> None:
    _session(root, _of("user", _inline("png\" onload='1' x=\"<b>", _png())))

    (found,) = _page().of("img")

    assert set(found) == {"decoding", "alt", "src"}
    assert "onload" in str(found["alt"])


def test_the_source_of_an_svg_is_text(root: Path) -> None:
    write(root, "s", "main", join([header()]))
    refers = _put(root, SVG, "svg")
    _session(root, _of("user", {**_image("svg"), "data": refers}, _inline("svg", SVG)))

    page = _page()

    assert page.text.count(SVG.decode()) == 2
    assert len(page.of("details", **{"class": "source"})) == 2


def test_a_long_output_that_is_kept_as_a_blob_is_read_whole(root: Path) -> None:
    kept = "".join(f"Zeile {number} äöü\n" for number in range(100_000))
    write(root, "s", "main", join([header()]))
    refers = _put(root, kept.encode(), "txt")
    part: Object = {"type": "document", "media_type": "txt", "data": refers}
    _session(root, _of("user", _result("c", "cat", part)))

    page = _page()

    # What comes between two blocks is a line end of the page.
    assert page.text.replace("\n\n", "\n").count(kept) == 1


def test_a_blob_is_checked_against_its_name(root: Path) -> None:
    write(root, "s", "main", join([header()]))
    other = _put(root, _png(), "png", name=f"{'a' * 64}.png")
    gone: Object = {"type": "url", "value": f"blob:{'b' * 64}.png"}
    out: Object = {"type": "url", "value": "blob:../../secret.png"}
    link: Object = {"type": "url", "value": f"blob:{'c' * 64}.png"}
    (root / "secret.png").write_bytes(_png())
    (root / "s" / "files" / "blobs" / f"{'c' * 64}.png").symlink_to(root / "secret.png")
    _session(
        root, *(_of("user", {**_image("png"), "data": each}) for each in (other, gone, out, link))
    )

    page = _page()

    assert page.of("img") == []
    assert "its bytes are not those that its name says" in page.text
    assert page.text.count("missing") >= 2


def test_a_picture_elsewhere_is_an_address_and_not_loaded(root: Path) -> None:
    _session(
        root,
        _of("user", _image("png", type="url", value="https://example.com/a.png")),
        _of("user", _image("png", type="url", value="https://a.example/\u202e\"onclick='1'>")),
        _of("user", _image("png", type="url", value=f"javascript:{RUN}")),
        _of("user", _image("png", type="fileId", value="file-1")),
    )

    page = _page()

    assert page.of("img") == []
    links = [str(found["href"]) for found in page.of("a")]
    assert [each for each in links if each[0] != "#"] == [
        "https://example.com/a.png",
        "https://a.example/<U+202E>\"onclick='1'>",
    ]
    assert f"javascript:{RUN}" in page.text
    assert "file-1" in page.text


# -- nothing runs ------------------------------------------------------------


@pytest.mark.parametrize("unfolded", [False, True])
def test_a_hostile_session_puts_nothing_but_text_on_its_page(root: Path, unfolded: bool) -> None:
    author: Object = {"kind": "agent", "from": HOSTILE, "title": HOSTILE}
    aside: Object = {"kind": HOSTILE, "author": author, "value": {HOSTILE: HOSTILE}, "after": 0}
    call: Object = {"local": HOSTILE}
    messages: list[Object] = [
        _of("user", _text(HOSTILE), _image(HOSTILE, type="url", value=HOSTILE)),
        _of(
            "assistant",
            _text(HOSTILE),
            {"type": "reasoning", "content": [{"text": HOSTILE}]},
            {**_call("", HOSTILE, {HOSTILE: HOSTILE, "list": [HOSTILE]}), "id": call},
            stop=HOSTILE,
        ),
        _of("user", {**_result("", HOSTILE, _text(HOSTILE), {"type": HOSTILE}), "call": call}),
        _of(HOSTILE, {"type": HOSTILE, HOSTILE: HOSTILE}),
        {"role": "system", "content": HOSTILE},
        _of("assistant", stop={"kind": HOSTILE, "message": HOSTILE}),
    ]
    lines = [header(), record(1, "state", key="rig::title", value=HOSTILE)]
    lines.append(record(2, "state", key="rig::model", value=HOSTILE))
    for seq, each in enumerate(messages, 3):
        entry: Object = {"message": each, "author": author, "id": seq - 3}
        lines.append(record(seq, "push", entries=[entry]))
    lines.append(record(9, "aside", id=0, aside=aside))
    write(root, "s", "main", join(lines))

    page = _page("--asides", *(["--full"] if unfolded else []))

    assert page.ids == ["m0", "aside0", "m1", "m2", "m3", "m4", "m5"]
    assert page.text.count(SHOWN) >= 8
    assert [found for found in page.of("meta") if found.get("http-equiv") == "refresh"] == []


def test_the_name_of_a_session_is_text_too(root: Path) -> None:
    name = "a<img src=x onerror=1>"
    write(root, name, "main", join(turns(1)))

    page = parsed(ok("show", name, "--format", "html").stdout)

    assert name in page.said("dd")


def test_lone_surrogates_are_shown(root: Path) -> None:
    line = dumps(message("user", "a\ud800b"))
    entry = b'{"seq":1,"n":1,"t":1,"type":"push","entries":[{"message":' + line + b',"id":0}]}'
    write(root, "s", "main", join([header(), entry]))

    assert "a<U+D800>b" in _page().text


def test_the_parts_of_the_page_that_are_ours_end_where_they_should() -> None:
    from agentmem_cli.cli.page import SCRIPT, STYLE

    for path in (SCRIPT, STYLE):
        text = path.read_text("utf-8")
        assert re.search(r"</|<!--|https?:|@import|url\(", text) is None
        assert "innerHTML" not in text
        assert "eval" not in text


def test_the_policy_is_the_same_for_all_sessions(root: Path) -> None:
    write(root, "s", "main", join(turns(1)))
    write(root, "r", "main", join(turns(2)))

    pages = [_page(), parsed(ok("show", "r", "--format", "html").stdout)]

    first, second = (page.of("meta", **{"http-equiv": "Content-Security-Policy"}) for page in pages)
    assert first == second
    assert len(first) == 1
