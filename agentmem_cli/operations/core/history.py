"""The past of core memory: its changes in order, which of them stand, and who wrote a line.

One change is what one command wrote: records side by side with one time, each
of another key. A change that took others back says so (``undoes``): it names
the first record of the oldest change that it took back, and all that were made
from there on and stood until then are undone by it. If it names a change that
was itself an undo, that undo is taken back, and what it took back stands again.

Source: DESIGN.md, "Core memory on a session".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentmem_cli.operations.core.lines import split_lines, steps
from agentmem_cli.session.codec import same
from agentmem_cli.session.core_values import CONFIG, BadValue, read_block, type_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentmem_cli.session.codec import JSON
    from agentmem_cli.session.core_memory import MemoryBlockType
    from agentmem_cli.session.core_values import StoredBlock
    from agentmem_cli.session.values import Noted, ValuesFold


class Version(NamedTuple):
    """One saved value of core memory, as one change left it."""

    key: str
    n: int
    """The ``n`` of the record that holds it."""
    t: int
    """When it was written, ms since 1970-01-01 UTC."""
    before: JSON
    """The value until then; None: there was none."""
    after: JSON
    """The value from then on; None: it was removed."""
    said: JSON
    """Where who and why are told: the value, or of a removal the record right before it."""

    @property
    def block_type(self) -> MemoryBlockType | None:
        """Whose block it is; None: the configuration, or none of the six."""
        return type_of(self.key)

    def block(self) -> StoredBlock | None:
        """Return the block from then on; None: removed, or no block."""
        return _block(self.block_type, self.after)

    def block_before(self) -> StoredBlock | None:
        """Return the block until then; None: there was none, or it was no block."""
        return _block(self.block_type, self.before)

    @property
    def by(self) -> str | None:
        """Who made it; None: it does not say."""
        return _told(self.said, "by")

    @property
    def reason(self) -> str | None:
        """Why; None: it does not say."""
        return _told(self.said, "reason")

    @property
    def undoes(self) -> int | None:
        """The ``n`` of the first record that it took back; None: it took none back."""
        found = self.said.get("undoes") if isinstance(self.said, dict) else None
        return found if type(found) is int else None


def _told(value: JSON, name: str) -> str | None:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, str) else None


def _block(block_type: MemoryBlockType | None, value: JSON) -> StoredBlock | None:
    if block_type is None or value is None:
        return None
    try:
        return read_block(block_type, value)
    except BadValue:
        return None


class Edit(NamedTuple):
    """One change: what one command did to core memory."""

    n: int
    """The ``n`` of its first record."""
    t: int
    versions: tuple[Version, ...]

    @property
    def undoes(self) -> int | None:
        """The ``n`` that it took back from; None: it is no undo."""
        return next((each.undoes for each in self.versions if each.undoes is not None), None)

    @property
    def changes_nothing(self) -> bool:
        """Whether all values are what they were."""
        return all(same(each.before, each.after) for each in self.versions)


def edits(fold: ValuesFold | None) -> list[Edit]:
    """Return the changes of core memory that a log holds, oldest first."""
    made: list[Edit] = []
    values: dict[str, JSON] = {}
    for group in _groups([] if fold is None else fold.noted):
        assert fold is not None
        versions: dict[str, Version] = {}
        for noted in group:
            value = fold.value(noted)
            earlier = versions.get(noted.key)
            said = value if earlier is None or value is not None else earlier.after
            before = values.get(noted.key) if earlier is None else earlier.before
            versions[noted.key] = Version(noted.key, noted.n, noted.t, before, value, said)
        values.update((each.key, each.after) for each in versions.values())
        made.append(Edit(group[0].n, group[0].t, tuple(versions.values())))
    return made


def _groups(noted: Iterable[Noted]) -> list[list[Noted]]:
    groups: list[list[Noted]] = []
    keys: set[str] = set()
    for each in noted:
        last = groups[-1][-1] if groups else None
        together = (
            last is not None
            and last.t == each.t
            and last.n + 1 == each.n
            # A key twice in a row is a removal, told by the record before it.
            and (each.key not in keys or last.key == each.key)
        )
        if together:
            groups[-1].append(each)
        else:
            groups.append([each])
            keys = set()
        keys.add(each.key)
    return groups


def standing(made: Sequence[Edit]) -> list[Edit]:
    """Return the changes that stand: no undos, and none that was undone; oldest first."""
    live: list[Edit] = []
    taken: dict[int, list[Edit]] = {}
    for edit in made:
        undoes = edit.undoes
        if undoes is None:
            if not edit.changes_nothing:
                live.append(edit)
        elif undoes in taken:
            live += taken.pop(undoes)
        else:
            taken[edit.n] = [each for each in live if each.n >= undoes]
            live = [each for each in live if each.n < undoes]
    return live


def before(made: Sequence[Edit], n: int) -> dict[str, JSON]:
    """Return the values as they were before the change at *n*, of the keys changed since."""
    found: dict[str, JSON] = {}
    for edit in made:
        if edit.n >= n:
            for each in edit.versions:
                found.setdefault(each.key, each.before)
    return found


def versions_of(made: Sequence[Edit], block_type: MemoryBlockType) -> list[Version]:
    """Return what became of one block, oldest first."""
    return [each for edit in made for each in edit.versions if each.block_type is block_type]


def version_with(
    made: Sequence[Edit], block_type: MemoryBlockType, digest: str
) -> StoredBlock | None:
    """Return the newest version of a block with this hash; None: there was none."""
    for each in reversed(versions_of(made, block_type)):
        block = each.block()
        if block is not None and block.digest() == digest:
            return block
    return None


def action_of(version: Version) -> str:
    """Say in a word what a version did.

    Returns:
        ``set``, ``edited``, ``labelled``, ``described``, ``protected``,
        ``unprotected``, ``removed``, ``configured``, ``touched`` (only who
        and why) or ``unreadable`` (it is no block).
    """
    if version.after is None:
        return "removed"
    if version.key == CONFIG:
        return "configured"
    new, old = version.block(), version.block_before()
    if new is None:
        return "unreadable"
    if old is None:
        return "set"
    told = {
        "edited": new.content != old.content,
        "protected": new.read_only and not old.read_only,
        "unprotected": old.read_only and not new.read_only,
        "labelled": new.label != old.label,
        "described": new.description != old.description,
    }
    return next((word for word, is_so in told.items() if is_so), "touched")


class Line(NamedTuple):
    """A line of a block, and who wrote it."""

    number: int
    """Counted from 1."""
    text: str
    """With its newline, if it has one."""
    version: Version
    """The version that it came with."""


def blame(versions: Sequence[Version]) -> list[Line]:
    """Return the lines of a block as its newest version has them, each with where it came from.

    A version that brings back exactly what the block said before (an undo, a
    restore) brings back who wrote it, too.
    """
    lines: list[str] = []
    wrote: list[Version] = []
    known: dict[str, list[Version]] = {}
    for version in versions:
        block = version.block()
        content = "" if block is None else block.content
        new = split_lines(content)
        if content in known:
            wrote = known[content]
        else:
            came: list[Version] = []
            for step in steps(lines, new):
                if step.same:
                    came += wrote[step.start : step.stop]
                else:
                    came += [version] * (step.to_stop - step.to_start)
            wrote = known[content] = came
        lines = new
    return [
        Line(number, text, version)
        for number, (text, version) in enumerate(zip(lines, wrote, strict=True), 1)
    ]
