"""The guard of `conftest.py` itself: a test that cannot fail shows nothing."""

import socket
import urllib.request

import pytest

from tests.services.receivers import Receiver


@pytest.mark.parametrize("address", [("203.0.113.1", 80), ("example.com", 80)])
def test_connection__to_an_outside_address__is_refused(address: tuple[str, int]) -> None:
    with socket.socket() as client, pytest.raises(RuntimeError, match="tried to reach"):
        client.connect(address)


def test_connection__over_ipv6_to_an_outside_address__is_refused() -> None:
    with socket.socket(socket.AF_INET6) as client, pytest.raises(RuntimeError, match="tried to reach"):
        client.connect_ex(("2001:db8::1", 80))


def test_name__of_the_outside__does_not_resolve() -> None:
    with pytest.raises(socket.gaierror):
        socket.getaddrinfo("fieldpost.example", 443)


def test_connection__to_loopback__works() -> None:
    with Receiver() as receiver, urllib.request.urlopen(receiver.url("/here")) as answer:
        assert answer.status == 200
    assert [request.path for request in receiver.requests] == ["/here"]
