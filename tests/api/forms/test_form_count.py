"""The number of forms of a plan (docs/contract.md 2.21)."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from forms_app.models import Form
from keys.plans import Plan
from tests.services.client import Client
from tests.support.replies import failure
from tests.support.tenants import Tenant, make_tenant

FULL = failure("conflict", "The plan has at most 100 forms. Archive one first.")
FULL_ARCHIVE = failure("conflict", "The plan has at most 1,000 archived forms. Erase one first.")


def add(tenant: Tenant, number: int, status: str = "draft") -> None:
    """Store forms, as many as a plan may have had before it had a limit."""
    made = [Form(organization=tenant.organization, name=f"F {n}", status=status) for n in range(number)]
    Form.objects.bulk_create(made)


def test_create__at_the_limit__is_a_conflict_until_one_is_archived(api: Client) -> None:
    tenant = make_tenant(Plan.FREE)
    add(tenant, 98)
    made = api.post("/api/forms", tenant.key, json={"name": "The 100th, with the default form"})
    assert made.status == 201
    refused = api.post("/api/forms", tenant.key, json={"name": "Too many"})
    assert (refused.status, refused.json()) == (409, FULL)
    assert api.delete(f"/api/forms/{made.json()['data']['id']}", tenant.key).status == 200
    assert api.post("/api/forms", tenant.key, json={"name": "Again"}).status == 201


@pytest.mark.parametrize(("plan", "most"), [(Plan.PRO, 1_000), (Plan.ENTERPRISE, 1_000)])
def test_create__on_larger_plans__has_ten_times_as_many(api: Client, plan: Plan, most: int) -> None:
    tenant = make_tenant(plan)
    add(tenant, most - 2)
    statuses = [api.post("/api/forms", tenant.key, json={"name": "F"}).status for _ in range(2)]
    assert statuses == [201, 409]


def test_create__by_requests_at_the_same_time__reaches_the_limit_once(api: Client) -> None:
    tenant = make_tenant(Plan.FREE)
    add(tenant, 96)
    with ThreadPoolExecutor(10) as threads:
        asked = [threads.submit(api.post, "/api/forms", tenant.key, json={"name": f"At {n}"}) for n in range(10)]
        statuses = Counter(each.result().status for each in asked)
    assert statuses == {201: 3, 409: 7}
    assert Form.objects.filter(organization=tenant.organization).count() == 100


def test_archive__at_the_limit_of_archived_forms__is_a_conflict(api: Client) -> None:
    tenant = make_tenant(Plan.FREE)
    add(tenant, 999, "archived")
    ids = [tenant.form() for _ in range(5)]
    with ThreadPoolExecutor(4) as threads:
        asked = [threads.submit(api.delete, f"/api/forms/{form}", tenant.key) for form in ids[:4]]
        statuses = Counter(each.result().status for each in asked)
    assert statuses == {200: 1, 409: 3}
    refused = api.delete(f"/api/forms/{ids[4]}", tenant.key)
    assert (refused.status, refused.json()) == (409, FULL_ARCHIVE)
    assert api.get(f"/api/forms/{ids[4]}", tenant.key).json()["data"]["status"] == "published"


def test_surplus__of_a_larger_plan__stays_and_works(api: Client) -> None:
    tenant = make_tenant(Plan.FREE)
    add(tenant, 150)
    form = Form.objects.filter(organization=tenant.organization, is_default=False).first()
    assert form is not None
    assert api.post(f"/api/forms/{form.public_id}/publish", tenant.key).status == 200
    assert api.patch(f"/api/forms/{form.public_id}", tenant.key, json={"name": "Renamed"}).status == 200
    assert api.post(f"/api/submit?formId={form.public_id}", tenant.key, json={"a": "1"}).status == 201
    assert api.get("/api/forms", tenant.key).json()["pagination"]["total"] == 151
