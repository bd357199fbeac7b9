"""Every endpoint that reads a body, with a body that it accepts."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from config.ids import Prefix, decode_id, encode_id
from forms_app.models import Form
from keys.access_keys import issue_key
from submissions.models import Submission
from tests.support.deliveries import make_delivery
from tests.support.tenants import Tenant
from webhooks.destinations.actions import add_destination
from webhooks.models import Webhook
from webhooks.registration import register_webhook


@dataclass(frozen=True)
class Endpoint:
    """Where a body is read: `path` for an organization, a body that is good, whether none is needed."""

    method: str
    path: Callable[[Tenant], str]
    good: dict[str, Any]
    optional: bool = False


def webhook_of(tenant: Tenant) -> Webhook:
    form = Form.objects.get(pk=decode_id(Prefix.FORM, tenant.form()))
    return register_webhook(form=form, url="https://192.0.2.1.invalid/hook", events=["submission.created"])


def webhook_path(tenant: Tenant) -> str:
    return f"/api/webhooks/{encode_id(Prefix.WEBHOOK, webhook_of(tenant).pk)}"


def destination_path(tenant: Tenant) -> str:
    config = {"url": "https://192.0.2.1.invalid/hook", "method": "POST", "headers": {}, "template": {}}
    made = add_destination(organization=tenant.organization, form=None, kind="http", name="CRM", config=config)
    return f"/api/destinations/{made.public_id}"


def delivery_path(tenant: Tenant) -> str:
    """Return the path of a failed delivery: no worker changes it."""
    delivery = make_delivery(webhook_of(tenant), event="test", status="failed")
    return f"/api/deliveries/{encode_id(Prefix.DELIVERY, delivery.pk)}"


def key_path(tenant: Tenant) -> str:
    key, _ = issue_key(organization=tenant.organization, name="Other", by=None)
    return f"/api/keys/{encode_id(Prefix.ACCESS_KEY, key.pk)}"


def submission_path(tenant: Tenant) -> str:
    pk = Submission.objects.create(
        organization=tenant.organization,
        form_id=decode_id(Prefix.FORM, tenant.default_form_id),
        data={"a": "1"},
        search_text="1",
        created_at=tenant.organization.created_at,
    ).pk
    return f"/api/submissions/{encode_id(Prefix.SUBMISSION, pk)}"


ENDPOINTS = {
    "create form": Endpoint("POST", lambda t: "/api/forms", {"name": "New"}),
    "change form": Endpoint("PATCH", lambda t: f"/api/forms/{t.form()}", {"name": "New"}),
    "publish": Endpoint("POST", lambda t: f"/api/forms/{t.form(published=False)}/publish", {}, optional=True),
    "unpublish": Endpoint("POST", lambda t: f"/api/forms/{t.form()}/unpublish", {}, optional=True),
    "submit": Endpoint("POST", lambda t: "/api/submit", {"a": "1"}),
    "mark": Endpoint("PATCH", submission_path, {"spam": True}),
    "bulk": Endpoint("POST", lambda t: "/api/submissions/bulk", {"ids": [], "action": "spam"}),
    "create webhook": Endpoint("POST", lambda t: "/api/webhooks", {"formId": "", "url": "", "events": []}),
    "change webhook": Endpoint("PATCH", webhook_path, {"status": "disabled"}),
    "test webhook": Endpoint("POST", lambda t: f"{webhook_path(t)}/test", {}, optional=True),
    "rotate secret": Endpoint("POST", lambda t: f"{webhook_path(t)}/rotate-secret", {}, optional=True),
    "replay": Endpoint("POST", lambda t: f"{webhook_path(t)}/replay", {"dryRun": True}, optional=True),
    "create destination": Endpoint(
        "POST", lambda t: "/api/destinations", {"formId": None, "kind": "http", "name": "New", "config": {}}
    ),
    "change destination": Endpoint("PATCH", destination_path, {"status": "disabled"}),
    "test destination": Endpoint("POST", lambda t: f"{destination_path(t)}/test", {}, optional=True),
    "replay destination": Endpoint("POST", lambda t: f"{destination_path(t)}/replay", {"dryRun": True}, optional=True),
    "retry delivery": Endpoint("POST", lambda t: f"{delivery_path(t)}/retry", {}, optional=True),
    "create key": Endpoint("POST", lambda t: "/api/keys", {"name": "New"}),
    "regenerate key": Endpoint("POST", lambda t: f"{key_path(t)}/regenerate", {}, optional=True),
}
every_endpoint = pytest.mark.parametrize("endpoint", ENDPOINTS.values(), ids=ENDPOINTS)
