import base64
import hashlib
import hmac
import time

TOLERANCE = 300  # seconds


def verify(
    secret: str, message_id: str, timestamp: str, signatures: str, body: bytes, now: float | None = None
) -> bool:
    """
    Return whether this raw body was signed with `secret` ("whsec_…") within five minutes.

    `message_id`, `timestamp` and `signatures` are the headers webhook-id, webhook-timestamp and webhook-signature.
    """
    moment = time.time() if now is None else now
    if not timestamp.isdecimal() or len(timestamp) > 12 or abs(moment - int(timestamp)) > TOLERANCE:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{message_id}.{timestamp}.".encode() + body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    candidates = (one.partition(",") for one in signatures.split(" "))
    return any(version == "v1" and hmac.compare_digest(value.encode(), expected) for version, _, value in candidates)
