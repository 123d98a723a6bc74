"""Files of messages, which bear no id: which of them are one session, and which are two."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.errors import ConflictError, DamageError
from agentmem_cli.session.codec import dumps
from tests.cli.running import ok
from tests.unit.imports.building import put, store_of, take

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agentmem_cli.operations.imports.report import Report
    from agentmem_cli.session.codec import Object

    _Form = Callable[[int], bytes]

TALK: list[Object] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Why?"},
    {"role": "assistant", "content": "Because."},
    {"role": "user", "content": "And then?"},
    {"role": "assistant", "content": "Nothing."},
]


def _array(count: int) -> bytes:
    return dumps([*TALK[:count]])


def _spread(count: int) -> bytes:
    return b"[\n" + b",\n".join(b"  " + dumps(each) for each in TALK[:count]) + b"\n]\n"


def _lines(count: int) -> bytes:
    return b"".join(dumps(each) + b"\n" for each in TALK[:count])


FORMS = pytest.mark.parametrize("form", [_array, _spread, _lines])


def _told(report: Report) -> tuple[str, int]:
    return report.session, report.new


@FORMS
@pytest.mark.parametrize("first", [3, 5])
def test_of_two_files_that_are_there_one_can_begin_as_the_other_goes_on(
    tmp_path: Path, root: Path, form: _Form, first: int
) -> None:
    one = put(tmp_path / "one.json", form(first))
    two = put(tmp_path / "two.json", form(8 - first))

    made = [take(path, root) for path in (one, two)]
    again = [take(path, root) for path in (two, one)]

    assert [report.messages for report in made] == [first, 8 - first]
    assert all(report.created for report in made)
    assert made[0].session != made[1].session
    assert all(report.nothing_new for report in again)
    assert len(list(root.iterdir())) == 2


@FORMS
def test_files_of_one_name_in_two_folders_are_two_sessions(
    tmp_path: Path, root: Path, form: _Form
) -> None:
    one = put(tmp_path / "a" / "messages.json", form(3))
    two = put(tmp_path / "b" / "messages.json", form(2) + (b"" if form is _lines else b"\n"))
    three = put(tmp_path / "c" / "messages.json", form(3).replace(b"Because", b"Who knows"))

    made = [take(path, root) for path in (one, two, three)]
    one.write_bytes(form(5))
    three.write_bytes(form(5).replace(b"Because", b"Who knows"))
    grown = [take(path, root) for path in (three, two, one)]

    assert len({report.session for report in made}) == 3
    assert [_told(report) for report in grown] == [
        (made[2].session, 2),
        (made[1].session, 0),
        (made[0].session, 2),
    ]


@FORMS
def test_a_file_that_was_moved_goes_on_in_its_session(
    tmp_path: Path, root: Path, form: _Form
) -> None:
    path = put(tmp_path / "a" / "one.json", form(3))
    made = take(path, root)
    (tmp_path / "b").mkdir()
    path = path.rename(tmp_path / "b" / "two.json")

    same = take(path, root)
    path.write_bytes(form(5))
    grown = take(path, root)
    again = take(path, root)

    assert [_told(each) for each in (same, grown, again)] == [
        (made.session, 0),
        (made.session, 2),
        (made.session, 0),
    ]


@FORMS
def test_a_file_that_was_moved_and_whose_place_was_taken_goes_on_in_its_session(
    tmp_path: Path, root: Path, form: _Form
) -> None:
    path = put(tmp_path / "talk.json", form(3))
    made = take(path, root)
    moved = path.rename(tmp_path / "old.json")
    put(path, form(2))
    moved.write_bytes(form(5))

    grown = take(moved, root)

    assert _told(grown) == (made.session, 2)


@FORMS
def test_a_copy_is_known_until_it_goes_its_own_way(tmp_path: Path, root: Path, form: _Form) -> None:
    path = put(tmp_path / "one.json", form(3))
    made = take(path, root)
    copy = tmp_path / "two.json"
    shutil.copy2(path, copy)

    same = take(copy, root)
    copy.write_bytes(form(5))
    own = take(copy, root)
    path.write_bytes(form(4))
    grown = take(path, root)

    assert _told(same) == (made.session, 0)
    assert own.created
    assert own.messages == 5
    assert _told(grown) == (made.session, 1)


@FORMS
def test_a_beginning_of_a_file_that_is_gone_is_an_older_copy(
    tmp_path: Path, root: Path, form: _Form
) -> None:
    path = put(tmp_path / "one.json", form(5))
    made = take(path, root)
    path.unlink()

    older = take(put(tmp_path / "two.json", form(3)), root)

    assert _told(older) == (made.session, 0)
    assert older.older


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_an_export_is_known_while_its_session_grows(tmp_path: Path, root: Path, shape: str) -> None:
    path = put(tmp_path / "talk.json", _array(3))
    ok("import", path)
    copy = tmp_path / "copy.json"
    ok("export", "@last", "--as", "messages", "--shape", shape, "-o", copy)
    first = ok("import", copy, "--json").object
    path.write_bytes(_array(5))
    ok("import", path)

    second = ok("import", copy, "--json").object
    third = ok("import", copy, "--json").object

    assert [each["nothing_new"] for each in (first, second, third)] == [True] * 3
    assert len(list(root.iterdir())) == 1


def test_an_export_that_ends_with_the_user_is_known_where_the_user_went_on(
    tmp_path: Path, root: Path
) -> None:
    ok("import", put(tmp_path / "talk.json", _array(4)))
    copy = tmp_path / "copy.json"
    ok("export", "@last", "--as", "messages", "--shape", "anthropic", "-o", copy)
    ok("append", "@last", "--role", "user", stdin=b"Well?")

    done = ok("import", copy, "--json").object

    assert done["nothing_new"]
    assert len(list(root.iterdir())) == 1


def test_the_same_file_by_another_way_is_the_same_session(tmp_path: Path, root: Path) -> None:
    path = put(tmp_path / "a" / "talk.json", _array(3))
    (tmp_path / "link").symlink_to(tmp_path / "a")
    made = take(path, root)
    path.write_bytes(_array(4))

    by_link = take(tmp_path / "link" / "talk.json", root)
    path.write_bytes(_array(5))
    before = os.getcwd()  # noqa: PTH109
    os.chdir(tmp_path)
    try:
        relative = take((tmp_path / "a" / "talk.json").relative_to(tmp_path), root)
    finally:
        os.chdir(before)

    assert [_told(each) for each in (by_link, relative)] == [(made.session, 1)] * 2


def test_a_damaged_map_is_told_and_makes_no_second_session(tmp_path: Path, root: Path) -> None:
    path = put(tmp_path / "talk.json", _array(3))
    store = store_of(take(path, root))
    (name,) = (each for each in store.files() if each.endswith(".map.jsonl"))
    store.write_file(name, b"{}\n")
    path.write_bytes(_array(5))

    with pytest.raises(DamageError, match="not a map"):
        take(path, root)

    assert len(list(root.iterdir())) == 1


def test_what_a_rewritten_session_lost_does_not_come_back_by_a_copy(
    tmp_path: Path, root: Path
) -> None:
    path = put(tmp_path / "talk.json", _array(3))
    log = take(path, root).path / "logs" / "main.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"lineage"', b'"rewrites":[{"t":1}],"lineage"', 1))
    for copy in (put(tmp_path / "copy.json", _array(3)), put(tmp_path / "more.json", _array(5))):
        with pytest.raises(ConflictError, match="rewritten"):
            take(copy, root)

    assert len(list(root.iterdir())) == 1
