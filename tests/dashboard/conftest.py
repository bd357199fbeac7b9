"""Black-box tests of the dashboard over HTTP, as a browser without scripts sends; arranged through our functions."""

import pytest

from tests.services.application import Application
from tests.services.client import Client
from tests.support.browser import Browser, logged_in, member_of, person_of
from tests.support.tenants import Tenant, make_tenant


@pytest.fixture(scope="session", autouse=True)
def _running(service: Application) -> None:
    """Start the service, and with it the schema, first: every test here may arrange in the database."""


@pytest.fixture(scope="session")
def django_db_setup() -> None:
    """Replace pytest-django's own, which would make a test database that the running service never sees."""
    pytest.fail("API tests share the running service's database: leave out the django_db mark and its fixtures")


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


@pytest.fixture
def member(api: Client, tenant: Tenant) -> Browser:
    return logged_in(api, member_of(tenant.organization, "member"))


@pytest.fixture
def owner(api: Client, tenant: Tenant) -> Browser:
    return logged_in(api, person_of(tenant))
