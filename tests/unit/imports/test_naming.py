from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem_cli.operations.imports.naming import safe_name, safe_path, session_name
from agentmem_cli.storage.names import check_log_name, check_name

HOSTILE = [
    "../../x",
    "/tmp/victim",
    "a/../../b",
    "..",
    ".",
    "",
    " ",
    "C:\\x",
    "a\0b",
    "a\nb",
    "NUL",
    "con.txt",
    "a:b",
    "x.",
    "é" * 300,
    "a" * 500,
    "\ud83d",
    ".hidden",
    "x.rig-part",
    "x.RIG-TRASH",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_becomes_one_plain_part_that_every_store_takes(name: str) -> None:
    safe = safe_name(name)

    check_log_name(safe)
    assert safe.isascii()
    assert not set(safe) & set('/\\:<>"|?* ')
    assert not safe.startswith(".")
    assert safe.split(".")[0].casefold() not in {"nul", "con"}


def test_hostile_names_stay_apart() -> None:
    safe = {safe_name(name).casefold() for name in HOSTILE}

    assert len(safe) == len(HOSTILE)


@pytest.mark.parametrize("name", ["a", "5a0c6f0e-0000-4000-8000-000000000001", "2026_x.jsonl"])
def test_a_plain_name_stays_as_it_is(name: str) -> None:
    safe = safe_name(name)

    assert safe == name


@given(st.text(max_size=300))
def test_any_name_is_mapped_the_same_way_each_time_and_is_taken(name: str) -> None:
    safe = safe_name(name)

    check_log_name(safe)
    assert safe_name(name) == safe
    assert safe_name(safe) == safe


@given(st.text(alphabet="ab./\\ ", max_size=20))
def test_a_path_is_mapped_into_the_folder(path: str) -> None:
    safe = safe_path(path)

    check_name(safe)
    assert ".." not in safe.split("/")


def test_a_path_of_plain_parts_keeps_its_folders() -> None:
    safe = safe_path("sub/agents/./a.jsonl")

    assert safe == "sub/agents/a.jsonl"


def test_a_session_is_named_by_kind_and_id() -> None:
    name = session_name("pi", "abc-1")

    assert name == "pi-abc-1"
