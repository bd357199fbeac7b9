"""Migrations that move deliveries and receivers: what they keep on the way there and on the way back."""

import datetime as dt
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.apps.registry import Apps
from django.core.management.base import CommandError
from django.db import IntegrityError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from pytest_django import DjangoDbBlocker

from config.base.ids import suffix

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

Migrate = Callable[[str], Apps]
NOW = dt.datetime(2026, 11, 20, 12, tzinfo=dt.UTC)
BODY = '{"type":"submission.created","data":{}}'
NOTICE = '{"subject":"Webhook disabled","text":"Fix it."}'
URL = "https://hooks.example.com/in"


@pytest.fixture(scope="module")
def migrate(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Migrate]:  # noqa: ARG001 - it is there first
    """
    Yield `migrate("0002_undelivered")`: it migrates webhooks to a state and returns its models.

    The newest schema comes back once, after the last test: each way takes seconds.
    """

    def to(name: str) -> Apps:
        executor = MigrationExecutor(connection)
        others = [leaf for leaf in executor.loader.graph.leaf_nodes() if leaf[0] != "webhooks"]
        return executor.migrate([*others, ("webhooks", name)]).apps  # building the state again would take half a second

    yield to
    with django_db_blocker.unblock():
        ((_, newest),) = MigrationExecutor(connection).loader.graph.leaf_nodes("webhooks")
        to(newest)


def objects(apps: Apps, model: str) -> Any:
    """Return the manager of a model as it was, such as `webhooks.Webhook`, of which mypy knows nothing."""
    return apps.get_model(model).objects


def rows_of(apps: Apps, model: str) -> list[dict[str, Any]]:
    return list(objects(apps, f"webhooks.{model}").order_by("pk").values())


def test_0019__there_and_back__keeps_receivers_their_ids_and_their_deliveries(migrate: Migrate) -> None:
    """One test, since each way takes seconds."""
    old = migrate("0018_lost_claims_are_due_like_others")
    organization = objects(old, "keys.Organization").create(name="Test", slug="test-0019")
    form = objects(old, "forms_app.Form").create(organization=organization, name="Contact")
    webhooks = objects(old, "webhooks.Webhook")
    own = webhooks.create(form=form, url=URL, secret="whsec_a", failure_count=3, events=["submission.created"])
    wide = webhooks.create(all_forms_of=organization, url=f"{URL}/2", status="pending")
    destinations = objects(old, "webhooks.Destination")
    slack = destinations.create(organization=organization, form=form, kind="slack", name="Sales", config='{"url":"a"}')
    ntfy = destinations.create(
        organization=organization,
        kind="ntfy",
        name="Team",
        config="{}",
        status="needs_attention",
        disabled_reason="No.",
    )
    message = objects(old, "webhooks.Message").create(event="submission.created")
    deliveries = objects(old, "webhooks.Delivery")
    about = {"organization": organization, "message": message, "event": "e", "status": "failed"}
    for number, (channel, receiver) in enumerate((("webhook", own), ("destination", slack), ("destination", ntfy))):
        deliveries.create(channel=channel, target=f"t{number}", **about, **{channel: receiver})
    deliveries.create(channel="mail", target="ada@example.com", **about)
    before = {model: rows_of(old, model) for model in ("Webhook", "Destination", "Delivery")}

    new = migrate("0019_one_receiver")
    receivers = objects(new, "webhooks.Receiver")
    assert {
        row.pk: (row.kind, row.form_id, row.organization_id, row.status, str(row.name or row.url))
        for row in receivers.all()
    } == {
        own.pk: ("webhook", form.pk, organization.pk, "active", URL),
        wide.pk: ("webhook", None, organization.pk, "pending", f"{URL}/2"),
        slack.pk: ("slack", form.pk, organization.pk, "active", "Sales"),
        ntfy.pk: ("ntfy", None, organization.pk, "needs_attention", "Team"),
    }
    found = receivers.get(pk=own.pk)
    assert (found.secret, found.failure_count, found.events, found.config) == (
        *("whsec_a", 3, ["submission.created"]),
        "",
    )
    assert receivers.values_list("config", "secret").get(pk=slack.pk) == (before["Destination"][0]["config"], "")
    logged = objects(new, "webhooks.Delivery").values_list("target", "receiver")
    assert dict(logged) == {"t0": own.pk, "t1": slack.pk, "t2": ntfy.pk, "ada@example.com": None}

    again = migrate("0018_lost_claims_are_due_like_others")
    after = {model: rows_of(again, model) for model in before}
    for row in before["Destination"] + after["Destination"]:
        del row["updated_at"]  # nothing shows it
    assert after == before


def test_0011__there_and_back__keeps_webhooks_and_refuses_to_lose_those_of_all_forms(
    migrate: Migrate,
) -> None:
    """One test, since each way takes seconds."""
    old = migrate("0010_attempts_have_requests")
    organization = objects(old, "keys.Organization").create(name="Test", slug="test-0011")
    form = objects(old, "forms_app.Form").create(organization=organization, name="Contact")
    objects(old, "webhooks.Webhook").create(form=form, url=URL, secret="whsec_a", failure_count=3)
    before = list(objects(old, "webhooks.Webhook").values())

    new = objects(migrate("0011_webhooks_of_all_forms"), "webhooks.Webhook")
    assert list(new.values()) == [{**row, "all_forms_of_id": None} for row in before]
    wide = new.create(all_forms_of_id=organization.pk, url=URL)
    for refused in (
        {"all_forms_of_id": organization.pk},
        {"form_id": form.pk},
        {"form_id": form.pk, "all_forms_of_id": organization.pk, "url": f"{URL}/2"},
        {"url": f"{URL}/2"},
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            new.create(**{"url": URL, **refused})
    with pytest.raises(CommandError, match=r"Webhooks that serve all forms of an organization: 1\. Delete them"):
        migrate("0010_attempts_have_requests")
    assert new.filter(pk=wide.pk).delete()[0] == 1

    again = objects(migrate("0010_attempts_have_requests"), "webhooks.Webhook")
    assert list(again.values()) == before


class Rows:
    """A form with two webhooks and two submissions, in the models of 0002."""

    def __init__(self, apps: Apps) -> None:
        self.apps = apps
        self.organization = objects(apps, "keys.Organization").create(name="Test", slug="test-0003")
        form = objects(apps, "forms_app.Form").create(organization=self.organization, name="Contact")
        webhooks = objects(apps, "webhooks.Webhook")
        self.first = webhooks.create(id=uuid.UUID(int=1), form=form, url="https://Hooks.example.com:8443/a?b=c")
        self.second = webhooks.create(id=uuid.UUID(int=2), form=form, url="https://[::1")  # no URL at all
        submissions = objects(apps, "submissions.Submission")
        self.submissions = [
            submissions.create(
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
        return objects(self.apps, "webhooks.Delivery").create(
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
    attempts = objects(rows.apps, "webhooks.Attempt")
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


def test_0003__there_and_back__moves_every_kind_of_delivery_and_restores_each_column(migrate: Migrate) -> None:
    """One test, since each way takes seconds; the fixture takes the empty table both ways."""
    old = migrate("0002_undelivered")
    store_every_kind(Rows(old))
    before = list(objects(old, "webhooks.Delivery").order_by("id").values())
    new = migrate("0003_messages_and_channels")
    assert_moved(new)
    store_rows_that_0002_cannot_hold(new)
    again = migrate("0002_undelivered")
    assert list(objects(again, "webhooks.Delivery").order_by("id").values()) == before
    assert [attempt.delivery_id.int for attempt in objects(again, "webhooks.Attempt").all()] == [11]


def assert_moved(new: Apps) -> None:
    deliveries = objects(new, "webhooks.Delivery").order_by("id")
    found = [(pk.int, *rest[:4], rest[4].int, *rest[5:]) for pk, *rest in deliveries.values_list(*COLUMNS)]
    assert found == EXPECTED
    messages = objects(new, "webhooks.Message").order_by("id")
    assert [(pk.int, *rest) for pk, *rest in messages.values_list("id", "event", "submission_id", "body")] == MESSAGES
    values: set[tuple[object, ...]] = set(deliveries.values_list("priority", "key", "account_id"))
    assert values == {(0, None, None)}
    leased = deliveries.get(id=uuid.UUID(int=11))
    assert (leased.lease_token, leased.lease_until, leased.next_attempt_at) == (uuid.UUID(int=7), NOW, NOW)
    attempt = objects(new, "webhooks.Attempt").get()
    assert (attempt.delivery_id.int, attempt.status, attempt.response) == (11, 500, "no")


def store_rows_that_0002_cannot_hold(new: Apps) -> None:
    """Store a mail of an account, with an attempt, and a delivery of another channel."""
    user = objects(new, "keys.User").create(email="ada@example.com")
    message = objects(new, "webhooks.Message").create(event="account.code", body="{}")
    common = {"message_id": message.pk, "status": "delivered", "finished_at": NOW}
    deliveries = objects(new, "webhooks.Delivery")
    code = deliveries.create(account=user, event="account.code", channel="mail", target="ada@example.com", **common)
    organization = deliveries.filter(organization__isnull=False).earliest("id").organization
    deliveries.create(organization=organization, event=CREATED, channel="slack", target="dst_1", **common)
    objects(new, "webhooks.Attempt").create(delivery=code, started_at=NOW, duration_ms=1)
