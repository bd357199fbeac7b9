"""One set of filters: each one narrows the list, its total and the export, because all three read one scope."""

import dataclasses
import datetime as dt
import uuid
from typing import Any

import pytest
from django.conf import settings
from django.http import HttpResponse
from django.test import RequestFactory

from submissions import views
from submissions.models import Submission, SubmissionQuerySet
from submissions.reading.filters import SubmissionFilters
from submissions.reading.listing import Holding, Scope
from tests.support.rows import put
from tests.support.tenants import Tenant, make_tenant

DAY = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
# Of each filter, a value and what it changes in the scope. A new filter needs a row here.
CHANGES: dict[str, tuple[str, dict[str, Any]]] = {
    "from": ("2026-03-01", {"since": DAY}),
    "to": ("2026-03-01", {"until": DAY + dt.timedelta(days=1)}),
    "spam": ("all", {"spam": None}),
    "held": ("true", {"held": Holding.QUOTA}),
    "test": ("true", {"test": True}),
    "q": ("hello", {"text": "hello"}),
}


def scope_of(**values: str) -> Scope:
    filters = SubmissionFilters(data=values)
    assert filters.is_valid(), filters.form.errors
    return filters.scope(uuid.UUID(int=1))


@pytest.mark.parametrize("name", sorted({*SubmissionFilters.base_filters} - {"formId"}))
def test_filter__given__changes_the_scope(name: str) -> None:
    value, changed = CHANGES[name]

    assert scope_of(**{name: value}) == dataclasses.replace(scope_of(), **changed)


@pytest.mark.django_db
def test_form_id__given__changes_the_scope() -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    filters = SubmissionFilters(data={"formId": form_id})
    assert filters.is_valid()

    scope = filters.scope(tenant.organization.pk)

    assert (scope.organization_id, scope.form_id) == (tenant.organization.pk, filters.form.cleaned_data["formId"])


class OneFilterMore(SubmissionFilters):
    """The one place to edit for another filter."""

    def scope(self, organization_id: uuid.UUID, *, only_tests: bool = False) -> Scope:
        return dataclasses.replace(super().scope(organization_id, only_tests=only_tests), only=only_new)


def only_new(rows: SubmissionQuerySet) -> SubmissionQuerySet:
    return rows.filter(data__contains="new")


def get(action: str, tenant: Tenant) -> Any:
    request = RequestFactory().get("/api/submissions", headers={"x-access-key": tenant.key})
    return views.SubmissionViewSet.as_view({"get": action})(request)


def listed(tenant: Tenant) -> tuple[list[str], int]:
    body = get("list", tenant).data
    return [row["data"]["n"] for row in body["data"]], body["pagination"]["total"]


@pytest.mark.django_db(transaction=True, databases=["default", settings.SNAPSHOT])
def test_filter__added_in_one_place__narrows_list_total_and_export(monkeypatch: pytest.MonkeyPatch) -> None:
    tenant = make_tenant()
    for value in ("old", "new 1", "new 2"):
        put(tenant, tenant.form(), {"n": value})
    exported: list[Submission] = []

    def take(rows: SubmissionQuerySet, *_: Any, **__: Any) -> HttpResponse:
        exported.extend(rows)
        return HttpResponse()

    monkeypatch.setattr(views, "stream_export", take)
    assert listed(tenant) == (["new 2", "new 1", "old"], 3)

    monkeypatch.setattr(views.SubmissionViewSet, "filterset_class", OneFilterMore)

    assert listed(tenant) == (["new 2", "new 1"], 2)
    assert get("export", tenant).status_code == 200
    assert [row.data["n"] for row in exported] == ["new 1", "new 2"]
