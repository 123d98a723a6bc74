"""Every bound, with its unit and why it is what it is."""

from __future__ import annotations

from typing import Final

LOCK_WAIT_S: Final = 10.0
"""Seconds to wait for a session's lock; longer than any append, shorter than a person waits."""

NAME_PART_BYTES_MAX: Final = 255
"""Bytes of one part of a file's name; the bound of ext4, APFS and NTFS alike."""

META_BYTES_MAX: Final = 1 << 20
"""Bytes of a meta.json that is still read; it holds small fields only."""

REDO_BYTES_MAX: Final = 256 << 20
"""Bytes of a redo file that is still read: some 600,000 steps."""

GIVEN_BYTES_MAX: Final = 256 << 20
"""Bytes of a file or of standard input that a command takes as a whole; a device never ends."""

CHUNK_BYTES: Final = 1 << 20
"""Bytes read at once when a log is streamed."""

LISTING_HEAD_BYTES: Final = 64 << 10
"""Bytes read at a log's beginning when a listing has no meta to go by."""

LISTING_TAIL_BYTES: Final = 64 << 10
"""Bytes read at a log's end when a listing has no meta to go by."""

JSON_DEPTH_MAX: Final = 1_024
"""Nested arrays and objects in one line: as deep as orjson reads."""

U64_MAX: Final = (1 << 64) - 1
"""The greatest lineage, stamp or id: the format's numbers are unsigned 64-bit ones."""

TITLE_CHARACTERS_MAX: Final = 60
"""Characters of a title made from a text, the ellipsis included."""

LIST_ROWS: Final = 50
"""Rows that `list` prints unless told otherwise; it says how many there are."""

FINDINGS_MAX: Final = 100_000
"""Matches of the secret rules that are judged in one text; the rest is counted and told."""

CORE_MEMORY_BYTES_MIN: Final = 4_096
"""The least that a core memory's bound may be, in UTF-8 bytes of contents."""

CORE_MEMORY_BYTES_MAX: Final = 32_768
"""The most, and what it is unless told otherwise."""

BLOCK_BYTES_MAX: Final = 16_384
"""UTF-8 bytes of one block's content: half of the most, so that no block is alone."""

LABEL_BYTES_MAX: Final = 64
"""UTF-8 bytes of a block's label."""

DESCRIPTION_BYTES_MAX: Final = 1_024
"""UTF-8 bytes of what a block is said to be for: some lines for people, no second content."""

TAR_MEMBERS_MAX: Final = 500_000
"""Files and folders of a tar that is imported: more than any session has."""

TAR_UNPACKED_FREE: Final = 1 << 30
"""Bytes that a packed tar may become whatever it was packed to; a text that repeats packs well."""

TAR_RATIO_MAX: Final = 200
"""How many times its packed bytes a tar may become beyond that; transcripts come to 5 to 40."""

TAR_NAME_BYTES_MAX: Final = 64 << 10
"""Bytes of what a tar says about one member beside its header: a long name."""
