"""value: saved values, looked at and changed; what was there stays in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.running import header, join, ok, record, run, said, turns, write

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def log(root: Path) -> Path:
    lines = [
        header(),
        said(1, "hi"),
        record(2, "state", key="b", value={"x": [1]}),
        record(3, "state", key="a", value="words"),
        record(4, "state", key="b", value=2),
        record(5, "state", key="gone", value=1),
        record(6, "state", key="gone", value=None),
    ]
    write(root, "one", "session", join([header("session"), record(1, "state", key="s", value=7)]))
    return write(root, "one", "main", join(lines))


@pytest.mark.usefixtures("log")
def test_values_are_listed_as_they_stand() -> None:
    done = ok("value", "list", "one", "--json")

    assert [(one["key"], one["value"], one["n"]) for one in done.objects] == [
        ("a", "words", 3),
        ("b", 2, 4),
    ]
    assert done.objects[0]["time"] == "2026-01-01T00:00:03.000Z"
    assert ok("value", "list", "one").out == 'KEY  VALUE\na    "words"\nb    2\n'


@pytest.mark.usefixtures("log")
def test_the_session_and_each_agent_have_their_own(root: Path) -> None:
    write(root, "one", "aide", join([header("aide", n=20, parent="main")]))
    ok("value", "set", "one", "a", "3", "--agent", "aide")

    assert ok("value", "get", "one", "s", "--agent", "session").out == "7\n"
    assert ok("value", "get", "one", "a", "--agent", "ai").out == "3\n"
    assert ok("value", "get", "one", "a").out == '"words"\n'


@pytest.mark.usefixtures("log")
def test_one_value_is_printed_as_json_or_as_its_text() -> None:
    assert ok("value", "get", "one", "a").out == '"words"\n'
    assert ok("value", "get", "one", "a", "--text").out == "words\n"
    assert ok("value", "get", "one", "b", "--json").object["value"] == 2
    assert run("value", "get", "one", "b", "--text").status == 2


@pytest.mark.usefixtures("log")
@pytest.mark.parametrize("key", ["gone", "none", "B"])
def test_a_value_that_is_not_there_is_not_found(key: str) -> None:
    assert run("value", "get", "one", key).status == 3
    assert run("value", "unset", "one", key).status == 3


@pytest.mark.parametrize(
    "value", ['{"a":1e400,"b":-0,"c":1.10}', "18446744073709551616", '"\\ud800"', "[]", "false"]
)
def test_a_value_comes_back_as_it_was_set(log: Path, value: str) -> None:
    before = log.read_bytes()

    done = ok("value", "set", "one", "new key", value, "--json")

    assert ok("value", "get", "one", "new key").out == f"{value}\n"
    assert done.object["changed"]
    assert done.object["n"] == 7
    assert log.read_bytes().startswith(before)
    assert run("verify", "one").status == 0


@pytest.mark.usefixtures("log")
def test_standard_input_and_plain_text() -> None:
    ok("value", "set", "one", "k", stdin=b'{"in": [1]}')
    ok("value", "set", "one", "t", "-", "--text", stdin="line 1\nl\u00efne 2\n".encode())

    assert ok("value", "get", "one", "k").out == '{"in":[1]}\n'
    assert ok("value", "get", "one", "t", "--text").out == "line 1\nl\u00efne 2\n"


def test_the_same_value_again_is_not_written(log: Path) -> None:
    before = log.read_bytes()

    done = ok("value", "set", "one", "b", "2", "--json").object

    assert (done["changed"], done["n"], done["before"], done["value"]) == (False, None, 2, 2)
    assert log.read_bytes() == before


@pytest.mark.usefixtures("log")
def test_a_value_that_is_removed_has_its_past() -> None:
    done = ok("value", "unset", "one", "a", "--json").object

    assert (done["before"], done["value"], done["changed"]) == ("words", None, True)
    assert run("value", "get", "one", "a").status == 3
    assert '"words"' in ok("log", "one", "--key", "a").out


@pytest.mark.parametrize(
    "key", ["core_memory.human", "core_memory.config", "rig::model", "agentmem.cwd"]
)
@pytest.mark.parametrize("verb", [["set"], ["unset"]])
def test_keys_that_somebody_relies_on_need_force(log: Path, key: str, verb: list[str]) -> None:
    before = log.read_bytes()
    value = ['"x"'] if verb == ["set"] else []

    done = run("value", *verb, "one", key, *value)

    assert done.status == 2
    assert f"error: {key!r} is not changed: " in done.err.replace('"', "'")
    assert "hint: --force does it all the same." in done.err
    assert log.read_bytes() == before
    ok("value", "set", "one", key, '"x"', "--force")
    assert ok("value", "get", "one", key).out == '"x"\n'
    ok("value", "unset", "one", key, "--force")


def test_a_listing_follows_a_model_that_is_set(root: Path) -> None:
    write(root, "one", "main", join(turns(3)))
    ok("meta", "refresh", "one")

    ok("value", "set", "one", "rig::model", '"acme/large"', "--force")

    row = ok("list", "--json").object
    assert (row["model"], row["messages"], row["problem"]) == ("acme/large", 3, None)


@pytest.mark.usefixtures("log")
@pytest.mark.parametrize(
    "words",
    [
        ["set", "one", "", "1"],
        ["set", "one", "k", "words"],
        ["set", "one", "k", "null"],
        ["set", "one", "k", "1 2"],
        ["list", "one", "--agent", ""],
        [],
        ["gt", "one"],
    ],
)
def test_words_that_do_not_fit(words: list[str]) -> None:
    assert run("value", *words).status == 2


def test_a_session_without_an_agent_has_values_of_its_own(root: Path) -> None:
    ok("new", "two")

    refused = run("value", "set", "two", "k", "1")
    ok("value", "set", "two", "k", "1", "--agent", "session")

    assert refused.status == 3
    assert "--agent session" in refused.err
    assert ok("value", "get", "two", "k", "--agent", "session").out == "1\n"
    assert not (root / "two" / "logs" / "main.jsonl").exists()


def test_a_retired_agent_takes_none(root: Path) -> None:
    write(root, "one", "main", join([header(), record(1, "retired")]))

    assert run("value", "set", "one", "k", "1", "--agent", "main").status == 4


def test_damage_is_passed_over_by_a_look_and_refused_by_a_change(root: Path) -> None:
    data = join([header(), b"junk", record(1, "state", key="k", value="\x1b[2J")])
    log = write(root, "one", "main", data)

    done = ok("value", "list", "one")

    assert "\x1b" not in done.out
    assert "line 2" in done.err
    assert run("value", "set", "one", "k", "1").status == 5
    assert log.read_bytes() == data


def test_a_torn_end_is_set_aside_first(root: Path) -> None:
    write(root, "one", "main", join(turns(1)) + b"torn")

    done = ok("value", "set", "one", "k", "1", "--json")

    assert (root / "one" / "files" / done.object["set_aside"]).read_bytes() == b"torn"
    assert "4 torn bytes were set aside" in done.err
