"""Secrets and passwords that are assigned to a name: in code, in settings, in data."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agentmem_cli.operations.secrets.extents import Value, value_at
from agentmem_cli.operations.secrets.plausible import (
    HEX_ENTROPY_MIN,
    HEX_LENGTH_MIN,
    is_code,
    is_hex,
    is_identifier,
    is_nothing,
    is_password,
    is_random,
    is_strong,
    is_uuid,
)
from agentmem_cli.operations.secrets.words import entropy, is_wordy, likeness

if TYPE_CHECKING:
    from agentmem_cli.operations.secrets.spans import Confidence

    Found = list[tuple[int, int, Confidence | None]]

_NAME_BYTES: Final = 160
_NAME: Final = re.compile(rb"[A-Za-z0-9_.$-]+")
_SECRET_WORD: Final = re.compile(
    r"(?i)secret|token|key|credential|auth|bearer|pat|sas|dsn|jwt|licen"
)
NO_SECRET: Final = re.compile(
    r"(?i)public|pub_?key|publishable|idempoten|dedup|tokeniz|keyword|keyboard|monkey|hotkey|turkey|donkey|"
    r"shortcut|recv|keyserver|gpg|"
    r"(?:primary|foreign|partition|sort|cache|object|span|row|hash|group|index|bucket|s3|registry|"
    r"kms|shard|range|lookup|i18n|react)[_.-]?keys?$|"
    r"(?:page|cursor|next|continuation|sync|resume|change|lock|update|starting|start|pagination|"
    r"import|export|sequence|receipt|position|offset|delta|history|cancel\w*|pad|eos|bos|unk|sep|mask|"
    r"special|stop|trace)[_.-]?tokens?$|"
    r"(?:^|[_.-])key[_.-]?(?:id|name|path|file|size|type|code|press|down|up|hash|usage|vault|len)|"
    r"token[_.-]?(?:id|type|count|name|usage|limit|budget|url|uri|endpoint|path|file|expir\w*|s_?used|"
    r"hash)|"
    r"secrets?[_.-]?(?:name|arn|ref|path|version|file|store|manager)|(?:name|path|file|url|uri|arn|"
    r"version|fingerprint|digest|checksum|integrity|etag|uuid|sha\d*|md5|_at|algorithm|alg|kid|"
    r"prefix|format|regex|pattern|length|count|type|hash)$|^authors?$|tokens$|"
    r"(?:^|[_.-])ids?$|(?<!secret)[_.-]id$|(?-i:[a-rt-z]Id$)|^(?:api_?)?keys$"
)
_NO_PASSWORD: Final = re.compile(
    r"(?i)(?:field|label|hint|reset|prompt|regex|pattern|policy|min|max|length|len|error|message|msg|"
    r"url|uri|path|file|filename|name|id|changed|expires?|expiry|strength|input|type|validator|"
    r"placeholder|required|help|text|title|command|cmd|helper|manager|store|protected|less|"
    r"attempts?|count|encoder|hasher|form|view|page|screen|link|route|button|icon|column|policy|"
    r"prefix|suffix|ref|key_?name|secret_?name|var|variable|env|stdin|algorithm|through|fail|by|"
    r"encryption|word_?list|dict|valid|visible|show|hide|toggle|match|check|confirm(?:ation)?_?label)$|"
    r"bypass|compass|passing|passed|passive|passenger|passage|pass_?(?:count|rate|fail|through|by)|"
    r"^(?:first|second|one|two|multi|single|render|final|next|last|each|all)_?pass$|trespass|surpass|"
    r"no_?pass(?:word)?|without"
)
_UPPER: Final = re.compile(r"[A-Z][A-Z0-9]*(?:[_.-][A-Z0-9]+)*")
_SPACED: Final = re.compile(rb"\s[=:]?=\s*(?:[bfru]{0,2}\\?[\"'`]{0,3})?$")
_ARGUMENT: Final = re.compile(rb"[,(]\s*(?:\w+\s*:\s*)?$")


def assigned_secret(data: bytes, start: int, _end: int) -> Found:
    """Judge the value that begins at *start* by the name that it is assigned to."""
    name, operator = _name(data, start, _SECRET_WORD)
    if not name or NO_SECRET.search(name):
        return []
    place = value_at(data, start)
    value = _text(data, place)
    if not (is_random(value) or _is_short(name, value)) or data[place.end : place.end + 2] == b"..":
        return []  # none, or cut short by whoever wrote it
    sign = operator.strip(b" \t\"'`\\")
    if not place.quoted and (_PAIR.match(value) or b"(" in sign):
        return []
    if _is_id(name, value) or (sign == b"," and _LISTED.match(data, place.end)):
        return []
    if not sign and not _stands_alone(data, place, value, name):
        return []
    return [(place.start, place.end, None)]


def _is_short(name: str, value: str) -> bool:
    """Is this a key of few hexadecimal digits, by a name that leaves no other meaning?"""
    if not _SHORT_MIN <= len(value) < HEX_LENGTH_MIN or not _KEY_NAME.search(name):
        return False
    if not is_hex(value) or value.lower() != value or value.isdecimal() or value.isalpha():
        return False
    return entropy(value) >= HEX_ENTROPY_MIN


_SHORT_MIN: Final = 12
_KEY_NAME: Final = re.compile(
    r"(?i)(?:api|secret|private|encryption|signing|master)[_.-]?(?:key|token|secret)$"
)


def _is_id(name: str, value: str) -> bool:
    """Is this what tells one thing from another: digits in hexadecimal with a name that says so?"""
    if is_uuid(value):
        return bool(_ONCE.search(name) or _WEAK_NAME.fullmatch(name))
    return is_hex(value) and _WEAK_NAME.fullmatch(name) is not None


def _stands_alone(data: bytes, place: Value, value: str, name: str) -> bool:
    """Is this a name and its value with a space between: what a sentence or a type may be too?"""
    if place.quoted or _WEAK_NAME.fullmatch(name) or not is_random(value, 20):
        return False
    if not is_hex(value) and len(_DIGITS.findall(value)) < 2:
        return False
    follows = data[place.end : place.end + 1]
    return _PLAIN.fullmatch(value) is not None and follows not in (b"(", b":")


_PAIR: Final = re.compile(r"[A-Za-z_]\w*=[^=]")
_ONCE: Final = re.compile(r"(?i)(?:client|request|action|job|task|unit|operation)[_-]?token$")
"""Names of tokens that only tell one call from another."""

_PLAIN: Final = re.compile(r"[A-Za-z0-9_+/=.~-]+")
_DIGITS: Final = re.compile(r"\d+")
_LISTED: Final = re.compile(rb"[\"'`]\s*,\s*[\"'`]")
_WEAK_NAME: Final = re.compile(r"(?i)(?:key|auth|keys|_key|pat|dsn|sas|licen[cs]e)")


def assigned_key(data: bytes, start: int, end: int) -> Found:
    """Judge a match of the catalogue that a name nearby made, as it would be judged here."""
    name, _ = _name(data, start, _SECRET_WORD)
    value = data[start:end].decode("utf-8", "replace")
    return [] if NO_SECRET.search(name) or is_nothing(value) else [(start, end, None)]


def is_named_aws(data: bytes, start: int) -> bool:
    """Is what begins at *start* given to a name that an AWS key may have, or to none?

    The catalogue takes any 40 such signs behind a secret's name for one.
    """
    name, _ = _name(data, start, _SECRET_WORD)
    return not name or _AWS_NAME.search(name) is not None


_AWS_NAME: Final = re.compile(r"(?i)aws|amazon|(?<![a-z])s3|access[_.-]?key|^secret(?:[_.-]?key)?$")


def assigned_password(data: bytes, start: int, _end: int) -> Found:
    """Judge the value that begins at *start* by its form, and by what it is assigned to."""
    name, operator = _name(data, start, _PASS_WORD)
    if not name or _NO_PASSWORD.search(name):
        return []
    place = value_at(data, start)
    value = _text(data, place)
    if len(value) < 4 or is_nothing(value):
        return []
    if name in {"PASS", "Pass"} and b":" in operator:
        return []
    if b"," in operator and not (is_password(value) and _CLOSED.match(data, place.end)):
        return []
    fits = _quoted(value, name) if place.quoted else _bare(data, place, value, name, operator)
    if fits is None:
        return []
    return [(place.start, place.end, fits)]


def whole_password(data: bytes, start: int, end: int) -> Found:
    """Judge all of a string that stands under a password's name, to the end of the match."""
    name, _ = _name(data, start, _PASS_WORD)
    value = data[start:end].decode("utf-8", "replace")
    if not name or _NO_PASSWORD.search(name) or value.count(" ") > _BLANKS_MAX:
        return []
    if is_nothing(value) or _EXPRESSION.search(value):
        return []
    if value.lstrip("-").isdecimal():
        return [(start, end, "medium")] if len(value) >= _DIGITS_MIN else []
    fits = _quoted(value, name) if is_password(value) else None
    if fits is not None:
        return [(start, end, fits)]
    # What goes on with blanks or signs behind a password in it goes with it.
    return [(start, end, sure) for _, _, sure in assigned_password(data, start, end)]


_BLANKS_MAX: Final = 5
_DIGITS_MIN: Final = 6
_EXPRESSION: Final = re.compile(
    r"[A-Za-z_$][\w$.:>?-]*[(\[].*[)\]];?\Z|\\[dwsDWS][+*{?\\\[]|\[\^|\(\?[=!:<]|\.[*+]|\{\d+,\d*\}"
)
"""What expressions have in them that say how a password must be made."""

_CLOSED: Final = re.compile(rb"\\?[\"'`]\s*[)\]}]")
_PASS_WORD: Final = re.compile(
    r"(?i)pass|(?<![a-z])pwd|[a-z]pwd?(?![a-z])|pword|(?<![a-z])pw(?=$|[_.-])|contrase|mot[ _-]de"
)


def _quoted(value: str, name: str) -> Confidence | None:
    """Judge a password that stands in quotes."""
    if " " in value:
        return None if value.count(" ") > _BLANKS_MAX or not _mixed(value) else "medium"
    if value[:1] in "([{<^" or (is_code(value) and not _mixed(value)):
        return None
    if value.isalpha() or (is_identifier(value) and not any(map(str.isdigit, value))):
        return _word(value, name)
    if is_wordy(value) and value == value.lower() and not any(map(str.isdigit, value)):
        return "low"
    return "medium" if is_password(value) or len(value) >= 8 else "low"


def _bare(data: bytes, place: Value, value: str, name: str, operator: bytes) -> Confidence | None:
    """Judge a password without quotes: in code such a value is a name or a call."""
    if value[:1] in "([{<^|&=>:" or is_code(value) or _PAIR.match(value):
        return None
    shell = _UPPER.fullmatch(name) is not None and not _SPACED.search(operator)
    if is_identifier(value):
        if shell and not value.isupper():
            return "medium"
        if not any(map(str.isdigit, value)):
            return None
        follows = data[place.end : place.end + 1]
        before = data[max(0, place.start - _NAME_BYTES) : place.start - len(operator)]
        before = before.removesuffix(name.encode())
        if follows in (b",", b")", b";") and _ARGUMENT.search(before):
            drawn = len(value) >= 10 and is_strong(value) and likeness(value) < 0.6
            return "medium" if drawn else None
        if _SPACED.search(operator) and is_wordy(value.rstrip("0123456789")):
            return None
        if is_wordy(value) and value == value.lower() and "_" in value:
            return None
        return "medium" if len(value) >= 6 else "low"
    return "medium" if is_password(value) and not _is_list(value) else None


def _word(value: str, name: str) -> Confidence | None:
    if _UPPER.fullmatch(name):
        return "medium"
    if len(value) >= 8 and likeness(value) < 0.5:
        return "medium"
    return "low" if value == value.lower() and len(value) >= 6 else None


def _mixed(value: str) -> bool:
    return any(map(str.isdigit, value)) and any(
        not each.isalnum() and each != " " for each in value
    )


def _is_list(value: str) -> bool:
    return value.count(",") > 1 or value.count("|") > 1


def _name(data: bytes, start: int, word: re.Pattern[str]) -> tuple[str, bytes]:
    """Return the name before *start* that holds *word*, and the bytes from its end to *start*."""
    floor = max(0, start - _NAME_BYTES)
    window = data[floor:start]
    for match in reversed(list(_NAME.finditer(window))):
        name = match.group().decode("ascii")
        if word.search(name):
            return name.strip("-.$"), window[match.end() :]
    foreign = list(_FOREIGN.finditer(window)) if word is _PASS_WORD else []
    return ("password", window[foreign[-1].end() :]) if foreign else ("", b"")


_FOREIGN: Final = re.compile(
    "(?i:senha|kennwort|wachtwoord|parola|has(?:l|ł)o|heslo|jelsz(?:o|ó)|l(?:o|ö)senord|salasana|"
    "adgangskode|(?:s|ş)ifre)|пароль|Пароль|ПАРОЛЬ|密码|密碼|口令|パスワード|비밀번호".encode()
)
"""Words for a password that do not begin as it does."""


def _text(data: bytes, place: Value) -> str:
    return data[place.start : place.end].decode("utf-8", "replace")
