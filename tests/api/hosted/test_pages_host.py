"""PAGES_URL: hosted pages on a separate host, away from the dashboard's session (docs/contract.md 8.22)."""

from collections.abc import Callable, Iterator
from urllib.parse import urlencode

import pytest

from tests.services.application import Application
from tests.services.client import Answer, Client
from tests.services.processes import free_port
from tests.support.hosted_posts import FIELDS, GOOD
from tests.support.tenants import Tenant, make_tenant

pytestmark = pytest.mark.on_sqlite  # about addresses, not rows

URLENCODED = {"Content-Type": "application/x-www-form-urlencoded"}
MAIN, PAGES = "127.0.0.1", "localhost"  # two names of one service


class Hosts:
    """A service with both names."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.pages_url = f"http://{PAGES}:{client.port}"

    def get(self, host: str, path: str) -> Answer:
        return self.client.get(path, headers={"Host": f"{host}:{self.client.port}"})

    def post(self, host: str, path: str, origin: str) -> Answer:
        headers = {**URLENCODED, "Host": f"{host}:{self.client.port}", "Origin": origin}
        return self.client.post(path, data=urlencode(GOOD), headers=headers)


@pytest.fixture(scope="module")
def hosts(shared_service: Callable[..., Application]) -> Iterator[Hosts]:
    """Yield the service; both addresses have its port."""
    port = free_port()
    settings = {"PORT": str(port), "PUBLIC_URL": f"http://{MAIN}:{port}", "PAGES_URL": f"http://{PAGES}:{port}"}
    with Client(shared_service(**settings).port) as client:
        yield Hosts(client)


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


@pytest.mark.parametrize(
    "path",
    ["/", "/dashboard/", "/account/login/", "/admin/", "/api/forms", "/api/docs", "/demo/", "/docs", "/docs/api"],
)
def test_pages_host__of_what_is_not_a_page__is_404(hosts: Hosts, path: str) -> None:
    """Nothing there reads a cookie."""
    assert hosts.get(PAGES, path).status == 404
    assert hosts.get(MAIN, path).status != 404 or path == "/demo/"


@pytest.mark.parametrize("path", ["/forms.js", "/f/challenge", "/static/brand/tokens.css"])
def test_pages_host__of_what_a_page_loads__is_200(hosts: Hosts, path: str) -> None:
    assert (hosts.get(PAGES, path).status, hosts.get(MAIN, path).status) == (200, 200)


def test_page__on_the_main_host__leads_to_the_pages_host(hosts: Hosts, tenant: Tenant) -> None:
    """With its query, which fills in fields; the page there sets no cookie."""
    form_id = tenant.form(fields=FIELDS)
    moved = hosts.get(MAIN, f"/f/{form_id}?name=Ada")
    assert (moved.status, moved.headers["Location"]) == (302, f"{hosts.pages_url}/f/{form_id}?name=Ada")
    page = hosts.get(PAGES, f"/f/{form_id}?name=Ada")
    assert (page.status, "Ada" in page.text, "Set-Cookie" in page.headers) == (200, True, False)


def test_form_record__names_the_pages_host(hosts: Hosts, tenant: Tenant) -> None:
    form_id = tenant.form()
    record = hosts.client.get(f"/api/forms/{form_id}", tenant.key).json()["data"]
    assert record["url"] == f"{hosts.pages_url}/f/{form_id}"


@pytest.mark.parametrize("host", [MAIN, PAGES])
@pytest.mark.parametrize("origin", [MAIN, PAGES])
def test_post__to_either_host_from_either_page__is_taken(hosts: Hosts, tenant: Tenant, host: str, origin: str) -> None:
    """A form with allowed origins: both pages are ours, and the old address stays in forms of other sites."""
    form_id = tenant.form(allowed_origins=["https://shop.example"])
    answer = hosts.post(host, f"/f/{form_id}", f"http://{origin}:{hosts.client.port}")
    assert (answer.status, answer.headers["Location"].startswith(f"{hosts.pages_url}/f/{form_id}")) == (303, True)


def test_logo__on_the_dashboards_host__is_answered_there(hosts: Hosts) -> None:
    """Other pages redirect: the dashboard shows a logo under a policy for its own origin."""
    assert [hosts.get(host, "/f/brand/none.png").status for host in (MAIN, PAGES)] == [404, 404]
