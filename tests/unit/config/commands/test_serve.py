"""The addresses on which a demo may listen."""

import pytest

from config.checks import is_loopback


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost"])
def test_host__of_this_machine_only__is_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "2001:db8::1", "example.com", ""])
def test_host__that_others_reach__is_not_loopback(host: str) -> None:
    assert not is_loopback(host)
