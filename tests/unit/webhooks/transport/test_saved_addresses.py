"""Saving an address resolves no name, on every way to save one; its first attempt says where the name leads."""

import socket
from collections.abc import Callable

import pytest
from django.conf import settings as configured
from pytest_django import Settings

from config.api.errors import ValidationFailed
from dashboard.delivery_story import tell_story
from tests.unit.webhooks.kinds.sending import http_config
from tests.unit.webhooks.rows import make_form, make_submission, make_webhook, send_one
from webhooks.models import Receiver
from webhooks.outbox.dispatch import dispatch_batch
from webhooks.outbox.record import record
from webhooks.receivers.destinations import add_destination, change_destination, check_new_destination
from webhooks.receivers.registration import change_webhook, register_webhook
from webhooks.transport import address_guard

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", configured.SNAPSHOT])
EVENTS = ["submission.created"]


def new_webhook(url: str) -> None:
    register_webhook(organization=(form := make_form()).organization, form=form, url=url, events=EVENTS)


def new_webhook_of_all_forms(url: str) -> None:
    register_webhook(organization=make_form().organization, form=None, url=url, events=EVENTS)


def new_url(url: str) -> None:
    change_webhook(make_webhook(make_form()), {"url": url})


def activated(url: str) -> None:
    webhook = make_webhook(make_form(), url=url, status=Receiver.Status.PENDING)
    change_webhook(webhook, {"status": "active"})


def new_destination(url: str) -> None:
    check_new_destination(None, "http", http_config(url, "t"))


def new_chat(url: str) -> None:
    check_new_destination(None, "mattermost", {"url": f"{url}hooks/abc"})


def changed_destination(url: str) -> None:
    checked = check_new_destination(None, "ntfy", {"url": "https://ntfy.example/a"})
    made = add_destination(organization=make_form().organization, form=None, kind="ntfy", name="Team", config=checked)
    change_destination(made, {"config": {"url": f"{url}topic"}})


SAVING = [new_webhook, new_webhook_of_all_forms, new_url, activated, new_destination, new_chat, changed_destination]


@pytest.mark.parametrize("save", SAVING)
def test_save__any_way__resolves_no_name(
    save: Callable[[str], None], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.WEBHOOK_ALLOWED_NETWORKS = []
    monkeypatch.setattr(address_guard, "look_up", lambda *_: pytest.fail("a name was looked up"))
    save("https://hooks.example/")
    with pytest.raises(ValidationFailed) as refused:
        save("https://0x7f.1./")
    assert [detail.code for detail in refused.value.details] == ["address_not_allowed"]


def test_first_attempt__name_leads_to_a_private_address__fails_in_words(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.WEBHOOK_ALLOWED_NETWORKS = []
    private = [address_guard.SocketAddress(socket.AF_INET, ("10.0.0.1", 443))]
    monkeypatch.setattr(address_guard, "look_up", lambda *_: private)
    form = make_form()
    webhook = register_webhook(organization=form.organization, form=form, url="https://inner.example/", events=EVENTS)
    submission = make_submission(form)
    dispatch_batch()

    record([sent := send_one()])

    assert (sent.outcome.error, webhook.deliveries.get().status) == ("address_refused", "pending")
    submission.refresh_from_db()
    (failed,) = [moment.title for moment in tell_story(submission) if moment.title.startswith("Attempt failed")]
    assert "private or special address" in failed
    assert failed.endswith("use one that is reachable from the internet")
