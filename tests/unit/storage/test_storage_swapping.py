"""Files of other programs, replaced where they stand."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.storage import swapping
from agentmem_cli.storage.swapping import Swap

if TYPE_CHECKING:
    from pathlib import Path

OLD = b"old line\n" * 3
NEW = b"new line\n" * 200_000


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.jsonl"
    path.write_bytes(OLD)
    path.chmod(0o640)
    os.utime(path, ns=(1_000_000_000_000_000_000, 1_100_000_000_000_000_000))
    return path


def names(path: Path) -> list[str]:
    return sorted(each.name for each in path.parent.iterdir())


def test_new_bytes_take_the_place_with_the_mode_and_times_of_before(file: Path) -> None:
    before = file.stat()

    with Swap(str(file)) as swap:
        swap.write(NEW)
        staged = swap.staged_reader().read()
        installed = swap.install()

    after = file.stat()
    assert installed
    assert file.read_bytes() == staged == NEW
    assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)
    assert names(file) == ["a.jsonl"]


def test_a_part_file_is_private_until_it_is_in_place(file: Path) -> None:
    with Swap(str(file)) as swap:
        swap.write(NEW)
        (part,) = [each for each in file.parent.iterdir() if each.name != file.name]

        assert part.stat().st_mode & 0o777 == 0o600


def test_without_install_nothing_changes(file: Path) -> None:
    with Swap(str(file)) as swap:
        swap.write(NEW)

    assert file.read_bytes() == OLD
    assert names(file) == ["a.jsonl"]


@pytest.mark.parametrize("change", ["grown", "touched", "replaced", "removed"])
def test_a_file_that_changed_meanwhile_is_left(file: Path, change: str) -> None:
    with Swap(str(file)) as swap:
        swap.write(NEW)
        if change == "grown":
            with file.open("ab") as more:
                more.write(b"more\n")
        elif change == "touched":
            os.utime(file)
        else:
            file.unlink()
        if change == "replaced":
            file.write_bytes(OLD)
        expected = file.read_bytes() if file.exists() else None
        installed = swap.install()

    assert not installed
    assert (file.read_bytes() if file.exists() else None) == expected


def test_bytes_that_come_at_the_last_moment_are_not_lost(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Swap(str(file)) as swap, file.open("ab") as other:
        swap.write(NEW)
        unchanged = swap._is_unchanged

        def late() -> bool:
            answer = unchanged()
            other.write(b"late\n")
            other.flush()
            return answer

        monkeypatch.setattr(swap, "_is_unchanged", late)
        installed = swap.install()

    assert not installed
    assert file.read_bytes() == NEW + b"late\n"


def test_a_link_is_refused(file: Path) -> None:
    link = file.with_name("link.jsonl")
    link.symlink_to(file)

    with pytest.raises(OSError, match="symbolic link"):
        Swap(str(link))


def part(path: Path, digit: str) -> Path:
    """Put a part file beside a file, as a killed run leaves it."""
    made = path.with_name(f".agentfile-{digit * 32}.rig-part")
    made.write_bytes(b"x")
    return made


def test_part_files_that_a_killed_run_left_go_and_others_stay(file: Path) -> None:
    left = part(file, "0")
    other = file.with_name(".other.rig-part")
    other.write_bytes(b"x")

    with Swap(str(file)) as swap:
        swap.write(NEW)
        swap.install()

    assert not left.exists()
    assert names(file) == sorted([other.name, file.name])


def test_a_part_file_that_is_being_written_is_no_leftover(file: Path) -> None:
    with Swap(str(file)) as swap:
        swap.write(NEW)
        (name,) = [each for each in names(file) if each != file.name]
        path = str(file.with_name(name))
        with Swap(str(file)) as second:
            second.write(NEW)
            told = swapping.is_left(path), swapping.take_away(path)

    assert told == (False, False)
    assert names(file) == [file.name]


def test_a_left_part_file_is_known_and_taken_away(file: Path) -> None:
    path = str(part(file, "1"))

    told = swapping.is_left(path), swapping.take_away(path), swapping.is_left(path)

    assert told == (True, True, False)


def test_where_no_lock_can_tell_only_an_old_part_file_is_a_leftover(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(swapping, "_locked", lambda _: None)
    old, fresh = part(file, "0"), part(file, "1")
    os.utime(old, (1, 1))

    with Swap(str(file)) as swap:
        swap.write(NEW)
        swap.install()

    assert names(file) == sorted([fresh.name, file.name])


def test_a_part_file_that_goes_before_it_is_locked_is_made_anew(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = swapping._locked
    gone: list[str] = []

    def late(descriptor: int) -> bool | None:
        if not gone:
            (name,) = [each for each in names(file) if each != file.name]
            file.with_name(name).unlink()
            gone.append(name)
        return locked(descriptor)

    monkeypatch.setattr(swapping, "_locked", late)

    with Swap(str(file)) as swap:
        swap.write(NEW)
        installed = swap.install()

    assert installed
    assert file.read_bytes() == NEW
    assert names(file) == [file.name]


def test_a_second_name_is_told(file: Path) -> None:
    os.link(file, file.with_name("b.jsonl"))

    with Swap(str(file)) as swap:
        assert swap.links == 2


def test_the_file_is_read_as_long_as_it_was(file: Path) -> None:
    with Swap(str(file)) as swap:
        with file.open("ab") as more:
            more.write(b"more\n")
        stream = swap.reader()
        first = stream.readline()
        stream.seek(-9, os.SEEK_END)
        last = stream.read()
        stream.seek(0)

        assert (first, last, stream.read()) == (b"old line\n", b"old line\n", OLD)
