"""The activity of a submission: its entries, their order, their limits and their cost."""

import datetime as dt
from typing import Any

import pytest
from django.conf import settings
from django.db import connections
from django.test.utils import CaptureQueriesContext

from config.base.times import now
from dashboard import delivery_story as story
from dashboard.delivery_story import Moment, is_settled, tell_story
from submissions.lifecycle.spam_marks import mark_spam
from submissions.models import Submission
from tests.support.deliveries import make_delivery
from tests.unit.webhooks.dispatching import dispatch_all
from tests.unit.webhooks.rows import FAILED, OK, claim_one, make_form, make_submission, make_webhook, result
from webhooks.models import Attempt, Delivery, Receiver
from webhooks.outbox.record import record
from webhooks.receivers.registration import change_webhook
from webhooks.replays import retry_delivery
from webhooks.retention import LOG_KEPT, purge_log
from webhooks.transport.outcome import Outcome

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
    to = values.pop("to", "ada@example.com")
    return make_delivery(to, submission=submission, **{"status": "failed", "finished_at": now(), **values})


def test_story__failed_then_retried_with_success__is_told_in_order() -> None:
    form = make_form()
    make_webhook(form)
    submission = make_submission(form, meta={"origin": "https://shop.example", "ip": "192.0.2.9"})
    assert titles(submission) == ["Accepted and stored", "Waiting for dispatch"]
    dispatch_all()
    assert titles(submission) == ["Accepted and stored", "Dispatched", "Queued"]
    deliver(FAILED)
    failed = "Attempt failed: the answer was not a 2xx status"
    assert titles(submission) == ["Accepted and stored", "Dispatched", failed, "Next attempt"]
    retry_delivery(Delivery.objects.get())
    claim = claim_one()
    assert titles(submission)[-1] == "Sending"
    record([result(claim, OK)])
    assert titles(submission) == ["Accepted and stored", "Dispatched", failed, "Attempt succeeded", "Delivered"]

    told = {moment.title: moment for moment in tell_story(submission)}
    accepted = told["Accepted and stored"]
    assert accepted.detail == f"As {submission.public_id}, from a page of https://shop.example, by 192.0.2.9"
    assert (told[failed].detail, told[failed].answer) == ("500, 34 ms", "no")
    assert (told["Attempt succeeded"].detail, told["Attempt succeeded"].answer) == ("200, 12 ms", "thanks")
    assert told["Delivered"].delivery == Delivery.objects.get()
    assert is_settled(submission, tell_story(submission))


def test_story__lease_of_a_worker_that_died__is_not_told_as_being_sent() -> None:
    form = make_form()
    make_webhook(form)
    submission = make_submission(form)
    dispatch_all()
    claim_one()
    Delivery.objects.update(lease_until=now() - dt.timedelta(seconds=1))
    assert titles(submission)[-1] == "Queued"


@pytest.mark.parametrize(("count", "words"), [(1, "After 1 attempt. "), (11, "After 11 attempts. ")])
def test_story__given_up__says_after_how_many_attempts(count: int, words: str) -> None:
    submission = make_submission(make_form(), dispatched_at=now(), counted_as="kept")
    delivery_of(submission, attempt_count=count)
    assert the_one(submission, "Failed").detail.startswith(words)


def test_story__canceled__says_why() -> None:
    form = make_form()
    webhook = make_webhook(form)
    submission = make_submission(form)
    dispatch_all()
    change_webhook(webhook, {"status": "disabled"})
    assert the_one(submission, "Canceled").detail == "The destination is disabled: Disabled by hand."
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
    assert told["Dispatched"] == "The log is kept for 30 days. Its entries for this submission are deleted."
    assert set(told) == {"Accepted and stored", "Dispatched"}


def test_story__more_than_is_told__says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(story, "MAX_DELIVERIES", 3)
    monkeypatch.setattr(story, "MAX_ATTEMPTS", 5)
    submission = make_submission(make_form(), dispatched_at=now(), counted_as="kept")
    for number in range(3):
        add_attempts(delivery_of(submission, to=f"a{number}@example.com"), 2 if number < 2 else 1)
    assert "More than 3 deliveries" not in titles(submission)
    assert "More than 5 attempts" not in titles(submission)
    add_attempts(delivery_of(submission, to="late@example.com"), 1)  # the fourth: not shown, nor its attempt
    assert "More than 3 deliveries" in titles(submission)
    add_attempts(Delivery.objects.earliest("id"), 1)
    told = tell_story(submission)
    assert "More than 5 attempts" in [moment.title for moment in told]
    assert sum(moment.title.startswith("Attempt failed") for moment in told) == 5
    assert sum(moment.title == "Failed" for moment in told) == 3


def test_story__many_deliveries__costs_two_queries() -> None:
    form = make_form()
    submission = make_submission(form, dispatched_at=now(), counted_as="kept")
    for number in range(20):
        delivery = delivery_of(submission, to=make_webhook(form))
        add_attempts(delivery, number % 3)
    with CaptureQueriesContext(connections[settings.SNAPSHOT]) as queries:
        told = tell_story(submission)
    assert sum(query["sql"].startswith("SELECT") for query in queries) == 2
    assert len([moment for moment in told if moment.delivery]) == 20


def test_story__circuit_of_the_endpoint_is_open__says_what_the_delivery_waits_for() -> None:
    form = make_form()
    webhook = make_webhook(form, probe_at=now() + dt.timedelta(seconds=30), failure_count=10)
    submission = make_submission(form)
    dispatch_all()
    waiting = the_one(submission, "Waiting")
    assert waiting.at == Receiver.objects.get(pk=webhook.pk).probe_at
    assert "one attempt each 30 seconds" in waiting.detail
