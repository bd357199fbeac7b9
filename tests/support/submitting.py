"""Submitting and looking at what was stored of it."""

from collections.abc import Iterator
from typing import Any

from tests.services.client import Answer, Client
from tests.support.answers import TIME, an_id, success
from tests.support.arrange import Tenant

JSON = {"Content-Type": "application/json"}
RECEIVED = "Submission received."


def accepted(form_id: str, message: str = RECEIVED) -> dict[str, Any]:
    """The whole body of a 201."""
    return success({"id": an_id("sub"), "formId": form_id, "createdAt": TIME}, message)


def records(api: Client, tenant: Tenant, form_id: str) -> list[dict[str, Any]]:
    """Every submission of a form, spam too, oldest first."""
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
    """A body without Content-Length: urllib3 sends what is iterated in chunks."""
    for start in range(0, len(body), size):
        yield body[start : start + size]


def submit_raw(api: Client, tenant: Tenant, form_id: str, body: Any, **headers: str) -> Answer:
    """Send these bytes (or chunks of bytes) as JSON; underscores in the names of `headers` stand for hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return api.post(f"/api/submit?formId={form_id}", tenant.key, data=body, headers=JSON | named)
