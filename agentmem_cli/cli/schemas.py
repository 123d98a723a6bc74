"""What every command prints with ``--json``: names of schemas, their fields and types.

The schemas stand in ``schemas.json`` beside this module; docs/json.md shows
the same, and ``python -m scripts.schemas`` writes its tables.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.session.codec import loads_object

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON, Object

PLACE: Final = Path(__file__).with_name("schemas.json")

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_PLAIN: Final[dict[str, Object]] = {
    "string": {"type": "string"},
    "integer": {"type": "integer"},
    "boolean": {"type": "boolean"},
    "object": {"type": "object"},
    "any": {},
    "time": {
        "type": "string",
        "pattern": r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z|@-?\d+)$",
    },
}


class Field(NamedTuple):
    """One field of an object."""

    type: str
    """As docs/json.md explains: ``string``, ``array of damage``, ``time or null``."""
    about: str


class Schema(NamedTuple):
    """One kind of object: what a command prints, or a part of that."""

    name: str
    about: str
    fields: dict[str, Field]

    @property
    def is_part(self) -> bool:
        """Whether it stands in other objects only."""
        return not self.name.startswith("agentmem.")


@cache
def schemas() -> dict[str, Schema]:
    """Return all schemas and parts by name."""
    found = {}
    for name, told in loads_object(PLACE.read_bytes()).items():
        assert isinstance(told, dict)
        fields = told["fields"]
        assert isinstance(fields, dict)
        made = {}
        for field, pair in fields.items():
            assert isinstance(pair, list)
            made[field] = Field(str(pair[0]), str(pair[1]))
        found[name] = Schema(name, str(told["about"]), made)
    return found


def json_schema(name: str) -> Object:
    """Return a schema as JSON Schema, with the parts that it needs.

    Fields that it does not name are allowed: new ones may come under the same
    version.
    """
    needed: dict[str, JSON] = {}
    body = _object(schemas()[name], needed)
    if not schemas()[name].is_part:
        properties, required = body["properties"], body["required"]
        assert isinstance(properties, dict)
        assert isinstance(required, list)
        body["properties"] = {"schema": {"const": name}, **properties}
        body["required"] = ["schema", *required]
    made: Object = {"$schema": DIALECT, "title": name, **body}
    if needed:
        made["$defs"] = {part: needed[part] for part in sorted(needed)}
    return made


def _object(schema: Schema, needed: dict[str, JSON]) -> Object:
    properties: dict[str, JSON] = {}
    required: list[JSON] = []
    for name, field in schema.fields.items():
        kind = field.type.removesuffix(" or absent")
        if kind == field.type:
            required.append(name)
        properties[name] = {"description": field.about, **_type(kind, needed)}
    described: Object = {"description": schema.about} if schema.about else {}
    return {**described, "type": "object", "properties": properties, "required": required}


def _type(kind: str, needed: dict[str, JSON]) -> Object:
    if kind.endswith(" or null"):
        return {"anyOf": [_type(kind.removesuffix(" or null"), needed), {"type": "null"}]}
    outer, _, inner = kind.partition(" of ")
    if inner:
        held = _type(inner, needed)
        if outer == "array":
            return {"type": "array", "items": held}
        return {"type": "object", "additionalProperties": held}
    if kind in _PLAIN:
        return {**_PLAIN[kind]}
    if kind not in needed:
        needed[kind] = None
        needed[kind] = _object(schemas()[kind], needed)
    return {"$ref": f"#/$defs/{kind}"}
