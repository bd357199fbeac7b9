"""How many test submissions an organization keeps, how large, and for how long (docs/contract.md 12.7)."""

import datetime as dt

import pytest

from config.base.times import now
from submissions.lifecycle.mode_bounds import KEPT, purge_tests
from submissions.models import Submission
from tests.support.rows import row
from tests.support.tenants import Tenant, make_tenant

MIB = 1024 * 1024


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def put_tests(tenant: Tenant, number: int, *, age: dt.timedelta = dt.timedelta(hours=1), size: int = 0) -> list[str]:
    """Store test submissions, the oldest first; return their ids."""
    start, form = now() - age, tenant.default_form_id
    rows = [row(tenant, form, {"n": str(n)}, start + n * dt.timedelta(milliseconds=5)) for n in range(number)]
    for one in rows:
        one.counted_as, one.files_size, one.dispatched_at = Submission.CountedAs.TEST, size, now()
    Submission.objects.bulk_create(rows, batch_size=500)
    return [one.public_id for one in rows]


def left(tenant: Tenant) -> list[str]:
    return [one.public_id for one in Submission.objects.filter(organization=tenant.organization).order_by("id")]


def test_tests__beyond_a_thousand__go_the_oldest_first_and_live_ones_stay(tenant: Tenant) -> None:
    live = row(tenant, tenant.default_form_id, {"n": "live"}, now() - 30 * KEPT)
    live.save(force_insert=True)
    ids = put_tests(tenant, 1_003)
    purge_tests()
    assert left(tenant) == [live.public_id, *ids[3:]]


def test_tests__whose_files_are_more_than_50_mib__go_the_oldest_first(tenant: Tenant) -> None:
    ids = put_tests(tenant, 4, size=15 * MIB)
    purge_tests()
    assert left(tenant) == ids[1:]


def test_tests__after_seven_days__are_deleted(tenant: Tenant) -> None:
    put_tests(tenant, 2, age=KEPT + dt.timedelta(minutes=1))
    young = put_tests(tenant, 2, age=KEPT - dt.timedelta(minutes=1))
    purge_tests()
    assert left(tenant) == young


def test_tests__of_a_suspended_organization__are_kept(tenant: Tenant) -> None:
    tenant.organization.suspended_at = now()
    tenant.organization.save(update_fields=["suspended_at"])
    ids = put_tests(tenant, 1, age=2 * KEPT)
    purge_tests()
    assert left(tenant) == ids
