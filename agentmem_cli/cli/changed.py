"""What every change of a conversation tells besides its own: what was out of order, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.cli.output import warn

if TYPE_CHECKING:
    from agentmem_cli.operations.changing import Written
    from agentmem_cli.session.codec import Object


def tell_written(session: str, written: Written) -> None:
    """Warn of what a change found out of order."""
    for torn in written.torn:
        warn(
            f"{session}/logs/{torn.log}.jsonl: {torn.cut} torn bytes at byte {torn.kept} "
            f"were set aside in files/{torn.set_aside}"
        )
    meta = written.meta
    if meta.set_aside is not None:
        lost = "; labels, if it had any, are lost" if meta.labels_lost else ""
        warn(
            f"{session}/files/meta.json: {meta.why}; it was set aside as "
            f"files/{meta.set_aside} and made anew from the logs{lost}"
        )
    if written.meta_error is not None:
        warn(f"{session}: the meta was not written ({written.meta_error}); list goes by the logs")


def written_fields(written: Written) -> Object:
    """Return what JSON tells of a change's records."""
    return {
        "first_n": written.first_n,
        "last_n": written.last_n,
        "set_aside": [torn.set_aside for torn in written.torn],
        "meta_set_aside": written.meta.set_aside,
    }
