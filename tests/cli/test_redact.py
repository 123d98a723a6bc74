"""`agentmem redact`, with a detector that knows the made-up secrets of the tests."""

from __future__ import annotations

import errno
import json
import os
import re
from base64 import b64encode
from typing import TYPE_CHECKING, Any

import pytest

from agentmem_cli.operations.secrets import engine, pool
from agentmem_cli.session.codec import dumps
from agentmem_cli.storage import swapping
from tests.cli.running import header, join, message, ok, pushed, run, said, tree, write
from tests.cli.test_scan import PASSWORD, PLACES, TOKEN, found, hides, plant, session
from tests.secrets_made import StandIn, made, token

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.operations.secrets.looking import Looking
    from agentmem_cli.operations.secrets.working import How, Outcome, Target
    from agentmem_cli.session.codec import Object
    from tests.cli.running import Done

OLD_NS = 1_600_000_000_000_000_000


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "Detector", lambda **_: StandIn())


def everything(folder: Path) -> bytes:
    """All bytes beneath a folder, and all names."""
    paths = list(folder.rglob("*"))
    data = b"\n".join(path.read_bytes() for path in paths if path.is_file())
    return data + b"\n".join(str(path.relative_to(folder)).encode() for path in paths)


def redact(*words: str | Path, stdin: bytes = b"") -> Done:
    return run("redact", *words, "--yes", "--force", "--json", stdin=stdin)


def outcome(done: Done) -> dict[str, Any]:
    (one,) = [each for each in done.objects if each["schema"] == "agentmem.redact/1"]
    return one


def test_values_are_masked_and_the_session_reads_as_before(root: Path) -> None:
    log = session(root)
    stamps = [each["n"] for each in ok("log", "one", "--all", "--json").objects[1:]]
    unchanged = log.read_bytes().splitlines()[2]

    done = redact("one")

    assert done.status == 0
    assert outcome(done)["masks"] == {"password": 1, "vendor-token": 1}
    assert TOKEN.encode() not in everything(root)
    assert b"use [REDACTED:vendor-token:" in log.read_bytes()
    assert log.read_bytes().splitlines()[2] == unchanged
    assert [each["n"] for each in ok("log", "one", "--all", "--json").objects[1:]] == stamps
    assert hides(done, TOKEN, PASSWORD)


def test_every_kind_of_place_is_masked(root: Path) -> None:
    tokens = {name: token(at) for at, name in enumerate(PLACES, 10)}
    plant(root, tokens)

    done = redact("one")

    left = everything(root)
    assert done.status == 0
    assert [name for name, value in tokens.items() if value.encode() in left] == []
    assert hides(done, *tokens.values())


def test_a_second_run_changes_nothing(root: Path) -> None:
    session(root)
    redact("one")
    before = tree(root)

    done = redact("one")

    assert done.status == 0
    assert not outcome(done)["changed"]
    assert tree(root) == before


def test_a_dry_run_shows_the_plan_and_changes_nothing(root: Path) -> None:
    session(root)
    before = tree(root)

    done = ok("redact", "one", "--dry-run", "--json")

    assert len(found(done)) == 2
    assert tree(root) == before
    assert "dry run" in done.err


def test_nobody_to_ask_needs_yes_before_any_work(root: Path) -> None:
    session(root)
    before = tree(root)

    done = run("redact", "one")

    assert done.status == 2
    assert "--yes" in done.err
    assert tree(root) == before


def test_verify_only_looks_and_says_what_that_is_worth(root: Path) -> None:
    session(root)
    first = run("redact", "one", "--verify")
    redact("one")
    second = run("redact", "one", "--verify")

    assert (first.status, second.status) == (1, 0)
    assert "only looked again" in second.err


def test_the_receipt_says_where_and_how_many_and_nothing_of_what(
    root: Path, tmp_path: Path
) -> None:
    session(root)
    file = tmp_path / "receipts"

    ok("redact", "one", "--yes", "--force", "--receipt", file)
    ok("redact", "one", "--yes", "--force", "--receipt", file)

    first, second = map(json.loads, file.read_bytes().splitlines())
    (target,) = first["targets"]
    assert first["schema"] == "agentmem.receipt/1"
    assert first["masks"] == {"password": 1, "vendor-token": 1}
    assert target["session"] == "one"
    assert target["changed"][0]["in"] == "logs/main.jsonl"
    assert target["changed"][0]["n"] == [1, 3]
    assert set(target["changed"][0]) == {"in", "n", "before_keyed", "after"}
    assert second["changed"] == 0
    assert TOKEN not in file.read_text()
    assert file.stat().st_mode & 0o077 == 0


def test_a_receipt_that_cannot_be_written_stops_before_any_work(root: Path, tmp_path: Path) -> None:
    session(root)
    before = tree(root)

    done = run("redact", "one", "--yes", "--force", "--receipt", tmp_path / "no" / "r")

    assert done.status == 3
    assert tree(root) == before


def test_literals_alone_are_masked_without_rules(root: Path) -> None:
    log = write(root, "one", "main", join([header(), said(1, "Rosebud-77 and rosebud")]))

    done = redact("one", "--no-rules", "--literals", "-", stdin=b"Rosebud-77")

    assert done.status == 0
    assert b"Rosebud" not in everything(root)
    assert b":literal:" in log.read_bytes()


def test_masks_have_no_digits_when_none_are_wanted(root: Path) -> None:
    log = session(root)

    redact("one", "--no-fingerprint")

    assert b"[REDACTED:vendor-token]" in log.read_bytes()


def test_a_value_is_kept_by_its_fingerprint(root: Path) -> None:
    session(root)
    mark = found(run("scan", "one", "--json"))[0]["fingerprint"]

    redact("one", "--keep", mark)

    assert TOKEN.encode() in everything(root)
    assert PASSWORD.encode() not in everything(root)


def test_what_stays_on_purpose_is_told_and_is_1_unless_allowed(root: Path) -> None:
    value: Object = {**message("user", "x"), "id": TOKEN}
    lines = [header(), said(1, TOKEN), pushed(2, value, id_=1)]
    write(root, "one", "main", join(lines))
    blob = root / "one/files/blobs" / f"{'0' * 64}.png"
    blob.parent.mkdir(parents=True)
    blob.write_bytes(b"\x89PNG\r\n\0\0" + TOKEN.encode() + b"\0")

    done, allowed = redact("one"), redact("one", "--allow-unread")

    assert done.status == 1
    assert {each["fate"] for each in outcome(done)["left"]} >= {"bytes"}
    assert allowed.status == 0
    assert hides(done, TOKEN)


def test_blobs_are_given_up_when_asked(root: Path) -> None:
    data = b"\x89PNG\r\n\0\0" + TOKEN.encode() + b"\0"
    name = f"{'0' * 64}.png"
    image: Object = {
        "type": "image",
        "data": {"type": "url", "value": f"blob:{name}"},
        "media_type": "image/png",
    }
    value: Object = {"role": "user", "content": [image]}
    write(root, "one", "main", join([header(), pushed(1, value)]))
    blob = root / "one/files/blobs" / name
    blob.parent.mkdir(parents=True)
    blob.write_bytes(data)

    kept = redact("one")
    done = run("redact", "one", "--drop-blobs", "--yes", "--force")
    objects = redact("one", "--drop-blobs")

    assert outcome(kept)["dropped"] == outcome(objects)["dropped"] == []
    assert "one: 1 blob given up; proven: no masked value is left" in done.out
    assert f"given up: files/blobs/{name}" in done.out
    assert done.status == 0
    assert not blob.exists()
    assert ok("show", "one").status == 0


@pytest.mark.parametrize("named", [True, False])
def test_a_blob_in_which_a_value_stands_that_no_rule_knows_there_is_given_up(
    root: Path, *, named: bool
) -> None:
    value = PASSWORD
    write(root, "one", "main", join([header(), said(1, f"password={value}")]))
    data: Object = {"type": "base64", "value": b64encode(b"\x89PNG\r\n" + value.encode()).decode()}
    part: Object = {"type": "image", "data": data, "media_type": "png"}
    given: Object = {"role": "user", "content": [part]}
    ok("append", "one", stdin=dumps(given) + b"\n")
    (blob,) = (root / "one/files/blobs").iterdir()
    words = ("--no-rules", "--literals", "-") if named else ()

    done = redact("one", "--drop-blobs", *words, stdin=value.encode() if named else b"")

    assert outcome(done)["dropped"] == [f"files/blobs/{blob.name}"]
    assert done.status == 0
    assert not blob.exists()


def test_signatures_of_changed_thinking_go(root: Path) -> None:
    part: Object = {"type": "thinking", "thinking": f"so {TOKEN}", "signature": "EqABCDEF"}
    other: Object = {"type": "thinking", "thinking": "fine", "signature": "EqSTAYS"}
    texts: Object = {"type": "text", "text": f"so {TOKEN}"}
    ours: Object = {"type": "reasoning", "content": [texts], "signature": "EqINTEXTS"}
    value: Object = {"role": "assistant", "content": [part, other, ours]}
    log = write(root, "one", "main", join([header(), pushed(1, value)]))

    done = redact("one")

    assert outcome(done)["signatures_removed"] == 2
    assert b"EqABCDEF" not in log.read_bytes()
    assert b"EqINTEXTS" not in log.read_bytes()
    assert b"EqSTAYS" in log.read_bytes()


def test_a_damaged_log_is_refused_or_masked_as_text(root: Path) -> None:
    log = write(root, "one", "main", join([header(), b"junk " + TOKEN.encode(), said(2, "x")]))
    before = log.read_bytes()

    refused = redact("one")
    kept = log.read_bytes()
    done = redact("one", "--damaged", "as-text")

    assert refused.status == 5
    assert kept == before
    assert outcome(done)["changed"]
    assert TOKEN.encode() not in everything(root)


def test_a_session_that_another_program_just_wrote_is_refused(root: Path) -> None:
    session(root)

    done = run("redact", "one", "--yes")
    ok("redact", "one", "--yes", "--if-idle", "0s")

    assert done.status == 4
    assert "another program" in done.err


def test_what_this_program_wrote_last_is_never_refused(root: Path) -> None:
    ok("new", "one")
    ok("append", "one", "--role", "user", stdin=TOKEN.encode())

    ok("redact", "one", "--yes")

    assert TOKEN.encode() not in everything(root)


def test_a_session_in_a_folder_that_cannot_be_written_is_left(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session(root)
    before = tree(root)

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), "one")

    monkeypatch.setattr("agentmem_cli.storage.files.Folder.write_new", refuse)
    monkeypatch.setattr("agentmem_cli.storage.files.Folder.add", refuse)

    done = run("redact", "one", "--yes", "--force")

    assert done.status == 2
    assert "Read-only" in done.err
    logs = {name: each[3] for name, each in tree(root).items() if "logs/" in name}
    assert logs == {name: each[3] for name, each in before.items() if "logs/" in name}


def test_all_sessions_are_redacted_and_one_that_fails_is_told(root: Path) -> None:
    session(root, "a")
    write(root, "b", "main", join([header(), b"junk", said(2, TOKEN)]))
    session(root, "c")

    done = redact("--all")

    changed = [each["session"] for each in done.objects if each["schema"] == "agentmem.redact/1"]
    failed = [each["session"] for each in done.objects if each["schema"] == "agentmem.failed/1"]
    assert done.status == 5
    assert (changed, failed) == (["a", "c"], ["b"])
    assert TOKEN.encode() not in everything(root / "c")


def test_every_session_that_fails_is_told_and_what_to_do(root: Path) -> None:
    session(root, "a")
    for name in ("b", "c"):
        write(root, name, "main", join([header(), b"junk", said(2, TOKEN)]))

    done = run("redact", "--all", "--yes", "--force")

    assert done.status == 5
    assert [name for name in "bc" if f"agentmem: {name}: " not in done.err] == []
    assert done.err.count("--damaged as-text") == 2


def test_no_name_with_a_secret_in_it_is_told_whatever_becomes_of_it(
    root: Path, tmp_path: Path
) -> None:
    names = [token(at) for at in range(20, 25)]
    write(root, f"bad-{names[0]}", "main", join([header(), b"junk", said(2, TOKEN)]))
    write(root, f"good-{names[1]}", "main", join([header(), said(1, "nothing")]))
    folder = tmp_path / names[2]
    folder.mkdir()
    (folder / f"{names[3]}.log").write_text("nothing")
    (folder / f"{names[4]}.log").write_text(TOKEN)
    (folder / f"link-{names[4]}").symlink_to("nowhere")

    told = [
        run("redact", *words, *form, "--receipt", tmp_path / "receipt")
        for form in (("--yes",), ("--yes", "--json"))
        for words in (
            ("--all",),
            ("bad",),
            ("--files", folder),
            ("--files", folder / f"{names[4]}.log"),
            ("--files", folder / f"{names[4]}.log", folder / f"link-{names[4]}"),
        )
    ]
    told += [run("scan", "--all"), run("scan", "--files", folder, "--sarif")]

    kept = (tmp_path / "receipt").read_text()
    assert [done.out + done.err for done in told if not hides(done, *names)] == []
    assert [name for name in names if name in kept] == []


def test_a_receipt_counts_what_changed_and_not_what_was_looked_at(
    root: Path, tmp_path: Path
) -> None:
    session(root, "a")
    write(root, f"b-{token(20)}", "main", join([header(), said(1, "nothing")]))

    run("redact", "--all", "--yes", "--force", "--receipt", tmp_path / "receipt")
    run("redact", "--all", "--yes", "--force", "--receipt", tmp_path / "receipt")

    lines = (tmp_path / "receipt").read_text().splitlines()
    receipts = [json.loads(line) for line in lines]
    assert [(each["changed"], each["unchanged"]) for each in receipts] == [(1, 1), (0, 2)]


def test_a_receipt_counts_values_that_are_masked_in_their_place_alone(root: Path) -> None:
    words = [said(n, f"password={word}") for n, word in enumerate(("postgres", "welcome"), 1)]
    write(root, "one", "main", join([header(), *words]))

    done = run("redact", "one", "--yes", "--force")

    assert "2 masks" in done.out
    assert "2 different values" in done.out


def test_names_cannot_be_masked_and_rename_helps(root: Path) -> None:
    write(root, "one", TOKEN, join([header(TOKEN), said(1, TOKEN)]))

    done = run("redact", "one", "--yes", "--force")
    ok("rename", "one", "--agent", f"{TOKEN[:8]}=agent", "--force")
    again = redact("one")

    assert done.status == 1
    assert "rename gives another" in done.out
    assert hides(done, TOKEN)
    assert again.status == 0
    assert TOKEN.encode() not in everything(root)


def test_the_sources_of_an_import_are_named(root: Path, tmp_path: Path) -> None:
    source = tmp_path / "talk.jsonl"
    lines: list[Object] = [
        {"type": "session", "version": 3, "id": "s1", "timestamp": "2026-06-09T14:02:11.204Z"},
        {
            "type": "message", "id": "m1", "timestamp": "2026-06-09T14:02:12.204Z",
            "message": {"role": "user", "content": TOKEN},
        },
    ]  # fmt: skip
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))  # noqa: TID251
    ok("import", source)

    done = run("redact", "@last", "--yes")

    assert done.status == 0
    assert "still holds what it held: talk.jsonl" in done.err
    assert "Masking does not revoke" in done.err
    assert TOKEN.encode() not in everything(root)
    assert TOKEN in source.read_text()


# -- files -----------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"n": 1.10}\n{"a": "use %s"}\n' % TOKEN.encode())
    path.chmod(0o640)
    os.utime(path, ns=(OLD_NS, OLD_NS))
    return path


def test_a_file_is_masked_where_it_stands(file: Path) -> None:
    before = file.stat()

    done = run("redact", "--files", file, "--yes", "--json")

    after = file.stat()
    assert done.status == 0
    assert file.read_bytes().startswith(b'{"n": 1.10}\n{"a": "use [REDACTED:vendor-token:')
    assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)
    assert outcome(done)["masks"] == {"vendor-token": 1}
    assert hides(done, TOKEN)


def test_a_file_without_a_finding_is_not_written(file: Path) -> None:
    file.write_bytes(b"{}\n")
    os.utime(file, ns=(OLD_NS, OLD_NS))
    before = file.stat()

    ok("redact", "--files", file, "--yes")

    assert file.stat().st_ino == before.st_ino


@pytest.mark.parametrize("extra", [(), ("--dry-run",)])
def test_a_file_is_left_without_yes(file: Path, extra: tuple[str, ...]) -> None:
    before = file.read_bytes()

    done = run("redact", "--files", file, *extra)

    assert done.status == (0 if extra else 2)
    assert file.read_bytes() == before


def test_a_file_that_was_just_changed_is_refused(file: Path) -> None:
    file.touch()
    before = file.read_bytes()

    done = run("redact", "--files", file, "--yes")

    assert done.status == 4
    assert file.read_bytes() == before


def test_a_link_is_refused_whatever_is_given(file: Path) -> None:
    link = file.with_name("link")
    link.symlink_to(file)

    done = run("redact", "--files", link, "--yes", "--force")

    assert done.status == 2
    assert TOKEN.encode() in file.read_bytes()


@pytest.mark.parametrize("name", [".env", ".env.local", "prod.env", ".npmrc", "id_rsa"])
def test_a_file_that_programs_read_keys_from_needs_force(file: Path, name: str) -> None:
    target = file.with_name(name)
    target.write_bytes(b"API_KEY=%s\n" % TOKEN.encode())
    os.utime(target, ns=(OLD_NS, OLD_NS))

    done = run("redact", "--files", target, "--yes")
    kept = target.read_bytes()
    ok("redact", "--files", target, "--yes", "--force")

    assert done.status == 4
    assert TOKEN.encode() in kept
    assert TOKEN.encode() not in target.read_bytes()


def test_a_file_with_another_name_needs_force(file: Path) -> None:
    os.link(file, file.with_name("b.jsonl"))

    done = run("redact", "--files", file, "--yes")

    assert done.status == 4
    assert "2 names" in done.err


def test_a_file_of_a_session_is_refused_as_a_file(root: Path) -> None:
    ok("new", "one")
    ok("append", "one", "--role", "user", stdin=TOKEN.encode())
    log = root / "one/logs/main.jsonl"
    os.utime(log, ns=(OLD_NS, OLD_NS))

    done = run("redact", "--files", log, "--yes")

    assert done.status == 2
    assert "belongs to the session" in done.err


def test_a_file_that_grows_while_it_is_read_is_begun_again(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = token(5)
    install = swapping.Swap.install
    times: list[int] = []

    def grow(self: swapping.Swap) -> bool:
        if not times:
            with file.open("ab") as more:
                more.write(b'{"b": "%s"}\n' % other.encode())
            os.utime(file, ns=(OLD_NS, OLD_NS + 1))
        times.append(1)
        return install(self)

    monkeypatch.setattr(swapping.Swap, "install", grow)

    ok("redact", "--files", file, "--yes")

    data = file.read_bytes()
    assert len(times) == 2
    assert data.count(b"[REDACTED:vendor-token:") == 2
    assert TOKEN.encode() not in data
    assert other.encode() not in data


def test_a_file_that_never_stands_still_is_left(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = file.read_bytes()
    monkeypatch.setattr(swapping.Swap, "install", lambda _: False)

    done = run("redact", "--files", file, "--yes")

    assert done.status == 4
    assert "keeps writing" in done.err
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir() if "rig-part" in path.name] == []


def test_no_space_leaves_the_file_as_it_was(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = file.read_bytes()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(swapping, "write_whole", full)

    done = run("redact", "--files", file, "--yes")

    assert done.status == 2
    assert "No space left" in done.err
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir() if "rig-part" in path.name] == []


def test_a_folder_is_masked_and_a_binary_file_in_it_is_told(file: Path) -> None:
    packed = file.with_name("b.bin")
    packed.write_bytes(b"\0\1" + TOKEN.encode() + b"\0")
    os.utime(packed, ns=(OLD_NS, OLD_NS))

    done = run("redact", "--files", file.parent / "*.*", "--yes", "--json")

    assert done.status == 1
    assert TOKEN.encode() not in file.read_bytes()
    assert packed.read_bytes() == b"\0\1" + TOKEN.encode() + b"\0"


def test_values_of_a_literal_file_are_masked_in_files(file: Path) -> None:
    secret = made(3, 12)
    file.write_bytes(b'"%s" "x"\n' % secret.encode())
    os.utime(file, ns=(OLD_NS, OLD_NS))

    done = redact("--files", file, "--no-rules", "--literals", "-", stdin=secret.encode())

    assert done.status == 0
    assert secret.encode() not in file.read_bytes()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("one", "--damaged", "drop"), "--damaged"),
        (("one", "--if-idle", "soon"), "no length of time"),
        ((), "no session is named"),
        (("--files", "-"), "standard input is no file"),
        (("one", "--no-fingerprint", "--keep", "00112233"), "makes none"),
    ],
)
def test_words_that_do_not_fit_are_refused(root: Path, words: tuple[str, ...], told: str) -> None:
    session(root)

    done = run("redact", *words, "--yes")

    assert done.status == 2
    assert told in done.err


def test_a_key_that_cannot_be_had_stops_a_redaction(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session(root)
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("AGENTMEM_CONFIG", str(tmp_path / "file" / "below"))

    refused = redact("one")
    without = redact("one", "--no-fingerprint")

    assert refused.status == 2
    assert "--no-fingerprint" in refused.err
    assert without.status == 0


def test_the_key_of_masks_is_private_and_one_secret_has_one_mask(
    root: Path, tmp_path: Path
) -> None:
    log = write(root, "one", "main", join([header(), said(1, TOKEN), said(2, f"and {TOKEN}")]))

    redact("one")

    masks = {word for word in log.read_text().split('"') if "REDACTED" in word}
    key = tmp_path / "config" / "mask.key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert len({word[word.index("[") :] for word in masks}) == 1


def test_a_run_that_is_interrupted_says_what_it_changed(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        session(root, name)
    real, receipt = pool.attempt, tmp_path / "receipt"

    def attempt(each: Target, how: How, looking: Looking, advance: Any) -> Outcome:  # noqa: ANN401 - as it is given
        if each.id == "b":
            raise KeyboardInterrupt
        return real(each, how, looking, advance)

    monkeypatch.setattr(pool, "attempt", attempt)
    done = run("redact", "--all", "--yes", "--force", "--receipt", receipt)
    again = run("redact", "--all", "--yes", "--force", "--json")

    told = json.loads(receipt.read_bytes())
    assert done.status == again.status == 130
    assert "a: 2 masks" in done.out
    assert "b: was being worked on; it is as it was" in done.err
    assert "Ended early: 1 of 3 sessions changed." in done.err
    assert told["changed"] == 1
    assert told["stopped"] == [{"target": "b", "state": "unchanged"}]
    assert again.objects[-1]["stopped"] == told["stopped"]
    assert hides(done, TOKEN, PASSWORD)


def _written(value: str) -> bytes:
    """A log in which one secret stands bare, in an address, twice in one, and under two names."""
    once = value.replace("/", "%2F")
    twice = once.replace("%", "%25")
    said_ = [f"password={once} q={value}", f"api_key={value}", f"so {once} and {twice}", value]
    return join([header(), *(said(seq, text) for seq, text in enumerate(said_, 1))])


def test_one_secret_has_one_mask_however_it_is_written(root: Path) -> None:
    value = "q9/zzXX81kkW"
    log = write(root, "one", "main", _written(value))

    done = redact("one")

    masks = set(re.findall(rb"\[REDACTED:[a-z0-9:-]+\]", log.read_bytes()))
    assert done.status == 0
    assert len(masks) == 1
    assert outcome(done)["masks"] == {"password": 6}
    assert done.objects[-1]["targets"][0]["values"] == 1
    assert not re.search(rb"zzXX81kkW", everything(root))


def test_a_mark_to_keep_keeps_every_writing(root: Path, tmp_path: Path) -> None:
    log = write(root, "one", "main", _written("q9/zzXX81kkW"))
    before = log.read_bytes()
    marks = {each["fingerprint"] for each in found(run("scan", "one", "--json"))}
    allowed = tmp_path / "allowed"
    run("scan", "one", "--allow-add", allowed)

    (mark,) = marks
    kept = redact("one", "--keep", mark)
    listed = redact("one", "--allow", allowed)

    assert kept.status == listed.status == 0
    assert log.read_bytes() == before
    assert len(json.loads(allowed.read_bytes())["allowed"]) == 1


def test_a_secret_that_is_named_twice_has_one_mask(root: Path, tmp_path: Path) -> None:
    lines = [header(), said(1, f"password={PASSWORD}"), said(2, f"see {PASSWORD}")]
    log = write(root, "one", "main", join(lines))
    literals = tmp_path / "literals"
    literals.write_text(PASSWORD)

    redact("one", "--literals", literals)

    masks = re.findall(rb"\[REDACTED:[a-z0-9:-]+\]", log.read_bytes())
    assert len(masks) == 2
    assert len(set(masks)) == 1
