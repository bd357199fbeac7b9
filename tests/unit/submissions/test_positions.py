"""Positions of submissions that a release without them has dispatched (docs/adr/0065)."""

import pytest

from config.base.times import now
from submissions.counts.positions import number_missed
from submissions.models import ReadingPosition, Submission
from tests.support.rows import put
from tests.support.tenants import Tenant, make_tenant
from tests.unit.webhooks.dispatching import dispatch_all

pytestmark = pytest.mark.django_db(transaction=True)


def positions(tenant: Tenant) -> dict[str, int | None]:
    rows = Submission.objects.filter(organization=tenant.organization)
    return {row.data["n"]: row.position for row in rows}


def forget_positions() -> None:
    """Leave the rows as a release without positions has dispatched them."""
    Submission.objects.update(position=None)
    ReadingPosition.objects.all().delete()


def test_missed__dispatched_by_an_older_release__get_positions_in_the_order_of_their_ids() -> None:
    first, second = make_tenant(), make_tenant()
    for n in "123":
        put(first, first.default_form_id, {"n": n})
    put(first, first.default_form_id, {"n": "spam"}, spam=True)
    put(second, second.default_form_id, {"n": "1"})
    dispatch_all()
    forget_positions()
    put(first, first.default_form_id, {"n": "new"})

    numbered = [number_missed(3), number_missed(3), number_missed(3)]

    assert numbered == [3, 1, 0]
    assert positions(first) == {"1": 1, "2": 2, "3": 3, "spam": None, "new": None}
    assert positions(second) == {"1": 1}


def test_missed__with_newer_rows_dispatched_first__come_after_these() -> None:
    tenant = make_tenant()
    put(tenant, tenant.default_form_id, {"n": "old"})
    dispatch_all()
    forget_positions()
    put(tenant, tenant.default_form_id, {"n": "new"})
    dispatch_all()

    number_missed(100)

    assert positions(tenant) == {"old": 2, "new": 1}


@pytest.mark.parametrize("counted_as", ["held", "test"])
def test_missed__one_that_waits_for_its_confirmation__gets_none_before_it(counted_as: str) -> None:
    tenant = make_tenant()
    put(tenant, tenant.default_form_id, {"n": "unconfirmed"})
    Submission.objects.update(held="confirmation", counted_as=counted_as, dispatched_at=now())

    assert number_missed(100) == 0

    assert positions(tenant) == {"unconfirmed": None}
    assert not ReadingPosition.objects.exists()


def test_missed__a_test__is_not_numbered_among_live_ones() -> None:
    tenant = make_tenant()
    put(tenant, tenant.default_form_id, {"n": "test"})
    Submission.objects.update(counted_as="test", dispatched_at=now())

    assert number_missed(100) == 0
    assert not ReadingPosition.objects.exists()
