"""The headers of responses are those that the OpenAPI document lists for the operation and the status."""

from typing import Any

import pytest

from tests.services.application import Application
from tests.services.client import Answer, Client
from tests.support.tables.callers import furnish
from tests.support.tables.permission_table import TABLE, Endpoint
from tests.support.tenants import make_tenant

pytestmark = pytest.mark.on_sqlite  # about headers

# Of HTTP and browsers, not of this API.
OF_HTTP = {
    "Access-Control-Allow-Origin",
    "Allow",  # listed for 405; Django REST framework sends it with every answer
    "Access-Control-Expose-Headers",
    "Connection",
    "Content-Encoding",
    "Content-Length",
    "Content-Type",
    "Cross-Origin-Opener-Policy",
    "Date",
    "Referrer-Policy",
    "Server",
    "Transfer-Encoding",
    "Vary",
    "X-Content-Type-Options",
    "X-Frame-Options",
}


@pytest.fixture(scope="module")
def document(service: Application) -> dict[str, Any]:
    with Client(service.port) as api:
        served: dict[str, Any] = api.get("/api/schema").json()
    return served


def listed(document: dict[str, Any], endpoint: Endpoint, status: int) -> dict[str, bool]:
    """Return the headers of a response in the document, and whether each is always sent."""
    components = document["components"]
    operation = document["paths"][endpoint.path.partition("?")[0]][endpoint.method.lower()]
    response = operation["responses"][str(status)]
    if "$ref" in response:
        response = components["responses"][response["$ref"].rpartition("/")[2]]
    headers = response["headers"].items()
    found = {
        name: components["headers"][one["$ref"].rpartition("/")[2]] if "$ref" in one else one for name, one in headers
    }
    return {name.title(): bool(one.get("required")) for name, one in found.items()}


@pytest.mark.parametrize("endpoint", TABLE, ids=str)
def test_headers__of_every_endpoint__are_those_of_the_document(
    endpoint: Endpoint, api: Client, document: dict[str, Any]
) -> None:
    house = furnish(make_tenant())
    answers: dict[str, Answer] = {
        "without a key": house.send(api, endpoint),
        "without permission": house.send(api, endpoint, house.tenant.issue()),
        "with a wrong parameter": api.request(
            endpoint.method, f"{endpoint.address(house.ids)}?wrong=1", house.tenant.key, **endpoint.options(house.ids)
        ),
        "allowed": house.send(api, endpoint, house.tenant.key),
    }
    ours = {name.title() for name in OF_HTTP}
    for what, answer in answers.items():
        known = listed(document, endpoint, answer.status)
        sent = {name.title() for name in answer.headers} - ours
        assert sent <= known.keys(), what
        assert {name for name, always in known.items() if always} <= sent, what


def test_headers__of_a_repeated_request_and_a_used_up_limit__are_those_of_the_document(
    api: Client, document: dict[str, Any]
) -> None:
    tenant, submit = make_tenant(), Endpoint("POST", "/api/submit", "", 201, {"name": "Ada"})
    for expected in ("", "true"):
        answer = api.post("/api/submit", tenant.key, json={"name": "Ada"}, headers={"Idempotency-Key": "one"})
        assert answer.headers.get("Idempotent-Replayed", "") == expected
    assert listed(document, submit, 201)["Idempotent-Replayed"] is False
    assert listed(document, submit, 429)["Retry-After"] is True
    assert listed(document, submit, 503)["Retry-After"] is True
    assert listed(document, submit, 405)["Allow"] is True
