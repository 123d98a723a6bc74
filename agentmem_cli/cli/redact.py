"""The command that masks secrets, in every past state: redact."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentmem_cli.cli.many import AllOption, IdleOption, Sought, check_asks, idle_ms
from agentmem_cli.cli.options import (
    DryRunOption,
    JsonOption,
    LabelOption,
    LargerOption,
    ModelOption,
    OlderOption,
    SinceOption,
    TitleOption,
    UntilOption,
    YesOption,
)
from agentmem_cli.cli.rewritten import ProjectOption
from agentmem_cli.cli.secret_options import (
    AggressiveOption,
    AllowOption,
    AllowUnreadOption,
    DamagedOption,
    EnvFileOption,
    FilesOption,
    JobsOption,
    KeepOption,
    LiteralsOption,
    NoFingerprintOption,
    NoRulesOption,
    OnlyOption,
    PatternsOption,
    PiiOption,
    SkipOption,
    TargetsArg,
    Wishes,
    begin_rules,
    size_of,
    spec_of,
    targets_of,
    tell_removed,
    tell_slow,
)
from agentmem_cli.cli.settings import Settings
from agentmem_cli.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentmem_cli.cli.secret_options import Meant
    from agentmem_cli.operations.outside import Passed
    from agentmem_cli.operations.secrets.spec import Spec
    from agentmem_cli.operations.secrets.working import How, Target

DropBlobsOption = Annotated[
    bool,
    typer.Option("--drop-blobs", help="Give up images and the like in which something stands."),
]
VerifyOption = Annotated[
    bool, typer.Option("--verify", help="Only look again whether something is left.")
]
ReceiptOption = Annotated[
    str | None,
    typer.Option("--receipt", metavar="FILE", help="Add a record of this run to a file."),
]
ForceOption = Annotated[
    bool,
    typer.Option(
        "--force",
        "-f",
        help="Though it was just changed; and .env files, and files with other names.",
    ),
]


def redact(
    context: typer.Context,
    words: TargetsArg = None,
    everything: AllOption = False,
    files: FilesOption = False,
    pii: PiiOption = None,
    aggressive: AggressiveOption = False,
    literals: LiteralsOption = None,
    regexes: PatternsOption = None,
    env_file: EnvFileOption = None,
    no_rules: NoRulesOption = False,
    only: OnlyOption = None,
    skip: SkipOption = None,
    keep: KeepOption = None,
    allow: AllowOption = None,
    no_fingerprint: NoFingerprintOption = False,
    drop_blobs: DropBlobsOption = False,
    damaged: DamagedOption = "refuse",
    allow_unread: AllowUnreadOption = False,
    verify: VerifyOption = False,
    receipt: ReceiptOption = None,
    if_idle: IdleOption = "60s",
    force: ForceOption = False,
    jobs: JobsOption = None,
    project: ProjectOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    model: ModelOption = None,
    label: LabelOption = None,
    title: TitleOption = None,
    larger: LargerOption = None,
    older: OlderOption = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    json: JsonOption = False,
) -> int | None:
    """Mask secrets in sessions or files, in every past state.

    A value that was found is masked wherever it stands, however it is
    written, and all is read again to prove that none is left. It cannot be
    undone and no copy is kept. The exit status is 1 where something stays or
    could not be looked into. What it cannot do: revoke a key, reach backups
    and other copies, read pictures, packed files and encrypted reasoning.
    """
    given = dict(locals())
    settings = Settings.of(context)
    begin_rules(settings, no_rules=no_rules)
    sought = Sought(given)
    wishes = Wishes.of(given)
    if damaged not in ("refuse", "as-text"):
        msg = f"--damaged: {damaged!r} is none of refuse, as-text"
        raise UsageError(msg)
    idle = idle_ms(if_idle, force=force)
    looks_only = dry_run or verify
    meant = _meant(settings, given, sought, wishes, changes=not looks_only)
    spec = spec_of(settings, wishes, looks_only=looks_only, jobs=jobs)
    how = _how(settings, given, idle, fingerprints=spec.fingerprints)
    tell_removed(meant.removed, spec)
    run = _Run(settings, meant.targets, meant.passed, spec, how, jobs, json)
    if looks_only and receipt is not None:
        _tell_no_receipt()
    if verify:
        return run.look(verifies=True)
    if dry_run:
        return run.plan()
    return run.redact(yes=yes, receipt=receipt, allow_unread=allow_unread)


def _meant(
    settings: Settings,
    given: Mapping[str, object],
    sought: Sought,
    wishes: Wishes,
    *,
    changes: bool,
) -> Meant:
    """Return what is to be worked on, once somebody can be asked or need not be."""
    words = given["words"]
    assert words is None or isinstance(words, list)
    everything, files, yes = (bool(given[key]) for key in ("everything", "files", "yes"))
    meant = None
    if not files:
        # Why before the question who answers: a slip in what is meant comes first. Of files it
        # comes later, since what killed runs left is removed with it.
        meant = targets_of(settings, words, sought, everything=everything, files=False)
    if changes:
        check_asks(settings, yes=yes)
        _check_input(settings, wishes, yes=yes)
    return meant or targets_of(
        settings, words, sought, everything=everything, files=True, changes=changes
    )


def _tell_no_receipt() -> None:
    from agentmem_cli.cli.output import warn

    warn("--receipt: none is written, since this only looks")


def _how(
    settings: Settings, given: Mapping[str, object], idle: int | None, *, fingerprints: bool
) -> How:
    from agentmem_cli.operations.secrets.working import How

    return How(
        settings.now_ms,
        idle,
        "as-text" if given["damaged"] == "as-text" else "refuse",
        bool(given["drop_blobs"]),
        bool(given["force"]),
        settings.lock_wait_s,
        fingerprints=fingerprints,
    )


def _check_input(settings: Settings, wishes: Wishes, *, yes: bool) -> None:
    """See that standard input is not both the answer and a file."""
    names = (*wishes.literals, *wishes.patterns, *wishes.env_files)
    if "-" in names and not yes and settings.asks:
        raise UsageError(
            "standard input is named as a file, so nobody can answer", hint="Add --yes."
        )


class _Run:
    """One run of `redact`."""

    def __init__(
        self,
        settings: Settings,
        targets: list[Target],
        passed: list[Passed],
        spec: Spec,
        how: How,
        jobs: int | None,
        json: bool,
    ) -> None:
        self._settings = settings
        self._targets = targets
        self._passed = passed
        self._spec = spec
        self._how = how
        self._jobs = jobs
        self._json = json

    def look(self, *, verifies: bool = False) -> int | None:
        """Look as `scan` does."""
        from agentmem_cli.cli.output import talk
        from agentmem_cli.cli.render import progress
        from agentmem_cli.cli.scanned import Scanned
        from agentmem_cli.operations.secrets.pool import hidden, run_all

        form = "json" if self._json else "table"
        begun_s = time.monotonic()
        passed = hidden(self._passed, self._spec, tell_slow)
        told = Scanned(self._settings, self._targets, passed, form, begun_s=begun_s)
        with progress("look", self._total(1), self._settings) as advance:
            for outcome in run_all(
                self._targets,
                self._how,
                self._spec,
                jobs=self._jobs or 1,
                advance=advance,
                slow=tell_slow,
            ):
                told.take(outcome)
        status = told.finish()
        if verifies:
            talk("No value is kept, so this only looked again by the rules and files of this run.")
        return status

    def plan(self) -> int | None:
        """Show what would be masked; nothing is changed."""
        from agentmem_cli.cli.output import talk

        status = self.look()
        talk("Nothing was changed (dry run).")
        return None if status == 1 else status

    def redact(self, *, yes: bool, receipt: str | None, allow_unread: bool) -> int | None:
        """Mask, after a look and a question where a person can answer it."""
        from agentmem_cli.cli.interrupts import deaf
        from agentmem_cli.cli.many import confirm
        from agentmem_cli.cli.output import talk
        from agentmem_cli.cli.redacted import Receipts, Redacted
        from agentmem_cli.cli.render import count, progress
        from agentmem_cli.operations.secrets.pool import Run, hidden

        kept = None if receipt is None else Receipts(Path(receipt))
        if not yes:
            status = self.look()
            if status is None:
                return None
            thing = "session" if self._targets[0].is_session else "file"
            talk("Masks replace what is there. It cannot be undone, and no copy is kept.")
            question = f"Mask what is to be masked in {count(len(self._targets), thing)}?"
            if not confirm(self._settings, question, yes=False):
                return 1
        passed = hidden(self._passed, self._spec, tell_slow)
        told = Redacted(self._settings, self._targets, passed, json=self._json)
        how = self._how._replace(redact=True)
        run = Run(self._targets, how, self._spec, jobs=self._jobs or 1, slow=tell_slow)
        try:
            with progress("redact", self._total(3), self._settings) as advance:
                for outcome in run.outcomes(advance):
                    told.take(outcome)
        except KeyboardInterrupt:
            deaf()  # Why: who is impatient is to learn, too, what was changed.
            told.stopped(run.stop(), kept)
            raise
        finally:
            run.stop()
        return told.finish(kept, allow_unread=allow_unread)

    def _total(self, passes: int) -> int | None:
        return size_of(self._targets) * passes if self._settings.talks else None
