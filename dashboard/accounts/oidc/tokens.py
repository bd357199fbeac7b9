"""ID tokens: who signed them, for whom, until when (OpenID Connect Core 1.0, 3.1.3.7)."""

import time
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.utils.crypto import constant_time_compare
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import JWKRegistry, KeySet
from joserfc.jws import JWSRegistry
from joserfc.jwt import JWTClaimsRegistry, decode

from dashboard.accounts.oidc.issuer import Endpoints, fetch_keys
from webhooks.transport.deadline import Deadline

# Asymmetric ones: with others, a public key or the client's secret could sign.
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"]
KEY_TYPES = ("RSA", "EC")
CLOCKS_DIFFER = 60  # seconds by which the issuer's clock may be ahead of ours
FRESH_SECONDS = 60  # since the login at the issuer, for a sensitive change
LONGEST_SUBJECT = 255  # ASCII characters, by the specification


class TokenRefused(Exception):
    """A token that must not be believed. The text is for the log."""


def read_token(token: object, endpoints: Endpoints, deadline: Deadline, *, nonce: str) -> dict[str, Any]:
    """Return the claims of an ID token that is good for this login. Raises TokenRefused and IssuerDown."""
    if not isinstance(token, str):
        raise TokenRefused("there is no ID token")
    try:
        claims = _verified(token, endpoints, deadline)
        _check_claims(claims)
    except (JoseError, ValueError) as error:  # ValueError: of texts that are no token, and of odd numbers in keys
        raise TokenRefused(f"ID token: {type(error).__name__} {error}") from error
    if not constant_time_compare(str(claims["nonce"]), nonce):
        raise TokenRefused("ID token: it answers another login")
    return claims


def is_fresh_login(claims: dict[str, Any]) -> bool:
    """Return whether the person logged in at the issuer within the last minute."""
    moment = claims.get("auth_time")
    if isinstance(moment, bool) or not isinstance(moment, int | float):
        return False
    return -CLOCKS_DIFFER <= time.time() - moment <= FRESH_SECONDS


def _verified(token: str, endpoints: Endpoints, deadline: Deadline) -> dict[str, Any]:
    registry = JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
    registry.max_header_length, registry.max_payload_length = 64 * 1024, 1024 * 1024  # the call has bounded it
    try:
        return decode(token, _key_set(fetch_keys(endpoints, deadline)), registry=registry).claims
    except InvalidKeyIdError:  # the issuer signs with a new key
        return decode(token, _key_set(fetch_keys(endpoints, deadline, again=True)), registry=registry).claims


def _key_set(found: dict[str, Any]) -> KeySet:
    """Return the keys that can have signed a token. One that we cannot read does not spoil the others."""
    published, keys = found.get("keys"), []
    for each in published if isinstance(published, list) else []:
        if isinstance(each, dict) and each.get("kty") in KEY_TYPES and each.get("use", "sig") == "sig":
            with suppress(JoseError, ValueError, TypeError, KeyError, AttributeError):
                keys.append(JWKRegistry.import_key(each))
    return KeySet(keys)


def _check_claims(claims: dict[str, Any]) -> None:
    expected = JWTClaimsRegistry(
        leeway=CLOCKS_DIFFER,
        iss={"essential": True, "value": settings.OIDC_ISSUER},
        aud={"essential": True, "value": settings.OIDC_CLIENT_ID},
        exp={"essential": True},
        iat={"essential": True},
        sub={"essential": True},
        nonce={"essential": True},
    )
    expected.validate(claims)
    JWTClaimsRegistry().validate_exp(claims["exp"])  # without leeway
    audiences = claims["aud"] if isinstance(claims["aud"], list) else [claims["aud"]]
    if claims.get("azp", settings.OIDC_CLIENT_ID if len(audiences) == 1 else None) != settings.OIDC_CLIENT_ID:
        raise TokenRefused("ID token: it was issued to another client")
    subject = claims["sub"]
    if not (subject.isascii() and subject.isprintable() and len(subject) <= LONGEST_SUBJECT):
        raise TokenRefused("ID token: its sub is no identifier")
