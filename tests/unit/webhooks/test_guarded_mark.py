"""
The crash test can fail: with the row's mark outside dispatch's transaction, a kill loses deliveries (docs/adr/0002).

The same kill at the same point, once with dispatch as it is and once with the mark committed first.
"""

import pytest
from django.db import transaction
from django.db.models.functions import Now

from submissions.counts.stored_bytes import with_size
from submissions.models import Submission
from tests.unit.webhooks.dispatching import dispatch_all
from tests.unit.webhooks.rows import make_form, make_submission, make_webhook
from webhooks.models import Delivery
from webhooks.outbox import dispatch

pytestmark = pytest.mark.django_db(transaction=True)
ROWS = 5


class Killed(BaseException):
    """Ends a transaction as SIGKILL does: nothing catches it."""


def dispatch_batch_marking_first() -> int:
    """Do what `dispatch_batch` does, but commit the mark before the deliveries: the mistake to be shown."""
    rows = list(with_size(Submission.objects.undispatched()).order_by("id")[: dispatch.ROWS_A_BATCH])
    ids = [row.pk for row in rows]
    Submission.objects.filter(pk__in=ids).update(dispatched_at=Now(), counted_as=dispatch.KEPT)
    with transaction.atomic():
        dispatch.make_deliveries(rows)
        dispatch.count_rows(rows)
    return len(rows)


def lost_by_a_kill(monkeypatch: pytest.MonkeyPatch) -> int:
    """Kill a dispatch half-way, start another, and return the number of submissions without a delivery."""
    form = make_form()
    make_webhook(form)
    for _ in range(ROWS):
        make_submission(form)

    def die(*_arguments: object, **_options: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(dispatch, "insert_deliveries", die)
        with pytest.raises(Killed):
            dispatch_all()
    dispatch_all()
    return ROWS - Delivery.objects.filter(submission__form=form).count()


def test_kill__during_dispatch__loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lost_by_a_kill(monkeypatch) == 0


def test_kill__with_the_mark_outside_the_transaction__loses_deliveries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "dispatch_batch", dispatch_batch_marking_first)
    assert lost_by_a_kill(monkeypatch) == ROWS


def test_marking_first__without_a_kill__works_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that it is the kill that shows the difference, and nothing else that the stand-in does."""
    monkeypatch.setattr(dispatch, "dispatch_batch", dispatch_batch_marking_first)
    form = make_form()
    make_webhook(form)
    make_submission(form)
    assert dispatch_all() == Delivery.objects.count() == 1
