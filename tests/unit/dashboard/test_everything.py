"""An action on everything that a list selects, step by step."""

import uuid

import pytest
from django.conf import settings

from config.base.ids import new_id
from dashboard.pages.submissions import everything
from dashboard.pages.submissions.everything import take_step
from submissions.models import Submission
from submissions.reading.listing import Scope
from tests.support.rows import put_many
from tests.support.tenants import make_tenant

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", settings.SNAPSHOT])


@pytest.mark.parametrize("text", ["", "wanted"])
def test_take_step__when_its_time_is_over__continues_after_the_last_row(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(everything, "ROWS_A_BATCH", 2)
    monkeypatch.setattr(everything, "SECONDS_A_REQUEST", -1.0)
    tenant, other = make_tenant(), make_tenant()
    for each in (tenant, other):
        put_many(each, each.form(), [{"n": f"wanted {number}"} for number in range(5)])
    scope = Scope(tenant.organization.pk, text=text)
    rows = Submission.objects.filter(organization=tenant.organization).order_by("-id")
    wanted, seen = list(rows.values_list("pk", flat=True)), list[uuid.UUID]()
    before, steps = new_id(), list[tuple[int, int]]()

    def act(ids: list[uuid.UUID]) -> int:
        seen.extend(ids)
        return 1

    while True:
        put_many(tenant, tenant.default_form_id, [{"n": "wanted, but late"}])
        step = take_step(scope, act, before=before)
        steps.append((step.seen, step.changed))
        if step.before is None:
            break
        before = step.before
    assert seen == wanted
    assert steps == [(2, 1), (2, 1), (1, 1)]
