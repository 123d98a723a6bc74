from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.session.change import ChangeRecord, Push, Reset, SetHalt, Splice, State
from agentmem_cli.session.entry import Entry
from agentmem_cli.session.images import BLOB_FOLDER, blob_name
from agentmem_cli.session.message import Message
from agentmem_cli.session.reader import HeldFiles
from agentmem_cli.session.record import Retired, Saved
from agentmem_cli.session.storing import stored_records
from tests.strategies import base64_data

if TYPE_CHECKING:
    from agentmem_cli.session.change import Change
    from agentmem_cli.session.record import LogRecord

PIXELS = b"pixels"
INLINE = Message.user([{"type": "image", "media_type": "png", "data": base64_data(PIXELS)}])
NAME = blob_name(PIXELS, "png")


def stored(change: Change, files: HeldFiles) -> Change:
    (record,) = stored_records([ChangeRecord(change, None, 1)], files)
    assert isinstance(record, ChangeRecord)
    return record.change


def test_pushes_and_splices_name_their_images_and_resets_hold_them() -> None:
    files = HeldFiles({})
    entry = Entry(0, INLINE, None, 3)

    push = stored(Push((entry,)), files)
    splice = stored(Splice(0, 0, (), (entry,)), files)
    reset = stored(Reset(State((entry,))), HeldFiles({}))

    assert isinstance(push, Push)
    assert isinstance(splice, Splice)
    assert isinstance(reset, Reset)
    assert NAME.encode() in push.entries[0].stored.raw
    assert NAME.encode() in splice.with_[0].stored.raw
    assert push.entries[0].made == 3
    assert reset.state.entries[0] is entry
    assert files.held == {BLOB_FOLDER + NAME: PIXELS}


def test_what_holds_no_images_stays_as_it_is() -> None:
    files = HeldFiles({})
    records: list[LogRecord] = [Saved("k", 1), Retired(), ChangeRecord(SetHalt("kept"), None, 1)]
    plain = Entry(0, Message.user('an "image" in words'))

    push = stored(Push((plain,)), files)

    assert stored_records(records, files) == records
    assert isinstance(push, Push)
    assert push.entries[0] is plain
    assert files.held == {}
