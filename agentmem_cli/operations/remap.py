"""`remap`: the new paths of a folder that moved, in what sessions say of it.

By default these change: working folders (saved values, the meta, fields called
so in messages and side records) and the arguments of tool calls, which are
what a continued session goes by. Texts, outputs and kept sources are history,
and change with ``everywhere`` only.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from agentmem_cli.operations.imports.besidemending import is_mended
from agentmem_cli.operations.probing import Probes
from agentmem_cli.session.codec import loads_object
from agentmem_cli.session.forms import NAMING, is_form, is_meta_form
from agentmem_cli.session.mapping import key_edits, map_tokens
from agentmem_cli.session.meta import META
from agentmem_cli.session.rewriting import File, Rewrite
from agentmem_cli.session.tokens import apply_edits, encode_text, string_tokens, text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.operations.moves import Moves
    from agentmem_cli.session.mapping import IsForm
    from agentmem_cli.session.rewriting import How, Place, Record
    from agentmem_cli.session.tokens import Edit, Path, Token

WORKING: Final = "working folder"
ARGUMENT: Final = "tool argument"
TEXT: Final = "other text"

_FOLDER_KEYS: Final = frozenset(
    {"agentmem.cwd", "cwd", "workdir", "working_dir", "workingDir", "working_directory"}
    | {"workingDirectory", "current_working_directory", "project_dir", "projectDir"}
    | {"project_path", "projectPath", "workspace", "workspace_root", "workspaceRoot"}
)
"""Fields and saved values that hold the folder a session or a call worked in."""

_ARGUMENT_KEYS: Final = frozenset({"arguments", "arguments_text", "input"})
"""Fields below which a call's arguments stand, as we, providers and their wrappers call them."""


class Remap(Rewrite):
    """Puts the new paths in the place of the old ones."""

    def __init__(self, moves: Moves, *, everywhere: bool) -> None:
        """Write what *moves* says; in every text where *everywhere*."""
        self._moves = moves
        self._everywhere = everywhere
        self._probes = Probes([each.encode() for each in moves.probes], any_case=moves.any_case)
        self._counts: dict[tuple[str, int], Counter[str]] = {}

    @property
    def counts(self) -> Counter[str]:
        """How many strings changed, by where they stand."""
        total: Counter[str] = Counter()
        for counted in self._counts.values():
            total.update(counted)
        return total

    def hits(self, block: bytes) -> Sequence[int] | None:
        """Return where in *block* a line may have to change."""
        return self._probes.hits(block)

    def line(self, at: Record, raw: bytes) -> bytes:
        """Return the new bytes of a record."""
        key = _saved_key(raw)
        if key in NAMING:
            return raw
        number = -1 if at.stamp is None else at.stamp.seq
        # Why a way above it: the value of a saved value stands under "value" alone.
        above = (key,) if key is not None else ()
        return self._mapped(f"logs/{at.log}", number, raw, above, is_form)

    def file_line(self, at: File, number: int, raw: bytes) -> bytes:
        """Return the new bytes of a JSON text of a file."""
        form = is_meta_form if at.name == META else None
        return self._mapped(f"files/{at.name}", number, raw, (), form)

    def _mapped(
        self, name: str, number: int, raw: bytes, above: Path, form: IsForm | None
    ) -> bytes:
        counted: Counter[str] = Counter()
        keys: list[tuple[Token, str, str]] = []
        edits: list[Edit] = []
        for token in string_tokens(raw):
            text = text_of(raw, token)
            new = text
            if form is None or not form(token.path, is_key=token.is_key, text=text):
                what = self._place((*above, *token.path))
                new = self._string(what, text)
                counted[what] += new != text
            if token.is_key:
                keys.append((token, text, new))
            elif new != text:
                edits.append((token.start + 1, token.end - 1, encode_text(new)))
        if any(new != text for _, text, new in keys):
            edits += key_edits(keys)
        # Why not added up: a rewrite that begins anew asks for a line twice.
        self._counts[name, number] = +counted
        return apply_edits(raw, edits)

    def _place(self, path: Path) -> str:
        """Say what a string is, by the way to it."""
        if not _ARGUMENT_KEYS.isdisjoint(path[1:]):
            return ARGUMENT
        last = path[-1]
        if last == "value" and len(path) > 1 and path[-2] in _FOLDER_KEYS:
            return WORKING
        return WORKING if last in _FOLDER_KEYS else TEXT

    def _string(self, what: str, text: str) -> str:
        if what == WORKING:
            return self._moves.path(text)
        if what == ARGUMENT:
            return self._argument(text)
        return self._moves.text(text) if self._everywhere else text

    def _argument(self, text: str) -> str:
        """Return the new text of an argument, which may be JSON itself."""
        if text[:1] in ("{", "["):
            try:
                return map_tokens(text.encode(), self._moves.argument).decode()
            except ValueError:
                pass  # Why: it only begins like JSON.
        return self._moves.argument(text)

    def text(self, at: Place, text: str) -> str:
        """Return the new text of a file that is no JSON."""
        new = self._moves.text(text) if self._everywhere else text
        if new != text:
            name = f"files/{at.name}" if isinstance(at, File) else f"logs/{at.log}"
            self._counts[name, 0] = Counter({TEXT: 1})
        return new

    def reading(self, name: str, head: bytes) -> How:
        """Leave files, but for the meta, unless everything changes; maps of imports always."""
        if name == META:
            return "whole"
        if not self._everywhere or is_mended(name):
            return "skip"
        return super().reading(name, head)


_STATE: Final = re.compile(rb'"type"[ \t]*:[ \t]*"state"')


def _saved_key(raw: bytes) -> str | None:
    """Return the key of the saved value that a record holds; None: it holds none."""
    if _STATE.search(raw) is None:
        return None
    record = loads_object(raw)
    key = record.get("key")
    return key if record.get("type") == "state" and isinstance(key, str) else None
