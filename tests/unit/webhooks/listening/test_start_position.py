"""The position at which a listener that was away goes on."""

import pytest

from submissions.models import Submission
from tests.support.rows import put
from tests.support.tenants import make_tenant
from tests.unit.webhooks.dispatching import dispatch_all
from webhooks.listening import messages


@pytest.mark.django_db
def test_start__far_behind__looks_for_those_of_its_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "NEAR", 0)
    tenant = make_tenant()
    for number in range(4):
        put(tenant, tenant.default_form_id, {"n": f"{number}"})
    dispatch_all()
    oldest = Submission.objects.order_by("pk")[1]
    Submission.objects.filter(pk=oldest.pk).update(counted_as="test")
    assert messages.start_position(tenant.organization.pk, False, 1) == 2
    assert messages.start_position(tenant.organization.pk, True, 0) == 0
