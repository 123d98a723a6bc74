"""`export`: originals byte for byte, messages that providers take, and the way back in."""

from __future__ import annotations

import base64
import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agentmem_cli.session.codec import dumps
from tests.cli.running import header, join, message, ok, pushed, run, said, tree, write
from tests.provider_shapes import check
from tests.unit.imports import building
from tests.unit.imports.building import put

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON, Object

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "claude-code"
PIXEL = base64.b64encode(b"\x89PNG not really").decode()
UNANSWERED = "There is no result"


def _call(id_: str, arguments: JSON = None) -> Object:
    function: Object = {"name": "ls", "arguments": {} if arguments is None else arguments}
    return {"type": "toolcall", "id": id_, "function": function}


def _result(id_: str, *texts: str, **more: JSON) -> Object:
    content: list[JSON] = [{"type": "text", "text": text} for text in texts]
    return {"type": "toolresult", "call": id_, "name": "ls", "content": content, **more}


def _reply(*parts: Object, **more: JSON) -> Object:
    return {"role": "assistant", "content": [*parts], **more}


def _user(*parts: Object) -> Object:
    return {"role": "user", "content": [*parts]}


def _text(text: str) -> Object:
    return {"type": "text", "text": text}


def _session(root: Path, *messages: Object) -> None:
    """Write the session ``s`` of one agent with *messages*."""
    lines = [header(), *(pushed(seq, value) for seq, value in enumerate(messages, 1))]
    write(root, "s", "main", join(lines))


def _exported(shape: str, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(
        ok("export", "s", "--as", "messages", "--shape", shape, *words).stdout
    )
    return found


# -- originals --------------------------------------------------------------


@pytest.fixture
def source(tmp_path: Path) -> Path:
    data = building.lines(
        building.header(id="a"), building.user(1, "Why?"), b"junk", building.reply(2, "Because.")
    )
    return put(tmp_path / "src" / "talk of a.jsonl", data + b'{"type":"mess')


def test_the_original_comes_back_byte_for_byte(source: Path) -> None:
    ok("import", source)

    done = ok("export", "pi-a", "--as", "original")

    assert done.stdout == source.read_bytes()


def test_an_original_goes_into_a_file_or_a_folder_under_its_own_name(
    source: Path, tmp_path: Path
) -> None:
    ok("import", source)
    (tmp_path / "folder").mkdir()

    ok("export", "pi-a", "--as", "original", "-o", tmp_path / "file.jsonl")
    ok("export", "pi-a", "--as", "original", "-o", tmp_path / "folder")
    ok("export", "pi-a", "--as", "original", "-o", f"{tmp_path}/new/")

    for path in ("file.jsonl", "folder/talk of a.jsonl", "new/talk of a.jsonl"):
        assert (tmp_path / path).read_bytes() == source.read_bytes()


@pytest.mark.parametrize("form", ["original", "messages", "html"])
def test_a_file_that_is_there_is_written_over_by_force_only(
    source: Path, tmp_path: Path, form: str
) -> None:
    ok("import", source)
    target = put(tmp_path / "out", b"precious")

    done = run("export", "pi-a", "--as", form, "-o", target)
    kept = target.read_bytes()
    ok("export", "pi-a", "--as", form, "-o", target, "--force")

    assert done.status == 4
    assert "--force" in done.err
    assert kept == b"precious"
    assert target.read_bytes() != b"precious"


@pytest.mark.parametrize("form", ["original", "messages", "html"])
@pytest.mark.skipif(os.name == "nt", reason="modes say nothing there")
def test_what_is_written_is_private_whatever_the_umask(
    source: Path, tmp_path: Path, form: str
) -> None:
    ok("import", source)
    (tmp_path / "out").mkdir()
    before = os.umask(0)
    try:
        ok("export", "pi-a", "--as", form, "-o", tmp_path / "out" / "file")
        ok("export", "pi-a", "--as", "original", "-o", f"{tmp_path}/new/")
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "out" / "file").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["file"]


def test_a_source_that_was_not_kept_is_refused_plainly(source: Path, tmp_path: Path) -> None:
    ok("import", source, "--no-source")

    done = run("export", "pi-a", "--as", "original", "-o", tmp_path / "out")

    assert done.status == 3
    assert "--no-source" in done.err
    assert not (tmp_path / "out").exists()


def test_a_session_that_no_import_made_has_no_original(root: Path) -> None:
    _session(root, message("user", "x"))

    done = run("export", "s", "--as", "original")

    assert done.status == 3
    assert "--as messages" in done.err


def test_a_kept_source_that_was_changed_is_damage(root: Path, source: Path) -> None:
    ok("import", source)
    folder = root / "pi-a" / "files" / "plugins" / "import"
    (kept,) = (path for path in folder.iterdir() if not path.name.endswith(".map.jsonl"))
    kept.write_bytes(kept.read_bytes().replace(b"Why?", b"What"))

    done = run("export", "pi-a", "--as", "original")

    assert done.status == 5
    assert done.stdout == b""


def _rename_in_map(root: Path, name: str) -> None:
    (path,) = (root / "pi-a" / "files" / "plugins" / "import").glob("*.map.jsonl")
    head, _, rest = path.read_bytes().partition(b"\n")
    value = json.loads(head)
    value["source"] = name
    path.write_bytes(dumps(value) + b"\n" + rest)


@pytest.mark.parametrize("name", ["../../evil", "/tmp/evil", "a/../../evil", "..", "x\\..\\y", ""])
def test_no_name_in_a_map_leads_out_of_the_folder(
    root: Path, source: Path, tmp_path: Path, name: str
) -> None:
    ok("import", source)
    _rename_in_map(root, name)
    before = set(tree(tmp_path))

    ok("export", "pi-a", "--as", "original", "-o", f"{tmp_path}/out/")
    (made,) = (path for path in (tmp_path / "out").rglob("*") if path.is_file())

    assert made.read_bytes() == source.read_bytes()
    assert {path for path in set(tree(tmp_path)) - before if not path.startswith("out")} == set()


def test_all_sources_of_a_session_go_into_a_folder_as_they_were(root: Path, tmp_path: Path) -> None:
    ok("import", EXAMPLE)
    target = tmp_path / "out"

    main = ok("export", "@last", "--as", "original")
    told = ok("export", "@last", "--as", "original", "-o", target, "--json").objects
    again = run("export", "@last", "--as", "original", "-o", target)
    back = ok("import", target)

    files = {path.relative_to(target) for path in target.rglob("*.jsonl")}
    assert files == {path.relative_to(EXAMPLE) for path in EXAMPLE.rglob("*.jsonl")}
    for path in files:
        assert (target / path).read_bytes() == (EXAMPLE / path).read_bytes()
    assert len(told) >= 2
    assert main.stdout == next(EXAMPLE.glob("*.jsonl")).read_bytes()
    assert "--output DIR" in main.err
    assert again.status == 4
    assert "nothing new" in back.out
    assert len(list(root.iterdir())) == 1


@pytest.mark.parametrize("name", ["talk.jsonl", "talk.json", "talk.jsonl.zst", "TALK.JSONL"])
def test_several_sources_do_not_go_into_a_folder_that_is_named_like_a_file(
    tmp_path: Path, name: str
) -> None:
    ok("import", EXAMPLE)
    before = tree(tmp_path)

    done = run("export", "@last", "--as", "original", "-o", tmp_path / name)

    assert done.status == 2
    assert "originals, which go into a folder" in done.err
    assert tree(tmp_path) == before
    ok("export", "@last", "--as", "original", "-o", f"{tmp_path / name}/")
    ok("export", "@last", "--as", "original", "-o", tmp_path / "v1.2")


def test_the_original_of_one_agent_is_given_alone() -> None:
    ok("import", EXAMPLE)

    done = ok("export", "@last", "--as", "original", "--agent", "c4a27")

    (path,) = EXAMPLE.rglob("agent-c4a27.jsonl")
    assert done.stdout == path.read_bytes()


# -- messages ---------------------------------------------------------------


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_a_call_that_nothing_answers_gets_an_error_result_that_says_so(
    root: Path, shape: str
) -> None:
    _session(root, message("user", "go"), _reply(_call("c1"), _call("c2")), message("user", "stop"))

    found = _exported(shape)
    done = ok("export", "s", "--as", "messages", "--shape", shape)

    assert str(found).count(UNANSWERED) == 2
    assert "2 calls without a result" in done.err
    assert _pairs(shape, found)


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_a_result_of_no_call_is_left_out_and_counted(root: Path, shape: str) -> None:
    _session(
        root,
        _user(_result("early", "before its call")),
        _reply(_call("c1")),
        _user(_result("c1", "first")),
        _user(_result("c1", "second"), _text("and a word")),
    )

    done = ok("export", "s", "--as", "messages", "--shape", shape)
    found = json.loads(done.stdout)

    assert "2 results of no call left out" in done.err
    assert "before its call" not in done.out
    assert "second" not in done.out
    assert "and a word" in done.out
    assert _pairs(shape, found)


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_a_result_behind_other_messages_is_moved_to_its_call(root: Path, shape: str) -> None:
    _session(
        root,
        message("user", "go"),
        _reply(_call("c1")),
        message("user", "by the way"),
        _reply(_text("yes"), _call("c2")),
        _user(_result("c2", "two"), _result("c1", "one")),
    )

    found = _exported(shape)

    assert _pairs(shape, found)
    assert UNANSWERED not in str(found)


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_an_id_that_is_used_again_later_pairs_with_its_own_result(root: Path, shape: str) -> None:
    _session(
        root,
        message("user", "go"),
        _reply(_call("c")),
        message("user", "again"),
        _reply(_call("c")),
        _user(_result("c", "late")),
    )

    found = str(_exported(shape))

    assert found.index(UNANSWERED) < found.index("again") < found.index("late")


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_empty_texts_go_and_an_empty_result_says_so(root: Path, shape: str) -> None:
    _session(
        root,
        _user(_text("")),
        _user(_text(" \n"), _text("go")),
        _reply(_text("  "), _call("c1")),
        _user(_result("c1", "")),
        {"role": "user", "content": None},
        {"role": "assistant", "content": []},
    )

    found = _exported(shape)
    texts = [text for text in _strings(found) if text != "" and not text.strip()]

    assert texts == []
    assert "(no output)" in str(found)
    assert found[0]["role"] == "user"
    assert len(found) == 3


def _strings(value: Any) -> list[str]:  # noqa: ANN401 - any JSON
    if isinstance(value, str):
        return [value]
    children = value.values() if isinstance(value, dict) else value
    if not isinstance(value, dict | list):
        return []
    return [text for child in children for text in _strings(child)]


def _pairs(shape: str, found: list[dict[str, Any]]) -> bool:
    """Whether every call is followed by its result, and no result stands elsewhere."""
    waiting: list[str] = []
    for each in found:
        if shape == "openai":
            if each["role"] == "tool":
                waiting.remove(each["tool_call_id"])
                continue
            if waiting:
                return False
            waiting = [call["id"] for call in each.get("tool_calls", ())]
        else:
            blocks = each["content"]
            results = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
            if sorted(results) != sorted(waiting):
                return False
            waiting = [b["id"] for b in blocks if b["type"] == "tool_use"]
    return not waiting


def test_openai_has_arguments_as_text_and_images_as_data(root: Path) -> None:
    image: Object = {
        "type": "image",
        "data": {"type": "base64", "value": PIXEL},
        "media_type": "png",
    }
    _session(
        root,
        {"role": "system", "content": "Be brief."},
        _user(_text("look"), image),
        _reply(_call("c1", {"path": "a b"}), _call("c2", "{broken")),
        _user(_result("c2", "two"), {**_result("c1"), "content": [image]}),
        _reply(_text("done")),
    )

    found = _exported("openai")
    url = f"data:image/png;base64,{PIXEL}"

    assert found[0] == {"role": "system", "content": "Be brief."}
    assert found[1]["content"][1] == {"type": "image_url", "image_url": {"url": url}}
    calls = found[2]["tool_calls"]
    assert [call["function"]["arguments"] for call in calls] == ['{"path":"a b"}', "{broken"]
    assert found[2]["content"] is None
    assert [each.get("tool_call_id") for each in found[3:5]] == ["c2", "c1"]
    assert found[5]["content"][1]["image_url"]["url"] == url
    assert found[6] == {"role": "assistant", "content": "done"}


def test_anthropic_has_blocks_and_turns(root: Path) -> None:
    image: Object = {
        "type": "image",
        "data": {"type": "base64", "value": PIXEL},
        "media_type": "jpeg",
    }
    thought: Object = {"type": "reasoning", "content": [_text("hm")], "signature": "Eq=="}
    _session(
        root,
        {"role": "system", "content": "Be brief."},
        message("user", "one"),
        _user(_text("two"), image),
        _reply(thought, _text("let me see"), _call("bad id!", [1])),
        _user(_result("bad id!", "no", is_error=True)),
        _reply({"type": "reasoning", "content": [_text("unsigned")]}, _text("done")),
    )

    found = _exported("anthropic")

    assert [each["role"] for each in found] == ["user", "assistant", "user", "assistant"]
    assert [block["type"] for block in found[0]["content"]] == ["text", "text", "text", "image"]
    assert found[0]["content"][0]["text"] == "<system>\nBe brief.\n</system>"
    source = {"type": "base64", "media_type": "image/jpeg", "data": PIXEL}
    assert found[0]["content"][3]["source"] == source
    thinking, _, use = found[1]["content"]
    assert thinking == {"type": "thinking", "thinking": "hm", "signature": "Eq=="}
    assert use["input"] == {"arguments": [1]}
    (result,) = found[2]["content"]
    assert result["tool_use_id"] == use["id"]
    assert use["id"].replace("-", "").replace("_", "").isalnum()
    assert result["is_error"] is True
    assert found[3]["content"] == [_text("done")]


def test_anthropic_begins_with_the_user_and_uses_no_id_twice(root: Path) -> None:
    _session(
        root,
        _reply(_call("c")),
        _user(_result("c", "one")),
        _reply(_call("c")),
        _user(_result("c", "two")),
    )

    found = _exported("anthropic")
    ids = [b["id"] for each in found for b in each["content"] if b["type"] == "tool_use"]

    assert found[0]["role"] == "user"
    assert len(set(ids)) == 2
    assert _pairs("anthropic", found)


@pytest.mark.parametrize(
    ("origin", "signature"),
    [({"provider": "openai", "model": "gpt-5"}, "Eq=="), ({"provider": "anthropic"}, '{"id":1}')],
)
def test_a_signature_of_another_provider_goes_with_its_thought(
    root: Path, origin: Object, signature: str
) -> None:
    thought: Object = {"type": "reasoning", "content": [_text("hm")], "signature": signature}
    _session(root, message("user", "x"), _reply(thought, _text("y"), origin=origin))

    done = ok("export", "s", "--as", "messages", "--shape", "anthropic")

    assert "thinking" not in done.out
    assert "1 part of type reasoning left out" in done.err


def test_messages_of_an_earlier_place_and_of_another_agent(root: Path) -> None:
    _session(root, message("user", "one"), message("assistant", "two"), message("user", "three"))
    write(root, "s", "aide", join([header("aide", n=9, parent="main"), said(1, "mine", n=10)]))

    assert [each["content"] for each in _exported("openai", "--as-of", "m1")] == ["one"]
    assert [each["content"] for each in _exported("openai", "--agent", "aide")] == ["mine"]


def test_an_empty_session_is_an_empty_array(root: Path) -> None:
    write(root, "s", "main", join([header()]))

    assert ok("export", "s", "--as", "messages").stdout == b"[\n]\n"


def test_damage_is_told_and_the_rest_exported(root: Path) -> None:
    write(root, "s", "main", join([header(), said(1, "one"), b"junk", said(2, "two")]))

    done = ok("export", "s", "--as", "messages")

    assert [each["content"] for each in json.loads(done.stdout)] == ["one", "two"]
    assert "line 3" in done.err


def test_half_a_character_is_written_as_its_escape(root: Path) -> None:
    line = said(1, "boats X").replace(b"X", rb"\ud83d")
    write(root, "s", "main", join([header(), line]))

    assert rb"boats \ud83d" in ok("export", "s", "--as", "messages").stdout


def test_an_export_changes_nothing(root: Path, source: Path) -> None:
    ok("import", source)
    before = tree(root)

    ok("export", "pi-a", "--as", "original")
    ok("export", "pi-a", "--as", "messages")

    assert tree(root) == before


@pytest.mark.parametrize(
    "words",
    [
        ("--as", "fax"),
        ("--as", "messages", "--shape", "fax"),
        ("--as", "original", "--as-of", "m1"),
        ("--as", "messages", "--json"),
        ("--as", "messages", "-o", ""),
        (),
    ],
)
def test_words_that_do_not_fit_are_a_mistake_of_the_call(
    root: Path, words: tuple[str, ...]
) -> None:
    _session(root, message("user", "x"))

    assert run("export", "s", *words).status == 2


# -- the way back -----------------------------------------------------------


def test_importing_an_exported_original_changes_nothing(
    root: Path, source: Path, tmp_path: Path
) -> None:
    ok("import", source)
    (tmp_path / "copy").mkdir()
    ok("export", "pi-a", "--as", "original", "-o", tmp_path / "copy" / "other name.jsonl")
    before = tree(root)

    done = ok("import", tmp_path / "copy")

    assert "nothing new" in done.out
    assert tree(root) == before


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_importing_exported_messages_changes_nothing_and_says_whose_they_are(
    root: Path, source: Path, tmp_path: Path, shape: str
) -> None:
    ok("import", source)
    (tmp_path / "copy").mkdir()
    target = tmp_path / "copy" / "m.json"
    ok("export", "pi-a", "--as", "messages", "--shape", shape, "-o", target)
    before = tree(root)

    done = ok("import", target, "--json").object

    assert (done["session"], done["nothing_new"], done["known"]) == ("pi-a", True, 2)
    assert tree(root) == before


def test_an_export_of_a_session_that_grew_since_is_still_known(
    root: Path, source: Path, tmp_path: Path
) -> None:
    ok("import", source)
    ok("export", "pi-a", "--as", "messages", "-o", tmp_path / "m.json")
    ok("append", "pi-a", "--role", "user", stdin=b"more")

    done = ok("import", tmp_path / "m.json", "--json").object

    assert (done["session"], done["nothing_new"]) == ("pi-a", True)
    assert [path.name for path in root.iterdir()] == ["pi-a"]


def test_messages_that_begin_alike_and_go_on_otherwise_are_a_session_of_their_own(
    source: Path, tmp_path: Path
) -> None:
    ok("import", source)
    ok("export", "pi-a", "--as", "messages", "-o", tmp_path / "m.json")
    data = (tmp_path / "m.json").read_bytes().replace(b"Because.", b"Who knows?")
    other = put(tmp_path / "other.json", data)

    done = ok("import", other, "--json").object

    assert done["created"]
    assert done["session"].startswith("openai-messages-other-")


def test_openai_messages_under_another_name_are_known_again(root: Path, tmp_path: Path) -> None:
    data = b'[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[]}]'
    ok("import", put(tmp_path / "one.json", data))

    done = ok("import", put(tmp_path / "two.json", data), "--json").object

    assert done["nothing_new"]
    assert len(list(root.iterdir())) == 1


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_calls_of_any_name_and_id_are_exported_as_the_api_takes_them(
    root: Path, shape: str
) -> None:
    nameless: Object = {"type": "toolcall", "id": "c", "function": {"name": "", "arguments": None}}
    dotted: Object = {"type": "toolcall", "id": "c", "function": {"name": "fs.read file"}}
    bare: Object = {"type": "toolcall", "id": "call_1|fc_" + "0" * 50}
    _session(
        root,
        message("user", "go"),
        _reply(nameless, dotted, bare),
        _user(_result("c", "one"), _result("c", "two"), _result(str(bare["id"]), "three")),
    )

    found = _exported(shape)

    check(shape, found)
    assert [text in str(found) for text in ("one", "two", "three", UNANSWERED)] == [True] * 3 + [
        False
    ]


def test_what_the_api_refuses_is_counted(tmp_path: Path) -> None:
    data = (
        b'[{"role":"user","content":null},{"role":"assistant","tool_calls":[{"function":{}}]},'
        b'{"role":"tool","content":"x"}]'
    )
    ok("import", put(tmp_path / "odd.json", data))

    done = ok("export", "@last", "--as", "messages")
    told = ok("export", "@last", "--as", "messages", "-o", tmp_path / "o.json", "--json").object

    check("openai", json.loads(done.stdout), back=True)
    assert "2 messages or calls put as the API asks" in done.err
    assert told["mended"] == 2
