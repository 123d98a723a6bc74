"""Who wrote an entry, an aside or a record."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agentmem_cli.session.codec import same

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON, Object

_KNOWN = ("kind", "from", "request", "title")


@dataclass(frozen=True, slots=True, eq=False)
class Author:
    """Who wrote something. Absent where the user typed or the model replied.

    Source: DESIGN.md, "Records".
    """

    kind: JSON
    """``"user"``, ``"agent"``, ``"rig"``, ``{"plugin": name}``, or what a newer writer put."""
    from_: JSON = None
    """The id of the agent it came from, where there is one."""
    request: JSON = None
    """The call or request it answers."""
    title: JSON = None
    """What a person reads."""
    extra: Object = field(default_factory=dict)
    """Fields this version does not know, kept."""

    @classmethod
    def user(cls, title: str | None = None) -> Author:
        """Return the user as an author."""
        return cls("user", title=title)

    @classmethod
    def agent(cls, id_: str, *, request: str | None = None, title: str | None = None) -> Author:
        """Return the agent *id_* as an author."""
        return cls("agent", from_=id_, request=request, title=title)

    @classmethod
    def rig(cls) -> Author:
        """Return the framework itself as an author."""
        return cls("rig")

    @classmethod
    def plugin(cls, name: str, title: str | None = None) -> Author:
        """Return the plugin *name* as an author."""
        return cls({"plugin": name}, title=title)

    @classmethod
    def of(cls, value: JSON) -> Author:
        """Read an author from its JSON. One without a kind is the user, as rig has it.

        Raises:
            ValueError: Not an object.
        """
        if not isinstance(value, dict):
            msg = "an author is an object"
            raise ValueError(msg)  # noqa: TRY004 - one error for every malformed value
        return cls(
            value.get("kind", "user"),
            value.get("from"),
            value.get("request"),
            value.get("title"),
            {key: item for key, item in value.items() if key not in _KNOWN},
        )

    @property
    def name(self) -> str:
        """What a person calls it: the kind, or the plugin's name."""
        if isinstance(self.kind, dict):
            plugin = self.kind.get("plugin")
            return plugin if isinstance(plugin, str) else "unknown"
        return self.kind if isinstance(self.kind, str) else "unknown"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Author):
            return NotImplemented
        return same(self.to_value(), other.to_value())

    __hash__ = None  # type: ignore[assignment]

    def to_value(self) -> Object:
        """Return its JSON, absent fields left out."""
        value: Object = {"kind": self.kind}
        for key, item in (("from", self.from_), ("request", self.request), ("title", self.title)):
            if item is not None:
                value[key] = item
        value.update(self.extra)
        return value


def is_plain(author: JSON) -> bool:
    """Whether an author holds strings only, which no way of decoding changes."""
    if type(author) is not dict:
        return False
    return all(type(item) is str or _is_texts(item) for item in author.values())


def _is_texts(item: JSON) -> bool:
    return type(item) is dict and all(type(text) is str for text in item.values())
