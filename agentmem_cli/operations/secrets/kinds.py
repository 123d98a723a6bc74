"""Names of kinds of secrets, and which rules find them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from agentmem_cli.operations.secrets.spans import Confidence

HELPERS: Final = (
    "-id",
    "-name",
    "-url",
    "-host",
    "-domain",
    "-repository",
    "-username",
    "-address",
    "-public-key",
)


def is_helper(rule: str) -> bool:
    """Does *rule* find what stands beside a secret, and no secret?"""
    return rule.rstrip("0123456789").rstrip(".").endswith(HELPERS)


def kind_of(rule: str) -> str:
    """Name the kind of secret that *rule* finds."""
    name = rule.partition(".")[2].removeprefix("secrets/")
    return name.rstrip("0123456789").rstrip(".")


def confidence_of(rule: str) -> Confidence:
    """Say how sure a match of *rule* is."""
    return "low" if rule == "agentmem.prose-password" else "high"
