"""A server that plays the vendors of destinations, and the config of a sheet."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from pytest_django import Settings

from tests.services.receivers import Receiver
from webhooks.kinds import google_tokens
from webhooks.transport import http
from webhooks.transport.outcome import Outcome


@pytest.fixture
def vendor(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """Play every vendor: requests keep their path and go to this receiver."""
    settings.WEBHOOK_ALLOW_HTTP = True
    settings.WEBHOOK_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    real = http.post
    with Receiver() as receiver:

        def post(url: str, body: bytes, headers: dict[str, str], **options: Any) -> Outcome:
            parts = urlsplit(url)
            query = f"?{parts.query}" if parts.query else ""
            named = {**headers, "X-Asked-Host": parts.netloc}
            return real(receiver.url(f"{parts.path}{query}"), body, named, **options)

        monkeypatch.setattr(http, "post", post)
        yield receiver


@pytest.fixture(scope="module")
def key() -> RSAPrivateKey:
    return generate_private_key(65537, 2048)


@pytest.fixture
def sheets(key: RSAPrivateKey) -> dict[str, Any]:
    """Return a config. The address of tokens in it is that of an attacker."""
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    credentials = {
        "type": "service_account",
        "private_key_id": "0123456789abcdef",
        "private_key": pem,
        "client_email": "robot@project.iam.gserviceaccount.com",
        "token_uri": "https://evil.example/token",
    }
    google_tokens.TOKENS_KEPT.clear()
    return {"credentials": json.dumps(credentials), "spreadsheetId": "a" * 44, "sheet": "It's"}
