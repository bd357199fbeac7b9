"""Whatever changes something leaves an event in the audit trail: every route of the dashboard and of the API."""

import re
from collections.abc import Callable
from hashlib import sha256
from io import BytesIO
from typing import Any

import pytest
from django.urls import reverse
from PIL import Image

from config.base.ids import Prefix, decode_id
from config.base.times import format_time
from forms_app.actions import change_recipients, publish_form
from forms_app.logos import set_form_logo
from forms_app.models import Form, OptOut
from keys.audit.action_names import KIND_OF
from keys.branding.changes import set_logo
from keys.models import AuditEvent, Organization
from tests.services.client import Client
from tests.support.accounts import with_authenticator_app
from tests.support.browser import logged_in, person_of, place
from tests.support.tables.callers import furnish
from tests.support.tables.dashboard_table import IN_ORGANIZATION, a_submission
from tests.support.tables.permission_table import PNG, TABLE, Endpoint
from tests.support.tenants import Tenant, make_tenant


def a_form_with_a_recipient(tenant: Tenant) -> dict[str, Any]:
    form_id = tenant.form()
    change_recipients(Form.objects.get(pk=decode_id(Prefix.FORM, form_id)), ["new@example.com"])
    return {"form_id": form_id}


def a_form_with_a_logo(tenant: Tenant) -> dict[str, Any]:
    form_id = tenant.form()
    set_form_logo(Form.objects.get(pk=decode_id(Prefix.FORM, form_id)), PNG)
    return {"form_id": form_id}


def demanding_a_second_step(tenant: Tenant) -> dict[str, Any]:
    """Return what stops demanding it."""
    with_authenticator_app(tenant.owner)
    Organization.objects.filter(pk=tenant.organization.pk).update(second_step_required=True)
    return {"demanded": "0"}


def with_a_logo(tenant: Tenant) -> dict[str, Any]:
    """Return what removes it."""
    file = BytesIO()
    Image.new("RGB", (40, 20)).save(file, "PNG")
    set_logo(tenant.organization, file.getvalue(), by=None)
    return {"do": "remove"}


def confirmed_html(tenant: Tenant) -> dict[str, Any]:
    """Return what adds the fields of pasted HTML that the page showed, to the latest form."""
    html, form = "<input name=a>", Form.objects.filter(organization=tenant.organization).latest("pk")
    shown = sha256(html.encode()).hexdigest()
    return {"do": "add", "html": html, "shown": shown, "seen": format_time(form.updated_at)}


def an_ended_mail(tenant: Tenant) -> int:
    """Return the number of an address that wants no more mails."""
    return OptOut.objects.create(organization=tenant.organization, email="ada@example.com").pk


Values = Callable[[Tenant], dict[str, Any]]
# Instead of the data of the table of addresses, where those change nothing.
DONE: dict[str, Values] = {
    "organization-second-step": demanding_a_second_step,
    "organization-logo": with_a_logo,
    "form-new-html": lambda tenant: confirmed_html(tenant) | {"seen": ""},
    "form-new-file": lambda _tenant: {"document": '{"name": "New"}', "do": "create"},
    "form-html": confirmed_html,
    "organization-end": lambda tenant: {"typed": tenant.organization.name},
    "form-recipient-ask": lambda tenant: {"recipient": "new@example.com"},
    "form-replies": lambda _tenant: {"subject": "Thanks", "text": "We answer soon."},
    "member-forms": lambda tenant: {"seen": "chosen", "forms": str(decode_id(Prefix.FORM, tenant.default_form_id))},
    "opt-outs": lambda tenant: {"address": str(an_ended_mail(tenant))},
    "form-spam": lambda tenant: {"minimum_seconds": "5"},
    "key-new": lambda tenant: {"name": "New", "kind": "secret", "expires": "never"},
    "submissions-act": lambda tenant: {"do": "delete-now", "id": a_submission(tenant)["submission_id"]},
    "destination-replay": lambda tenant: {"status": "undelivered", "do": "replay"},
}
THINGS: dict[str, Values] = {"form-recipient-ask": a_form_with_a_recipient, "form-logo": a_form_with_a_logo}
UNRECORDED = {
    "first-steps": "it changes what one browser shows",
    "submissions-columns": "it changes what one person sees",
    "test-data": "it changes what one session sees",
    "form-test": "the submission is the record",
    "form-preview": "it changes nothing",
    "form-import": "a file by itself changes nothing",
    "form-import-file": "it keeps what the columns are; the rows are imported as by form-import-next",
    "form-build": "it saves by the same function as the API, whose PATCH is tried below",
    "form-test-mail": "the log of deliveries has it",
    "form-test-reply": "only the member gets it, by mail",
    "destination-new-kind": "it makes them by the same function as the API, whose POST is tried below",
    "destination-test": "the log of deliveries has it",
    "delivery-retry": "the log of deliveries has it",
}
BODIES = {"PATCH /api/webhooks/{id}": {"status": "disabled"}}
UNRECORDED_IN_API = {
    "POST /api/submit": "the submission is the record",
    "POST /api/uploads": "an unused file is no part of the organization's data",
    "POST /api/webhooks/{id}/test": "the log of deliveries has it",
    "POST /api/destinations/{id}/test": "the log of deliveries has it",
    "POST /api/deliveries/{id}/retry": "the log of deliveries has it",
}


def events(tenant: Tenant) -> int:
    return AuditEvent.objects.filter(organization_ref=tenant.organization.pk).count()


@pytest.mark.on_sqlite
@pytest.mark.parametrize("name", [name for name, row in IN_ORGANIZATION.items() if row.post and name not in UNRECORDED])
def test_dashboard__post_that_changes_something__is_recorded(name: str, api: Client) -> None:
    tenant, row = make_tenant(), IN_ORGANIZATION[name]
    browser = logged_in(api, person_of(tenant))
    path = reverse(
        f"dashboard:{name}", kwargs={"slug": tenant.organization.slug, **THINGS.get(name, row.thing)(tenant)}
    )
    values = DONE[name](tenant) if name in DONE else row.data
    if name == "key-new":  # makes one key for each page that was opened
        values |= dict(re.findall(r'name="(once)" value="([^"]+)"', browser.get(path).text))
    before = events(tenant)

    answer = browser.post(path, form=place(tenant), **values)

    assert answer.status in (200, 302), answer.text[:2000]
    assert events(tenant) > before
    event = AuditEvent.objects.filter(organization_ref=tenant.organization.pk).latest("pk")
    assert event.action in KIND_OF
    assert (event.actor, event.address) == (tenant.owner.email, api.address)


CHANGING = [one for one in TABLE if one.method != "GET" and str(one) not in UNRECORDED_IN_API]


@pytest.mark.on_sqlite
@pytest.mark.parametrize("endpoint", CHANGING, ids=str)
def test_api__request_that_changes_something__is_recorded(endpoint: Endpoint, api: Client) -> None:
    house = furnish(make_tenant())
    if endpoint.path.endswith("/unpublish"):
        publish_form(Form.objects.get(pk=decode_id(Prefix.FORM, house.ids["forms"])))
    if str(endpoint) == "DELETE /api/forms/{id}/logo":
        set_form_logo(Form.objects.get(pk=decode_id(Prefix.FORM, house.ids["forms"])), PNG)
    before = events(house.tenant)
    options = {"json": BODIES[str(endpoint)]} if str(endpoint) in BODIES else endpoint.options(house.ids)

    answer = api.request(endpoint.method, endpoint.address(house.ids), house.tenant.key, **options)

    assert answer.status == endpoint.status, answer.text
    assert events(house.tenant) > before
    event = AuditEvent.objects.filter(organization_ref=house.tenant.organization.pk).latest("pk")
    assert event.access_key is not None
    assert event.action in KIND_OF
    assert (event.actor, event.address) == (str(event.access_key), api.address)


def test_exceptions__each__is_a_route() -> None:
    assert set(UNRECORDED) <= set(IN_ORGANIZATION)
    assert set(UNRECORDED_IN_API) <= {str(one) for one in TABLE}
