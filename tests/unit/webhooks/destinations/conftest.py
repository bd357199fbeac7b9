"""A server that plays the vendors of destinations."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from pytest_django import Settings

from tests.services.receivers import Receiver
from webhooks.channels import http
from webhooks.channels.outcome import Outcome


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
