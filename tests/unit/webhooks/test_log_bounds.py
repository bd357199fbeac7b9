"""The bounds of the delivery log: attempts of a delivery, bytes of a page and of a receiver (docs/contract.md 7.12)."""

import json
from typing import Any

import pytest
from django.conf import settings
from django.contrib import admin
from django.db import connections
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext

from config.times import now
from forms_app.models import Form
from tests.support.browser import person_of, place, session_of
from tests.support.deliveries import make_delivery
from tests.support.tenants import Tenant, make_tenant
from tests.unit.webhooks.rows import make_webhook
from webhooks.admin import AttemptInline
from webhooks.log_queries import ANSWERS_SHOWN
from webhooks.models import ATTEMPTS_KEPT, Attempt, Delivery, Webhook

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", settings.SNAPSHOT])
ANSWER, REQUEST = "x" * 4096, json.dumps({"method": "POST", "url": "http://a.example/", "headers": {}})


def add_attempts(delivery: Delivery, count: int, **values: Any) -> None:
    start = {"started_at": now(), "status": 500, "error": "http_error", "response": ANSWER, "request": REQUEST}
    Attempt.objects.bulk_create(
        (Attempt(delivery=delivery, duration_ms=number, **{**start, **values}) for number in range(count)),
        batch_size=1000,
    )


def make_log(tenant: Tenant, *attempts: int) -> Webhook:
    """Return a webhook with deliveries that were tried so often, the oldest first."""
    webhook = make_webhook(Form.objects.get(organization=tenant.organization, is_default=True))
    for count in attempts:
        add_attempts(make_delivery(webhook, event="test", status="failed", finished_at=now()), count)
    return webhook


def log_of(tenant: Tenant, webhook: Webhook, query: str = "") -> tuple[list[dict[str, Any]], int, str]:
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


@pytest.mark.parametrize("screen", ["deliveries", "webhooks/{webhook}"])
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
