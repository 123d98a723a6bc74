"""The rows of the fault harness: commands that change a session, and what each begins from."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, NamedTuple

from agentmem_cli.cli.app import COMMANDS
from agentmem_cli.session.codec import dumps
from tests.cli.running import message
from tests.e2e import torture_states as states
from tests.e2e.torture_states import LONG, PIXEL, SECRET
from tests.talks import call, result
from tests.unit.imports import building

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agentmem_cli.session.codec import JSON, Object


class Row(NamedTuple):
    """One command to be tried."""

    name: str
    words: tuple[str, ...]
    stdin: bytes = b""
    before: tuple[tuple[tuple[str, ...], bytes], ...] = ()
    """Commands that bring about the state it begins from, each with its standard input."""
    prepare: Callable[[Path], None] | None = None
    """Changes files of that state after these."""
    good: tuple[int, ...] = (0,)
    """Exit statuses that say it is done."""
    strict: bool = True
    """Whether the state it begins from can be read strictly."""
    in_steps: bool = False
    """Whether it is several changes, each of them whole: a state between is one, too."""
    settles: bool = True
    """Whether what was cut short is finished or dropped before it runs again."""
    by_session: bool = False
    """Whether its steps are sessions: a state between has each of them whole, or not at all."""
    masks: bool = False
    """Whether nothing holds `SECRET` where it is done."""
    held: int | None = None
    """How many bytes of a change are held in memory, where that is not the program's 8 MiB.

    So many bytes would make each point slow; what is written where a log lies is so from there on.
    """

    @property
    def known(self) -> bool:
        """Whether the program has the command yet."""
        return self.words[0] in COMMANDS


def _torn(root: Path) -> None:
    with (root / "one/logs/main.jsonl").open("ab") as log:
        log.write(b'{"seq":99,"n":9')


def _grown(root: Path) -> None:
    source = root.parent / "source.jsonl"
    more = building.lines(building.user(30, "more of it"), building.reply(31, "and more"))
    source.write_bytes(source.read_bytes() + more)


def _image(data: bytes) -> Object:
    """A message whose image becomes a blob."""
    value = base64.b64encode(data).decode()
    image: Object = {
        "type": "image",
        "data": {"type": "base64", "value": value},
        "media_type": "png",
    }
    return {"role": "user", "content": [{"type": "text", "text": "look"}, image]}


def _several(root: Path) -> None:
    """Put two transcripts into a folder; one has an image."""
    image: Object = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
    told: list[JSON] = ["make tides", [{"type": "text", "text": SECRET}, image]]
    for number, said_ in enumerate(told):
        building.put(
            root.parent / f"several/{number}.jsonl",
            building.lines(
                building.header(id=f"5a0c6f0e-0000-4000-8000-00000000001{number}"),
                building.user(1, said_),
                building.reply(2, "They are made."),
            ),
        )


def _pictured(root: Path) -> None:
    image: Object = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
    source = root.parent / "source.jsonl"
    source.write_bytes(source.read_bytes() + building.lines(building.user(30, [image])))


_COMPACT = ("compact", "one", "--keep", "1", "--summary-file", "-")
_IMPORT = ("import", "../source.jsonl")
_REPAIR = ("repair", "one", "--json")
_MESSAGES = b"".join(
    dumps(value) + b"\n"
    for value in (
        message("user", "and what of this"),
        message("assistant", "seen"),
    )
)

_PICTURE = dumps(_image(base64.b64decode(PIXEL))) + b"\n"
_TOLD = b"".join(
    dumps(value) + b"\n"
    for value in (
        call("t2", path="/home/ada/tides/b.py").value,
        result("t2", f"{LONG}{SECRET}\n").value,
        _image(b"\x89PNG\r\n\x1a\n" + SECRET.encode()),
        message("assistant", "They are built."),
    )
)
_CLEAR = ("clear", "one", "--keep", "0")
_REDACT = ("redact", "one", "--yes", "--no-rules", "--literals", "-")
_TAR = ("export", "one", "--as", "tar", "-o", "../one.tar")

ROWS = (
    Row("new", ("new", "two")),
    Row("append", ("append", "one", "--role", "user"), b"what comes next"),
    Row("append several", ("append", "one"), _MESSAGES),
    Row("append with an image", ("append", "one"), _PICTURE),
    Row("append of more than is held", ("append", "one"), _MESSAGES, held=64),
    Row("append to a torn log", ("append", "one", "--role", "user"), b"next", prepare=_torn),
    Row("append a first", ("append", "two", "--role", "user"), b"hello", ((("new", "two"), b""),)),
    Row("import", _IMPORT),
    Row("import again", _IMPORT, before=((_IMPORT, b""),), prepare=_grown),
    Row("import with an image", _IMPORT, prepare=_pictured),
    Row(
        "import of a folder",
        ("import", "../several"),
        prepare=_several,
        in_steps=True,
        by_session=True,
    ),
    Row(
        "import of a tar",
        ("import", "../one.tar"),
        before=(
            (("append", "one"), _PICTURE),
            (_TAR, b""),
            (("rename", "one", "uno"), b""),
            (("rm", "uno", "--yes"), b""),
        ),
    ),
    Row("compact", _COMPACT, b"They built it."),
    Row("clear", _CLEAR),
    Row("undo", ("undo", "one"), before=((_COMPACT, b"They built it."),)),
    Row(
        "undo of more than is held",
        ("undo", "one"),
        before=((_COMPACT, b"They built it."),),
        held=64,
    ),
    Row("redo", ("redo", "one"), before=((_COMPACT, b"It is so."), (("undo", "one"), b""))),
    Row("splice", ("splice", "one", "1:2", "--force")),
    Row("restore", ("restore", "one", "m2")),
    Row("core set", ("core", "set", "one", "human", "Ada")),
    Row("core import", ("core", "import", "one", "../blocks")),
    Row(
        "core clear",
        ("core", "clear", "one"),
        before=((("core", "import", "one", "../blocks"), b""),),
    ),
    Row("value", ("value", "set", "one", "mood", '"calm"')),
    Row("meta", ("meta", "title", "one", "Tides")),
    Row("redact", _REDACT, SECRET.encode(), masks=True),
    Row(
        "redact of everything",
        (*_REDACT, "--drop-blobs"),
        SECRET.encode(),
        before=(
            (("append", "one"), _TOLD),
            (_CLEAR, b""),
            (("meta", "title", "one", f"it is {SECRET}"), b""),
            (_REDACT, b"They are built."),  # now there is a key, which masks are made with
        ),
        prepare=states.told_beside,
        masks=True,
    ),
    Row("rewrite", ("rewrite", "one", "--yes", "--replace-file", "../replace")),
    Row("remap", ("remap", "/home/ada/tides=/srv/tides", "one", "--yes")),
    Row("rename", ("rename", "one", "uno")),
    Row("rename an agent", ("rename", "one", "--agent", "aide=helper")),
    Row("fork", ("fork", "one", "two")),
    Row("fork an agent", ("fork", "one", "--as-agent", "twin")),
    Row("repair", _REPAIR, prepare=states.damaged, good=(0, 1), strict=False),
    Row("repair of the order", _REPAIR, prepare=states.swapped, good=(0, 1), strict=False),
    Row("repair of images", _REPAIR, prepare=states.without_images, good=(0, 1)),
    Row("repair of places", _REPAIR, prepare=states.odd_places, good=(0, 1), in_steps=True),
    Row(
        "repair of no redo file",
        _REPAIR,
        prepare=states.not_whole,
        good=(0, 1),
        in_steps=True,
        settles=False,
    ),
    Row("repair of half a change", _REPAIR, prepare=states.foreign, good=(0, 1), in_steps=True),
    Row(
        "repair of all",
        ("repair", "--all", "--json"),
        prepare=states.half_gone,
        good=(0, 1),
        in_steps=True,
    ),
    Row(
        "repair of modes",
        (*_REPAIR, "--tighten"),
        prepare=states.readable,
        good=(0, 1),
        in_steps=True,
    ),
    Row("bring back", _IMPORT, before=((_IMPORT, b""),), prepare=states.lost_and_mended),
    Row("gc", ("gc", "one", "--yes"), prepare=states.loose),
    Row("gc of all", ("gc", "--all", "--yes"), prepare=states.loose),
    Row("gc of the root", ("gc", "--all", "--yes"), prepare=states.half_gone, in_steps=True),
    Row("rm", ("rm", "one", "--yes")),
    Row("prune", ("prune", "--older", "1d", "--yes")),
)


def known_rows() -> list[Row]:
    return [row for row in ROWS if row.known]
