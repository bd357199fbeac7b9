"""Mails to submitters: the caps hold for deciders side by side, at every age, and for rows that go away."""

import datetime as dt
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from config.base.times import now
from forms_app.models import Form, OptOut
from submissions.confirmations import want_mails
from submissions.lifecycle.spam_marks import delete_submissions
from submissions.models import Consent, Submission, SubmitterMail
from tests.unit.webhooks.rows import make_form, make_submission
from tests.unit.webhooks.side_by_side import run_side_by_side, shared_database
from webhooks.mails.submitters import PER_FORM, confirmed_address, decide_some, undecided_mails
from webhooks.models import Delivery, Message
from webhooks.outbox.loop import Deliverer
from webhooks.retention import purge_submitter_mails

FIELDS = [{"name": "email", "label": "Email", "type": "Email", "required": False}]
REPLY = {"enabled": True, "subject": "Thanks", "text": "We answer soon."}
PASSED = {Submission.HUMAN: "passed"}
Kind = SubmitterMail.Kind


@pytest.fixture
def shared(transactional_db: None, tmp_path: Path) -> Iterator[None]:  # noqa: ARG001  # open before it is copied
    with shared_database(tmp_path):
        yield


def answering(**values: Any) -> Form:
    return make_form(fields=FIELDS, reply=REPLY, spam_protection={"proof_of_work": True}, **values)


def ask(form: Form, address: str = "ada@example.net", **values: Any) -> Submission:
    """Store a submission that wants a reply."""
    row = make_submission(form, data={"email": address}, **{"controls": PASSED, **values})
    Submission.objects.filter(pk=row.pk).update(counted_as="kept", dispatched_at=now())
    with transaction.atomic():
        want_mails([row], Kind.REPLY)
    return row


def decide_all() -> None:
    while decide_some(undecided_mails().order_by("pk")):
        pass


def refusals() -> list[str]:
    return sorted(SubmitterMail.objects.values_list("refusal", flat=True))


@pytest.mark.usefixtures("shared")
def test_deciders__side_by_side__send_one_mail_of_a_form_to_an_address() -> None:
    form = answering()
    for _ in range(6):
        ask(form)
    ids = list(SubmitterMail.objects.order_by("pk").values_list("pk", flat=True))

    def decide_one() -> None:
        decide_some(SubmitterMail.objects.filter(pk=ids.pop(), decided_at=None))

    run_side_by_side(decide_one, threads=6)

    assert refusals() == ["", *["form_address"] * 5]
    assert Delivery.objects.count() == 1


@pytest.mark.usefixtures("shared")
def test_deciders__side_by_side__keep_to_the_hour_of_a_form() -> None:
    form = answering()
    for number in range(PER_FORM + 4):
        ask(form, f"ada{number}@example.net")
    ids = list(SubmitterMail.objects.order_by("pk").values_list("pk", flat=True))

    def decide_six() -> None:
        for _ in range(6):
            decide_some(SubmitterMail.objects.filter(pk=ids.pop(), decided_at=None))

    run_side_by_side(decide_six, threads=4)

    assert refusals() == [*[""] * PER_FORM, *["form"] * 4]


@pytest.mark.django_db
def test_caps__end_after_their_time() -> None:
    form = answering()
    ask(form)
    decide_all()
    SubmitterMail.objects.update(decided_at=now() - dt.timedelta(hours=23, minutes=59))
    ask(form)
    decide_all()
    assert refusals() == ["", "form_address"]
    SubmitterMail.objects.update(decided_at=now() - dt.timedelta(hours=24, minutes=1))
    ask(form)
    decide_all()
    assert refusals() == ["", "", "form_address"]


@pytest.mark.django_db
def test_deleted_submission__makes_no_room_under_the_caps__and_its_mail_is_gone() -> None:
    form = answering()
    first, waiting = ask(form), ask(form, "eve@example.net")
    decide_some(undecided_mails().filter(submission=first.pk))
    assert (Delivery.objects.count(), Message.objects.exclude(secret="").count()) == (1, 1)

    delete_submissions([first.pk, waiting.pk])
    ask(form, "ada+again@example.net")
    decide_all()

    assert (Delivery.objects.count(), Message.objects.count()) == (0, 0)
    assert refusals() == ["", "form_address"]


@pytest.mark.django_db
def test_mailbox__is_stored_as_a_keyed_hash() -> None:
    ask(answering())
    decide_all()
    mailbox = SubmitterMail.objects.get().mailbox
    assert re.fullmatch("[0-9a-f]{64}", mailbox)
    assert mailbox != hashlib.sha256(b"ada@example.net").hexdigest()


@pytest.mark.django_db
def test_opt_out__after_the_mail_was_queued__cancels_it() -> None:
    form = answering()
    ask(form)
    decide_all()
    OptOut.objects.create(organization=form.organization, email="ada@example.net")

    Deliverer().run(until_idle=True)

    assert Delivery.objects.get().status == "canceled"


@pytest.mark.django_db
def test_confirmed_address__is_good_for_no_other_one_of_the_submission() -> None:
    row = ask(answering())
    Consent.objects.create(submission=row, email="ada@example.net")
    assert confirmed_address(row, "ada@example.net") == ""
    Consent.objects.update(confirmed_at=now())

    assert confirmed_address(row, "ada@example.net") == "ada@example.net"
    assert confirmed_address(row, "eve@example.net") == ""  # now the form's first Email field has this one


@pytest.mark.django_db
def test_reply__wanted_twice__is_decided_once() -> None:
    row = ask(answering())
    with transaction.atomic():
        want_mails([row], Kind.REPLY)
    assert SubmitterMail.objects.count() == 1


@pytest.mark.django_db
def test_decisions__after_30_days__are_deleted() -> None:
    form = answering()
    ask(form)
    ask(form, "eve@example.net")
    decide_all()
    first = SubmitterMail.objects.order_by("pk")[0]
    past = now() - dt.timedelta(days=31)
    SubmitterMail.objects.update(created_at=past)
    SubmitterMail.objects.filter(pk=first.pk).update(decided_at=past)

    assert purge_submitter_mails() == 1
    assert not SubmitterMail.objects.filter(pk=first.pk).exists()
    assert SubmitterMail.objects.count() == 1
