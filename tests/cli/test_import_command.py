"""`import` as a command: statuses, what goes where, several sources, private files."""

from __future__ import annotations

import errno
import os
import pathlib
import stat
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.operations.imports import importing
from tests.cli.running import ok, run, tree
from tests.cli.terminal import on_terminal
from tests.unit.imports.building import entry, header, lines, put, reply, user

if TYPE_CHECKING:
    from pathlib import Path


def _source(folder: Path, name: str, *texts: str) -> Path:
    said = [user(number, text) for number, text in enumerate(texts, 1)]
    return put(folder / f"{name}.jsonl", lines(header(id=name), *said))


def test_the_result_is_on_standard_output_and_the_sum_on_standard_error(tmp_path: Path) -> None:
    done = ok("import", _source(tmp_path, "a", "one", "two"))

    assert done.out == "pi-a  from pi: 2 messages\n"
    assert done.err.startswith("1 source: 3 lines, ")


def test_a_folder_stands_for_its_transcripts(tmp_path: Path) -> None:
    for name in ("b", "a"):
        _source(tmp_path / "deep" / name, name, "text")

    done = ok("import", tmp_path / "deep", "--json")

    assert [value["session"] for value in done.objects] == ["pi-a", "pi-b"]


def test_one_source_that_fails_stops_no_other_and_gives_the_status(
    root: Path, tmp_path: Path
) -> None:
    good = _source(tmp_path, "a", "one")
    bad = put(tmp_path / "b.jsonl", b"")

    done = run("import", bad, good, tmp_path / "gone", "--json")
    failed, worked, gone = done.objects

    assert done.status == 2
    assert failed["schema"] == "agentmem.import-error/1"
    assert failed["source"] == str(bad)
    assert worked["session"] == "pi-a"
    assert failed["error"]["kind"] == "not_understood"
    assert gone["error"]["kind"] == "not_found"
    assert "3 sources, 2 failed" in done.err
    assert [path.name for path in root.iterdir()] == ["pi-a"]


def test_the_only_source_fails_as_a_command_does(root: Path, tmp_path: Path) -> None:
    assert run("import", tmp_path / "gone").status == 3
    assert run("import", tmp_path / "gone", "--json").error["exit_code"] == 3
    assert not root.exists()


def test_the_only_source_that_fails_gives_one_error_object_and_no_other(tmp_path: Path) -> None:
    for words in ([put(tmp_path / "in" / "b.jsonl", b"no\n")], [tmp_path / "in"]):
        done = run("import", *words, "--json")

        assert (done.status, done.out) == (2, "")
        assert done.error["kind"] == "not_understood"


def test_a_source_that_is_missing_is_told_alike_alone_and_among_others(tmp_path: Path) -> None:
    gone = tmp_path / "gone.jsonl"
    alone = run("import", gone)
    among = run("import", gone, _source(tmp_path, "a", "one"))

    told = alone.err.removeprefix("agentmem: error: ").splitlines()[0]

    assert told == f"{gone}: No such file or directory"
    assert f"agentmem: {told}" in among.err.splitlines()
    assert alone.status == among.status == 3


def test_a_source_is_named_once_and_why_it_failed_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = put(tmp_path / "empty.jsonl", b"")
    closed = put(tmp_path / "closed.jsonl", b"{}")
    opened = pathlib.Path.open

    def refuse(path: Path, mode: str = "r", buffering: int = -1) -> object:
        if path == closed:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return opened(path, mode, buffering)

    monkeypatch.setattr(pathlib.Path, "open", refuse)

    done = run("import", empty, closed)

    assert "[Errno" not in done.err
    assert f"agentmem: {closed}: Permission denied" in done.err
    assert [done.err.count(str(path)) for path in (empty, closed)] == [1, 1]


def test_another_kind_is_proposed_only_where_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = put(tmp_path / "a.jsonl", lines(header(id="a"), b'{"type":"odd"}'))
    told = []
    for kinds in (("pi",), ("pi", "fax")):
        monkeypatch.setattr(importing, "kinds", lambda kinds=kinds: kinds)
        told.append(run("import", source).err)

    assert ["--from" in text for text in told] == [False, True]


def test_a_folder_without_a_transcript_has_nothing_to_import(root: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    done = run("import", tmp_path / "empty")

    assert done.status == 1
    assert done.err.startswith("0 sources")
    assert not root.exists()


def test_an_empty_word_is_no_source(root: Path) -> None:
    done = run("import", "")

    assert (done.status, done.out) == (2, "")
    assert "empty" in done.err
    assert not root.exists()


def test_a_transcript_in_capitals_is_one_too(tmp_path: Path) -> None:
    _source(tmp_path, "a", "one").rename(tmp_path / "A.JSONL")

    assert ok("import", tmp_path, "--json").object["session"] == "pi-a"


@pytest.mark.skipif(os.name == "nt", reason="links and pipes need rights there")
def test_what_is_passed_by_in_a_folder_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    source = _source(folder, "a", "one")
    (folder / "link.jsonl").symlink_to(source)
    (folder / "dangling.jsonl").symlink_to(tmp_path / "nowhere")
    (folder / "away").symlink_to(tmp_path)
    (folder / "text").symlink_to(tmp_path / "nowhere")
    os.mkfifo(folder / "pipe.jsonl")

    done = ok("import", folder)

    assert done.out == "pi-a  from pi: 1 message\n"
    told = [line for line in done.err.splitlines() if "passed by" in line]
    link = "passed by: a symbolic link; links in a folder are not followed"
    assert told == [
        f"agentmem: {folder}/away: {link}",
        f"agentmem: {folder}/dangling.jsonl: {link}",
        f"agentmem: {folder}/link.jsonl: {link}",
        f"agentmem: {folder}/pipe.jsonl: passed by: not a regular file",
    ]


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_of_many_links_a_few_are_named_and_the_rest_is_counted(tmp_path: Path) -> None:
    for number in range(7):
        (tmp_path / f"{number}.jsonl").symlink_to(tmp_path / "nowhere")

    done = run("import", tmp_path)

    assert done.status == 1
    assert done.err.count("passed by: ") == 5
    assert "2 more links and special files passed by" in done.err


def test_a_folder_that_cannot_be_read_is_named_and_ends_with_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _source(tmp_path / "open", "a", "one")
    closed = tmp_path / "shut"
    _source(closed, "b", "two")
    scan = os.scandir

    def refuse(path: str) -> object:
        if str(path) == str(closed):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)

    done = run("import", tmp_path, "--json")

    failed, worked = done.objects
    assert done.status == 2
    assert f"agentmem: {closed}: Permission denied" in done.err
    assert (failed["source"], failed["error"]["kind"]) == (str(closed), "io")
    assert worked["session"] == "pi-a"


def test_an_unknown_kind_names_those_there_are(tmp_path: Path) -> None:
    done = run("import", _source(tmp_path, "a", "one"), "--from", "fax")

    assert done.status == 2
    assert "pi" in done.err


EXAMPLES = {
    "pi": "pi-session.jsonl",
    "claude-code": "claude-code/5c1de000-0000-4000-8000-00000000c0de.jsonl",
    "codex": "codex-rollout.jsonl",
    "openai-messages": "openai-messages.json",
}
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.parametrize("looks", EXAMPLES)
@pytest.mark.parametrize("forced", EXAMPLES)
def test_a_kind_is_not_forced_on_what_is_plainly_of_another(
    root: Path, forced: str, looks: str
) -> None:
    done = run("import", FOLDER / EXAMPLES[looks], "--from", forced)

    if forced == looks:
        assert done.status == 0
        assert f"from {forced}" in done.out
    else:
        assert done.status == 2
        assert f"not one of them a record of {forced}; it looks like {looks}" in done.err
        assert not root.exists()


def test_a_forced_kind_takes_its_own_records_however_far_down_and_counts_the_rest(
    tmp_path: Path,
) -> None:
    other = b'{"role":"user","content":"of another kind"}\n' * 2_100
    source = put(tmp_path / "mixed.jsonl", other + lines(user(1, "of pi")))

    done = ok("import", source, "--from", "pi", "--json").object

    assert (done["kind"], done["messages"], done["lines"]) == ("pi", 1, 2_101)
    assert done["lost"] == 2_100


def test_no_source_is_a_mistake_of_the_call() -> None:
    assert run("import").status == 2


def test_importing_twice_or_dry_changes_no_source(tmp_path: Path) -> None:
    source = _source(tmp_path / "src", "a", "one")
    before = tree(source.parent)

    ok("import", source, "--dry-run")
    ok("import", source)
    ok("import", source, "--again")

    assert tree(source.parent) == before


def test_again_makes_a_session_of_its_own(tmp_path: Path) -> None:
    source = _source(tmp_path, "a", "one")

    names = [
        ok("import", source, *words, "--json").object["session"] for words in ((), ("--again",))
    ]

    assert names == ["pi-a", "pi-a-2"]
    assert run("show", "pi-a").status == 0


@pytest.mark.skipif(os.name == "nt", reason="modes say nothing there")
def test_all_that_is_made_is_private_whatever_the_umask(root: Path, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        ok("import", _source(tmp_path / "src", "a", "one"))
    finally:
        os.umask(before)

    for path in [root, *root.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


@pytest.mark.skipif(os.name == "nt", reason="modes say nothing there")
def test_sessions_that_others_may_read_are_warned_about_once(root: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        ok("import", _source(tmp_path / "src", name, "one"))
        (root / f"pi-{name}").chmod(0o755)

    done = ok("import", tmp_path / "src")

    assert done.err.count("other users") == 1


def test_an_imported_session_is_looked_at_like_any_other(tmp_path: Path) -> None:
    data = lines(header(id="a"), user(1, "Why?"), reply(2, "Because."))

    ok("import", put(tmp_path / "a.jsonl", data))

    assert ok("list", "--json").object["title"] == "Why?"
    assert "Because." in ok("show", "pi-a").out
    assert "Why?" in ok("as-of", "pi-a", "m1").out
    assert "/home/ada/tides" in ok("log", "pi-a", "--key", "agentmem.cwd").out
    assert ok("verify", "pi-a").status == 0


def test_on_a_terminal_the_result_stays_readable(tmp_path: Path) -> None:
    source = _source(tmp_path, "a", "one")

    shown = on_terminal(["import", str(source)], columns=80)

    assert any(line.endswith("pi-a  from pi: 1 message") for line in shown)
    assert any("1 source: 2 lines" in line for line in shown)


def test_a_torn_log_is_mended_and_what_was_set_aside_is_told(root: Path, tmp_path: Path) -> None:
    source = _source(tmp_path, "a", "one", "two")
    ok("import", source)
    log = root / "pi-a" / "logs" / "main.jsonl"
    log.write_bytes(log.read_bytes()[:-9])

    done = ok("import", source)
    log.write_bytes(log.read_bytes()[:-9])
    value = ok("import", source, "--json").object

    assert done.out == "pi-a  from pi: 2 messages, 1 restored, 0 new\n"
    assert "pi-a/logs/main.jsonl: " in done.err
    assert "torn bytes at byte" in done.err
    assert "1 message, side record, value or blob that it had lost" in done.err
    assert (value["restored"], value["nothing_new"]) == (1, False)
    assert [(root / "pi-a" / "files" / name).is_file() for name in value["set_aside"]] == [True]
    assert ok("verify", "pi-a").status == 0


def test_a_log_that_no_source_can_mend_ends_with_5(root: Path, tmp_path: Path) -> None:
    source = _source(tmp_path, "a", "one", "two")
    ok("import", source)
    log = root / "pi-a" / "logs" / "main.jsonl"
    records = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(records[:2] + records[3:]))

    done = run("import", source)

    assert (done.status, done.out) == (5, "")
    assert "line 3" in done.err


def test_an_older_copy_beside_the_source_is_told_as_such(tmp_path: Path) -> None:
    _source(tmp_path / "src", "a", "one", "two")
    newer = (tmp_path / "src" / "a.jsonl").read_bytes()
    put(tmp_path / "src" / "b.jsonl", b"".join(newer.splitlines(keepends=True)[:2]))
    ok("import", tmp_path / "src")

    done = ok("import", tmp_path / "src")
    values = ok("import", tmp_path / "src", "--json").objects

    assert done.out.splitlines() == [
        "pi-a  nothing new (2 messages)",
        "pi-a  nothing new (an older copy, 1 message)",
    ]
    assert [value["older"] for value in values] == [False, True]


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_on_a_terminal_no_line_of_a_result_is_wider_than_it(tmp_path: Path, columns: int) -> None:
    name = "5a0c6f0e-0000-4000-8000-" + "1" * 60
    left = [entry(kind, 5, customType="x", data={}) for kind in ("custom", "thinking_level_change")]
    source = put(
        tmp_path / "a.jsonl", lines(header(id=name), user(1, "one"), reply(2, "two"), *left, b"{")
    )

    shown = on_terminal(["import", str(source)], columns=columns)

    told = "\n".join(shown)
    # Why: the progress bar is drawn before it, and then wiped away.
    result = told[told.index("pi-5a0c6f0e") :].partition("\nagentmem: ")[0].splitlines()
    words = " ".join(line.strip() for line in result)
    assert max(map(len, result)) <= columns
    assert "2 messages, not made into anything: 1 custom, 1 thinking_level_change" in words
    assert (len(result) == 1) == (columns == 200)
