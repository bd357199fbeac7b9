"""The look-up of a key: one query, with its organization, for a usable key only."""

import datetime as dt
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from keys import tokens
from keys.authentication import find_key
from keys.models import AccessKey
from tests.support.tenants import make_tenant

pytestmark = pytest.mark.django_db
TODAY = dt.datetime.now(dt.UTC).date


def test_key_lookup__a_usable_key__comes_with_its_organization_in_one_query(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    tenant = make_tenant()
    token = tenant.issue("read:forms", expires_on=TODAY())
    with django_assert_num_queries(1):
        found = find_key(token)
        assert found is not None
        owner = found.organization
    assert (found.hint, owner) == (tokens.hint(token), tenant.organization)


@pytest.mark.parametrize(
    "changes",
    [{"revoked_at": dt.datetime(2026, 1, 1, tzinfo=dt.UTC)}, {"expires_on": dt.date(2026, 1, 1)}],
    ids=["revoked", "expired"],
)
def test_key_lookup__a_key_that_is_not_usable__is_not_found(changes: dict[str, Any]) -> None:
    tenant = make_tenant()
    assert find_key(tenant.key) is not None
    AccessKey.objects.filter(digest=tokens.digest(tenant.key)).update(**changes)
    assert find_key(tenant.key) is None


def test_key_lookup__an_unknown_key__is_not_found() -> None:
    make_tenant()
    assert find_key(tokens.make_token()) is None
