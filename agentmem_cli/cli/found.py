"""The command grep, and how it prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from agentmem_cli.cli.found_lines import Printer, Wanted, show_words
from agentmem_cli.cli.options import (
    JsonOption,
    LabelOption,
    LargerOption,
    ModelOption,
    OlderOption,
    SessionsArg,
    TitleOption,
)
from agentmem_cli.cli.settings import Settings
from agentmem_cli.cli.sought import Filtered
from agentmem_cli.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentmem_cli.cli.output import Output
    from agentmem_cli.operations.catalog import Found
    from agentmem_cli.operations.searching import Hit, Limits
    from agentmem_cli.storage.directory import DirStore

COUNT: Final = "agentmem.match-count/1"
"""How much of one session matches."""

ROLES: Final = ("user", "assistant", "system", "tool")
"""What `grep --role` takes."""

_NO_MATCH: Final = 1
_TROUBLE: Final = 2

_BAR_BYTES: Final = 200_000_000
"""Bytes of logs from which a bar shows how far the search is: about a second of decoding."""

ContextOption = Annotated[
    int | None,
    typer.Option("--context", "-C", metavar="N", min=0, help="N lines before and after, too."),
]


FixedOption = Annotated[
    bool, typer.Option("--fixed-strings", "-F", help="Look for the pattern as plain text.")
]
CaseOption = Annotated[
    bool, typer.Option("--ignore-case", "-i", help="Small and great letters are the same.")
]
RoleOption = Annotated[
    list[str] | None,
    typer.Option(
        "--role",
        metavar="ROLE",
        help="Only what user, assistant, system or tool (results) said; repeatable, commas too.",
    ),
]
ToolOption = Annotated[
    list[str] | None,
    typer.Option(
        "--tool", metavar="NAME", help="Only calls of this tool and their results; repeatable."
    ),
]
PastOption = Annotated[
    bool, typer.Option("--all", help="Messages too that were taken out or replaced.")
]
CountOption = Annotated[
    bool, typer.Option("--count", "-c", help="Only how many messages match, by session.")
]
NamesOption = Annotated[
    bool, typer.Option("--sessions-with-matches", "-l", help="Only the names of sessions.")
]
AfterOption = Annotated[
    int | None,
    typer.Option("--after-context", "-A", metavar="N", min=0, help="N lines after it, too."),
]
BeforeOption = Annotated[
    int | None,
    typer.Option("--before-context", "-B", metavar="N", min=0, help="N lines before, too."),
]
AgentsOption = Annotated[
    str | None,
    typer.Option("--agent", metavar="ID", help="Only agents whose ids begin so."),
]
MadeSinceOption = Annotated[
    str | None,
    typer.Option("--since", metavar="TIME", help="Only messages made at this time or later."),
]
MadeUntilOption = Annotated[
    str | None,
    typer.Option("--until", metavar="TIME", help="Only messages made before; a day is included."),
]
ProjectOption = Annotated[
    str | None,
    typer.Option("--project", metavar="FOLDER", help="Only sessions that worked there."),
]
PatternArg = Annotated[
    str, typer.Argument(metavar="PATTERN", help="A regular expression; with -F a text.")
]


def grep(
    context: typer.Context,
    pattern: PatternArg,
    sessions: SessionsArg = None,
    fixed: FixedOption = False,
    ignore_case: CaseOption = False,
    role: RoleOption = None,
    tool: ToolOption = None,
    past: PastOption = False,
    counted: CountOption = False,
    names: NamesOption = False,
    after: AfterOption = None,
    before: BeforeOption = None,
    around: ContextOption = None,
    agent: AgentsOption = None,
    since: MadeSinceOption = None,
    until: MadeUntilOption = None,
    project: ProjectOption = None,
    model: ModelOption = None,
    label: LabelOption = None,
    title: TitleOption = None,
    larger: LargerOption = None,
    older: OlderOption = None,
    json: JsonOption = False,
) -> int | None:
    """Find a text in what messages say, in calls and in results.

    It looks at the decoded text, however the log spells it, of the messages
    that stand now. Each line has its address, SESSION:AGENT:mN, which show
    takes: agentmem show ADDRESS. The exit status is 1 where nothing matches. A
    pattern that begins with - goes behind --.
    """
    from agentmem_cli.cli.sought import sessions_to_read
    from agentmem_cli.operations.needles import needle_of

    settings = Settings.of(context)
    if counted and names:
        raise UsageError("-c and -l do not go together")
    if agent == "":
        raise UsageError("--agent is empty")
    wanted = Wanted(
        needle_of(pattern, fixed=fixed, ignore_case=ignore_case),
        _limits(settings, role, tool, since, until, past=past),
        agent,
        before if before is not None else around or 0,
        after if after is not None else around or 0,
        json,
        counted or names,
    )
    given = Filtered(None, None, model, label, title, larger, older, project)
    found = sessions_to_read(settings, sessions, given)
    return _Run(settings, wanted, found, names=names).run()


def _limits(
    settings: Settings,
    role: Sequence[str] | None,
    tool: Sequence[str] | None,
    since: str | None,
    until: str | None,
    *,
    past: bool,
) -> Limits:
    from agentmem_cli.cli.options import filters
    from agentmem_cli.operations.searching import Limits

    for option, words in (("--role", role), ("--tool", tool)):
        if words and "" in words:
            raise UsageError(f"{option} is empty")
    times = filters(settings, since=since, until=until)
    return Limits(
        _roles(role) if role else None,
        frozenset(tool) if tool else None,
        times.since_ms,
        times.until_ms,
        past,
    )


def _roles(words: Sequence[str]) -> frozenset[str]:
    roles = [role for each in words for role in each.split(",")]
    for role in roles:
        # Why: a typo would be taken for a text that is not there.
        if role not in ROLES:
            msg = f"--role: {role!r} is none of {', '.join(ROLES)}"
            raise UsageError(msg)
    return frozenset(roles)


class _Run:
    """One search over sessions."""

    def __init__(
        self, settings: Settings, wanted: Wanted, found: Sequence[Found], *, names: bool
    ) -> None:
        self.settings = settings
        self.wanted = wanted
        self._found = found
        self._names = names
        self._first: Hit | None = None
        self._first_in = ""
        self._messages = 0
        self._lines = 0
        self._sessions = 0
        self._bytes = 0
        self._failed = 0

    def run(self) -> int | None:
        from time import perf_counter

        from agentmem_cli.cli.sought import open_to_read

        begun = perf_counter()
        stores = ((one, open_to_read(self.settings, one)) for one in self._found)
        with self.settings.output(paged=not self.wanted.json) as out:
            for found, store in stores:
                if store is None:
                    self._failed += 1
                else:
                    self._search(out, found, store)
        if not self.wanted.json:
            self._tell(perf_counter() - begun)
        if self._failed:
            return _TROUBLE
        return None if self._messages else _NO_MATCH

    def _search(self, out: Output, found: Found, store: DirStore) -> None:
        from agentmem_cli.cli.output import ClosedOutputError, warn
        from agentmem_cli.cli.render import progress
        from agentmem_cli.cli.sought import agents_to_read
        from agentmem_cli.errors import SessionError

        before = self._messages, self._lines
        try:
            logs = agents_to_read(store, self.wanted.agent)
            size = sum(store.log_stat(log).size for log in logs)
            shown = self.settings if size > _BAR_BYTES and self.settings.columns is None else None
            if shown is None:
                self._search_logs(out, found, store, logs, None)
            else:
                with progress(f"grep {found.id}", size, shown) as advance:
                    self._search_logs(out, found, store, logs, advance)
        except ClosedOutputError:
            raise
        except (SessionError, FileNotFoundError) as error:
            self._failed += 1
            warn(f"{found.id}: {error}")
        else:
            self._bytes += size
        if self._messages > before[0]:
            self._sessions += 1
            if self.wanted.short:
                self._print_short(out, found, self._messages - before[0], self._lines - before[1])

    def _search_logs(
        self,
        out: Output,
        found: Found,
        store: DirStore,
        logs: Sequence[str],
        advance: Callable[[int], None] | None,
    ) -> None:
        from agentmem_cli.operations.searching import search_log

        printer = None if self.wanted.short else Printer(self.settings, self.wanted, out, found.id)
        for log in logs:
            last = -1, -1
            for hit in search_log(store, log, self.wanted.needle, self.wanted.limits, advance):
                # Why with n: a message that was replaced has the number of what replaced it.
                place = hit.id, -1 if hit.n is None else hit.n
                if place != last:
                    self._messages += 1
                    last = place
                    if self._names:
                        return
                if self._first is None:
                    self._first, self._first_in = hit, found.id
                if printer is None:
                    continue
                self._lines += printer.hit(hit)

    def _print_short(self, out: Output, found: Found, messages: int, lines: int) -> None:
        from agentmem_cli.cli.text import one_line

        del lines
        if self.wanted.json:
            count = None if self._names else messages
            out.object(COUNT, {"session": found.id, "messages": count})
        else:
            name = one_line(found.id)
            out.line(name if self._names else f"{name}:{messages}")

    def _tell(self, elapsed_s: float) -> None:
        """Say how much matched, how much was searched, and how to go on."""
        from agentmem_cli.cli.output import talk
        from agentmem_cli.cli.render import count, summary
        from agentmem_cli.cli.text import one_line

        read = len(self._found) - self._failed
        searched = f"searched {summary(read, 'session', self._bytes, elapsed_s)}"
        if self._failed:
            searched += f"; {count(self._failed, 'session')} could not be read"
        if not self._messages:
            talk(f"Nothing matches; {searched}")
            return
        told = [] if self._names else [count(self._messages, "message")]
        told.append(count(self._sessions, "session"))
        talk(f"{' in '.join(told)}; {searched}")
        if self._first is not None and not self.wanted.short:
            words = " ".join(_quoted(word) for word in show_words(self._first_in, self._first))
            talk(one_line(f"agentmem {words}"))


def _quoted(word: str) -> str:
    import shlex

    return shlex.quote(word)
