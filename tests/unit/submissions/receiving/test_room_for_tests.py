"""How many files of tests may wait until the oldest are deleted (docs/contract.md 12.7)."""

import pytest

from config.base.times import now
from submissions.mode import MOST_TEST_FILES, UNTIL_PURGED, has_room_for
from submissions.models import Submission
from tests.support.rows import row
from tests.support.tenants import Tenant, make_tenant

pytestmark = pytest.mark.django_db
MIB = 1024 * 1024


def store(tenant: Tenant, size: int, **values: str) -> None:
    made = row(tenant, tenant.default_form_id, {}, now())
    made.files_size, made.counted_as = size, values.get("counted_as", Submission.CountedAs.KEPT)
    made.save(force_insert=True)


def test_room__is_of_the_own_tests_alone() -> None:
    tenant, other = make_tenant(), make_tenant()
    store(tenant, 10 * MOST_TEST_FILES)
    store(other, 10 * MOST_TEST_FILES, counted_as=Submission.CountedAs.TEST)
    assert has_room_for(MOST_TEST_FILES, tenant.organization.pk)
    assert not has_room_for(MOST_TEST_FILES + 1, tenant.organization.pk)


def test_room__while_several_times_the_bound_waits__is_none() -> None:
    tenant = make_tenant()
    store(tenant, UNTIL_PURGED * MOST_TEST_FILES - MIB, counted_as=Submission.CountedAs.TEST)
    assert has_room_for(MIB, tenant.organization.pk)
    assert not has_room_for(MIB + 1, tenant.organization.pk)
