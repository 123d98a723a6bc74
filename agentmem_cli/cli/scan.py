"""The command that looks for secrets and changes nothing: scan."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentmem_cli.cli.many import AllOption, Sought
from agentmem_cli.cli.options import (
    JsonOption,
    LabelOption,
    LargerOption,
    ModelOption,
    OlderOption,
    SinceOption,
    TitleOption,
    UntilOption,
)
from agentmem_cli.cli.rewritten import ProjectOption
from agentmem_cli.cli.secret_options import (
    AggressiveOption,
    AllowOption,
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
    tell_slow,
)
from agentmem_cli.cli.settings import Settings
from agentmem_cli.errors import UsageError

if TYPE_CHECKING:
    from agentmem_cli.operations.outside import Passed
    from agentmem_cli.operations.secrets.masks import AllowList
    from agentmem_cli.operations.secrets.spec import Spec
    from agentmem_cli.operations.secrets.working import Target

AllowAddOption = Annotated[
    str | None,
    typer.Option(
        "--allow-add",
        metavar="FILE",
        help="Put what is found on this list, which is made where missing.",
    ),
]
SarifOption = Annotated[
    bool, typer.Option("--sarif", help="Print one SARIF 2.1.0 log, for code hosts and editors.")
]


def scan(
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
    allow_add: AllowAddOption = None,
    no_fingerprint: NoFingerprintOption = False,
    jobs: JobsOption = None,
    project: ProjectOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    model: ModelOption = None,
    label: LabelOption = None,
    title: TitleOption = None,
    larger: LargerOption = None,
    older: OlderOption = None,
    sarif: SarifOption = False,
    json: JsonOption = False,
) -> int | None:
    """Find secrets in sessions or files; change nothing, show no value.

    Every past state, side record, saved value, kept file and name is looked
    at. The exit status is 1 where something was found, or a part could not be
    looked into; 2 where the system refused. Without SESSION it looks at all
    sessions, or those that filters leave. It asks no network.
    """
    given = dict(locals())
    settings = Settings.of(context)
    begin_rules(settings, no_rules=no_rules)
    if sarif and json:
        raise UsageError("--sarif and --json are two forms; choose one")
    if allow is not None and allow_add is not None:
        raise UsageError("--allow-add goes on with its own list", hint="Leave --allow out.")
    sought = Sought(given)
    adds_to = None if allow_add is None else _list_at(allow_add)
    wishes = Wishes.of(given)
    everything = everything or not (words or files)  # It only reads, as grep and verify do.
    targets, passed, _ = targets_of(settings, words, sought, everything=everything, files=files)
    spec = spec_of(settings, wishes, looks_only=True, jobs=jobs)
    form = "sarif" if sarif else "json" if json else "table"
    if adds_to is not None:
        assert allow_add is not None
        return _add(settings, targets, spec._replace(allowed=adds_to), Path(allow_add), jobs)
    return _scan(settings, targets, passed, spec, form, jobs)


def _list_at(name: str) -> AllowList:
    from agentmem_cli.operations.secrets.masks import AllowList

    if not name:
        raise UsageError("--allow-add is empty")
    path = Path(name)
    return AllowList.read(path) if path.exists() else AllowList.fresh()


def _scan(
    settings: Settings,
    targets: list[Target],
    passed: list[Passed],
    spec: Spec,
    form: str,
    jobs: int | None,
) -> int | None:
    from agentmem_cli.cli.render import progress
    from agentmem_cli.cli.scanned import Scanned
    from agentmem_cli.operations.secrets.pool import hidden, run_all
    from agentmem_cli.operations.secrets.working import How

    how = How(settings.now_ms, lock_wait_s=settings.lock_wait_s, fingerprints=spec.fingerprints)
    begun_s = time.monotonic()
    told = Scanned(settings, targets, hidden(passed, spec, tell_slow), form, begun_s=begun_s)
    total = size_of(targets) if settings.talks else None
    with progress("scan", total, settings) as advance:
        for outcome in run_all(targets, how, spec, jobs=jobs or 1, advance=advance, slow=tell_slow):
            told.take(outcome)
    return told.finish()


def _add(
    settings: Settings, targets: list[Target], spec: Spec, path: Path, jobs: int | None
) -> int | None:
    """Put the digests of everything that is found on a list."""
    from agentmem_cli.cli.output import talk
    from agentmem_cli.cli.render import count, progress
    from agentmem_cli.cli.scanned import raise_only, tell_failure
    from agentmem_cli.operations.secrets.masks import AllowList
    from agentmem_cli.operations.secrets.pool import run_all
    from agentmem_cli.operations.secrets.working import How

    assert spec.allowed is not None
    how = How(settings.now_ms, lock_wait_s=settings.lock_wait_s, digests=spec.allowed)
    digests: set[str] = set()
    status = None
    with progress("scan", size_of(targets) if settings.talks else None, settings) as advance:
        for outcome in run_all(targets, how, spec, jobs=jobs or 1, advance=advance, slow=tell_slow):
            digests |= outcome.digests
            if outcome.error is not None:
                raise_only(outcome, targets)
                failed = tell_failure(outcome)
                status = status or failed
    known = spec.allowed.digests
    AllowList(spec.allowed.salt, known | digests).write(path)
    added = count(len(digests - known), "value")
    talk(f"{path}: {added} added, {count(len(known | digests))} in all")
    return status
