"""The past of core memory: its changes in order, which of them stand, and who wrote a line.

One change is what one command wrote: records side by side with one time, each
of another key. A change that took others back says so (``undoes``): it names
the first record of the oldest change that it took back, and all that were made
from there on and stood until then are undone by it. If it names a change that
was itself an undo, that undo is taken back, and what it took back stands again.
An undo leaves what is read-only as it is, and is passed by protections.

Source: DESIGN.md, "Core memory on a session".
"""

from __future__ import annotations

from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from agentmem_cli.operations.core.lines import split_lines, steps
from agentmem_cli.session.codec import same
from agentmem_cli.session.core_values import (
    CONFIG,
    USER,
    BadValue,
    is_usable,
    read_block,
    type_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

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
    """Where who and why are told: the value, or, where that has no room for it, the
    record right before it."""
    new: StoredBlock | None = None
    """The block from then on; None: removed, or no block."""
    old: StoredBlock | None = None
    """The block until then; None: there was none, or it was no block."""
    author: str | None = None
    """Whom the record itself names as who wrote it; None: nobody."""
    raw: bytes | None = None
    """The JSON of the value until then, where that was no block."""

    @property
    def block_type(self) -> MemoryBlockType | None:
        """Whose block it is; None: the configuration, or none of the six."""
        return type_of(self.key)

    @property
    def reads(self) -> bool:
        """Whether there is a block, or a configuration, from then on."""
        if self.block_type is not None:
            return self.new is not None
        return is_usable(self.key, self.after)

    @property
    def protects(self) -> bool:
        """Whether it does nothing but guard a block, or let it be changed again."""
        new, old = self.new, self.old
        if new is None or old is None or new.read_only == old.read_only:
            return False
        return old._replace(read_only=new.read_only).says_as(new)

    @property
    def by(self) -> str:
        """Who made it: as the value says, else as its record does, else the user."""
        return _told(self.said, "by") or self.author or USER

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

    @property
    def protects(self) -> bool:
        """Whether it does nothing but guard blocks, or let them be changed again."""
        return all(each.protects for each in self.versions)

    @property
    def keys(self) -> frozenset[str]:
        """The keys of the values that it put."""
        return frozenset(each.key for each in self.versions)


def edits(fold: ValuesFold | None) -> list[Edit]:
    """Return the changes of core memory that a log holds, oldest first."""
    made: list[Edit] = []
    stand: dict[str, Version] = {}
    unused: dict[str, bytes | None] = {}
    """The JSON of the values that stand and are no blocks."""
    for group in _groups([] if fold is None else fold.noted):
        assert fold is not None
        versions: dict[str, Version] = {}
        for noted in group:
            versions[noted.key] = _version(
                fold, noted, versions.get(noted.key), stand.get(noted.key), unused
            )
        for noted in group:
            version = versions[noted.key]
            unused.pop(noted.key, None)
            if version.after is not None and not version.reads:
                unused[noted.key] = fold.raw(noted)
        stand |= versions
        made.append(Edit(group[0].n, group[0].t, tuple(versions.values())))
    return made


def _version(
    fold: ValuesFold,
    noted: Noted,
    earlier: Version | None,
    last: Version | None,
    unused: dict[str, bytes | None],
) -> Version:
    """Return what a record made of its value.

    Args:
        fold: The log.
        noted: The record.
        earlier: What the same change put there first, to tell who and why.
        last: What the change before left.
        unused: The JSON of values that stood before the change and are no blocks.
    """
    value = fold.value(noted)
    kind = type_of(noted.key)
    new = _block(kind, value)
    # Why an object: a bound that is a number alone is one, but cannot say who set it.
    tells = new is not None or (
        isinstance(value, dict) and kind is None and is_usable(noted.key, value)
    )
    before: JSON = None
    old: StoredBlock | None = None
    said = value if tells else None
    if earlier is not None:
        before, old = earlier.before, earlier.old
        said = value if tells else earlier.said
    elif last is not None:
        before, old = last.after, last.new
    return Version(
        noted.key,
        noted.n,
        noted.t,
        before,
        value,
        said,
        new,
        old,
        None if _told(said, "by") else fold.author(noted),
        unused.get(noted.key),
    )


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
    guarded: set[str] = set()
    for edit in made:
        undoes = edit.undoes
        if undoes is None:
            if not edit.changes_nothing:
                live.append(edit)
        elif undoes in taken:
            live = sorted([*live, *taken.pop(undoes)], key=lambda each: each.n)
        else:
            # Why without its own: what it did change was not guarded from it.
            going = takable(live, guarded - edit.keys)
            taken[edit.n] = gone = [*takewhile(partial(_is_since, undoes), going)]
            numbers = {each.n for each in gone}
            live = [each for each in live if each.n not in numbers]
        guarded -= edit.keys
        guarded |= {each.key for each in edit.versions if each.new and each.new.read_only}
    return live


def _is_since(n: int, edit: Edit) -> bool:
    return edit.n >= n


def takable(live: Sequence[Edit], guarded: Iterable[str]) -> Iterator[Edit]:
    """Yield what an undo takes back of the changes that stand, the newest first.

    Passed by are protections, changes of what is read-only, and those below
    them: older changes of what such a change put.

    Args:
        live: The changes that stand, oldest first.
        guarded: The keys of blocks that are read-only.
    """
    held = set(guarded)
    for edit in reversed(live):
        if edit.protects:
            continue
        if held & edit.keys:
            held |= edit.keys
        else:
            yield edit


def versions_of(made: Sequence[Edit], block_type: MemoryBlockType) -> list[Version]:
    """Return what became of one block, oldest first."""
    return [each for edit in made for each in edit.versions if each.block_type is block_type]


def version_with(
    made: Sequence[Edit], block_type: MemoryBlockType, digest: str
) -> StoredBlock | None:
    """Return the newest version of a block with this hash; None: there was none."""
    for each in reversed(versions_of(made, block_type)):
        block = each.new
        if block is not None and block.digest() == digest:
            return block
    return None


def writers_since(
    made: Sequence[Edit], block_type: MemoryBlockType, base: StoredBlock | None
) -> list[str]:
    """Return who changed a block since it was as *base*, each once, the first first."""
    names: list[str] = []
    digest = None if base is None else base.digest()
    for each in reversed(versions_of(made, block_type)):
        if (None if each.new is None else each.new.digest()) == digest:
            break
        names.append(each.by)
    return list(dict.fromkeys(reversed(names)))


def action_of(version: Version) -> str:
    """Say in a word what a version did.

    Returns:
        ``set``, ``edited``, ``labelled``, ``described``, ``protected``,
        ``unprotected``, ``removed``, ``configured``, ``touched`` (only who
        and why) or ``unreadable`` (it is no block, and no configuration).
    """
    if version.after is None:
        return "removed"
    if version.key == CONFIG and is_usable(CONFIG, version.after):
        return "configured"
    new, old = version.new, version.old
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
    restore) brings back who wrote it, too. Lines are compared without their ends:
    who writes behind the last line, or changes how lines end, has not written them.
    """
    lines: list[str] = []
    wrote: list[Version] = []
    known: dict[str, list[Version]] = {}
    for version in versions:
        content = "" if version.new is None else version.new.content
        new = split_lines(content)
        if content in known:
            wrote = known[content]
        else:
            came: list[Version] = []
            for step in steps(_words(lines), _words(new)):
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


def _words(lines: Iterable[str]) -> list[str]:
    return [line.removesuffix("\n").removesuffix("\r") for line in lines]
