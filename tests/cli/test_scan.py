"""`agentmem scan`, with a detector that knows the made-up secrets of the tests."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft4Validator

from agentmem_cli.operations.secrets import engine
from tests.cli.running import header, join, message, ok, pushed, record, run, said, tree, write
from tests.secrets_made import StandIn, made, pem, token

if TYPE_CHECKING:
    from agentmem_cli.session.codec import Object
    from tests.cli.running import Done

SCHEMA = json.loads((Path(__file__).parents[1] / "data" / "sarif-2.1.0.json").read_bytes())

TOKEN = token(1)
PASSWORD = made(7, 14)


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "Detector", lambda **_: StandIn())


def session(root: Path, name: str = "one") -> Path:
    lines = [
        header(),
        said(1, f"use {TOKEN} please"),
        said(2, "nothing"),
        record(3, "state", key="k", value={"api_key": f"password={PASSWORD}"}),
    ]
    return write(root, name, "main", join(lines))


def found(done: Done) -> list[dict[str, Any]]:
    return [each for each in done.objects if each["schema"] == "agentmem.finding/1"]


def total(done: Done) -> dict[str, Any]:
    return done.objects[-1]


def hides(done: Done, *values: str) -> bool:
    """Whether nothing that was printed holds a value, or eight characters of one."""
    printed = done.stdout + done.stderr
    pieces = {value[at : at + 8] for value in values for at in range(len(value) - 7)}
    return not any(piece.encode() in printed for piece in pieces)


def test_a_finding_is_told_by_its_place_and_kind_and_never_by_its_value(root: Path) -> None:
    session(root)

    table, objects = run("scan", "one"), run("scan", "one", "--json")

    first, second = found(objects)
    assert table.status == objects.status == 1
    assert (first["file"], first["line"], first["seq"]) == ("logs/main.jsonl", 2, 1)
    assert (first["kind"], first["confidence"]) == ("vendor-token", "high")
    assert first["path"] == "entries[0].message.content[0].text"
    assert second["kind"] == "password"
    assert "vendor-token" in table.out
    assert "2 findings" in table.err
    assert hides(table, TOKEN, PASSWORD)
    assert hides(objects, TOKEN, PASSWORD)


def test_a_clean_session_is_0(root: Path) -> None:
    write(root, "one", "main", join([header(), said(1, "nothing")]))

    done = run("scan", "one", "--json")

    assert done.status == 0
    assert total(done)["clean"]
    assert total(done)["findings"] == 0


def test_a_scan_changes_nothing_and_takes_no_lock(root: Path) -> None:
    session(root)
    before = tree(root)

    run("scan", "--all")

    assert tree(root) == before


def test_every_kind_of_place_is_looked_at(root: Path) -> None:
    tokens = {name: token(at) for at, name in enumerate(PLACES, 10)}
    plant(root, tokens)

    done = run("scan", "one", "--json")

    at = {(each["file"], each["kind"]) for each in found(done)}
    assert done.status == 1
    assert len(found(done)) >= len(PLACES)
    assert hides(done, *tokens.values())
    assert {name for name, _ in at} >= {
        "logs/main.jsonl",
        "files/meta.json",
        "files/plugins/notes/a.json",
        "files/plugins/notes/b.jsonl",
        "files/recovered/main-0.part",
    }


PLACES = (
    "text", "past", "aside", "native", "key", "value", "author", "meta", "json", "jsonl",
    "recovered", "loser", "nested", "escaped",
)  # fmt: skip


_TAKEN_OUT: dict[str, Any] = {"from": 1, "to": 2, "removed": [1], "with": []}


def plant(root: Path, tokens: dict[str, str]) -> None:
    """A session with a secret in each of PLACES."""
    aside: Object = {
        "kind": "note", "author": {"kind": "user", "title": tokens["author"]}, "after": 0,
        "value": tokens["aside"],
    }  # fmt: skip
    inner = json.dumps({"out": json.dumps({"deep": tokens["nested"]})})  # noqa: TID251
    native: Object = {**message("assistant", inner), "native": {"item": [tokens["native"]]}}
    escaped = "".join(f"\\u{ord(each):04x}" for each in tokens["escaped"])
    loser = f'{{"x":"{tokens["loser"]}","x":"{escaped}"}}'.encode()
    lines = [
        header(),
        said(1, f"first {tokens['text']}"),
        said(2, f"gone {tokens['past']}"),
        record(3, "splice", **_TAKEN_OUT),
        record(4, "aside", id=0, aside=aside),
        record(5, "state", key=tokens["key"], value=tokens["value"]),
        pushed(6, native, id_=2),
        b'{"seq":7,"n":7,"t":1767225607000,"type":"state","key":"d","value":' + loser + b"}",
    ]
    write(root, "one", "main", join(lines))
    files = {
        "meta.json": b'{"title":"%s"}' % tokens["meta"].encode(),
        "plugins/notes/a.json": b'{\n "a": "%s"\n}\n' % tokens["json"].encode(),
        "plugins/notes/b.jsonl": b'{"a":1}\n{"b":"%s"}\n' % tokens["jsonl"].encode(),
        "recovered/main-0.part": b'{"torn":"%s' % tokens["recovered"].encode(),
    }
    for name, data in files.items():
        path = root / "one/files" / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_bytes(data)


def test_sarif_is_valid_and_tells_the_same_places(root: Path) -> None:
    session(root)

    done = run("scan", "--all", "--sarif")

    log = json.loads(done.stdout)
    results = log["runs"][0]["results"]
    assert done.status == 1
    assert list(Draft4Validator(SCHEMA).iter_errors(log)) == []
    assert [each["ruleId"] for each in results] == ["vendor-token", "password"]
    assert hides(done, TOKEN, PASSWORD)


@pytest.mark.parametrize(
    ("words", "kinds"),
    [
        (("--only", "password"), ["password"]),
        (("--skip", "password"), ["vendor-token"]),
        (("--skip", "password,vendor-token"), []),
        (("--only", "vendor-token", "--skip", "vendor-token"), []),
    ],
)
def test_kinds_are_chosen(root: Path, words: tuple[str, ...], kinds: list[str]) -> None:
    session(root)

    done = run("scan", "one", "--json", *words)

    assert [each["kind"] for each in found(done)] == kinds
    assert done.status == (1 if kinds else 0)


def test_what_is_not_sure_is_counted_and_listed_when_asked(root: Path) -> None:
    write(root, "one", "main", join([header(), said(1, f"pw is {PASSWORD}")]))

    plain, all_of_it = run("scan", "one", "--json"), run("scan", "one", "--json", "--aggressive")

    assert (plain.status, total(plain)["unsure"]) == (0, 1)
    assert (all_of_it.status, len(found(all_of_it))) == (1, 1)


def test_values_from_files_and_standard_input_are_found(root: Path, tmp_path: Path) -> None:
    write(root, "one", "main", join([header(), said(1, "it was Rosebud-77 then")]))
    values = tmp_path / "values"
    values.write_text("Rosebud-77\n\n")

    from_file = run("scan", "one", "--json", "--no-rules", "--literals", values)
    from_input = run("scan", "one", "--json", "--literals", "-", stdin=b"Rosebud-77")
    by_expression = run("scan", "one", "--json", "--regexes", "-", stdin=b"Rose\\w+-\\d+")

    assert [len(found(each)) for each in (from_file, from_input, by_expression)] == [1, 1, 1]
    assert "1 empty line passed over" in from_file.err
    assert hides(from_file, "Rosebud-77")


def test_the_values_of_an_env_file_are_found(root: Path, tmp_path: Path) -> None:
    write(root, "one", "main", join([header(), said(1, f"connects with {PASSWORD} now")]))
    env = tmp_path / "vars"
    env.write_text(f"# x\nexport DB='{PASSWORD}'\n")

    done = run("scan", "one", "--json", "--env-file", env)

    assert len(found(done)) == 1
    assert hides(done, PASSWORD)


def test_a_bad_expression_is_told_by_its_line(root: Path) -> None:
    session(root)

    done = run("scan", "one", "--regexes", "-", stdin=b"fine\n(bad\n")

    assert done.status == 2
    assert "standard input, line 2" in done.err


def test_a_value_is_kept_by_its_fingerprint(root: Path) -> None:
    session(root)
    mark = found(run("scan", "one", "--json"))[0]["fingerprint"]

    done = run("scan", "one", "--json", "--keep", mark)

    assert [each["kind"] for each in found(done)] == ["password"]
    assert total(done)["kept"] == 1


def test_an_allow_list_holds_no_value_and_works_without_the_key(root: Path, tmp_path: Path) -> None:
    session(root)
    listed = tmp_path / "allowed.json"
    added = ok("scan", "one", "--allow-add", listed)
    (tmp_path / "config" / "mask.key").unlink()

    done = run("scan", "one", "--json", "--allow", listed)
    again = ok("scan", "one", "--allow-add", listed)

    assert done.status == 0
    assert total(done)["kept"] == 2
    assert "2 values added, 2 in all" in added.err
    assert "0 values added, 2 in all" in again.err
    assert TOKEN not in listed.read_text()


def test_sarif_marks_what_is_allowed_as_suppressed(root: Path, tmp_path: Path) -> None:
    session(root)
    listed = tmp_path / "allowed.json"
    ok("scan", "one", "--allow-add", listed)

    done = run("scan", "one", "--sarif", "--allow", listed)

    log = json.loads(done.stdout)
    assert done.status == 0
    assert all("suppressions" in each for each in log["runs"][0]["results"])
    assert list(Draft4Validator(SCHEMA).iter_errors(log)) == []


def test_without_fingerprints_none_is_printed_and_no_key_is_made(
    root: Path, tmp_path: Path
) -> None:
    session(root)

    done = run("scan", "one", "--json", "--no-fingerprint")

    assert {each["fingerprint"] for each in found(done)} == {None}
    assert not (tmp_path / "config").exists()


def test_a_key_that_cannot_be_had_is_no_failure_of_a_look(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session(root)
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("AGENTMEM_CONFIG", str(tmp_path / "file" / "below"))

    done = run("scan", "one", "--json")

    assert done.status == 1
    assert {each["fingerprint"] for each in found(done)} == {None}


def test_names_are_looked_at_and_not_printed(root: Path) -> None:
    write(root, TOKEN, "main", join([header(), said(1, "x")]))
    write(root, "one", TOKEN, join([header(TOKEN), said(1, "x")]))

    done = run("scan", "--all", "--json")

    assert done.status == 1
    assert {each["fate"] for each in found(done)} >= {"name"}
    assert hides(done, TOKEN)


def test_bytes_that_are_no_text_are_looked_at(root: Path) -> None:
    session(root)
    blob = root / "one/files/blobs" / f"{'0' * 64}.png"
    blob.parent.mkdir(parents=True)
    blob.write_bytes(b"\x89PNG\r\n\0\0" + TOKEN.encode() + b"\0")

    done = run("scan", "one", "--json")

    assert [each["fate"] for each in found(done) if "blobs" in each["file"]] == ["bytes"]


# -- files -----------------------------------------------------------------


def folder(tmp_path: Path) -> Path:
    path = tmp_path / "t"
    (path / ".git").mkdir(parents=True)
    (path / "sub").mkdir()
    (path / "a.jsonl").write_bytes(b'{"a":"%s"}\n' % TOKEN.encode())
    (path / "sub" / "b.log").write_bytes(b"x\npassword: %s\n" % PASSWORD.encode())
    (path / "c.txt").write_bytes(b"nothing\n")
    (path / ".git" / "d").write_bytes(TOKEN.encode())
    return path


def test_files_and_folders_are_scanned(tmp_path: Path) -> None:
    path = folder(tmp_path)

    done = run("scan", "--files", path, "--json")

    places = [(each["file"], each["line"]) for each in found(done)]
    assert done.status == 1
    assert places == [(str(path / "a.jsonl"), 1), (str(path / "sub" / "b.log"), 2)]
    assert total(done)["targets"] == 3


def test_patterns_stand_for_files(tmp_path: Path) -> None:
    path = folder(tmp_path)

    done = run("scan", "--files", path / "**" / "*.log", "--json")

    assert [each["kind"] for each in found(done)] == ["password"]


def test_a_link_in_a_folder_is_told_and_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.mkdir()
    (path / "link").symlink_to(tmp_path / "elsewhere")

    done = run("scan", "--files", path, "--json")

    assert done.status == 1
    assert done.objects[0]["why"] == "a symbolic link"


def test_a_file_that_is_packed_is_told_as_unread(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(b"\x1f\x8b\x08" + b"\0" * 40)

    done = run("scan", "--files", path, "--json")

    assert done.status == 1
    assert "packed by gzip" in done.objects[0]["why"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"])
def test_text_in_wide_characters_is_told_as_unread_and_left_whole(
    root: Path, tmp_path: Path, encoding: str
) -> None:
    data = f"password = {PASSWORD}\r\n{TOKEN}\r\n".encode(encoding)
    file = tmp_path / "shell.log"
    file.write_bytes(data)
    session(root)
    kept = root / "one" / "files" / "plugins" / "shell.txt"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(data)

    alone = run("scan", "--files", file)
    done = run("redact", "one", "--yes", "--force")

    assert alone.status == done.status == 1
    assert "write it as UTF-8" in alone.err
    assert "write it as UTF-8" in done.err
    assert kept.read_bytes() == data


def test_one_file_that_cannot_be_read_does_not_stop_the_others(tmp_path: Path) -> None:
    path = folder(tmp_path)
    link = tmp_path / "link"
    link.symlink_to(path / "a.jsonl")

    done = run("scan", "--files", link, path / "a.jsonl", "--json")

    assert done.status == 2
    assert len(found(done)) == 1
    assert [each["file"] for each in done.objects if each["schema"] == "agentmem.failed/1"] == [
        str(link)
    ]


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (("nothing",), 3, "no such session"),
        (("one", "--all"), 2, "sessions are named"),
        (("one", "--since", "1d"), 2, "--all is not given"),
        (("--files",), 2, "names no file"),
        (("--files", "-"), 2, "standard input is no file"),
        (("--files", "one", "--all"), 2, "--files works on files"),
        (("one", "--json", "--sarif"), 2, "two forms"),
        (("one", "--pii", "shoes"), 2, "--pii"),
        (("one", "--keep", "hunter2hunter2"), 2, "--keep takes the 8 digits"),
        (("one", "--no-rules"), 2, "nothing to look for"),
        (("one", "--no-rules", "--pii", "email"), 2, "--pii looks by rules"),
        (("one", "--allow", "a", "--allow-add", "b"), 2, "goes on with its own"),
        (("one", "--allow", "nowhere"), 3, "nowhere"),
        (("one", "--literals", "-", "--regexes", "-"), 2, "named twice"),
        (("one", "--only", ""), 2, "--only is empty"),
        (("one", "--only", "pasword"), 2, "Near it: password."),
        (("one", "--skip", "shoes"), 2, "'shoes' is no kind"),
        (("one", "--only", "email"), 2, "--pii email looks for it"),
        (("one", "--jobs", "0"), 2, "--jobs"),
    ],
)
def test_words_that_do_not_fit_are_refused(
    root: Path, words: tuple[str, ...], status: int, told: str
) -> None:
    session(root)

    done = run("scan", *words)

    assert done.status == status
    assert told in done.err
    assert "hunter2" not in done.err


def test_a_file_or_folder_that_is_no_session_is_told_what_is_for_files(
    root: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "transcripts"
    folder.mkdir()
    (folder / "a.jsonl").write_text(TOKEN)

    for words in (folder, folder / "a.jsonl"):
        done = run("scan", words)

        assert done.status == 3
        assert "--files" in done.err


def test_of_several_sessions_each_finding_names_its_own(root: Path) -> None:
    session(root, "clean-not")
    write(root, "clean", "main", join([header(), said(1, "nothing")]))

    done = run("scan", "--all")

    assert "clean-not logs/main.jsonl:" in done.out


def test_every_file_that_fails_is_told(tmp_path: Path) -> None:
    links = [tmp_path / "one", tmp_path / "two"]
    for link in links:
        link.symlink_to("nowhere")

    done = run("scan", "--files", *links)

    assert [link.name for link in links if str(link) not in done.err] == []


def test_filters_choose_among_all_sessions(root: Path) -> None:
    session(root, "old")
    lines = [header(t=1), said(1, TOKEN, t=2)]
    write(root, "older", "main", join(lines))

    done = run("scan", "--all", "--since", "2026-01-01", "--json")

    assert {each["session"] for each in found(done)} == {"old"}


def test_a_damaged_line_is_looked_at_as_text(root: Path) -> None:
    data = join([header(), b"junk " + TOKEN.encode(), said(2, "x")])
    write(root, "one", "main", data + b'{"torn": "' + pem(3).encode()[:400])

    done = run("scan", "one", "--json")

    kinds = [each["kind"] for each in found(done)]
    assert kinds == ["vendor-token", "private-key"]


def test_base64_inside_a_string_is_looked_into(root: Path) -> None:
    text = base64.b64encode(f"see {TOKEN} there".encode()).decode()
    write(root, "one", "main", join([header(), said(1, text)]))

    done = run("scan", "one", "--json")

    assert len(found(done)) == 1


def test_a_mistake_of_ours_repeats_nothing_of_what_was_read(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session(root)

    def scan(self: StandIn, data: bytes) -> None:
        raise KeyError(data)

    monkeypatch.setattr(StandIn, "scan", scan)

    done = run("--debug", "scan", "one")

    assert done.status == 2
    assert "KeyError" in done.err
    assert hides(done, TOKEN, PASSWORD)


def test_nothing_in_a_folder_of_no_files_is_clean(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()

    done = ok("scan", "--files", tmp_path / "t", "--json")

    assert total(done)["clean"]


def test_files_named_twice_are_scanned_once(tmp_path: Path) -> None:
    path = folder(tmp_path)

    done = run("scan", "--files", path / "a.jsonl", path / "a.jsonl", "--json")

    assert len(found(done)) == 1


@pytest.mark.parametrize("words", [[], ["--all"], ["--larger", "1"]])
def test_without_a_session_all_of_them_are_looked_at(root: Path, words: list[str]) -> None:
    session(root, "one")
    session(root, "two")

    done = run("scan", *words, "--json")

    assert done.status == 1
    assert {each["session"] for each in found(done)} == {"one", "two"}
    assert total(done)["schema"] == "agentmem.scan/1"
