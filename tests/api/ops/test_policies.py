"""Policies of pages, and security.txt (docs/contract.md 8.22 and 8.23)."""

import datetime as dt
from collections.abc import Callable

import pytest

from tests.services.application import Application
from tests.services.client import Client

pytestmark = pytest.mark.on_sqlite

SECURITY_TXT = "/.well-known/security.txt"


def test_api_docs__run_under_a_policy(api: Client) -> None:
    """They share the dashboard's origin."""
    policy = api.get("/api/docs").headers["Content-Security-Policy"].split("; ")
    assert "unsafe" not in " ".join(policy)
    assert {"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"} <= set(policy)


@pytest.mark.parametrize("path", ["/account/login/", "/api/docs", "/f/frm_unknown", "/dashboard/nothing"])
def test_page__of_any_part__forbids_devices(api: Client, path: str) -> None:
    answer = api.get(path)
    assert "camera=()" in answer.headers["Permissions-Policy"]
    assert "geolocation=()" in answer.headers["Permissions-Policy"]


def test_security_txt__without_a_contact__is_404(api: Client) -> None:
    assert api.get(SECURITY_TXT).status == 404


def test_security_txt__with_a_contact__is_as_rfc_9116_says(shared_service: Callable[..., Application]) -> None:
    service = shared_service(SECURITY_CONTACT="mailto:security@example.com")
    with Client(service.port) as client:
        answer = client.get(SECURITY_TXT)
    assert (answer.status, answer.headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
    fields = dict(line.split(": ", 1) for line in answer.text.splitlines())
    assert fields["Contact"] == "mailto:security@example.com"
    assert fields["Canonical"] == f"{service.base_url}{SECURITY_TXT}"
    left = dt.datetime.fromisoformat(fields["Expires"]) - dt.datetime.now(dt.UTC)
    assert dt.timedelta(days=170) < left < dt.timedelta(days=365)
