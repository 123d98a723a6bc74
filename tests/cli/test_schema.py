"""schema: what docs/json.md says of the JSON, for programs."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest

from agentmem_cli.cli.schemas import PLACE, json_schema, schemas
from agentmem_cli.session.codec import loads_object
from scripts import schemas as script
from tests.cli.running import join, ok, run, turns, write

DOCS = Path(__file__).resolve().parents[2] / "docs" / "json.md"


def test_the_page_and_the_program_have_the_same_schemas() -> None:
    page = script.read_docs(DOCS.read_text(encoding="utf-8"))

    assert page == loads_object(PLACE.read_bytes())
    assert list(page) == list(schemas())


def test_the_page_is_as_the_script_writes_it() -> None:
    text = DOCS.read_text(encoding="utf-8")
    told = script.read_docs(text)

    assert script.write_docs(text, told) == text
    told["agentmem.new/1"]["fields"] = {"id": ["string", "other words"]}
    assert "| `id` | string | other words |" in script.write_docs(text, told)


def test_every_schema_is_json_schema() -> None:
    for name in schemas():
        jsonschema.Draft202012Validator.check_schema(json_schema(name))


def test_names_are_listed_and_each_is_printed() -> None:
    names = [line.split()[0] for line in ok("schema").out.splitlines()[1:]]

    assert names == [name for name in schemas() if name.startswith("agentmem.")]
    listed = ok("schema", "--json").objects
    assert [one["name"] for one in listed] == names
    assert listed[0]["schema"] == "agentmem.schema/1"
    assert listed[0]["json_schema"] == ok("schema", names[0]).object


@pytest.mark.parametrize("name", ["agentmem.session/1", "agentmem.session", "session", "session/1"])
def test_a_name_may_be_short(name: str) -> None:
    assert ok("schema", name).object["title"] == "agentmem.session/1"


def test_parts_and_unknown_names() -> None:
    done = run("schema", "sesion")

    assert ok("schema", "damage").object["title"] == "damage"
    assert (done.status, "Did you mean" in done.err) == (3, True)


def test_what_is_printed_is_valid_and_what_is_wrong_is_not(root: Path) -> None:
    write(root, "one", "main", join(turns(2)))
    value = ok("list", "--json").object
    schema = json_schema("agentmem.session/1")

    jsonschema.validate(value, schema)

    for wrong in ({**value, "agents": "1"}, {**value, "schema": "x"}, {"schema": value["schema"]}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)
