"""What a newcomer trips over: the words of errors and hints, and what is told beside an export."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from tests.cli.running import header, join, ok, pushed, record, run, said, turns, write

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import JSON, Object

NAME = f"{hashlib.sha256(b'x').hexdigest()}.png"


def picture(media: str = "png", name: str = NAME) -> Object:
    data: JSON = {"type": "url", "value": f"blob:{name}"}
    return {"role": "user", "content": [{"type": "image", "media_type": media, "data": data}]}


def test_a_message_that_does_not_come_yet_is_not_found(root: Path) -> None:
    write(root, "one", "main", join(turns(3)))

    done = run("show", "one", "--from", "99")

    assert done.status == 3
    assert "there is no message 99; the last one is 2" in done.err
    assert ok("show", "one", "--to", "99").out == ok("show", "one").out


def test_an_end_before_the_beginning_is_no_window(root: Path) -> None:
    write(root, "one", "main", join(turns(3)))

    assert run("show", "one", "--from", "2", "--to", "1").status == 2
    assert ok("show", "one", "--from", "1", "--to", "1").out.startswith("#1 ")


def test_a_number_that_is_gone_is_where_the_next_one_begins(root: Path) -> None:
    write(root, "one", "main", join(turns(4)))
    ok("splice", "one", "1:2")

    assert ok("show", "one", "--from", "1").out.startswith("#2 ")


@pytest.mark.parametrize(
    ("words", "told", "hint"),
    [
        (["show", "one", "--last"], "requires an argument", "agentmem show --help"),
        (["--utc", "--root", ".", "show", "one", "--last"], "argument", "agentmem show --help"),
        (["core", "show", "one", "--as-of"], "requires an argument", "agentmem core --help"),
        (["--last"], "no such option", "agentmem --help"),
        (["show", "one", "--last", "x"], "'x' is not a whole number", "agentmem show --help"),
        (["show", "one", "--follow", "--interval", "x"], "'x' is not a number", "agentmem show"),
        (["grep", "-e", "x"], "no such option: -e", "goes behind --"),
        (["grep", "\udce6"], "the pattern is not UTF-8", "LC_ALL=C.UTF-8"),
        (["export", "one"], "missing option '--as'", "original, messages, jsonl, markdown, html"),
        (["schema", "nosuch"], "no such schema", "agentmem schema lists them"),
        (["schema", "sesion"], "no such schema", "Did you mean session?"),
        (["schema", "grep"], "no such schema", "grep prints agentmem.match/1, agentmem.match-c"),
    ],
)
def test_an_error_says_what_to_do(words: list[str], told: str, hint: str) -> None:
    done = run(*words)

    assert done.status in {2, 3}
    assert told in done.err
    assert hint in done.err.partition("\nhint: ")[2]


def test_one_message_stands_and_two_stand(root: Path) -> None:
    write(root, "one", "main", join(turns(2)))

    assert "1 message stands now" in ok("restore", "one", "m1").out
    assert "2 messages stand now" in ok("undo", "one").out


def test_an_agent_that_an_append_starts_is_called_new(root: Path) -> None:
    write(root, "one", "main", join(turns(2)))

    first = ok("append", "one", "--agent", "mian", "--role", "user", stdin=b"x")
    second = ok("append", "one", "--agent", "mian", "--role", "user", stdin=b"x")

    assert first.err.endswith("one, new agent mian\n")
    assert second.err.endswith("one, agent mian\n")


def test_a_message_that_names_a_blob_again_is_told_once(root: Path) -> None:
    write(root, "one", "main", join([header(), pushed(1, picture())]))
    ok("splice", "one", "0:")
    ok("undo", "one")

    row = ok("blobs", "one").out

    assert row.count("main:m0") == 1
    assert "more" not in row


def test_a_missing_picture_is_told_beside_the_page(root: Path) -> None:
    write(root, "one", "main", join([header(), pushed(1, picture())]))

    for form in ("html", "markdown"):
        assert "1 blob that is named is missing" in ok("export", "one", "--as", form).err
    assert "missing" not in ok("export", "one", "--as", "jsonl").err


def test_a_drawing_is_called_by_its_whole_type(root: Path) -> None:
    write(root, "one", "main", join([header(), pushed(1, picture("svg"))]))

    assert "[image/svg+xml, missing]" in ok("show", "one").out


def test_a_tar_of_a_damaged_session_says_that_it_is_damaged(root: Path) -> None:
    whole = write(root, "one", "main", join(turns(2)))
    assert ok("export", "one", "--as", "tar").err == ""
    whole.write_bytes(join([*turns(2), b'{"seq":3,', said(4, "x")]))

    done = ok("export", "one", "--as", "tar")

    assert "one/logs/main.jsonl, line 4" in done.err


def test_a_fold_of_other_records_is_no_damage(root: Path) -> None:
    lines = [*turns(1), record(2, "state", key="k", value=1)]
    write(root, "one", "main", join(lines))

    assert ok("export", "one", "--as", "tar").err == ""
