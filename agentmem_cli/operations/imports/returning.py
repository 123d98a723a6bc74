"""What a mended session lost, put back into its place from its source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.operations.imports.adapter import Said

if TYPE_CHECKING:
    from agentmem_cli.operations.imports.logs import LogOut, SessionOut
    from agentmem_cli.operations.imports.maplines import Placed
    from agentmem_cli.operations.imports.maps import Known
    from agentmem_cli.operations.imports.sources import Timed
    from agentmem_cli.operations.imports.standing import Standing


def put_back(
    session: SessionOut, standing: Standing, out: LogOut, known: Known, timed: Timed, body: bytes
) -> Placed | None:
    """Put a message back where a repair noted that it is lost.

    Args:
        session: The logs that are written.
        standing: What stands in them; it is told of what gets no place of its own.
        out: The log.
        known: What is lost, as the map has it.
        timed: The same as the source has it.
        body: Its JSON.

    Returns:
        None where no repair noted it, or its place is not known any more.
    """
    hole = standing.hole_of(known)
    if hole is None:
        return None
    placed = None
    if isinstance(timed.item, Said) and known.id is not None:
        placed = session.insert(out, timed.t, known.id, body, timed.item.author, hole[0])
    if placed is None:
        standing.out_of_order(known)
    return placed
