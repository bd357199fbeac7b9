"""The setup of the permission table: an organization with an object of each kind, and callers of each kind."""

import dataclasses
import datetime as dt
from collections.abc import Mapping

from django.conf import settings
from django.test import Client as Browser

from config.base.ids import Prefix, decode_id, encode_id
from config.base.times import now
from forms_app.models import Form
from keys.access_keys import issue_key, regenerate_key, revoke_key
from keys.models import AccessKey
from keys.tokens import make_token
from submissions.models import Import, Submission
from tests.services.client import Answer, Client
from tests.support.deliveries import make_delivery
from tests.support.posted_files import file_field
from tests.support.tables.permission_table import Endpoint
from tests.support.tenants import Tenant
from webhooks.receivers.destinations import add_destination
from webhooks.receivers.registration import register_webhook


@dataclasses.dataclass(frozen=True)
class House:
    tenant: Tenant
    ids: Mapping[str, str]  # of its objects, by the first word of the path that names them

    def send(
        self, client: Client, endpoint: Endpoint, key: str | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Send the endpoint's valid request for this house's own objects."""
        options = endpoint.options(self.ids)
        headers = {**options.pop("headers", {}), **(headers or {})}
        return client.request(endpoint.method, endpoint.address(self.ids), key, headers=headers, **options)


def furnish(tenant: Tenant) -> House:
    form = Form.objects.get(pk=decode_id(Prefix.FORM, tenant.form(published=False)))
    submission = Submission.objects.create(
        organization=tenant.organization, form=form, data={"message": "Hello"}, search_text="hello", created_at=now()
    )
    webhook = register_webhook(
        organization=tenant.organization, form=form, url="http://127.0.0.1:9/hook", events=["submission.created"]
    )
    config = {"url": "http://127.0.0.1:9/hook", "method": "POST", "headers": {}, "template": {}}
    destination = add_destination(organization=tenant.organization, form=form, kind="http", name="CRM", config=config)
    delivery = make_delivery(webhook, event="test", status="failed", finished_at=now())
    key, _ = issue_key(organization=tenant.organization, name="Powerless", by=None, permissions=[])
    return House(
        tenant,
        {
            "forms": form.public_id,
            "uploads": tenant.form(fields=[file_field("cv")]),
            "submissions": submission.public_id,
            "imports": Import.objects.create(organization=tenant.organization, form=form, source="elsewhere").public_id,
            "webhooks": encode_id(Prefix.WEBHOOK, webhook.pk),
            "destinations": destination.public_id,
            "deliveries": encode_id(Prefix.DELIVERY, delivery.pk),
            "keys": encode_id(Prefix.ACCESS_KEY, key.pk),
        },
    )


STRANGERS = (
    "no key",
    "an empty key",
    "a misspelt key",
    "a well-formed key of nobody",
    "the key in another header",
    "a revoked key",
    "an expired key",
    "a regenerated key's old secret",
    "a session and no key",
)


def strangers(tenant: Tenant) -> dict[str, Mapping[str, str]]:
    """Return the headers of each of STRANGERS. Their keys had every permission and the flag, while they worked."""
    revoked, expired, regenerated = (
        issue_key(organization=tenant.organization, name=name, by=None, admin=True)
        for name in ("Revoked", "Expired", "Regenerated")
    )
    revoke_key(revoked[0], by=None)
    AccessKey.objects.filter(pk=expired[0].pk).update(expires_on=now().date() - dt.timedelta(days=1))
    regenerate_key(regenerated[0], by=None)
    misspelt = tenant.key[:-1] + ("0" if tenant.key[-1] != "0" else "1")
    headers: list[Mapping[str, str]] = [
        {},
        {"x-access-key": ""},
        {"x-access-key": misspelt},
        {"x-access-key": make_token()},
        {"Authorization": f"Bearer {tenant.key}", "x-api-key": tenant.key},
        *({"x-access-key": token} for _, token in (revoked, expired, regenerated)),
        {"Cookie": session_cookie(tenant)},
    ]
    return dict(zip(STRANGERS, headers, strict=True))


def session_cookie(tenant: Tenant) -> str:
    """Return the cookie of the logged-in owner."""
    browser = Browser()
    browser.force_login(tenant.owner)
    name = settings.SESSION_COOKIE_NAME
    return f"{name}={browser.cookies[name].value}"
