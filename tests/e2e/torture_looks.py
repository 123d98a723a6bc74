"""Looking at the sessions of the fault harness: what the commands say of a state as it lies.

None of them changes anything, whatever a stopped command left.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from tests.cli.running import tree
from tests.e2e.torture_states import SECRET

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.torture_rows import Row
    from tests.e2e.torture_server import Ended, Server

View = dict[str, str]
"""What commands print, by the command."""

LOOKED_AT = ("show", "grep")
"""What such a command says is of the old state or of the new."""

_PASSING = re.compile(r'("(?:n|made|lineage|records)": )(?:\d+|"[^"]*")')
_DRAWN = re.compile(r"(?<=[:\"-])[0-9a-f]{4,64}(?=[]\"-])")


def view_of(server: Server, root: Path) -> View:
    """What `show` says of each session, and `grep` of all; which there are, `list` says."""
    listed = [value["id"] for value in _objects(server.run(root, "list", "--json"))]
    shown = {
        f"show {name}": _said(server.run(root, "show", name, "--json")) for name in sorted(listed)
    }
    grep = server.run(root, "grep", "--all", ".", "--json")
    found = {f"grep {name}": "" for name in listed}
    for value in _objects(grep):
        found[f"grep {value['session']}"] += _plain(value) + "\n"
    return shown | {f"{name}": "\n".join(sorted(said.split("\n"))) for name, said in found.items()}


def looked(server: Server, root: Path, row: Row, old: View, new: View) -> list[str]:
    """Look at the sessions in *root*, in which *row* was cut short; return what is wrong."""
    before = tree(root)
    found = view_of(server, root)
    wrong = _mixed(found, row, old, new)
    for words in (("stats", "--json"), ("verify", "--json"), ("list", "--tree")):
        done = server.run(root, *words)
        if done.status not in {0, 1, 2, 3, 5} or "internal error" in done.err:
            wrong.append(f"{words[0]} ends with {done.status}: {done.err.strip()[:300]}")
    wrong += _scanned(server, root, masked=row.masks)
    after = tree(root)
    if after != before:
        names = sorted({*before, *after})
        changed = [name for name in names if before.get(name) != after.get(name)]
        wrong.append(f"looking changed {changed}")
    return wrong


def _scanned(server: Server, root: Path, *, masked: bool) -> list[str]:
    """Whether `scan` finds the secret where a file holds it, and else nothing."""
    secret = SECRET.encode()
    files = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    holding = [str(path.relative_to(root)) for path in files if secret in path.read_bytes()]
    done = server.run(root, "scan", "--all", "--no-rules", "--literals", "-", stdin=secret)
    if holding and done.status != 1:
        return [f"scan ends with {done.status}, and {holding} hold the secret: {done.err[:300]}"]
    if masked and not holding and done.status != 0:
        return [f"scan ends with {done.status}, and nothing holds the secret: {done.err[:300]}"]
    return []


def _mixed(found: View, row: Row, old: View, new: View) -> list[str]:
    """What is neither of the old state nor of the new."""
    if found in (old, new):
        return []
    if row.by_session:
        names = {name.partition(" ")[2] for name in (*found, *old, *new)}
        parts = [{name: _of(view, name) for name in names} for view in (found, old, new)]
    elif row.in_steps:
        parts = [{name: {name: said} for name, said in view.items()} for view in (found, old, new)]
    else:
        return [f"shown is neither the old nor the new: {_told(found, old)} | {_told(found, new)}"]
    mine, olds, news = parts
    return [
        f"shown of {name} is neither the old nor the new"
        for name in mine
        if mine[name] not in (olds.get(name), news.get(name))
    ]


def _of(view: View, session: str) -> View:
    return {name: said for name, said in view.items() if name.partition(" ")[2] == session}


def _told(found: View, wanted: View) -> str:
    names = sorted({*found, *wanted})
    return ", ".join(name for name in names if found.get(name) != wanted.get(name))


def left_unsaid(server: Server, root: Path, done: Ended) -> list[str]:
    """What `verify` calls a problem after a `repair` that did not tell it as left."""
    told = {
        (value["session"], left["kind"], left["where"])
        for value in _objects(done)
        if value["schema"] == "agentmem.repair/1"
        for left in value["left"]
    }
    found = {
        (value["session"], each["kind"], each["where"])
        for value in _objects(server.run(root, "verify", "--json"))
        if value["schema"] == "agentmem.verify/1"
        for each in value["findings"]
        if each["level"] == "problem"
    }
    unsaid = found - told
    return [f"after the repair verify finds {sorted(unsaid)}"] if unsaid else []


def _said(done: Ended) -> str:
    lines = "\n".join(_plain(value) for value in _objects(done))
    return f"{done.status}\n{lines}"


def _objects(done: Ended) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.out.splitlines()]


def _plain(value: dict[str, Any]) -> str:
    """An object without what chance and clock put in, and without a torn tail's name."""
    value.pop("damaged", None)
    text = json.dumps(value, sort_keys=True)  # noqa: TID251 - no record
    return _DRAWN.sub("0", _PASSING.sub(r"\1 0", text))
