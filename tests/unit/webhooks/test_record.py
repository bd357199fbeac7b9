"""The effects of an outcome: the delivery, the log, the tallies, the webhook's health (docs/contract.md 7)."""

import datetime as dt
import json
import uuid
from dataclasses import replace
from typing import Any

import pytest
from django.db.models.functions import Now

from config.api.errors import Conflict
from config.base.times import now
from keys.models import Membership, User
from submissions.lifecycle.spam_marks import mark_not_spam, mark_spam
from tests.unit.webhooks.dispatching import dispatch_all
from tests.unit.webhooks.rows import (
    CANCELED,
    FAILED,
    GONE,
    OK,
    REFUSED,
    claim_due,
    claim_one,
    form_of,
    make_deliveries,
    make_form,
    make_webhook,
    owner_of,
    result,
    send_one,
    submission_of,
    totals,
)
from webhooks.models import Attempt, Delivery, Message, Receiver
from webhooks.outbox.record import record
from webhooks.outbox.retry_schedule import DELAYS
from webhooks.outbox.send import Result
from webhooks.receivers.actions import send_test
from webhooks.receivers.registration import change_webhook
from webhooks.replays import retry_delivery
from webhooks.retention import purge_log
from webhooks.transport.outcome import Outcome

pytestmark = pytest.mark.django_db
DAY = dt.timedelta(days=1)
MILLISECOND = dt.timedelta(milliseconds=1)  # of it, the time of SQLite has no parts


def attempt_with(outcome: Outcome) -> Delivery:
    """Make the one delivery due, even if the circuit is open, claim it, record this outcome and return it."""
    Receiver.objects.filter(probe_at__isnull=False).update(probe_at=Now())
    Delivery.objects.update(status="pending", next_attempt_at=Now())
    record([result(claim_one(), outcome)])
    return Delivery.objects.filter(receiver__isnull=False).get()


def test_record__success__ends_the_delivery_and_is_counted() -> None:
    make_deliveries(1)
    claim = claim_one()
    began = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
    record([Result(claim, OK, began)])
    delivery = Delivery.objects.get()
    assert (delivery.status, delivery.attempt_count, delivery.next_attempt_at) == ("delivered", 1, None)
    assert (delivery.lease_token, delivery.lease_until) == (None, None)
    assert delivery.finished_at is not None
    (attempt,) = Attempt.objects.values("started_at", "status", "duration_ms", "error", "response")
    assert attempt == {"started_at": began, "status": 200, "duration_ms": 12, "error": "", "response": "thanks"}
    assert totals() == {"received": 1, "kept": 1, "spam": 0, "delivered": 1, "failed": 0}


def test_record__the_answer_to_its_commit_was_lost__a_second_call_changes_nothing() -> None:
    make_deliveries(2)
    results = [result(claim, outcome) for claim, outcome in zip(claim_due(2), (OK, FAILED), strict=True)]
    record(results)
    before = list(Delivery.objects.order_by("pk").values()), list(Attempt.objects.order_by("pk").values()), totals()
    record(results)
    assert (
        list(Delivery.objects.order_by("pk").values()),
        list(Attempt.objects.order_by("pk").values()),
        totals(),
    ) == before


def test_record__of_a_claim_that_another_process_has_overtaken__is_an_attempt_and_changes_nothing_else() -> None:
    make_deliveries(1)
    overtaken = claim_one()
    present = replace(overtaken, token=uuid.uuid4())
    Delivery.objects.update(lease_token=present.token)  # as another process does once the lease has ended
    record([result(overtaken, FAILED)])
    delivery = Delivery.objects.get()
    assert (delivery.status, delivery.attempt_count, delivery.lease_token) == ("pending", 0, present.token)
    assert (Receiver.objects.get().failing_since, totals()["delivered"], totals()["failed"]) == (None, 0, 0)
    record([result(present, OK)])
    assert Delivery.objects.get().status == "delivered"
    assert set(Attempt.objects.values_list("status", flat=True)) == {200, 500}


def test_retry__of_a_delivery_that_is_being_sent__is_refused() -> None:
    make_deliveries(1)
    claim = claim_one()
    with pytest.raises(Conflict, match="being sent now"):
        retry_delivery(Delivery.objects.get())
    assert Delivery.objects.get().lease_token == claim.token


def test_record__failures__follow_the_schedule_and_then_end() -> None:
    make_deliveries(1)
    for count, seconds in enumerate(DELAYS, start=1):
        before = now()
        delivery = attempt_with(FAILED)
        assert (delivery.status, delivery.attempt_count, delivery.finished_at) == ("pending", count, None)
        assert delivery.next_attempt_at is not None
        delay = dt.timedelta(seconds=seconds)
        assert before - MILLISECOND + 0.8 * delay <= delivery.next_attempt_at <= now() + 1.2 * delay
        assert totals()["failed"] == 0
    delivery = attempt_with(FAILED)
    assert (delivery.status, delivery.attempt_count, delivery.next_attempt_at) == ("failed", 11, None)
    assert Attempt.objects.count() == 11
    assert totals() == {"received": 1, "kept": 1, "spam": 0, "delivered": 0, "failed": 1}


def test_record__recipient_refused__is_final_at_the_fourth_attempt_of_a_round() -> None:
    make_deliveries(1)
    refused = replace(REFUSED, permanent=False, tries=4)
    assert [attempt_with(refused).status for _ in range(4)] == ["pending", "pending", "pending", "failed"]
    Delivery.objects.update(attempt_count=0)  # as a retry does
    assert [attempt_with(FAILED).status for _ in range(5)] == ["pending"] * 5
    assert attempt_with(refused).status == "failed"  # the relay took none of the first ones


def test_record__failed_delivery_replayed_with_success__moves_over_in_the_tally() -> None:
    make_deliveries(1)
    assert attempt_with(REFUSED).status == "failed"
    assert attempt_with(REFUSED).status == "failed"
    assert totals()["failed"] == 1
    assert attempt_with(OK).status == "delivered"
    assert attempt_with(FAILED).status == "pending"  # replayed again: it was delivered, and stays counted so
    assert attempt_with(REFUSED).status == "failed"
    assert (totals()["delivered"], totals()["failed"]) == (1, 0)


def test_record__retry_after__delays_the_next_attempt() -> None:
    make_deliveries(1)
    asked = Outcome(succeeded=False, status=429, duration_ms=1, error="http_error", retry_after_seconds=600)
    before = now()
    delivery = attempt_with(asked)
    assert delivery.next_attempt_at is not None
    ten_minutes = dt.timedelta(minutes=10)
    assert before - MILLISECOND + ten_minutes <= delivery.next_attempt_at <= now() + ten_minutes


def test_record__test_event__is_tried_once_and_touches_neither_health_nor_tallies() -> None:
    webhook = make_webhook(make_form())
    send_test(webhook)
    assert attempt_with(FAILED).status == "failed"
    webhook.refresh_from_db()
    assert (webhook.failure_count, webhook.failing_since, totals()["failed"]) == (0, None, 0)


@pytest.mark.parametrize(
    ("failing_for", "failures", "disabled"),
    [(5 * DAY, 9, True), (5 * DAY - dt.timedelta(minutes=1), 9, False), (5 * DAY, 8, False), (30 * DAY, 500, True)],
)
def test_health__failing_for_five_days_and_ten_times__disables_the_webhook(
    failing_for: dt.timedelta, failures: int, disabled: bool
) -> None:
    (webhook,) = make_deliveries(1)
    Receiver.objects.update(failing_since=now() - failing_for, failure_count=failures)
    delivery = attempt_with(FAILED)
    webhook.refresh_from_db()
    assert webhook.failure_count == failures + 1
    assert webhook.status == ("disabled" if disabled else "active")
    assert delivery.status == ("canceled" if disabled else "pending")
    assert Delivery.objects.filter(event="webhook.disabled").count() == int(disabled)
    reason = "The endpoint failed for 5 days without a single success."
    assert webhook.disabled_reason == (reason if disabled else "")


def test_health__a_single_success__begins_the_count_anew() -> None:
    (webhook,) = make_deliveries(1)
    Receiver.objects.update(failing_since=now() - 5 * DAY, failure_count=9)
    attempt_with(OK)
    webhook.refresh_from_db()
    assert (webhook.failing_since, webhook.failure_count) == (None, 0)
    attempt_with(FAILED)
    webhook.refresh_from_db()
    assert (webhook.status, webhook.failure_count) == ("active", 1)
    assert webhook.failing_since is not None
    assert now() - webhook.failing_since < DAY


def test_health__endpoint_is_gone__cancels_what_it_is_still_owed_and_tells_each_owner_once() -> None:
    (webhook,) = make_deliveries(6)
    organization, owner = webhook.organization, owner_of(form_of(webhook))
    second = User.objects.create_user("second.owner@example.com")
    Membership.objects.create(organization=organization, user=second, role="owner")
    for role, address in (("admin", "admin@example.com"), ("member", "member@example.com")):
        user = User.objects.create_user(address)
        Membership.objects.create(organization=organization, user=user, role=role)
    left = User.objects.create_user("left@example.com", is_active=False)
    Membership.objects.create(organization=organization, user=left, role="owner")

    record([result(claim, GONE) for claim in claim_due(2)])
    webhook.refresh_from_db()
    assert (webhook.status, webhook.disabled_reason) == ("disabled", "The endpoint answered 410 Gone.")
    statuses = sorted(webhook.deliveries.values_list("status", flat=True))
    assert statuses == ["canceled"] * 4 + ["failed"] * 2
    notices = Delivery.objects.filter(event="webhook.disabled").order_by("target")
    assert [notice.target for notice in notices] == sorted([owner.email, second.email])


def test_notice__endpoint_is_gone__says_which_and_why_as_text_and_html(mailoutbox: list[Any]) -> None:
    (webhook,) = make_deliveries(1)
    owner = owner_of(form_of(webhook))
    attempt_with(GONE)
    assert send_one().outcome.succeeded
    (mail,) = mailoutbox
    assert (mail.to, mail.subject) == ([owner.email], "Webhook disabled: Contact")
    ((html, media_type),) = mail.alternatives
    assert media_type == "text/html"
    for text in (mail.body, html):
        assert webhook.url in text
        assert "410 Gone" in text


def test_notice__address_with_markup__is_escaped_in_html(mailoutbox: list[Any]) -> None:
    make_deliveries(1)
    Receiver.objects.update(url="http://127.0.0.1:9/?<script>&a=b")
    attempt_with(GONE)
    notice = Message.objects.get(event="webhook.disabled")
    assert json.loads(notice.body)["text"].count("<script>") == 1
    send_one()
    assert "<script>" not in mailoutbox[0].alternatives[0][0]


def test_canceled__marked_as_spam__ends_without_an_attempt() -> None:
    (webhook,) = make_deliveries(1)
    submission = submission_of(webhook.deliveries.get())
    mark_spam(submission)
    sent = send_one()
    assert sent.outcome == CANCELED
    record([sent])
    delivery = Delivery.objects.get()
    assert (delivery.status, delivery.attempt_count, delivery.next_attempt_at) == ("canceled", 0, None)
    assert delivery.finished_at is not None
    assert not Attempt.objects.exists()
    assert (totals()["delivered"], totals()["failed"]) == (0, 0)

    mark_not_spam(submission)
    dispatch_all()
    assert attempt_with(OK).status == "delivered"


def test_canceled__marked_as_not_spam_before_it_was_recorded__stays_due() -> None:
    """Dispatch saw a pending delivery and left it unchanged, so canceling it now would lose it."""
    (webhook,) = make_deliveries(1)
    submission = submission_of(webhook.deliveries.get())
    mark_spam(submission)
    sent = send_one()
    mark_not_spam(submission)
    dispatch_all()
    record([sent])
    assert Delivery.objects.get().status == "pending"
    assert submission_of(claim_one().delivery).spam is False


def test_canceled__webhook_disabled_and_activated_before_it_was_recorded__stays_due() -> None:
    (webhook,) = make_deliveries(1)
    Receiver.objects.update(status="disabled", disabled_reason="Disabled by hand.")
    sent = send_one()
    assert sent.outcome == CANCELED
    change_webhook(Receiver.objects.get(pk=webhook.pk), {"status": "active"})
    record([sent])
    assert claim_one().delivery.webhook_id == webhook.pk


def test_purge__attempts_and_ended_deliveries_of_more_than_30_days_ago__are_deleted() -> None:
    make_deliveries(3, webhooks=3)
    record([result(claim, OK) for claim in claim_due(2)])
    # The two that ended, then the one that is due.
    old, fresh, due = sorted(Delivery.objects.all(), key=lambda delivery: delivery.status == "pending")
    Delivery.objects.filter(pk=old.pk).update(finished_at=now() - 30 * DAY - dt.timedelta(minutes=1))
    Attempt.objects.filter(delivery=old).update(started_at=now() - 30 * DAY - dt.timedelta(minutes=1))
    Delivery.objects.filter(pk=fresh.pk).update(finished_at=now() - 30 * DAY + dt.timedelta(minutes=1))
    Attempt.objects.filter(delivery=fresh).update(started_at=now() - 30 * DAY + dt.timedelta(minutes=1))
    Delivery.objects.filter(pk=due.pk).update(created_at=now() - 90 * DAY)
    purge_log()
    assert set(Delivery.objects.values_list("pk", flat=True)) == {fresh.pk, due.pk}
    assert list(Attempt.objects.values_list("delivery_id", flat=True)) == [fresh.pk]


def test_record__canceled_of_a_webhook_that_was_deleted__does_not_stop_the_others() -> None:
    gone, other = make_deliveries(2, webhooks=2)
    claims = claim_due(2)
    gone.delete()
    record([result(claim, CANCELED) for claim in claims])
    delivery = Delivery.objects.get()
    assert (delivery.receiver, delivery.lease_token, delivery.status) == (other, None, "pending")
