"""The webhook that a page names (`_webhook`): a page's key cannot make us call an address (docs/contract.md 6.15)."""

from typing import Any

import pytest

from submissions.models import Submission
from tests.services.client import Client
from tests.services.receivers import Receiver
from tests.services.waiting import eventually
from tests.support.replies import TIME, an_id, failure
from tests.support.submitting import submit_and_get_id
from tests.support.tenants import Tenant, make_tenant
from tests.support.webhooks import EVENTS, is_delivered, log_of, message_id_of, register, wait_for_delivery


def name(api: Client, tenant: Tenant, form_id: str, url: str) -> str:
    """Submit as a page with `data-webhook-url` does and return the submission's id."""
    return submit_and_get_id(api, tenant, form_id, {"message": "Hello", "_webhook": url})


def webhooks_of(api: Client, tenant: Tenant, query: str = "") -> list[dict[str, Any]]:
    answer = api.get(f"/api/webhooks?limit=100{query}", tenant.key)
    found: list[dict[str, Any]] = answer.json()["data"]
    return found


def wait_for_pending(api: Client, tenant: Tenant, count: int = 1) -> list[dict[str, Any]]:
    eventually(lambda: len(webhooks_of(api, tenant, "&status=pending")) >= count, every=0.1)
    return webhooks_of(api, tenant, "&status=pending")


def test_named__url_nobody_registered__becomes_pending_and_is_sent_nothing(api: Client, receiver: Receiver) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    submission_id = name(api, tenant, form_id, receiver.url("/named"))
    (webhook,) = wait_for_pending(api, tenant)
    assert webhook == {
        "id": an_id("whk"),
        "formId": form_id,
        "url": receiver.url("/named"),
        "events": EVENTS,
        "status": "pending",
        "mode": "live",
        "disabledReason": None,
        "createdAt": TIME,
    }
    (held,) = log_of(api, tenant, webhook["id"])
    assert (held["status"], held["submissionId"], held["attempts"]) == ("held", submission_id, [])
    assert held["nextAttemptAt"] is None
    fence = register(api, tenant, receiver.url("/fence"), form_id)
    submit_and_get_id(api, tenant, form_id)
    wait_for_delivery(api, tenant, fence["id"], is_delivered)
    assert [message.path for message in receiver.requests] == ["/fence"]


def test_named__pending_webhook_activated__is_sent_what_waited(api: Client, receiver: Receiver) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    waited = [name(api, tenant, form_id, receiver.url()) for _ in range(3)]
    (webhook,) = wait_for_pending(api, tenant)
    eventually(lambda: len(log_of(api, tenant, webhook["id"])) == 3, every=0.1)
    answer = api.patch(f"/api/webhooks/{webhook['id']}", tenant.key, json={"status": "active"})
    assert (answer.status, answer.json()["data"]) == (200, {**webhook, "status": "active"})
    messages = receiver.wait_for(3)
    assert {message.headers["webhook-id"] for message in messages} == set(map(message_id_of, waited))
    submit_and_get_id(api, tenant, form_id)  # from now on it is notified like any other
    receiver.wait_for(4)


def test_named__url_registered_for_another_form__gets_the_event_as_well(api: Client, receiver: Receiver) -> None:
    tenant = make_tenant()
    own, other = register(api, tenant, receiver.url("/own")), register(api, tenant, receiver.url("/other"))
    submission_id = name(api, tenant, own["formId"], other["url"])
    messages = receiver.wait_for(2)
    assert sorted(message.path for message in messages) == ["/other", "/own"]
    assert {message.headers["webhook-id"] for message in messages} == {message_id_of(submission_id)}
    wait_for_delivery(api, tenant, other["id"], is_delivered)
    assert len(webhooks_of(api, tenant)) == 2


def test_named__url_of_the_forms_own_webhook__is_told_once(api: Client, receiver: Receiver) -> None:
    tenant = make_tenant()
    elsewhere = register(api, tenant, receiver.url())  # the same URL on another form, registered first
    own = register(api, tenant, receiver.url())
    name(api, tenant, own["formId"], own["url"])
    wait_for_delivery(api, tenant, own["id"], is_delivered)
    fence = name(api, tenant, own["formId"], own["url"])
    eventually(lambda: receiver.requests[-1].headers["webhook-id"] == message_id_of(fence))
    wait_for_delivery(api, tenant, own["id"], is_delivered)
    assert len(receiver.requests) == 2
    assert log_of(api, tenant, elsewhere["id"]) == []


def test_named__url_registered_by_another_organization__becomes_pending(api: Client, receiver: Receiver) -> None:
    tenant, stranger = make_tenant(), make_tenant()
    foreign = register(api, stranger, receiver.url())
    name(api, tenant, tenant.form(), receiver.url())
    wait_for_pending(api, tenant)
    assert receiver.requests == []
    assert log_of(api, stranger, foreign["id"]) == []


def test_named__twenty_five_urls__leave_at_most_twenty_pending(api: Client, receiver: Receiver) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    urls = [receiver.url(f"/{number}") for number in range(25)]
    for url in urls:
        name(api, tenant, form_id, url)
    # Two workers may take them in any order: a later submission does not show that all of them are done.
    owed = Submission.objects.filter(form__organization=tenant.organization, dispatched_at=None)
    eventually(lambda: not owed.exists())
    pending = [webhook["url"] for webhook in webhooks_of(api, tenant, "&status=pending")]
    assert len(pending) == len(set(pending) & set(urls)) == len(webhooks_of(api, tenant)) == 20


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "ftp://hooks.invalid/", "https://ana:secret@hooks.invalid/", "not a url", "//x/"]
)
def test_named__not_a_webhook_url__costs_neither_the_submission_nor_a_place(api: Client, url: str) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    name(api, tenant, form_id, url)
    name(api, tenant, form_id, "https://hooks.invalid/")  # a fence
    assert [webhook["url"] for webhook in wait_for_pending(api, tenant)] == ["https://hooks.invalid/"]
    assert api.get(f"/api/submissions?formId={form_id}", tenant.key).json()["pagination"]["total"] == 2


def test_named__address_that_may_not_be_called__cannot_be_activated(api: Client) -> None:
    tenant = make_tenant()
    name(api, tenant, tenant.form(), "http://169.254.169.254/latest/meta-data/")
    (webhook,) = wait_for_pending(api, tenant)
    answer = api.patch(f"/api/webhooks/{webhook['id']}", tenant.key, json={"status": "active"})
    assert (answer.status, answer.json()["details"][0]["code"]) == (400, "address_not_allowed")
    assert webhooks_of(api, tenant) == [webhook]


@pytest.mark.parametrize("action", ["test", "replay"])
def test_named__pending__can_neither_be_tested_nor_replayed(api: Client, receiver: Receiver, action: str) -> None:
    tenant = make_tenant()
    name(api, tenant, tenant.form(), receiver.url())
    (webhook,) = wait_for_pending(api, tenant)
    answer = api.post(f"/api/webhooks/{webhook['id']}/{action}", tenant.key)
    wanted = failure("conflict", "This webhook is pending. Activate it first.")
    assert (answer.status, answer.json()) == (409, wanted)
    (held,) = log_of(api, tenant, webhook["id"])
    answer = api.post(f"/api/deliveries/{held['id']}/retry", tenant.key)
    assert (answer.status, answer.json()) == (409, wanted)
    assert receiver.requests == []


def test_named__webhook_the_owner_disabled__is_not_told_and_not_made_again(api: Client, receiver: Receiver) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    webhook = register(api, tenant, receiver.url("/disabled"), form_id)
    api.patch(f"/api/webhooks/{webhook['id']}", tenant.key, json={"status": "disabled"})
    fence = register(api, tenant, receiver.url("/fence"), form_id)
    name(api, tenant, form_id, receiver.url("/disabled"))
    wait_for_delivery(api, tenant, fence["id"], is_delivered)
    assert [message.path for message in receiver.requests] == ["/fence"]
    assert len(webhooks_of(api, tenant)) == 2
