"""`/api/submit` is answered without most of Django, and byte for byte as with it (docs/adr/0099)."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from django.db import connections
from pytest_django import Settings

from config.postgresql.watch import WATCH
from config.web_server import submit_handler, wsgi_bridge
from config.web_server.short_handler import ShortHandler
from config.web_server.submit_handler import SubmitHandler
from config.web_server.wsgi_bridge import Answer
from forms_app.actions import create_form
from forms_app.models import Form
from keys.access_keys import issue_key
from submissions.models import Submission
from tests.unit.webhooks.rows import make_form

BODY = json.dumps({"name": "Ada", "message": "Hello"}).encode()
JSON = (b"content-type", b"application/json")
VOLATILE = re.compile(rb"sub_[0-9a-z]{26}|\d{4}-\d\d-\d\dT[0-9:.]+Z|\b[0-9a-f]{32}\b")
COUNTS = (b"x-ratelimit-remaining", b"x-ratelimit-reset", b"retry-after")


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


def scope(key: str, *headers: tuple[bytes, bytes], body: bytes = BODY, query: str = "", host: str = "localhost") -> Any:
    given = [(b"host", host.encode()), (b"x-access-key", key.encode()), *headers]
    return {
        "method": "POST",
        "scheme": "http",
        "http_version": "1.1",
        "path": "/api/submit",
        "raw_path": b"/api/submit",
        "query_string": query.encode(),
        "server": ("127.0.0.1", 8000),
        "client": ("127.0.0.1", 50_000),
        "headers": [*given, (b"content-length", str(len(body)).encode())],
    }


def shown(answer: Answer) -> tuple[int, dict[bytes, bytes], bytes]:
    headers = {name: VOLATILE.sub(b"", value) for name, value in answer.headers if name not in COUNTS}
    assert len(answer.headers) == len(dict(answer.headers))  # no header twice
    return answer.status, headers, VOLATILE.sub(b"", answer.body or b"")


REQUESTS: dict[str, tuple[int, dict[str, Any], bytes]] = {
    "a submission": (201, {"headers": [JSON]}, BODY),
    "with a request id": (201, {"headers": [JSON, (b"x-request-id", b"my-id.1")]}, BODY),
    "with an unsafe request id": (201, {"headers": [JSON, (b"x-request-id", b"no spaces")]}, BODY),
    "from a page": (201, {"headers": [JSON, (b"origin", b"https://example.com")]}, BODY),
    "with an idempotency key": (201, {"headers": [JSON, (b"idempotency-key", b"once")]}, BODY),
    "broken JSON": (400, {"headers": [JSON]}, b'{"name": '),
    "no media type": (415, {"headers": []}, BODY),
    "a malformed form": (400, {"headers": [JSON], "query": "formId=frm_1"}, BODY),
    "too large": (413, {"headers": [JSON]}, b'{"name": "' + b"x" * 300_000 + b'"}'),
    "a malformed key, so the body is not read": (401, {"headers": [JSON], "key": "fp_short"}, BODY),
    "an unknown host": (400, {"headers": [JSON], "host": "elsewhere.example"}, BODY),
    "a malformed host": (400, {"headers": [JSON], "host": "local host"}, BODY),
    "a port": (201, {"headers": [JSON], "host": "LOCALHOST:8000"}, BODY),
}


REFUSED_BY_MIDDLEWARE = {"an unknown host", "a malformed host"}


class Noting(ShortHandler):
    """The ordinary way. `paths`: of the requests that took it."""

    def __init__(self) -> None:
        super().__init__()
        self.paths: list[str] = []

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        self.paths.append(environ["PATH_INFO"])
        return super().__call__(environ, start_response)


@pytest.mark.parametrize("name", REQUESTS)
def test_submit__any_request__is_answered_as_by_all_of_django(name: str, key: str) -> None:
    status, given, body = REQUESTS[name]
    given = {**given}
    made = scope(given.pop("key", key), *given.pop("headers"), body=body, **given)
    ordinary = Noting()
    expected = shown(wsgi_bridge.call(ordinary, made, body))
    ordinary.paths.clear()
    found = shown(SubmitHandler(ordinary).answer(made, body))
    assert ordinary.paths == (["/api/submit"] if name in REFUSED_BY_MIDDLEWARE else [])
    if name == "with an idempotency key":  # the second one is a replay
        assert found[1].pop(b"idempotent-replayed") == b"true"
    assert found == expected
    assert found[0] == status


def test_submit__body_that_was_not_read__is_answered_as_by_all_of_django(key: str) -> None:
    ordinary, made = ShortHandler(), scope(key, JSON)
    assert shown(SubmitHandler(ordinary).answer(made, None)) == shown(wsgi_bridge.call(ordinary, made, None))


def test_submit__frozen_database__is_refused_as_by_all_of_django(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WATCH, "is_frozen", True)
    ordinary, made = ShortHandler(), scope(key, JSON)
    found = SubmitHandler(ordinary).answer(made, BODY)
    assert found.status == 503
    assert shown(found) == shown(wsgi_bridge.call(ordinary, made, BODY))


def test_submit__view_that_fails__is_answered_as_by_all_of_django(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors outside the view's own handling: a 500 in JSON, without the message."""

    def fail(*_arguments: Any) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr("submissions.receiving.gates.as_api_error", fail)
    ordinary, made = ShortHandler(), scope(key, JSON, body=b"{")
    found = SubmitHandler(ordinary).answer(made, b"{")
    assert found.status == 500
    assert b"secret" not in (found.body or b"")
    assert shown(found) == shown(wsgi_bridge.call(ordinary, made, b"{"))


def test_submit__on_the_host_of_files__is_answered_by_all_of_django(
    key: str, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    host = "LocalHost:8123"  # of no other test: whether a host is answered is kept
    monkeypatch.setattr(submit_handler, "FILES_HOST", host.lower())
    settings.FILES_ORIGIN = f"http://{host.lower()}"
    found = SubmitHandler(ShortHandler()).answer(scope(key, JSON, host=host), BODY)
    assert found.status == 404
    assert not Submission.objects.exists()


def test_submit__its_id__is_in_the_row_for_the_log_lines_of_deliveries(key: str) -> None:
    SubmitHandler(ShortHandler()).answer(scope(key, JSON, (b"x-request-id", b"my-id.1")), BODY)
    assert Submission.objects.get().controls[Submission.REQUEST_ID] == "my-id.1"
