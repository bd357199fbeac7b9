"""Pending webhooks that pages name: bounded for an organization, gone after 30 days, one message for all of them."""

import datetime as dt

import pytest

from config.base.times import now
from forms_app.models import Form
from tests.unit.webhooks.dispatching import dispatch_all
from tests.unit.webhooks.rows import make_form, make_submission, make_webhook
from webhooks.channels import page_named
from webhooks.channels.page_named import purge_pending
from webhooks.models import Delivery, Message, Receiver
from webhooks.retention import delete_all_hidden

pytestmark = pytest.mark.django_db


def name_urls(form: Form, count: int, start: int = 0) -> None:
    """Let a page of the form name so many URLs."""
    for number in range(start, start + count):
        make_submission(form, controls={"_webhook": f"https://hooks{number}.example/in"})
    dispatch_all()


def test_pending__of_several_forms__are_bounded_for_the_organization(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_named, "MAX_PENDING_IN_ALL", 3)
    form, stranger = make_form(), make_form()
    other = Form.objects.get(organization=form.organization, is_default=True)
    for each in (form, other, stranger):
        name_urls(each, 2)
    assert [each.receivers.filter(status="pending").count() for each in (form, other, stranger)] == [2, 1, 2]


def test_pending__thirty_days_old__is_deleted_with_its_held_deliveries() -> None:
    form = make_form()
    name_urls(form, 2)
    active = make_webhook(form)
    Receiver.objects.exclude(url="https://hooks1.example/in").update(
        created_at=now() - dt.timedelta(days=30, minutes=1)
    )
    assert (purge_pending(), delete_all_hidden()) == (1, 1)
    assert {webhook.url for webhook in Receiver.objects.all()} == {"https://hooks1.example/in", active.url}
    assert Delivery.objects.filter(status="held").count() == 1


def test_message__of_a_submission_for_several_webhooks__is_stored_once() -> None:
    form = make_form()
    make_webhook(form)
    make_webhook(form)
    name_urls(form, 1)
    assert (Delivery.objects.count(), Message.objects.count()) == (3, 1)
