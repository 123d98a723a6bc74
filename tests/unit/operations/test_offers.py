from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem_cli.cli.text import one_line
from agentmem_cli.errors import NotFoundError
from agentmem_cli.operations import catalog, offers
from agentmem_cli.operations.offers import Offer
from agentmem_cli.storage import survey
from tests.cli.running import header, join, message, pushed, record, write

if TYPE_CHECKING:
    from pathlib import Path


def words(found: list[Offer]) -> list[str]:
    return [offer.word for offer in found]


def sessions(root: Path, begun: str, *, titled: bool = False) -> list[Offer]:
    return offers.sessions(str(root), begun, shown=one_line, titled=titled)


def test_the_sessions_that_begin_so_are_offered(root: Path) -> None:
    for name in ("pi-2", "pi-1", "other", ".hidden", "pi-3.rig-trash"):
        (root / name).mkdir(parents=True)
    (root / "pi-file").touch()

    assert words(sessions(root, "pi")) == ["pi-1", "pi-2"]
    assert words(sessions(root, "")) == ["@last", "other", "pi-1", "pi-2"]
    assert words(sessions(root, "@")) == ["@last"] == [catalog.LAST]


def test_a_name_that_would_drive_a_terminal_is_offered_as_a_screen_shows_it(root: Path) -> None:
    (root / "a\nb\x1b").mkdir(parents=True)

    offered = words(sessions(root, "a"))

    assert offered == ["a␊b␛"]
    assert words(sessions(root, "a␊")) == offered


def test_a_name_that_looks_like_an_option_waits_for_its_dash(root: Path) -> None:
    (root / "-x").mkdir(parents=True)

    assert words(sessions(root, "")) == ["@last"]
    assert words(sessions(root, "-")) == ["-x"]


def test_not_too_many_are_offered(root: Path) -> None:
    for number in range(250):
        (root / f"s{number}").mkdir(parents=True)

    assert len(sessions(root, "s")) == offers.OFFERED_MAX


def test_titles_are_read_where_few_match_and_of_no_other(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(60):
        (root / f"s{number:02}" / "files").mkdir(parents=True)
        (root / f"s{number:02}" / "files" / "meta.json").write_text('{"title":"T\\nt"}')
    looked: list[str] = []
    glance = survey.glance

    def watched(path: str) -> survey.Survey:
        looked.append(path)
        return glance(path)

    monkeypatch.setattr(survey, "glance", watched)

    many = sessions(root, "s", titled=True)
    few = sessions(root, "s01", titled=True)

    assert {offer.about for offer in many} == {""}
    assert few == [Offer("s01", "T␊t")]
    assert looked == [f"{root}/s01"]


def test_a_meta_that_cannot_be_read_is_no_title(root: Path) -> None:
    (root / "s" / "files").mkdir(parents=True)
    (root / "s" / "files" / "meta.json").write_text("{")

    assert sessions(root, "s", titled=True) == [Offer("s", "")]


def test_agents_of_a_session_are_offered(root: Path) -> None:
    for log in ("main", "helper", "session"):
        write(root, "one", log, join([header(log)]))

    offered = offers.agents(str(root), "on", "", shown=one_line)

    assert words(offered) == ["helper", "main"]
    assert words(offers.agents(str(root), "@last", "h", shown=one_line)) == ["helper"]


def test_places_are_words_the_last_messages_and_records_back(root: Path) -> None:
    lines = [header(), *(pushed(n, message("user", f"text {n}")) for n in range(1, 15))]
    write(root, "one", "main", join(lines))

    def places(begun: str) -> list[Offer]:
        return offers.places(str(root), "one", "", begun, shown=one_line)

    assert words(places(""))[:3] == ["start", "now", "before-compaction"]
    assert words(places("b")) == ["before-compaction"]
    assert len(words(places("m"))) == offers.MESSAGES_MAX
    assert places("m")[0].about.startswith("user: text ")
    assert words(places("~")) == [f"~{back}" for back in range(1, offers.BACK_MAX + 1)]


def test_messages_are_offered_by_number_and_no_places(root: Path) -> None:
    lines = [header(), *(pushed(n, message("user", f"text {n}")) for n in range(1, 5))]
    write(root, "one", "main", join(lines))

    def numbers(begun: str, session: str = "one") -> list[str]:
        return words(offers.messages(str(root), session, "", begun, shown=one_line))

    assert numbers("") == ["m3", "m2", "m1", "m0"]
    assert numbers("m2") == ["m2"]
    assert numbers("n") == numbers("", session="") == []


def test_keys_of_saved_values_are_offered_the_newest_first(root: Path) -> None:
    states = [record(n, "state", key=key, value=n) for n, key in enumerate(("a", "b::c", "a"), 1)]
    write(root, "one", "main", join([header(), *states]))
    write(root, "one", "session", join([header("session", n=9), states[1]]))

    assert words(offers.keys(str(root), "one", "", "")) == ["a", "b::c"]
    assert words(offers.keys(str(root), "one", "", "b")) == ["b::c"]
    assert words(offers.keys(str(root), "one", "session", "")) == ["b::c"]
    assert offers.keys(str(root), "", "", "") == []


def test_places_of_a_long_log_come_from_its_end(root: Path) -> None:
    long = [pushed(n, message("user", "x" * 3_000)) for n in range(1, 60)]
    write(root, "one", "main", join([header(), *long]))

    offered = offers.places(str(root), "one", "main", "m", shown=one_line)

    assert len(offered) == offers.MESSAGES_MAX


def test_the_last_session_is_not_looked_for_among_very_many(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, "one", "main", join([header()]))
    monkeypatch.setattr(offers, "LAST_AMONG_MAX", 0)

    with pytest.raises(NotFoundError):
        offers.agents(str(root), "@last", "", shown=one_line)
