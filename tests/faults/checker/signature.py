"""An independent verifier of signed messages (https://www.standardwebhooks.com): plain HMAC, none of our code."""

import base64
import hashlib
import hmac


def verifies(secret: str, message_id: str, timestamp: str, body: bytes, signatures: str) -> bool:
    """Return whether one of the space-separated `v1,` signatures is this secret's."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{message_id}.{timestamp}.".encode() + body
    right = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    versions = (signature.partition(",") for signature in signatures.split())
    return any(version == "v1" and hmac.compare_digest(value, right) for version, _, value in versions)
