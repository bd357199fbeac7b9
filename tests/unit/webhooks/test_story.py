"""The story of a submission: what is told, in which order, how much of it, and at what cost."""

import datetime as dt
import uuid
from typing import Any

import pytest
from django.conf import settings
from django.db import connections
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from config.times import now
from submissions.lifecycle.spam_marks import mark_spam
from submissions.models import Submission, Tally
from tests.unit.webhooks.dispatching import dispatch_all
from tests.unit.webhooks.rows import FAILED, OK, claim_one, make_form, make_submission, make_webhook, result
from webhooks import timeline as story
from webhooks.channels.outcome import Outcome
from webhooks.models import Attempt, Delivery, Webhook
from webhooks.outbox.record import record
from webhooks.payloads import message_id
from webhooks.registration import change_webhook
from webhooks.replays import retry_delivery
from webhooks.retention import LOG_KEPT, purge_log
from webhooks.timeline import Moment, by_way, delivery_health, is_settled, tell_story, undelivered_submissions

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", settings.SNAPSHOT])


def titles(submission: Submission) -> list[str]:
    submission.refresh_from_db()
    return [moment.title for moment in tell_story(submission)]


def the_one(submission: Submission, title: str) -> Moment:
    submission.refresh_from_db()
    (found,) = [moment for moment in tell_story(submission) if moment.title == title]
    return found


def deliver(outcome: Outcome) -> None:
    record([result(claim_one(), outcome)])


def add_attempts(delivery: Delivery, count: int) -> None:
    Attempt.objects.bulk_create(
        Attempt(
            delivery=delivery, started_at=now(), status=500, duration_ms=1, error="http_error", response=str(number)
        )
        for number in range(count)
    )


def delivery_of(submission: Submission, **values: Any) -> Delivery:
    start: dict[str, Any] = {"recipient": "ada@example.com", "status": "failed", "finished_at": now()}
    start |= {"organization_id": submission.organization_id, "message_id": message_id(uuid.uuid4())}
    return Delivery.objects.create(submission=submission, **{**start, **values})


def test_story__failed_then_retried_with_success__is_told_in_order() -> None:
    form = make_form()
    make_webhook(form)
    submission = make_submission(form, meta={"origin": "https://shop.example", "ip": "192.0.2.9"})
    assert titles(submission) == ["Accepted and stored", "Waiting to be dispatched"]
    dispatch_all()
    assert titles(submission) == ["Accepted and stored", "Dispatched", "To be sent"]
    deliver(FAILED)
    failed = "Not taken: the answer was not a 2xx status"
    assert titles(submission) == ["Accepted and stored", "Dispatched", failed, "Next attempt"]
    retry_delivery(Delivery.objects.get())
    claim = claim_one()
    assert titles(submission)[-1] == "Being sent"
    record([result(claim, OK)])
    assert titles(submission) == ["Accepted and stored", "Dispatched", failed, "Taken", "Delivered"]

    told = {moment.title: moment for moment in tell_story(submission)}
    accepted = told["Accepted and stored"]
    assert accepted.detail == f"As {submission.public_id}, from a page of https://shop.example, by 192.0.2.9"
    assert (told[failed].detail, told[failed].answer) == ("500, 34 ms", "no")
    assert (told["Taken"].detail, told["Taken"].answer) == ("200, 12 ms", "thanks")
    assert told["Delivered"].delivery == Delivery.objects.get()
    assert is_settled(submission, tell_story(submission))


def test_story__lease_of_a_worker_that_died__is_not_told_as_being_sent() -> None:
    form = make_form()
    make_webhook(form)
    submission = make_submission(form)
    dispatch_all()
    claim_one()
    Delivery.objects.update(lease_until=now() - dt.timedelta(seconds=1))
    assert titles(submission)[-1] == "To be sent"


@pytest.mark.parametrize(("count", "words"), [(1, "After 1 attempt. "), (11, "After 11 attempts. ")])
def test_story__given_up__says_after_how_many_attempts(count: int, words: str) -> None:
    submission = make_submission(make_form(), dispatched_at=now(), counted_as="kept")
    delivery_of(submission, attempt_count=count)
    assert the_one(submission, "Given up").detail.startswith(words)


def test_story__canceled__says_why() -> None:
    form = make_form()
    webhook = make_webhook(form)
    submission = make_submission(form)
    dispatch_all()
    change_webhook(webhook, {"status": "disabled"})
    assert the_one(submission, "Canceled").detail == "The webhook is disabled: Disabled by hand."
    mark_spam(submission)
    assert the_one(submission, "Canceled").detail == "The submission was marked as spam before it was sent."


def test_story__webhook_named_by_a_page__is_held_and_settled() -> None:
    form = make_form()
    submission = make_submission(form, controls={"_webhook": "http://127.0.0.1:9/named"})
    dispatch_all()
    assert the_one(submission, "Held").target == "http://127.0.0.1:9/named"
    assert is_settled(submission, tell_story(submission))


def test_story__after_the_log_was_purged__says_that_it_is_gone() -> None:
    submission = make_submission(make_form(), dispatched_at=now(), counted_as="kept")
    delivery_of(submission, finished_at=now() - LOG_KEPT - dt.timedelta(days=1))
    purge_log()
    Submission.objects.update(dispatched_at=now() - LOG_KEPT - dt.timedelta(days=1))
    submission.refresh_from_db()
    told = {moment.title: moment.detail for moment in tell_story(submission)}
    assert told["Dispatched"] == "The log is kept for 30 days; what it held of this time is gone."
    assert set(told) == {"Accepted and stored", "Dispatched"}


def test_story__more_than_is_told__says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(story, "MOST_DELIVERIES", 3)
    monkeypatch.setattr(story, "MOST_ATTEMPTS", 5)
    submission = make_submission(make_form(), dispatched_at=now(), counted_as="kept")
    for number in range(3):
        add_attempts(delivery_of(submission, recipient=f"a{number}@example.com"), 2 if number < 2 else 1)
    assert "More than 3 deliveries" not in titles(submission)
    assert "More than 5 attempts" not in titles(submission)
    add_attempts(delivery_of(submission, recipient="late@example.com"), 1)  # the fourth: not told, nor its attempt
    assert "More than 3 deliveries" in titles(submission)
    add_attempts(Delivery.objects.earliest("id"), 1)
    told = tell_story(submission)
    assert "More than 5 attempts" in [moment.title for moment in told]
    assert sum(moment.title.startswith("Not taken") for moment in told) == 5
    assert sum(moment.title == "Given up" for moment in told) == 3


def test_story__many_deliveries__costs_two_queries() -> None:
    form = make_form()
    submission = make_submission(form, dispatched_at=now(), counted_as="kept")
    for number in range(20):
        delivery = delivery_of(submission, webhook=make_webhook(form), recipient="")
        add_attempts(delivery, number % 3)
    with CaptureQueriesContext(connections[settings.SNAPSHOT]) as queries:
        told = tell_story(submission)
    assert sum(query["sql"].startswith("SELECT") for query in queries) == 2
    assert len([moment for moment in told if moment.delivery]) == 20


def test_undelivered__are_those_somebody_should_have_heard_of() -> None:
    form = make_form()
    later = now() + dt.timedelta(hours=1)
    states: dict[str, dict[str, Any]] = {
        "failed": {},
        "canceled": {},
        "held": {"finished_at": None},
        "tried": {"status": "pending", "next_attempt_at": later, "attempt_count": 1, "finished_at": None},
        "new": {"status": "pending", "next_attempt_at": later, "attempt_count": 0, "finished_at": None},
        "delivered": {},
        "notice": {"status": "failed", "kind": "notice"},
    }
    made = {}
    for name, values in states.items():
        made[name] = make_submission(form)
        delivery_of(made[name], **{"status": name, **values})
    spam = make_submission(form, spam=True)
    delivery_of(spam, status="canceled")
    found = set(undelivered_submissions(Submission.objects.filter(form=form)))
    assert {name for name, row in made.items() if row in found} == {"failed", "canceled", "held", "tried"}
    assert spam not in found


def test_by_way__of_a_form__are_its_webhooks_and_its_mails() -> None:
    form = make_form()
    other = make_form()
    webhook, foreign = make_webhook(form), make_webhook(other)
    ours = delivery_of(make_submission(form), webhook=webhook, recipient="")
    test_event = Delivery.objects.create(
        organization_id=form.organization_id,
        webhook=webhook,
        kind="test",
        message_id="msg_t",
        status="failed",
        finished_at=now(),
    )
    mail = delivery_of(make_submission(form))
    delivery_of(make_submission(other), webhook=foreign, recipient="")
    delivery_of(make_submission(other))
    to_webhooks, mails = by_way(Delivery.objects.all(), form)
    assert set(to_webhooks) == {ours, test_event}
    assert set(mails) == {mail}
    to_webhooks, mails = by_way(Delivery.objects.all(), None)
    assert (to_webhooks.count(), mails.count()) == (3, 2)


def test_health__counts_the_last_day_and_what_needs_a_look(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    form, other = make_form(), make_form()
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    Tally.objects.create(form=form, hour=hour, delivered=5, failed=2)
    Tally.objects.create(form=form, hour=hour - dt.timedelta(days=2), delivered=100, failed=100)
    Tally.objects.create(form=other, hour=hour, delivered=50, failed=50)
    later = {"status": "pending", "next_attempt_at": now() + dt.timedelta(hours=1), "finished_at": None}
    delivery_of(make_submission(form), attempt_count=1, **later)
    delivery_of(make_submission(form), attempt_count=0, **later)
    make_webhook(form)
    make_webhook(form, status=Webhook.Status.PENDING)
    make_webhook(form, status=Webhook.Status.DISABLED, disabled_reason="Disabled by hand.")
    with django_assert_num_queries(3):
        health = delivery_health(form.organization)
    assert health == story.Health(delivered_24h=5, failed_24h=2, retrying=1, disabled_webhooks=1, pending_webhooks=1)
    assert not health.is_well
    assert delivery_health(make_form().organization).is_well
