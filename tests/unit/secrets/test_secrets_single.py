"""Files outside any session: every kind of bad input that a transcript can be."""

from __future__ import annotations

import base64
import io
import json
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

import pytest
from hypothesis import given as hypothesis_given
from hypothesis import settings
from hypothesis import strategies as st

from agentmem_cli.operations.secrets.given import read_env, read_literals, read_patterns
from agentmem_cli.operations.secrets.masks import MASK, Masks
from agentmem_cli.operations.secrets.single import Masked, SingleFile
from agentmem_cli.operations.secrets.spans import Span, Spans
from agentmem_cli.session.tokens import string_tokens
from tests.secrets_made import KEY, LETTERS, looking, made, pem, token
from tests.strategies import texts

if TYPE_CHECKING:
    from agentmem_cli.operations.secrets.findings import Finding, Findings
    from agentmem_cli.operations.secrets.looking import Looking


class Run(NamedTuple):
    """A file that was redacted."""

    new: bytes
    findings: Findings
    masked: Masked
    left: list[Finding]

    @property
    def lines(self) -> list[bytes]:
        return self.new.split(b"\n")


def redacted(data: bytes, wanted: Looking | None = None) -> Run:
    """Scan, mask and prove *data*."""
    single = SingleFile("f.jsonl", wanted or looking())
    source, sink = io.BytesIO(data), io.BytesIO()
    findings = single.scan(source)
    masked = single.mask(source, sink)
    left = single.prove(io.BytesIO(sink.getvalue()))
    return Run(sink.getvalue(), findings, masked, left)


def line(value: object) -> bytes:
    """Return *value* as a line."""
    return json.dumps(value).encode() + b"\n"  # noqa: TID251 - as other programs write


def said(text: str, **more: object) -> dict[str, object]:
    """Return a line of a transcript that says *text*."""
    return {"type": "user", "message": {"role": "user", "content": text}, **more}


SECRET = token(7)


WAYS = {
    "plain": SECRET,
    "json in json": json.dumps({"out": json.dumps({"deep": f'k="{SECRET}"'})}),  # noqa: TID251
    "url": f"https://h/?q={quote('a b ' + SECRET)}",
    "base64": base64.b64encode(f"user:{SECRET}\n".encode()).decode(),
    "base64url": base64.urlsafe_b64encode(f"?>{SECRET}~~".encode()).decode(),
    "in the middle of a word": f"x{SECRET}y",
    "by numbers, without quotes": "".join(f"\\u{ord(each):04x}" for each in SECRET),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_value_goes_wherever_and_however_it_stands(way: str) -> None:
    data = line(said(f"export API={SECRET}")) + line(said(WAYS[way])) + line(said("nothing"))

    run = redacted(data)

    assert SECRET.encode() not in run.new
    assert WAYS[way].encode() not in run.new or way == "json in json"
    assert run.lines[2] == line(said("nothing"))[:-1]
    assert run.left == []
    assert all(json.loads(each) for each in run.lines[:3])


def test_a_value_written_by_numbers_goes() -> None:
    numbers = "".join(f"\\u{ord(each):04x}" for each in SECRET)
    data = line(said(SECRET)) + b'{"type":"user","text":"\\u0068i ' + numbers.encode() + b'"}\n'

    run = redacted(data)

    assert MASK.search(run.lines[1]) is not None
    assert run.lines[1].startswith(b'{"type":"user","text":"\\u0068i [REDACTED:')
    assert run.left == []


def test_only_the_mask_differs() -> None:
    data = (
        b'{ "n" :1e400, "big":9223372036854775808,"z":-0 ,"t":"a\\/b \\u00e9 '
        + SECRET.encode()
        + b' \\ud83d","dup":"' + SECRET.encode() + b'","dup":1.10}\r\n{"kept":"\\/"}'
    )  # fmt: skip
    mask = Masks(KEY).mask(SECRET, "vendor-token").encode()

    run = redacted(data)

    assert run.new == data.replace(SECRET.encode(), mask)


def test_the_bare_value_goes_where_nothing_tells_that_it_is_one() -> None:
    value = made(3, 20)
    data = line(said(f"password={value}")) + line(said(f"it was {value}, right?"))

    run = redacted(data)

    assert value.encode() not in run.new
    assert run.masked.kinds == {"password": 2}


def test_a_value_that_stands_escaped_for_a_url_goes_where_it_is_bare() -> None:
    value = f"{made(3, 12)}!{made(4, 8)}"
    data = line(said(f"password={value.replace('!', '%21')}")) + line(said(f"it was {value}"))

    run = redacted(data)

    assert value.encode() not in run.new
    assert run.masked.kinds == {"password": 2}


def test_a_password_that_is_a_plain_word_goes_only_where_it_is_one() -> None:
    data = line(said("DB password=postgres")) + line(said("we run postgres 16"))

    run = redacted(data)

    assert b"password=[REDACTED:password:" in run.lines[0]
    assert run.lines[1] == line(said("we run postgres 16"))[:-1]


def test_short_lines_are_told_apart_and_findings_come_in_their_order() -> None:
    data = b"".join(line({"n": n, "s": token(n) if n % 7 == 0 else "x"}) for n in range(400))
    torn = b"no json " + token(1).encode() + b"\n"

    run = redacted(data[:2000] + b"\n" + torn + data[2000:])

    numbers = [row.place.line for row in run.findings.rows]
    assert numbers == sorted(numbers)
    assert len(numbers) >= 400 // 7
    assert b"tok_" not in run.new


def test_a_key_cut_between_two_short_lines_is_no_key_of_both() -> None:
    begin = line(said("-----BEGIN A PRIVATE KEY-----"))
    data = begin + line(said("kept")) + line(said("-----END A PRIVATE KEY-----"))

    run = redacted(data)

    assert b"kept" in run.lines[1]


def test_a_second_run_changes_nothing() -> None:
    data = b"".join(
        line(said(text))
        for text in (
            f"password={made(4, 12)}",
            SECRET,
            f"https://u:{SECRET}@h",
            pem(),
            "password=postgres",
        )
    )

    first = redacted(data)
    second = redacted(first.new)

    assert first.new != data
    assert second.new == first.new
    assert second.findings.rows == []


@pytest.mark.parametrize(
    "record",
    [
        {"type": "user", "uuid": SECRET, "message": {"role": "user", "content": "hi"}},
        {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": SECRET}]}},
        {"type": "assistant", "message": {"content": [{"thinking": "a", "signature": SECRET}]}},
    ],
)  # fmt: skip
def test_what_holds_a_record_together_is_told_and_not_changed(record: dict[str, object]) -> None:
    run = redacted(line(record))

    assert run.new == line(record)
    assert [row.fate for row in run.findings.rows] == ["structural"]
    assert run.findings.left() == run.findings.rows


def test_a_value_known_from_elsewhere_stays_in_an_id_and_is_told() -> None:
    record = {"type": "user", "uuid": SECRET, "message": {"role": "user", "content": SECRET}}

    run = redacted(line(record))

    new = json.loads(run.new)
    assert new["uuid"] == SECRET
    assert MASK.fullmatch(new["message"]["content"].encode())
    assert [row.fate for row in run.left] == ["structural"]


def test_an_id_in_the_arguments_of_a_tool_is_anybodys() -> None:
    record = {
        "type": "assistant",
        "message": {"content": [{"type": "tool_use", "input": {"id": SECRET}}]},
    }

    run = redacted(line(record))

    assert SECRET.encode() not in run.new


def test_signed_thinking_loses_its_signature_with_its_text() -> None:
    block = {"type": "thinking", "thinking": f"so {SECRET}", "signature": "EqABCDEFGHIJKLMNOP=="}
    whole = {"type": "thinking", "thinking": "so", "signature": "EqABCDEFGHIJKLMNOP=="}
    record = {"type": "assistant", "message": {"role": "assistant", "content": [block, whole]}}

    run = redacted(line(record))

    content = json.loads(run.new)["message"]["content"]
    assert "signature" not in content[0]
    assert content[1] == whole
    assert run.masked.signatures == 1


def test_encrypted_contents_are_counted() -> None:
    record = {
        "type": "response_item",
        "payload": {"type": "reasoning", "encrypted_content": "gAAAAAB" * 9},
    }

    run = redacted(line(record))

    assert run.findings.opaque == 1
    assert run.new == line(record)


def test_encrypted_content_beside_what_was_masked_is_told() -> None:
    payload = {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": f"so {SECRET}"}],
        "encrypted_content": "gAAAAAB" * 9,
    }

    run = redacted(line({"type": "response_item", "payload": payload}))

    assert json.loads(run.new)["payload"]["encrypted_content"] == payload["encrypted_content"]
    assert run.masked.sealed == 1
    assert run.masked.left == []


def test_a_key_begun_in_one_value_and_ended_in_another_is_masked_in_each() -> None:
    key = pem()
    half = len(key) // 2
    record = {"type": "t", "parts": [f"$ cat k\n{key[:half]}", f"{key[half:]}\n$ ls"], "kept": "k"}

    run = redacted(line(record))

    new = json.loads(run.new)
    assert all(each not in run.new.decode() for each in key.split("\n")[1:-1])
    assert new["parts"][0].startswith("$ cat k\n[REDACTED:private-key:")
    assert new["parts"][1].endswith("\n$ ls")
    assert new["kept"] == "k"


def test_lines_of_a_key_go_where_only_some_of_them_stand() -> None:
    body = pem().split("\n")[2:4]

    run = redacted(line(said(pem())) + line(said("+" + "\n+".join(body))))

    assert all(each.encode() not in run.lines[1] for each in body)


def test_a_key_on_several_lines_of_a_text_goes_whole_and_the_lines_stay() -> None:
    data = b"begin\n" + pem().encode() + b"\nend\n"

    run = redacted(data)

    assert run.lines[0] == b"begin"
    assert run.lines[1].startswith(b"[REDACTED:private-key:")
    assert set(run.lines[2:-3]) == {b""}
    assert run.lines[-2:] == [b"end", b""]
    assert data.count(b"\n") == run.new.count(b"\n")


def test_a_line_like_one_of_a_key_stays_where_it_is_no_part_of_one() -> None:
    data = b"-----BEGIN A PRIVATE KEY-----\nabc\n}\n-----END A PRIVATE KEY-----\n}\nabc\n"

    run = redacted(data)

    assert run.lines[1:] == [b"", b"", b"", b"}", b"abc", b""]


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl"])
def test_a_value_goes_from_fragments_of_json_in_any_spelling(name: str) -> None:
    value = f'{made(5, 6)}"/\\{made(6, 8)}/\u00e9\U0001f600'
    numbers = value.encode("utf-16-be").hex()
    spelled = [
        json.dumps(value)[1:-1].replace("/", "\\/"),  # noqa: TID251 - another spelling
        "".join(f"\\u{numbers[at : at + 4]}" for at in range(0, len(numbers), 4)),
    ]
    lines = [f"say {each} ok" for each in spelled]
    data = "\n".join(lines).encode() if name == "a.txt" else b"".join(map(line, map(said, lines)))

    run = redacted(data, looking(given=read_literals(value, "l")))

    assert len(MASK.findall(run.new)) == len(spelled)
    assert b"\\u" not in run.new
    assert run.left == []


class Scans(NamedTuple):
    """Finds one value."""

    value: bytes
    is_ready: bool = True

    def scan(self, data: bytes) -> Spans:
        at = data.find(self.value)
        found = Span(at, at + len(self.value), "vendor-token", "high", "a.rule")
        return Spans([found] if at >= 0 else [])


def test_a_value_that_was_found_escaped_goes_without_its_escapes() -> None:
    value = f"{made(5, 8)}/{made(6, 8)}"
    escaped = value.replace("/", "\\/")
    wanted = looking()._replace(detector=Scans(escaped.encode()))

    run = redacted(line(said(f"password={escaped}!")) + line(said(f"it is {value}! or")), wanted)

    assert len(MASK.findall(run.new)) == 2


def test_a_cut_key_goes() -> None:
    run = redacted(line(said(pem()[:200])))

    assert b"BEGIN" not in run.new
    assert pem()[40:60].encode() not in run.new


@pytest.mark.parametrize("cut", [3, 9, 20])
def test_a_value_across_streamed_pieces_goes_from_each(cut: int) -> None:
    text = f"key: {SECRET} ok"
    pieces = [text[at : at + cut] for at in range(0, len(text), cut)]
    data = b"".join(
        line(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": each},
            }
        )
        for each in pieces
    )

    run = redacted(data)

    joined = "".join(json.loads(each)["delta"]["text"] for each in run.lines[:-1])
    mask = Masks(KEY).mask(SECRET, "vendor-token")
    assert joined == f"key: {mask} ok"
    assert len(run.lines) == len(pieces) + 1


@pytest.mark.parametrize("indent", [None, 1])
def test_a_value_across_pieces_in_one_record_goes_from_each(indent: int | None) -> None:
    texts = (f"key: {SECRET[:9]}", f"{SECRET[9:]} end")
    value = {"deltas": [{"type": "delta", "text": text} for text in texts]}

    run = redacted(json.dumps(value, indent=indent).encode())  # noqa: TID251

    mask = Masks(KEY).mask(SECRET, "vendor-token")
    assert [each["text"] for each in json.loads(run.new)["deltas"]] == [f"key: {mask}", " end"]
    assert len(run.findings.rows) == 1
    assert run.left == []


def test_a_value_known_from_elsewhere_goes_from_streamed_pieces() -> None:
    value = made(5, 24)
    data = line(said(f"password={value}")) + b"".join(
        line({"type": "response.output_text.delta", "item_id": "a", "delta": value[at : at + 5]})
        for at in range(0, 24, 5)
    )

    run = redacted(data)

    joined = "".join(json.loads(each)["delta"] for each in run.lines[1:-1])
    assert MASK.fullmatch(joined.encode())
    assert run.left == []


def test_a_torn_line_is_scanned_as_text() -> None:
    data = line(said("a")) + line(said(f'say \\"api_key=\\"{SECRET}'))[:-20]

    run = redacted(data)

    assert SECRET.encode() not in run.new
    assert run.lines[0] == line(said("a"))[:-1]


def test_bytes_that_are_not_utf8_are_kept_around_the_mask() -> None:
    data = b"\xff\xfe caf\xe9 " + SECRET.encode() + b" \x80\n" + line(said("x"))

    run = redacted(data)

    mask = Masks(KEY).mask(SECRET, "vendor-token").encode()
    assert run.new == data.replace(SECRET.encode(), mask)


def test_two_megabytes_on_one_line() -> None:
    filler = "lorem ipsum " * 90_000
    data = line(said(filler + SECRET + filler))

    run = redacted(data)

    assert SECRET.encode() not in run.new
    assert len(run.new) > 2_000_000


def test_33_000_findings_on_one_line() -> None:
    values = [made(seed, 10) for seed in range(33_000)]
    data = line(said(" ".join(f"password={each}" for each in values)))

    run = redacted(data, looking(cap=10_000))

    assert run.findings.unread == []
    assert all(each not in run.new.decode() for each in values[::997])
    assert run.new.count(b"[REDACTED:password:") == 33_000


def test_more_findings_than_all_looks_can_take_are_told() -> None:
    values = [made(seed, 10) for seed in range(100)]
    data = line(said(" ".join(f"password={each}" for each in values)))

    run = redacted(data, looking(cap=2))

    assert len(run.findings.unread) == 1
    assert "18 were not judged" in run.findings.unread[0].why


def test_keys_that_are_masked_alike_stay_two() -> None:
    data = line({"env": {f"a {SECRET}": 1, SECRET: 2, f"{SECRET} b": 3}, f"x{SECRET}": 4})

    run = redacted(data)

    new = json.loads(run.new)
    assert len(new["env"]) == 3
    assert SECRET not in json.dumps(new)  # noqa: TID251 - to look at


def test_two_keys_that_become_the_same_are_numbered() -> None:
    one, two = made(1, 12), made(2, 12)
    wanted = looking()._replace(masks=Masks(None), given=read_literals(f"{one}\n{two}\n", "l"))

    run = redacted(line({"env": {one: 1, two: 2}}), wanted)

    assert json.loads(run.new)["env"] == {"[REDACTED:literal]": 1, "[REDACTED:literal]#2": 2}


def test_what_the_user_names_goes_everywhere() -> None:
    wanted = looking(read_literals("project falcon\n", "l"))
    data = line(
        {
            "type": "user",
            "message": {"role": "user", "content": "Project project falcon!"},
            "a": {"project falcon": 1},
        }
    )

    run = redacted(data, wanted)

    assert b"project falcon" not in run.new
    assert run.masked.kinds == {"literal": 2}


def test_expressions_mask_what_they_match_or_their_secret() -> None:
    wanted = looking(read_patterns("EMP-[0-9]{4,}\nroom (?P<secret>[0-9]+)\n", "r"))

    run = redacted(line(said("EMP-12345 sits in room 77, not 77")), wanted)

    text = json.loads(run.new)["message"]["content"]
    assert text.startswith("[REDACTED:pattern:")
    assert "in room [REDACTED:pattern:" in text
    assert text.endswith(", not 77")


def test_variables_that_are_words_go_beside_their_name_only() -> None:
    long = made(9, 18)
    wanted = looking(read_env(f"PGUSER=postgres\nPGKEY={long}\n", ".env"))
    data = line(said(f"PGUSER=postgres on postgres {long}")) + line({"env": {"PGUSER": "postgres"}})

    run = redacted(data, wanted)

    text = json.loads(run.lines[0])["message"]["content"]
    assert text.startswith("PGUSER=[REDACTED:env:")
    assert " on postgres [REDACTED:env:" in text
    assert b"postgres" not in run.lines[1]


def test_without_a_detector_only_what_the_user_named_goes() -> None:
    wanted = looking(read_literals("project falcon\n", "l"))._replace(detector=None)

    run = redacted(line(said(f"project falcon {SECRET}")), wanted)

    assert b"falcon" not in run.new
    assert SECRET.encode() in run.new


def test_what_is_not_sure_stays_unless_asked_for() -> None:
    data = line(said("the pw is melon7tree"))

    careful, eager = redacted(data), redacted(data, looking(aggressive=True))

    assert careful.new == data
    assert [row.fate for row in careful.findings.rows] == ["unsure"]
    assert b"melon7tree" not in eager.new


def test_a_value_that_the_user_keeps_stays_everywhere() -> None:
    kept = Masks(KEY, keep=frozenset({Masks(KEY).fingerprint(SECRET)}))

    run = redacted(line(said(SECRET)), looking()._replace(masks=kept))

    assert run.new == line(said(SECRET))
    assert [row.fate for row in run.findings.rows] == ["allowed"]


def test_case_54_quotes_numbers_and_siblings_are_left_whole() -> None:
    value = made(8, 16)
    data = (
        b'{"c":"x \\"password: ' + value.encode() + b'\\" y"}\n'
        b'{"h":{"X-Api-Key":12345,"next":"kept"}}\n'
    )

    run = redacted(data)

    assert json.loads(run.lines[0])["c"].startswith('x "password: [REDACTED:password:')
    assert json.loads(run.lines[0])["c"].endswith('" y')
    assert run.lines[1] == b'{"h":{"X-Api-Key":12345,"next":"kept"}}'


def test_a_document_on_several_lines_is_one_event() -> None:
    document = json.dumps({"a": {"b": [f"on {SECRET}", 1.10]}}, indent=2).encode()  # noqa: TID251

    run = redacted(document)

    assert json.loads(run.new)["a"]["b"][1] == 1.1
    assert SECRET.encode() not in run.new
    assert run.findings.events == 1


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"\n\n{}\n", b"\xef\xbb\xbf", b"null", b"{", b"\0" * 100]
)
def test_a_file_with_nothing_in_it_is_left(data: bytes) -> None:
    run = redacted(data)

    assert run.new == data
    assert run.findings.rows == []


def test_a_byte_order_mark_is_kept_and_its_line_is_json() -> None:
    data = b"\xef\xbb\xbf" + line({"type": "user", "uuid": SECRET, "text": SECRET})

    run = redacted(data)

    assert run.new.startswith(b"\xef\xbb\xbf{")
    assert json.loads(run.new.removeprefix(b"\xef\xbb\xbf"))["uuid"] == SECRET


def test_a_mask_beside_a_value_does_not_hide_it() -> None:
    mask = Masks(bytes(32)).mask("x", "made-up")

    run = redacted(line(said(f"key {mask}{SECRET}{mask}")))

    assert SECRET.encode() not in run.new
    assert run.new.count(mask.encode()) == 2


FILL = st.text(alphabet=st.sampled_from('ab \n"\\/é中\U0001f600'), max_size=12)


ENCODINGS = ["plain", "json", "url", "base64"]


@hypothesis_given(
    st.lists(
        st.tuples(FILL, st.sampled_from(range(4)), FILL, st.sampled_from(ENCODINGS), st.booleans()),
        min_size=1, max_size=6,
    ),
    texts(),
)  # fmt: skip
@settings(max_examples=100)
def test_no_value_is_left_in_any_encoding_and_a_second_run_changes_nothing(
    parts: list[tuple[str, int, str, str, bool]], odd: str
) -> None:
    values = [token(1), token(2), made(3, 16), made(4, 20, LETTERS + "+/")]
    known = line(said(f"{values[0]} {values[1]} password={values[2]} api_key={values[3]}"))
    lines = []
    for before, index, after, way, ascii_only in parts:
        text = written(before + values[index] + after, way)
        value: dict[str, object] = {"type": "user", "a": text} if ascii_only else {f"k {text}": [1]}
        raw = json.dumps({**value, "odd": odd}, ensure_ascii=ascii_only)  # noqa: TID251 - others do
        lines.append(raw.encode("utf-8", "backslashreplace") + b"\n")
    data = known + b"".join(lines)

    run = redacted(data)
    again = redacted(run.new)

    whole = run.new.decode()
    assert run.left == []
    assert again.new == run.new
    assert not [value for value in values if value in whole or quote(value, safe="") in whole]
    assert len(run.lines) == len(data.split(b"\n"))
    assert [_rest(new) for new in run.lines if new] == [_rest(old) for old in run.lines if old]
    assert all(string_tokens(each) for each in run.lines if each)


def written(text: str, way: str) -> str:
    """Write *text* in one of the ways that values are searched for."""
    if way == "json":
        return json.dumps({"in": text})  # noqa: TID251 - as other programs write
    if way == "url":
        return quote(text.encode("utf-8", "replace"), safe="")
    if way == "base64":
        return base64.b64encode(text.encode("utf-8", "replace")).decode()
    return text


def _rest(raw: bytes) -> list[object]:
    return [token.is_key for token in string_tokens(raw)]
