"""docs/json.md against what the commands print: the same fields, of the types it says."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from agentmem_cli.session.codec import dumps
from tests.cli.running import header, join, message, ok, pushed, record, run, turns, write
from tests.unit.imports import building

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON, Object
    from tests.cli.running import Value

DOCS = Path(__file__).resolve().parents[2] / "docs" / "json.md"

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z|@-?\d+")
_PLAIN: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "boolean": bool,
    "object": dict,
    "any": object,
}


def _tables() -> dict[str, dict[str, str]]:
    """The fields of each heading of the page, and their types."""
    tables: dict[str, dict[str, str]] = {}
    name = ""
    for line in DOCS.read_text().splitlines():
        if line.startswith("#"):
            name = line.lstrip("# ")
        elif found := re.match(r"\| `(\w+)` \| ([^|]+) \|", line):
            tables.setdefault(name, {})[found[1]] = found[2]
    return tables


TABLES = _tables()
SCHEMAS = sorted(name for name in TABLES if name.startswith("agentmem."))


def faults(value: Any, type_: str, where: str) -> list[str]:  # noqa: ANN401 - any JSON
    """Name everything in *value* that is not as *type_* of the page says."""
    if type_.endswith(" or null"):
        return [] if value is None else faults(value, type_.removesuffix(" or null"), where)
    kind, _, inner = type_.partition(" of ")
    if inner:
        if not isinstance(value, list if kind == "array" else dict):
            return [f"{where}: no {kind}"]
        parts = value.values() if isinstance(value, dict) else value
        return [fault for each in parts for fault in faults(each, inner, f"{where}[]")]
    if type_ in TABLES:
        return _object_faults(value, TABLES[type_], where)
    return [] if _fits(value, type_) else [f"{where}: no {type_}: {value!r}"]


def _fits(value: Any, type_: str) -> bool:  # noqa: ANN401 - any JSON
    if type_ == "time":
        return isinstance(value, str) and _TIME.fullmatch(value) is not None
    is_flag = isinstance(value, bool)
    return isinstance(value, _PLAIN[type_]) and not (is_flag and type_ == "integer")


def _object_faults(value: Value, fields: dict[str, str], where: str) -> list[str]:
    needed = {name for name, type_ in fields.items() if not type_.endswith(" or absent")}
    found = [f"{where}.{name} is missing" for name in sorted(needed - set(value))]
    found += [f"{where}.{name} is not documented" for name in sorted(set(value) - set(fields))]
    for name in fields.keys() & value.keys():
        type_ = fields[name].removesuffix(" or absent")
        found += faults(value[name], type_, f"{where}.{name}")
    return found


def _printed(root: Path, tmp_path: Path) -> list[Value]:
    """What every command prints about sessions in which there is everything."""
    aside: Object = {"kind": "note", "author": {"kind": "rig"}, "after": 0}
    call: Object = {"type": "toolcall", "id": "c1", "function": {"name": "ls", "arguments": {}}}
    lines = [
        *turns(2),
        record(3, "aside", id=0, aside=aside),
        record(4, "state", key="core_memory.human", value={"k": [1]}),
        record(5, "state", key="rig::model", value="acme/large"),
        record(6, "halt", halt="kept", by={"kind": "rig"}),
        pushed(7, {**message("assistant", "x"), "content": [call], "errorMessage": "no"}, id_=2),
    ]
    write(root, "one", "main", join([*lines, b"junk"]) + b"torn")
    write(root, "one", "aide", join([header("aide", n=20, parent="main")]))
    source = building.put(
        tmp_path / "src" / "a.jsonl",
        building.lines(
            building.header(), building.user(1, "one"), b"{}", building.user(2, "?")[:40]
        ),
    )
    bad = building.put(tmp_path / "src" / "b.jsonl", b"")
    commands: list[tuple[str | Path, ...]] = [
        ("new", "two"),
        ("list",),
        ("show", "one", "--asides"),
        ("as-of", "one", "now"),
        ("log", "one", "--all"),
        ("verify", "one"),
        ("import", source, bad),
        ("append", "two", "--role", "user"),
        ("list", "--tree"),
        ("export", f"pi-{building.SESSION_ID}", "--as", "original", "-o", tmp_path / "o.jsonl"),
        ("export", "one", "--as", "messages", "-o", tmp_path / "m.json"),
        ("export", "one", "--as", "jsonl", "-o", tmp_path / "m.jsonl"),
        ("export", "one", "--as", "tar", "-o", tmp_path / "m.tar"),
        ("import", tmp_path / "m.tar", "--again"),
        *_finding(root, tmp_path),
        *_replacing(root, tmp_path),
        *_core(tmp_path),
        *_compacting(tmp_path),
    ]
    printed = [value for words in commands for value in run(*words, "--json", stdin=b"x").objects]
    return printed + _followed(root)


def _followed(root: Path) -> list[Value]:
    """What is printed of a session that is followed."""
    logs = write(root, "grows", "main", join([header(), pushed(1, message("user", "x"))])).parent
    aside: Object = {"kind": "note", "author": {"kind": "rig"}, "after": 0}
    splice: Object = {"from": 0, "to": 1, "removed": [0], "with": []}
    taken = record(3, "splice", **splice)  # type: ignore[arg-type]
    more = [record(2, "aside", id=0, aside=aside), taken, b"junk"]

    def wait(_: float) -> None:
        if (logs / "aide.jsonl").exists():
            raise KeyboardInterrupt
        with (logs / "main.jsonl").open("ab") as log:
            log.write(join([*more, record(4, "retired")]))
        write(root, "grows", "aide", join([header("aide", n=20)]))

    with patch("agentmem_cli.cli.followed.time.sleep", wait):
        return run("show", "grows", "--follow", "--all", "--asides", "--json").objects


def _compacting(tmp_path: Path) -> list[tuple[str | Path, ...]]:
    """Commands that make a conversation smaller or take changes back."""
    asked: JSON = [
        {"role": "user", "content": "a request"},
        {
            "role": "assistant",
            "content": [
                {"type": "toolcall", "id": "c", "function": {"name": "read", "arguments": {}}}
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "toolresult",
                    "call": "c",
                    "name": "read",
                    "content": [{"type": "text", "text": "much " * 900}],
                }
            ],
        },
        {"role": "assistant", "content": "a long reply " * 200},
        {"role": "user", "content": "thanks"},
    ]
    assert isinstance(asked, list)
    talk = building.put(tmp_path / "talk", b"".join(dumps(each) + b"\n" for each in asked))
    return [
        ("append", "two", talk),
        ("clear", "two", "--keep", "0"),
        ("compact", "two", "--plan"),
        ("compact", "two", "--dry-run"),
        ("compact", "two"),
        ("compact", "two"),
        ("compact", "two", "--plan"),
        ("diff", "two", "start"),
        ("diff", "two", "before-compaction"),
        ("diff", "one", "start"),
        ("undo", "two", "--steps", "3"),
        ("redo", "two", "--steps", "2"),
        ("core", "set", "two", "human", "x"),
        ("undo", "two"),
        ("splice", "two", ":", "--with", talk),
        ("restore", "two", "start", "--dry-run"),
    ]


def _core(tmp_path: Path) -> list[tuple[str | Path, ...]]:
    """Every verb of core memory."""
    verbs: list[tuple[str | Path, ...]] = [
        ("set", "human", "a </block>", "--label", "l", "--reason", "r", "--description", "d"),
        ("set", "human", "x" * 20_000, "--dry-run"),
        ("append", "facts", "b"),
        ("protect", "facts"),
        ("list",),
        ("show",),
        ("get", "human"),
        ("render",),
        ("lint",),
        ("config",),
        ("config", "--max-bytes", "5000"),
        ("history",),
        ("blame", "human"),
        ("diff", "start"),
        ("unprotect", "facts"),
        ("export",),
        ("export", "-o", tmp_path / "core.json"),
        ("import", tmp_path / "core.json"),
        ("remove", "facts", "--by", "bob"),
        ("undo",),
        ("list",),
        ("history",),
    ]
    return [("core", verb, "two", *words) for verb, *words in verbs]


def _finding(root: Path, tmp_path: Path) -> list[tuple[str | Path, ...]]:
    """Commands that find, count and fork, on a session that has something for each."""
    part: Object = {"type": "image", "data": {"type": "url", "value": "blob:00.png"}}
    lines = [header(), pushed(1, {"role": "user", "content": [part]}), *turns(2)[2:]]
    blob = write(root, "four", "main", join(lines)).parents[1] / "files" / "blobs" / "00.png"
    blob.parent.mkdir(parents=True)
    blob.write_bytes(b"x")
    return [
        ("grep", "text", "-C1"),
        ("grep", "-c", "text"),
        ("grep", "-l", "text"),
        ("stats",),
        ("blobs", "four"),
        ("blobs", "four", "--all", "-o", tmp_path / "blobs"),
        ("value", "set", "four", "k", "[1]"),
        ("value", "list", "four"),
        ("value", "unset", "four", "k"),
        ("meta", "label", "four", "k=v"),
        ("fork", "four", "--at", "3"),
        ("schema", "fork"),
        ("completion", "bash"),
    ]


def _replacing(root: Path, tmp_path: Path) -> list[tuple[str | Path, ...]]:
    """Commands that replace the past, on a session and files that have something for each."""
    native: Object = {**message("assistant", "x"), "id": "id-Rosebud-77"}
    lines = [header(), pushed(1, native), pushed(2, message("user", "/old/x Rosebud-77"), id_=1)]
    write(root, "six", "main", join(lines))
    write(root, "six", "aide", join([header("aide", n=5, parent="main")]))
    write(root, "broken", "main", join([header(), b"junk", pushed(2, message("user", "/old"))]))
    building.put(tmp_path / "t" / "a.jsonl", b'"/old/x Rosebud-77"\n')
    building.put(tmp_path / "t" / "b.jsonl.gz", b"\x1f\x8b\x08\0Rosebud-77\0")
    values = building.put(tmp_path / "values", b"Rosebud-77\n")
    pairs = building.put(tmp_path / "pairs", b"/new ==> /newest\n")
    look: list[str | Path] = ["--no-rules", "--literals", values]
    yes = ("--yes", "--force")
    write(root, "cracked", "main", join([header(), b"junk", pushed(2, message("user", "x"))]))
    write(root, "waste", "main", join([header(), pushed(1, message("user", "x"))]))
    for name in (f"files/blobs/{'0' * 64}.png", f"files/blobs/{'1' * 64}.png"):
        put = building.put(root / "waste" / name, b"x")
        os.utime(put, (1, 1) if "0" in name else None)
    return [
        ("repair", "cracked", "--force"),
        ("gc", "waste", "--dry-run", "--force"),
        ("rm", "waste", "--yes", "--force"),
        ("prune", "--title", "nothing fits", "--dry-run"),
        ("remap", "/old=/new", "six", "broken", "--everywhere", *yes),
        ("rewrite", "--replace-file", pairs, "six", *yes),
        ("rewrite", "--replace-file", pairs, "--files", tmp_path / "t", *yes),
        ("scan", "six", *look),
        ("scan", "--files", tmp_path / "t", *look),
        ("redact", "six", *look, *yes),
        ("redact", "--files", tmp_path / "t", *look, *yes),
        ("rename", "six", "--agent", "aide=helper", "--force"),
        ("rename", "six", "seven"),
    ]


def test_every_schema_is_printed_with_the_fields_and_types_of_the_page(
    root: Path, tmp_path: Path
) -> None:
    printed = _printed(root, tmp_path)
    found = [
        fault
        for value in printed
        for fault in faults(_bare(value), value["schema"], value["schema"])
    ]

    assert {value["schema"] for value in printed} == set(SCHEMAS)
    assert found == []


def _bare(value: Value) -> Value:
    return {name: each for name, each in value.items() if name != "schema"}


def test_the_schema_is_the_first_key(root: Path) -> None:
    ok("new", "one")

    assert ok("list", "--json").stdout.startswith(b'{"schema":"agentmem.session/1",')


def test_errors_are_as_documented(root: Path) -> None:
    for name in ("aa", "ab"):
        ok("new", name)
    errors = [
        run(*words, "--json").error for words in (("show", "a"), ("show", "x"), ("list", "x"))
    ]

    found = [fault for error in errors for fault in faults(error, "error", "error")]

    assert found == []
    assert [error["exit_code"] for error in errors] == [3, 3, 2]
    assert "candidates" in errors[0]


def test_the_check_itself_finds_what_is_wrong() -> None:
    value = {"id": 1, "name": "x", "more": None}

    assert sorted(faults(value, "agentmem.new/1", "new")) == [
        "new.id: no string: 1",
        "new.more is not documented",
        "new.path is missing",
    ]
    assert faults("soon", "time", "t")
    assert faults(True, "integer", "i")
    assert faults([1, "x"], "array of integer", "a")
    assert faults({"k": 1}, "map of string", "m")
