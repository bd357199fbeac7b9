"""Webhooks of all forms: concurrent registrations, limits, words in mails and the trail (docs/adr/0084)."""

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest
from django.db import connection

from config.api.errors import Conflict
from forms_app.actions import create_form
from forms_app.models import Form
from keys.models import AuditEvent, Notice
from keys.plans import Plan
from submissions.models import Submission
from tests.unit.webhooks.dispatching import dispatch_all, write_before
from tests.unit.webhooks.rows import (
    GONE,
    claim_one,
    make_form,
    make_submission,
    make_webhook,
    make_webhook_of_all_forms,
    result,
)
from tests.unit.webhooks.side_by_side import run_side_by_side, shared_database
from webhooks.models import Delivery, Receiver
from webhooks.outbox.record import record
from webhooks.receivers import registration
from webhooks.receivers.actions import delete_receiver, send_test
from webhooks.receivers.registration import MAX_OF_HOST, change_webhook, register_webhook

URL = "https://hooks.example.com/in"
EVENTS = ["submission.created"]


@pytest.fixture
def shared(transactional_db: None, tmp_path: Path) -> Iterator[None]:  # noqa: ARG001  # open before it is copied
    with shared_database(tmp_path):
        yield


def add(form: Form, *, wide: bool, url: str = URL) -> Receiver:
    return register_webhook(organization=form.organization, form=None if wide else form, url=url, events=EVENTS)


@pytest.mark.usefixtures("shared")
def test_add__the_same_url_for_a_form_and_for_all_at_the_same_time__makes_one() -> None:
    form = make_form()
    turns = itertools.count()

    def register() -> bool:
        try:
            add(form, wide=next(turns) % 2 == 0)
        except Conflict:
            return False
        return True

    assert sum(run_side_by_side(register)) == 1
    assert Receiver.objects.count() == 1


@pytest.mark.usefixtures("shared")
def test_add__the_last_of_a_host_on_free_at_the_same_time__makes_one() -> None:
    form = make_form()
    form.organization.plan = Plan.FREE
    form.organization.save()
    for number in range(MAX_OF_HOST - 1):
        add(form, wide=False, url=f"{URL}/{number}")
    turns = itertools.count(MAX_OF_HOST)

    def register() -> bool:
        number = next(turns)
        try:
            add(form, wide=number % 2 == 0, url=f"{URL}/{number}")
        except Conflict:
            return False
        return True

    assert sum(run_side_by_side(register)) == 1
    assert Receiver.objects.count() == MAX_OF_HOST


@pytest.mark.usefixtures("shared")
def test_change__while_dispatch_holds_the_webhook__waits_without_a_deadlock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both lock the webhook, then the organization; the other order ends one of them on PostgreSQL."""
    form = make_form()
    pending = make_webhook(form, status="pending")
    make_submission(form, controls={"_webhook": pending.url})
    changes = []

    def change() -> None:
        try:
            change_webhook(pending, {"url": URL})
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:

        def change_meanwhile(_row: Submission) -> None:
            changes.append(pool.submit(change))
            wait(changes, timeout=0.5)  # over by now, unless it waits for us

        write_before(monkeypatch, change_meanwhile)
        assert dispatch_all() == 1
    assert [one.result() for one in changes] == [None]
    assert (Receiver.objects.get().url, Delivery.objects.get().status) == (URL, "held")


@pytest.mark.django_db
@pytest.mark.parametrize("is_first_wide", [True, False])
def test_add__url_that_one_of_its_forms_has__is_a_conflict_that_names_it(is_first_wide: bool) -> None:
    form, other = make_form(name="Contact"), make_form()
    first = add(form, wide=is_first_wide)
    with pytest.raises(Conflict) as refused:
        add(form, wide=not is_first_wide)
    assert str(refused.value.message) == (
        f"A webhook of all forms has this URL already: {first.public_id}. It receives the submissions of this form "
        "too. Change that one instead."
        if is_first_wide
        else f"The form “Contact” has a webhook with this URL already: {first.public_id}. Delete that one first."
    )
    add(other, wide=True)  # another organization
    moving = add(form, wide=not is_first_wide, url=f"{URL}/2")
    with pytest.raises(Conflict):
        change_webhook(moving, {"url": URL})
    moving.refresh_from_db()
    assert moving.url == f"{URL}/2"
    delete_receiver(first)
    assert change_webhook(moving, {"url": URL}).url == URL


@pytest.mark.django_db
def test_activate__pending_with_the_url_of_all_forms__is_a_conflict() -> None:
    form = make_form()
    wide = make_webhook_of_all_forms(form)
    pending = make_webhook(form, url=wide.url, status="pending")
    with pytest.raises(Conflict):
        change_webhook(pending, {"status": "active"})
    pending.refresh_from_db()
    assert pending.status == "pending"


@pytest.mark.django_db
def test_add__more_than_the_limit_of_a_form__is_a_conflict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registration, "MAX_WEBHOOKS", 3)
    form = make_form()
    other = create_form(organization=form.organization, name="Other")
    make_webhook_of_all_forms(make_form())
    make_webhook(form, status="pending")
    add(form, wide=True, url=f"{URL}/1")
    add(form, wide=False, url=f"{URL}/2")
    add(form, wide=False, url=f"{URL}/3")
    for wide in (True, False):
        with pytest.raises(Conflict):
            add(form, wide=wide, url=f"{URL}/4")
    add(other, wide=False, url=f"{URL}/4")
    pending = Receiver.objects.get(status="pending")
    with pytest.raises(Conflict):
        change_webhook(pending, {"status": "active"})
    assert Receiver.objects.filter(url=f"{URL}/4").count() == 1


@pytest.mark.django_db
def test_of_all_forms__made_and_gone__trail_and_mails_say_all_forms() -> None:
    form = make_form()
    wide = add(form, wide=True, url=f"{URL}?token=hush")
    notice = Notice.objects.get(kind="webhook.created")
    assert notice.subject == "New webhook of all forms"
    assert f"the submissions of all forms of {form.organization.name} are sent to {URL}.\n" in notice.text
    make_submission(form)
    dispatch_all()
    record([result(claim_one(), GONE)])
    wide.refresh_from_db()
    assert wide.status == "disabled"
    mail = Delivery.objects.select_related("message").get(event="webhook.disabled")
    assert '"subject":"Webhook disabled: all forms"' in mail.message.body
    subjects = AuditEvent.objects.filter(action__startswith="webhook.").order_by("id").values_list("action", "subject")
    of_all = f"{URL}?token=hush of all forms"
    assert list(subjects) == [("webhook.created", of_all), ("webhook.disabled", of_all)]


@pytest.mark.django_db
def test_of_all_forms__test_event__is_an_example_of_the_default_form() -> None:
    form = make_form()
    test = send_test(make_webhook_of_all_forms(form))
    default = Form.objects.get(organization=form.organization, is_default=True)
    assert f'"formId":"{default.public_id}"' in Delivery.objects.get(pk=test.pk).message.body


@pytest.mark.django_db
def test_of_all_forms__a_form_or_the_organization_is_deleted__goes_with_the_organization_only() -> None:
    form = make_form()
    wide, own = make_webhook_of_all_forms(form), make_webhook(form)
    form.delete()
    assert list(Receiver.objects.all()) == [wide]
    assert own.pk != wide.pk
    form.organization.delete()
    assert not Receiver.objects.exists()
