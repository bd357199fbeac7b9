"""No version in paths, and staging with the same paths (docs/contract.md 1.1)."""

from collections.abc import Callable

import pytest

from tests.services.application import Application
from tests.services.client import Client
from tests.support.tenants import Tenant, make_tenant

pytestmark = pytest.mark.quick

PATHS = ["/api/forms", "/api/submissions", "/api/webhooks", "/api/keys", "/api/analytics"]


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


@pytest.mark.parametrize("path", PATHS)
def test_path__has_no_version_segment(api: Client, tenant: Tenant, path: str) -> None:
    assert api.get(path, tenant.key).status == 200
    for versioned in (path.replace("/api/", "/api/v1/"), f"/v1{path}", f"{path}/"):
        assert api.get(versioned, tenant.key).status == 404


@pytest.mark.on_sqlite
def test_staging__is_another_address_with_the_same_paths(
    start_service: Callable[..., Application], api: Client, tenant: Tenant
) -> None:
    staging = start_service(PUBLIC_URL="https://staging.example.com", ALLOWED_HOSTS="127.0.0.1")
    headers = {"X-Forwarded-Proto": "https"}
    with Client(staging.port) as there:
        answers = {path: (api.get(path, tenant.key), there.get(path, tenant.key, headers=headers)) for path in PATHS}
    assert {(here.status, there.status) for here, there in answers.values()} == {(200, 200)}
    urls = [answer.json()["data"][0]["url"] for answer in answers["/api/forms"]]
    form = tenant.default_form_id
    assert urls == [f"http://127.0.0.1:{api.port}/f/{form}", f"https://staging.example.com/f/{form}"]
