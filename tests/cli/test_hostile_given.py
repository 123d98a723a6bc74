"""Files that are named on the command line and are none: devices, pipes, input without an end."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.running import join, ok, run, tree, turns, write

if TYPE_CHECKING:
    from collections.abc import Iterator

ZEROS = Path("/dev/zero")
FULL = Path("/dev/full")
pytestmark = [
    pytest.mark.skipif(not ZEROS.exists(), reason="there are no devices here"),
    pytest.mark.timeout(60),
]

READING = (
    "scan one --no-rules --literals @",
    "scan one --no-rules --regexes @",
    "scan one --no-rules --env-file @",
    "scan one --no-rules --literals LITERALS --allow @",
    "scan one --no-rules --literals LITERALS --allow-add @",
    "redact one --yes --force --no-rules --literals @",
    "rewrite one --yes --force --replace-file @",
    "append one @",
    "append one @ --role user",
    "splice one 0:1 --force --with @",
    "compact one --keep 1 --summary-file @",
    "compact one --policy @",
    "core import one @",
)
"""Commands that read a file that is named, as a whole."""

STREAMING = (
    "scan --files @ --no-rules --literals LITERALS",
    "redact --files @ --yes --no-rules --literals LITERALS",
    "rewrite --files @ --yes --replace-file PAIRS",
    "import @",
)
"""Commands that take files for themselves."""

FROM_INPUT = (
    *(words.replace("@", "-") for words in READING if "--allow" not in words),
    "core set one human",
    "core append one human -",
    "value set one mood",
)

WRITING = (
    "export one --as messages -o @ --force",
    "export one --as tar -o @ --force",
    "export one --as html -o @ --force",
    "core export one -o @ --force",
    "redact one --yes --force --no-rules --literals LITERALS --receipt @",
)


@pytest.fixture(autouse=True)
def _small_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentmem_cli.storage.named.GIVEN_BYTES_MAX", 1 << 20)


@pytest.fixture(autouse=True)
def begun(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A session of four messages, and files beside it, in the current folder."""
    write(root, "one", "main", join(turns(4)))
    ok("core", "set", "one", "human", "Ada")
    (tmp_path / "LITERALS").write_bytes(b"text 1\n")
    (tmp_path / "PAIRS").write_bytes(b"text 1 ==> text\n")
    monkeypatch.chdir(tmp_path)
    return root


def _words(words: str, given: Path) -> list[str]:
    return [str(given) if word == "@" else word for word in words.split()]


@pytest.mark.parametrize("words", READING)
def test_a_device_without_an_end_is_told_by_its_path_and_kind(begun: Path, words: str) -> None:
    before = tree(begun)

    done = run(*_words(words, ZEROS))

    assert done.status == 6
    assert "/dev/zero (a device): more than 1 MiB come out of it" in done.err
    assert tree(begun) == before


@pytest.mark.parametrize("words", STREAMING)
@pytest.mark.parametrize("how", ["device", "link", "pipe"])
def test_what_is_no_file_is_not_taken_for_one(
    begun: Path, tmp_path: Path, words: str, how: str
) -> None:
    place = ZEROS
    if how == "link":
        place = tmp_path / "link"
        place.symlink_to(ZEROS)
    elif how == "pipe":
        place = tmp_path / "pipe"
        os.mkfifo(place)
    before = tree(begun)

    done = run(*_words(words, place))

    assert done.status in {2, 3}
    assert str(place) in done.err
    assert tree(begun) == before


@pytest.mark.parametrize("words", FROM_INPUT)
def test_input_without_an_end_is_told(begun: Path, words: str) -> None:
    before = tree(begun)

    done = run(*words.split(), stdin=b"x" * ((1 << 20) + 1))

    assert done.status == 6
    assert "standard input: more than 1 MiB" in done.err
    assert tree(begun) == before


@pytest.mark.parametrize("size", [(1 << 20) - 1, 1 << 20])
def test_what_is_as_large_as_the_bound_is_taken(size: int) -> None:
    done = run("append", "one", "--role", "user", stdin=b"x" * size)

    assert done.status == 0


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Path]:
    """A pipe by name, as a shell makes one of <(command), with a message in it."""
    place = tmp_path / "pipe"
    os.mkfifo(place)
    writer = threading.Thread(target=lambda: place.write_bytes(b"by a pipe\n"))
    writer.start()
    yield place
    writer.join(20)


def test_a_pipe_that_is_named_is_read_to_its_end(pipe: Path) -> None:
    ok("append", "one", str(pipe), "--role", "user")

    assert "by a pipe" in ok("show", "one", "--last", "1").out


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("words", WRITING)
def test_a_device_that_takes_nothing_is_told_by_its_path(words: str) -> None:
    done = run(*_words(words, FULL))

    assert done.status == 2
    assert "/dev/full: No space left on device" in done.err


@pytest.mark.parametrize("how", ["device", "pipe", "folder"])
def test_a_key_of_masks_that_is_no_file_is_told_and_nothing_is_masked(
    begun: Path, tmp_path: Path, how: str
) -> None:
    place = tmp_path / "config" / "mask.key"
    place.parent.mkdir(exist_ok=True)
    place.unlink(missing_ok=True)
    if how == "device":
        place.symlink_to(ZEROS)
    elif how == "pipe":
        os.mkfifo(place)
    else:
        place.mkdir()
    before = tree(begun)

    done = run("redact", "one", "--yes", "--force", "--no-rules", "--literals", "LITERALS")

    assert done.status == 2
    assert str(place) in done.err
    assert tree(begun) == before
