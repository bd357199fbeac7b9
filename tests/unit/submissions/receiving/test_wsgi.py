"""`/api/submit` is answered without most of Django, and header by header as with it (docs/adr/0099)."""

import io
import json
import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from django.core.handlers.wsgi import WSGIHandler
from django.db import connections
from pytest_django import Settings

from forms_app.actions import create_form
from forms_app.models import Form
from keys.access_keys import issue_key
from submissions.models import Submission
from submissions.receiving.wsgi import SubmitApplication
from tests.unit.webhooks.rows import make_form

BODY = json.dumps({"name": "Ada", "message": "Hello"}).encode()
VOLATILE = re.compile(r"sub_[0-9a-z]{26}|\d{4}-\d\d-\d\dT[0-9:.]+Z|\b[0-9a-f]{32}\b")
COUNTS = ("X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After")


@pytest.fixture(autouse=True)
def no_request_id() -> Iterator[None]:
    """Clear the id that a request leaves for the log lines of its thread."""
    yield
    structlog.contextvars.clear_contextvars()


@pytest.fixture
def key(db: None, monkeypatch: pytest.MonkeyPatch) -> str:  # noqa: ARG001  # pytest-django's, for the rows
    # The end of a request closes the connection, and with it the test's transaction.
    monkeypatch.setattr(connections["default"], "close_if_unusable_or_obsolete", lambda: None)
    form = make_form()
    create_form(organization=form.organization, name="Default", status=Form.Status.PUBLISHED)
    _, token = issue_key(organization=form.organization, name="Test", by=None)
    return token


def ask(application: Any, key: str, body: bytes = BODY, **given: str) -> tuple[int, dict[str, str], str]:
    """Return status, headers and body of the answer, without what differs from request to request."""
    environ = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/api/submit",
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "8000",
        "REMOTE_ADDR": "127.0.0.1",
        "HTTP_HOST": "localhost",
        "HTTP_X_ACCESS_KEY": key,
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.url_scheme": "http",
        **given,
    }
    started: list[tuple[str, list[tuple[str, str]]]] = []
    response = application(environ, lambda status, headers: started.append((status, headers)))
    content = b"".join(response).decode()
    getattr(response, "close", lambda: None)()
    (status, headers), *_ = started
    assert len(headers) == len(dict(headers))  # no header twice
    shown = {name: VOLATILE.sub("", value) for name, value in headers if name not in COUNTS}
    return int(status.split()[0]), shown, VOLATILE.sub("", content)


REQUESTS: dict[str, tuple[int, dict[str, Any]]] = {
    "a submission": (201, {}),
    "with a request id": (201, {"HTTP_X_REQUEST_ID": "my-id.1"}),
    "with an unsafe request id": (201, {"HTTP_X_REQUEST_ID": "no spaces"}),
    "with cookies": (201, {"HTTP_COOKIE": "fieldpost_session=abc; fieldpost_csrf=a"}),
    "from a page": (201, {"HTTP_ORIGIN": "https://example.com"}),
    "with an idempotency key": (201, {"HTTP_IDEMPOTENCY_KEY": "once"}),
    "broken JSON": (400, {"body": b'{"name": '}),
    "no media type": (415, {"CONTENT_TYPE": ""}),
    "a malformed form": (400, {"QUERY_STRING": "formId=frm_1"}),
    "too large": (413, {"body": b'{"name": "' + b"x" * 300_000 + b'"}'}),
    "a malformed key, so the body is not read": (401, {"key": "fp_short"}),
    "an unknown host": (400, {"HTTP_HOST": "elsewhere.example"}),
    "a malformed host": (400, {"HTTP_HOST": "local host"}),
    "a port": (201, {"HTTP_HOST": "LOCALHOST:8000"}),
    "https": (201, {"wsgi.url_scheme": "https"}),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_submit__any_request__is_answered_as_by_all_of_django(name: str, key: str, settings: Settings) -> None:
    settings.SECURE_HSTS_SECONDS = 60
    status, given = REQUESTS[name]
    given = {"key": key, **given}
    expected = ask(WSGIHandler(), **given)
    found = ask(SubmitApplication(), **given)
    if name == "with an idempotency key":  # the second one is a replay
        assert found[1].pop("Idempotent-Replayed") == "true"
    assert found == expected
    assert found[0] == status


def test_submit__view_that_fails__is_answered_as_by_all_of_django(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors outside the view's own handling: a 500 in JSON, without the message."""

    def fail(*_arguments: Any) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr("submissions.receiving.gates.as_api_error", fail)
    found = ask(SubmitApplication(), key, b"{")
    assert found[0] == 500
    assert "secret" not in found[2]
    assert found == ask(WSGIHandler(), key, b"{")


def test_submit__on_the_host_of_files__is_404(key: str, settings: Settings) -> None:
    settings.FILES_ORIGIN = "http://localhost:8123"
    assert ask(SubmitApplication(), key, HTTP_HOST="LocalHost:8123")[0] == 404
    assert not Submission.objects.exists()


def test_submit__its_id__is_in_the_row_for_the_log_lines_of_deliveries(key: str) -> None:
    ask(SubmitApplication(), key, HTTP_X_REQUEST_ID="my-id.1")
    assert Submission.objects.get().controls[Submission.REQUEST_ID] == "my-id.1"
