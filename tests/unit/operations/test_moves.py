"""Paths of a folder that moved, in text."""

from __future__ import annotations

import pytest

from agentmem_cli.errors import UsageError
from agentmem_cli.operations.moves import Move, Moves, parse_moves

MOVES = Moves([Move("/home/u/proj", "/srv/proj"), Move("/home/u/caf\u00e9", "/srv/coffee")])
WINDOWS = Moves(
    [
        Move("C:\\Users\\u\\proj", "D:\\p"),
        Move("C:\\x", "/srv/x"),
        Move("\\\\host\\share\\a", "E:\\a"),
    ]
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/home/u/proj", "/srv/proj"),
        ("/home/u/proj/", "/srv/proj/"),
        ("/home/u//proj/src", "/srv/proj/src"),
        ("cd /home/u/proj && ls /home/u/proj/src", "cd /srv/proj && ls /srv/proj/src"),
        ("It is in /home/u/proj.", "It is in /srv/proj."),
        ("(/home/u/proj), '/home/u/proj'", "(/srv/proj), '/srv/proj'"),
        ("a:/home/u/proj:b", "a:/srv/proj:b"),
        ("-I/home/u/proj/include", "-I/srv/proj/include"),
        ("file:///home/u/proj/a", "file:///srv/proj/a"),
        ("/home/u/proj%2Fa", "/srv/proj%2Fa"),
        ('{\\"cwd\\":\\"/home/u/proj\\"}', '{\\"cwd\\":\\"/srv/proj\\"}'),
        ("a\\n/home/u/proj\\nb", "a\\n/srv/proj\\nb"),
        ("file:///home/u/caf%C3%A9/a", "file:///srv/coffee/a"),
        ("/home/u/cafe\u0301/a", "/srv/coffee/a"),
        ("/home/u/caf\u00e9/a", "/srv/coffee/a"),
    ],
)
def test_a_path_is_found_wherever_its_parts_end(text: str, expected: str) -> None:
    found = MOVES.text(text)

    assert found == expected


@pytest.mark.parametrize(
    "text",
    [
        "/home/u/proj-docker",
        "/home/u/proj_2",
        "/home/u/proj2/a",
        "/home/u/proj.old/a",
        "/home/u/proj\\ 2",
        "/home/u/proj%20x",
        "/mnt/home/u/proj",
        "../home/u/proj",
        "~/home/u/proj",
        "/home/u",
        "/home/u/cafe",
        "/home/u/cafe\u0301s",
        "/home/u/proje\u0301",
    ],
)
def test_a_longer_name_or_path_is_left_alone(text: str) -> None:
    assert MOVES.text(text) == text
    assert MOVES.path(text) == text
    assert MOVES.argument(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("C:\\Users\\u\\proj\\a", "D:\\p\\a"),
        ("c:\\users\\U\\PROJ", "D:\\p"),
        ("C:/Users/u/proj/a", "D:/p/a"),
        ("C:\\\\Users\\\\u\\\\proj\\\\a", "D:\\\\p\\\\a"),
        ("file:///C:/Users/u/proj/a", "file:///D:/p/a"),
        ("\\\\?\\C:\\Users\\u\\proj\\a", "\\\\?\\D:\\p\\a"),
        ("see C:\\x\\a\\b.py and C:\\y\\z", "see /srv/x/a/b.py and C:\\y\\z"),
        ("file:///C:/x/a", "file:///srv/x/a"),
        ("\\\\?\\C:\\x\\a", "/srv/x/a"),
        ("\\\\host\\share\\a\\b", "E:\\a\\b"),
        ("\\\\\\\\host\\\\share\\\\a\\\\b", "E:\\\\a\\\\b"),
        ("C:\\Users\\u\\proj-docker", "C:\\Users\\u\\proj-docker"),
        ("C:\\xyz", "C:\\xyz"),
    ],
)
def test_a_path_of_windows_keeps_its_kind_of_separators(text: str, expected: str) -> None:
    assert WINDOWS.text(text) == expected


def test_a_path_that_goes_to_windows_gets_its_separators() -> None:
    moves = Moves([Move("/home/u/proj", "D:\\p")])

    assert moves.path("/home/u/proj/a b/c") == "D:\\p\\a b\\c"
    assert moves.text("see /home/u/proj/a/b now") == "see D:\\p\\a\\b now"
    assert moves.text("file:///home/u/proj/a") == "file:///D:/p/a"


def test_a_path_alone_may_hold_spaces() -> None:
    assert MOVES.path("/home/u/proj/a b") == "/srv/proj/a b"
    assert MOVES.path("/home/u/proj 2/a") == "/home/u/proj 2/a"
    assert MOVES.argument("/home/u/proj 2/a") == "/home/u/proj 2/a"
    assert WINDOWS.path("C:\\x\\my dir\\b") == "/srv/x/my dir/b"
    assert MOVES.argument("/home/u/proj 2/a /home/u/proj/b") == "/home/u/proj 2/a /srv/proj/b"


def test_moves_do_not_chain_and_the_deepest_counts() -> None:
    moves = Moves([Move("/a", "/b"), Move("/b", "/c"), Move("/a/x", "/deep")])

    assert moves.text("/a /b /a/x /a/y") == "/b /c /deep /b/y"


@pytest.mark.parametrize("name", ["caf\u00e9", "cafe\u0301"])
def test_both_spellings_of_the_old_folder_mean_the_same(name: str) -> None:
    (move,) = parse_moves([f"/home/u/{name}=/srv/c"])

    moves = Moves([move])

    assert moves.path("/home/u/cafe\u0301/a") == "/srv/c/a"
    assert moves.path("/home/u/caf\u00e9/a") == "/srv/c/a"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("/a", "is no OLD=NEW"),
        ("a=/b", "must be absolute"),
        ("/a=b", "must be absolute"),
        ("/=/b", "the root of everything"),
        ("C:\\=/b", "the root of everything"),
        ("/a/=/a", "moves nowhere"),
        ("/a=/b=/c", "2 ways"),
    ],
)
def test_words_that_name_no_move_are_refused(words: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        parse_moves([words])


def test_slashes_at_the_end_and_equals_signs_in_names_are_read() -> None:
    assert parse_moves(["/a/b//=/c/"]) == [Move("/a/b", "/c")]
    assert parse_moves(["/a/k=v=/c"]) == [Move("/a/k=v", "/c")]


def test_one_folder_cannot_move_to_two_places() -> None:
    with pytest.raises(UsageError, match="moved twice"):
        parse_moves(["/caf\u00e9=/b", "/cafe\u0301=/c"])
    with pytest.raises(UsageError, match="moved twice"):
        parse_moves(["C:\\A=/b", "c:/a=/c"])


def test_the_probes_stand_in_every_path_however_json_writes_it() -> None:
    assert MOVES.probes == ["home"]
    assert WINDOWS.probes == ["Users", "share", "x"]
    assert WINDOWS.any_case
    assert Moves([Move("/\u65e5\u672c", "/a")]).probes == [""]
