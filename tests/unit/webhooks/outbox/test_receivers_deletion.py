"""A webhook or destination with a long log: hidden first, its log deleted in batches (docs/contract.md 7.4)."""

from collections.abc import Callable

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from config.base.times import now
from forms_app.models import Form
from tests.support.browser import person_of, place, session_of
from tests.support.tenants import Tenant, make_tenant
from tests.unit.webhooks.kinds.sending import owe, send_due, to_http
from tests.unit.webhooks.rows import make_webhook
from webhooks import retention
from webhooks.models import Attempt, Delivery, Receiver
from webhooks.outbox.record import record
from webhooks.receivers.actions import delete_receiver
from webhooks.receivers.registration import register_webhook
from webhooks.retention import delete_all_hidden

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", settings.SNAPSHOT])
EVENTS = ["submission.created"]


def webhook_of(form: Form) -> Receiver:
    return make_webhook(form, url="https://hooks.example/")


def destination_of(form: Form) -> Receiver:
    return to_http(form, "http://127.0.0.1:9/")


KINDS: dict[str, Callable[[Form], Receiver]] = {"webhooks": webhook_of, "destinations": destination_of}
each_kind = pytest.mark.parametrize("kind", KINDS)


def make_long_log(tenant: Tenant, kind: str) -> Receiver:
    """Return a receiver with four deliveries that are due, of three attempts each."""
    form = Form.objects.get(organization=tenant.organization, is_default=True)
    receiver = KINDS[kind](form)
    owe(form, 4)
    Attempt.objects.bulk_create(
        Attempt(delivery=delivery, started_at=now(), duration_ms=1)
        for delivery in receiver.deliveries.all()
        for _ in "abc"
    )
    return receiver


@pytest.fixture
def briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of more than two deliveries is long."""
    monkeypatch.setattr(retention, "DELETED_IN_REQUEST", 2)
    monkeypatch.setattr(retention, "DELIVERIES_A_BATCH", 2)


@each_kind
@pytest.mark.usefixtures("briefly")
def test_delete__long_log__is_hidden_until_the_clean_up_deletes_it(kind: str) -> None:
    tenant = make_tenant()
    receiver = make_long_log(tenant, kind)
    log = list(receiver.deliveries.all())
    headers = {"x-access-key": tenant.key}

    answer = Client().delete(f"/api/{kind}/{receiver.public_id}", headers=headers)

    assert answer.json()["data"] == {"id": receiver.public_id, "deleted": True}
    assert Delivery.objects.filter(pk__in=[each.pk for each in log]).count() == 4
    assert Client().get(f"/api/{kind}", headers=headers).json()["data"] == []
    paths = [f"/api/{kind}/{receiver.public_id}", f"/api/{kind}/{receiver.public_id}/deliveries"]
    for path in (*paths, f"/api/deliveries/{log[0].public_id}"):
        assert Client().get(path, headers=headers).status_code == 404, path
    again = Client().post(f"/api/deliveries/{log[0].public_id}/retry", headers=headers, content_type="application/json")
    assert again.status_code == 404
    page = Client()
    page.cookies[settings.SESSION_COOKIE_NAME] = session_of(person_of(tenant))
    for screen in ("deliveries", kind):
        assert receiver.public_id not in page.get(place(tenant, screen)).content.decode()

    assert delete_all_hidden() == 1
    assert not type(receiver)._base_manager.filter(pk=receiver.pk).exists()
    assert (Delivery.objects.filter(pk__in=[each.pk for each in log]).count(), Attempt.objects.count()) == (0, 0)


@each_kind
@pytest.mark.usefixtures("briefly")
def test_delete__deliveries_are_due__nothing_is_sent_any_more(kind: str) -> None:
    receiver = make_long_log(make_tenant(), kind)
    form = receiver.form
    assert form is not None
    delete_receiver(receiver)
    owe(form, 1)  # arrives while it is hidden
    results = send_due()
    assert {result.outcome.error for result in results} == {"canceled"}
    record(results)
    assert set(receiver.deliveries.values_list("status", "lease_token")) == {("canceled", None)}
    assert receiver.deliveries.count() == 4


@pytest.mark.usefixtures("briefly")
def test_delete__webhook_with_a_long_log__leaves_its_url_free() -> None:
    webhook = make_long_log(make_tenant(), "webhooks")
    assert webhook.form is not None
    delete_receiver(webhook)
    made = register_webhook(organization=webhook.organization, form=webhook.form, url=webhook.url, events=EVENTS)
    delete_all_hidden()
    assert list(Receiver.objects.all()) == [made]


@each_kind
def test_delete__log_of_several_batches__commits_between_them(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "DELIVERIES_A_BATCH", 2)
    receiver = make_long_log(make_tenant(), kind)
    with CaptureQueriesContext(connection) as seen:
        delete_receiver(receiver)
    transactions = "\n".join(each["sql"] for each in seen.captured_queries).split("COMMIT")
    deleting = [each.count('DELETE FROM "webhooks_delivery"') for each in transactions]
    assert [count for count in deleting if count] == [1, 1]
    assert not type(receiver)._base_manager.filter(pk=receiver.pk).exists()


@each_kind
@pytest.mark.usefixtures("briefly")
def test_clean_up__receiver_of_a_suspended_organization__waits(kind: str) -> None:
    tenant = make_tenant()
    receiver = make_long_log(tenant, kind)
    delete_receiver(receiver)
    tenant.organization.suspended_at = now()
    tenant.organization.save()
    assert (delete_all_hidden(), receiver.deliveries.count()) == (0, 4)
    tenant.organization.suspended_at = None
    tenant.organization.save()
    assert (delete_all_hidden(), receiver.deliveries.count()) == (1, 0)
