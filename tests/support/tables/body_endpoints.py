"""The rows of `permission_table.py` that read a body, each with its own object to send it to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from config.base.ids import Prefix, decode_id, encode_id
from forms_app.models import Form
from keys.access_keys import issue_key
from submissions.models import Submission
from tests.support.deliveries import make_delivery
from tests.support.tables.permission_table import TABLE, Endpoint
from tests.support.tenants import Tenant
from webhooks.models import Receiver
from webhooks.receivers.destinations import add_destination
from webhooks.receivers.registration import register_webhook


def webhook_of(tenant: Tenant) -> Receiver:
    form = Form.objects.get(pk=decode_id(Prefix.FORM, tenant.form()))
    return register_webhook(
        organization=tenant.organization, form=form, url="https://192.0.2.1.invalid/hook", events=["submission.created"]
    )


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


# The segment of a path -> the path of a new object there.
PATHS: dict[str, Callable[[Tenant], str]] = {
    "forms": lambda tenant: f"/api/forms/{tenant.form()}",
    "submissions": submission_path,
    "webhooks": webhook_path,
    "destinations": destination_path,
    "deliveries": delivery_path,
    "keys": key_path,
}


@dataclass(frozen=True)
class BodyEndpoint:
    """Where a body is read: `path` for an organization, a body that is good, whether none is needed."""

    row: Endpoint

    @property
    def method(self) -> str:
        return self.row.method

    @property
    def good(self) -> Mapping[str, Any]:
        return self.row.body or {}

    @property
    def optional(self) -> bool:
        return self.row.body is None

    def path(self, tenant: Tenant) -> str:
        _, is_of_an_object, rest = self.row.path.partition("{id}")
        if is_of_an_object:
            return PATHS[self.row.segment](tenant) + rest
        return self.row.address({"forms": tenant.default_form_id})


# Not uploads: they are multipart, and have their own tests.
ENDPOINTS = {
    str(row): BodyEndpoint(row) for row in TABLE if row.method in ("POST", "PUT", "PATCH") and not row.takes_a_file
}
every_endpoint = pytest.mark.parametrize("endpoint", ENDPOINTS.values(), ids=ENDPOINTS)
