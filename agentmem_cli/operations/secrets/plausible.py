"""Which values nobody keeps secret: references, code, examples, names of things."""

from __future__ import annotations

import re
from typing import Final

from agentmem_cli.operations.secrets.web_tokens import is_nobodys
from agentmem_cli.operations.secrets.words import entropy, is_wordy, likeness

SECRET_LENGTH_MIN: Final = 16
SECRET_ENTROPY_MIN: Final = 3.3
HEX_LENGTH_MIN: Final = 20
HEX_ENTROPY_MIN: Final = 2.6
LOOK_CHARACTERS: Final = 256
"""What a value is shows in its beginning; the rest of a long one is not looked at."""

_REFERENCE: Final = re.compile(
    r"\$\{?[A-Za-z_(@:][\w.:()@ -]*|\$\{.*|[^{]*\$\{\{?[^}]*\}.*|%[A-Za-z_]\w*%|%\(?\w*\)?[sdrv]|"
    r"[^{]*\{\{.*|[^{]*\{[A-Za-z_][\w.\[\]'\"!:]*\}.*|\{[\w.]*\}|[^(]*\$\(.*|<.*|\[.*\]|@[A-Z_]+@|"
    r"\#\{.*|\*+|\.{2,}.*|.*\.\.\.|.*…|\$\d|!\w+ .*|[&*][A-Za-z_]+",
    re.DOTALL,
)
"""A variable, a template, a place to fill in: of a shell, a program, YAML, a format string."""

_CODE: Final = re.compile(
    r"(?:process\.env|os\.environ|os\.getenv|env|ENV|getenv|secrets?|vars|config|settings|self|this|"
    r"request|req|args|options|opts|props|params|data|ctx|context)(?:[.\[?(].*)|"
    r"[A-Za-z_$][\w$.:>?-]*[(\[{].*|"
    r"[A-Za-z_$][\w$]*(?:[?!]?(?:\.|::|->)[A-Za-z_$][\w$]*)+[;,)]*|"
    r"(?:await|new|function|lambda|return|typeof|not|if|else|async|yield|def|class)\b.*|"
    r"[!=]=.*|=>.*|\+\s.*|\|\|.*|&&.*",
    re.DOTALL,
)
"""A member, a call, an index, a keyword, an operator."""

_EXAMPLE: Final = re.compile(
    r"(?i)your[-_ .].*|(?:my|the|some|any|an?|our|sample|todo|insert)(?:[-_ .][a-z]+)+\d{0,3}|"
    r"(?:your|my)[a-z]*(?:key|token|secret|pass\w*|pwd)\w*|"
    r".*(?:example|placeholder|redacted|change[-_ ]?(?:me|this|it)|dummy|xxxx|\.\.\.|"
    r"replace[-_ ]?(?:me|this|with)|fill[-_ ]?in|abcdefghijklmnopqrstuvwxyz).*|"
    r"(?:test|fake|mock|foo|bar|baz|foobar|qux|demo|invalid|not[-_ ]?set|none|null|nil|undefined|"
    r"true|false|yes|no|on|off|empty|default|unset|hidden|masked|censored|removed|omitted|secret|"
    r"password|passwd|passphrase|pass|token|api[-_ ]?key|apikey|key|value|string|str|bytes|text|"
    r"type|user(?:name)?|admin|root|guest|hunter2?|abc123|123456\d*|qwerty|letmein|any|optional|"
    r"required|void|object|number|integer|boolean|bool|int|unknown|basic|bearer|digest|self|"
    r"this|present|missing|valid|expired|changed|updated|reset|forgot|enter|confirm|new|old|current)"
    r"[-_ .]?\d{0,3}[\])}>;:,.]*|[a-z_]*(?:password|passwd|secret|token|api_?key|passphrase)\d?|"
    r"(?-i:(?:[A-Z][A-Z0-9]*_)+[A-Z0-9]*(?:KEY|TOKEN|SECRET|PASSWORD|PASS|PWD|HERE))(?:_HERE)?|"
    r"[xX*#.\-_0]{3,}|(.)\1{2,}|.{0,4}(?:x{6,}|\*{4,}|0{12,}|\.{3,}).{0,4}",
    re.DOTALL,
)
"""A word that stands for any secret, or one that says so."""

_NAMED: Final = re.compile(
    r"(?:toolu|msg|call|resp|rs|fc|req|chatcmpl|run|thread|asst|batch|srvtoolu|item|evt|cus|acct|"
    r"price|prod|sub|pi|in|ch|seti|cs|file|vs|step|org|proj|user|ws|conv)[_-][A-Za-z0-9_-]*|"
    r"pk_(?:live|test)_.*|(?:sha(?:1|224|256|384|512)|md5|blake\w+)[-:_=].*|SHA256:.*|MD5:.*|"
    r"[A-Za-z]*\d{0,4}(?:_[A-Za-z]{0,14}(?:\d{1,4}[A-Za-z]{0,14})?){3,}|"
    r"[A-Z]+\d{0,4}(?:_[A-Z]*(?:\d{1,3}[A-Z]*)?)+|[a-z]{2}-[a-z]+-\d:.*|\w+(?:\|\w+)+|"
    r"(?:ssh-|ecdsa-|AAAA[BCE]3NzaC1).*|"
    r"(?:arn|urn|data|blob|cid|mailto|javascript|about|file|spotify):.*|"
    r"[a-z][a-z0-9+.-]*://.*|W/.*|[^@]*@sha256:.*|v?\d+(?:\.\d+){1,3}[\w.+-]*|"
    r"\d{4}-\d\d-\d\d[T ].*|\d\d:\d\d.*|[\w.+-]+@[\w-]+\.[A-Za-z]{2,10}|"
    r"[\w.-]+\.(?:py|js|ts|tsx|jsx|go|rs|java|rb|md|json|ya?ml|toml|txt|html?|css|pem|crt|key|pub|"
    r"env|sh|log|conf|cfg|ini|xml|csv|sql|lock|png|jpe?g|svg|com|org|net|io|dev|internal|local)"
    r"(?:[/:?#].*)?|[\w.-]+:\d{2,5}|0x[0-9a-fA-F]{1,8}|#[0-9a-fA-F]{3,8}|-----.*",
    re.DOTALL,
)
"""An id of an agent's record or a service, a digest, a constant, an address, a version, a file."""

_PATH: Final = re.compile(r"(?:~|\.{1,2})?/[\w.@%+~-]*(?:/[\w.@%+~${}-]*)*|[A-Za-z]:[\\/].*|\\\\.*")
_HEX: Final = re.compile(r"(?:0x)?[0-9a-fA-F]+")
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_LETTER: Final = re.compile(r"[^\W\d_]")
_DIGIT: Final = re.compile(r"\d")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_$]\w*")


def is_reference(value: str) -> bool:
    """Does *value* name where the secret is (a variable, a template), instead of being it?"""
    return _REFERENCE.fullmatch(value[:LOOK_CHARACTERS]) is not None


def is_code(value: str) -> bool:
    """Is *value* an expression of a program: a call, a member, an index, a keyword?"""
    return _CODE.fullmatch(value[:LOOK_CHARACTERS]) is not None


def is_example(value: str) -> bool:
    """Is *value* as a whole what one writes in place of a secret?"""
    return _EXAMPLE.fullmatch(value[:LOOK_CHARACTERS]) is not None or is_nobodys(value)


def is_named(value: str) -> bool:
    """Is *value* a known kind of id, digest, address, version, time or file name?"""
    return _NAMED.fullmatch(value[:LOOK_CHARACTERS]) is not None


def is_path(value: str) -> bool:
    """Is *value* a path with words in it?"""
    if value[:1] not in "/~.\\" and value[1:2] != ":":
        return "/" in value and value.count("/") > 1 and is_wordy(value.replace("/", ""))
    if _PATH.fullmatch(value[:LOOK_CHARACTERS]) is None:
        return False
    return len(value) < 24 or likeness(value) >= 0.5 or value.count("/") * 12 > len(value)


def is_hex(value: str) -> bool:
    """Are there hexadecimal digits only in *value*?"""
    return _HEX.fullmatch(value) is not None


def is_uuid(value: str) -> bool:
    """Is *value* written as a UUID is?"""
    return _UUID.fullmatch(value) is not None


def is_nothing(value: str) -> bool:
    """Is *value* of any of the kinds that no rule without a vendor's mark may take?"""
    return is_reference(value) or is_example(value) or is_named(value) or is_path(value)


def is_random(value: str, length_min: int = SECRET_LENGTH_MIN) -> bool:
    """Does *value* look as if a machine had drawn it: long, mixed, and no words?"""
    if len(value) < length_min or not _LETTER.search(value):
        return False
    if not _DIGIT.search(value) and not _is_scrambled(value):
        return False
    if is_hex(value) or is_uuid(value):
        return len(value) >= HEX_LENGTH_MIN and entropy(value.lower()) >= HEX_ENTROPY_MIN
    floor = SECRET_ENTROPY_MIN if len(value) >= SECRET_LENGTH_MIN else 2.8
    if entropy(value) < floor or is_wordy(value):
        return False
    return not is_nothing(value) and not is_code(value)


def _is_scrambled(value: str) -> bool:
    """Are these capitals and small letters in no order that words have?"""
    capitals = sum(map(str.isupper, value))
    small = sum(map(str.islower, value))
    return len(value) >= 20 and min(capitals, small) >= 4 and likeness(value) < 0.5


def is_identifier(value: str) -> bool:
    """Is *value* written as a name in a program is?"""
    return _IDENTIFIER.fullmatch(value) is not None


def is_password(value: str) -> bool:
    """Does *value* mix what people mix in passwords: letters and digits, or signs, in no form?"""
    if len(value) < 6 or not _LETTER.search(value):
        return False
    digit = _DIGIT.search(value) is not None
    sign = any(not each.isalnum() and each not in " _-./:" for each in value)
    upper = value.lower() != value
    return (digit and (sign or upper or len(value) >= 6)) or (sign and upper and len(value) >= 8)


def is_strong(value: str) -> bool:
    """Would nothing but a password be written so: capitals, small letters and digits together?"""
    if len(value) < 8 or not _DIGIT.search(value) or _TERM.match(value):
        return False
    return value.lower() != value and value.upper() != value and not is_nothing(value)


_TERM: Final = re.compile(
    r"(?i)(?:utf|sha|md|base|iso|http|tls|ssl|aes|rsa|oauth|argon|bcrypt|pbkdf|python|node|win|x|ipv|"
    r"es|rfc|cve|pep|issue|v)[-_ ]?\d|[a-z]+/[\d.]+|[A-Za-z]+\d?\(|\d+[a-z]{1,3}$"
)
