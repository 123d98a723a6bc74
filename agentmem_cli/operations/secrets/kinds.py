"""Names of kinds of secrets, and which rules find them.

A rule of our own is called after the kind that it finds, those of the engine's
catalogue after vendor and thing: both are a kind's name as they stand, but for
those below, which other rules find too. Names stay the same between versions.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from agentmem_cli.operations.secrets.spans import Confidence

_FILLED: Final = re.compile(r"-(?:api|access|auth)(-(?:key|token))$")
_SUFFIX: Final = re.compile(r"\.\d+$")
_NAMES: Final = {
    "basic-credentials": "authorization",
    "bearer-token": "authorization",
    "curl-auth-header": "authorization",
    "curl-auth-user": "password",
    "curl-user": "password",
    "netrc": "password",
    "pgpass": "password",
    "sql-password": "password",
    "mysql-password": "password",
    "client-password": "password",
    "command-password": "password",
    "wifi-password": "password",
    "whole-password": "password",
    "piped-password": "password",
    "prose-password": "password",
    "prose-credentials": "password",
    "nuget-config-password": "password",
    "hashicorp-tf-password": "password",
    "option-secret": "secret",
    "prose-secret": "secret",
    "query-secret": "secret",
    "kubernetes-secret-yaml": "secret",
    "generic-credential-uri": "url-password",
    "mongodb-connection-string": "url-password",
    "url-user": "url-password",
    "private-key-end": "private-key",
    "putty-key": "private-key",
    "kube-key": "private-key",
    "json-web-key": "private-key",
    "npm-auth": "npm-token",
    "npm-access-token": "npm-token",
    "npmjsaccesstoken": "npm-token",
    "aws-access-token": "aws-access-key-id",
    "aws-secret-access-key": "aws-secret-access-key",
    "github-pat": "github-token",
    "github-fine-grained-pat": "github-token",
    "github-oauth": "github-token",
    "github-app-token": "github-token",
    "github-refresh-token": "github-token",
    "gcp-api-key": "google-api-key",
    "gcp-gemini-api": "google-ai-key",
    "gcp-service-account": "private-key",
    "jwt-base64": "jwt",
    "openai-api-key": "openai-key",
    "cloudflareapitoken": "cloudflare-token",
    "anthropic-api-key": "anthropic-key",
    "anthropic-admin-api-key": "anthropic-key",
    "huggingface-access-token": "huggingface-token",
    "huggingface-organization-api-token": "huggingface-token",
    "stripe-access-token": "stripe-key",
    "slack-webhook-url": "slack-webhook",
    "microsoft-teams-webhook": "teams-webhook",
    "telegram-bot-api-token": "telegram-token",
    "twilio-api-key": "twilio-key",
    "sendgrid-api-token": "sendgrid-key",
    "sendgrid": "sendgrid-key",
    "pypi-upload-token": "pypi-token",
    "vault-service-token": "vault-token",
    "openrouter": "openrouter-key",
    "vault-batch-token": "vault-token",
}
_HELPERS: Final = (
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
_MEDIUM: Final = frozenset(
    {
        "agentmem.secret",
        "agentmem.password",
        "agentmem.whole-password",
        "agentmem.option-secret",
        "agentmem.query-secret",
        "agentmem.prose-secret",
        "agentmem.bearer-token",
        "agentmem.basic-credentials",
        "agentmem.cookie",
        "agentmem.password-hash",
        "agentmem.sentry-dsn",
        "agentmem.sql-password",
        "agentmem.wifi-password",
        "agentmem.mnemonic",
    }
)
_LOW: Final = frozenset({"agentmem.prose-password", "agentmem.prose-credentials"})


@cache
def bare(rule: str) -> str:
    """Return the name of *rule* without where it comes from and its number."""
    name = rule.partition(".")[2].removeprefix("secrets/")
    return _SUFFIX.sub("", name)


@cache
def kind_of(rule: str) -> str:
    """Name the kind of secret that *rule* finds."""
    if rule.startswith("veles.secrets/gitlab"):
        return "gitlab-token"
    name = bare(rule)
    if rule.startswith("betterleaks.gitlab-"):
        return "gitlab-token"
    if rule.startswith("betterleaks.slack-") and name.endswith("token"):
        return "slack-token"
    return _NAMES.get(name) or _FILLED.sub(r"\1", name)


@cache
def is_helper(rule: str) -> bool:
    """Is *rule*, which the catalogue hides, one for what stands beside a secret?"""
    return bare(rule).endswith(_HELPERS)


@cache
def vendor_of(rule: str) -> str:
    """Return the vendor's word of a rule of the catalogue."""
    return bare(rule).partition("-")[0]


@cache
def confidence_of(rule: str) -> Confidence:
    """Say how sure a match of *rule* is."""
    if rule in _LOW:
        return "low"
    return "medium" if _SUFFIX.sub("", rule) in _MEDIUM else "high"
