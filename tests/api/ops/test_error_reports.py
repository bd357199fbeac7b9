"""A real report of sentry-sdk, sent by the running service to a receiver of ours: no secret is in it."""

import gzip
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from tests.services.application import Application
from tests.services.client import Client
from tests.services.receivers import Receiver
from tests.support.tenants import make_tenant

pytestmark = pytest.mark.on_sqlite

BROKEN = "CREATE TRIGGER broken BEFORE INSERT ON submissions_submission BEGIN SELECT RAISE(ABORT, 'no room'); END"
SECRETS = {
    "Cookie": "fieldpost_session=cookie-secret",
    "Authorization": "Bearer bearer-secret",
    "X-Forwarded-For": "203.0.113.77",
    "Referer": "https://pages.example/?token=referer-secret",
    "X-Api-Token": "token-secret",
}


def broken_copy(tmp_path: Path) -> str:
    """Copy the database and return the address: no submission can be stored there, an error that is ours, so 500."""
    copy = tmp_path / "broken.sqlite3"
    connection.ensure_connection()
    with closing(sqlite3.connect(copy)) as target:
        connection.connection.backup(target)
        target.execute(BROKEN)
    return f"sqlite:///{copy}"


def reports(receiver: Receiver) -> list[dict[str, Any]]:
    """Return the events of the envelopes: lines of JSON, the first two of which are headers."""
    bodies = [request.body for request in receiver.requests]
    texts = [gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body for body in bodies]
    return [json.loads(line) for text in texts for line in text.splitlines() if b'"exception"' in line]


def test_error_report__of_a_request_with_secrets__has_none_of_them(
    tmp_path: Path, start_service: Callable[..., Application], receiver: Receiver
) -> None:
    """The SDK's own scrubber knows neither our header nor the names of proxies' headers."""
    tenant = make_tenant()
    dsn = f"http://public@127.0.0.1:{receiver.port}/1"
    service = start_service(DATABASE_URL=broken_copy(tmp_path), SENTRY_DSN=dsn)
    with Client(service.port) as client:
        body = {"name": "submitted-secret"}
        answer = client.post("/api/submit?token=query-secret", tenant.key, json=body, headers=SECRETS)
    assert answer.status == 500
    receiver.wait_for(1)
    (report,) = reports(receiver)
    assert report["exception"]["values"][-1]["value"] == "no room"
    url = f"http://127.0.0.1:{service.port}/api/submit"
    assert (report["request"]["method"], report["request"]["url"]) == ("POST", url)
    sent = json.dumps(report)
    assert [word for word in ("secret", tenant.key, "203.0.113.77", client.address) if word in sent] == []


@pytest.mark.parametrize("path", ["/api/submit?a=b", "/f/{form}?a=b"])
def test_error__that_is_ours__is_logged_once_with_request_and_traceback(
    tmp_path: Path, start_service: Callable[..., Application], path: str
) -> None:
    """Django wrote a second line, without the traceback."""
    tenant = make_tenant()
    path = path.format(form=tenant.form())
    service = start_service(DATABASE_URL=broken_copy(tmp_path))
    with Client(service.port) as client:
        answer = client.post(path, tenant.key, json={"a": "b"})
    assert answer.status == 500
    lines = [line for line in service.logs()["web"].splitlines() if answer.headers["X-Request-Id"] in line]
    (entry,) = map(json.loads, lines)
    assert (entry["event"], entry["method"], entry["path"]) == ("internal error", "POST", path)
    assert "no room" in entry["exception"]
