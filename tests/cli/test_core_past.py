"""`core`: history, blame, differences, going back, undo, and changes of two at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem_cli.cli import clock
from tests.cli.running import at, header, join, ok, record, run, tree, turns, write

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import Object
    from tests.cli.running import Done, Value


@pytest.fixture(autouse=True)
def session(root: Path) -> Path:
    """A session without anything in it."""
    ok("new", "one")
    return root / "one"


@pytest.fixture(autouse=True)
def _ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each command happen a second after the one before."""
    seconds = iter(range(1, 10_000))
    monkeypatch.setattr(clock, "now_ms", lambda: at(next(seconds)))


def _set(text: str, block: str = "human", *words: str) -> Done:
    return ok("core", "set", "one", block, text, *words)


def _get(block: str = "human", *words: str) -> str:
    return ok("core", "get", "one", block, *words).out


def _hash(block: str = "human") -> str:
    return ok("core", "get", "one", block, "--hash").out.strip()


def _history(*words: str) -> list[Value]:
    return ok("core", "history", "one", *words, "--json").objects


def _done(*words: str) -> list[tuple[int, str, bool]]:
    return [(each["n"], each["action"], each["stands"]) for each in _history(*words)]


def _blame(block: str = "human") -> list[tuple[str, str, str | None]]:
    lines = ok("core", "blame", "one", block, "--json").objects
    return [(each["text"], each["by"], each["reason"]) for each in lines]


# -- history ---------------------------------------------------------------


def test_history_tells_who_what_why_and_when_newest_first() -> None:
    _set("Ada", "human", "--by", "ann", "--reason", "she said so")
    ok("core", "append", "one", "human", "likes tea")
    ok("core", "label", "one", "human", "who")
    ok("core", "protect", "one", "human")
    ok("core", "unprotect", "one", "human")
    ok("core", "remove", "one", "human", "--by", "bob", "--reason", "gone")

    made = _history()

    assert [each["action"] for each in made] == [
        *("removed", "unprotected", "protected", "labelled", "edited", "set")
    ]
    first, last = made[-1], made[0]
    assert (first["by"], first["reason"], first["after_bytes"]) == ("ann", "she said so", 3)
    assert (last["by"], last["reason"], last["before_bytes"]) == ("bob", "gone", 13)
    assert last["hash"] is None
    assert "she said so" in ok("core", "history", "one").out


def test_history_of_one_block_leaves_the_others_out() -> None:
    _set("a")
    _set("b", "facts")
    ok("core", "config", "one", "--max-bytes", "4096")

    assert [each["type"] for each in _history("facts")] == ["facts"]
    assert [each["type"] for each in _history()] == [None, "facts", "human"]
    assert len(_history("--last", "1")) == 1


def test_a_place_of_the_history_is_right_before_its_change() -> None:
    for text in ("a", "b", "c"):
        _set(text)

    places = [(each["n"], each["behind"]) for each in reversed(_history())]

    assert [_get("human", "--as-of", str(behind)) for _, behind in places] == ["a", "b", "c"]
    assert [_get("human", "--as-of", str(n)) for n, _ in places[1:]] == ["a", "b"]


def test_a_removal_without_a_word_is_null_and_one_with_words_tells_them(session: Path) -> None:
    _set("a")
    ok("core", "remove", "one", "human")
    plain = (session / "logs/session.jsonl").read_bytes().splitlines()
    _set("b")
    ok("core", "remove", "one", "human", "--by", "bob")
    told = (session / "logs/session.jsonl").read_bytes().splitlines()

    assert len(plain) == 3
    assert plain[-1].endswith(b'"key":"core_memory.human","value":null}')
    assert len(told) - len(plain) == 3
    assert told[-1].endswith(b'"key":"core_memory.human","value":null}')
    assert [each["by"] for each in _history()] == ["bob", "user", "user", "user"]


def test_several_blocks_are_one_change_even_in_one_millisecond(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clock, "now_ms", lambda: at(5))
    _set("a")
    _set("b", "facts")
    ok("core", "clear", "one")
    ok("core", "undo", "one")

    assert _get() == "a"
    assert _get("facts") == "b"
    ok("core", "undo", "one")
    assert run("core", "get", "one", "facts").status == 3
    assert _get() == "a"


# -- blame -----------------------------------------------------------------


def test_blame_says_who_wrote_each_line_and_why() -> None:
    _set("one\ntwo\n", "human", "--by", "ann", "--reason", "first")
    ok("core", "append", "one", "human", "three", "--by", "bob")
    ok("core", "replace", "one", "human", "--old", "one", "--new", "ONE", "--by", "eve")
    ok("core", "insert", "one", "human", "top", "--line", "0")

    assert _blame() == [
        ("top\n", "user", None),
        ("ONE\n", "eve", None),
        ("two\n", "ann", "first"),
        ("three", "bob", None),
    ]
    assert "ONE" in ok("core", "blame", "one", "human").out


def test_what_an_undo_or_a_restore_brings_back_is_still_whose_it_was() -> None:
    _set("one\ntwo\n", "human", "--by", "ann")
    n = _history()[0]["behind"]
    _set("other", "human", "--by", "bob")
    ok("core", "undo", "one", "--by", "carl")
    undone = _blame()
    _set("else")
    ok("core", "restore", "one", "human", "--as-of", str(n), "--by", "dora")

    assert undone == _blame() == [("one\n", "ann", None), ("two\n", "ann", None)]


def test_blame_of_an_earlier_place() -> None:
    _set("a", "human", "--by", "ann")
    n = _history()[0]["behind"]
    _set("b", "human", "--by", "bob")

    (line,) = ok("core", "blame", "one", "human", "--as-of", str(n), "--json").objects

    assert (line["text"], line["by"]) == ("a", "ann")


# -- differences -----------------------------------------------------------


def test_a_difference_is_told_block_by_block() -> None:
    _set("a\nb\n")
    _set("f", "facts")
    n = _history()[0]["behind"]
    _set("a\nB", "human", "--label", "who")
    ok("core", "remove", "one", "facts")
    _set("g", "goals")

    done = run("core", "diff", "one", str(n))
    told = run("core", "diff", "one", str(n), "now", "--json").objects

    assert done.status == 1
    assert "-b\n+B\n\\ No newline at end of block\n" in done.out
    assert "label: None -> 'who'\n" in done.out
    assert [(each["type"], each["change"]) for each in told] == [
        ("human", "changed"),
        ("facts", "removed"),
        ("goals", "added"),
    ]
    assert run("core", "diff", "one", "now", "now").status == 0


def test_a_difference_of_the_bound_is_told() -> None:
    ok("core", "config", "one", "--max-bytes", "4096")

    assert run("core", "diff", "one", "start").out == "bound: 32768 -> 4096 bytes\n"


# -- places ----------------------------------------------------------------


def test_a_render_is_what_the_model_saw_at_each_place() -> None:
    seen = []
    for number in range(5):
        _set(f"text {number}", "human" if number % 2 else "facts")
        seen.append(ok("core", "render", "one").stdout)

    places = [each["behind"] for each in reversed(_history())]

    assert [ok("core", "render", "one", "--as-of", str(n)).stdout for n in places] == seen
    assert ok("core", "render", "one", "--as-of", "~1").stdout == seen[-2]
    assert ok("core", "render", "one", "--as-of", "~3").stdout == seen[-4]
    assert ok("core", "render", "one", "--as-of", "start").out == "<core_memory>\n</core_memory>"
    time = _history()[1]["time"]
    assert ok("core", "render", "one", "--as-of", time).stdout == seen[-2]


def test_a_message_is_a_place_of_core_memory_too(root: Path) -> None:
    _set("before")
    ok("append", "one", "--role", "user", stdin=b"hello")
    _set("after")
    ok("append", "one", "--role", "user", stdin=b"again")

    assert _get("human", "--as-of", "m0") == "before"
    assert _get("human", "--as-of", "m1") == "after"
    assert run("core", "get", "one", "human", "--as-of", "m7").status == 3
    assert run("core", "get", "one", "human", "--as-of", "99").status == 3
    assert run("core", "get", "one", "human", "--as-of", "never").status == 2


def test_a_place_that_stands_twice_is_refused(root: Path) -> None:
    values: list[Object] = [{"content": text} for text in "abcd"]
    lines = [
        header("session"),
        *(record(seq, "state", key="core_memory.human", value=values[seq - 1]) for seq in (1, 2)),
        *(
            record(seq, "state", n=seq - 1, key="core_memory.human", value=values[seq - 1])
            for seq in (3, 4)
        ),
    ]
    write(root, "one", "session", join(lines))

    done = run("core", "render", "one", "--as-of", "3")

    assert done.status == 3
    assert "ambiguous" in done.err


# -- undo ------------------------------------------------------------------


def test_ten_undos_go_ten_changes_back() -> None:
    texts = [f"text {number}" for number in range(11)]
    for text in texts:
        _set(text)

    seen = []
    for _ in range(10):
        ok("core", "undo", "one")
        seen.append(_get())

    assert seen == texts[-2::-1]
    ok("core", "undo", "one")
    assert run("core", "get", "one", "human").status == 3
    done = run("core", "undo", "one")
    assert (done.status, "nothing to undo" in done.err) == (3, True)


def test_steps_are_taken_back_together_and_say_from_where(session: Path) -> None:
    _set("a")
    _set("f", "facts")
    second = _history()[0]["n"]
    _set("b")
    size = len((session / "logs/session.jsonl").read_bytes().splitlines())

    told = ok("core", "undo", "one", "--steps", "2", "--json").object

    assert told["undoes"] == second
    assert [each["type"] for each in told["blocks"]] == ["human", "facts"]
    assert _get() == "a"
    assert run("core", "get", "one", "facts").status == 3
    lines = (session / "logs/session.jsonl").read_bytes().splitlines()[size:]
    assert b'"undoes":%d' % second in lines[0]
    assert lines[-1].endswith(b'"value":null}')


def test_an_undo_passes_by_what_is_undone_and_what_came_after_goes_first() -> None:
    for text in ("a", "b", "c"):
        _set(text)
    ok("core", "undo", "one")
    _set("d")
    ok("core", "undo", "one")
    first = _get()
    ok("core", "undo", "one")

    assert (first, _get()) == ("b", "a")
    assert [stands for _, _, stands in _done()] == [
        *(False, False, False, False, False, False, True)
    ]


def test_more_steps_than_there_are_change_nothing(session: Path) -> None:
    _set("a")
    before = tree(session)

    done = run("core", "undo", "one", "--steps", "2")
    none = run("core", "undo", "one", "--steps", "0")

    assert done.status == 3
    assert "1 change of core memory can be undone, not 2" in done.err
    assert none.status == 2
    assert tree(session) == before


def test_an_undo_brings_back_the_block_with_its_identity_and_label() -> None:
    _set("a", "human", "--label", "who")
    first = ok("core", "get", "one", "human", "--json").object
    ok("core", "remove", "one", "human")
    ok("core", "undo", "one", "--by", "bob", "--reason", "back")

    again = ok("core", "get", "one", "human", "--json").object

    kept = ("id", "label", "content", "created", "hash")
    assert [again[name] for name in kept] == [first[name] for name in kept]
    assert (again["by"], again["reason"]) == ("bob", "back")
    assert again["undoes"] is not None


def test_a_bound_is_undone_too() -> None:
    ok("core", "config", "one", "--max-bytes", "4096")
    ok("core", "config", "one", "--max-bytes", "8192")
    ok("core", "undo", "one")
    once = ok("core", "config", "one").out
    ok("core", "undo", "one")

    assert (once, ok("core", "config", "one").out) == ("max_bytes 4096\n", "max_bytes 32768\n")


def test_an_undo_that_another_one_takes_back_lets_the_change_stand_again(root: Path) -> None:
    # As a redo of the whole session writes it: it names the undo that it takes back.
    def block(text: str, **more: int) -> Object:
        return {"content": text, "modified": at(1), "by": "user", **more}

    values = [block("a"), block("b"), block("a", undoes=2), block("b", undoes=3)]
    lines = [
        header("session"),
        *(
            record(seq, "state", key="core_memory.human", value=value)
            for seq, value in enumerate(values, 1)
        ),
    ]
    write(root, "one", "session", join(lines))

    stands = [each["stands"] for each in reversed(_history())]
    ok("core", "undo", "one")

    assert stands == [True, True, False, False]
    assert _get() == "a"


def test_changes_that_together_come_to_nothing_are_undone_too() -> None:
    _set("a")
    _set("b", "facts")
    ok("core", "remove", "one", "facts")
    _set("c")
    _set("a")
    told = ok("core", "undo", "one", "--steps", "2").err
    ok("core", "undo", "one", "--steps", "2")
    left = [each["action"] for each in _history() if each["stands"]]
    ok("core", "undo", "one")

    assert "what was changed from" in told
    assert left == ["set"]
    assert run("core", "get", "one", "human").status == 3
    assert run("core", "undo", "one").status == 3


def test_a_dry_run_of_an_undo_says_what_it_would_be(session: Path) -> None:
    _set("a")
    _set("abc")
    before = tree(session)

    done = ok("core", "undo", "one", "--dry-run")

    assert done.out.startswith("human: 3 -> 1 bytes (-2)\n")
    assert tree(session) == before


def test_a_change_of_another_program_is_undone_where_it_is_no_block_only_by_force(
    root: Path,
) -> None:
    lines = [
        header("session"),
        record(1, "state", key="core_memory.human", value={"content": "a"}),
        record(2, "state", key="core_memory.human", value="b"),
    ]
    write(root, "one", "session", join(lines))

    refused = run("core", "undo", "one")
    ok("core", "undo", "one", "--force")

    assert refused.status == 5
    assert _get() == "a"


# -- restore ---------------------------------------------------------------


def test_a_block_is_restored_from_a_place() -> None:
    _set("a", "human", "--label", "old")
    n = _history()[0]["behind"]
    _set("b")
    _set("f", "facts")
    ok("core", "restore", "one", "human", "--as-of", str(n))

    told = ok("core", "get", "one", "human", "--json").object

    assert (told["content"], told["label"]) == ("a", "old")
    assert _get("facts") == "f"
    assert run("core", "restore", "one", "goals", "--as-of", "now").status == 3
    assert run("core", "restore", "one", "human").status == 2


# -- two at once -----------------------------------------------------------


def test_a_block_that_was_changed_is_a_conflict_that_changes_nothing(session: Path) -> None:
    _set("a")
    seen = _hash()
    _set("b", "human", "--by", "bob")
    before = tree(session)

    for words in (
        ("set", "human", "c"),
        ("append", "human", "c"),
        ("replace", "human", "--old", "b", "--new", "c"),
        ("insert", "human", "c"),
        ("label", "human", "l"),
        ("remove", "human"),
        ("protect", "human"),
        ("edit", "human"),
        ("restore", "human", "--as-of", "2"),
    ):
        done = run("core", words[0], "one", *words[1:], "--if-match", seen)
        assert done.status == 4, words
        assert _hash() in done.err
    assert "by bob" in run("core", "set", "one", "human", "c", "--if-match", seen).err
    assert tree(session) == before


def test_a_block_that_is_as_it_was_seen_is_changed() -> None:
    _set("a")
    ok("core", "set", "one", "human", "b", "--if-match", _hash().upper())

    assert _get() == "b"


def test_a_block_that_is_not_there_is_matched_by_none() -> None:
    ok("core", "set", "one", "human", "a", "--if-match", "none")

    assert run("core", "set", "one", "human", "b", "--if-match", "none").status == 4
    assert run("core", "set", "one", "goals", "b", "--if-match", _hash()).status == 4


def test_a_change_of_all_matches_what_the_model_sees(session: Path) -> None:
    _set("a")
    seen = ok("core", "render", "one", "--digest").out.strip()
    _set("b", "facts")
    before = tree(session)

    for words in (
        ("clear",),
        ("undo",),
        ("config", "--max-bytes", "4096"),
        ("import", "-"),
        ("edit",),
    ):
        given = b'{"blocks":[]}'
        done = run("core", words[0], "one", *words[1:], "--if-match", seen, stdin=given)
        assert done.status == 4, words
    assert tree(session) == before
    ok("core", "clear", "one", "--if-match", ok("core", "render", "one", "--digest").out.strip())


def test_edits_of_different_lines_merge_and_the_same_line_is_told_with_both_sides() -> None:
    _set("one\ntwo\nthree\n")
    seen = _hash()
    ok("core", "replace", "one", "human", "--old", "one", "--new", "ONE", "--by", "bob")

    ok("core", "set", "one", "human", "one\ntwo\nTHREE\n", "--if-match", seen, "--merge")
    merged = _get()
    clash = run("core", "set", "one", "human", "1\ntwo\nthree\n", "--if-match", seen, "--merge")

    assert merged == "ONE\ntwo\nTHREE\n"
    assert clash.status == 4
    assert "<<<<<<< yours\n1\n=======\nONE\n>>>>>>> by" in clash.err
    assert _get() == merged


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("append", "human", "end"), "ONE\ntwo\nend"),
        (("insert", "human", "in", "--line", "1"), "ONE\nin\ntwo\n"),
        (("replace", "human", "--old", "two", "--new", "2"), "ONE\n2\n"),
    ],
)
def test_an_edit_of_what_was_seen_merges(words: tuple[str, ...], expected: str) -> None:
    _set("one\ntwo\n")
    seen = _hash()
    _set("ONE\ntwo\n")

    ok("core", words[0], "one", *words[1:], "--if-match", seen, "--merge")

    assert _get() == expected


def test_a_label_that_only_one_side_changed_is_merged() -> None:
    _set("a\nb\n", "human", "--label", "old")
    seen = _hash()
    ok("core", "label", "one", "human", "new")
    ok("core", "append", "one", "human", "c", "--if-match", seen, "--merge")
    first = ok("core", "get", "one", "human", "--json").object
    clash = run(
        "core", "set", "one", "human", "x", "--label", "mine", "--if-match", seen, "--merge"
    )

    assert (first["content"], first["label"]) == ("a\nb\nc", "new")
    assert clash.status == 4


def test_a_hash_that_never_was_cannot_be_merged() -> None:
    _set("a")

    done = run("core", "set", "one", "human", "b", "--if-match", "0" * 64, "--merge")

    assert done.status == 4
    assert "No version of the block" in done.err


@pytest.mark.parametrize(
    "words", [("--if-match", "abc"), ("--if-match", ""), ("--merge",), ("--by", " ")]
)
def test_words_that_do_not_fit_are_told(words: tuple[str, ...]) -> None:
    assert run("core", "set", "one", "human", "x", *words).status == 2


# -- redaction -------------------------------------------------------------


def test_after_a_redaction_no_past_value_holds_the_secret(
    root: Path, session: Path, tmp_path: Path
) -> None:
    secret = "correct-horse-battery-staple-9"
    literals = tmp_path / "literals"
    literals.write_text(secret + "\n")
    _set(f"the password is {secret}", "human", "--label", "k", "--reason", f"told {secret}")
    _set("forgotten")
    ok("core", "remove", "one", "human", "--reason", f"it was {secret}")

    run(*("redact", "one", "--literals", literals, "--no-rules", "--yes", "--force"))
    ok("core", "undo", "one", "--steps", "2")

    assert secret.encode() not in (session / "logs/session.jsonl").read_bytes()
    assert _get().startswith("the password is ")
    assert secret not in ok("core", "history", "one").out
    assert [each["action"] for each in _history()] == ["set", "removed", "edited", "set"]


def test_a_conversation_is_left_alone(root: Path) -> None:
    path = write(root, "one", "main", join(turns(2)))
    before = path.read_bytes()
    _set("a")
    ok("core", "undo", "one")

    assert path.read_bytes() == before
