"""Write the tables of docs/json.md from the schemas, or the schemas from the page.

    python -m scripts.schemas              the schemas are right: write the tables
    python -m scripts.schemas --from-docs  the page is right: write the schemas

The schemas are agentmem_cli/cli/schemas.json. The second way is for joining
two branches that both changed the page.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
DOCS = PROJECT / "docs" / "json.md"
SCHEMAS = PROJECT / "agentmem_cli" / "cli" / "schemas.json"

ROW = re.compile(r"\| `([\w$]+)` \| ([^|]+) \| (.*) \|")
HEAD = ["| field | type | meaning |", "| --- | --- | --- |"]

Told = dict[str, dict[str, object]]


def read_docs(text: str) -> Told:
    """Return each heading that has a table: what is said above it, and its fields."""
    found: Told = {}
    name = ""
    above: list[str] = []
    fields: dict[str, object] = {}
    for line in [*text.splitlines(), "# end"]:
        if line.startswith("#"):
            if fields:
                found[name] = {"about": " ".join(above), "fields": fields}
            name, above, fields = line.lstrip("# "), [], {}
        elif row := ROW.fullmatch(line):
            fields[row[1]] = [row[2], row[3]]
        elif line.strip() and not line.startswith("|") and not fields:
            above.append(line.strip())
    return found


def write_docs(text: str, schemas: Told) -> str:
    """Return the page with the tables that *schemas* tell; headings and words stay."""
    lines: list[str] = []
    name = ""
    for line in text.splitlines():
        if line.startswith("#"):
            name = line.lstrip("# ")
        if not line.startswith("|"):
            lines.append(line)
        elif line == HEAD[0] and name in schemas:
            fields = schemas[name]["fields"]
            assert isinstance(fields, dict)
            rows = [f"| `{field}` | {kind} | {told} |" for field, (kind, told) in fields.items()]
            lines += [*HEAD, *rows]
        elif name not in schemas:
            lines.append(line)
    return "\n".join(lines) + "\n"


def main() -> None:
    text = DOCS.read_text(encoding="utf-8")
    if sys.argv[1:] == ["--from-docs"]:
        told = json.dumps(read_docs(text), indent=1, ensure_ascii=False)  # noqa: TID251
        SCHEMAS.write_text(told + "\n", encoding="utf-8")
        print(f"wrote {SCHEMAS.relative_to(PROJECT)}")
        return
    schemas = json.loads(SCHEMAS.read_bytes())
    missing = sorted(set(schemas) - set(read_docs(text)))
    if missing:
        raise SystemExit(f"{DOCS.name} has no heading with a table for: {', '.join(missing)}")
    DOCS.write_text(write_docs(text, schemas), encoding="utf-8")
    print(f"wrote the tables of {DOCS.relative_to(PROJECT)}")


if __name__ == "__main__":
    main()
