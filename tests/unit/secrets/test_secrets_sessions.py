"""Whatever place of a session holds a secret, a redaction reaches it, or tells that it cannot."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import stat
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.errors import ConflictError, Io, Record
from agentmem_cli.operations.imports.packed import Unpacked, packed
from agentmem_cli.operations.secrets import proof, redaction
from agentmem_cli.operations.secrets.given import read_literals
from agentmem_cli.operations.secrets.masks import MASK
from agentmem_cli.operations.secrets.proof import Unproven
from agentmem_cli.operations.secrets.redaction import Wishes, redact_session
from agentmem_cli.operations.secrets.sessions import look_at_session
from agentmem_cli.session.author import Author
from agentmem_cli.session.codec import dumps, loads_object
from agentmem_cli.session.session import Session
from agentmem_cli.storage.batch import DirBatch
from agentmem_cli.storage.directory import DirStore
from tests.secrets_made import looking, made, pem, token

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agentmem_cli.operations.secrets.findings import Finding
    from agentmem_cli.operations.secrets.masking import Masker
    from agentmem_cli.operations.secrets.redaction import Redacted
    from agentmem_cli.operations.secrets.sessions import Looked
    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.staged import Staged
    from agentmem_cli.storage.store import Store

SECRET = token(11)
START_MS = 1_700_000_000_000
BY = Author.plugin("agentmem")
WISHES = Wishes(now_ms=START_MS + 10_000)


def entry(number: int, text: JSON, **more: JSON) -> Object:
    """Return an entry of the user's."""
    message: Object = {"role": "user", "content": [{"type": "text", "text": text}]}
    return {"message": message, "id": number, **more}


def aside(text: JSON, **author: JSON) -> Object:
    """Return a side record that says *text*."""
    return {"kind": "note", "author": {"kind": "rig", **author}, "value": text}


def push(*entries: Object) -> Object:
    """Return a push."""
    return {"type": "push", "entries": [*entries]}


def log(name: str, *records: Object, n: int = 0) -> bytes:
    """Return a log's bytes, with a header."""
    header: Object = {
        "type": "header",
        "format": "rig-session/4",
        "log": name,
        "lineage": 2**63 + 5,
    }
    lines = []
    for seq, record in enumerate([header, *records]):
        stamp: Object = {"seq": seq, "n": n + seq, "t": START_MS + seq}
        lines.append(dumps({**stamp, **record}) + b"\n")
    return b"".join(lines)


class Made:
    """A session on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = DirStore.open(path)

    def log(self, name: str, *records: Object, n: int = 0) -> None:
        """Write a log, as another program does."""
        self.store.replace_log(name, 0, log(name, *records, n=n))

    def file(self, name: str, data: bytes) -> None:
        """Write a file."""
        self.store.write_file(name, data)

    def redact(self, wishes: Wishes = WISHES) -> Redacted:
        """Redact it."""
        return redact_session(self.store, BY, looking(), wishes._replace(name=self.path.name))

    def everything(self) -> dict[str, bytes]:
        """Return every byte below it, by path."""
        return {
            str(each.relative_to(self.path)): each.read_bytes()
            for each in self.path.rglob("*")
            if each.is_file()
        }

    def holding(self, value: str) -> list[str]:
        """Name the files that hold *value*, in plain, in base64 or in their name."""
        wanted = [value.encode()]
        for skip in range(3):
            whole = base64.b64encode(b"\0" * skip + value.encode())
            wanted.append(whole[(0, 2, 3)[skip] : -4])
        return [
            name
            for name, data in self.everything().items()
            if value in name or any(each in data for each in wanted)
        ]


@pytest.fixture
def made_session(tmp_path: Path) -> Made:
    """Return an empty session."""
    return Made(tmp_path / "root" / "some-session")


def _in_message(made: Made) -> None:
    made.log("main", push(entry(0, f"it is {SECRET}")))


def _in_pieces(made: Made) -> None:
    texts = (f"it is {SECRET[:9]}", f"{SECRET[9:]}.")
    deltas: list[JSON] = [{"type": "text_delta", "text": text} for text in texts]
    values: list[Object] = [{"type": "content_block_delta", "index": 0, "delta": d} for d in deltas]
    records: list[Object] = [
        {"type": "aside", "id": n, "aside": aside(value)} for n, value in enumerate(values)
    ]
    made.log("main", push(entry(0, "hi")), *records)


def test_a_value_across_side_records_is_found_and_masked_once(made_session: Made) -> None:
    _in_pieces(made_session)

    done = made_session.redact()

    told = made_session.everything()["logs/main.jsonl"]
    assert SECRET[:9].encode() not in told
    assert SECRET[9:].encode() not in told
    assert len(done.findings.to_mask()) == len(MASK.findall(told)) == 1


def _in_the_past(made: Made) -> None:
    splice: Object = {
        "type": "splice",
        "from": 0,
        "to": 1,
        "removed": [0],
        "with": [entry(1, "gone")],
    }
    made.log("main", push(entry(0, SECRET)), splice)


def _in_a_splice(made: Made) -> None:
    splice: Object = {
        "type": "splice",
        "from": 0,
        "to": 1,
        "removed": [0],
        "with": [entry(1, SECRET)],
    }
    made.log("main", push(entry(0, "x")), splice)


def _in_a_reset(made: Made) -> None:
    state: Object = {
        "entries": [entry(0, SECRET, made=START_MS)],
        "asides": [{"id": 0, "aside": aside({"deep": [SECRET]})}],
        "next_message": 1,
        "next_aside": 1,
    }
    made.log("main", {"type": "reset", "state": state})


def _in_an_aside(made: Made) -> None:
    made.log("main", push(entry(0, "x")), {"type": "aside", "id": 0, "aside": aside({"a": SECRET})})


def _in_native(made: Made) -> None:
    part: Object = {"type": "text", "text": "x", "native": {"item": {"raw": f"<{SECRET}>"}}}
    message: Object = {"role": "assistant", "content": [part]}
    made.log("main", push({"message": message, "id": 0}))


def _in_an_authors_title(made: Made) -> None:
    made.log("main", push(entry(0, "x", author={"kind": "rig", "title": f"t {SECRET}"})))


def _in_who_made_a_record(made: Made) -> None:
    made.log("main", {"by": {"kind": "rig", "title": SECRET}, **push(entry(0, "x"))})


def _in_who_rewrote(made: Made) -> None:
    told: Object = {"rewrites": [{"t": START_MS, "by": {"kind": "rig", "title": SECRET}}]}
    data = log("main", push(entry(0, "x")))
    first, rest = data.split(b"\n", 1)
    made.store.replace_log("main", 0, dumps({**loads_object(first), **told}) + b"\n" + rest)


def _in_a_saved_value(made: Made) -> None:
    made.log("session", {"type": "state", "key": "k", "value": {"a": [f"x {SECRET}"]}})


def _in_a_saved_values_key(made: Made) -> None:
    made.log("session", {"type": "state", "key": f"k {SECRET}", "value": 1})


def _in_a_saved_title(made: Made) -> None:
    made.log("session", {"type": "state", "key": "rig::title", "value": SECRET})


def _in_a_key_of_arguments(made: Made) -> None:
    call: Object = {
        "type": "toolcall",
        "id": "c1",
        "function": {"name": "f", "arguments": {SECRET: 1}},
    }
    made.log("main", push({"message": {"role": "assistant", "content": [call]}, "id": 0}))


def _in_the_loser_of_a_duplicate_key(made: Made) -> None:
    data = log("main", push(entry(0, "WON")))
    text = f'"text":"{SECRET}","text":"WON"'
    made.store.replace_log("main", 0, data.replace(b'"text":"WON"', text.encode()))


def _in_a_torn_tail(made: Made) -> None:
    data = log("main", push(entry(0, "x")), push(entry(1, f"k {SECRET} k")))
    made.store.replace_log("main", 0, data[:-8])


def _in_recovered(made: Made) -> None:
    torn = f'{{"seq":4,"n":9,"text":"say \\"{SECRET}\\" and'.encode() + b"\xff"
    made.log("main", push(entry(0, "x")))
    made.file(f"recovered/main-{hashlib.sha256(torn).hexdigest()}.part", torn)


def _in_a_text_blob(made: Made) -> None:
    text = f"line\nkey {SECRET}\n".encode()
    name = f"{hashlib.sha256(text).hexdigest()}.txt"
    part: Object = {"type": "document", "data": {"type": "url", "value": f"blob:{name}"}}
    message: Object = {"role": "user", "content": [part]}
    made.file(f"blobs/{name}", text)
    made.log("main", push({"message": message, "id": 0}))


def _in_meta(made: Made) -> None:
    made.log("main", push(entry(0, "x")))
    made.file("meta.json", dumps({"title": f"about {SECRET}", "labels": {"l": SECRET}, SECRET: 1}))


def _in_a_plugins_json(made: Made) -> None:
    made.log("main", push(entry(0, "x")))
    made.file("plugins/p/a.json", json.dumps({"deep": {"x": SECRET}}, indent=1).encode())  # noqa: TID251


def _in_a_plugins_lines(made: Made) -> None:
    made.log("main", push(entry(0, "x")))
    made.file("plugins/p/a.jsonl", dumps({"a": 1}) + b"\nno json " + SECRET.encode() + b"\n")


def _in_a_plugins_text(made: Made) -> None:
    made.log("main", push(entry(0, "x")))
    made.file("plugins/p/a.md", f"# notes\n\n* {SECRET}\n".encode())


def _in_a_text_with_odd_bytes(made: Made) -> None:
    made.log("main", push(entry(0, "x")))
    made.file("plugins/p/a.txt", b"\0\xff\n" + SECRET.encode())
    made.file("plugins/p/latin", b"caf\xe9 " + SECRET.encode())


def _in_json_in_json(made: Made) -> None:
    inner = json.dumps({"out": json.dumps({"o": f'"{SECRET}"'})})  # noqa: TID251
    made.log("main", push(entry(0, inner)))


def _by_numbers(made: Made) -> None:
    numbers = "".join(f"\\u{ord(each):04x}" for each in SECRET)
    data = log("main", push(entry(0, "WON")))
    made.store.replace_log("main", 0, data.replace(b"WON", numbers.encode()))


def _in_base64(made: Made) -> None:
    made.log("main", push(entry(0, base64.b64encode(f"u:{SECRET}".encode()).decode())))


PLACES: list[Callable[[Made], None]] = [
    _in_message, _in_the_past, _in_a_splice, _in_a_reset, _in_an_aside, _in_native,
    _in_an_authors_title, _in_who_made_a_record, _in_who_rewrote, _in_a_saved_value,
    _in_a_saved_values_key, _in_a_saved_title, _in_a_key_of_arguments,
    _in_the_loser_of_a_duplicate_key, _in_a_torn_tail, _in_recovered, _in_a_text_blob,
    _in_meta, _in_a_plugins_json, _in_a_plugins_lines, _in_a_plugins_text,
    _in_a_text_with_odd_bytes, _in_json_in_json,
    _by_numbers, _in_base64,
]  # fmt: skip


@pytest.mark.parametrize("put", PLACES, ids=lambda put: put.__name__.strip("_"))
def test_a_secret_goes_from_wherever_it_stands(
    made_session: Made, put: Callable[[Made], None]
) -> None:
    put(made_session)

    done = made_session.redact()

    assert made_session.holding(SECRET) == []
    assert done.is_whole
    assert sum(done.kinds.values()) >= 1
    Session.read(made_session.store)
    assert not made_session.redact().rewritten.changed


def test_stamps_and_places_stay_and_the_header_says_who(made_session: Made) -> None:
    made_session.log("main", push(entry(0, SECRET)), push(entry(1, "x")))
    before = [loads_object(each) for each in made_session.store.read_log("main").splitlines()]

    made_session.redact()
    after = [loads_object(each) for each in made_session.store.read_log("main").splitlines()]

    assert [[each[key] for key in ("seq", "n", "t")] for each in after] == [
        [each[key] for key in ("seq", "n", "t")] for each in before
    ]
    assert after[0]["lineage"] != before[0]["lineage"]
    assert after[0]["rewrites"] == [{"t": START_MS + 10_000, "by": BY.to_value()}]
    assert after[2] == before[2]


def test_context_in_one_log_takes_the_bare_value_from_another(made_session: Made) -> None:
    value = made(21, 18)
    made_session.log("main", push(entry(0, f"password={value}")))
    made_session.log("helper", push(entry(0, f"I saw {value} there")), n=10)

    made_session.redact()

    assert made_session.holding(value) == []


def test_a_password_that_is_a_word_stays_elsewhere(made_session: Made) -> None:
    made_session.log("main", push(entry(0, "password=postgres"), entry(1, "use postgres")))

    done = made_session.redact()

    data = made_session.store.read_log("main")
    assert b"password=[REDACTED:password:" in data
    assert b'"use postgres"' in data
    assert done.kinds == {"password": 1}


def test_a_picture_with_a_secret_in_it_is_told_and_left(made_session: Made) -> None:
    picture = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0tEXtComment\0" + SECRET.encode() + b"\0\xff"
    name = f"{hashlib.sha256(picture).hexdigest()}.png"
    part: Object = {"type": "image", "data": {"type": "url", "value": f"blob:{name}"}}
    made_session.file(f"blobs/{name}", picture)
    made_session.log("main", push({"message": {"role": "user", "content": [part]}, "id": 0}))

    done = made_session.redact()

    assert {row.fate for row in done.left} == {"bytes"}
    assert not done.is_whole
    assert made_session.store.read_file(f"blobs/{name}") == picture
    assert SECRET not in dumps(done.receipt).decode()


def test_a_picture_that_is_given_up_is_gone(made_session: Made) -> None:
    picture = b"\x89PNG\r\n\x1a\n\0tEXt\0" + SECRET.encode() + b"\0"
    name = f"{hashlib.sha256(picture).hexdigest()}.png"
    part: Object = {"type": "image", "data": {"type": "url", "value": f"blob:{name}"}}
    made_session.file(f"blobs/{name}", picture)
    made_session.log("main", push({"message": {"role": "user", "content": [part]}, "id": 0}))

    done = made_session.redact(WISHES._replace(drop_blobs=(name,)))

    assert made_session.holding(SECRET) == []
    assert done.is_whole


@pytest.mark.parametrize("name", [f"plugins/p/{SECRET}.txt", f"plugins/{SECRET}/a.json"])
def test_a_secret_in_a_name_is_told(made_session: Made, name: str) -> None:
    made_session.log("main", push(entry(0, f"see {SECRET}")))
    made_session.file(name, b"{}")

    done = made_session.redact()

    assert {row.fate for row in done.left} == {"name"}
    assert SECRET.encode() not in made_session.store.read_log("main")
    assert SECRET not in dumps(done.receipt).decode()


def test_a_secret_in_a_logs_or_the_sessions_name_is_told(tmp_path: Path) -> None:
    session = Made(tmp_path / f"s-{SECRET}")
    session.log(f"a-{SECRET}", push(entry(0, "x")))

    done = session.redact()

    assert [row.fate for row in done.left].count("name") == 2
    assert {row.fate for row in done.left} == {"name", "structural"}
    assert SECRET not in dumps(done.receipt).decode()


def test_packed_bytes_are_told_as_unread(made_session: Made) -> None:
    made_session.log("main", push(entry(0, "x")))
    made_session.file("plugins/p/a.gz", b"\x1f\x8b\x08\0\0\0\0\0")

    done = made_session.redact()

    assert [each.place.name for each in done.unread] == ["files/plugins/p/a.gz"]
    assert not done.is_whole


def test_a_source_that_was_kept_packed_is_unpacked_and_packed_again(made_session: Made) -> None:
    lines = dumps({"type": "x", "password": "postgres"}) + b"\n" + SECRET.encode() + b"\n{}"
    made_session.log("main", push(entry(0, "x")))
    made_session.file("plugins/import/a.jsonl.zst", packed(lines) + packed(b"\n{}\n"))

    done = made_session.redact()

    new = made_session.store.read_file("plugins/import/a.jsonl.zst")
    told = b"".join(Unpacked([new]))
    assert SECRET.encode() not in told
    assert b"postgres" not in told
    assert told.endswith(b"\n{}\n{}\n")
    assert done.is_whole
    assert not made_session.redact().rewritten.changed


def test_a_packed_source_that_is_cut_off_is_told(made_session: Made) -> None:
    made_session.log("main", push(entry(0, "x")))
    made_session.file("plugins/import/a.jsonl.zst", packed(b"{}\n" * 500)[:-9])

    done = made_session.redact()

    assert [each.why for each in done.unread] == ["zstd: the last frame is cut off"]


def test_signed_reasoning_loses_its_signature(made_session: Made) -> None:
    part: Object = {
        "type": "reasoning",
        "content": [{"text": f"so {SECRET}", "signature": "EqABCDEFGH="}],
    }
    message: Object = {"role": "assistant", "content": [part]}
    made_session.log("main", push({"message": message, "id": 0}))

    done = made_session.redact()

    assert b"EqABCDEFGH" not in made_session.store.read_log("main")
    assert done.signatures == 1
    assert done.receipt["signatures_removed"] == 1


def test_the_receipt_says_where_and_how_many_and_nothing_of_the_values(made_session: Made) -> None:
    made_session.log("main", push(entry(0, SECRET)), push(entry(1, pem())), push(entry(2, "x")))
    before = made_session.store.read_log("main")

    done = made_session.redact()

    receipt = done.receipt
    after = made_session.store.read_log("main")
    told = dumps(receipt).decode()
    changed = receipt["changed"]

    assert receipt["masks"] == {"private-key": 1, "vendor-token": 1}
    assert isinstance(changed, list)
    assert isinstance(changed[0], dict)
    assert changed[0]["in"] == "logs/main.jsonl"
    assert changed[0]["n"] == [1, 2]
    assert changed[0]["after"] == hashlib.sha256(after).hexdigest()
    assert hashlib.sha256(before).hexdigest() not in told
    assert not [at for at in range(0, 20, 4) if SECRET[at : at + 8] in told]
    assert "revoke" in told


def test_no_digest_of_what_was_masked_stays_in_a_name(made_session: Made) -> None:
    _in_a_text_blob(made_session)
    torn = f'{{"a":"{SECRET}'.encode()
    made_session.file(f"recovered/main-{hashlib.sha256(torn).hexdigest()}.part", torn)
    old = [name.split("/")[-1] for name in made_session.store.files()]

    made_session.redact()

    digests = [name.removeprefix("main-").split(".")[0] for name in old]
    assert not [digest for digest in digests if made_session.holding(digest)]


def test_what_the_user_names_leaves_the_form_alone(made_session: Made) -> None:
    made_session.log("main", push(entry(0, "content and user and push and main")))
    wanted = looking(read_literals("content\nuser\npush\nmain\ntext\nentries\n", "l"))

    done = redact_session(made_session.store, BY, wanted, Wishes(START_MS))

    session = Session.read(made_session.store)
    assert session.agents
    data = made_session.store.read_log("main")
    assert data.count(b"[REDACTED:literal:") == 4
    assert {row.fate for row in done.left} <= {"structural", "name"}


def test_a_log_that_grows_while_it_is_looked_at_is_looked_at_again(
    made_session: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = token(33)
    made_session.log("main", push(entry(0, SECRET)))
    looks: list[int] = []

    def look(*args: object, **more: object) -> object:
        looked = look_at_session(*args, **more)  # type: ignore[arg-type]
        if not looks:
            size = len(made_session.store.read_log("main"))
            record = {"seq": 2, "n": 2, "t": START_MS, **push(entry(1, late))}
            made_session.store.append_log("main", size, dumps(record) + b"\n")
        looks.append(1)
        return looked

    monkeypatch.setattr(redaction, "look_at_session", look)
    made_session.redact()

    assert len(looks) == 2
    assert made_session.holding(SECRET) == []
    assert made_session.holding(late) == []


def test_a_log_that_never_rests_is_looked_at_while_it_is_held(
    made_session: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_session.log("main", push(entry(0, SECRET)))
    looks: list[int] = []

    def look(*args: object, **more: object) -> object:
        looked = look_at_session(*args, **more)  # type: ignore[arg-type]
        looks.append(1)
        if len(looks) <= redaction.TRIES:
            size = len(made_session.store.read_log("main"))
            n = len(looks) + 1
            record = {"seq": n, "n": n, "t": START_MS, **push(entry(n, "more"))}
            made_session.store.append_log("main", size, dumps(record) + b"\n")
        return looked

    monkeypatch.setattr(redaction, "look_at_session", look)
    made_session.redact()

    assert len(looks) == redaction.TRIES + 1
    assert made_session.holding(SECRET) == []


def test_a_value_that_would_stay_stops_the_whole(
    made_session: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_session.log("main", push(entry(0, SECRET)), push(entry(1, SECRET)))
    before = made_session.everything()
    masked = redaction.Masking.line
    passed: list[int] = []

    def forgetful(self: redaction.Masking, at: object, raw: bytes) -> bytes:
        passed.append(1)
        return masked(self, at, raw) if len(passed) == 1 else raw  # type: ignore[arg-type]

    monkeypatch.setattr(redaction.Masking, "line", forgetful)
    with pytest.raises(Unproven, match="not proven") as caught:
        made_session.redact()

    after = made_session.everything()
    assert SECRET not in str(caught.value)
    assert {name: after[name] for name in before} == before


def test_the_proof_reads_every_file_and_log(
    made_session: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_session.log("main", push(entry(0, SECRET)))
    made_session.file("plugins/p/a.txt", b"text")
    made_session.file("blobs/" + "0" * 64 + ".png", b"\x89PNG\0")
    seen: list[int] = []
    read = proof.prove

    def count(
        store: Store, staged: Staged, masker: Masker, looked: Looked, name: str | None, _: object
    ) -> list[Finding]:
        return read(store, staged, masker, looked, name, seen.append)

    monkeypatch.setattr(redaction, "prove", count)
    made_session.redact()

    sizes = [len(data) for name, data in made_session.everything().items() if name[0] != "."]
    assert sum(seen) == sum(sizes)


def test_a_damaged_log_is_refused_and_read_as_text_when_asked(made_session: Made) -> None:
    data = log("main", push(entry(0, "x")), push(entry(1, "y")))
    lines = data.split(b"\n")
    lines[1] = b'{"bad": "' + SECRET.encode()
    made_session.store.replace_log("main", 0, b"\n".join(lines))

    with pytest.raises(Record):
        made_session.redact()
    done = made_session.redact(WISHES._replace(damaged="as-text"))

    assert made_session.holding(SECRET) == []
    assert done.kinds == {"vendor-token": 1}


def test_a_session_that_another_program_writes_is_refused(made_session: Made) -> None:
    made_session.log("main", push(entry(0, SECRET)))
    path = made_session.path / "logs" / "main.jsonl"
    now_ms = START_MS + 10_000
    os.utime(path, ns=(now_ms * 1_000_000, now_ms * 1_000_000))
    os.utime(made_session.path / ".rig-memory.lock", ns=(0, 0))

    with pytest.raises(ConflictError, match="another program"):
        made_session.redact()
    made_session.redact(WISHES._replace(if_idle_ms=None))

    assert made_session.holding(SECRET) == []


def test_a_session_that_cannot_be_written_is_left_as_it_is(
    made_session: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_session.log("main", push(entry(0, SECRET)))
    before = made_session.everything()

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(DirBatch, "open_log_new", refuse)
    with pytest.raises(Io, match="Permission denied"):
        made_session.redact()

    assert made_session.everything() == before


def test_modes_stay_tight(made_session: Made) -> None:
    _in_a_text_blob(made_session)
    made_session.file("plugins/p/a.txt", SECRET.encode())
    old = os.umask(0)

    made_session.redact()
    os.umask(old)

    modes = {stat.S_IMODE(each.stat().st_mode) for each in made_session.path.rglob("*")}
    assert modes <= {0o600, 0o700}


def test_a_mask_is_the_same_in_every_place(made_session: Made) -> None:
    made_session.log("main", push(entry(0, SECRET)))
    made_session.file("plugins/p/a.txt", SECRET.encode())

    made_session.redact()

    masks = {found for data in made_session.everything().values() for found in MASK.findall(data)}
    assert len(masks) == 1
