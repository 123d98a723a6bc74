"""Side records: kept with a conversation, never sent to a model."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from agentmem_cli.session.author import Author
from agentmem_cli.session.codec import same

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem_cli.session.codec import JSON, Object

_KNOWN = ("kind", "after", "author", "value", "saved")


@dataclass(frozen=True, slots=True, eq=False)
class Aside:
    """A side record, standing after an entry.

    Source: DESIGN.md, "Records".
    """

    kind: str
    """What it is, chosen by its author. Kinds a reader does not know are kept."""
    author: Author
    value: JSON = None
    """Its data, any JSON."""
    after: int | None = None
    """The id of the entry it follows; None: before the first."""
    saved: bool = True
    """Whether it is saved. An unsaved one lives as long as the value; no change records it."""
    extra: Object = field(default_factory=dict)
    """Fields this version does not know, kept."""

    @classmethod
    def of(cls, value: JSON) -> Aside:
        """Read an aside from its JSON.

        Raises:
            ValueError: It lacks a kind or an author, or a field has another shape.
        """
        if not isinstance(value, dict) or not isinstance(kind := value.get("kind"), str):
            msg = "an aside is an object with a kind"
            raise ValueError(msg)  # noqa: TRY004 - one error for every malformed value
        after = value.get("after")
        if after is not None and (type(after) is not int or after < 0):
            msg = "an aside stands after an entry's id"
            raise ValueError(msg)
        return cls(
            kind,
            Author.of(value.get("author")),
            value.get("value"),
            after,
            value.get("saved") is not False,
            {key: item for key, item in value.items() if key not in _KNOWN},
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Aside):
            return NotImplemented
        return same(self.to_value(), other.to_value())

    __hash__ = None  # type: ignore[assignment]

    def to_value(self) -> Object:
        """Return its JSON: a null value, a missing place and ``saved`` when true are left out."""
        value: Object = {"kind": self.kind}
        if self.after is not None:
            value["after"] = self.after
        value["author"] = self.author.to_value()
        if self.value is not None:
            value["value"] = self.value
        if not self.saved:
            value["saved"] = False
        value.update(self.extra)
        return value


def listed_asides(value: JSON) -> Iterator[Object]:
    """Yield a reset's side records, each as ``{"id", "aside"}``.

    The crate does not document how a reset holds them, so each way is read in
    which it could: such objects, pairs of id and side record, side records
    with their ids in them, or an object by id.

    Raises:
        ValueError: They are held in none of these ways.
    """
    if isinstance(value, dict):
        for key, item in value.items():
            yield {"id": int(key) if _ID.fullmatch(key) else None, "aside": item}
        return
    if not isinstance(value, list):
        msg = "a reset's asides are an array or an object"
        raise ValueError(msg)  # noqa: TRY004 - one error for every malformed value
    for item in value:
        if isinstance(item, dict) and "id" in item and "kind" in item:
            aside: Object = {key: field for key, field in item.items() if key != "id"}
            yield {"id": item["id"], "aside": aside}
        elif isinstance(item, dict):
            yield item
        elif isinstance(item, list) and len(item) == 2:  # noqa: PLR2004 - a pair
            yield {"id": item[0], "aside": item[1]}
        else:
            msg = "a reset's asides are objects or pairs"
            raise ValueError(msg)


_ID: Final = re.compile("0|[1-9][0-9]{0,19}", re.ASCII)
