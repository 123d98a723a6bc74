"""What no pi session has: subagents in files of their own, and messages spread over lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem_cli.errors import DamageError
from agentmem_cli.operations.imports.adapter import MAIN, Kept, Line, Said, Tally, Transcript
from agentmem_cli.operations.imports.importing import Options, import_transcript
from agentmem_cli.session.codec import dumps
from agentmem_cli.session.keys import MODEL, TITLE
from agentmem_cli.session.message import Message
from agentmem_cli.session.reader import as_of, fold_log, history
from agentmem_cli.session.writer import save
from tests.unit.imports.building import (
    BASE_MS,
    NOW,
    lines,
    put,
    session_of,
    store_of,
    texts_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from agentmem_cli.operations.imports.adapter import Item, Stream
    from agentmem_cli.operations.imports.report import Report
    from agentmem_cli.session.codec import JSON, Object


class MadeUp:
    """A stream of a made-up format: a line is a piece of the message that it names."""

    def __init__(self, path: Path, agent: str = MAIN, parent: str | None = None) -> None:
        self.path = path
        self.name = f"sub/{path.name}"
        self.agent = agent
        self.parent = parent

    def accepts(self, value: Object) -> bool:
        return "say" in value

    def items(self, lines: Iterable[Line], tally: Tally) -> Iterator[Item]:
        message: list[tuple[Line, str]] = []
        for line in lines:
            tally.types["piece"] += 1
            if message and message[0][0].value["id"] != line.value["id"]:
                yield self._said(message, open_=False)
                message = []
            message.append((line, str(line.value["say"])))
        if message:
            yield self._said(message, open_=True)

    def _said(self, pieces: list[tuple[Line, str]], *, open_: bool) -> Said:
        first = pieces[0][0]
        at = first.value.get("at")
        parts: list[JSON] = [{"type": "text", "text": text} for _, text in pieces]
        return Said(
            first.number,
            BASE_MS + at if isinstance(at, int) else None,
            {"role": "assistant", "content": parts},
            None,
            str(first.value["id"]),
            str(first.value.get("agent", MAIN)),
            open_,
        )


def piece(id_: str, say: str, at: int | None = None, **more: JSON) -> bytes:
    return dumps({"id": id_, "say": say, "at": at, **more})


def take(root: Path, *streams: Stream) -> Report:
    return import_transcript(Transcript("made", "x", streams), root, Options(NOW))


def order_of(report: Report) -> list[tuple[str, int]]:
    """The logs of the messages and their times, in the order of ``n``."""
    store = store_of(report)
    found = [
        (stamp.n, log, stamp.t - BASE_MS)
        for log in store.logs()
        for stamp, _ in history(store, log)
    ]
    return [(log, t) for _, log, t in sorted(found)]


def test_main_and_subagents_are_numbered_in_the_order_of_their_times(
    tmp_path: Path, root: Path
) -> None:
    main = MadeUp(put(tmp_path / "m.jsonl", lines(*(piece(f"m{t}", "m", t) for t in (1, 4, 9)))))
    kid = MadeUp(
        put(tmp_path / "k.jsonl", lines(*(piece(f"k{t}", "k", t) for t in (2, 8, 5, 10)))),
        "kid",
        MAIN,
    )

    report = take(root, main, kid)

    assert order_of(report) == [
        ("main", 1),
        ("kid", 2),
        ("main", 4),
        ("kid", 8),
        ("kid", 5),
        ("main", 9),
        ("kid", 10),
    ]
    assert [(agent.id, agent.parent) for agent in session_of(report).agents] == [
        ("main", None),
        ("kid", "main"),
    ]
    assert (report.agents, report.messages, report.types) == (2, 7, {"piece": 7})


def test_a_subagent_that_comes_later_is_added(tmp_path: Path, root: Path) -> None:
    main = MadeUp(put(tmp_path / "m.jsonl", lines(piece("a", "a", 1), piece("b", "b", 2))))
    take(root, main)
    kid = MadeUp(put(tmp_path / "k.jsonl", lines(piece("k", "k", 3))), "kid", MAIN)

    report = take(root, main, kid)

    assert (report.new, report.known) == (1, 2)
    assert texts_of(report, "kid") == ["k"]
    assert take(root, main, kid).nothing_new


def test_a_line_of_another_agent_inside_a_file_goes_to_that_agents_log(
    tmp_path: Path, root: Path
) -> None:
    data = lines(piece("a", "a", 1), piece("b", "b", 2, agent="side"), piece("c", "c", 3))

    report = take(root, MadeUp(put(tmp_path / "m.jsonl", data)))

    assert (texts_of(report), texts_of(report, "side")) == (["a", "c"], ["b"])
    assert fold_log(store_of(report), "side").header is not None
    assert [agent.parent for agent in session_of(report).agents] == [None, "main"]


def test_agents_whose_names_would_meet_on_some_system_have_logs_of_their_own(
    tmp_path: Path, root: Path
) -> None:
    names = ["Alpha", "alpha", "session", "MAIN", "..", "a/b", "a b", "NUL"]
    data = lines(piece("0", "first", 0), *(piece(name, name, 1, agent=name) for name in names))

    report = take(root, MadeUp(put(tmp_path / "m.jsonl", data)))

    logs = store_of(report).logs()
    assert len({log.casefold() for log in logs}) == len(names) + 1
    assert "session" not in logs
    assert sorted(text for log in logs for text in texts_of(report, log)) == sorted(
        ["first", *names]
    )


@pytest.mark.parametrize("ended", [True, False])
def test_a_message_that_the_source_has_gone_on_with_is_edited_not_doubled(
    tmp_path: Path, root: Path, ended: bool
) -> None:
    path = put(tmp_path / "m.jsonl", lines(piece("a", "one", 1), piece("b", "two", 2)))
    first = take(root, MadeUp(path))
    before = fold_log(store_of(first), "main").last_n + 1
    more = [piece("b", "and more", 3), *([piece("c", "three", 4)] if ended else [])]
    put(path, path.read_bytes() + lines(*more))

    report = take(root, MadeUp(path))

    later = ["three"] if ended else []
    assert (report.edited, report.new) == (1, len(later))
    assert texts_of(report) == ["one", "two\nand more", *later]
    assert [entry.id for entry in fold_log(store_of(report), "main").conversation] == [
        *range(2 + len(later))
    ]
    past = as_of(store_of(report), "main", before)
    assert [message.text for message in past.messages] == ["one", "two"]
    assert take(root, MadeUp(path)).nothing_new


def test_a_message_that_is_closed_without_a_change_is_known(tmp_path: Path, root: Path) -> None:
    path = put(tmp_path / "m.jsonl", lines(piece("a", "one", 1)))
    take(root, MadeUp(path))
    put(path, path.read_bytes() + lines(piece("b", "two", 2)))

    report = take(root, MadeUp(path))

    assert (report.edited, report.known, report.new) == (0, 1, 1)
    assert texts_of(report) == ["one", "two"]


def test_a_message_that_was_removed_here_stays_removed_when_the_source_goes_on(
    tmp_path: Path, root: Path
) -> None:
    path = put(tmp_path / "m.jsonl", lines(piece("a", "one", 1), piece("b", "two", 2)))
    first = take(root, MadeUp(path))
    conversation = fold_log(store_of(first), "main").conversation
    conversation.splice(1, 2, [Message.user("a summary")], at=NOW)
    save(store_of(first), "main", conversation)
    put(path, path.read_bytes() + lines(piece("b", "more", 3), piece("c", "three", 4)))

    report = take(root, MadeUp(path))

    assert texts_of(report) == ["one", "a summary", "three"]
    assert (report.edited, report.new) == (0, 1)
    assert take(root, MadeUp(path)).nothing_new


def test_what_an_adapter_leaves_unread_is_kept_all_the_same(tmp_path: Path, root: Path) -> None:
    class Early(MadeUp):
        def items(self, lines: Iterable[Line], tally: Tally) -> Iterator[Item]:
            for line in lines:
                yield self._said([(line, "only")], open_=False)
                yield Kept(line.number, None, MODEL, "m/x")
                return

    data = lines(piece("a", "one", 1)) + b"x" * 3_000_000
    report = take(root, Early(put(tmp_path / "m.jsonl", data)))

    assert texts_of(report) == ["only"]
    assert store_of(report).read_file("plugins/import/sub/m.jsonl") == data


def test_an_older_copy_takes_back_nothing_of_a_message_that_was_gone_on_with(
    tmp_path: Path, root: Path
) -> None:
    early = lines(piece("a", "one", 1), piece("b", "two", 2))
    path = put(tmp_path / "m.jsonl", early)
    take(root, MadeUp(path))
    put(path, early + lines(piece("b", "and more", 3)))
    take(root, MadeUp(path))
    put(path, early)

    report = take(root, MadeUp(path))

    assert (report.nothing_new, report.older) == (True, True)
    assert texts_of(report) == ["one", "two\nand more"]


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_a_change_of_a_message_that_a_log_has_lost_is_made_again_not_doubled(
    tmp_path: Path, root: Path, lost: int
) -> None:
    path = put(tmp_path / "m.jsonl", lines(piece("a", "one", 1), piece("b", "two", 2)))
    take(root, MadeUp(path))
    put(path, path.read_bytes() + lines(piece("b", "and more", 3)))
    log = take(root, MadeUp(path)).path / "logs" / "main.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-lost]))

    report = take(root, MadeUp(path))

    assert report.restored == (2 if lost == 3 else 1)
    assert texts_of(report) == ["one", "two\nand more"]
    assert take(root, MadeUp(path)).nothing_new


def test_a_subagents_log_that_is_gone_is_written_again_with_its_parent(
    tmp_path: Path, root: Path
) -> None:
    main = MadeUp(put(tmp_path / "m.jsonl", lines(piece("a", "a", 1), piece("b", "b", 9))))
    kid = MadeUp(put(tmp_path / "k.jsonl", lines(piece("k", "k", 2))), "kid", MAIN)
    first = take(root, main, kid)
    (first.path / "logs" / "kid.jsonl").unlink()

    report = take(root, main, kid)

    assert (report.restored, report.known) == (1, 2)
    assert [agent.parent for agent in session_of(report).agents] == [None, "main"]
    assert (texts_of(report), texts_of(report, "kid")) == (["a", "b"], ["k"])


def test_a_log_that_is_gone_and_whose_source_is_not_at_hand_is_named(
    tmp_path: Path, root: Path
) -> None:
    path = put(tmp_path / "m.jsonl", lines(piece("a", "a", 1)))
    kid = MadeUp(put(tmp_path / "k.jsonl", lines(piece("k", "k", 2))), "kid", MAIN)
    first = take(root, MadeUp(path), kid)
    (first.path / "logs" / "kid.jsonl").unlink()
    put(path, path.read_bytes() + lines(piece("b", "b", 3)))

    with pytest.raises(DamageError, match="lacks 1 message"):
        take(root, MadeUp(path))

    assert texts_of(first) == ["a"]


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_a_title_from_beside_the_source_that_a_log_has_lost_is_saved_again(
    tmp_path: Path, root: Path, lost: int
) -> None:
    path = put(tmp_path / "m.jsonl", lines(piece("a", "one", 1), piece("b", "two", 2)))
    named = Transcript("made", "x", (MadeUp(path),), "A title from beside")
    first = import_transcript(named, root, Options(NOW))
    log = first.path / "logs" / "main.jsonl"
    whole = log.read_bytes()
    log.write_bytes(b"".join(whole.splitlines(keepends=True)[:-lost]))

    report = import_transcript(named, root, Options(NOW))

    assert (report.titled, report.new, report.restored) == (True, 0, lost - 1)
    assert fold_log(store_of(report), "main").saved[TITLE] == "A title from beside"
    assert texts_of(report) == ["one", "two"]
    assert import_transcript(named, root, Options(NOW)).nothing_new
