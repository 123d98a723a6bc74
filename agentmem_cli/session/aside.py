"""Side records: kept with a conversation, never sent to a model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agentmem_cli.session.author import Author
from agentmem_cli.session.codec import same

if TYPE_CHECKING:
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
