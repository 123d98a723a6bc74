"""What tells who somebody is: groups that are looked for only when asked for."""

from __future__ import annotations

import re
from ipaddress import IPv4Address
from typing import TYPE_CHECKING, Final

from agentmem_cli.operations.secrets.spans import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Fits = Callable[[bytes], bool]

_EMAIL: Final = re.compile(
    rb"(?<![\w.+%-])[A-Za-z0-9_][\w.+%-]{0,63}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+"
    rb"[A-Za-z]{2,24}(?![\w-])"
)
_HOME: Final = re.compile(
    rb"(?:/home/|/Users/|[A-Za-z]:(?:\\{1,2}|/)Users(?:\\{1,2}|/))([^\s/\\:\"'<>|*?]{1,64})"
)
_CARD: Final = re.compile(rb"(?<![\w.-])[2-6]\d{3}(?:[ -]?\d{4}){2}[ -]?\d{1,7}(?![\w-]|\.\d)")
_IBAN: Final = re.compile(rb"(?<!\w)[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?!\w)")
_IPV4: Final = re.compile(rb"(?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?![\w-]|\.\d)")

_ROLES: Final = re.compile(
    rb"(?i)(?:no-?reply|git)@|"
    rb".*@(?:.*\.)?example\.(?:com|org|net)$|.*@users\.noreply\.|.*\.(?:png|jpe?g|svg|gif|webp)$"
)
_NOBODY: Final = frozenset(
    b"user username you me name shared public default runner vscode node ubuntu root app dev "
    b"linuxbrew vagrant ec2-user codespace jovyan runneradmin ... $user ${user} <user>".split()
)
_CARD_DIGITS: Final = range(13, 20)
_IBAN_CHARACTERS: Final = range(15, 35)
_DIGITS_MIN: Final = 4
_VERSIONS: Final = frozenset({0, 1, 2, 255})
"""First numbers of what is rather a version, or a mask."""


def _is_card(text: bytes) -> bool:
    """Do the digits bear the check digit of Luhn (ISO/IEC 7812-1), and differ?"""
    digits = [int(each) for each in text.decode("ascii") if each.isdigit()]
    if len(digits) not in _CARD_DIGITS or len(set(digits)) < _DIGITS_MIN:
        return False
    doubled = [sum(divmod(2 * each, 10)) for each in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _is_iban(text: bytes) -> bool:
    """Is the number one modulo 97, with its letters as 10 to 35 (ISO 13616)?"""
    plain = text.replace(b" ", b"").decode("ascii")
    if len(plain) not in _IBAN_CHARACTERS:
        return False
    turned = "".join(str(int(each, 36)) for each in plain[4:] + plain[:4])
    return int(turned) % 97 == 1


def _is_address(text: bytes) -> bool:
    """Is it an address of one machine, not of a loop, of nothing or of a mask?"""
    try:
        address = IPv4Address(text.decode("ascii"))
    except ValueError:
        return False
    first = int(address) >> 24
    return not (address.is_loopback or address.is_unspecified or first in _VERSIONS)


_FORMS: Final[dict[str, tuple[re.Pattern[bytes], Fits]]] = {
    "email": (_EMAIL, lambda text: _ROLES.match(text) is None),
    "home": (_HOME, lambda text: text.lower() not in _NOBODY),
    "card": (_CARD, _is_card),
    "iban": (_IBAN, _is_iban),
    "ipv4": (_IPV4, _is_address),
}
GROUPS: Final = frozenset(_FORMS)


def finders(groups: frozenset[str]) -> list[Callable[[bytes], Iterator[Span]]]:
    """Return what looks for *groups* in some bytes, one function a group.

    ``email`` is addresses, ``home`` the users' names in paths of home folders,
    ``card`` numbers of cards, ``iban`` numbers of accounts, ``ipv4`` addresses of
    machines. What an example or a program has in place of a person is none.

    Raises:
        ValueError: A name is no group.
    """
    unknown = groups - GROUPS
    if unknown:
        raise ValueError(f"no such group: {', '.join(sorted(unknown))}")
    return [_finder(group) for group in sorted(groups)]


def _finder(group: str) -> Callable[[bytes], Iterator[Span]]:
    pattern, fits = _FORMS[group]
    which = pattern.groups

    def find(data: bytes) -> Iterator[Span]:
        for match in pattern.finditer(data):
            if fits(match.group(which)):
                yield Span(*match.span(which), group, "medium", f"agentmem.{group}")

    return find
