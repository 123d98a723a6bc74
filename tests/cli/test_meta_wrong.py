"""A meta that says otherwise than its logs: named by `verify`, made anew by `repair`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem_cli.session.codec import dumps, loads_object
from tests.cli.running import ok, run

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import JSON


@pytest.fixture
def meta(root: Path) -> Path:
    """The meta of a session with a title and a model of its own."""
    ok("new", "one")
    ok("append", "one", "--role", "user", stdin=b"hello")
    ok("append", "one", "--role", "assistant", stdin=b"yes")
    ok("meta", "title", "one", "Tides")
    ok("value", "set", "one", "rig::model", "a/b", "--text", "--force")
    ok("meta", "label", "one", "kept=yes")
    ok("meta", "refresh", "one")
    return root / "one/files/meta.json"


def _problems() -> list[tuple[str, str]]:
    found = run("verify", "one", "--json").object["findings"]
    return [(each["kind"], each["why"]) for each in found if each["level"] == "problem"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("messages", 99_999),
        ("messages", 0),
        ("messages", None),
        ("messages", -1),
        ("title", "evil"),
        ("title", None),
        ("model", "other/one"),
        ("updated", 9_999_999_999_999),
        ("updated", 10**30),
        ("updated", -(10**30)),
        ("updated", True),
    ],
)
def test_what_a_meta_says_otherwise_than_its_logs_is_named_and_made_anew(
    meta: Path, field: str, value: JSON
) -> None:
    whole = loads_object(meta.read_bytes())
    assert _problems() == []
    meta.write_bytes(dumps({**whole, field: value}))

    (problem,) = _problems()
    plan = run("repair", "one", "--force", "--dry-run", "--json").object
    done = ok("repair", "one", "--force", "--json").object

    assert problem[0] == "meta"
    assert field in problem[1]
    assert plan["mended"] == done["mended"] != []
    assert _problems() == []
    now = loads_object(meta.read_bytes())
    assert {key: now[key] for key in (field, "labels")} == {
        key: whole[key] for key in (field, "labels")
    }
    assert ok("repair", "one", "--force", "--json").object["mended"] == []


def test_a_long_title_that_is_another_is_told_by_its_beginning(meta: Path) -> None:
    whole = loads_object(meta.read_bytes())
    meta.write_bytes(dumps({**whole, "title": "x\x1b" * 9_999}))

    ((_, why),) = _problems()

    assert len(why) < 400
    assert "\x1b" not in why


def test_a_time_that_only_an_older_record_has_is_no_mistake(meta: Path, root: Path) -> None:
    log = root / "one/logs/main.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    t = loads_object(lines[1])["t"]
    assert isinstance(t, int)
    later = t + 86_400_000
    lines[1] = lines[1].replace(b'"t":%d' % t, b'"t":%d' % later)
    whole = loads_object(meta.read_bytes())
    log.write_bytes(b"".join(lines))
    meta.write_bytes(dumps({**whole, "updated": later}))

    assert _problems() == []
    meta.write_bytes(dumps({**whole, "updated": later + 1}))
    assert [kind for kind, _ in _problems()] == ["meta"]


def test_nothing_is_said_of_a_meta_beside_a_damaged_log(meta: Path, root: Path) -> None:
    log = root / "one/logs/main.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"type":"push"', b'"type":"past"', 1))
    meta.write_bytes(meta.read_bytes())

    assert {kind for kind, _ in _problems()} == {"unknown-type"}
