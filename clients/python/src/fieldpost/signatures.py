"""Messages of webhooks, verified as Standard Webhooks says (https://www.standardwebhooks.com)."""

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any

from fieldpost.errors import SignatureError

SECRET_PREFIX = "whsec_"  # noqa: S105 - how every secret begins
SCHEME = "v1"


def verify_webhook(
    body: bytes | str, headers: Mapping[str, str], secret: str, tolerance: float = 300
) -> dict[str, Any]:
    """
    Return the event of a genuine message, `{type, timestamp, data}`.

    `body` is the request's body as it came, `headers` are read in any case, and `tolerance` is in seconds. Raises
    SignatureError for a message that another secret signed, or that is older or newer than the tolerance.
    """
    content = body.encode() if isinstance(body, str) else body
    named = {name.lower(): value for name, value in headers.items()}
    message_id, timestamp = named.get("webhook-id", ""), named.get("webhook-timestamp", "")
    if not message_id or not timestamp:
        raise SignatureError("The headers webhook-id and webhook-timestamp are missing.")
    _check_time(timestamp, tolerance)
    signed = b".".join([message_id.encode(), timestamp.encode(), content])
    expected = base64.b64encode(hmac.new(_key(secret), signed, hashlib.sha256).digest())
    if not _has_signature(named.get("webhook-signature", ""), expected):
        raise SignatureError("No signature of this message is by this secret.")
    event: dict[str, Any] = json.loads(content)
    return event


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key:  # anyone can sign with an empty secret, such as that of a variable that is not set
        raise SignatureError("The secret is not one of a webhook: it begins with whsec_.")
    return key


def _check_time(timestamp: str, tolerance: float) -> None:
    if not (timestamp.isascii() and timestamp.isdigit()):
        raise SignatureError("The header webhook-timestamp is not a number of seconds.")
    if abs(time.time() - int(timestamp)) > tolerance:
        raise SignatureError("The message is too old, or the clock of this machine is wrong.")


def _has_signature(signatures: str, expected: bytes) -> bool:
    """Compare each: after a rotation a message has a signature by the old secret and one by the new."""
    parts = [one.partition(",") for one in signatures.split(" ")]
    found = [hmac.compare_digest(value.encode(), expected) for scheme, _, value in parts if scheme == SCHEME]
    return any(found)
