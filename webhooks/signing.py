"""Signed webhook messages (https://www.standardwebhooks.com, docs/contract.md 7)."""

import math
from base64 import b64encode
from collections.abc import Sequence
from datetime import UTC, datetime
from secrets import token_bytes

from standardwebhooks import Webhook

SECRET_PREFIX = "whsec_"  # noqa: S105 - the prefix of every secret, not a secret
SECRET_BYTES = 32  # the specification asks for 24 to 64
SIGNATURE = "webhook-signature"  # the header
USER_AGENT = "Fieldpost-Webhooks/1.0"


def new_secret() -> str:
    """Return `whsec_` and the base64 of 32 random bytes."""
    return SECRET_PREFIX + b64encode(token_bytes(SECRET_BYTES)).decode("ascii")


def headers_for(message_id: str, body: bytes, secrets: Sequence[str], sent_at: datetime) -> dict[str, str]:
    """
    Return the headers of one attempt, signed once with every secret: both of them for 24 hours after a rotation.

    `body` is the UTF-8 JSON exactly as it is sent; `sent_at` is aware and becomes epoch seconds.
    """
    utc = sent_at.astimezone(UTC)  # the library relabels whatever it is given as UTC, without converting
    text = body.decode("utf-8")
    return {
        "Content-Type": "application/json",
        "User-Agent": USER_AGENT,
        "webhook-id": message_id,
        "webhook-timestamp": str(math.floor(utc.timestamp())),
        SIGNATURE: " ".join(Webhook(secret).sign(message_id, utc, text) for secret in secrets),
    }
