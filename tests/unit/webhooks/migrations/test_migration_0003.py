"""Migration 0003: every kind of delivery keeps its data on the way to shared messages, and on the way back."""

import datetime as dt
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.apps.registry import Apps
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from config.ids import suffix

pytestmark = pytest.mark.django_db(transaction=True)

BEFORE, AFTER = ("webhooks", "0002_undelivered"), ("webhooks", "0003_messages_and_channels")
NOW = dt.datetime(2026, 11, 20, 12, tzinfo=dt.UTC)
BODY = '{"type":"submission.created","data":{}}'
NOTICE = '{"subject":"Webhook disabled","text":"Fix it."}'


def migrate(target: tuple[str, str]) -> Apps:
    """Migrate this app to a state and return its models."""
    executor = MigrationExecutor(connection)
    others = [leaf for leaf in executor.loader.graph.leaf_nodes() if leaf[0] != "webhooks"]
    return executor.migrate([*others, target]).apps  # building the state again would take half a second


@pytest.fixture
def old() -> Iterator[Apps]:
    """Yield the models of 0002; migrate to the newest schema after the test."""
    yield migrate(BEFORE)
    migrate(max(leaf for leaf in MigrationExecutor(connection).loader.graph.leaf_nodes() if leaf[0] == "webhooks"))


class Rows:
    """A form with two webhooks and two submissions, in the models of 0002."""

    def __init__(self, apps: Apps) -> None:
        self.apps = apps
        self.organization = apps.get_model("keys", "Organization").objects.create(name="Test", slug="test-0003")
        form = apps.get_model("forms_app", "Form").objects.create(organization=self.organization, name="Contact")
        webhooks = apps.get_model("webhooks", "Webhook")
        self.first = webhooks.objects.create(id=uuid.UUID(int=1), form=form, url="https://Hooks.example.com:8443/a?b=c")
        self.second = webhooks.objects.create(id=uuid.UUID(int=2), form=form, url="https://[::1")  # no URL at all
        submissions = apps.get_model("submissions", "Submission")
        self.submissions = [
            submissions.objects.create(
                id=uuid.UUID(int=100 + number), organization=self.organization, form=form, data={}, created_at=NOW
            )
            for number in range(2)
        ]

    def delivery(self, number: int, **values: Any) -> Any:
        """Store a delivery with the message id that 0002 gave it."""
        pk = uuid.UUID(int=number)
        submission = values.get("submission")
        start: dict[str, Any] = {"status": "delivered", "finished_at": NOW, "created_at": NOW}
        start["message_id"] = f"msg_{suffix(submission.pk if submission else pk)}"
        return self.apps.get_model("webhooks", "Delivery").objects.create(
            id=pk, organization=self.organization, **{**start, **values}
        )


def store_every_kind(rows: Rows) -> None:
    """Store a delivery of each kind and state; the first submission has webhooks and a mail, the second only a mail."""
    one, two = rows.submissions
    held = {"status": "held", "finished_at": None}
    due = {"status": "pending", "finished_at": None, "next_attempt_at": NOW}
    lease = {"lease_token": uuid.UUID(int=7), "lease_until": NOW}
    rows.delivery(10, submission=one, recipient="ada@example.com", **due)
    tried = rows.delivery(11, submission=one, webhook=rows.first, body=BODY, attempt_count=2, **due, **lease)
    rows.delivery(12, submission=one, webhook=rows.second, body=BODY, **held)
    rows.delivery(13, submission=two, recipient="ada@example.com", status="failed", counted_as="failed")
    rows.delivery(14, webhook=rows.first, kind="test", body=BODY, status="failed")
    rows.delivery(15, recipient="ada@example.com", kind="test", body=BODY)
    rows.delivery(16, recipient="owner@example.com", kind="notice", body=NOTICE, **due)
    rows.delivery(17, submission=two, webhook=rows.first, body=BODY, status="canceled")
    attempts = rows.apps.get_model("webhooks", "Attempt").objects
    attempts.create(delivery=tried, started_at=NOW, status=500, duration_ms=12, error="http_error", response="no")


FIRST, SECOND = "whk_00000000000000000000000001", "whk_00000000000000000000000002"
CREATED, TEST, DISABLED = "submission.created", "test", "webhook.disabled"
EXPECTED = [  # id, event, channel, target, host, message, status, attempts, counted as
    (10, CREATED, "mail", "ada@example.com", "", 100, "pending", 0, ""),
    (11, CREATED, "webhook", FIRST, "hooks.example.com", 100, "pending", 2, ""),
    (12, CREATED, "webhook", SECOND, "", 100, "held", 0, ""),
    (13, CREATED, "mail", "ada@example.com", "", 101, "failed", 0, "failed"),
    (14, TEST, "webhook", FIRST, "hooks.example.com", 14, "failed", 0, ""),
    (15, TEST, "mail", "ada@example.com", "", 15, "delivered", 0, ""),
    (16, DISABLED, "mail", "owner@example.com", "", 16, "pending", 0, ""),
    (17, CREATED, "webhook", FIRST, "hooks.example.com", 101, "canceled", 0, ""),
]
MESSAGES = [  # id, event, submission, body
    (14, TEST, None, BODY),
    (15, TEST, None, BODY),
    (16, DISABLED, None, NOTICE),
    (100, CREATED, uuid.UUID(int=100), BODY),
    (101, CREATED, uuid.UUID(int=101), BODY),
]
COLUMNS = ("id", "event", "channel", "target", "host", "message_id", "status", "attempt_count", "counted_as")


def test_0003__there_and_back__moves_every_kind_of_delivery_and_restores_each_column(old: Apps) -> None:
    """One test, since each way takes seconds; the fixture takes the empty table both ways."""
    store_every_kind(Rows(old))
    before = list(old.get_model("webhooks", "Delivery").objects.order_by("id").values())
    new = migrate(AFTER)
    assert_moved(new)
    store_rows_that_0002_cannot_hold(new)
    again = migrate(BEFORE)
    assert list(again.get_model("webhooks", "Delivery").objects.order_by("id").values()) == before
    assert [attempt.delivery_id.int for attempt in again.get_model("webhooks", "Attempt").objects.all()] == [11]


def assert_moved(new: Apps) -> None:
    deliveries = new.get_model("webhooks", "Delivery").objects.order_by("id")
    found = [(pk.int, *rest[:4], rest[4].int, *rest[5:]) for pk, *rest in deliveries.values_list(*COLUMNS)]
    assert found == EXPECTED
    messages = new.get_model("webhooks", "Message").objects.order_by("id")
    assert [(pk.int, *rest) for pk, *rest in messages.values_list("id", "event", "submission_id", "body")] == MESSAGES
    values: set[tuple[object, ...]] = set(deliveries.values_list("priority", "key", "account_id"))
    assert values == {(0, None, None)}
    leased = deliveries.get(id=uuid.UUID(int=11))
    assert (leased.lease_token, leased.lease_until, leased.next_attempt_at) == (uuid.UUID(int=7), NOW, NOW)
    attempt = new.get_model("webhooks", "Attempt").objects.get()
    assert (attempt.delivery_id.int, attempt.status, attempt.response) == (11, 500, "no")


def store_rows_that_0002_cannot_hold(new: Apps) -> None:
    """Store a mail of an account, with an attempt, and a delivery of another channel."""
    user = new.get_model("keys", "User").objects.create(email="ada@example.com")
    message = new.get_model("webhooks", "Message").objects.create(event="account.code", body="{}")
    common = {"message_id": message.pk, "status": "delivered", "finished_at": NOW}
    deliveries = new.get_model("webhooks", "Delivery").objects
    code = deliveries.create(account=user, event="account.code", channel="mail", target="ada@example.com", **common)
    organization = deliveries.filter(organization__isnull=False).earliest("id").organization
    deliveries.create(organization=organization, event=CREATED, channel="slack", target="dst_1", **common)
    new.get_model("webhooks", "Attempt").objects.create(delivery=code, started_at=NOW, duration_ms=1)
