"""Bad input of the commands that look for secrets and rewrite, tried with the real detector."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest

from tests.cli.running import header, join, run, said, tree, write
from tests.cli.test_scan import found, hides
from tests.secrets_made import made, pem

if TYPE_CHECKING:
    from pathlib import Path

HEX = "0123456789abcdef"
UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


def _uuid(seed: int) -> str:
    digits = made(seed, 32, HEX)
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _secrets() -> dict[str, str]:
    """Return what tools print of keys, by their kinds."""
    return {
        "anthropic-key": "sk-ant-api03-" + made(1, 95),
        "github-token": "ghp_" + made(2, 36),
        "aws-access-key-id": "AKIA" + made(3, 16, UPPER),
        "private-key": pem(4),
        "url-password": f"postgres://u:{made(5, 9)}7@h.invalid/db",
        "stripe-webhook-secret": "whsec_" + made(6, 32),
    }


def _look_alikes() -> list[str]:
    """Return what looks as if a machine had drawn it, and is nobody's secret."""
    picture = base64.b64encode(bytes((each * 37 + each // 7) % 256 for each in range(3000)))
    return [
        f"commit {made(1, 40, HEX)}",
        f"index {made(2, 7, HEX)}..{made(3, 7, HEX)} 100644",
        f"request {_uuid(4)} took 4 ms",
        f"sha256:{made(5, 64, HEX)}",
        f'"integrity": "sha512-{base64.b64encode(made(6, 64).encode()).decode()}"',
        f"data:image/png;base64,{picture.decode()}",
        f"md5 {made(7, 32, HEX)}  a.tar.gz",
    ]


def test_case_53_keys_are_told_by_kind_session_and_record_and_look_alikes_are_not(
    root: Path,
) -> None:
    secrets = _secrets()
    lines = [header()]
    lines += [said(at, f"the tool said: {text}") for at, text in enumerate(secrets.values(), 1)]
    alike = len(lines)
    lines += [said(at, text) for at, text in enumerate(_look_alikes(), alike)]
    write(root, "one", "main", join(lines))

    done = run("scan", "one", "--json")

    rows = found(done)
    told = [(each["session"], each["n"], each["kind"]) for each in rows]
    kinds = {at: kind for _, at, kind in told}
    assert done.status == 1
    assert sorted(kinds) == list(range(1, alike))
    assert {name for name, _, _ in told} == {"one"}
    assert {kinds[1], kinds[2], kinds[3], kinds[4], kinds[5]} == set(secrets) - {
        "stripe-webhook-secret"
    }
    assert hides(done, *secrets.values())


def test_case_53_a_dry_run_of_a_redaction_changes_nothing_and_a_redaction_leaves_look_alikes(
    root: Path,
) -> None:
    alikes = [said(at, text) for at, text in enumerate(_look_alikes(), 2)]
    log = write(root, "one", "main", join([header(), said(1, _secrets()["github-token"]), *alikes]))
    before = tree(root)

    planned = run("redact", "one", "--dry-run", "--force")
    unchanged = tree(root) == before
    done = run("redact", "one", "--yes", "--force")

    assert (planned.status, done.status) == (0, 0)
    assert unchanged
    assert log.read_bytes().splitlines()[2:] == alikes
    assert _secrets()["github-token"].encode() not in log.read_bytes()


WAYS_OUT = ("../../x", "a/../../b", "..", "C:\\x", "a\0b")


@pytest.mark.parametrize("way", WAYS_OUT)
@pytest.mark.parametrize(
    "words",
    [("scan",), ("redact", "--yes"), ("remap", "/a=/b", "--yes"), ("rename",)],
    ids=lambda words: words[0],
)
def test_case_59_an_id_that_is_a_way_out_reaches_nothing(
    words: tuple[str, ...], way: str, root: Path, tmp_path: Path
) -> None:
    for name in ("x", "b"):
        write(tmp_path, name, "main", join([header(), said(1, "outside")]))
    root.mkdir(exist_ok=True)
    before = tree(tmp_path)
    last = ("new",) if words[0] == "rename" else ()

    done = run(words[0], way, *words[1:], *last)

    assert done.status in (2, 3)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("way", WAYS_OUT)
def test_case_59_no_session_gets_a_name_that_is_a_way_out(
    way: str, root: Path, tmp_path: Path
) -> None:
    write(root, "one", "main", join([header(), said(1, "hello")]))
    before = tree(tmp_path)

    done = run("rename", "one", way)

    assert done.status == 2
    assert tree(tmp_path) == before
