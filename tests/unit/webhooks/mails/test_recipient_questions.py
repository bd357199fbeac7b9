"""Questions to recipients: their caps hold over forms and organizations that are gone, spellings, and side by side."""

import datetime as dt
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import time_machine

from config.api.errors import ApiError
from config.base.times import now
from config.clean_up import clean_up
from forms_app.actions import archive_form
from forms_app.consent.questions import MOST_FOR_AN_ADDRESS, MOST_FOR_AN_ORGANIZATION
from forms_app.models import Form, RecipientQuestion
from forms_app.sign_up import create_organization
from keys.models import User
from submissions.lifecycle.closing import delete_organization, end_organization
from submissions.lifecycle.erasure import erase_form
from tests.unit.webhooks.rows import make_form
from tests.unit.webhooks.side_by_side import Meanwhile, run_side_by_side, shared_database
from webhooks.enqueue import enqueue_mail
from webhooks.mails.recipients import ask, ask_waiting_recipients, save_recipients
from webhooks.models import Delivery

VICTIM = "victim@elsewhere.example"
DAY = dt.timedelta(days=1)


@pytest.fixture
def shared(transactional_db: None, tmp_path: Path) -> Iterator[None]:  # noqa: ARG001  # open before it is copied
    with shared_database(tmp_path):
        yield


def asked() -> int:
    return Delivery.objects.filter(event="recipient.asked").count()


def another_form(form: Form) -> Form:
    return Form.objects.create(organization=form.organization, name="Another")


@pytest.mark.django_db
def test_question__over_erased_forms__is_asked_5_times_a_day() -> None:
    first, sent = make_form(), 0
    for _ in range(8):
        form = another_form(first)
        sent += save_recipients(form, [VICTIM])
        assert erase_form(archive_form(form), by=None)
    assert (sent, MOST_FOR_AN_ADDRESS) == (5, 5)
    with time_machine.travel(now() + DAY + dt.timedelta(seconds=1), tick=False):
        assert save_recipients(another_form(first), [VICTIM]) == 1


@pytest.mark.django_db
def test_question__over_deleted_organizations__is_asked_5_times_a_day() -> None:
    sent = 0
    for _ in range(7):
        form = make_form()
        sent += save_recipients(form, [VICTIM])
        delete_organization(form.organization, by=None)
    assert sent == 5


@pytest.mark.django_db
def test_question__sent_again__counts_every_mail() -> None:
    forms = [make_form() for _ in range(4)]
    refused = 0
    with time_machine.travel(dt.datetime(2026, 3, 1, 8, tzinfo=dt.UTC), tick=False) as clock:
        for form in forms:
            save_recipients(form, [VICTIM])
        for _ in range(2):
            clock.shift(dt.timedelta(minutes=11))
            for form in forms:
                try:
                    ask(Form.objects.get(pk=form.pk), VICTIM)
                except ApiError as refusal:
                    refused += "too often today" in refusal.message
    assert (asked(), refused) == (5, 7)


@pytest.mark.django_db
def test_question__to_other_spellings_of_a_mailbox__counts_for_one() -> None:
    spellings = [
        VICTIM,
        "victim+1@elsewhere.example",
        "VICTIM@elsewhere.example",
        "victim@ELSEWHERE.example",
        '"victim"@elsewhere.example',
        '"vic\\tim+2"@elsewhere.example',
        "victim@\uff45lsewhere.example",  # full-width
    ]
    for spelling in spellings:
        Form.objects.filter(pk=(form := make_form()).pk).update(notification_recipients=[spelling])
        form.refresh_from_db()
        ask_waiting_recipients()
    assert asked() == 5
    assert RecipientQuestion.objects.values("mailbox").distinct().count() == 1


@pytest.mark.django_db
def test_question__of_one_organization__is_asked_50_times_a_day_over_erased_forms() -> None:
    first, names, sent = make_form(), count(), 0
    for _ in range(4):
        form = another_form(first)
        sent += save_recipients(form, [f"stranger{next(names)}@elsewhere.example" for _ in range(15)])
        assert erase_form(archive_form(form), by=None)
    assert (sent, MOST_FOR_AN_ORGANIZATION) == (50, 50)


@pytest.mark.django_db
def test_question__of_a_new_organization__counts_with_those_that_its_owner_has_deleted() -> None:
    owner, names, sent = User.objects.create_user("owner@example.com"), count(), 0
    for _ in range(4):
        organization = create_organization(name="Acme", owner=owner, number_taken_slugs=True)
        form = Form.objects.get(organization=organization)
        sent += save_recipients(form, [f"stranger{next(names)}@elsewhere.example" for _ in range(15)])
        end_organization(organization, by=owner)
    assert sent == 50
    assert save_recipients(make_form(), ["another@elsewhere.example"]) == 1


@pytest.mark.django_db
def test_question__to_a_mailbox_over_its_cap__holds_up_no_other_recipient() -> None:
    for _ in range(5):
        save_recipients(make_form(), [VICTIM])
    others = [f"stranger{number}@elsewhere.example" for number in range(5)]
    assert save_recipients(make_form(), [VICTIM, *others]) == 5


@pytest.mark.parametrize("of_another_organization", [True, False])
@pytest.mark.usefixtures("shared")
def test_questions__at_the_same_time__keep_to_the_cap_of_a_mailbox(
    monkeypatch: pytest.MonkeyPatch, *, of_another_organization: bool
) -> None:
    for _ in range(4):
        save_recipients(make_form(), [VICTIM])
    form = make_form()
    second = make_form() if of_another_organization else another_form(form)
    other = Meanwhile(lambda: save_recipients(second, [VICTIM]))

    def enqueue_next_to_another(*args: Any, **options: Any) -> Delivery:
        other.begin()
        return enqueue_mail(*args, **options)

    monkeypatch.setattr("webhooks.mails.recipients.enqueue_mail", enqueue_next_to_another)
    save_recipients(form, [VICTIM])
    other.end()
    assert asked() == 5


@pytest.mark.usefixtures("shared")
def test_questions__side_by_side__keep_to_the_50_of_an_organization() -> None:
    first, names = make_form(), count()
    forms = [another_form(first) for _ in range(4)]

    def save_one() -> int:
        return save_recipients(forms.pop(), [f"stranger{next(names)}@elsewhere.example" for _ in range(15)])

    assert sum(run_side_by_side(save_one, threads=4)) == 50


@pytest.mark.django_db
def test_clean_up__of_questions__deletes_those_that_no_cap_counts() -> None:
    save_recipients(make_form(), [VICTIM])
    clean_up()
    assert RecipientQuestion.objects.count() == 1
    RecipientQuestion.objects.update(asked_at=now() - DAY - dt.timedelta(seconds=1))
    clean_up()
    assert RecipientQuestion.objects.count() == 0
