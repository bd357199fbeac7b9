"""Queries of exports on their way to another process (docs/adr/0108)."""

import pickle

import pytest
from django.http import QueryDict

from dashboard.html_forms.submissions import SubmissionsFilterForm
from keys.seen_forms import SeenForms
from submissions.models import Submission
from tests.support.tenants import make_tenant

FILTERS = [
    "",
    "q=needle",
    'q="two+words"+more',
    "q=50%25_off",
    "from=2026-01-01&to=2026-01-31",
    "spam=true",
    "spam=all",
    "unread=on",
    "held=on",
    "unconfirmed=on",
    "undelivered=on",
    "undelivered=on&q=needle&from=2026-01-01",
]


@pytest.mark.django_db
@pytest.mark.parametrize("chosen", FILTERS)
def test_query__of_each_filter__is_the_same_after_pickling(chosen: str) -> None:
    tenant = make_tenant()
    for query in (chosen, f"{chosen}&form={tenant.default_form_id}"):
        filters = SubmissionsFilterForm(QueryDict(query), seen=SeenForms(tenant.organization.pk))
        assert filters.is_valid(), filters.errors
        rows = filters.narrowing().scope(SeenForms(tenant.organization.pk)).rows().order_by("id")
        copy = Submission.objects.all()
        copy.query = pickle.loads(pickle.dumps(rows.query))
        assert copy.query.get_compiler("default").as_sql() == rows.query.get_compiler("default").as_sql()
