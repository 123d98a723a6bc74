"""The way to a session is a link, the root is one, or a name leads nowhere: under every command."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.cli.commands_made import known_calls
from tests.cli.running import header, join, ok, run, said, tree, turns, write
from tests.unit.imports import building

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.commands_made import Call
    from tests.cli.running import Done

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX links")

WITHOUT_IT = ("new two", "prune --older 1d --yes", "list", "verify")
"""Calls that go on where the session named is none."""


def _fill(root: Path) -> Path:
    """Write the session `one` of two agents; return its folder."""
    write(root, "one", "main", join(turns(4)))
    aide = header("aide", n=20, parent="main")
    write(root, "one", "aide", join([aide, said(1, "it ebbs", n=21, id_=0)]))
    ok("--root", root, "meta", "label", "one", "a=b")
    return root / "one"


def _call(root: Path, each: Call) -> Done:
    return run("--root", root, "--lock-wait", "0.2", *each.words, stdin=each.stdin)


def _plain(done: Done) -> bool:
    return "internal error" not in done.err and "Traceback" not in done.err


def test_a_link_to_a_session_elsewhere_is_looked_at_by_every_command_and_changed_by_none(
    tmp_path: Path,
) -> None:
    elsewhere = _fill(tmp_path / "elsewhere")
    root = tmp_path / "root"
    before = tree(tmp_path / "elsewhere")
    wrong: dict[str, str] = {}
    for each in known_calls():
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(mode=0o700)
        (root / "one").symlink_to(elsewhere)

        done = _call(root, each)

        wanted = {2} if each.writes and each.name != "new two" else {0, 1}
        if done.status not in wanted or not _plain(done):
            wrong[each.name] = f"{done.status}: {done.err[:200]}"
        if tree(tmp_path / "elsewhere") != before or not (root / "one").is_symlink():
            wrong[each.name] = "it changed what stands outside"
            shutil.rmtree(tmp_path / "elsewhere")
            _fill(tmp_path / "elsewhere")
            before = tree(tmp_path / "elsewhere")

    assert wrong == {}


def test_a_link_is_changed_by_none_and_the_folder_that_it_leads_to_is(tmp_path: Path) -> None:
    elsewhere = _fill(tmp_path / "elsewhere")
    root = tmp_path / "root"
    root.mkdir(mode=0o700)
    (root / "one").symlink_to(elsewhere)
    words = ("append", "--role", "user")

    refused = run("--root", root, *words, "one", stdin=b"x")
    by_path = run("--root", root, *words, root / "one", stdin=b"x")
    named = run("--root", root, *words, elsewhere, stdin=b"x")

    assert (refused.status, by_path.status, named.status) == (2, 2, 0)
    assert f"is a link to {elsewhere}" in refused.err
    assert "Name the folder that it leads to." in refused.err


def test_a_way_to_a_session_that_is_a_link_is_taken_where_it_is_named(tmp_path: Path) -> None:
    elsewhere = _fill(tmp_path / "elsewhere")
    link = tmp_path / "link"
    link.symlink_to(elsewhere)

    done = run("append", "--role", "user", link, stdin=b"x")

    assert done.status == 0
    assert link.is_symlink()


def test_of_all_sessions_the_linked_one_alone_is_left(tmp_path: Path) -> None:
    elsewhere = _fill(tmp_path / "elsewhere")
    root = tmp_path / "root"
    _fill(root)
    (root / "two").symlink_to(elsewhere)
    before = tree(tmp_path / "elsewhere")
    words = ("redact", "--all", "--yes", "--force", "--no-rules", "--literals", "-")

    done = run("--root", root, *words, stdin=b"text 1\n")

    assert done.status == 2
    assert "is a link to" in done.err
    assert tree(tmp_path / "elsewhere") == before
    assert b"text 1" not in (root / "one/logs/main.jsonl").read_bytes()


def test_an_import_goes_into_no_session_that_is_a_link(tmp_path: Path) -> None:
    root = tmp_path / "root"
    first = building.lines(building.header(), building.user(1, "hi"), building.reply(2, "hello"))
    source = tmp_path / "source.jsonl"
    building.put(source, first)
    ok("--root", root, "import", source)
    (session,) = root.iterdir()
    elsewhere = tmp_path / "elsewhere"
    session.rename(elsewhere)
    session.symlink_to(elsewhere)
    building.put(source, first + building.lines(building.user(3, "more")))
    before = tree(elsewhere)

    done = run("--root", root, "import", source)

    assert done.status == 2
    assert "is a link to" in done.err
    assert tree(elsewhere) == before


def _to_nothing(place: Path) -> None:
    place.symlink_to(place.parent.parent / "outside" / "nothing")


def _to_itself(place: Path) -> None:
    place.symlink_to(place.name)


def _to_a_file(place: Path) -> None:
    place.symlink_to(place.parent.parent / "outside" / "file")


def _to_a_folder(place: Path) -> None:
    place.symlink_to(place.parent.parent / "outside")


@pytest.mark.parametrize("lead", [_to_nothing, _to_itself, _to_a_file, _to_a_folder])
def test_a_link_that_leads_to_no_session_is_none_and_hides_no_other(
    tmp_path: Path, lead: Callable[[Path], None]
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_bytes(b"what stands outside")
    before = tree(outside)
    root = tmp_path / "root"
    wrong: dict[str, str] = {}
    for each in known_calls():
        shutil.rmtree(root, ignore_errors=True)
        write(root, "other", "main", join(turns(2)))
        lead(root / "one")

        done = _call(root, each)
        listed = run("--root", root, "list", "--json")

        # 4: what prune would take was written just now.
        good = done.status in {0, 1, 4} if each.name in WITHOUT_IT else done.status == 3
        if not good or not _plain(done):
            wrong[each.name] = f"{done.status}: {done.err[:200]}"
        if "other" not in {value["id"] for value in listed.objects}:
            wrong[each.name] = f"it hides what else there is: {listed.err[:200]}"
        if tree(outside) != before:
            wrong[each.name] = "it changed what stands outside"

    assert wrong == {}


def test_a_root_that_is_a_link_works_as_the_folder_that_it_leads_to(tmp_path: Path) -> None:
    first = tmp_path / "first"
    _fill(first)
    plain, real, link = tmp_path / "plain", tmp_path / "real", tmp_path / "link"
    link.symlink_to(real)
    wrong: dict[str, str] = {}
    for each in known_calls():
        for root in (plain, real):
            shutil.rmtree(root, ignore_errors=True)
            shutil.copytree(first, root)

        done, by_link = _call(plain, each), _call(link, each)

        names = [sorted(str(path.relative_to(root)) for path in root.rglob("*.jsonl"))
                 for root in (plain, real)]  # fmt: skip
        if done.status != by_link.status or names[0] != names[1] or not link.is_symlink():
            wrong[each.name] = f"{done.status}, by the link {by_link.status}: {by_link.err[:200]}"

    assert wrong == {}


@pytest.mark.parametrize("lead", [_to_nothing, _to_itself, _to_a_file])
def test_a_root_that_leads_nowhere_is_told_and_nothing_is_made(
    tmp_path: Path, lead: Callable[[Path], None]
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_bytes(b"what stands outside")
    before = tree(outside)
    root = tmp_path / "above" / "root"
    root.parent.mkdir()
    lead(root)
    wrong: dict[str, str] = {}
    for each in known_calls():
        done = _call(root, each)

        # A root that is not there yet is an empty one.
        good = {0, 2, 3} if lead is _to_nothing else {2}
        if (
            done.status not in good
            or not _plain(done)
            or (done.status and str(root) not in done.err)
        ):
            wrong[each.name] = f"{done.status}: {done.err[:200]}"
        if tree(outside) != before or not root.is_symlink():
            wrong[each.name] = "it made something"

    assert wrong == {}
