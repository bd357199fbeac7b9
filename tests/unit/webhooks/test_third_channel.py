"""A channel registered from outside works end to end, and no other file knows it."""

import re
import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pytest
from django.conf import settings

from config.api.errors import Conflict
from dashboard.delivery_story import target_of, tell_story
from dashboard.html_forms.deliveries import DeliveriesFilterForm
from keys.seen_forms import SeenForms
from submissions.lifecycle.spam_marks import mark_spam
from submissions.models import Submission
from tests.unit.webhooks.dispatching import dispatch_all
from tests.unit.webhooks.rows import FAILED, OK, claim_due, make_form, make_submission, submission_of, totals
from webhooks.channels.channel import Channel, Noted
from webhooks.channels.registry import CHANNELS
from webhooks.enqueue import Target
from webhooks.events import SUBMISSION_CREATED, Event
from webhooks.models import Attempt, Delivery
from webhooks.outbox.loop import Deliverer
from webhooks.outbox.shares import Slots
from webhooks.replays import retry_delivery
from webhooks.transport.outcome import Outcome

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", settings.SNAPSHOT])


class Pager(Channel[str]):
    """Sends texts to rooms, with two requests to one room at the same time."""

    name = "pager"
    label = "Pagers"
    uses_body = False

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.outcome: Outcome = OK
        self.noted: list[tuple[str, bool]] = []
        self.is_open = True

    def targets_of(self, event: Event, rows: Sequence[Submission]) -> Mapping[uuid.UUID, Sequence[Target]]:
        if event.name != SUBMISSION_CREATED.name:
            return {}
        return {row.pk: [Target(self.name, f"room-{row.data['room']}", host="pager.example")] for row in rows}

    def render(self, delivery: Delivery) -> str:
        assert delivery.submission is not None
        return str(delivery.submission.data["text"])

    def send(self, rendered: str) -> Outcome:
        self.requests.append(rendered)
        return self.outcome

    def requests_to(self, targets: Collection[str]) -> Mapping[str, int]:
        return dict.fromkeys(targets, 2)

    def gate(self, delivery: Delivery) -> Delivery.Status:
        status = super().gate(delivery)
        return status if self.is_open else Delivery.Status.HELD

    def note(self, noted: Sequence[Noted], locked: Any) -> None:  # noqa: ARG002 - it locked nothing
        self.noted += [(delivery.target, outcome.succeeded) for delivery, outcome in noted]


@pytest.fixture
def pager(monkeypatch: pytest.MonkeyPatch) -> Pager:
    channel = Pager()
    monkeypatch.setitem(CHANNELS, channel.name, channel)
    return channel


def page(text: str, room: int = 1) -> Submission:
    return make_submission(make_form(), data={"text": text, "room": str(room)})


def test_channel__registered__delivers_records_and_shows(pager: Pager) -> None:
    submission = page("Hello")
    Deliverer().run(until_idle=True)
    assert pager.requests == ["Hello"]
    delivery = Delivery.objects.get()
    assert (delivery.channel, delivery.target, delivery.host) == ("pager", "room-1", "pager.example")
    assert (delivery.status, delivery.attempt_count, Attempt.objects.count()) == ("delivered", 1, 1)
    assert (totals()["delivered"], pager.noted) == (1, [("room-1", True)])
    submission.refresh_from_db()
    ends = {moment.title: moment.target for moment in tell_story(submission)}
    assert (ends["Delivered"], target_of(delivery)) == ("room-1", "room-1")
    organization = submission.form.organization
    log = DeliveriesFilterForm({"channel": "pager"}, seen=SeenForms(organization.pk))
    assert re.search(r'<option value="pager"[^>]*>Pagers<', str(log["channel"]))
    assert [list(part) for part in log.parts(Delivery.objects.all())] == [[delivery]]


def test_channel__failed__follows_the_schedule_and_can_be_retried(pager: Pager) -> None:
    pager.outcome = FAILED
    page("Hello")
    Deliverer().run(until_idle=True)
    delivery = Delivery.objects.get()
    assert (delivery.status, delivery.attempt_count) == ("pending", 1)
    pager.outcome = OK
    assert retry_delivery(delivery).attempt_count == 0
    Deliverer().run(until_idle=True)
    assert Delivery.objects.get().status == "delivered"
    assert pager.requests == ["Hello", "Hello"]


def test_channel__cap__holds_for_one_target(pager: Pager) -> None:
    for number in range(10):
        page(str(number), room=1)
    page("other", room=2)
    dispatch_all()
    claims = claim_due(64)
    rooms = [claim.delivery.target for claim in claims]
    assert (rooms.count("room-1"), rooms.count("room-2")) == (2, 1)
    Delivery.objects.update(lease_token=None, lease_until=None)
    Deliverer(slots=Slots(64, 8)).run(until_idle=True)
    assert sorted(pager.requests) == sorted([*map(str, range(10)), "other"])
    assert Delivery.objects.filter(status="delivered").count() == 11


def test_channel__closed_gate__holds_and_refuses_a_retry(pager: Pager) -> None:
    pager.is_open = False
    page("Hello")
    Deliverer().run(until_idle=True)
    delivery = Delivery.objects.get()
    assert (delivery.status, delivery.next_attempt_at, pager.requests) == ("held", None, [])
    with pytest.raises(Conflict):
        retry_delivery(delivery)


def test_channel__gate_closes_after_dispatch__holds_without_an_attempt(pager: Pager) -> None:
    page("Hello")
    dispatch_all()
    pager.is_open = False
    Deliverer().run(until_idle=True)
    assert (Delivery.objects.get().status, Attempt.objects.count(), pager.requests) == ("held", 0, [])


def test_channel__one_poison_row__stops_no_other(pager: Pager) -> None:
    for text in ("one", "two"):
        page(text)
    dispatch_all()
    poison = Delivery.objects.earliest("id")
    Submission.objects.filter(pk=submission_of(poison).pk).update(data={"room": "1"})  # nothing to render
    Deliverer().run(until_idle=True)
    assert pager.requests == ["two"]
    errors = dict(Attempt.objects.values_list("delivery_id", "error"))
    assert errors.pop(poison.pk) == "internal_error"
    assert list(errors.values()) == [""]


def test_channel__marked_as_spam__sends_nothing(pager: Pager) -> None:
    submission = page("Hello")
    dispatch_all()
    mark_spam(submission)
    Deliverer().run(until_idle=True)
    assert (Delivery.objects.get().status, pager.requests) == ("canceled", [])


def test_channel__of_another_release__fails_like_any_other_attempt(
    pager: Pager, monkeypatch: pytest.MonkeyPatch
) -> None:
    page("Hello")
    dispatch_all()
    monkeypatch.delitem(CHANNELS, pager.name)
    Deliverer().run(until_idle=True)
    delivery = Delivery.objects.get()
    assert (delivery.status, Attempt.objects.get().error) == ("pending", "internal_error")
    assert target_of(delivery) == "room-1"


def test_channel__poison_send__is_an_internal_error(pager: Pager, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_rendered: str) -> Outcome:
        raise ValueError("no outcome")

    monkeypatch.setattr(pager, "send", fail)
    page("Hello")
    Deliverer().run(until_idle=True)
    assert Attempt.objects.get().error == "internal_error"


def test_channels__names__are_those_of_their_keys() -> None:
    assert {"webhook", "mail"} <= CHANNELS.keys()
    assert [name for name, channel in CHANNELS.items() if name != channel.name or not channel.label] == []
