"""A transcript with secrets planted in it, and the truth about where they stand.

Every secret is drawn by the dice; nobody has used one. Beside them stand the
usual decoys: digests, ids, examples, code.
"""

from __future__ import annotations

import base64
import json
import string
import uuid
from typing import TYPE_CHECKING, Final

from benchmarks.texts import dumped, fragments

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

    Maker = Callable[[random.Random], str]

LETTERS: Final = string.ascii_letters + string.digits
URL_SAFE: Final = LETTERS + "-_"
HEX: Final = "0123456789abcdef"
EVENT_BYTES: Final = 7_000
TEXT_BYTES: Final = 400
MARKER: Final = "zanzibar-quartz"
"""A word that stands on one line of `MARKED_EVERY`, and nowhere else."""

MARKED_EVERY: Final = 2_000

PER_MEGABYTE: Final = 5
"""Secrets in a megabyte."""


def _drawn(size: int, signs: str = LETTERS, before: str = "") -> Maker:
    return lambda dice: before + "".join(dice.choice(signs) for _ in range(size))


def _pem(dice: random.Random) -> str:
    label = "EC PRIVATE KEY"
    body = "\n".join(_drawn(64, LETTERS + "+/")(dice) for _ in range(8))
    return f"-----BEGIN {label}-----\n{body}\n-----END {label}-----"


def _basic(dice: random.Random) -> str:
    return base64.b64encode(f"deploy:{_drawn(15)(dice)}".encode()).decode()


def _password(dice: random.Random) -> str:
    words = ("Copper", "meadow", "Harbor", "falcon", "Velvet", "tiger")
    return (
        f"{dice.choice(words)}{dice.choice('!#%&*-_')}{dice.choice(words)}{dice.randint(10, 9999)}"
    )


KINDS: Final[dict[str, tuple[Maker, tuple[str, ...]]]] = {
    "gh": (_drawn(36, before="gh" + "p_"), ("GH_TOKEN={s}", "use {s} for it", "token {s}\n")),
    "glpat": (_drawn(20, URL_SAFE, "gl" + "pat-"), ("CI_TOKEN: '{s}'", "with {s} it works")),
    "akia": (_drawn(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "AK" + "IA"), ("key id {s}",)),
    "aws": (
        _drawn(40, LETTERS + "+/"),
        ("aws_secret_access_key = {s}", "AWS_SECRET_ACCESS_KEY={s}"),
    ),
    "npm": (_drawn(36, before="np" + "m_"), ("//registry.example/:_authToken={s}",)),
    "sendgrid": (
        lambda d: f"S{'G'}.{_drawn(22, URL_SAFE)(d)}.{_drawn(43, URL_SAFE)(d)}",
        ("SENDGRID_API_KEY={s}", "key {s}."),
    ),
    "url": (_drawn(15), ("mysql://app:{s}@db.example.net/app", "amqp://u:{s}@mq.example.net:5672")),
    "basic": (_basic, ("Authorization: Basic {s}",)),
    "bearer": (
        _drawn(44),
        ("Authorization: Bearer {s}", 'headers={{"Authorization": "Bearer {s}"}}'),
    ),
    "curl": (_drawn(16), ("curl -u robot:{s} https://files.example.net/",)),
    "hex": (_drawn(32, HEX), ("APP_SECRET={s}", 'client_secret: "{s}"')),
    "password": (_password, ("DB_PASSWORD={s}", 'password: "{s}"', "SMTP_PASS='{s}'")),
    "pem": (_pem, ("$ cat key.pem\n{s}\n$", "key: |\n{s}\n")),
}

DECOYS: Final[tuple[Callable[[random.Random], str], ...]] = (
    lambda d: f"commit {_drawn(40, HEX)(d)}",
    lambda d: f"sha256:{_drawn(64, HEX)(d)}  app.tar.gz",
    lambda d: f'"integrity": "sha512-{base64.b64encode(d.randbytes(64)).decode()}"',
    lambda d: f"request_id={uuid.UUID(bytes=d.randbytes(16))}",
    lambda d: f"![i](data:image/png;base64,{base64.b64encode(d.randbytes(700)).decode()})",
    lambda _: "API_KEY=your-api-key-here\nDB_PASSWORD=changeme\nTOKEN=${TOKEN}",
    lambda _: 'password = os.environ["DB_PASSWORD"]\nconst token = await getToken(id);',
    lambda _: "max_tokens: 4096, token_count: 12345",
)


def make_leaky(folder: Path, size: int, dice: random.Random) -> dict[str, str | int]:
    """Write a transcript of about *size* bytes, and its truth, to *folder*.

    The truth is JSON lines of ``line`` (from 1), ``kind`` and ``secret``.
    """
    texts = [each.decode() for each in fragments(dice, TEXT_BYTES)]
    events = max(1, size // EVENT_BYTES)
    wanted = max(1, size * PER_MEGABYTE // 1_000_000)
    plan: dict[int, list[str]] = {}
    names = list(KINDS)
    for number in range(wanted):
        plan.setdefault(dice.randrange(events) + 1, []).append(names[number % len(names)])
    written = line = 0
    with (
        (folder / "leaky.jsonl").open("wb") as stream,
        (folder / "leaky.truth.jsonl").open("wb") as truth,
    ):
        while line < events or written < size:
            line += 1
            pieces = [dice.choice(texts) for _ in range(max(1, EVENT_BYTES // TEXT_BYTES))]
            if dice.random() < 0.15:  # noqa: PLR2004 - one line in seven has a decoy
                pieces.append(dice.choice(DECOYS)(dice))
            for kind in plan.get(line, ()):
                make, contexts = KINDS[kind]
                secret = make(dice)
                pieces.append(dice.choice(contexts).format(s=secret))
                truth.write(dumped({"line": line, "kind": kind, "secret": secret}) + b"\n")
            if line % MARKED_EVERY == MARKED_EVERY // 2:
                pieces.append(MARKER)
            dice.shuffle(pieces)
            written += stream.write(_event("\n".join(pieces), line, dice))
    return {"transcript": "leaky.jsonl", "truth": "leaky.truth.jsonl", "planted": wanted}


def _event(text: str, line: int, dice: random.Random) -> bytes:
    ids = {"uuid": str(uuid.UUID(bytes=dice.randbytes(16))), "n": line}
    shapes: list[object] = [
        {**ids, "message": {"role": "user", "content": text}},
        {**ids, "toolUseResult": {"stdout": text, "stderr": "", "interrupted": False}},
        {**ids, "payload": {"type": "output", "output": dumped({"output": text}).decode()}},
        {**ids, "message": {"content": [{"type": "text", "text": text}], "usage": {"input": line}}},
    ]
    value = dice.choice(shapes)
    escaped = dice.random() < 0.5  # noqa: PLR2004 - half of them, as some programs write
    return json.dumps(value, ensure_ascii=escaped).encode() + b"\n"  # noqa: TID251 - the same


def make_leaky_sessions(
    root: Path, count: int, size: int, dice: random.Random
) -> dict[str, str | int]:
    """Write *count* sessions whose logs hold about *size* bytes of such events each."""
    texts = [each.decode() for each in fragments(dice, TEXT_BYTES)]
    for number in range(count):
        logs = root / f"leaky-{number:02d}" / "logs"
        logs.mkdir(parents=True)
        written = seq = 0
        with (logs / "main.jsonl").open("wb") as stream:
            header = {"seq": 0, "n": 0, "t": 1_770_000_000_000, "type": "header"}
            header |= {"format": "rig-session/4", "log": "main", "lineage": 7 + number}
            written += stream.write(dumped(header) + b"\n")
            while written < size:
                seq += 1
                pieces = [dice.choice(texts) for _ in range(EVENT_BYTES // TEXT_BYTES)]
                if dice.random() < EVENT_BYTES * PER_MEGABYTE / 1_000_000:
                    make, contexts = KINDS[dice.choice(list(KINDS))]
                    pieces.append(dice.choice(contexts).format(s=make(dice)))
                if seq % MARKED_EVERY == MARKED_EVERY // 2:
                    pieces.append(MARKER)
                message = {"role": "user", "content": "\n".join(pieces)}
                record = {"seq": seq, "n": seq, "t": 1_770_000_000_000 + seq, "type": "push"}
                record["entries"] = [{"message": message, "id": seq - 1}]
                written += stream.write(dumped(record) + b"\n")
    return {"sessions": count}
