"""Login by nginx, as docs/running.md writes it, with an Authelia and an oauth2-proxy that believe everybody."""

import re
from collections.abc import Callable, Iterator

import pytest
import urllib3

from tests.services.application import Application
from tests.services.nginx import Nginx
from tests.services.processes import ROOT, free_port
from tests.support.browser import LOGIN, person_of
from tests.support.tenants import make_tenant

pytestmark = pytest.mark.on_sqlite

ACCOUNT = "/dashboard/account"
CLEARED = ["Remote-Email", "Remote-User", "X-Auth-Request-Email", "X-Forwarded-Email", "X-Forwarded-User"]
# Who somebody is says a header of the test. An answer without it is that of the login.
STUB = """
    server {
        listen 127.0.0.1:%s;
        location ^~ / {
            add_header Remote-Email $http_x_person always;
            add_header X-Auth-Request-Email $http_x_person always;
            add_header Location "https://login.example/" always;
            if ($http_x_person = "") { return 401; }
            return 200;
        }
    }

    upstream fieldpost {"""


def block(product: str) -> str:
    """Return the lines of the documentation for this product."""
    text = (ROOT / "docs" / "running.md").read_text()
    found = re.search(rf"\nWith \[{product}\].*?```nginx\n(.*?)```", text, re.DOTALL)
    assert found, product
    return found[1]


def start_nginx(service: Application, lines: str) -> Nginx:
    stub = free_port()
    lines = re.sub(r"127\.0\.0\.1:(9091|4180)", f"127.0.0.1:{stub}", lines)
    more = {"    upstream fieldpost {": STUB % stub, "        location / {": f"{lines}\n        location / {{"}
    return Nginx(service.port, service.events_port, more=more)


def pool_of(nginx: Nginx) -> urllib3.HTTPSConnectionPool:
    return urllib3.HTTPSConnectionPool("localhost", nginx.https, ca_certs=str(nginx.certificate), retries=False)


@pytest.fixture(params=CLEARED)
def header(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def with_header(shared_service: Callable[..., Application]) -> Callable[[str], Application]:
    proxies = {"TRUSTED_PROXIES": "127.0.0.1/32", "TRUSTED_PROXY_COUNT": "1"}
    return lambda name: shared_service(REMOTE_USER_HEADER=name, **proxies)


@pytest.fixture(params=["Authelia", "oauth2-proxy"])
def pool(
    request: pytest.FixtureRequest, with_header: Callable[[str], Application]
) -> Iterator[urllib3.HTTPSConnectionPool]:
    with start_nginx(with_header("Remote-Email"), block(request.param)) as nginx, pool_of(nginx) as pool:
        yield pool


def get(pool: urllib3.HTTPSConnectionPool, path: str, **headers: str) -> urllib3.BaseHTTPResponse:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return pool.request("GET", path, headers=named, redirect=False)


def test_page__behind_the_login__is_that_of_the_person(pool: urllib3.HTTPSConnectionPool) -> None:
    user, other = person_of(make_tenant()), person_of(make_tenant())
    asked = get(pool, ACCOUNT, Remote_Email=user.email)
    assert asked.status == 302
    assert re.match(r"https://(login\.example/|localhost(:\d+)?/oauth2/sign_in\?rd=)", asked.headers["Location"])

    forged = {"X_Person": user.email, "Remote_Email": other.email}
    entered = get(pool, ACCOUNT, **forged)
    assert (entered.status, entered.headers["Location"]) == (302, ACCOUNT)
    cookies = "; ".join(line.partition(";")[0] for line in entered.headers.getlist("Set-Cookie"))
    page = get(pool, ACCOUNT, Cookie=cookies, **forged)
    assert (page.status, user.email in page.data.decode()) == (200, True)
    for path in ("/api/me", "/forms.js", "/healthz"):  # nobody logs in there
        assert get(pool, path, Remote_Email=other.email).status in (200, 401)


def test_program__that_logs_in_by_a_code__needs_no_login_of_the_proxy(pool: urllib3.HTTPSConnectionPool) -> None:
    fields = {"client_id": "fieldpost-cli", "machine": "ada-laptop"}
    begun = pool.request_encode_body("POST", "/account/device/code", fields, encode_multipart=False)
    assert begun.status == 200, begun.data
    assert get(pool, "/account/device").status == 302


def test_headers__of_a_client__are_cleared_by_nginx(with_header: Callable[[str], Application], header: str) -> None:
    user = person_of(make_tenant())
    service = with_header(header)
    with Nginx(service.port, service.events_port) as nginx, pool_of(nginx) as pool:
        for sent in (header, header.lower(), header.replace("-", "_")):
            answer = get(pool, ACCOUNT, **{sent: user.email})
            assert (answer.status, answer.headers["Location"].partition("?")[0]) == (302, LOGIN), sent
