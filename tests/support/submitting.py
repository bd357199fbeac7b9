"""Submitting over HTTP, and reading the stored submissions."""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.services.client import Answer, Client
from tests.support.replies import TIME, an_id, success
from tests.support.tenants import Tenant

JSON = {"Content-Type": "application/json"}
RECEIVED = "Submission received."
USER_AGENT = "Acceptance/1.0"


def submit(api: Client, key: str | None, form_id: str = "", values: Any = None, **headers: str) -> Answer:
    """Submit JSON, one field unless given; underscores in the names of `headers` stand for hyphens."""
    return api.post(_path(form_id), key, json={"a": "1"} if values is None else values, headers=_named(headers))


def submit_raw(api: Client, tenant: Tenant, form_id: str, body: Any, **headers: str) -> Answer:
    """Submit these bytes, or chunks of bytes, as JSON."""
    return api.post(_path(form_id), tenant.key, data=body, headers=JSON | _named(headers))


def submit_and_get_id(api: Client, tenant: Tenant, form_id: str = "", values: Mapping[str, Any] | None = None) -> str:
    """Submit values that must be accepted, one field unless given; return the submission's id."""
    answer = submit(api, tenant.key, form_id, values or {"message": "Hello"})
    assert answer.status == 201, answer.text
    return str(answer.json()["data"]["id"])


def submit_and_get_record(api: Client, tenant: Tenant, form_id: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Submit values that must be accepted; return the whole record that lists and exports must show."""
    answer = submit(api, tenant.key, form_id, values, User_Agent=USER_AGENT)
    assert answer.status == 201, answer.text
    made = answer.json()["data"]
    is_spam = bool(values.get("_gotcha"))
    return {
        "id": made["id"],
        "formId": form_id,
        "data": {name: value for name, value in values.items() if name != "_gotcha"},
        "files": [],
        "spam": is_spam,
        "spamReasons": ["honeypot: _gotcha was filled in"] if is_spam else [],
        "held": None,
        "test": False,
        "meta": {"ip": api.address, "userAgent": USER_AGENT, "origin": None, "referer": None},
        "imported": False,
        "createdAt": made["createdAt"],
    }


def _path(form_id: str) -> str:
    """Return the address; without a form id the organization's default form is meant."""
    return f"/api/submit?formId={form_id}" if form_id else "/api/submit"


def _named(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def accepted(form_id: str, message: str = RECEIVED) -> dict[str, Any]:
    """Return the whole body of a 201."""
    return success({"id": an_id("sub"), "formId": form_id, "createdAt": TIME}, message)


def records(api: Client, tenant: Tenant, form_id: str) -> list[dict[str, Any]]:
    """Return every submission of a form, including spam, oldest first."""
    return [record for page in _pages(api, tenant, form_id) for record in page][::-1]


def stored_data(api: Client, tenant: Tenant, form_id: str) -> list[dict[str, str]]:
    return [record["data"] for record in records(api, tenant, form_id)]


def _pages(api: Client, tenant: Tenant, form_id: str) -> Iterator[list[dict[str, Any]]]:
    page, pages = 1, 1
    while page <= pages:
        answer = api.get(f"/api/submissions?formId={form_id}&spam=all&limit=100&page={page}", tenant.key)
        assert answer.status == 200, answer.text
        yield answer.json()["data"]
        page, pages = page + 1, answer.json()["pagination"]["pages"]


def chunked(body: bytes, size: int = 10_000) -> Iterator[bytes]:
    """Yield a body without Content-Length: urllib3 sends an iterator in chunks."""
    for start in range(0, len(body), size):
        yield body[start : start + size]
