from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

import pytest

from agentmem_cli import errors
from agentmem_cli.session.author import Author
from agentmem_cli.session.codec import dumps, loads_object
from agentmem_cli.session.conversation import Conversation
from agentmem_cli.session.images import BLOB_FOLDER, blob_name
from agentmem_cli.session.message import Message
from agentmem_cli.session.meta import SessionMeta
from agentmem_cli.session.reader import history, load
from agentmem_cli.session.rewriter import TRIES, rewrite
from agentmem_cli.session.rewriting import Messages, Rewrite, Strings
from agentmem_cli.session.session import Session
from agentmem_cli.session.writer import save
from agentmem_cli.storage.directory import DirStore
from agentmem_cli.storage.layout import LOCK, RECOVERED
from agentmem_cli.storage.memory import MemoryStore
from agentmem_cli.storage.seen import see
from tests.unit.session.rewriting_sessions import (
    AT,
    MASK,
    MASKING,
    PIXELS,
    SVG,
    WORD,
    all_bytes,
    everything,
    fill,
    said,
    svg_blob,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agentmem_cli.session.codec import Object
    from agentmem_cli.session.rewriting import Place, Record, Rewritten
    from agentmem_cli.session.staged import Staged
    from agentmem_cli.storage.store import Store

BY = Author.plugin("redactor")


def mask(store: Store, with_: Rewrite = MASKING, **more: object) -> Rewritten:
    return rewrite(store, BY, with_, if_idle_ms=None, now_ms=AT + 99, **more)  # type: ignore[arg-type]


def records(store: Store, log: str = "main") -> list[Object]:
    return [loads_object(line) for line in store.read_log(log).splitlines()]


def stamps(store: Store) -> dict[str, list[tuple[object, ...]]]:
    return {
        log: [(r["seq"], r["n"], r["t"], r["type"]) for r in records(store, log)]
        for log in store.logs()
    }


def test_the_word_is_gone_from_every_place_a_session_has(store: Store) -> None:
    fill(store)
    assert all_bytes(store).count(WORD.encode()) > 20

    mask(store)

    assert WORD.encode() not in all_bytes(store)


def test_every_record_keeps_its_place_and_stamp_and_the_session_reads_strictly(
    store: Store,
) -> None:
    fill(store)
    before = stamps(store)

    mask(store)

    assert stamps(store) == before
    session = Session.read(store)
    assert session.repairs == []
    assert [agent.id for agent in session.agents] == ["main", "other"]
    assert session.saved == {"shared": MASK}
    expected = MemoryStore()
    fill(expected, MASK)
    assert load(store, "main") == load(expected, "main")
    assert [r for _, r in history(store, "main")] == [r for _, r in history(expected, "main")]


def test_a_changed_log_gets_a_fresh_lineage_and_says_who_rewrote_it(store: Store) -> None:
    fill(store)
    before = {log: records(store, log)[0] for log in store.logs()}

    mask(store)
    rewrite(store, None, Strings(lambda text: text.replace(MASK, "2")), if_idle_ms=None, now_ms=7)

    after = {log: records(store, log)[0] for log in store.logs()}
    assert after["other"] == before["other"]
    assert after["main"]["lineage"] != before["main"]["lineage"]
    first = {"t": AT + 99, "by": {"kind": {"plugin": "redactor"}}}
    assert after["main"]["rewrites"] == [first, {"t": 7}]
    assert {**after["main"], "lineage": 0, "rewrites": 0} == {
        **before["main"],
        "lineage": 0,
        "rewrites": 0,
    }


def test_lines_without_the_word_keep_their_bytes_and_in_others_only_strings_change(
    store: Store,
) -> None:
    log = (
        b'{"seq":0,"n":0,"t":1,"type":"header","format":"rig-session/4","log":"a","lineage":5}\n'
        b' {"n":1, "seq":1,"t":1,"type":"push","entries":[{"message":{"role":"user",'
        b'"x":-0,"y":1.10,"z":1e400,"content":"caf\\u00e9 \\/ plain"},"id":0}]} \r\n'
        b'{"n":2, "seq":2,"t":1,"type":"push","entries":[{"message":{"role":"user","x":-0,'
        b'"y":1.10,"b":18446744073709551617,"d":"s3cr3t-w0rd","d":"caf\\u00e9 \\/",'
        b'"content":"\\u0073\\u0033cr3t-w0rd \\ud83d"},"id":1}]}\n\n'
        b'{"seq":3,"n":9,"t":0,"type":"retired","note":"s3cr3t-w0rd"}\n'
    )
    store.append_log("a", 0, log)

    done = mask(store)

    after = store.read_log("a").split(b"\n")
    before = log.split(b"\n")
    assert after[1] == before[1]
    assert after[2] == before[2].replace(b"s3cr3t-w0rd", b"[gone]").replace(
        b"\\u0073\\u0033cr3t-w0rd", b"[gone]"
    )
    assert after[3] == b""
    assert after[4] == before[4].replace(b"s3cr3t-w0rd", b"[gone]")
    assert (done.logs[0].records, done.logs[0].strings) == (2, 3)


def test_what_is_reported_is_what_changed(store: Store) -> None:
    fill(store)

    done = mask(store)

    assert {log.log for log in done.logs} == {"main", "session"}
    torn = hashlib.sha256(f'{{"seq":9,"text":"{MASK}'.encode()).hexdigest()
    assert done.files == (
        svg_blob(MASK),
        "meta.json",
        "plugins/p/lines.jsonl",
        "plugins/p/one.json",
        "plugins/p/text.md",
        f"{RECOVERED}main-{torn}.part",
    )
    assert done.blobs_added == (svg_blob(MASK).removeprefix(BLOB_FOLDER),)
    assert done.blobs_removed == (svg_blob().removeprefix(BLOB_FOLDER),)
    assert done.set_aside == ()
    assert done.changed


def test_a_rewrite_that_changes_nothing_writes_nothing(tmp_path: Path) -> None:
    store = DirStore.open(tmp_path / "s")
    fill(store)
    mask(store)
    before = everything(store)
    times = {path: path.stat().st_mtime_ns for path in store.path.rglob("*")}

    done = mask(store)

    assert not done.changed
    assert everything(store) == before
    assert {path: path.stat().st_mtime_ns for path in store.path.rglob("*")} == times


def test_a_conversation_of_before_may_not_be_saved_any_more(store: Store) -> None:
    fill(store)
    held = load(store, "main")
    held.push(said("more"))

    mask(store)

    with pytest.raises(errors.Changed):
        save(store, "main", held)
    fresh = load(store, "main")
    fresh.push(said("more"))
    save(store, "main", fresh)
    assert load(store, "main") == fresh


# -- blobs and files named by their bytes ----------------------------------


def test_a_text_blob_gets_the_name_of_its_new_bytes_wherever_it_is_named(store: Store) -> None:
    fill(store)
    digest = svg_blob().removeprefix(BLOB_FOLDER).partition(".")[0]
    store.write_file("plugins/p/names.json", dumps({"blob": f"see {digest}!", digest: 1}))

    mask(store)

    assert store.read_file(svg_blob(MASK)) == SVG.replace(WORD.encode(), MASK.encode())
    assert svg_blob() not in store.files()
    assert digest.encode() not in all_bytes(store)
    fresh = svg_blob(MASK).removeprefix(BLOB_FOLDER).partition(".")[0]
    assert loads_object(store.read_file("plugins/p/names.json")) == {
        "blob": f"see {fresh}!",
        fresh: 1,
    }
    shown = load(store, "main").entries[-2].message.value["content"]
    assert isinstance(shown, list)
    assert BLOB_FOLDER + blob_name(PIXELS, "png") in store.files()


def test_a_recovered_file_gets_the_name_of_its_new_bytes(store: Store) -> None:
    odd = b'\xff{"a":"s3cr3t-w0rd \xc3"}\n{"b":"s3cr3t-w0rd"}'
    name = f"{RECOVERED}a-{hashlib.sha256(odd).hexdigest()}.part"
    store.write_file(name, odd)
    store.write_file(f"{RECOVERED}other", b"s3cr3t-w0rd")

    mask(store)

    new = odd.replace(WORD.encode(), MASK.encode())
    fresh = f"{RECOVERED}a-{hashlib.sha256(new).hexdigest()}.part"
    assert store.files() == [fresh, f"{RECOVERED}other"]
    assert store.read_file(fresh) == new
    assert store.read_file(f"{RECOVERED}other") == MASK.encode()


def test_a_blob_that_no_record_names_any_more_goes_and_one_that_is_named_stays(
    store: Store,
) -> None:
    def drop(_: Record, message: Object) -> bool:
        content = message["content"]
        assert isinstance(content, list)
        kept = [part for part in content if isinstance(part, dict) and part["type"] != "image"]
        message["content"] = [*kept]
        return len(kept) != len(content)

    conversation = Conversation()
    picture = {"type": "image", "media_type": "png"}
    for log, data in (("a", b"one"), ("a", b"two"), ("b", b"two")):
        part: Object = {**picture, "data": {"type": "raw", "value": [*data]}}
        conversation = load(store, log)
        conversation.push(said("look", part))
        save(store, log, conversation)

    done = mask(store, Messages(lambda at, message: at.log == "a" and drop(at, message)))

    one, two = (blob_name(data, "png") for data in (b"one", b"two"))
    assert done.blobs_removed == (one,)
    assert store.files() == [BLOB_FOLDER + two]


def test_a_blob_that_is_given_up_leaves_unknown_data_and_no_name(store: Store) -> None:
    fill(store)
    name = blob_name(PIXELS, "png")

    done = mask(store, Rewrite(), drop_blobs=[name])

    assert done.blobs_removed == (name,)
    assert name.partition(".")[0].encode() not in all_bytes(store)
    told = b'"data":{"type":"unknown"}'
    assert store.read_log("main").count(told) == 1
    assert Session.read(store).repairs == []


# -- meta ------------------------------------------------------------------


def test_a_title_that_was_cut_in_the_middle_of_the_word_is_made_anew(store: Store) -> None:
    text = "x" * 55 + " " + WORD
    conversation = Conversation([said(text)])
    save(store, "main", conversation)
    SessionMeta.of(Session.read(store)).write(store)
    cut = SessionMeta.read(store).title
    assert cut is not None
    assert cut.endswith("s3c…")

    mask(store)

    assert SessionMeta.read(store).title == "x" * 55 + " [go…"


def test_the_meta_says_how_long_the_logs_are_now(store: Store) -> None:
    fill(store)
    sizes: Object = {log: len(store.read_log(log)) for log in store.logs()}
    meta = SessionMeta(title="t", listed={"agentmem": {"logs": {**sizes, "gone": 3}}})
    meta.write(store)

    mask(store)

    listed = SessionMeta.read(store).listed["agentmem"]
    now = {log: len(store.read_log(log)) for log in store.logs()}
    assert listed == {"logs": {**now, "gone": 3}}
    assert now != sizes


# -- what is refused, and leaves everything --------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda r: r.update(t=5),
        lambda r: r.update(type="halt"),
        lambda r: r["entries"][0].update(id=7),
        lambda r: r["entries"].append({"message": {"role": "user"}, "id": 9}),
        lambda r: r["entries"].clear(),
        lambda r: r["entries"][0].update(message=3),
    ],
)
def test_a_record_that_would_become_another_one_is_refused(
    store: Store, change: Callable[[Object], None]
) -> None:
    class Worse(Rewrite):
        def line(self, at: Record, raw: bytes) -> bytes:
            if b'"push"' not in raw or b"twice" not in raw:
                return MASKING.line(at, raw)
            record = loads_object(raw)
            change(record)
            return dumps(record)

    fill(store)
    before = everything(store)

    with pytest.raises(errors.Record, match="another record") as caught:
        mask(store, Worse())

    assert (caught.value.log, caught.value.line) == ("main", 4)
    assert everything(store) == before


@pytest.mark.parametrize("new", [b"no json", b'{"a":1}\n{"b":2}', b"[]", b""])
def test_a_line_that_would_be_no_record_is_refused(store: Store, new: bytes) -> None:
    class Worse(Rewrite):
        def line(self, at: Record, raw: bytes) -> bytes:
            return new if b"plain" in raw else raw

    fill(store)
    before = everything(store)

    with pytest.raises(errors.Record):
        mask(store, Worse())

    assert everything(store) == before


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (lambda lines: lines.insert(3, b"not json"), 4),
        (lambda lines: lines.insert(3, b'{"no":"record s3cr3t-w0rd"}'), 4),
        (lambda lines: lines.insert(3, lines[2]), 4),
        (lambda lines: lines.insert(3, b'{"seq":1,"n":1,"t":1,"type":"new s3cr3t-w0rd"}'), 4),
        (lambda lines: lines.pop(2), 3),
        (lambda lines: lines.__setitem__(2, lines[2] + lines[3]), 3),
        (lambda lines: lines.insert(2, b"\0" * 20), 3),
        (lambda lines: lines.insert(2, b'{"a":' * 1500 + b"1" + b"}" * 1500), 3),
        (lambda lines: lines.insert(2, b'"\xff s3cr3t-w0rd"'), 3),
    ],
)
@pytest.mark.parametrize("with_", [MASKING, Messages(lambda _, __: False)])
def test_a_damaged_log_is_refused_with_the_place_and_nothing_changes(
    store: Store, damage: Callable[[list[bytes]], object], line: int, with_: Rewrite
) -> None:
    fill(store)
    data = store.read_log("main")
    lines = data.split(b"\n")
    damage(lines)
    store.replace_log("main", len(data), b"\n".join(lines))
    before = everything(store)

    with pytest.raises(errors.Record) as caught:
        mask(store, with_)

    assert (caught.value.log, caught.value.line) == ("main", line)
    assert everything(store) == before


def test_a_log_of_another_format_is_refused(store: Store) -> None:
    fill(store)
    header = (
        b'{"seq":0,"n":0,"t":1,"type":"header","format":"rig-session/9","log":"z","lineage":5}\n'
    )
    store.append_log("z", 0, header)
    before = everything(store)

    with pytest.raises(errors.Format):
        mask(store)

    assert everything(store) == before


def test_damaged_lines_are_mapped_as_text_where_that_is_asked_for(store: Store) -> None:
    fill(store)
    data = store.read_log("main")
    lines = data.split(b"\n")
    lines[3:3] = [
        b"not json s3cr3t-w0rd",
        b'{"seq":3,"n":3,"t":1,"ty' + lines[4],
        b'{"a":"\xff s3cr3t-w0rd"}',
        b"\0\0s3cr3t-w0rd\0",
        b'["s3cr3t-w0rd"]',
    ]
    store.replace_log("main", len(data), b"\n".join(lines))

    done = mask(store, damaged="as-text")

    assert WORD.encode() not in all_bytes(store)
    after = store.read_log("main").split(b"\n")
    assert after[3] == b"not json [gone]"
    assert after[5] == b'{"a":"\xff [gone]"}'
    assert after[6] == b"\0\0[gone]\0"
    assert len(after) == len(lines)
    assert done.logs[0].records >= 5


def test_the_check_gets_all_as_it_will_be_and_can_refuse(store: Store) -> None:
    fill(store)
    before = everything(store)
    seen: dict[str, bytes] = {}

    def look(staged: Staged) -> None:
        for log in staged.logs():
            with staged.open_log(log) as opened:
                seen[f"logs/{log}"] = b"".join(opened.lines())
        for name in staged.files():
            with staged.open_file(name) as opened:
                seen[f"files/{name}"] = opened.read_at(0, opened.size)
        assert seen[f"files/{svg_blob(MASK)}"] == staged.read_file(svg_blob(MASK))
        raise errors.DamageError("no")

    with pytest.raises(errors.DamageError, match="no"):
        mask(store, check=look)

    assert everything(store) == before
    lineages = seen.pop("logs/main"), seen.pop("logs/session")
    mask(store)
    after = everything(store)
    assert len(after.pop("logs/main")) - len(lineages[0]) in range(-3, 4)
    assert len(after.pop("logs/session")) - len(lineages[1]) in range(-3, 4)
    assert after == seen


def test_what_the_finish_writes_is_part_of_the_rewrite(store: Store) -> None:
    fill(store)

    def finish(staged: Staged) -> None:
        staged.write_file("plugins/p/told", b"x")
        staged.remove_file("plugins/p/plain.txt")

    done = mask(store, finish=finish, skip=lambda name: name.endswith(".md"))

    assert store.read_file("plugins/p/told") == b"x"
    assert "plugins/p/plain.txt" not in store.files()
    assert "plugins/p/told" in done.files
    assert WORD.encode() in store.read_file("plugins/p/text.md")


# -- torn tails ------------------------------------------------------------


@pytest.mark.parametrize("tail", [b'{"seq":4,"t":"s3cr3t-w0rd', b"s3cr3t-w0rd\n", b"\xc3", b"\0\0"])
@pytest.mark.parametrize("log", ["main", "other"])
def test_a_torn_tail_is_set_aside_and_mapped_as_text(store: Store, tail: bytes, log: str) -> None:
    fill(store)
    size = len(store.read_log(log))
    store.append_log(log, size, tail)

    done = mask(store)

    new = tail.replace(WORD.encode(), MASK.encode())
    name = f"{RECOVERED}{log}-{hashlib.sha256(new).hexdigest()}.part"
    assert store.read_file(name) == new
    assert store.read_log(log).endswith(b"}\n")
    (torn,) = done.set_aside
    assert (torn.log, torn.kept, torn.cut, torn.set_aside) == (log, size, len(tail), name)
    assert WORD.encode() not in all_bytes(store)
    assert ("other" in {each.log for each in done.logs}) is False
    assert Session.read(store).repairs == []


def test_a_log_of_a_torn_line_alone_is_set_aside(store: Store) -> None:
    store.append_log("a", 0, b'{"seq":0,"type":"hea')

    done = mask(store)

    assert done.set_aside[0].kept == 0
    assert store.read_log("a") == b""


# -- other programs --------------------------------------------------------


def written_by_another(store: DirStore, log: str, now_ms: int, ago_ms: int) -> None:
    at_ns = (now_ms - ago_ms) * 1_000_000
    for path in (store.path / "logs").iterdir():
        mine_ns = at_ns if path.stem == log else at_ns - 1
        os.utime(path, ns=(mine_ns, mine_ns))
    os.utime(store.path / LOCK, ns=(at_ns - 1, at_ns - 1))


def test_a_session_that_another_program_writes_is_refused(tmp_path: Path) -> None:
    store = DirStore.open(tmp_path / "s")
    fill(store)
    before = everything(store)
    written_by_another(store, "other", AT, 59_000)

    with pytest.raises(errors.ConflictError, match=r"'other'.*59 s ago") as caught:
        rewrite(store, BY, MASKING, now_ms=AT)

    assert caught.value.exit_code == 4
    assert "--if-idle" in str(caught.value.hint)
    assert everything(store) == before


def test_a_session_that_was_left_alone_long_enough_is_rewritten(tmp_path: Path) -> None:
    for name, ago, allowed in (("a", 61_000, 60_000), ("b", 5_000, 4_000), ("c", 1, None)):
        store = DirStore.open(tmp_path / name)
        fill(store)
        written_by_another(store, "main", AT, ago)

        rewrite(store, BY, MASKING, now_ms=AT, if_idle_ms=allowed)

        assert WORD.encode() not in all_bytes(store)


def test_what_this_program_wrote_last_is_never_refused(tmp_path: Path) -> None:
    store = DirStore.open(tmp_path / "s")
    fill(store)

    rewrite(store, BY, MASKING)
    rewrite(store, BY, Strings(str.upper))

    assert not store.written_by_others()


def test_a_session_that_is_not_as_it_was_seen_is_refused(tmp_path: Path) -> None:
    store = DirStore.open(tmp_path / "s")
    fill(store)
    seen = see(store)
    conversation = load(store, "other")
    conversation.push(said("more"))
    save(store, "other", conversation)
    before = everything(store)

    with pytest.raises(errors.Stale) as caught:
        mask(store, expect=seen)

    assert caught.value.where == "logs/other"
    assert everything(store) == before
    mask(store, expect=see(store))
    assert WORD.encode() not in all_bytes(store)


class Meddling(Strings):
    """Has another program without a lock write to the session while it is looked at."""

    def __init__(self, meddle: Callable[[int], None]) -> None:
        super().__init__(lambda text: text.replace(WORD, MASK))
        self.meddle = meddle
        self.times = 0

    def text(self, at: Place, text: str) -> str:
        if "and more" in text:
            self.times += 1
            self.meddle(self.times)
        return super().text(at, text)


def test_a_file_that_grows_while_it_is_read_is_read_again(tmp_path: Path) -> None:
    store = DirStore.open(tmp_path / "s")
    fill(store)
    path = store.path / "files" / "plugins" / "p" / "text.md"
    log = store.path / "logs" / "other.jsonl"
    line = b'{"seq":2,"n":99,"t":1,"type":"state","key":"k","value":"s3cr3t-w0rd"}\n'

    def meddle(times: int) -> None:
        if times == 1:
            path.write_bytes(path.read_bytes() + b"later s3cr3t-w0rd\n")
        if times == 2:
            log.write_bytes(log.read_bytes() + line)

    meddling = Meddling(meddle)
    mask(store, meddling)

    assert meddling.times == 3
    assert WORD.encode() not in all_bytes(store)
    assert b"later [gone]" in path.read_bytes()
    assert load(store, "other") is not None


def test_a_session_that_goes_on_growing_is_given_up_as_it_is(tmp_path: Path) -> None:
    store = DirStore.open(tmp_path / "s")
    fill(store)
    path = store.path / "files" / "plugins" / "p" / "plain.txt"

    def meddle(times: int) -> None:
        path.write_bytes(b"x" * times)

    meddling = Meddling(meddle)
    log = store.read_log("main")

    with pytest.raises(errors.Stale, match=r"plain\.txt"):
        mask(store, meddling)

    assert meddling.times == TRIES
    assert store.read_log("main") == log
    assert store.leftovers() == []


# -- the disk --------------------------------------------------------------


def test_modes_stay_tight_and_nothing_is_looser_than_it_was(tmp_path: Path) -> None:
    umask = os.umask(0o022)
    try:
        store = DirStore.open(tmp_path / "s")
        fill(store)
        (store.path / "logs" / "main.jsonl").chmod(0o400)
        (store.path / "files" / "plugins" / "p" / "text.md").chmod(0o644)
        mask(store)
    finally:
        os.umask(umask)

    modes = {path: path.stat().st_mode & 0o777 for path in store.path.rglob("*")}
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600, 0o400}
    assert modes[store.path / "logs" / "main.jsonl"] == 0o400


def test_what_other_programs_left_half_written_goes_with_it(tmp_path: Path) -> None:
    store = DirStore.open(tmp_path / "s")
    fill(store)
    half = store.path / "files" / "plugins" / "x.rig-part"
    half.write_bytes(WORD.encode())
    trash = store.path / "files" / "old.rig-trash"
    trash.mkdir()
    (trash / "a").write_bytes(WORD.encode())

    mask(store)

    assert store.leftovers() == []
    assert not half.exists()
    assert not trash.exists()


def test_names_that_lead_out_are_only_words(tmp_path: Path) -> None:
    store = DirStore.open(tmp_path / "in" / "s")
    outside = tmp_path / "in" / "victim.svg"
    outside.parent.mkdir()
    outside.write_bytes(SVG)
    bad = ["blob:../../victim.svg", "blob:/etc/passwd", "blob:..", "blob:a\\b"]
    for name in bad:
        part: Object = {"type": "image", "data": {"type": "url", "value": name}}
        conversation = load(store, "main")
        conversation.push(said(WORD, part))
        save(store, "main", conversation)

    mask(store, drop_blobs=["../../victim.svg", "x/../../../victim.svg"])

    assert outside.read_bytes() == SVG
    assert WORD.encode() not in all_bytes(store)
    assert load(store, "main").entries[0].message.text == MASK


def test_a_link_is_neither_followed_nor_replaced(tmp_path: Path) -> None:
    store = DirStore.open(tmp_path / "s")
    fill(store)
    outside = tmp_path / "outside"
    outside.write_bytes(WORD.encode())
    (store.path / "files" / "plugins" / "link.txt").symlink_to(outside)

    mask(store)

    assert outside.read_bytes() == WORD.encode()
    assert (store.path / "files" / "plugins" / "link.txt").is_symlink()


def test_a_message_made_of_values_can_be_edited_by_hooks(store: Store) -> None:
    def shout(at: Record, message: Object) -> bool:
        assert at.log in {"main", "other"}
        assert at.stamp is not None
        if message["role"] != "user":
            return False
        message["content"] = "X"
        return True

    fill(store)

    mask(store, Messages(shout))

    entries = load(store, "main").entries
    assert {entry.message.text for entry in entries} == {"X"}
    assert store.read_file("plugins/p/text.md").startswith(b"# s3cr3t")
    assert isinstance(entries[0].message, Message)
