"""The rules of CONTRIBUTING.md about who may import what, and how long things may be."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import pytest

PROJECT = Path(__file__).resolve().parent.parent
PACKAGE = PROJECT / "agentmem_cli"
MODULES = sorted(PACKAGE.rglob("*.py"))

LAYERS = ("cli", "operations", "session", "storage")
SHARED = ("errors", "limits")
HOMES = {
    "orjson": "session/codec.py",
    "filelock": "storage/session_lock.py",
    "rich": "cli/render.py",
    "platformdirs": "storage/root.py",
    "kingfisher_sdk": "operations/secrets/loading.py",
    "ahocorasick_rs": "operations/secrets/literals.py",
    "markdown_it": "operations/html_markdown.py",
}
TOUCH_STORAGE = (
    "session/reader.py",
    "session/writer.py",
    "session/live.py",
    "session/rewriter.py",
)
RENAMES = "storage/files.py"
TOOLS = ("dev", "coverage")
MODULE_LINES_MAX = 400
FUNCTION_LINES_MAX = 70


class Import(NamedTuple):
    """One imported module.

    ``typing_only`` where it stands under TYPE_CHECKING, ``late`` where it
    stands in a function.
    """

    module: str
    line: int
    typing_only: bool
    late: bool = False


def imports_of(source: str) -> list[Import]:
    """Find every import of *source*, those inside functions too."""
    found: list[Import] = []
    _collect(ast.parse(source), found, typing_only=False, late=False)
    return found


def _collect(node: ast.AST, found: list[Import], *, typing_only: bool, late: bool) -> None:
    match node:
        case ast.Import():
            names = [alias.name for alias in node.names]
            found += [Import(name, node.lineno, typing_only, late) for name in names]
        case ast.ImportFrom(module=str(module)):
            # "from package import module" names a module by its last word.
            names = [f"{module}.{alias.name}" for alias in node.names]
            found += [Import(name, node.lineno, typing_only, late) for name in names]
        case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=body, orelse=otherwise):
            for statement in body:
                _collect(statement, found, typing_only=True, late=late)
            for statement in otherwise:
                _collect(statement, found, typing_only=typing_only, late=late)
        case _:
            inner = late or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            for child in ast.iter_child_nodes(node):
                _collect(child, found, typing_only=typing_only, late=inner)


def layer_of(name: str) -> str:
    """Name the layer of a module, given as a path below the package."""
    first = name.split("/", maxsplit=1)[0].removesuffix(".py")
    if first in LAYERS or first in SHARED:
        return first
    return "" if first == "__init__" else "cli"


def layer_faults(name: str, source: str) -> list[str]:
    """Name what the module *name* imports against the direction of the layers."""
    own = layer_of(name)
    faults = []
    for each in imports_of(source):
        package, _, rest = each.module.partition(".")
        if package != "agentmem_cli" or rest.startswith("__"):
            continue
        if own == "" and each.typing_only:
            continue  # the public face names everything, and loads nothing
        other = layer_of(rest.replace(".", "/"))
        if other in SHARED and own not in SHARED:
            continue
        backwards = (
            own not in LAYERS or other not in LAYERS or LAYERS.index(other) < LAYERS.index(own)
        )
        if backwards:
            faults.append(f"{name}:{each.line} imports {each.module}")
    return faults


def home_faults(name: str, source: str) -> list[str]:
    """Name the imports of packages whose home is another module."""
    return [
        f"{name}:{each.line} imports {each.module}"
        for each in imports_of(source)
        if HOMES.get(each.module.split(".")[0], name) != name
    ]


def purity_faults(name: str, source: str) -> list[str]:
    """Name the imports of storage in the pure part of the session layer."""
    if layer_of(name) != "session" or name in TOUCH_STORAGE:
        return []
    return [
        f"{name}:{each.line} imports {each.module}"
        for each in imports_of(source)
        if each.module.startswith("agentmem_cli.storage") and not each.typing_only
    ]


def os_uses(source: str, names: frozenset[str]) -> list[int]:
    """Find the lines that use one of *names* of the os module."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(value=ast.Name(id="os"), attr=attribute) if attribute in names:
                lines.append(node.lineno)
            case ast.ImportFrom(module="os") if names & {alias.name for alias in node.names}:
                lines.append(node.lineno)
            case _:
                pass
    return lines


ENVIRONMENT = frozenset({"environ", "environb", "getenv", "getenvb", "putenv", "unsetenv"})
LASTING = frozenset({"rename", "renames", "replace", "fsync", "fdatasync"})


def environment_faults(name: str, source: str) -> list[str]:
    """Name the uses of the environment outside the command line."""
    if layer_of(name) == "cli":
        return []
    return [f"{name}:{line} reads the environment" for line in os_uses(source, ENVIRONMENT)]


def lasting_faults(name: str, source: str) -> list[str]:
    """Name the renames and fsyncs outside their home."""
    if name == RENAMES:
        return []
    return [f"{name}:{line} renames or syncs" for line in os_uses(source, LASTING)]


def length_faults(name: str, source: str) -> list[str]:
    """Name the functions, and the module, that are too long."""
    faults = []
    line_count = len(source.splitlines())
    if line_count > MODULE_LINES_MAX:
        faults.append(f"{name} has {line_count} lines")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            size = (node.end_lineno or node.lineno) - node.lineno + 1
            if size > FUNCTION_LINES_MAX:
                faults.append(f"{name}:{node.lineno} {node.name} has {size} lines")
    return faults


# Newer Pythons have these themselves, so a module that asks for the version first may name them.
LATER_STDLIB = frozenset({"compression"})


def undeclared(
    name: str,
    source: str,
    declared: frozenset[str],
    optional: frozenset[str] = frozenset(),
) -> list[str]:
    """Name the imports that neither Python nor a declared dependency has.

    What only an extra brings (*optional*) counts inside a function alone: a
    module that cannot be loaded without it would need it always.
    """
    known = declared | sys.stdlib_module_names | {"agentmem_cli"}
    late = known | optional | LATER_STDLIB
    return [
        f"{name}:{each.line} imports {each.module}"
        for each in imports_of(source)
        if each.module.split(".")[0] not in (late if each.late else known) and not each.typing_only
    ]


# What these distributions are imported as.
IMPORTED_AS = {
    "kingfisher-secret-scanner": "kingfisher_sdk",
    "markdown-it-py": "markdown_it",
}


def _packages(lines: list[str]) -> frozenset[str]:
    """Read the importable names of requirements; ``backports.zstd`` is one of ``backports``."""
    names = [re.split(r"[<>=!~\[; .]", line)[0] for line in lines]
    return frozenset(IMPORTED_AS.get(name, name.replace("-", "_")) for name in names)


def _project() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))[
        "project"
    ]
    return project


def declared_dependencies() -> frozenset[str]:
    """Read the names of the run-time dependencies out of pyproject.toml."""
    return _packages(_project()["dependencies"])


def optional_dependencies() -> frozenset[str]:
    """Read the names that extras for users bring out of pyproject.toml."""
    extras: dict[str, list[str]] = _project()["optional-dependencies"]
    lines = [line for name, extra in extras.items() if name not in TOOLS for line in extra]
    return _packages(lines)


def _named(path: Path) -> tuple[str, str]:
    return path.relative_to(PACKAGE).as_posix(), path.read_text("utf-8")


@pytest.mark.parametrize(
    "rule",
    [
        layer_faults,
        home_faults,
        purity_faults,
        environment_faults,
        lasting_faults,
        length_faults,
    ],
)
def test_every_module_keeps_the_rule(rule: object) -> None:
    assert callable(rule)

    faults = [fault for path in MODULES for fault in rule(*_named(path))]

    assert faults == [], "\n".join(faults)


def test_every_module_imports_declared_dependencies_only() -> None:
    declared, optional = declared_dependencies(), optional_dependencies()

    faults = [fault for path in MODULES for fault in undeclared(*_named(path), declared, optional)]

    assert faults == [], "\n".join(faults)
    assert declared >= set(HOMES)


def test_the_shared_modules_import_nothing_of_ours() -> None:
    found = [
        each.module
        for name in SHARED
        for each in imports_of((PACKAGE / f"{name}.py").read_text("utf-8"))
        if each.module.startswith("agentmem_cli")
    ]

    assert found == []


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("storage/a.py", "from agentmem_cli.session import record"),
        ("storage/a.py", "def f():\n    import agentmem_cli.cli.text"),
        ("session/a.py", "from agentmem_cli import operations"),
        ("operations/imports/a.py", "from agentmem_cli.cli.output import Output"),
        ("operations/a.py", "from agentmem_cli._entry import main"),
        ("errors.py", "import agentmem_cli.limits"),
        ("limits.py", "from agentmem_cli.storage import names"),
        ("__init__.py", "from agentmem_cli.session import session"),
        (
            "session/a.py",
            "if TYPE_CHECKING:\n    pass\nelse:\n    import agentmem_cli.operations.b",
        ),
    ],
)
def test_an_import_against_the_direction_is_found(name: str, source: str) -> None:
    faults = layer_faults(name, source)

    assert len(faults) == 1


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("cli/a.py", "from agentmem_cli.storage.root import default_root"),
        ("_entry.py", "from agentmem_cli.cli import app\nfrom agentmem_cli import __version__"),
        ("operations/a.py", "from agentmem_cli.operations import b\nimport agentmem_cli.errors"),
        ("storage/a.py", "from agentmem_cli import limits"),
        ("__init__.py", "if TYPE_CHECKING:\n    from agentmem_cli.session import session"),
    ],
)
def test_an_import_with_the_direction_is_no_fault(name: str, source: str) -> None:
    faults = layer_faults(name, source)

    assert faults == []


def test_a_package_outside_its_home_is_found() -> None:
    source = "def f():\n    from rich.table import Table"

    away = home_faults("cli/look.py", source)
    home = home_faults("cli/render.py", source)

    assert away == ["cli/look.py:2 imports rich.table.Table"]
    assert home == []


def test_storage_in_the_pure_part_of_session_is_found_but_not_for_types() -> None:
    plain = "from agentmem_cli.storage import store"
    typing = f"if TYPE_CHECKING:\n    {plain}"

    pure, types, reader = (
        purity_faults("session/record.py", plain),
        purity_faults("session/record.py", typing),
        purity_faults("session/reader.py", plain),
    )

    assert len(pure) == 1
    assert types == []
    assert reader == []


@pytest.mark.parametrize("source", ["os.environ['A']", "os.getenv('A')", "from os import environ"])
def test_the_environment_below_the_command_line_is_found(source: str) -> None:
    below = environment_faults("storage/root.py", source)
    above = environment_faults("cli/settings.py", source)

    assert len(below) == 1
    assert above == []


@pytest.mark.parametrize("source", ["os.replace(a, b)", "os.fsync(d)", "from os import rename"])
def test_a_rename_outside_its_home_is_found(source: str) -> None:
    away = lasting_faults("storage/redo.py", source)
    home = lasting_faults(RENAMES, source)

    assert len(away) == 1
    assert home == []


def test_a_long_function_and_a_long_module_are_found() -> None:
    function = "def f():\n" + "    pass\n" * FUNCTION_LINES_MAX
    module = "a = 1\n" * (MODULE_LINES_MAX + 1)

    long_function = length_faults("cli/a.py", function)
    long_module = length_faults("cli/a.py", module)

    assert long_function == ["cli/a.py:1 f has 71 lines"]
    assert long_module == ["cli/a.py has 401 lines"]


def test_an_undeclared_dependency_is_found() -> None:
    faults = undeclared("cli/a.py", "import os\nimport rich\nimport requests", frozenset({"rich"}))

    assert faults == ["cli/a.py:3 imports requests"]


@pytest.mark.parametrize("source", ["import extra.zstd", "if a:\n    from extra import zstd"])
def test_a_package_of_an_extra_counts_inside_a_function_only(source: str) -> None:
    declared, optional = frozenset[str](), frozenset({"extra"})
    inside = "def f():\n    " + source.replace("\n", "\n    ")

    assert undeclared("cli/a.py", inside, declared, optional) == []
    assert len(undeclared("cli/a.py", source, declared, optional)) == 1
    assert len(undeclared("cli/a.py", inside, declared)) == 1


def test_the_tools_of_developers_are_no_extras_of_users() -> None:
    optional = optional_dependencies()

    assert "backports" in optional
    assert not optional & {"pytest", "ruff", "mypy", "coverage"}
