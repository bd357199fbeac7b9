"""Plans of totals while submissions wait to be dispatched: they read no waiting rows but those of their forms."""

from collections.abc import Callable
from functools import partial

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from config.base.times import now
from forms_app.models import Form
from submissions.counts.tally import total_of_forms, total_of_organization
from submissions.models import Submission
from tests.support.rows import put_many
from tests.support.tenants import Tenant, make_tenant

pytestmark = [pytest.mark.slow, pytest.mark.django_db]

DISPATCHED, OTHERS, WAITING_OF_EACH = 2_000, 40, 25


@pytest.fixture
def tenant() -> Tenant:
    """
    An organization with many dispatched rows and two that wait, next to many with waiting rows.

    Many, as the planner supposes that the waiting rows are spread evenly over their forms.
    """
    tenant = make_tenant()
    put_many(tenant, tenant.default_form_id, [{"text": "x"}] * DISPATCHED)
    Submission.objects.update(dispatched_at=now(), counted_as=Submission.CountedAs.KEPT)
    put_many(tenant, tenant.default_form_id, [{"text": "x"}] * 2)
    for other in [make_tenant() for _ in range(OTHERS)]:
        put_many(other, other.default_form_id, [{"text": "x"}] * WAITING_OF_EACH)
    return tenant


def plan_of(total: Callable[[], int]) -> str:
    with CaptureQueriesContext(connection) as context:
        assert total() == 2
    ((sql,),) = [[query["sql"] for query in context.captured_queries]]
    with connection.cursor() as cursor:
        cursor.execute(("EXPLAIN " if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN ") + sql)
        return "\n".join(str(row[-1]) for row in cursor.fetchall())


@pytest.mark.parametrize("is_analyzed", [False, True], ids=["old statistics", "new statistics"])
def test_totals__while_rows_of_others_wait__read_neither_these_nor_the_dispatched_ones(
    tenant: Tenant, *, is_analyzed: bool
) -> None:
    if is_analyzed:
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
    form = Form.objects.get(organization=tenant.organization)
    totals: dict[str, Callable[[], int]] = {
        "form": partial(total_of_forms, [form.pk], spam=False, using="default"),
        "both kinds": partial(total_of_forms, [form.pk], spam=None, using="default"),
        "organization": partial(total_of_organization, tenant.organization.pk, spam=False, using="default"),
    }
    for label, total in totals.items():
        plan = plan_of(total)
        assert "submission_waiting" in plan, (label, plan)
        for other in ("submission_by_form", "submission_undispatched", "Seq Scan on submissions_submission"):
            assert other not in plan, (label, plan)
