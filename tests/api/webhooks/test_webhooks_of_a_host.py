"""Webhooks of one host in an organization on Free (docs/contract.md 7.3)."""

import pytest

from keys.plans import Plan
from tests.services.client import Answer, Client
from tests.support.tenants import Tenant, make_tenant
from tests.support.webhooks import EVENTS
from webhooks.models import Receiver

HOST = "hooks.invalid"


def save(api: Client, tenant: Tenant, url: str, form_id: str | None) -> Answer:
    return api.post("/api/webhooks", tenant.key, json={"formId": form_id, "url": url, "events": EVENTS})


def full(api: Client, plan: Plan = Plan.FREE) -> tuple[Tenant, list[str]]:
    """Return an organization with five webhooks of a host, of one, another and all forms, and their ids."""
    tenant = make_tenant(plan)
    forms = [tenant.default_form_id, tenant.form(), None]
    made = [save(api, tenant, f"https://{HOST}/{number}", forms[number % 3]) for number in range(5)]
    return tenant, [answer.json()["data"]["id"] for answer in made]


@pytest.mark.parametrize(
    "url",
    [f"https://{HOST}/6", f"http://{HOST.upper()}.:8080/", f"https://{HOST}:8443", "https://ｈooks.invalid/"],  # noqa: RUF001 - another letter
)
def test_new_webhook__sixth_of_a_host_on_free__is_refused(api: Client, url: str) -> None:
    tenant, _ = full(api)
    answer = save(api, tenant, url, tenant.form())
    assert (answer.status, answer.json()["error"]) == (409, "conflict")
    assert f"at most 5 webhooks of one host, {HOST}" in answer.json()["message"]
    assert Receiver.objects.webhooks().filter(organization=tenant.organization.pk).count() == 5
    assert save(api, tenant, "https://other.invalid/", None).status == 201


@pytest.mark.on_sqlite
@pytest.mark.parametrize("plan", [Plan.PRO, Plan.ENTERPRISE])
def test_new_webhook__sixth_of_a_host_on_a_paid_plan__is_taken(api: Client, plan: Plan) -> None:
    tenant, _ = full(api, plan)
    assert save(api, tenant, f"https://{HOST}/6", tenant.form()).status == 201


def test_change__to_a_host_that_has_five__is_refused_and_changes_nothing(api: Client) -> None:
    tenant, ids = full(api)
    other = save(api, tenant, "https://other.invalid/", None).json()["data"]
    answer = api.patch(f"/api/webhooks/{other['id']}", tenant.key, json={"url": f"https://{HOST}/6"})
    assert answer.status == 409
    assert api.get(f"/api/webhooks/{other['id']}", tenant.key).json()["data"]["url"] == other["url"]
    assert api.patch(f"/api/webhooks/{ids[0]}", tenant.key, json={"url": f"https://{HOST}/new"}).status == 200


def test_surplus__of_an_organization_that_was_on_a_paid_plan__stays_and_can_be_changed(api: Client) -> None:
    tenant, ids = full(api, Plan.PRO)
    sixth = save(api, tenant, f"https://{HOST}/6", tenant.form()).json()["data"]["id"]
    tenant.organization.plan = Plan.FREE
    tenant.organization.save()
    assert api.patch(f"/api/webhooks/{sixth}", tenant.key, json={"url": f"https://{HOST}/7"}).status == 200
    assert api.patch(f"/api/webhooks/{sixth}", tenant.key, json={"status": "disabled"}).status == 200
    assert api.patch(f"/api/webhooks/{sixth}", tenant.key, json={"status": "active"}).status == 200
    assert save(api, tenant, f"https://{HOST}/8", tenant.form()).status == 409
    for webhook in (sixth, *ids[:1]):
        assert api.delete(f"/api/webhooks/{webhook}", tenant.key).status == 200
    assert save(api, tenant, f"https://{HOST}/8", tenant.form()).status == 201


def test_activate__pending_webhook_of_a_host_that_has_five__is_refused(api: Client) -> None:
    tenant, _ = full(api)
    form = Receiver.objects.filter(organization=tenant.organization).latest("id").form
    pending = Receiver.objects.create(
        organization=tenant.organization, form=form, url=f"https://{HOST}/page", events=EVENTS, status="pending"
    )
    answer = api.patch(f"/api/webhooks/{pending.public_id}", tenant.key, json={"status": "active"})
    assert answer.status == 409
    pending.refresh_from_db()
    assert pending.status == "pending"
