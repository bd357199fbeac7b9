"""Settings of single sign-on that would let the wrong people in, or nobody, are found."""

from typing import Any

import pytest
from pytest_django import Settings

from config.oidc_checks import check_issuer, check_trust

GOOD: dict[str, Any] = {
    "OIDC_ISSUER": "https://login.example.com/realms/acme",
    "OIDC_CLIENT_ID": "fieldpost",
    "OIDC_CLIENT_SECRET": "secret",
}


def found(settings: Settings, **values: Any) -> list[str]:
    for name, value in {**GOOD, **values}.items():
        setattr(settings, name, value)
    return [str(message.id) for message in (*check_issuer(), *check_trust())]


def test_settings__that_fit__and_none__are_good(settings: Settings) -> None:
    assert found(settings) == []
    assert found(settings, OIDC_ONLY=True, OIDC_IS_SECOND_STEP=True, OIDC_TRUST_EMAIL=True) == []
    off = dict.fromkeys(GOOD, "") | {"OIDC_ONLY": False, "OIDC_IS_SECOND_STEP": False, "OIDC_TRUST_EMAIL": False}
    assert found(settings, **off) == []


@pytest.mark.parametrize(
    "issuer", ["http://127.0.0.1:3000", "http://localhost/op", "http://[::1]:9", "https://a.example/"]
)
def test_issuer__over_https_or_on_this_machine__is_good(settings: Settings, issuer: str) -> None:
    assert found(settings, OIDC_ISSUER=issuer) == []


@pytest.mark.parametrize(
    "issuer",
    [
        "http://login.example.com",
        "http://10.0.0.1",
        "http://localhost.example.com",
        "http://127.0.0.1@login.example.com",
        "login.example.com",
        "ftp://login.example.com",
        "https://",
        "https://[",
        "https://login.example.com:port",
        "https://user:password@login.example.com",
        "https://login.example.com/?tenant=acme",
        "https://login.example.com/#a",
        "https://login.example.com/ a",
        "https://login.exämple.com",
        "javascript:alert(1)",
    ],
)
def test_issuer__that_others_can_play__is_an_error(settings: Settings, issuer: str) -> None:
    assert found(settings, OIDC_ISSUER=issuer) == ["fieldpost.E033"]


@pytest.mark.parametrize("name", ["OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET", "OIDC_NAME"])
def test_client__that_is_not_whole__is_an_error(settings: Settings, name: str) -> None:
    assert found(settings, **{name: ""}) == ["fieldpost.E034"]


@pytest.mark.parametrize("name", ["OIDC_ONLY", "OIDC_IS_SECOND_STEP", "OIDC_TRUST_EMAIL"])
def test_setting__without_an_issuer__is_an_error(settings: Settings, name: str) -> None:
    assert found(settings, OIDC_ISSUER="", **{name: True}) == ["fieldpost.E032"]


@pytest.mark.parametrize("hours", [0, -1])
def test_session_hours__not_positive__are_an_error(settings: Settings, hours: float) -> None:
    assert found(settings, OIDC_SESSION_HOURS=hours) == ["fieldpost.E035"]


SHARED = [
    "https://accounts.google.com",
    "https://ACCOUNTS.google.com./",
    "https://login.microsoftonline.com/common/v2.0",
    "https://login.microsoftonline.com/organizations/v2.0",
    "https://login.microsoftonline.com/Consumers/v2.0",
    "https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0",
    "https://login.microsoftonline.com/{tenantid}/v2.0",
    "https://gitlab.com",
]


@pytest.mark.parametrize("issuer", SHARED)
def test_trust__in_addresses_of_an_issuer_for_everybody__is_an_error(settings: Settings, issuer: str) -> None:
    assert found(settings, OIDC_ISSUER=issuer, OIDC_TRUST_EMAIL=True) == ["fieldpost.E036"]
    assert found(settings, OIDC_ISSUER=issuer, OIDC_TRUST_EMAIL=False) == []


@pytest.mark.parametrize("issuer", SHARED)
def test_organization__that_everybody_would_join__is_a_warning(settings: Settings, issuer: str) -> None:
    assert found(settings, OIDC_ISSUER=issuer, OIDC_ORGANIZATION="acme") == ["fieldpost.W010"]


def test_trust__in_addresses_of_ones_own_tenant__is_good(settings: Settings) -> None:
    tenant = "https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0"
    assert found(settings, OIDC_ISSUER=tenant, OIDC_TRUST_EMAIL=True, OIDC_ORGANIZATION="acme") == []
