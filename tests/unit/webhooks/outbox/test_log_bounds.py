"""The bounds of the delivery log: attempts of a delivery, bytes of a page and of a receiver (docs/contract.md 7.12)."""

import json
from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings
from django.contrib import admin
from django.db import connections
from django.db.models.functions import Now
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext

from config.base.times import now
from forms_app.models import Form
from tests.support.browser import person_of, place, session_of
from tests.support.deliveries import make_delivery
from tests.support.tenants import Tenant, make_tenant
from tests.unit.webhooks.rows import FAILED, claim_one, make_webhook
from webhooks.admin import AttemptInline
from webhooks.log_queries import ANSWERS_SHOWN
from webhooks.models import ATTEMPTS_KEPT, Attempt, Delivery, Receiver, log_bounds
from webhooks.models.log_bounds import CHECKED_EACH
from webhooks.outbox.record import record
from webhooks.outbox.send import Result

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True, databases=["default", settings.SNAPSHOT])]
ANSWER, REQUEST = "x" * 4096, json.dumps({"method": "POST", "url": "http://a.example/", "headers": {}})


def add_attempts(delivery: Delivery, count: int, **values: Any) -> None:
    start = {"started_at": now(), "status": 500, "error": "http_error", "response": ANSWER, "request": REQUEST}
    Attempt.objects.bulk_create(
        (Attempt(delivery=delivery, duration_ms=number, **{**start, **values}) for number in range(count)),
        batch_size=1000,
    )


def make_log(tenant: Tenant, *attempts: int) -> Receiver:
    """Return a webhook with deliveries that were tried so often, the oldest first."""
    webhook = make_webhook(Form.objects.get(organization=tenant.organization, is_default=True))
    for count in attempts:
        add_attempts(make_delivery(webhook, event="test", status="failed", finished_at=now()), count)
    return webhook


def log_of(tenant: Tenant, webhook: Receiver, query: str = "") -> tuple[list[dict[str, Any]], int, str]:
    """Return the log by the API, the size of the answer, and its statements."""
    with (
        CaptureQueriesContext(connections["default"]) as own,
        CaptureQueriesContext(connections[settings.SNAPSHOT]) as others,
    ):
        path = f"/api/webhooks/{webhook.public_id}/deliveries{query}"
        answer = Client().get(path, headers={"x-access-key": tenant.key})
    statements = "\n".join(each["sql"] for each in [*own.captured_queries, *others.captured_queries])
    return answer.json()["data"], len(answer.content), statements


def test_log__delivery_with_ten_thousand_attempts__shows_the_newest_fifty() -> None:
    webhook = make_log(tenant := make_tenant(), 3, 10_000)
    (much, little), size, statements = log_of(tenant, webhook)
    assert [attempt["durationMs"] for attempt in much["attempts"]] == list(range(10_000 - ATTEMPTS_KEPT, 10_000))
    assert {attempt["response"] for attempt in much["attempts"]} == {ANSWER}
    assert [attempt["durationMs"] for attempt in little["attempts"]] == [0, 1, 2]
    assert size < 300_000
    assert '"webhooks_attempt"."request"' not in statements


def test_log__page_with_many_large_answers__leaves_out_the_oldest_ones() -> None:
    webhook = make_log(tenant := make_tenant(), *[40] * 10)
    deliveries, size, _ = log_of(tenant, webhook, "?limit=100")
    answers = [one["response"] for each in deliveries for one in reversed(each["attempts"])]  # newest first
    shown = ANSWERS_SHOWN // len(ANSWER)
    assert answers == [ANSWER] * shown + [""] * (400 - shown)
    assert size < 2 * ANSWERS_SHOWN


@pytest.mark.parametrize("screen", ["deliveries", "destinations/{webhook}"])
def test_screens__delivery_with_ten_thousand_attempts__show_the_newest_fifty(screen: str) -> None:
    webhook = make_log(tenant := make_tenant(), 10_000)
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = session_of(person_of(tenant))
    with CaptureQueriesContext(connections["default"]) as seen:
        answer = client.get(place(tenant, screen.format(webhook=webhook.public_id)))
    text = answer.content.decode()
    assert (answer.status_code, text.count(ANSWER), "50\n" in text or "50 attempts" in text) == (200, 50, True)
    assert not any('"webhooks_attempt"."request"' in each["sql"] for each in seen.captured_queries)


def test_admin__delivery_with_ten_thousand_attempts__shows_the_newest_fifty() -> None:
    webhook = make_log(tenant := make_tenant(), 10_000)
    request = RequestFactory().get("/")
    request.user = tenant.owner
    request.user.is_staff = request.user.is_superuser = True
    shown = AttemptInline(Delivery, admin.site).get_queryset(request).filter(delivery=webhook.deliveries.get())
    assert sorted(attempt.duration_ms for attempt in shown) == list(range(9_950, 10_000))


def attempts_of(webhook: Receiver) -> list[tuple[int, bool]]:
    """Return the number of each attempt, newest first, and whether its request and answer are there."""
    rows = Attempt.objects.filter(delivery__receiver=webhook).order_by("-id")
    assert all(bool(row.request) is bool(row.response) for row in rows)
    return [(row.duration_ms, bool(row.response)) for row in rows]


def record_again(delivery: Delivery, number: int, *, answer: str = ANSWER, request: str = REQUEST) -> None:
    """Record one more failure of a delivery."""
    Receiver.objects.update(probe_at=None, status="active", disabled_reason="")
    Delivery.objects.filter(pk=delivery.pk).update(
        status="pending", next_attempt_at=Now(), finished_at=None, attempt_count=0
    )
    record([Result(claim_one(), replace(FAILED, response_excerpt=answer, duration_ms=number), now(), request)])


def test_record__delivery_with_fifty_attempts__loses_its_oldest_one() -> None:
    webhook = make_log(make_tenant(), ATTEMPTS_KEPT, 3)
    much, little = webhook.deliveries.order_by("pk")
    record_again(much, 100)
    record_again(little, 200)
    numbers = [number for number, _ in attempts_of(webhook)]
    assert numbers == [200, 100, 2, 1, 0, *range(ATTEMPTS_KEPT - 1, 0, -1)]


def test_record__delivery_with_thousands_of_attempts__loses_them_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_bounds, "ROWS_A_BATCH", 100)
    webhook = make_log(make_tenant(), 300)
    delivery = webhook.deliveries.get()
    counts = []
    for number in range(1000, 1004):
        record_again(delivery, number)
        counts.append(delivery.attempts.count())
    assert counts == [201, 102, ATTEMPTS_KEPT, ATTEMPTS_KEPT]
    assert [number for number, _ in attempts_of(webhook)][:6] == [1003, 1002, 1001, 1000, 299, 298]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five recordings of a receiver are kept; they are added up with each."""
    monkeypatch.setattr(log_bounds, "RECORDED_BYTES", 5 * len(ANSWER + REQUEST))
    monkeypatch.setattr(log_bounds, "CHECKED_EACH", 0)


@pytest.mark.usefixtures("small")
def test_record__receiver_has_recorded_much__the_oldest_recordings_go_and_no_delivery() -> None:
    full, other = make_log(make_tenant(), 0, 0), make_log(make_tenant(), 0)
    one, two = full.deliveries.order_by("pk")
    record_again(other.deliveries.get(), 0)
    for number in range(8):
        record_again(two if number % 2 else one, number)
    assert attempts_of(full) == [(number, number > 2) for number in range(7, -1, -1)]
    assert attempts_of(other) == [(0, True)]
    assert Delivery.objects.filter(receiver__isnull=False).count() == 3


@pytest.mark.usefixtures("small")
def test_record__one_recording_larger_than_the_bound__goes_alone_with_the_next() -> None:
    webhook = make_log(make_tenant(), 0)
    delivery = webhook.deliveries.get()
    record_again(delivery, 0)
    record_again(delivery, 1, request=json.dumps("ä" * 100_000))
    assert attempts_of(webhook) == [(1, False), (0, False)]
    record_again(delivery, 2)
    assert attempts_of(webhook) == [(2, True), (1, False), (0, False)]


def test_record__recordings_of_a_process__are_added_up_each_half_megabyte() -> None:
    webhook = make_log(make_tenant(), 0)
    delivery = webhook.deliveries.get()
    log_bounds._written.clear()
    sums = []
    for number in range(3):
        with CaptureQueriesContext(connections["default"]) as seen:
            record_again(delivery, number, answer="x" * (CHECKED_EACH // 2 + 1))
        sums.append(sum('SUM("webhooks_attempt"' in each["sql"] for each in seen.captured_queries))
    assert sums == [1, 0, 1]


def test_log__recording_is_gone__shows_the_attempt_without_it() -> None:
    webhook = make_log(tenant := make_tenant(), 0)
    add_attempts(delivery := webhook.deliveries.get(), 1, request="", response="")
    answer = Client().get(f"/api/deliveries/{delivery.public_id}", headers={"x-access-key": tenant.key})
    (attempt,) = answer.json()["data"]["attempts"]
    assert (attempt["response"], attempt["request"], attempt["error"]) == ("", None, "http_error")
