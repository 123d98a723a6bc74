"""Folders of transcripts in which anything stands: nothing is waited for, and the rest comes."""

from __future__ import annotations

import os
import signal
import stat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from agentmem_cli.operations.imports.importing import Options
from agentmem_cli.operations.imports.opening import open_regular
from agentmem_cli.operations.imports.watching import Watcher
from agentmem_cli.session.codec import dumps, loads_object
from tests.cli.running import as_stranger, make_socket, ok, run, tree
from tests.unit.imports import building, claude_building, codex_building
from tests.unit.imports.claude_building import OTHER, SID
from tests.unit.imports.codex_building import THREAD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentmem_cli.session.codec import Object


pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX links, pipes and modes")

PATIENCE_S = 5


class Tool(NamedTuple):
    """What a tool leaves in a folder."""

    kind: str
    fill: Callable[[Path], None]
    """Puts one session there."""
    session: str
    named: tuple[str, ...]
    """Places of further transcripts; what is none there is told."""
    silent: tuple[str, ...] = ()
    """Places of what is only read beside a transcript."""


def _pi(folder: Path) -> None:
    data = building.lines(building.header(id="a"), building.user(1, "hi"))
    building.put(folder / "a.jsonl", data)


def _claude(folder: Path) -> None:
    main = building.lines(
        claude_building.prompt("u1", None, "go"),
        claude_building.piece("r1", "u1", "m1", claude_building.call("toolu_1", "Task")),
    )
    building.put(folder / f"{SID}.jsonl", main)
    for name in "abc":
        line = claude_building.prompt(name, None, "do it", isSidechain=True, agentId=name)
        agent = folder / SID / "subagents" / f"agent-{name}.jsonl"
        building.put(agent, building.lines(line))


def _codex(folder: Path) -> None:
    codex_building.rollout(
        folder, THREAD, codex_building.meta(), codex_building.prompt(1, "go"),
        codex_building.answer(2, "gone"),
    )  # fmt: skip


def _openai(folder: Path) -> None:
    building.put(folder / "a.json", dumps([{"role": "user", "content": "hi"}]))


TOOLS = (
    Tool("pi", _pi, "pi-a", ("b.jsonl", "deep/c.jsonl")),
    Tool(
        "claude-code",
        _claude,
        f"claude-code-{SID}",
        (f"{OTHER}.jsonl", "agent-z.jsonl", f"{SID}/subagents/agent-y.jsonl",
         f"{SID}/subagents/agent-a.meta.json"),
        (f"{SID}/tool-results/t.txt",),
    ),
    Tool(
        "codex",
        _codex,
        f"codex-{THREAD}",
        ("sessions/2026/05/05/rollout-x.jsonl", "sessions/2026/05/05/rollout-y.jsonl.zst"),
        ("session_index.jsonl", "archived_sessions"),
    ),
    Tool("openai-messages", _openai, "openai-messages-", ("b.json", "c.jsonl")),
)  # fmt: skip


def _fifo(place: Path) -> None:
    os.mkfifo(place)


def _device(place: Path) -> None:
    zeros = Path("/dev/zero")
    try:
        os.mknod(place, 0o600 | stat.S_IFCHR, zeros.stat().st_rdev)
    except OSError:  # only root makes one, and not on every disk
        place.symlink_to(zeros)


def _to_itself(place: Path) -> None:
    place.symlink_to(place.name)


def _to_the_folder_above(place: Path) -> None:
    place.symlink_to("..")


def _to_nothing(place: Path) -> None:
    place.symlink_to("nothing")


ODD = (_fifo, make_socket, _device, _to_itself, _to_the_folder_above, _to_nothing)


@pytest.fixture(autouse=True)
def patience() -> Iterator[None]:
    """Let every command that waits fail, instead of the whole run."""

    def waited(*_: object) -> None:
        raise AssertionError(f"it waited for {PATIENCE_S} s")

    before = signal.signal(signal.SIGALRM, waited)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE_S, PATIENCE_S)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(params=TOOLS, ids=lambda tool: tool.kind)
def tool(request: pytest.FixtureRequest) -> Tool:
    found: Tool = request.param
    return found


def _lay_out(tool: Tool, folder: Path, odd: Callable[[Path], None]) -> None:
    tool.fill(folder)
    for name in (*tool.named, *tool.silent):
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        odd(place)


def _sessions(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir() if not path.name.startswith("."))


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("forced", [False, True])
def test_what_is_no_file_is_told_and_the_session_beside_it_comes(
    tool: Tool, odd: Callable[[Path], None], forced: bool, tmp_path: Path, root: Path
) -> None:
    folder = tmp_path / "in"
    _lay_out(tool, folder, odd)

    done = run("import", "--verbose", *(["--from", tool.kind] if forced else []), folder)
    again = run("import", folder)

    assert (done.status, again.status) == (0, 0), done
    assert [name.startswith(tool.session) for name in _sessions(root)] == [True]
    assert [name for name in tool.named if f"{folder / name}: passed by: " not in done.err] == []


@pytest.mark.parametrize("odd", ODD)
def test_a_watch_tells_what_is_no_file_once_and_takes_the_session_beside_it(
    tool: Tool, odd: Callable[[Path], None], tmp_path: Path, root: Path
) -> None:
    folder = tmp_path / "in"
    _lay_out(tool, folder, odd)
    watcher = Watcher([folder], root, Options(1))

    made = [each.report for each in watcher.poll(1) if each.report is not None]
    told = {each.source for each in watcher.notices()}
    later = [*watcher.poll(2), *watcher.notices()]

    assert len(made) == 1
    assert [name for name in tool.named if folder / name not in told] == []
    assert later == []


def _as_stranger(folder: Path, root: Path, closed: list[Path]) -> tuple[int, str]:
    """Import as somebody who may not read what is closed; return the status and what is told."""
    root.mkdir()
    told = root.parent / "told"
    told.touch()
    modes = {told: 0o666, root: 0o777, **dict.fromkeys(closed, 0)}
    modes.update(dict.fromkeys((root.parent, *root.parent.parents[:3]), 0o755))
    for path, mode in modes.items():
        path.chmod(mode)

    def work() -> int:
        done = run("import", "--verbose", folder)
        told.write_text(done.err)
        return done.status

    # Why: what is loaded only when it is needed may lie where the stranger cannot look.
    run("--root", root.parent / "own", "import", "--verbose", folder, folder / "nothing")
    return as_stranger(work), told.read_text()


def test_what_may_not_be_read_is_told_and_the_rest_comes(
    tool: Tool, tmp_path: Path, root: Path
) -> None:
    folder = tmp_path / "in"
    _lay_out(tool, folder, lambda place: place.touch())
    inside = folder / SID
    closed = [folder / name for name in tool.named if inside not in (folder / name).parents]

    status, told = _as_stranger(folder, root, closed)

    assert status == 2
    assert [name.startswith(tool.session) for name in _sessions(root)] == [True], told
    assert [str(place) for place in closed if f"{place}: Permission denied" not in told] == []


def test_a_session_of_which_a_file_may_not_be_read_waits_and_the_file_is_named(
    tmp_path: Path, root: Path
) -> None:
    folder = tmp_path / "in"
    _claude(folder)
    line = claude_building.prompt("u1", None, "another", sessionId=OTHER)
    building.put(folder / f"{OTHER}.jsonl", building.lines(line))
    closed = folder / SID / "subagents" / "agent-b.jsonl"

    status, told = _as_stranger(folder, root, [closed])

    assert status == 2
    assert f"{closed}: Permission denied" in told
    assert _sessions(root) == [f"claude-code-{OTHER}"]


def test_a_link_beside_an_agent_is_not_taken_for_its_session(tmp_path: Path, root: Path) -> None:
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "in"
    _claude(elsewhere)
    line = claude_building.prompt("k", None, "do it", isSidechain=True, agentId="k")
    building.put(folder / "agent-k.jsonl", building.lines(line))
    (folder / f"{SID}.jsonl").symlink_to(elsewhere / f"{SID}.jsonl")

    done = ok("import", folder)

    assert f"{folder / SID}.jsonl: passed by: a symbolic link" in done.err
    assert _sessions(root) == [f"claude-code-{SID}-agent-k"]


def test_what_a_link_leads_to_tells_nothing_of_an_agent(tmp_path: Path, root: Path) -> None:
    told: dict[str, object] = {}
    for name, linked in (("plain", False), ("linked", True)):
        folder = tmp_path / name
        _claude(folder)
        agents = folder / SID / "subagents"
        line = claude_building.piece("c", None, "m", claude_building.call("toolu_9", "Task"))
        building.put(agents / "agent-b.jsonl", building.lines(line))
        elsewhere = building.put(tmp_path / name / "meta", dumps({"toolUseId": "toolu_9"}))
        meta = agents / "agent-c.meta.json"
        if linked:
            meta.symlink_to(elsewhere)
        else:
            elsewhere.rename(meta)
        ok("--root", root / name, "import", folder)
        log = (root / name / f"claude-code-{SID}" / "logs" / "c.jsonl").read_bytes()
        told[name] = loads_object(log.partition(b"\n")[0]).get("parent")

    assert told == {"plain": "b", "linked": "main"}


@pytest.mark.parametrize("name", ["archived_sessions", "session_index.jsonl"])
def test_codex_own_places_are_not_looked_for_behind_links(
    tmp_path: Path, root: Path, name: str
) -> None:
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "in"
    child = codex_building.meta(codex_building.CHILD, parent_thread_id=THREAD)
    codex_building.rollout(elsewhere, codex_building.CHILD, child, codex_building.prompt(1, "sub"))
    (elsewhere / "sessions").rename(elsewhere / "archived_sessions")
    entry: Object = {"id": THREAD, "thread_name": "from elsewhere"}
    building.put(elsewhere / "session_index.jsonl", building.lines(dumps(entry)))
    _codex(folder)
    (folder / name).symlink_to(elsewhere / name)
    before = tree(elsewhere)

    ok("import", folder)

    made = root / f"codex-{THREAD}"
    assert [path.name for path in (made / "logs").glob("*.jsonl")] == ["main.jsonl"]
    assert b"from elsewhere" not in (made / "files" / "meta.json").read_bytes()
    assert tree(elsewhere) == before


def test_a_folder_of_rollouts_that_is_named_by_a_link_is_read(tmp_path: Path, root: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    child = codex_building.meta(codex_building.CHILD, parent_thread_id=THREAD)
    codex_building.rollout(elsewhere, codex_building.CHILD, child, codex_building.prompt(1, "sub"))
    _codex(elsewhere)
    link = tmp_path / "home" / "sessions"
    link.parent.mkdir()
    link.symlink_to(elsewhere / "sessions")

    ok("import", link)

    logs = root / f"codex-{THREAD}" / "logs"
    assert sorted(path.stem for path in logs.iterdir()) == [codex_building.CHILD, "main"]


def test_a_pipe_that_takes_a_files_place_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = building.put(tmp_path / "a.jsonl", b"x")
    real = os.open

    def swapped(name: str, flags: int) -> int:
        path.unlink()
        os.mkfifo(path)
        return real(name, flags)

    monkeypatch.setattr(os, "open", swapped)

    with pytest.raises(OSError, match="not a regular file"):
        open_regular(path)
