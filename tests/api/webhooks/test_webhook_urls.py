"""The URLs that a webhook may have when it is saved (docs/contract.md 7.16)."""

from collections.abc import Callable, Iterator

import pytest

from tests.services.application import Application
from tests.services.client import Answer, Client
from tests.support.replies import invalid
from tests.support.tenants import Tenant, make_tenant
from tests.support.webhooks import EVENTS

pytestmark = pytest.mark.on_sqlite  # about addresses, not rows

HOST = "hooks.invalid"  # RFC 2606: no such name will ever resolve
PUBLIC = "93.184.215.14"  # an address of the internet; saving a webhook opens no connection


@pytest.fixture
def strict(shared_service: Callable[..., Application]) -> Iterator[Client]:
    """Yield a client of a web role with production's settings: only https, and no network opened."""
    with Client(shared_service(WEBHOOK_ALLOW_HTTP="0", WEBHOOK_ALLOWED_NETWORKS="").port) as client:
        yield client


def save(client: Client, tenant: Tenant, url: str) -> Answer:
    body = {"formId": tenant.default_form_id, "url": url, "events": EVENTS}
    return client.post("/api/webhooks", tenant.key, json=body)


def refused_as(answer: Answer, code: str) -> bool:
    """Return whether the URL was refused for this reason, in a body that holds nothing else."""
    assert answer.status == 400, answer.text
    assert answer.json() == invalid(("url", code, answer.json()["message"]))
    return bool(answer.json()["message"].startswith("url: "))


@pytest.mark.parametrize(
    "url",
    [
        f"https://{HOST}/hook",
        f"https://{HOST}:8443/hook?a=b",
        f"https://{HOST}:8080",
        f"https://{HOST}:80/",
        "https://bücher.invalid/",
        f"https://{PUBLIC}/",
        "https://[2606:2800:220:1:248:1893:25c8:1946]/",
        f"https://{HOST}/".ljust(2048, "a"),
    ],
)
def test_create__url_of_the_internet__is_accepted_as_written(strict: Client, url: str) -> None:
    answer = save(strict, make_tenant(), url)
    assert answer.status == 201, answer.text
    assert answer.json()["data"]["url"] == url


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://hooks.invalid/", "scheme_not_allowed"),
        ("HTTP://hooks.invalid/", "scheme_not_allowed"),
        ("ftp://hooks.invalid/", "scheme_not_allowed"),
        ("javascript://hooks.invalid/", "scheme_not_allowed"),
        ("hooks.invalid/hook", "invalid_url"),
        ("https:///hook", "invalid_url"),
        ("https://hooks.invalid:99999/", "invalid_url"),
        ("https://ana@hooks.invalid/", "userinfo_not_allowed"),
        ("https://ana:secret@hooks.invalid/", "userinfo_not_allowed"),
        (f"https://{PUBLIC}\\@10.0.0.1/", "invalid_characters"),
        ("https://hooks.invalid/a b", "invalid_characters"),
        ("https://hooks.invalid/a\r\nHost: b", "invalid_characters"),
        ("https://hooks.invalid/#part", "fragment_not_allowed"),
        ("https://[fe80::1%25eth0]/", "invalid_host"),
        (f"https://{HOST}/".ljust(2049, "a"), "max_length"),
    ],
)
def test_create__malformed_url__is_refused(strict: Client, url: str, code: str) -> None:
    assert refused_as(save(strict, make_tenant(), url), code)


@pytest.mark.parametrize("port", [22, 25, 81, 6379, 8000, 9200])
def test_create__port_not_in_the_list__is_refused(strict: Client, port: int) -> None:
    assert refused_as(save(strict, make_tenant(), f"https://{HOST}:{port}/"), "port_not_allowed")
    assert refused_as(save(strict, make_tenant(), f"https://{PUBLIC}:{port}/"), "port_not_allowed")


@pytest.mark.parametrize(
    "host",
    [
        *("169.254.169.254", "10.0.0.1", "172.16.0.1", "192.168.1.1", "127.0.0.1", "0.0.0.0", "255.255.255.255"),
        *("100.64.0.1", "168.63.129.16", "192.0.0.192", "198.18.0.1", "192.88.99.1", "224.0.0.1", "localhost"),
        *("[::1]", "[::]", "[fe80::1]", "[fc00::1]", "[fec0::1]", "[ff02::1]", "[::ffff:10.0.0.1]", "[::127.0.0.1]"),
        *("[64:ff9b::a00:1]", "[2002:a00:1::]", "[2001::1]", "[2001:db8::1]", "[3fff::1]", "[100::1]", "[5f00::1]"),
    ],
)
def test_create__special_address__is_refused(strict: Client, host: str) -> None:
    assert refused_as(save(strict, make_tenant(), f"https://{host}/"), "address_not_allowed")


@pytest.mark.parametrize(
    "host",
    [
        *("2130706433", "0x7f.1", "0x7f000001", "017700000001", "127.1", "0", "①②⑦.⓪.⓪.①", "LOCALHOST", "127.0.0.1."),
        *("localhost.", "a.localhost", "n8n", "1.2.3.4.5"),
    ],
)
def test_create__loopback_in_a_weird_spelling_or_a_local_name__is_refused(strict: Client, host: str) -> None:
    assert refused_as(save(strict, make_tenant(), f"https://{host}/"), "address_not_allowed")


def test_create__opened_network__takes_http_and_every_port_but_no_other_network(api: Client) -> None:
    """The suite's own service opens 127.0.0.0/8 and http, as a self-hoster may."""
    tenant = make_tenant()
    assert save(api, tenant, "http://127.0.0.1:3000/hook").status == 201
    assert refused_as(save(api, tenant, "http://169.254.169.254/latest/meta-data/"), "address_not_allowed")
    assert refused_as(save(api, tenant, "http://10.0.0.1/"), "address_not_allowed")
    assert refused_as(save(api, tenant, "http://[::1]/"), "address_not_allowed")
    assert save(api, tenant, "http://n8n:5678/webhook/a").status == 201  # the socket decides, as for every name
    assert save(api, tenant, f"http://{HOST}:3000/").status == 201


def test_activate__url_that_is_no_longer_allowed__is_refused(api: Client, strict: Client) -> None:
    """A URL that was saved under other settings is checked again when its webhook is activated."""
    tenant = make_tenant()
    made = save(api, tenant, "http://127.0.0.1:3000/hook").json()["data"]
    path = f"/api/webhooks/{made['id']}"
    assert strict.patch(path, tenant.key, json={"status": "disabled"}).status == 200
    assert refused_as(strict.patch(path, tenant.key, json={"status": "active"}), "scheme_not_allowed")
    assert api.get(path, tenant.key).json()["data"]["status"] == "disabled"
