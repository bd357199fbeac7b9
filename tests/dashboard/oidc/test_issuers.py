"""An issuer that is down, slow, elsewhere or endless, and one that changes its keys."""

import http.server
import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.dashboard.oidc.sign_on import BUTTON, is_in, sign_on, some_person
from tests.services.application import Application
from tests.services.client import Answer, Client
from tests.services.openid.issuer import ABSENT, Issuer, new_key
from tests.services.receivers import Receiver, Reply
from tests.services.waiting import eventually, let_pass
from tests.support.browser import LOGIN, Browser, text_of
from tests.support.tenants import Tenant

pytestmark = pytest.mark.on_sqlite
Start = Callable[..., Application]
DOCUMENT = "/realm/.well-known/openid-configuration"
NO_ANSWER = "Single sign-on does not answer"


@pytest.fixture
def fresh(start_service: Start, issuer: Issuer, joined: Tenant) -> Iterator[Browser]:
    """Yield a browser at a service that has not asked the issuer for anything yet."""
    service = start_service(**issuer.settings(ORGANIZATION=joined.organization.slug))
    with Client(service.port) as client:
        yield Browser(client)


def is_down(answer: Answer) -> bool:
    assert (answer.status, NO_ANSWER in text_of(answer)) == (503, True), text_of(answer)
    return "Retry-After" in answer.headers


BAD: dict[str, Any] = {  # "100 MB" is made when it is sent
    "html": Reply(body=b"<!doctype html><title>Log in</title>", headers={"Content-Type": "text/html"}),
    "a list": Reply(body=b"[]"),
    "deep": Reply(body=b"[" * 100_000),
    "a broken text": Reply(body=b'{"issuer": "\xff'),
    "nothing": Reply(body=b""),
    "an error": Reply(500),
    "a redirect": Reply(302, {"Location": "http://127.0.0.1:1/"}),
    "100 MB": None,
}


@pytest.mark.parametrize("path", [DOCUMENT, "/keys", "/token", "/userinfo"])
def test_issuer__that_answers_something_else__is_our_503_page(fresh: Browser, issuer: Issuer, path: str) -> None:
    for reply in BAD.values():
        issuer.wishes.replies = {path: reply or Reply(body=b" " * 100_000_000)}
        started = fresh.get(BUTTON)
        assert is_down(started if path == DOCUMENT else fresh.get(issuer.log_in(started.headers["Location"])))
        assert not is_in(fresh)
    issuer.wishes.replies = {}
    sign_on(fresh, issuer, some_person())
    assert is_in(fresh)


@pytest.mark.parametrize("path", [DOCUMENT, "/keys", "/token", "/userinfo"])
def test_redirect__is_not_followed(fresh: Browser, issuer: Issuer, path: str) -> None:
    with Receiver() as elsewhere:
        for status in (301, 303, 307):
            issuer.wishes.replies = {path: Reply(status, {"Location": elsewhere.url("/")})}
            started = fresh.get(BUTTON)
            assert is_down(started if path == DOCUMENT else fresh.get(issuer.log_in(started.headers["Location"])))
        assert elsewhere.requests == []


def test_issuer__that_never_answers__holds_two_requests_for_ten_seconds_and_nobody_else(
    fresh: Browser, issuer: Issuer
) -> None:
    issuer.wishes.replies = {DOCUMENT: Reply(delay=60)}
    with ThreadPoolExecutor(6) as threads:
        began = time.monotonic()
        starts = [threads.submit(fresh.api.get, BUTTON) for _ in range(6)]
        eventually(lambda: issuer.asked(DOCUMENT), because="the issuer is asked")
        assert fresh.api.get(LOGIN).status == 200
        assert all(is_down(each.result()) for each in starts)
        took = time.monotonic() - began
    assert 9 < took < 25
    assert len(issuer.asked(DOCUMENT)) == 2


class _Drip(http.server.BaseHTTPRequestHandler):
    """Sends a byte of an endless header each second, so that no read ever waits long."""

    def do_GET(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
        for _ in range(60):
            self.wfile.write(b"a")
            let_pass(0.5)

    def log_message(self, *args: object) -> None:
        """Print nothing."""


def test_issuer__that_drips__is_cut_off_after_ten_seconds(start_service: Start, issuer: Issuer) -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Drip)
    server.daemon_threads, server.block_on_close = True, False
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    name = f"http://127.0.0.1:{server.server_address[1]}"
    service = start_service(**issuer.settings() | {"OIDC_ISSUER": name})
    began = time.monotonic()
    with Client(service.port) as client:
        assert is_down(client.get(BUTTON))
    server.shutdown()
    server.server_close()
    assert time.monotonic() - began < 25


def test_issuer__that_is_not_there__is_our_503_page_and_passwords_still_work(
    start_service: Start, issuer: Issuer
) -> None:
    service = start_service(**issuer.settings() | {"OIDC_ISSUER": "http://127.0.0.1:1"})
    with Client(service.port) as client:
        assert is_down(client.get(BUTTON))
        assert 'name="password"' in client.get(LOGIN).text


@pytest.mark.parametrize(
    "endpoints",
    [
        {"issuer": "https://other.example"},
        {"issuer": ABSENT},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": "http://login.example/authorize"},
        {"token_endpoint": ABSENT},
        {"token_endpoint": "http://login.example/token"},
        {"token_endpoint": "file:///etc/passwd"},
        {"token_endpoint": "https://user:password@login.example/token"},
        {"token_endpoint": ["https://login.example/token"]},
        {"jwks_uri": "ftp://login.example/keys"},
        {"userinfo_endpoint": "http://169.254.169.254/latest"},
    ],
)
def test_document__that_leads_elsewhere__is_not_believed(
    fresh: Browser, issuer: Issuer, endpoints: dict[str, Any]
) -> None:
    issuer.wishes.endpoints = endpoints
    assert is_down(fresh.get(BUTTON))


def test_document_and_keys__are_fetched_once(fresh: Browser, issuer: Issuer) -> None:
    for _ in range(3):
        fresh.cookies.clear()
        assert sign_on(fresh, issuer, some_person()).status == 302
    counts = [len(issuer.asked(path)) for path in (DOCUMENT, "/keys", "/token", "/userinfo")]
    assert counts == [1, 1, 3, 3]


def test_secret__goes_in_a_header_or_in_the_body_as_the_document_says(
    fresh: Browser, start_service: Start, issuer: Issuer
) -> None:
    sign_on(fresh, issuer, some_person())
    (basic,) = issuer.asked("/token")
    assert basic.headers["authorization"] == (
        "Basic ZmllbGRwb3N0OmErc2VjcmV0JTNBK3dpdGgrJTJCK2FuZCslMjU="  # each part encoded first (RFC 6749, 2.3.1)
    )
    assert b"client_secret" not in basic.body
    issuer.wishes.endpoints = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    service = start_service(**issuer.settings())
    with Client(service.port) as client:
        sign_on(Browser(client), issuer, some_person())
    posted = issuer.asked("/token")[1]
    assert "authorization" not in posted.headers
    assert b"client_id=fieldpost&client_secret=a+secret%3A+with+%2B+and+%25" in posted.body


def test_issuer__without_userinfo__is_not_asked_for_it(fresh: Browser, issuer: Issuer) -> None:
    issuer.wishes.endpoints = {"userinfo_endpoint": ABSENT}
    assert sign_on(fresh, issuer, some_person()).status == 302
    assert not issuer.asked("/userinfo")


def test_keys__changed__are_fetched_once_more_and_the_old_one_is_refused(fresh: Browser, issuer: Issuer) -> None:
    old, new = issuer.key, new_key("second")
    assert sign_on(fresh, issuer, some_person()).status == 302
    try:
        issuer.key, issuer.published = new, [new]
        fresh.cookies.clear()
        assert sign_on(fresh, issuer, some_person()).status == 302
        assert len(issuer.asked("/keys")) == 2
        issuer.wishes.key = old
        fresh.cookies.clear()
        assert sign_on(fresh, issuer, some_person()).status == 403
        assert not is_in(fresh)
        assert len(issuer.asked("/keys")) == 3  # for an unknown key, once each time
    finally:
        issuer.key, issuer.published = old, [old]


def test_keys__with_some_that_nobody_can_read__still_work(fresh: Browser, issuer: Issuer) -> None:
    good = issuer.key.as_dict(private=False)
    odd = [
        None,
        7,
        {},
        {"kty": "RSA"},
        {"kty": "EC", "crv": "P-0", "x": "a", "y": "b"},
        {"kty": "AKP"},
        {"kty": ["RSA"]},
    ]
    body = Reply(body=json.dumps({"keys": [*odd, good]}).encode())
    issuer.wishes.replies = {"/keys": body}
    assert sign_on(fresh, issuer, some_person()).status == 302


@pytest.mark.parametrize("keys", [b'{"keys": []}', b"{}", b'{"keys": 7}', b'{"keys": {"a": 1}}', b'{"keys": null}'])
def test_keys__none__log_nobody_in(fresh: Browser, issuer: Issuer, keys: bytes) -> None:
    issuer.wishes.replies = {"/keys": Reply(body=keys)}
    assert sign_on(fresh, issuer, some_person()).status == 403
    assert not is_in(fresh)
