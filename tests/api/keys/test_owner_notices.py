"""Mails to the owners about what can read their data from now on: a secret key, a webhook."""

import pytest

from keys.access_keys import issue_key, regenerate_key
from keys.models import AccessKey, Notice
from tests.services.client import Client
from tests.support.tenants import Tenant, make_tenant
from webhooks.models import Receiver
from webhooks.receivers.registration import change_webhook


def notices(tenant: Tenant, kind: str) -> list[Notice]:
    return list(Notice.objects.filter(organization=tenant.organization, kind=kind).order_by("id"))


def test_key__made_by_a_key__is_mailed_to_the_owners_without_its_secret(api: Client) -> None:
    tenant = make_tenant()
    made = api.post("/api/keys", tenant.key, json={"name": "Nightly export", "permissions": ["submissions:export"]})
    assert made.status == 201
    (notice,) = notices(tenant, "key.created")
    assert notice.subject == "New access key: Nightly export"
    assert "submissions:export" in notice.text
    assert made.json()["data"]["key"] not in notice.text


def test_key__new_secret_of_a_person__is_mailed_and_a_publishable_one_is_not() -> None:
    tenant = make_tenant()
    issue_key(organization=tenant.organization, name="Page", by=tenant.owner, kind=AccessKey.Kind.PUBLISHABLE)
    key = AccessKey.objects.get(organization=tenant.organization, name="Administrative")
    regenerate_key(key, by=tenant.owner)
    (notice,) = notices(tenant, "key.created")
    assert notice.subject == "New secret of an access key: Administrative"
    assert tenant.owner.email in notice.text
    assert "It can manage keys." in notice.text


def test_organization__born__mails_nothing() -> None:
    assert notices(make_tenant(), "key.created") == []


def test_webhook__registered__is_mailed_without_its_query(api: Client) -> None:
    tenant = make_tenant()
    body: dict[str, object] = {
        "formId": tenant.form(name="Jobs"),
        "url": "https://192.0.2.1.invalid/hook?token=hushhush",
    }
    body["events"] = ["submission.created"]
    assert api.post("/api/webhooks", tenant.key, json=body).status == 201
    (notice,) = notices(tenant, "webhook.created")
    assert notice.subject == "New webhook of the form Jobs"
    assert "https://192.0.2.1.invalid/hook." in notice.text
    assert "hushhush" not in notice.text


@pytest.mark.parametrize(
    ("status", "values", "told"),
    [
        ("pending", {"status": "active"}, 1),
        ("active", {"url": "https://192.0.2.2.invalid/"}, 1),
        ("active", {"url": "https://192.0.2.1.invalid/"}, 0),
        ("active", {"status": "disabled"}, 0),
    ],
)
def test_webhook__changed__is_mailed_when_another_endpoint_receives(
    status: str, values: dict[str, str], told: int
) -> None:
    tenant = make_tenant()
    tenant.form(name="Jobs")
    form = tenant.organization.forms.get(name="Jobs")
    webhook = Receiver.objects.create(
        organization=form.organization, form=form, url="https://192.0.2.1.invalid/", status=status
    )
    change_webhook(webhook, values)
    assert len(notices(tenant, "webhook.created")) == told
