"""The choice of a form, which does not load the definitions of all of them."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dashboard.html_forms.submissions import SubmissionsFilterForm
from keys.seen_forms import SeenForms
from tests.support.tenants import make_tenant, text_field


@pytest.mark.django_db
def test_choice__of_forms__loads_the_definition_of_the_chosen_one_only() -> None:
    tenant = make_tenant()
    ids = [tenant.form(name=f"F {number}", fields=[text_field("a")]) for number in range(3)]
    with CaptureQueriesContext(connection) as asked:
        chosen = SubmissionsFilterForm({"form": ids[1]}, seen=SeenForms(tenant.organization.pk)).narrowing().form
    assert chosen is not None
    assert (chosen.name, chosen.fields[0]["name"]) == ("F 1", "a")
    loading = [query["sql"] for query in asked.captured_queries if '"fields"' in query["sql"]]
    assert len(asked.captured_queries) == 2
    assert len(loading) == 1
