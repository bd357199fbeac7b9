"""The table of the outbox: a message is stored once, a delivery is unique, and each constraint refuses its row."""

import datetime as dt
import math
import uuid
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from config.base.ids import first_id_of
from config.base.times import now
from submissions.lifecycle.spam_marks import delete_submissions, mark_not_spam, mark_spam
from tests.support.deliveries import make_delivery
from tests.unit.webhooks.dispatching import dispatch_all
from tests.unit.webhooks.rows import make_form, make_submission, make_webhook, owner_of
from webhooks.enqueue import Target, enqueue, host_of
from webhooks.events import TEST
from webhooks.models import Delivery, Message
from webhooks.outbox import dispatch
from webhooks.receivers.registration import change_webhook
from webhooks.retention import purge_log

pytestmark = pytest.mark.django_db
DAY = dt.timedelta(days=1)


def test_message__of_a_form_with_many_webhooks__is_stored_once() -> None:
    form = make_form(notification_recipients=["ada@example.com"])
    for _ in range(20):
        make_webhook(form)
    row = make_submission(form, data={"text": "x" * 100_000})
    dispatch_all()
    assert Delivery.objects.count() == 21
    message = Message.objects.get()
    assert len(message.body) > 100_000
    assert set(Delivery.objects.values_list("message_id", flat=True)) == {message.pk} == {row.pk}


def test_dispatch__any_number_of_rows_and_forms__costs_the_same_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inserts come in batches, and each form and hour has a tally; no query is asked for a row or a target."""
    # A process looks for rows of an older release once a minute, so for one of the three, or for none.
    monkeypatch.setattr(dispatch, "_next_missed", math.inf)
    counts = set()
    for forms, rows in ((1, 1), (1, 20), (5, 20)):
        made = [make_form(notification_recipients=["ada@example.com"]) for _ in range(forms)]
        for form in made * 2:
            make_webhook(form)
        for number in range(rows):
            make_submission(made[number % forms])
        with CaptureQueriesContext(connection) as queries:
            assert dispatch_all() == rows
        counts.add(sum(query["sql"].startswith("SELECT") for query in queries))
    assert len(counts) == 1
    assert Delivery.objects.count() == 3 * 41


def test_message__of_mails_only__has_no_body_until_a_webhook_uses_it() -> None:
    form = make_form(notification_recipients=["ada@example.com"])
    row = make_submission(form)
    dispatch_all()
    assert Message.objects.get().body == ""
    mark_spam(row)
    make_webhook(form)
    mark_not_spam(row)
    dispatch_all()
    assert Message.objects.get().body.startswith('{"type":"submission.created"')
    assert sorted(Delivery.objects.values_list("channel", flat=True)) == ["mail", "webhook"]


def test_message__goes_with_its_submission() -> None:
    form = make_form()
    make_webhook(form)
    row = make_submission(form)
    dispatch_all()
    delete_submissions([row.pk])
    assert not Message.objects.exists()
    assert not Delivery.objects.exists()


def test_purge__message_without_a_delivery__goes_after_30_days_and_one_in_use_stays() -> None:
    form = make_form()
    old = [
        Message.objects.create(id=uuid.UUID(int=first_id_of(now() - 31 * DAY).int + number), event=f"old.{number}")
        for number in range(2)
    ]
    make_delivery("ada@example.com", organization=form.organization, message=old[1])
    Message.objects.create(event="young")
    purge_log()
    assert set(Message.objects.values_list("event", flat=True)) == {"old.1", "young", "submission.created"}


def test_purge__held_delivery__goes_after_30_days_and_a_pending_one_stays() -> None:
    form, old = make_form(), first_id_of(now() - 31 * DAY).int
    rows = {"held": old, "pending": old + 1, "young": first_id_of(now() - 29 * DAY).int}
    for name, number in rows.items():
        status = "pending" if name == "pending" else "held"
        make_delivery(f"{name}@example.com", organization=form.organization, id=uuid.UUID(int=number), status=status)
    purge_log()
    assert set(Delivery.objects.values_list("target", flat=True)) == {"pending@example.com", "young@example.com"}


def base(**values: Any) -> dict[str, Any]:
    form = make_form()
    message = Message.objects.create(event="test")
    start = {"organization": form.organization, "message": message, "event": "test", "channel": "mail", "target": "a@b"}
    return {**start, "status": "delivered", "finished_at": now(), **values}


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("delivery_has_an_owner", {"organization": None}),
        ("delivery_names_event_and_target", {"target": ""}),
        ("delivery_names_event_and_target", {"event": ""}),
        ("delivery_to_a_receiver_has_one", {"channel": "webhook"}),
        ("delivery_to_a_receiver_has_one", {"channel": "destination"}),
        ("delivery_to_a_receiver_has_one", {"channel": ""}),
        ("delivery_pending_has_a_time", {"status": "pending"}),
    ],
)
def test_constraint__wrong_row__is_refused_by_its_name(name: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError, match=name), transaction.atomic():
        Delivery.objects.create(**base(**wrong))


def test_constraint__mail_with_a_webhook__is_refused() -> None:
    with pytest.raises(IntegrityError, match="delivery_to_a_receiver_has_one"), transaction.atomic():
        Delivery.objects.create(**base(receiver=make_webhook(make_form())))


def test_delivery__of_an_account__needs_no_organization_and_goes_with_it() -> None:
    user = owner_of(make_form())
    Delivery.objects.create(**base(organization=None, account=user))
    user.memberships.all().delete()
    user.delete()
    assert not Delivery.objects.exists()


def test_delivery__twice_with_one_key__is_refused_and_without_a_key_is_not() -> None:
    for key in (None, None, "notice:1", "notice:2"):
        Delivery.objects.create(**base(key=key))
    with pytest.raises(IntegrityError), transaction.atomic():
        Delivery.objects.create(**base(key="notice:1"))


def test_delivery__twice_for_a_submission__is_refused_but_for_another_event_channel_or_target() -> None:
    form = make_form()
    row = make_submission(form)
    same = {"submission": row, "event": "submission.created", "target": "a@example.com"}
    Delivery.objects.create(**base(**same))
    for other in ({"event": "submission.urgent"}, {"channel": "pager"}, {"target": "b@example.com"}):
        Delivery.objects.create(**base(**{**same, **other}))
    with pytest.raises(IntegrityError), transaction.atomic():
        Delivery.objects.create(**base(**same))


def test_enqueue__several_targets__share_a_message_and_none_stores_nothing() -> None:
    form = make_form()
    targets = [Target("mail", "a@example.com"), Target("mail", "b@example.com")]
    made = enqueue(TEST, form, targets, organization_id=form.organization_id)
    assert [delivery.target for delivery in made] == ["a@example.com", "b@example.com"]
    assert Delivery.objects.due().count() == 2
    assert enqueue(TEST, form, [], organization_id=form.organization_id) == []
    assert Message.objects.count() == 1


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://Hooks.Example.com:8443/a", "hooks.example.com"),
        ("http://[::1]/", "::1"),
        ("https://[::1", ""),
        ("", ""),
    ],
)
def test_host__of_a_url__is_in_lower_case_without_its_port(url: str, host: str) -> None:
    assert host_of(url) == host


def test_host__webhook_gets_another_url__is_that_of_unsent_deliveries(settings: Any) -> None:
    settings.WEBHOOK_ALLOW_HTTP = True
    form = make_form()
    webhook = make_webhook(form)
    unsent = make_delivery(webhook, submission=make_submission(form))
    sent = make_delivery(webhook, submission=make_submission(form), status="delivered", finished_at=now())
    change_webhook(webhook, {"url": "http://127.0.0.2:9/"})
    hosts = dict(Delivery.objects.values_list("pk", "host"))
    assert hosts == {unsent.pk: "127.0.0.2:9", sent.pk: "127.0.0.1:9"}
