"""Secrets in places that are made for them: headers, URLs, commands, files; and in prose."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error
from typing import TYPE_CHECKING, Final

from agentmem_cli.operations.secrets.assigned import NO_SECRET
from agentmem_cli.operations.secrets.extents import bare_end, trimmed, value_at
from agentmem_cli.operations.secrets.plausible import (
    is_code,
    is_example,
    is_hex,
    is_identifier,
    is_nothing,
    is_password,
    is_path,
    is_random,
    is_reference,
    is_strong,
    is_uuid,
)
from agentmem_cli.operations.secrets.words import entropy, is_wordy

if TYPE_CHECKING:
    from agentmem_cli.operations.secrets.spans import Confidence

    Found = list[tuple[int, int, Confidence | None]]

_SESSION: Final = re.compile(
    rb"(?i)sess|(?:^|[._-])(?:sid|ssid|hsid|uid|jwt|sso|s|id)$|auth|token|jwt|remember|login|csrf|"
    rb"xsrf|user|ticket|secret|credential|_key|cookie|cf_clearance|__host|__secure|connect\.sid|^d$"
)
_CRUMB: Final = re.compile(rb"([^\s=;,\"'`]{1,80})=([^\s;,\"'`]{8,4096})")
_ATTRIBUTES: Final = frozenset(
    {b"path", b"domain", b"expires", b"max-age", b"samesite", b"version", b"priority", b"secure"}
)
_SCHEME_WORDS: Final = re.compile(
    r"(?i)(?:basic|bearer|digest|negotiate|token|realm|null|undefined|none|header|required|apikey|"
    r"oauth|aws4-hmac-sha256|hmac|ntlm|scheme|credentials?|str|string)\b.*"
)
_SIGNATURE: Final = re.compile(
    rb"(?i)(?:signature|response|oauth_token|oauth_signature|token|sig|mac|api_?key|key)=\"?"
    rb"([A-Za-z0-9+/=_%.-]{8,1024})"
)


def _text(data: bytes, start: int, end: int) -> str:
    return data[start:end].decode("utf-8", "replace")


def url_password(data: bytes, start: int, end: int) -> Found:
    """Judge the password of a URL; *end* may lie behind the ``@`` that ends it."""
    if data[end - 1 : end] == b"@":
        end -= 1
    # What stands before the last @ of the authority is user and password.
    value = _text(data, start, end)
    if is_reference(value) or is_example(value) or len(value) < 4:
        return []
    if value.isdigit() and len(value) <= 5:
        return []
    user = data.rfind(b"//", max(0, start - 200), start)
    if user >= 0 and data[user + 2 : start - 1] == data[start:end] and value.isalpha():
        return []
    if "@" in value and "." in value.partition("@")[2]:
        end = start + len(value.partition("@")[0].encode())
        value = value.partition("@")[0]
    if any(each in value for each in "{}()[]|") and is_code(value):
        return []
    return [(start, end, None)]


def url_user(data: bytes, start: int, end: int) -> Found:
    """Judge a token that stands as the user of a URL, without a password."""
    if data[end - 1 : end] == b"@":
        end -= 1
    return [(start, end, None)] if is_random(_text(data, start, end), 20) else []


def connection(data: bytes, start: int, end: int) -> Found:
    """Judge the password within a whole connection string."""
    match = re.match(rb"[\w+.-]+://[^:@/\s]*:([^\s/]+)@", data[start:end])
    if match is None:
        return []
    return url_password(data, start + match.start(1), start + match.end(1))


def authorization(data: bytes, start: int, end: int) -> Found:
    """Judge what follows the scheme in an Authorization header."""
    end = trimmed(data, start, bare_end(data, start), b",;:.\\")
    value = _text(data, start, end)
    line = data[start : start + _PARAMETERS_MAX].partition(b"\n")[0]
    if "=" in value[:24] and (found := _parameters(line, start)):
        return found
    if is_reference(value) or is_example(value) or is_code(value) or _SCHEME_WORDS.fullmatch(value):
        return []
    if any(each in value for each in "{}()[]$"):
        return []
    if _is_basic(value):
        return [(start, end, None)]
    if len(value) < 8 or is_path(value) or (is_wordy(value) and not _has_digit(value)):
        return []
    if is_wordy(value) and entropy(value) < 3.3:
        return []
    return [(start, end, None)] if _has_digit(value) or entropy(value) >= 3.5 else []


_PARAMETERS_MAX: Final = 4096
"""Bytes of a header in which its parameters are looked for."""


def _parameters(line: bytes, start: int) -> Found:
    found: Found = []
    for match in _SIGNATURE.finditer(line):
        value = match.group(1).decode("ascii", "replace")
        if is_hex(value) or is_random(value, 12):
            found.append((start + match.start(1), start + match.end(1), None))
    return found


def bearer(data: bytes, start: int, end: int) -> Found:
    """Judge the token behind the word Bearer."""
    end = trimmed(data, start, end, b",;:.\\")
    value = _text(data, start, end)
    is_token = is_random(value) or (_is_jwt(value) and not is_example(value))
    return [(start, end, None)] if is_token else []


def basic(data: bytes, start: int, end: int) -> Found:
    """Judge the base64 text behind the word Basic: it must hold a user and a password."""
    return [(start, end, None)] if _is_basic(_text(data, start, end)) else []


def user_and_password(data: bytes, start: int, end: int) -> Found:
    """Judge ``user:password``, quoted or not: the part behind the colon."""
    while start < end and data[start : start + 1] in (b'"', b"'"):
        start += 1
    while start < end and data[end - 1 : end] in (b'"', b"'"):
        end -= 1
    colon = data.find(b":", start, end)
    if colon < 0:
        return []
    first = colon + 1
    if first == end and is_password(_text(data, start, colon)) and colon - start >= 8:
        return [(start, colon, None)]
    while first < end and data[first : first + 1] in (b'"', b"'"):
        first += 1
    value = _text(data, first, end)
    if not value or value.startswith("//") or is_reference(value) or is_example(value):
        return []
    if is_code(value) and not _has_digit(value):
        return []
    return [(first, end, None)] if len(value) >= 3 else []


def cookies(data: bytes, start: int, end: int) -> Found:
    """Judge each value of a cookie header: those of sessions, and what a machine has drawn."""
    found: Found = []
    for match in _CRUMB.finditer(data, start, end):
        name = match.group(1).lower()
        if name in _ATTRIBUTES or name.startswith((b"_ga", b"_gid", b"utm", b"_fbp", b"ajs_")):
            continue
        value = match.group(2).decode("utf-8", "replace")
        if is_reference(value) or is_example(value) or is_code(value) or is_path(value):
            continue
        telling = _has_digit(value) and not is_wordy(value) and entropy(value) >= 2.8
        if _is_jwt(value) or (telling and _SESSION.search(name)) or is_random(value, 20):
            found.append((match.start(2), match.end(2), None))
    return found


def query(data: bytes, start: int, end: int) -> Found:
    """Judge the value of a secret-named parameter in a URL."""
    end = trimmed(data, start, end)
    value = _text(data, start, end)
    name = _text(data, max(0, start - 40), start - 1).lower()
    plain = value.replace("%2B", "+").replace("%2F", "/").replace("%3D", "=")
    if name.endswith(("password", "passwd", "pwd")):
        fits = is_password(plain) and not is_nothing(plain) and not is_code(plain)
    elif name.endswith(("?key", "&key", ";key")):
        fits = is_random(plain, 20)
    else:
        fits = is_random(plain) or _is_jwt(plain)
    return [(start, end, None)] if fits else []


def netrc(data: bytes, start: int, end: int) -> Found:
    """Judge the password of a line of netrc, or of one that reads like it."""
    before = data[max(0, start - 240) : start].lower()
    is_told = b"machine" in before or b"default login" in before
    if b"anonymous" in before or (
        not is_told and _text(data, start, end).strip("().,;:").isalpha()
    ):
        return []
    return told_password(data, start, end)


def told_password(data: bytes, start: int, end: int) -> Found:
    """Judge what stands where a file's form or a command has a password."""
    end = trimmed(data, start, end, b",;")
    while end - start > 1 and data[start : start + 1] in (b'"', b"'"):
        start, end = start + 1, trimmed(data, start, end, b"\"'")
    value = _text(data, start, end)
    if is_reference(value) or is_example(value) or len(value) < 3:
        return []
    if value.startswith("-") or value in {"in", "to", "for", "and", "or", "is", "from", "--"}:
        return []
    if is_code(value) and not _has_digit(value):
        return []
    if " " in value and not is_password(value):
        return []
    return [(start, end, None)]


def told_secret(data: bytes, start: int, end: int) -> Found:
    """Judge what stands where a file's form has a token."""
    value = _text(data, start, end)
    if is_reference(value) or is_example(value) or is_path(value) or is_code(value):
        return []
    if not (_is_basic(value) or is_random(value, 8) or is_uuid(value)):
        return []
    return [(start, end, None)]


def phrase(data: bytes, start: int, end: int) -> Found:
    """Judge a row of small words: a wallet's has twelve or more, few of them twice."""
    words = data[start:end].split()
    return [(start, end, None)] if len(set(words)) * 3 >= len(words) * 2 else []


def encoded_key(data: bytes, start: int, end: int) -> Found:
    """Judge a key in base64 by going to its end."""
    match = re.compile(
        rb"(?:[A-Za-z0-9+/=]|\\n|\s(?=[A-Za-z0-9+/=]{20})|:\s?\d{1,4}\s{1,3}|-)*"
    ).match(data, start)
    return [(start, max(end, match.end()) if match else end, None)]


def member(data: bytes, start: int, end: int) -> Found:
    """Judge ``name: value`` by its value."""
    match = re.match(rb"[\w.-]+:[ \t]*(?:[|>][-+]?\s+)?[ \t]*[\"']?", data[start:end])
    first = start + (match.end() if match else 0)
    end = trimmed(data, first, end, b"\"'")
    value = _text(data, first, end)
    if is_reference(value) or is_example(value) or not value:
        return []
    return [(first, end, None)]


_OPENSSL: Final = (b"pass:", b"env:", b"file:", b"fd:")


def option(data: bytes, start: int, end: int) -> Found:
    """Judge the value of a command's option with a secret's name."""
    value_place = value_at(data, start)
    end = value_place.end
    if data[end - 1 : end] == b"\\":
        end -= 1
    if data[start:end].startswith(_OPENSSL):
        return []  # the rule for openssl knows where the password is, or that it is elsewhere
    value = _text(data, start, end)
    name = _text(data, max(0, start - 40), start).rstrip("\"'=: ,").rpartition(" ")[2]
    if NO_SECRET.search(name):
        return []
    name = name.lower()
    if (
        value.startswith("-")
        or is_nothing(value)
        or is_code(value)
        or (is_identifier(value) and not (_has_digit(value)))
    ):
        return []
    if name.endswith(("password", "passwd", "passphrase", "passcode", "pass", "pwd", "pw")):
        return [(start, end, None)] if is_password(value) and not is_wordy_name(value) else []
    return [(start, end, None)] if is_random(value, 12) else []


def is_wordy_name(value: str) -> bool:
    """Is *value* a name put together from words by hyphens or underscores, in small letters?"""
    return value == value.lower() and is_wordy(value) and ("-" in value or "_" in value)


def prose_password(data: bytes, start: int, end: int) -> Found:
    """Judge a word that a sentence calls a password; sure only where it looks like nothing else."""
    end = trimmed(data, start, end, b".,;:)")
    value = _text(data, start, end)
    if (
        len(value) < 6
        or is_nothing(value)
        or is_code(value)
        or (is_identifier(value) and not (_has_digit(value)))
    ):
        return []
    if is_strong(value) and not value.startswith(("/", "http")):
        return [(start, end, "medium")]
    return [(start, end, "low")] if is_password(value) and not is_wordy_name(value) else []


def prose_secret(data: bytes, start: int, end: int) -> Found:
    """Judge a word that a sentence calls a key or a token."""
    end = trimmed(data, start, end, b".,;:)")
    if data[end : end + 2] == b"..":
        return []  # cut short by whoever wrote it
    return [(start, end, None)] if is_random(_text(data, start, end)) else []


def _has_digit(value: str) -> bool:
    return any(each.isdigit() for each in value)


def _is_jwt(value: str) -> bool:
    return value.startswith("eyJ") and len(value) > 30


def _is_basic(value: str) -> bool:
    if len(value) < 8:
        return False
    try:
        plain = b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (Error, ValueError):
        return False
    _, colon, password = plain.partition(b":")
    return bool(colon and password) and plain.isascii() and plain.decode("ascii").isprintable()
