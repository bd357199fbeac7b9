"""
The key of a Google service account, and the access tokens that it is exchanged for.

https://developers.google.com/identity/protocols/oauth2/service-account#httprest
"""

import base64
import hashlib
import json
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from django.core.cache.backends.locmem import LocMemCache
from django.utils.translation import gettext_lazy, gettext_noop
from rest_framework import serializers

from submissions.json_text import dump_json
from webhooks.kinds.kind import USER_AGENT, answer_of
from webhooks.models import ErrorClass
from webhooks.transport import http
from webhooks.transport.connection import MAX_ANSWER_BYTES
from webhooks.transport.outcome import EXCERPT_BYTES, Outcome

TOKENS = "https://oauth2.googleapis.com/token"
SCOPE = "https://www.googleapis.com/auth/spreadsheets"
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
ASKED_SECONDS = 3600  # for which a token is asked; Google's most
KEPT_SECONDS = 3000.0
OLD_SECONDS = 60.0
# Of this process: a token is in no shared cache.
TOKENS_KEPT = LocMemCache("tokens of Google", {"TIMEOUT": KEPT_SECONDS, "OPTIONS": {"MAX_ENTRIES": 256}})
TOKEN = re.compile(r"[!-~]{1,4096}")
KEY_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")
MOST_PEM = 4_000  # characters: a key of 4,096 bits has 3,272. Reading a much longer one takes minutes
EMAIL = re.compile(r"[a-z0-9.-]{1,150}@[a-z0-9.-]{1,100}\.gserviceaccount\.com")
NO_KEY = gettext_noop("Google refused the key of the service account. Make a new one and paste it.")


class CredentialsField(serializers.Field[dict[str, str], Any, dict[str, str], Any]):
    """The key of a service account: its JSON as a text, or as an object. Only what signs is kept."""

    default_error_messages = {
        "invalid": gettext_lazy("Paste the whole JSON key of a service account."),
        "not_a_service_account": gettext_lazy("This is not the key of a service account: its type is another one."),
        "invalid_key": gettext_lazy("The private key in it cannot be read. Make a new key and paste it whole."),
    }

    def to_internal_value(self, data: Any) -> dict[str, str]:
        if isinstance(data, str) and len(data) <= 20_000:
            try:
                data = json.loads(data)
            except (ValueError, RecursionError):
                self.fail("invalid")
        if not isinstance(data, dict):
            self.fail("invalid")
        if data.get("type") != "service_account":
            self.fail("not_a_service_account")
        given = {name: data.get(name) for name in ("client_email", "private_key", "private_key_id")}
        kept = {name: text for name, text in given.items() if isinstance(text, str) and len(text) <= MOST_PEM}
        if kept.keys() != given.keys():
            self.fail("invalid")
        if not EMAIL.fullmatch(kept["client_email"]) or not KEY_ID.fullmatch(kept["private_key_id"]):
            self.fail("invalid")
        if key_of(kept["private_key"]) is None:
            self.fail("invalid_key")
        return kept


def token_of(credentials: Mapping[str, str]) -> tuple[str, Outcome | None]:
    """Return a token, or why there is none."""
    kept = TOKENS_KEPT.get(_fingerprint(credentials))
    if kept is not None:
        return kept[0], None
    outcome = _ask(credentials)
    token = _token_in(outcome) if outcome.succeeded else ""
    if token:
        TOKENS_KEPT.set(_fingerprint(credentials), (token, time.monotonic()))
        return token, None
    # "Invalid JWT: Token must be … in a reasonable timeframe": our clock is wrong, and not their key.
    is_refused = outcome.status in (400, 401, 403) and "timeframe" not in outcome.response_excerpt
    # The answer of a success would hold the token.
    excerpt = "" if outcome.succeeded else outcome.response_excerpt[:EXCERPT_BYTES]
    failed = replace(outcome, succeeded=False, gone=False, response_excerpt=excerpt)
    error = outcome.error or ErrorClass.INVALID_RESPONSE.value
    return "", replace(failed, error=error, refused=NO_KEY if is_refused else "")


def forget_token(credentials: Mapping[str, str]) -> bool:
    """Drop a token; return whether it was an old one, so that another one may help."""
    kept = TOKENS_KEPT.get(_fingerprint(credentials))
    TOKENS_KEPT.delete(_fingerprint(credentials))
    return kept is not None and time.monotonic() - kept[1] > OLD_SECONDS


def _fingerprint(credentials: Mapping[str, str]) -> str:
    text = credentials["client_email"] + "\n" + credentials["private_key"]
    return hashlib.sha256(text.encode()).hexdigest()


def _ask(credentials: Mapping[str, str]) -> Outcome:
    body = urlencode({"grant_type": GRANT, "assertion": _assertion(credentials)}).encode()
    headers = {"Content-Type": "application/x-www-form-urlencoded", "User-Agent": USER_AGENT}
    return http.post(TOKENS, body, headers, kept=MAX_ANSWER_BYTES)


def _token_in(outcome: Outcome) -> str:
    token = answer_of(outcome).get("access_token")
    return token if isinstance(token, str) and TOKEN.fullmatch(token) else ""


def _base64(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def _assertion(credentials: Mapping[str, str]) -> str:
    """Return the signed JWT (RFC 7519, RFC 7515) that asks for a token."""
    issued = int(time.time())
    head = {"alg": "RS256", "typ": "JWT", "kid": credentials["private_key_id"]}
    claims = {
        "iss": credentials["client_email"],
        "scope": SCOPE,
        "aud": TOKENS,
        "iat": issued,
        "exp": issued + ASKED_SECONDS,
    }
    signed = b".".join(_base64(dump_json(part).encode()) for part in (head, claims))
    key = key_of(credentials["private_key"])
    assert key is not None  # noqa: S101 - it was read when it was saved
    return (signed + b"." + _base64(key.sign(signed, PKCS1v15(), SHA256()))).decode()


def key_of(text: str) -> RSAPrivateKey | None:
    try:
        key = load_pem_private_key(text.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None
    return key if isinstance(key, RSAPrivateKey) and 2048 <= key.key_size <= 4096 else None
