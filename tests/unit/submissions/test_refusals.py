"""Refusals between memory and their rows: bounded, never raising, added up (`submissions.refusals.recorder`)."""

import dataclasses
import datetime as dt
import logging
import os
import secrets
import uuid
from typing import Any

import pytest
from django.db import OperationalError
from django.test import RequestFactory

from config.api.errors import EmptySubmission
from config.base.times import now
from forms_app.models import Form
from forms_app.sign_up import create_organization
from keys.models import Organization, User
from submissions.models import Refusal
from submissions.refusals import recorder as refusals
from submissions.refusals.recorder import MOST_WAITING, Waiting, note_refusal
from submissions.refusals.store import MOST_AN_HOUR, Refused, Times, write_refusals

MOMENT = now()
NOBODY = Refused(organization_id=None, form_id=None, key_id=None, digest="", code="conflict")


def organization() -> Organization:
    owner = User.objects.create_user(f"{secrets.token_hex(8)}@example.com")
    return create_organization(name=f"Test {secrets.token_hex(6)}", owner=owner)


def kinds(owner: Organization, wanted: int, *, first: int = 0) -> dict[Refused, Times]:
    """Return as many refusals, each of another origin."""
    base = dataclasses.replace(NOBODY, organization_id=owner.pk, code="origin_not_allowed")
    numbers = range(first, first + wanted)
    return {dataclasses.replace(base, origin=f"https://{n}.example"): Times(1, MOMENT, MOMENT) for n in numbers}


def rows(owner: Organization) -> list[tuple[str, str, int]]:
    found = Refusal.objects.filter(organization=owner)
    return sorted(found.values_list("origin", "detail_code", "count"))


def test_waiting__beyond_its_bound__drops_new_kinds_and_says_how_many(caplog: pytest.LogCaptureFixture) -> None:
    waiting = Waiting()
    for number in range(MOST_WAITING + 3):
        waiting.add(dataclasses.replace(NOBODY, origin=str(number)))
    waiting.add(dataclasses.replace(NOBODY, origin="0"))

    taken = waiting.take()

    assert (len(taken), sum(times.count for times in taken.values())) == (MOST_WAITING, MOST_WAITING + 1)
    assert [record.getMessage() for record in caplog.records] == [
        "3 refused submissions were not recorded: too many kinds at the same time"
    ]
    assert waiting.take() == {}
    assert len(caplog.records) == 1


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # the child does next to nothing
def test_waiting__in_a_forked_process__is_empty_and_can_be_used() -> None:
    """The parent writes its own buffer, and a lock that was held at the fork would never open."""
    waiting = refusals.waiting
    waiting.take()  # refusals of the tests before, which no thread writes here
    waiting.add(NOBODY)
    with waiting.lock:
        pid = os.fork()
        if pid == 0:
            fine = not waiting.lock.locked() and waiting.take() == {} and not waiting.is_writing
            os._exit(0 if fine else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert [(refused, times.count) for refused, times in waiting.take().items()] == [(NOBODY, 1)]


@pytest.mark.django_db
def test_write__database_away__is_logged_and_costs_that_much(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_found: Any) -> None:
        raise OperationalError("away\nDETAIL:  Failing row contains (secret).")

    owner, waiting = organization(), Waiting()
    first, second = kinds(owner, 2)
    waiting.add(first)
    with monkeypatch.context() as patch:
        patch.setattr(refusals, "write_refusals", fail)
        waiting.write()
    waiting.add(second)
    waiting.write()

    assert ("away" in caplog.text, "secret" in caplog.text) == (True, False)
    assert rows(owner) == [(second.origin, "", 1)]


def test_note__whatever_goes_wrong__never_raises(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Even where the machine gives no more threads."""

    def fail(_waiting: Waiting) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Waiting, "start_writer", fail)
    request = RequestFactory().post("/api/submit")

    note_refusal(request, EmptySubmission(), organization_id=uuid.uuid4(), form_id=None)

    assert refusals.waiting.take() != {}
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


@pytest.mark.django_db
def test_write__flood_at_once__is_five_hundred_rows_and_one_for_the_rest() -> None:
    owner, neighbour = organization(), organization()

    write_refusals(kinds(owner, 900) | kinds(neighbour, 3))
    write_refusals(kinds(owner, 100, first=2_000))

    assert len(rows(owner)) == MOST_AN_HOUR + 1
    assert rows(owner)[0] == ("", "many", 900 - MOST_AN_HOUR + 100)
    assert len(rows(neighbour)) == 3


@pytest.mark.django_db
def test_write__kinds_that_stand_there__are_counted_on_after_a_flood() -> None:
    owner = organization()
    write_refusals(kinds(owner, MOST_AN_HOUR + 1))

    write_refusals(kinds(owner, 2))

    told = {origin: count for origin, _, count in rows(owner)}
    assert (told["https://0.example"], told["https://1.example"], told[""]) == (2, 2, 1)


@pytest.mark.django_db
def test_write__kinds_that_turn_out_alike__are_one_row() -> None:
    """Unknown keys differ until it is known that nobody has them."""
    owner = organization()
    later = MOMENT + dt.timedelta(seconds=1)
    form_id = Form.objects.get(organization=owner).pk
    one, other = (dataclasses.replace(NOBODY, form_id=form_id, digest=letter * 64) for letter in "de")

    write_refusals({one: Times(2, later, later), other: Times(3, MOMENT, MOMENT)})

    [row] = Refusal.objects.filter(organization=owner)
    assert (row.form_id, row.count, row.first_at, row.last_at) == (form_id, 5, MOMENT, later)


@pytest.mark.django_db
def test_write__what_is_nobodys__is_dropped() -> None:
    before = Refusal.objects.count()

    write_refusals({dataclasses.replace(NOBODY, digest="d" * 64, form_id=uuid.uuid4()): Times(1, MOMENT, MOMENT)})

    assert Refusal.objects.count() == before
