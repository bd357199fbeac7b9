"""Access keys as the API shows them, written out whole."""

import datetime as dt
from typing import Any

from config.base.ids import Prefix, encode_id
from config.base.times import now
from keys.models import AccessKey
from keys.tokens import digest
from tests.support.replies import ALL_SIX, TIME, Like, Text, an_id

SECRET = Like(r"fp_[0-9A-Za-z]{46}")
PUBLISHABLE = Like(r"fp_pub_[0-9A-Za-z]{46}")


def today(days: int = 0) -> str:
    """Return today in UTC, or a day before or after it, as the API writes it."""
    return (now().date() + dt.timedelta(days=days)).isoformat()


def record(name: Text = "Made", **values: Any) -> dict[str, Any]:
    """Return the record of an unused secret key, with all six permissions by default."""
    prefix = "fp_pub_" if values.get("kind") == "publishable" else "fp_"
    prefix += "test_" if values.get("mode") == "test" else ""
    return {
        "id": an_id("key"),
        "name": name,
        "kind": "secret",
        "mode": "live",
        "admin": False,
        "permissions": ALL_SIX,
        "expiresAt": None,
        "hint": Like(rf"{prefix}…[0-9A-Za-z]{{4}}"),
        "createdAt": TIME,
        "lastUsedAt": None,
        "revokedAt": None,
        **values,
    }


def key_of(token: str) -> AccessKey:
    return AccessKey.objects.get(digest=digest(token))


def id_of_key(token: str) -> str:
    return encode_id(Prefix.ACCESS_KEY, key_of(token).pk)


def expire(token: str) -> None:
    """Let the last day of a key have been yesterday."""
    AccessKey.objects.filter(digest=digest(token)).update(expires_on=now().date() - dt.timedelta(days=1))
