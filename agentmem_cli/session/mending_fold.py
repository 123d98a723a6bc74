"""The fold of a log that is mended while it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.session.fold import BAD_STAMP, NOT_APPLIED, LogFold

if TYPE_CHECKING:
    from agentmem_cli.session.change import Reset, SetAside
    from agentmem_cli.session.lines import Line
    from agentmem_cli.session.record import Header


class MendingFold(LogFold):
    """A fold that goes on with what stands in the place of a damaged record."""

    last_why = ""
    """Why the last record that `take` found damaged is so."""

    def take(self, line: Line) -> list[str]:
        """Fold one record; return the kinds of its damages."""
        self._take(line)
        kinds = [damage.kind for damage in self.damages]
        self.last_why = self.damages[-1].why if kinds else ""
        self.damages.clear()
        return kinds

    def takes_double(self, line: Line) -> bool:
        """Fold a second record of a stamp; return False, nothing done, where it cannot be read."""
        before = self.last_seq, self.last_n, self.last_t, self.records
        if {*self.take(line)} <= {BAD_STAMP, NOT_APPLIED}:
            return True
        self.last_seq, self.last_n, self.last_t, self.records = before
        return False

    def put(self, seq: int, n: int, t: int, change: SetAside | Reset) -> None:
        """Fold a change that stands in no log yet."""
        self.last_seq, self.last_n, self.last_t = seq, n, t
        self.records = max(self.records, 1) + 1
        self.conversation.apply(change)
        self.conversation.changes += 1

    def put_header(self, header: Header, n: int, t: int) -> None:
        """Fold a header that stands in no log yet."""
        self.header, self.header_n, self.started_ms = header, n, t
        self.last_seq, self.last_n, self.last_t = 0, n, t
        self.records = 1
