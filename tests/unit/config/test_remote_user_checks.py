"""REMOTE_USER_HEADER decides who is logged in: settings that would let anybody decide it are found."""

import pytest
from pytest_django import Settings

from config.checks import check_remote_user


@pytest.mark.parametrize(
    ("header", "proxies", "found"),
    [
        ("", [], []),
        ("", ["nonsense"], []),
        ("Remote-Email", ["127.0.0.1", "10.0.0.0/8", "fd00::/8"], []),
        ("Remote-Email", [], ["fieldpost.E038"]),
        ("Remote-Email", ["10.0.0.1/8"], ["fieldpost.E039"]),
        ("Remote-Email", ["proxy.internal"], ["fieldpost.E039"]),
        ("Remote-Email", ["0.0.0.0/0", "::/0"], ["fieldpost.E040", "fieldpost.E040"]),
        ("Remote_Email", ["127.0.0.1"], ["fieldpost.E037"]),
        ("Remote-Email: ", ["127.0.0.1"], ["fieldpost.E037"]),
    ],
)
def test_header_and_proxies__wrong__are_errors(
    settings: Settings, header: str, proxies: list[str], found: list[str]
) -> None:
    settings.REMOTE_USER_HEADER, settings.TRUSTED_PROXIES = header, proxies
    assert [message.id for message in check_remote_user()] == found
