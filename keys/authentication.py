"""Authentication by the `x-access-key` header (docs/contract.md 3)."""

import datetime as dt
import logging
import uuid
from typing import Any, cast

from django.contrib.auth.models import AnonymousUser
from django.db import Error as DatabaseError
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from config.base.times import now
from keys import tokens
from keys.access_keys import note_use
from keys.models import AccessKey

HEADER = "x-access-key"
META_NAME = "HTTP_X_ACCESS_KEY"
USE_NOTED_EVERY = dt.timedelta(minutes=10)

logger = logging.getLogger(__name__)


class AccessKeyAuthentication(BaseAuthentication):
    """Returns `(AnonymousUser(), AccessKey)`, or None without the header. Ignores cookies."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, AccessKey] | None:
        """Raise AuthenticationFailed for a key that is malformed, unknown, revoked or expired."""
        token = request._request.META.get(META_NAME)
        if token is None:
            return None
        key = find_key(token)
        if key is None:
            raise AuthenticationFailed
        if key.last_used_at is None or now() - key.last_used_at >= USE_NOTED_EVERY:
            note_use_safely(key.pk)
        request._request.access_key = key  # type: ignore[attr-defined]  # read by keys.audit
        return AnonymousUser(), key

    def authenticate_header(self, request: Request) -> str:
        """Return the challenge; without one DRF would respond with 403 instead of 401."""
        return "AccessKey"


def caller_key(request: Request) -> AccessKey:
    return cast(AccessKey, request.auth)


def find_key(token: str) -> AccessKey | None:
    """Return the usable key with this token, and its organization, or None. A wrong checksum costs no query."""
    if not tokens.is_well_formed(token):
        return None
    return AccessKey.objects.usable().select_related("organization").filter(digest=tokens.digest(token)).first()


def note_use_safely(key_id: uuid.UUID, *, from_browser: bool = False) -> None:
    """Store a use; a database error is only logged. Callers do so at most every ten minutes."""
    try:
        note_use(key_id, from_browser=from_browser)
    except DatabaseError as error:
        logger.warning("could not store the use of a key: %s", error)


class AccessKeyScheme(OpenApiAuthenticationExtension):
    target_class = AccessKeyAuthentication
    name = "accessKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        about = "An access key of the organization. Keys are made in the dashboard or with `createKey`."
        return {"type": "apiKey", "in": "header", "name": HEADER, "description": about}
