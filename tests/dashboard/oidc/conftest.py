"""A service whose logins come from an OpenID provider that does what each test wants."""

from collections.abc import Callable, Iterator

import pytest

from tests.services.application import Application
from tests.services.client import Client
from tests.services.openid.issuer import Issuer, Wishes
from tests.support.browser import Browser
from tests.support.tenants import Tenant, make_tenant

Shared = Callable[..., Application]


@pytest.fixture(scope="session")
def the_issuer() -> Iterator[Issuer]:
    with Issuer() as issuer:
        yield issuer


@pytest.fixture
def issuer(the_issuer: Issuer) -> Issuer:
    """Return the provider, which keeps to the rules until the test says otherwise."""
    the_issuer.wishes = Wishes()
    the_issuer.requests.clear()
    return the_issuer


@pytest.fixture(scope="session")
def joined(service: Application) -> Tenant:  # noqa: ARG001  # the schema is there first
    """Return the organization that new people join."""
    return make_tenant()


@pytest.fixture(scope="session")
def signing_on(shared_service: Shared, the_issuer: Issuer, joined: Tenant) -> Application:
    """Return a service that makes accounts in the organization `joined`, also where SIGN_UP is closed."""
    more = {"NAME": "Acme & Co", "ORGANIZATION": joined.organization.slug, "ROLE_CLAIM": "fieldpost_role"}
    return shared_service(SIGN_UP="closed", **the_issuer.settings(**more))


@pytest.fixture
def browser(signing_on: Application) -> Iterator[Browser]:
    with Client(signing_on.port) as client:
        yield Browser(client)
