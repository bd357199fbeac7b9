"""Where the HTTP channel connects to: never to a trap, and through no proxy but the configured one."""

import errno
import socket
from ssl import SSLContext
from typing import Any

import pytest
from pytest_django import Settings

from tests.unit.webhooks.transport.raw_receiver import (
    BODY,
    HEADERS,
    OPEN,
    TRAP,
    Names,
    Receivers,
    TunnelingProxy,
    drip,
    failed_with,
    lasted,
    status,
)
from webhooks.transport import http
from webhooks.transport.http import post

REAL_GETADDRINFO = socket.getaddrinfo
pytestmark = pytest.mark.usefixtures("only_loopback")


@pytest.mark.parametrize("addresses", [[OPEN, TRAP], [TRAP, OPEN], [TRAP]])
def test_post__name_with_a_private_record__refused_and_nobody_is_called(
    receivers: Receivers, names: Names, addresses: list[str]
) -> None:
    trap = receivers(address=TRAP)
    names["rebind.example"] = [addresses]
    assert failed_with(post(trap.url("rebind.example"), BODY, HEADERS)) == "address_refused"
    assert trap.connections == 0


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_post__name_that_changes_between_lookups__connects_to_what_was_checked(
    receivers: Receivers, names: Names, scheme: str
) -> None:
    trap = receivers(address=TRAP)
    names["rebind.example"] = [[OPEN], [TRAP]]
    url = trap.url("rebind.example", scheme)
    assert failed_with(post(url, BODY, HEADERS)) == "connection_refused"  # nobody listens at the checked address
    assert failed_with(post(url, BODY, HEADERS)) == "address_refused"
    assert trap.connections == 0


@pytest.mark.parametrize("host", ["[::1]", "[::ffff:127.0.0.66]", "2130706498", "0x7f.66", "127.66"])
def test_post__loopback_in_another_spelling__refused(receivers: Receivers, host: str) -> None:
    trap = receivers(address=TRAP)
    assert failed_with(post(trap.url(host), BODY, HEADERS)) == "address_refused"
    assert trap.connections == 0


def test_post__ipv6_loopback_in_an_allowed_network__is_tried(settings: Settings) -> None:
    settings.WEBHOOK_ALLOWED_NETWORKS = ["::1/128"]
    with socket.socket(socket.AF_INET6) as probe:
        has_address = probe.connect_ex(("::1", 9)) == errno.ECONNREFUSED
    outcome = post("http://[::1]:9/", BODY, HEADERS)  # nobody listens, and not every host has the address
    assert failed_with(outcome) == ("connection_refused" if has_address else "connection_failed")


@pytest.mark.parametrize("line", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
def test_post__redirect_to_metadata_or_a_trap__not_followed(
    receivers: Receivers, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    asked = []

    def noted(host: str, *args: Any, **kwargs: Any) -> Any:
        asked.append(host)
        return REAL_GETADDRINFO(host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", noted)
    trap = receivers(address=TRAP)
    for target in ("http://169.254.169.254/latest/meta-data/", trap.url(TRAP), "//169.254.169.254/", "/elsewhere"):
        receiver = receivers(status(line, f"Location: {target}"))
        outcome = post(receiver.url(), BODY, HEADERS)
        assert (failed_with(outcome), outcome.status) == ("redirect", int(line[:3]))
        assert receiver.connections == 1
    assert set(asked) == {OPEN}
    assert trap.connections == 0


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("ftp://127.0.0.1/", "url_refused"),
        ("http://user@127.0.0.1/", "url_refused"),
        ("http://127.0.0.1/a b", "url_refused"),
        ("http://93.184.215.14:25/", "address_refused"),
        ("http://169.254.169.254/", "address_refused"),
    ],
)
def test_post__forbidden_url__refused_without_a_connection(url: str, error: str) -> None:
    assert failed_with(post(url, BODY, HEADERS)) == error


def test_post__http_without_the_setting__refused(receivers: Receivers, settings: Settings) -> None:
    settings.WEBHOOK_ALLOW_HTTP = False
    receiver = receivers()
    assert failed_with(post(receiver.url(), BODY, HEADERS)) == "url_refused"
    assert receiver.connections == 0


def test_post__proxies_in_the_environment__ignored(receivers: Receivers, monkeypatch: pytest.MonkeyPatch) -> None:
    trap, receiver = receivers(address=TRAP), receivers()
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, trap.url(TRAP))
        monkeypatch.setenv(name.lower(), trap.url(TRAP))
    assert post(receiver.url(), BODY, HEADERS).succeeded
    assert trap.connections == 0


def test_post__configured_proxy__carries_the_message(receivers: Receivers, settings: Settings) -> None:
    proxy = receivers(address=TRAP)  # the operator's own: its address needs no leave
    settings.WEBHOOK_PROXY_URL = f"http://user:pass@{TRAP}:{proxy.port}"
    assert post("http://soon.invalid/hook", BODY, HEADERS).succeeded
    head, _, body = proxy.requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST http://soon.invalid/hook HTTP/1.1\r\n")
    assert b"proxy-authorization: Basic dXNlcjpwYXNz" in head
    assert body == BODY


def test_post__configured_proxy_and_https__asks_for_a_tunnel(receivers: Receivers, settings: Settings) -> None:
    proxy = receivers(status("403 Forbidden"), address=TRAP)
    settings.WEBHOOK_PROXY_URL = f"http://user:pass@{TRAP}:{proxy.port}"
    assert failed_with(post("https://soon.invalid/hook", BODY, HEADERS)) == "connection_failed"
    assert proxy.requests[0].startswith(b"CONNECT soon.invalid:443 HTTP/1.")
    assert b"proxy-authorization: Basic dXNlcjpwYXNz" in proxy.requests[0]


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("to_proxy", ["http", "https"])
def test_post__configured_proxy_with_or_without_tls__each_message_has_its_connection(
    receivers: Receivers, trusted: SSLContext, settings: Settings, to_proxy: str, scheme: str
) -> None:
    secure = trusted if to_proxy == "https" else None
    proxy = receivers(kind=TunnelingProxy, inner=trusted, context=secure)
    settings.WEBHOOK_PROXY_URL = f"{to_proxy}://ada:p%40ss@hooks.example:{proxy.port}"
    outcomes = [post(f"{scheme}://hooks.example/a?b", BODY, HEADERS, endpoint="wh_1") for _ in range(2)]
    assert [(one.error, one.response_excerpt) for one in outcomes] == [("", "ok")] * 2
    assert proxy.connections == 2
    asked = [b"CONNECT hooks.example:443", b"POST /a?b"] if scheme == "https" else [b"POST http://hooks.example/a?b"]
    assert [request.partition(b" HTTP/1.1\r\n")[0] for request in proxy.requests] == asked * 2
    authorized = [b"proxy-authorization: Basic YWRhOnBAc3M=\r\n" in request for request in proxy.requests]
    assert authorized == ([True, False] if scheme == "https" else [True]) * 2  # nothing of it reaches the receiver


def test_post__configured_proxy__still_refuses_a_private_address_first(
    receivers: Receivers, settings: Settings
) -> None:
    proxy = receivers(address=TRAP)
    settings.WEBHOOK_PROXY_URL = proxy.url(TRAP, path="")
    assert failed_with(post("http://169.254.169.254/", BODY, HEADERS)) == "address_refused"
    assert failed_with(post("http://soon.invalid:22/", BODY, HEADERS)) == "address_refused"  # resolved by the proxy
    assert proxy.connections == 0


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_post__configured_proxy_is_down__connection_refused(
    receivers: Receivers, settings: Settings, scheme: str
) -> None:
    proxy = receivers(address=TRAP)
    proxy.listener.shutdown(socket.SHUT_RDWR)
    proxy.listener.close()
    settings.WEBHOOK_PROXY_URL = proxy.url(TRAP, path="")
    assert failed_with(post(f"{scheme}://soon.invalid/", BODY, HEADERS)) == "connection_refused"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_post__configured_proxy_drips__timeout_at_the_deadline(
    receivers: Receivers, settings: Settings, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.setattr(http, "MAX_SECONDS", 0.5)
    proxy = receivers(drip(first=b"HTTP/1.1 200 OK\r\na: "), address=TRAP)
    settings.WEBHOOK_PROXY_URL = proxy.url(TRAP, path="")
    outcome = post(f"{scheme}://soon.invalid/", BODY, HEADERS)
    assert failed_with(outcome) == "timeout"
    assert lasted(outcome, 0.5)
