"""Named events: a webhook receives what it subscribes to, and a new event is one registration."""

import json

import pytest
from rest_framework.exceptions import ValidationError

from dashboard.pages.receivers.inputs import ReceiverForm
from tests.support.deliveries import make_delivery
from tests.unit.webhooks.dispatching import dispatch_all
from tests.unit.webhooks.rows import make_form, make_submission, make_webhook, send_one
from webhooks.events import EVENTS, SUBMISSION_CREATED, Event, label_of
from webhooks.kinds.webhook import EVERY_KIND
from webhooks.models import Delivery, Message
from webhooks.outbox.record import record
from webhooks.payloads import SubmittedSubmission, standard_message
from webhooks.receivers.serializers import WebhookChanges

pytestmark = pytest.mark.django_db
URGENT = "submission.urgent"


@pytest.fixture
def urgent(monkeypatch: pytest.MonkeyPatch) -> Event:
    """Add a second public event, which submissions that say "urgent" cause, and return it."""
    event = Event(
        URGENT,
        "An urgent submission was received",
        write=lambda row: standard_message(URGENT, None, {"id": row.public_id}),
        is_caused_by=lambda row: not row.spam and "urgent" in row.data.values(),
        record=SubmittedSubmission,
        summary="An urgent submission was created",
    )
    monkeypatch.setitem(EVENTS, event.name, event)
    return event


def test_dispatch__webhook_without_this_event__gets_nothing() -> None:
    form = make_form()
    make_webhook(form, events=[])
    make_webhook(form, events=["submission.deleted"])
    subscribed = make_webhook(form)
    make_submission(form)
    assert dispatch_all() == 1
    assert [delivery.webhook_id for delivery in Delivery.objects.all()] == [subscribed.pk]


def test_dispatch__webhook_that_a_page_names_without_this_event__gets_nothing() -> None:
    form = make_form()
    make_webhook(form, events=[], url="http://127.0.0.1:9/named")
    make_webhook(form, events=[], status="pending", url="http://127.0.0.1:9/pending")
    for name in ("named", "pending"):
        make_submission(form, controls={"_webhook": f"http://127.0.0.1:9/{name}"})
    assert dispatch_all() == 2
    assert not Delivery.objects.exists()
    assert not Message.objects.exists()


@pytest.mark.usefixtures("urgent", "mailoutbox")
def test_second_event__registered__reaches_its_subscribers_and_no_other() -> None:
    form = make_form(notification_recipients=["ada@example.com"])
    both, created, only_urgent = (
        make_webhook(form, events=events)
        for events in (["submission.created", URGENT], ["submission.created"], [URGENT])
    )
    make_submission(form, data={"message": "whenever"})
    row = make_submission(form, data={"message": "urgent"})
    assert dispatch_all() == 2
    assert Delivery.objects.filter(event=URGENT).count() == 2
    pairs = Delivery.objects.filter(submission=row).values_list("event", "target")
    assert set(pairs) == {
        ("submission.created", both.public_id),
        ("submission.created", created.public_id),
        ("submission.created", "ada@example.com"),
        (URGENT, both.public_id),
        (URGENT, only_urgent.public_id),
    }
    message, first = Message.objects.get(event=URGENT), Message.objects.get(pk=row.pk)
    assert json.loads(message.body) == {"type": URGENT, "timestamp": None, "data": {"id": row.public_id}}
    assert message.public_id != first.public_id == f"msg_{row.public_id.removeprefix('sub_')}"


@pytest.mark.usefixtures("urgent")
def test_second_event__registered__can_be_subscribed_to_by_api_and_dashboard() -> None:
    form = make_form()
    changes = WebhookChanges(data={"events": [URGENT, "submission.created"]})
    assert changes.is_valid(raise_exception=True)
    chosen = {"form": form.public_id, "events": [URGENT]}
    entered = ReceiverForm(chosen, organization=form.organization, kind=EVERY_KIND["webhook"])
    assert entered.is_valid(), entered.errors
    assert entered.chosen_events() == [URGENT]


def test_only_event__is_what_api_and_dashboard_offer(monkeypatch: pytest.MonkeyPatch) -> None:
    for other in [event for event in EVENTS.values() if event.is_public and event != SUBMISSION_CREATED]:
        monkeypatch.delitem(EVENTS, other.name)
    form = make_form()
    with pytest.raises(ValidationError):
        WebhookChanges(data={"events": [URGENT]}).is_valid(raise_exception=True)
    for internal in ("test", "webhook.disabled"):
        assert not WebhookChanges(data={"events": [internal]}).is_valid()
    entered = ReceiverForm({"form": form.public_id}, organization=form.organization, kind=EVERY_KIND["webhook"])
    assert "events" not in entered.fields
    assert entered.is_valid(), entered.errors
    assert entered.chosen_events() == ["submission.created"]


def test_event_of_another_release__fails_like_any_other_attempt_and_keeps_its_name() -> None:
    make_delivery("nobody", organization=make_form().organization, event="form.closed")
    record([send_one()])
    delivery = Delivery.objects.get()
    assert (delivery.event_label, label_of("submission.created")) == ("form.closed", SUBMISSION_CREATED.label)
    assert delivery.status == "pending"
    assert "form.closed" not in EVENTS
