"""A new organization with a member and an owner."""

import pytest

from tests.services.client import Client
from tests.support.browser import Browser, logged_in, member_of, person_of
from tests.support.tenants import Tenant, make_tenant


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


@pytest.fixture
def member(api: Client, tenant: Tenant) -> Browser:
    return logged_in(api, member_of(tenant.organization, "member"))


@pytest.fixture
def owner(api: Client, tenant: Tenant) -> Browser:
    return logged_in(api, person_of(tenant))
