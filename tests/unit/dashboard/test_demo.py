"""The newest submissions on the demo page."""

import pytest

from dashboard.demo import NAME
from dashboard.demo_page import _latest
from keys.models import Organization
from submissions.models import Submission
from tests.support.rows import put
from tests.support.tenants import make_tenant


@pytest.mark.django_db
def test_latest__with_a_newer_test__shows_the_live_one() -> None:
    tenant = make_tenant()
    Organization.objects.filter(pk=tenant.organization.pk).update(slug=NAME.lower())
    live = put(tenant, tenant.default_form_id, {"n": "live"})
    test = put(tenant, tenant.default_form_id, {"n": "test"})
    newest = Submission.objects.order_by("-pk")[0]
    Submission.objects.filter(pk=newest.pk).update(counted_as="test")
    assert newest.public_id == test
    assert [row.public_id for row in _latest()] == [live]
