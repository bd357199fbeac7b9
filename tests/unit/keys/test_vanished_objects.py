"""An object that is deleted after a request has found it, before the request locks it: 404 in API and dashboard."""

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from django.conf import settings
from django.test import Client

from config.api.errors import NotFound
from dashboard.pages.receivers import views as screen
from forms_app.actions import archive_form, change_form, publish_form
from forms_app.models import Form
from keys.access_keys import regenerate_key
from keys.models import AccessKey
from submissions.lifecycle.erasure import erase_form
from tests.support.browser import person_of, place, session_of
from tests.support.tables.callers import House, furnish
from tests.support.tenants import make_tenant
from webhooks.models import Delivery, Receiver
from webhooks.receivers import views as receivers
from webhooks.receivers.actions import disable_receiver, send_test, undo_disabling
from webhooks.receivers.destinations import add_destination, change_destination
from webhooks.receivers.registration import change_webhook, register_webhook, rotate_secret
from webhooks.replays import retry_delivery

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", settings.SNAPSHOT])

EVENTS = ["submission.created"]


def add_webhook(form: Form) -> Receiver:
    return register_webhook(organization=form.organization, form=form, url="https://a.example/", events=EVENTS)


ACTIONS: dict[str, tuple[type[Any], Callable[[Any], object]]] = {
    "change a form": (Form, lambda form: change_form(form, name="Other")),
    "publish a form": (Form, publish_form),
    "archive a form": (Form, archive_form),
    "erase a form": (Form, lambda form: erase_form(form, by=None)),
    "regenerate a key": (AccessKey, lambda key: regenerate_key(key, by=None)),
    "change a webhook": (Receiver, lambda webhook: change_webhook(webhook, {"events": ["submission.created"]})),
    "disable a webhook": (Receiver, disable_receiver),
    "enable a webhook": (Receiver, lambda webhook: undo_disabling(webhook, {})),
    "rotate a secret": (Receiver, rotate_secret),
    "test a webhook": (Receiver, send_test),
    "add a webhook": (Form, add_webhook),
    "add a destination": (
        Form,
        lambda form: add_destination(
            organization=form.organization, form=form, kind="ntfy", name="Team", config={"url": "https://a.example/a"}
        ),
    ),
    "retry a delivery": (Delivery, retry_delivery),
    "change a destination": (Receiver, lambda found: change_destination(found, {"name": "Other"})),
}


@pytest.mark.parametrize("name", ACTIONS)
def test_action__object_is_deleted_meanwhile__is_not_found(name: str) -> None:
    furnish(make_tenant())
    model, act = ACTIONS[name]
    found = model.objects.order_by("pk").last()
    assert found is not None
    model.objects.filter(pk=found.pk).delete()
    with pytest.raises(NotFound):
        act(found)


def deleting_first(act: Callable[[Receiver], Receiver]) -> Callable[[Receiver], Receiver]:
    def late(found: Receiver) -> Receiver:
        Receiver.objects.filter(pk=found.pk).delete()
        return act(found)

    return late


def test_api__webhook_is_deleted_meanwhile__is_404() -> None:
    house: House = furnish(make_tenant())
    path = f"/api/webhooks/{house.ids['webhooks']}/rotate-secret"
    with mock.patch.object(receivers, "rotate_secret", deleting_first(rotate_secret)):
        answer = Client().post(path, headers={"x-access-key": house.tenant.key}, content_type="application/json")
    assert (answer.status_code, answer.json()["error"]) == (404, "not_found")


def test_dashboard__webhook_is_deleted_meanwhile__is_the_404_page() -> None:
    house: House = furnish(make_tenant())
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = session_of(person_of(house.tenant))
    path = place(house.tenant, f"destinations/{house.ids['webhooks']}/rotate")
    assert client.get(path).status_code == 200
    with mock.patch.object(screen, "rotate_secret", deleting_first(rotate_secret)):
        assert client.post(path).status_code == 404
