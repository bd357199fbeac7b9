"""`/healthz`, which the event loop answers, next to `/readyz`, which Django does (docs/contract.md 8.6)."""

import pytest

from tests.services.client import Client

pytestmark = pytest.mark.on_sqlite
OF_ONE_ANSWER = {"date", "x-request-id", "content-length"}


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_healthz__has_the_headers_of_readyz(api: Client, method: str) -> None:
    ours, djangos = (
        {name.lower(): value for name, value in api.request(method, path).headers.items()}
        for path in ("/healthz", "/readyz")
    )
    assert ours.keys() == djangos.keys()
    for name in ours.keys() - OF_ONE_ANSWER - {"content-security-policy"}:
        assert ours[name] == djangos[name]


def test_healthz__request_id__is_kept_if_it_is_safe(api: Client) -> None:
    assert api.get("/healthz", headers={"X-Request-Id": "trace-42"}).headers["X-Request-Id"] == "trace-42"
    made = api.get("/healthz", headers={"X-Request-Id": "no<script>"}).headers["X-Request-Id"]
    assert len(made) == 32


def test_healthz__unknown_host__is_400(api: Client) -> None:
    assert api.get("/healthz", headers={"Host": "elsewhere.example"}).status == 400
