"""The client's address, as limits count it and records keep it."""

from typing import Any

import pytest
from django.test import RequestFactory

from config.base.client_address import client_address, client_network

MAPPED = "::ffff:192.0.2.7"  # IPv4 over a socket of both versions


@pytest.mark.parametrize("spelling", [MAPPED, "::FFFF:C000:0207", "0:0:0:0:0:ffff:192.0.2.7"])
def test_client_address__ipv4_mapped_into_ipv6__is_the_ipv4_address(spelling: str, settings: Any) -> None:
    socket = RequestFactory().get("/", REMOTE_ADDR=spelling)
    assert (client_address(socket), client_network(socket)) == ("192.0.2.7", "192.0.2.7")

    settings.TRUSTED_PROXY_COUNT = 1
    forwarded = RequestFactory().get("/", REMOTE_ADDR="127.0.0.1", HTTP_X_FORWARDED_FOR=spelling)
    assert (client_address(forwarded), client_network(forwarded)) == ("192.0.2.7", "192.0.2.7")


def test_client_address__of_a_unix_socket__is_as_the_server_says() -> None:
    assert client_address(RequestFactory().get("/", REMOTE_ADDR="")) == ""


@pytest.mark.parametrize(
    ("entry", "address"),
    [
        ("192.0.2.7:567", "192.0.2.7"),
        ("[2001:db8::1]:567", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("[::ffff:192.0.2.7]:567", "192.0.2.7"),
        ("2001:db8::1:567", "2001:db8::1:567"),  # an address, as nothing says where its port would be
        ("192.0.2.7:", "127.0.0.1"),
        ("[192.0.2.7", "127.0.0.1"),
        ("unknown", "127.0.0.1"),
    ],
)
def test_client_address__with_the_port_that_a_proxy_adds__is_the_clients(
    entry: str, address: str, settings: Any
) -> None:
    settings.TRUSTED_PROXY_COUNT = 1
    assert client_address(RequestFactory().get("/", REMOTE_ADDR="127.0.0.1", HTTP_X_FORWARDED_FOR=entry)) == address
