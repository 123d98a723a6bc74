"""`show --follow`: what stands, then what comes, through everything that happens to a log."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.operations.tailing import Following
from agentmem_cli.operations.transcript import Text, Turn
from agentmem_cli.storage.directory import DirStore
from tests.cli.running import (
    Done,
    header,
    join,
    message,
    ok,
    pushed,
    record,
    run,
    said,
    texts,
    tree,
    turns,
    write,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem_cli.session.codec import JSON, Object

PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture
def follow(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    """Run `show one --follow`, with *steps* taken while it waits, one each time; then Ctrl-C."""

    def followed_with(*steps: Callable[[], object], words: tuple[str, ...] = ("--json",)) -> Done:
        waiting = iter(steps)

        def wait(_: float) -> None:
            step = next(waiting, None)
            if step is None:
                raise KeyboardInterrupt
            step()

        monkeypatch.setattr("agentmem_cli.cli.followed.time.sleep", wait)
        return run("show", "one", "--follow", *words)

    return followed_with


def _add(path: Path, *lines: bytes) -> Callable[[], object]:
    def add() -> None:
        with path.open("ab") as log:
            log.write(b"".join(lines))

    return add


def _splice(seq: int, fields: Object) -> bytes:
    return record(seq, "splice", **fields) + b"\n"  # type: ignore[arg-type]


def _events(done: Done) -> list[Object]:
    return [each for each in done.objects if each["schema"] == "agentmem.follow/1"]


def test_what_stands_is_shown_then_each_message_as_it_comes(
    root: Path, follow: Callable[..., Done]
) -> None:
    path = write(root, "one", "main", join(turns(3)))

    done = follow(_add(path, said(4, "four") + b"\n"), _add(path, said(5, "five") + b"\n"))

    assert done.status == 130
    assert texts(done.objects) == ["text 1", "text 2", "text 3", "four", "five"]
    assert done.objects[0]["schema"] == "agentmem.show/1"
    assert done.objects[0]["shown"] == 3


def test_without_more_words_the_last_ten_messages_stand_first(
    root: Path, follow: Callable[..., Done]
) -> None:
    write(root, "one", "main", join(turns(30)))

    assert texts(follow().objects) == [f"text {number}" for number in range(21, 31)]
    assert texts(follow(words=("--json", "--last", "2")).objects) == ["text 29", "text 30"]
    assert len(texts(follow(words=("--json", "--from", "5")).objects)) == 25


def test_a_record_is_shown_when_it_is_whole(root: Path, follow: Callable[..., Done]) -> None:
    line = said(2, "in two pieces") + b"\n"
    path = write(root, "one", "main", join(turns(1)))
    seen: list[int] = []

    done = follow(
        _add(path, line[:30]),
        lambda: seen.append(path.stat().st_size),
        _add(path, line[30:]),
    )

    assert seen
    assert texts(done.objects) == ["text 1", "in two pieces"]
    assert done.err.startswith('{"error":')


def test_a_torn_end_that_is_set_aside_does_not_end_it(
    root: Path, follow: Callable[..., Done]
) -> None:
    path = write(root, "one", "main", join(turns(2)) + said(3, "torn")[:25])

    done = follow(lambda: ok("append", "one", "--role", "user", stdin=b"after"))

    assert texts(done.objects) == ["text 1", "text 2", "after"]
    assert _events(done) == []
    assert (path.parents[1] / "files" / "recovered").is_dir()


def test_damage_that_comes_is_told_and_followed_past(
    root: Path, follow: Callable[..., Done]
) -> None:
    path = write(root, "one", "main", join(turns(1)))

    done = follow(_add(path, b"junk\n"), _add(path, said(2, "after") + b"\n"))

    assert texts(done.objects) == ["text 1", "after"]
    assert [event["event"] for event in _events(done)] == ["damaged"]
    assert "line 3" in str(_events(done)[0]["why"])


def test_a_rewrite_is_told_and_followed_past(
    root: Path, tmp_path: Path, follow: Callable[..., Done]
) -> None:
    write(root, "one", "main", join([header(), said(1, "the word Rosebud"), said(2, "b")]))
    pairs = tmp_path / "pairs"
    pairs.write_text("Rosebud ==> sled\n")

    done = follow(
        lambda: ok("rewrite", "one", "--replace-file", pairs, "--yes", "--force"),
        lambda: ok("append", "one", "--role", "user", stdin=b"after"),
    )

    assert texts(done.objects) == ["the word Rosebud", "b", "after"]
    assert [event["event"] for event in _events(done)] == ["rewritten"]


def test_another_log_in_its_place_is_shown_from_the_start(
    root: Path, follow: Callable[..., Done]
) -> None:
    path = write(root, "one", "main", join(turns(5)))
    other = join([header(lineage=9), said(1, "another")])

    done = follow(lambda: path.write_bytes(other), _add(path, said(2, "more") + b"\n"))

    assert texts(done.objects)[5:] == ["another", "more"]
    assert [event["event"] for event in _events(done)] == ["rewritten"]


def test_a_copy_that_has_more_is_followed_without_a_word(
    root: Path, tmp_path: Path, follow: Callable[..., Done]
) -> None:
    path = write(root, "one", "main", join(turns(2)))
    copy = tmp_path / "copy"
    copy.write_bytes(join(turns(3)))

    done = follow(lambda: copy.replace(path))

    assert texts(done.objects) == ["text 1", "text 2", "text 3"]
    assert _events(done) == []


def test_a_compaction_and_its_undo_are_told(root: Path, follow: Callable[..., Done]) -> None:
    write(root, "one", "main", join([header(), *(said(n, "long " * 900) for n in range(1, 5))]))

    done = follow(
        lambda: ok("compact", "one", "--summary-file", "-", stdin=b"A summary."),
        lambda: ok("undo", "one"),
    )

    compacted, undone = _events(done)
    assert compacted["gone"] == [0, 1, 2]
    assert undone["gone"] == [4]
    assert undone["back"] == [0, 1, 2]
    assert sum("A summary." in text for text in texts(done.objects)) == 1


def test_a_conversation_that_is_replaced_is_told_and_what_is_new_in_it_shown(
    root: Path, follow: Callable[..., Done]
) -> None:
    path = write(root, "one", "main", join(turns(2)))
    entries: list[JSON] = [
        {"message": message("user", text), "id": id_} for id_, text in ((0, "old"), (2, "new"))
    ]
    reset = record(3, "reset", state={"entries": entries})

    done = follow(_add(path, reset + b"\n"))

    (event,) = _events(done)
    assert event["why"] == "the conversation was replaced; it has 2 messages now"
    assert texts(done.objects)[-1] == "new"
    assert "old" not in texts(done.objects)


def test_an_edit_names_the_message_that_says_something_else(
    root: Path, follow: Callable[..., Done]
) -> None:
    path = write(root, "one", "main", join(turns(3)))
    entry: Object = {"message": message("user", "other"), "id": 1, "made": 5}
    splice: Object = {"from": 1, "to": 3, "removed": [1, 2], "with": [entry]}

    done = follow(_add(path, _splice(4, splice)))

    (event,) = _events(done)
    assert (event["gone"], event["edited"], event["back"]) == ([2], [1], [])


def test_a_session_that_goes_away_ends_it_with_status_3(
    root: Path, follow: Callable[..., Done]
) -> None:
    write(root, "one", "main", join(turns(1)))

    done = follow(lambda: shutil.rmtree(root / "one"))

    assert done.status == 3
    assert "the session is gone" in done.error["message"]


def test_an_agent_that_goes_away_ends_it_with_status_3(
    root: Path, follow: Callable[..., Done]
) -> None:
    path = write(root, "one", "main", join(turns(1)))
    write(root, "one", "aide", join([header("aide", n=9)]))

    done = follow(path.unlink, words=("--agent", "main", "--json"))

    assert done.status == 3
    assert "'main' is gone" in done.error["message"]


def test_all_agents_are_followed_those_that_come_too(
    root: Path, follow: Callable[..., Done]
) -> None:
    main = write(root, "one", "main", join(turns(1)))
    aide = root / "one" / "logs" / "aide.jsonl"
    begun = join([header("aide", n=2, parent="main"), said(1, "child", n=3)])

    done = follow(
        _add(aide, begun),
        _add(main, said(2, "later", n=5) + b"\n"),
        _add(aide, said(2, "aide said", n=6, id_=1) + b"\n"),
        aide.unlink,
        words=("--all", "--json"),
    )

    shown = [each for each in done.objects if each["schema"] == "agentmem.message/1"]
    assert texts(done.objects) == ["text 1", "child", "later", "aide said"]
    assert [each["agent"] for each in shown] == ["main", "aide", "main", "aide"]
    assert [event["event"] for event in _events(done)] == ["started", "gone"]


def test_the_messages_of_all_agents_come_in_the_order_they_were_made(
    root: Path, follow: Callable[..., Done]
) -> None:
    main = write(root, "one", "main", join([header(), said(1, "a", t=1_000)]))
    aide = write(root, "one", "aide", join([header("aide", n=9), said(1, "b", n=10, t=2_000)]))

    def both() -> None:
        _add(aide, said(2, "d", n=12, id_=1) + b"\n")()
        _add(main, said(2, "c", n=11) + b"\n" + said(3, "e", n=13) + b"\n")()

    assert texts(follow(both, words=("--all", "--json")).objects) == ["a", "b", "c", "d", "e"]


def test_a_session_without_a_message_waits_for_the_first(
    root: Path, follow: Callable[..., Done]
) -> None:
    ok("new", "one")
    path = root / "one" / "logs" / "main.jsonl"

    def begin() -> None:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(join(turns(1)))

    done = follow(lambda: None, begin)

    assert texts(done.objects) == ["text 1"]


def test_a_call_that_may_be_answered_yet_is_not_told_unanswered(
    root: Path, follow: Callable[..., Done]
) -> None:
    call: Object = {"type": "toolcall", "id": "c", "function": {"name": "ls", "arguments": {}}}
    path = write(root, "one", "main", join([header(), said(1, "go")]))

    done = follow(_add(path, pushed(2, {"role": "assistant", "content": [call]}) + b"\n"), words=())

    assert "-> ls {}" in done.out
    assert "(no result)" not in done.out


def test_text_and_markdown_say_what_happened(root: Path, follow: Callable[..., Done]) -> None:
    path = write(root, "one", "main", join(turns(1)))
    splice: Object = {"from": 0, "to": 1, "removed": [0], "with": []}
    gone = _add(path, _splice(2, splice))

    text = follow(gone, words=())
    path.write_bytes(join(turns(1)))
    markdown = follow(gone, words=("--format", "markdown"))

    assert "-- main: 1 message gone (#0)\n" in text.out
    assert "*-- main: 1 message gone (#0)*\n" in markdown.out


@pytest.mark.parametrize(
    "words",
    [
        ("--follow", "--as-of", "3"),
        ("--follow", "--to", "3"),
        ("--follow", "--all", "--agent", "x"),
        ("--all",),
        ("--interval", "1"),
    ],
)
def test_what_does_not_go_together_is_refused(root: Path, words: tuple[str, ...]) -> None:
    write(root, "one", "main", join(turns(1)))

    done = run("show", "one", *words)

    assert done.status == 2
    assert any(word in done.err for word in words if word.startswith("--"))


def test_what_a_thread_writes_in_pieces_comes_once_and_in_order(root: Path) -> None:
    path = write(root, "one", "main", join(turns(1)))
    data = b"".join(said(seq, f"text {seq}") + b"\n" for seq in range(2, 202))

    def grow() -> None:
        with path.open("ab", buffering=0) as log:
            for begin in range(0, len(data), 61):
                log.write(data[begin : begin + 61])

    following = Following(DirStore.open(root / "one"), None, asides=False)
    writer = threading.Thread(target=grow)
    writer.start()
    came: list[str] = []
    while writer.is_alive() or len(came) < 200:
        for event in following.poll():
            assert isinstance(event.item, Turn), event
            (part,) = event.item.parts
            assert isinstance(part, Text)
            came.append(part.text)
    writer.join()

    assert came == [f"text {seq}" for seq in range(2, 202)]
    assert list(following.poll()) == []


def test_following_takes_no_lock_and_changes_nothing(
    root: Path, follow: Callable[..., Done]
) -> None:
    write(root, "one", "main", join(turns(3)) + b"torn")
    before = tree(root)

    follow(lambda: None, lambda: None)

    assert tree(root) == before


def _process(stdout: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
    words = ["show", "one", "--follow", "--interval", "0.05"]
    return subprocess.Popen(
        [sys.executable, "-m", "agentmem_cli", *words],
        stdout=stdout,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
    )


@pytest.mark.e2e
def test_what_another_process_appends_is_printed_at_once_and_ctrl_c_ends_with_130(
    root: Path,
) -> None:
    path = write(root, "one", "main", join(turns(1)))
    with _process() as running:
        assert running.stdout is not None
        first = [running.stdout.readline() for _ in range(3)]
        _add(path, said(2, "fresh") + b"\n")()
        then = [running.stdout.readline() for _ in range(2)]
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=20)

    assert b"text 1" in first[1]
    assert b"fresh" in then[1]
    assert running.returncode == 130
    assert told.endswith(b"agentmem: error: interrupted\n")


@pytest.mark.e2e
@pytest.mark.skipif(os.name == "nt", reason="pipes are not asked there")
def test_a_reader_that_has_gone_ends_it_though_nothing_comes(root: Path) -> None:
    write(root, "one", "main", join(turns(1)))
    with _process() as running:
        assert running.stdout is not None
        running.stdout.readline()
        running.stdout.close()
        running.wait(timeout=20)
        assert running.stderr is not None
        told = running.stderr.read()

    assert running.returncode == 0
    assert b"error" not in told
