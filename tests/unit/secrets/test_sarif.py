"""SARIF logs against the schema of the standard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonschema import Draft4Validator

from agentmem_cli.operations.secrets.sarif import sarif_log
from agentmem_cli.operations.secrets.told import Row, Skipped, Veil

if TYPE_CHECKING:
    from agentmem_cli.session.codec import Object

SCHEMA = json.loads((Path(__file__).parents[2] / "data" / "sarif-2.1.0.json").read_bytes())
VALIDATOR = Draft4Validator(SCHEMA, format_checker=Draft4Validator.FORMAT_CHECKER)

ROW = Row(
    session="pi-1",
    name="logs/main.jsonl",
    line=3,
    seq=2,
    n=2,
    path="entries[0].message.content[1].text",
    is_key=False,
    kind="aws-access-key-id",
    confidence="high",
    rule="agentmem.aws",
    fate="mask",
    fingerprint="0123abcd",
)
ROWS = [
    ROW,
    ROW._replace(session=None, name="/tmp/a b/c%.jsonl", line=0, seq=None, fingerprint=""),
    ROW._replace(session=None, name="C:\\Users\\a\\b.jsonl", kind="password", confidence="low"),
    *(ROW._replace(fate=fate) for fate in ("structural", "name", "bytes", "allowed", "unsure")),
    ROW._replace(is_key=True, confidence="medium"),
]


def faults(log: Object) -> list[str]:
    return [str(error.message) for error in VALIDATOR.iter_errors(log)]


def made(*rows: Row, skipped: tuple[Skipped, ...] = ()) -> Any:  # noqa: ANN401 - any JSON
    return sarif_log(rows, skipped, version="0.1.0")


def test_a_log_of_every_kind_of_row_is_valid() -> None:
    log = made(*ROWS, skipped=(Skipped(None, "a.zst", 0, "compressed"),))

    assert faults(log) == []
    assert len(log["runs"][0]["results"]) == len(ROWS)
    assert log["runs"][0]["invocations"][0]["toolExecutionNotifications"]


def test_a_log_of_nothing_is_valid() -> None:
    assert faults(made()) == []


def test_the_schema_refuses_what_is_no_log() -> None:
    log = made(ROW)
    log["runs"][0]["results"][0]["level"] = "terrible"
    log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] = 0
    del log["runs"][0]["tool"]["driver"]["name"]

    assert len(faults(log)) == 3


def test_each_result_names_its_rule_by_its_index() -> None:
    run = made(*ROWS)["runs"][0]

    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]

    assert ids == ["aws-access-key-id", "password"]
    assert all(ids[each["ruleIndex"]] == each["ruleId"] for each in run["results"])


def test_a_name_becomes_an_address_that_leads_back_to_it() -> None:
    results = made(*ROWS)["runs"][0]["results"]

    uris = [r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in results]

    assert uris[:3] == [
        "logs/main.jsonl",
        "file:///tmp/a%20b/c%25.jsonl",
        "file:///C:/Users/a/b.jsonl",
    ]


def test_a_line_number_is_there_where_there_is_a_line() -> None:
    first, second = made(*ROWS)["runs"][0]["results"][:2]

    assert first["locations"][0]["physicalLocation"]["region"] == {"startLine": 3}
    assert "region" not in second["locations"][0]["physicalLocation"]


def test_what_is_kept_on_purpose_is_marked_as_suppressed() -> None:
    results = made(ROW, ROW._replace(fate="allowed"))["runs"][0]["results"]

    assert ["suppressions" in each for each in results] == [False, True]


def test_the_veil_hides_all_of_values_that_overlap_or_stand_side_by_side() -> None:
    veil = Veil(["abcd", "cdef", "\u00e9\ud800"])

    assert veil("xabcdefy") == "x[...]y"
    assert veil("abcdabcd") == "[...][...]"
    assert veil("\u00e9\u00e9\ud800\ud800") == "\u00e9[...]\ud800"
    assert Veil([])("abc") == "abc"


def test_the_veil_takes_no_longer_for_many_values() -> None:
    # One after the other, these would take many minutes.
    values = [f"{number:07}-value" for number in range(200_000)]
    veil = Veil(values)

    told = {veil(f"key {value}") for value in values}

    assert told == {"key [...]"}


def test_the_veil_hides_values_in_places() -> None:
    veil = Veil(["abc", "abcdef", ""])

    assert veil("x/abcdef.jsonl") == "x/[...].jsonl"
    assert veil.path(("a", 0, "xabcy", "b" * 99)) == f"a[0].x[...]y.{'b' * 60}…"
