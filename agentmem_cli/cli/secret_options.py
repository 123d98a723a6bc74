"""What scan and redact have in common: options, and what they look for."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import typer

from agentmem_cli.cli.given_files import read_given
from agentmem_cli.errors import AgentMemError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agentmem_cli.cli.many import Sought
    from agentmem_cli.cli.settings import Settings
    from agentmem_cli.operations.outside import Passed
    from agentmem_cli.operations.secrets.given import Given
    from agentmem_cli.operations.secrets.spec import Spec
    from agentmem_cli.operations.secrets.working import Target

GROUPS: Final = ("email", "home", "card", "iban", "ipv4")
"""What ``--pii`` takes."""

TargetsArg = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SESSION]...",
        help="Sessions; with --files, files, folders or patterns of them.",
    ),
]
FilesOption = Annotated[
    bool,
    typer.Option("--files", help="The words are files outside any session, or folders of them."),
]
JobsOption = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        metavar="N",
        min=1,
        help="Work in N processes with a thread each; if not given, in one with a thread a core.",
    ),
]
PiiOption = Annotated[
    str | None,
    typer.Option(
        "--pii",
        metavar="GROUPS",
        help="Private data too, with commas: email, home, card, iban, ipv4, or all.",
    ),
]
AggressiveOption = Annotated[
    bool, typer.Option("--aggressive", help="Take what is not sure, like a password in a sentence.")
]
LiteralsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--literals",
        metavar="FILE",
        help="Values to be found wherever they stand, one a line; - is standard input.",
    ),
]
PatternsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--regexes", metavar="FILE", help="Regular expressions, one a line; - is standard input."
    ),
]
EnvFileOption = Annotated[
    list[str] | None,
    typer.Option("--env-file", metavar="FILE", help="The values of a file of KEY=VALUE lines."),
]
NoRulesOption = Annotated[
    bool, typer.Option("--no-rules", help="Only what files name; no rules for secrets.")
]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="KIND", help="Only this kind; repeatable, commas too."),
]
SkipOption = Annotated[
    list[str] | None,
    typer.Option("--skip", metavar="KIND", help="Not this kind; repeatable, commas too."),
]
KeepOption = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        metavar="FINGERPRINT",
        help="Leave the value with these 8 digits; repeatable, commas too.",
    ),
]
AllowOption = Annotated[
    str | None,
    typer.Option("--allow", metavar="FILE", help="Leave the values on this list."),
]
NoFingerprintOption = Annotated[
    bool, typer.Option("--no-fingerprint", help="No digits that tell values apart.")
]
DamagedOption = Annotated[
    str,
    typer.Option(
        "--damaged",
        metavar="HOW",
        help="What to do with a log that does not read: refuse it, or as-text.",
    ),
]
AllowUnreadOption = Annotated[
    bool,
    typer.Option(
        "--allow-unread", help="End with 0 though something could not be looked into, or stays."
    ),
]

_FINGERPRINT: Final = re.compile(r"[0-9a-f]{8}")


class Wishes(NamedTuple):
    """What is looked for, as it was written."""

    pii: str | None
    aggressive: bool
    literals: Sequence[str]
    patterns: Sequence[str]
    env_files: Sequence[str]
    no_rules: bool
    only: Sequence[str]
    skip: Sequence[str]
    keep: Sequence[str]
    allow: str | None
    no_fingerprint: bool

    @classmethod
    def of(cls, given: Mapping[str, object]) -> Wishes:
        """Take it out of what a command was *given*, by its parameters."""
        named = {
            "pii": given["pii"],
            "aggressive": given["aggressive"],
            "literals": given["literals"] or (),
            "patterns": given["regexes"] or (),
            "env_files": given["env_file"] or (),
            "no_rules": given["no_rules"],
            "only": given["only"] or (),
            "skip": given["skip"] or (),
            "keep": given["keep"] or (),
            "allow": given["allow"],
            "no_fingerprint": given["no_fingerprint"],
        }
        return cls(**named)  # type: ignore[arg-type]


def begin_rules(settings: Settings, *, no_rules: bool) -> None:
    """Get the rules ready on another processor, while this one reads what is asked for."""
    if not no_rules:
        from agentmem_cli.operations.secrets.loading import begin

        begin(settings.cache_folder)


def tell_slow() -> None:
    """Say why nothing happens for some seconds."""
    from agentmem_cli.cli.output import talk

    talk("Compiling the rules for secrets. This takes some seconds, once.")


def spec_of(settings: Settings, wishes: Wishes, *, looks_only: bool, jobs: int | None) -> Spec:
    """Read what is looked for.

    Args:
        settings: Where the key and the compiled rules are.
        wishes: The options.
        looks_only: Nothing is masked, so a key that cannot be had is no failure.
        jobs: Processes at once; None: one, with a thread a core.

    Raises:
        UsageError: An option, or a file that it names, cannot be read.
        AgentMemError: The key cannot be made.
    """
    from agentmem_cli.operations.secrets.masks import AllowList
    from agentmem_cli.operations.secrets.spec import Spec

    if wishes.no_rules and wishes.pii:
        raise UsageError("--pii looks by rules, and --no-rules leaves them out")
    given = _given(wishes)
    if wishes.no_rules and given.is_empty:
        msg = "--no-rules leaves nothing to look for"
        raise UsageError(msg, hint="Name values by --literals, --regexes or --env-file.")
    return Spec(
        settings.cache_folder,
        _key(settings, wishes, looks_only=looks_only),
        rules=not wishes.no_rules,
        groups=_groups(wishes.pii),
        given=given,
        keep=_fingerprints(wishes.keep),
        allowed=None if wishes.allow is None else AllowList.read(Path(wishes.allow)),
        aggressive=wishes.aggressive,
        only=frozenset(_listed(wishes.only, "--only")),
        skip=frozenset(_listed(wishes.skip, "--skip")),
        threads=max(2, os.cpu_count() or 1) if jobs is None else 1,
    )


def _key(settings: Settings, wishes: Wishes, *, looks_only: bool) -> bytes | None:
    if wishes.no_fingerprint:
        if wishes.keep:
            raise UsageError("--keep goes by fingerprints, and --no-fingerprint makes none")
        return None
    from agentmem_cli.operations.secrets.masks import mask_key

    try:
        return mask_key(settings.config_folder)
    except OSError as error:
        if looks_only and not wishes.keep:
            return None  # Why: a look needs none; in a build there may be no place for it.
        where = f"{error.filename or settings.config_folder}: {error.strerror or error}"
        msg = f"the key of masks cannot be read or made: {where}"
        raise AgentMemError(msg, hint="--no-fingerprint works without a key.") from None


def _given(wishes: Wishes) -> Given:
    from agentmem_cli.cli.output import warn
    from agentmem_cli.operations.secrets.given import (
        read_env,
        read_literals,
        read_patterns,
        together,
    )

    sources: list[tuple[str, Sequence[str], Callable[[str, str], Given]]] = [
        ("--literals", wishes.literals, read_literals),
        ("--regexes", wishes.patterns, read_patterns),
        ("--env-file", wishes.env_files, read_env),
    ]
    if sum(name == "-" for _, names, _ in sources for name in names) > 1:
        raise UsageError("standard input is one file, and it is named twice")
    read = []
    for option, names, reader in sources:
        for name in names:
            data, where = read_given(name, option)
            try:
                text = data.decode("utf-8-sig")
            except UnicodeDecodeError as error:
                raise UsageError(f"{where}: not UTF-8 at byte {error.start}") from None
            read.append(reader(text, where))
            if option != "--env-file" and read[-1].empty_lines:
                count = read[-1].empty_lines
                warn(f"{where}: {count} empty line{'s' if count > 1 else ''} passed over")
    return together(*read)


def _groups(words: str | None) -> frozenset[str]:
    if words is None:
        return frozenset()
    named = [word.strip().lower() for word in words.split(",") if word.strip()]
    unknown = [word for word in named if word not in (*GROUPS, "all")]
    if unknown or not named:
        msg = f"--pii: {(unknown or [words])[0]!r} is none of {', '.join(GROUPS)}, all"
        raise UsageError(msg)
    return frozenset(GROUPS if "all" in named else named)


def _listed(words: Sequence[str], option: str) -> list[str]:
    found = [part.strip().lower() for word in words for part in word.split(",")]
    if "" in found:
        raise UsageError(f"{option} is empty")
    return found


def _fingerprints(words: Sequence[str]) -> frozenset[str]:
    found = _listed(words, "--keep")
    for each in found:
        if _FINGERPRINT.fullmatch(each) is None:
            # Why not repeated: somebody may have written the value itself.
            msg = "--keep takes the 8 digits that scan prints, or that a mask ends in"
            raise UsageError(msg)
    return frozenset(found)


class Meant(NamedTuple):
    """What a run is about."""

    targets: list[Target]
    passed: list[Passed]
    """What in folders is passed by."""
    removed: list[str]
    """What killed runs had left beside the files, and what is gone now."""


def tell_removed(removed: Sequence[str], spec: Spec) -> None:
    """Tell what killed runs had left."""
    from agentmem_cli.cli.output import warn
    from agentmem_cli.operations.outside import LEFT, Passed
    from agentmem_cli.operations.secrets.pool import hidden

    for each in hidden([Passed(path, LEFT) for path in removed], spec, tell_slow):
        warn(f"{each.path}: removed; it was {each.why}")


def targets_of(
    settings: Settings,
    words: Sequence[str] | None,
    sought: Sought,
    *,
    everything: bool,
    files: bool,
    changes: bool = False,
) -> Meant:
    """Return what is to be looked at, and what in folders is passed by.

    Where files will be changed (*changes*), what killed runs left beside them is removed.

    Raises:
        UsageError: The words and options do not fit together.
        NotFoundError: A word fits nothing.
    """
    from agentmem_cli.cli.many import sessions_meant
    from agentmem_cli.operations.outside import Passed, gather
    from agentmem_cli.operations.secrets.working import Target
    from agentmem_cli.storage.care import left_in_root

    if files:
        if everything or sought.given:
            raise UsageError("--files works on files, and --all and filters on sessions")
        gathered = gather(words or (), changes=changes)
        targets = [Target(path, path, is_session=False) for path in gathered.files]
        return Meant(targets, gathered.passed, gathered.removed)
    found = sessions_meant(settings, words, sought, everything=everything, or_files=True)
    passed: list[Passed] = []
    if everything and not sought.given:
        root = str(settings.root)
        passed = [
            Passed(f"{root}/{each.name}", f"{each.why}; gc --all removes it")
            for each in left_in_root(root)
        ]
    return Meant([Target(each.id, each.path, is_session=True) for each in found], passed, [])


def size_of(targets: Sequence[Target]) -> int:
    """Return the bytes of all targets; what cannot be asked counts nothing."""
    total = 0
    for target in targets:
        paths = [target.path]
        if target.is_session:
            paths = [str(path) for path in Path(target.path).rglob("*")]
        for path in paths:
            try:
                total += Path(path).lstat().st_size
            except OSError:
                continue
    return total
