"""Records as a log keeps them: images as blobs beside it, in a reset inline.

Source: DESIGN.md, "Blobs".
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from agentmem_cli.session.change import ChangeRecord, Push, Reset, Splice
from agentmem_cli.session.images import (
    BLOB_FOLDER,
    REFERENCE,
    blob_names,
    get_blob,
    put_back,
    store_images,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.session.entry import Entry
    from agentmem_cli.session.images import BlobFiles
    from agentmem_cli.session.message import Message
    from agentmem_cli.session.record import LogRecord


def stored_records(records: Sequence[LogRecord], files: BlobFiles) -> list[LogRecord]:
    """Return *records* with images where they belong: as blobs of *files*, in a reset inline."""
    return [_stored(record, files) for record in records]


def _stored(record: LogRecord, files: BlobFiles) -> LogRecord:
    if not isinstance(record, ChangeRecord):
        return record
    change = record.change
    if isinstance(change, Push):
        return record._replace(change=Push(_stored_entries(change.entries, files)))
    if isinstance(change, Splice):
        return record._replace(change=change._replace(with_=_stored_entries(change.with_, files)))
    if isinstance(change, Reset):
        entries = tuple(_inline_entry(entry) for entry in change.state.entries)
        return record._replace(change=Reset(replace(change.state, entries=entries)))
    return record


def _inline_entry(entry: Entry) -> Entry:
    """Return the entry as a reset holds it: its images inline, lost ones still named."""
    if entry.blob_files is None:
        return entry
    message, _ = put_back(entry.stored, entry.blob_files, keep_lost=True)
    return entry.with_message(message)


def _stored_entries(entries: tuple[Entry, ...], files: BlobFiles) -> tuple[Entry, ...]:
    return tuple(_stored_entry(entry, files) for entry in entries)


def _stored_entry(entry: Entry, files: BlobFiles) -> Entry:
    stored = entry.stored
    if entry.blob_files is not None and REFERENCE.encode() in stored.raw:
        _carry_blobs(stored, entry.blob_files, files)
    message = store_images(stored, files)
    return entry if message is stored else entry.with_message(message)


def _carry_blobs(message: Message, source: BlobFiles, target: BlobFiles) -> None:
    """Copy the blobs that *message* names; a lost one stays named, and lost."""
    for name in blob_names(message.value):
        try:
            data = get_blob(source, name)
        except (OSError, ValueError):
            continue
        try:
            there = target.read_file(BLOB_FOLDER + name) == data
        except FileNotFoundError:
            there = False
        if not there:
            target.write_file(BLOB_FOLDER + name, data)
