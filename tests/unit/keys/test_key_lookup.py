"""The look-up of a key, whose SQL is ours, finds what the queryset finds."""

import datetime as dt
from typing import Any

import pytest
from django.forms.models import model_to_dict
from pytest_django import DjangoAssertNumQueries

from config.times import now
from keys import tokens
from keys.authentication import find_key
from keys.models import AccessKey
from tests.support.tenants import make_tenant

pytestmark = pytest.mark.django_db
TODAY = dt.datetime.now(dt.UTC).date


def values_of(instance: object) -> dict[str, object]:
    return {name: value for name, value in vars(instance).items() if not name.startswith("_")}


def test_key_lookup__a_usable_key__has_the_values_that_the_queryset_reads(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    tenant = make_tenant()
    token = tenant.issue("read:forms", expires_on=TODAY())
    AccessKey.objects.filter(digest=tokens.digest(token)).update(last_used_at=now())
    expected = AccessKey.objects.usable().select_related("organization").get(digest=tokens.digest(token))
    with django_assert_num_queries(1):
        found = find_key(token)
        assert found is not None
        owner = found.organization
    assert (found, owner) == (expected, expected.organization)
    assert values_of(found) == values_of(expected)
    assert values_of(owner) == values_of(expected.organization)
    assert model_to_dict(found) == model_to_dict(expected)
    found.save()  # an instance like any other


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
