"""Notices of a lower room become mails to the owners or to one person, once, and a poison one stops no other."""

import datetime as dt
import json
from typing import Any

import pytest
from django.db.models.functions import Now

from config.base.times import now
from keys.models import Membership, Notice, Organization, Role, User
from keys.notices import notify_account, notify_owners, purge_notices
from tests.services.receivers import MailReceiver
from tests.unit.webhooks.dispatching import dispatch_all
from tests.unit.webhooks.rows import claim_due, make_form, make_submission, owner_of
from webhooks.models import Delivery, Message
from webhooks.outbox import notices
from webhooks.outbox.loop import Deliverer
from webhooks.outbox.notices import dispatch_notices

pytestmark = pytest.mark.django_db
DAY = dt.timedelta(days=1)


def add_member(organization: Organization, role: Role, *, is_active: bool = True) -> User:
    user = User.objects.create_user(f"member{User.objects.count()}@example.com", is_active=is_active)
    Membership.objects.create(organization=organization, user=user, role=role)
    return user


def targets() -> set[tuple[str, str]]:
    return set(Delivery.objects.values_list("event", "target"))


def test_notice__to_owners__is_mailed_to_each_active_owner_of_now() -> None:
    form = make_form()
    first = owner_of(form).email
    for role, is_active in ((Role.ADMIN, True), (Role.MEMBER, True), (Role.OWNER, False)):
        add_member(form.organization, role, is_active=is_active)
    notify_owners(form.organization, "hour.80", subject="80 %", text="Of the hour.")
    late = add_member(form.organization, Role.OWNER)
    assert (dispatch_notices(), dispatch_notices()) == (1, 0)
    assert targets() == {("notice", first), ("notice", late.email)}
    assert set(Delivery.objects.values_list("organization", flat=True)) == {form.organization_id}
    body = '{"subject":"80 %","text":"Of the hour.","language":"en"}'
    assert [message.body for message in Message.objects.all()] == [body]


def test_notices__of_one_kind_in_bulk__are_one_mail_at_once_and_one_for_all_others() -> None:
    first, other = make_form(), make_form()
    for number in range(30):
        notify_owners(first.organization, "webhook.created", subject=f"Webhook {number}", text=f"Number {number}.")
        if number == 0:
            assert dispatch_notices() == 1
    notify_owners(first.organization, "hour.80", subject="80 %", text="Of the hour.")
    notify_owners(other.organization, "webhook.created", subject="Another one", text="Of another organization.")
    assert (dispatch_notices(), dispatch_notices()) == (2, 0)
    assert Notice.objects.filter(dispatched_at=None).count() == 29
    Notice.objects.exclude(dispatched_at=None).update(dispatched_at=now() - dt.timedelta(minutes=11))
    assert (dispatch_notices(), dispatch_notices()) == (29, 0)
    mails = [json.loads(message.body) for message in Message.objects.order_by("id")]
    subjects = ["Webhook 0", "80 %", "Another one", "Webhook 1, and 28 more"]
    assert sorted(mail["subject"] for mail in mails) == sorted(subjects)
    assert mails[-1]["text"] == "\n\n---\n\n".join(f"Number {number}." for number in range(1, 30))
    assert Delivery.objects.filter(target=owner_of(first).email).count() == 3


def test_notice__to_an_account__belongs_to_no_organization() -> None:
    user = owner_of(make_form())
    notify_account(user, "login.new", subject="New login", text="From another device.")
    assert dispatch_notices() == 1
    delivery = Delivery.objects.get()
    assert (delivery.organization_id, delivery.account_id, delivery.target) == (None, user.pk, user.email)


def test_notice__without_a_receiver__is_marked_and_not_read_again() -> None:
    user = User.objects.create_user("gone@example.com", is_active=False)
    notify_account(user, "login.new", subject="New login", text="…")
    assert (dispatch_notices(), dispatch_notices(), targets()) == (1, 0, set())
    assert not Message.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_notice__poison__stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    form = make_form()
    for text in ("fine", "poison", "fine too"):
        notify_owners(form.organization, "kind", subject=text, text=text)
    real = notices._queue

    def refuse(rows: list[Notice], receivers: object) -> None:
        if rows[0].text == "poison":
            raise ValueError(rows[0].text)
        real(rows, receivers)  # type: ignore[arg-type]  # passed on

    monkeypatch.setattr(notices, "_queue", refuse)
    assert dispatch_notices() == 2
    assert [row.text for row in Notice.objects.filter(dispatched_at=None)] == ["poison"]
    assert (dispatch_notices(), Delivery.objects.count()) == (0, 2)


@pytest.mark.django_db(transaction=True)
def test_notice__killed_inside_the_transaction__is_mailed_later(monkeypatch: pytest.MonkeyPatch) -> None:
    notify_owners(make_form().organization, "kind", subject="s", text="t")

    def die(*_arguments: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(notices, "Now", die)
        with pytest.raises(SystemExit):
            dispatch_notices()
    assert not Delivery.objects.exists()
    assert (dispatch_notices(), Delivery.objects.count()) == (1, 1)


@pytest.mark.django_db(transaction=True)
def test_run__notice__is_mailed_by_the_loop(settings: Any, smtp: MailReceiver) -> None:
    form = make_form()
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", smtp.port
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    notify_owners(form.organization, "key.created", subject="A new key", text="It was made by Ada.")
    Deliverer().run(until_idle=True)
    (mail,) = smtp.wait_for(owner_of(form).email)
    assert mail.message["Subject"] == "A new key"
    assert Delivery.objects.get().status == "delivered"


def test_purge__dispatched_a_month_ago__goes_and_a_waiting_one_stays() -> None:
    old = now() - 31 * DAY
    user = owner_of(make_form())
    for dispatched_at in (old, None, now()):
        Notice.objects.create(
            account=user, kind="k", subject="s", text="t", created_at=old, dispatched_at=dispatched_at
        )
    assert purge_notices() == 1
    assert Notice.objects.count() == 2


def test_notice__among_mails_of_submissions__is_claimed_first() -> None:
    form = make_form(notification_recipients=["ada@example.com"])
    make_submission(form)
    dispatch_all()
    Delivery.objects.update(next_attempt_at=Now() - dt.timedelta(hours=1))
    notify_owners(form.organization, "webhook.created", subject="New webhook", text="Hello")
    dispatch_notices()
    assert [claim.delivery.event for claim in claim_due(8)] == ["notice", "submission.created"]
