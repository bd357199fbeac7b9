"""Bulk marking and deleting: all or nothing, within one organization, with the tallies in step."""

import uuid
from pathlib import Path
from typing import Any

import pytest

from config.base.ids import new_id
from config.base.times import now
from forms_app.models import Form
from submissions.lifecycle import spam_marks
from submissions.lifecycle.spam_marks import delete_many, mark_many
from submissions.models import Submission, Tally
from tests.unit.webhooks.dispatching import dispatch_all
from tests.unit.webhooks.rows import make_form, make_submission
from tests.unit.webhooks.side_by_side import run_side_by_side, shared_database

COUNTS = ("received", "kept", "spam")


def counts(form: Form) -> tuple[int, ...]:
    """Return what the tallies say of a form: received, kept, spam."""
    rows = list(Tally.objects.filter(form=form).values_list(*COUNTS))
    return tuple(sum(column) for column in zip(*rows, strict=True)) if rows else (0, 0, 0)


def put(form: Form, count: int, **values: Any) -> list[uuid.UUID]:
    return [make_submission(form, **values).pk for _ in range(count)]


def spam_of(ids: list[uuid.UUID]) -> list[bool]:
    return list(Submission.objects.filter(pk__in=ids).order_by("pk").values_list("spam", flat=True))


@pytest.mark.django_db
def test_mark_many__counted_rows__move_to_spam_and_are_not_owed_anything() -> None:
    form = make_form()
    ids = put(form, 3)
    dispatch_all()

    assert mark_many(ids[:2], organization_id=form.organization_id, spam=True) == 2
    assert spam_of(ids) == [True, True, False]
    assert counts(form) == (3, 1, 2)
    assert not Submission.objects.undispatched().exists()
    assert Submission.objects.get(pk=ids[0]).spam_reasons == [spam_marks.MARKED_BY_HAND]


@pytest.mark.django_db
def test_mark_many__not_spam__owes_their_consequences_from_now_on() -> None:
    form = make_form()
    ids = put(form, 3, spam=True, spam_reasons=["honeypot"])
    dispatch_all()
    before = now()

    assert mark_many(ids[:2], organization_id=form.organization_id, spam=False) == 2
    assert counts(form) == (3, 2, 1)
    released = Submission.objects.undispatched().order_by("pk")
    assert [row.pk for row in released] == ids[:2]
    assert all(row.spam_reasons == [] and row.released_at and row.released_at >= before for row in released)
    assert dispatch_all() == 2
    assert counts(form) == (3, 2, 1)


@pytest.mark.django_db
@pytest.mark.parametrize("spam", [True, False])
def test_mark_many__rows_that_are_so_already__stay_as_they_are(spam: bool) -> None:
    form = make_form()
    ids = put(form, 1, spam=spam, spam_reasons=["honeypot"] if spam else []) + put(form, 1, spam=not spam)
    dispatch_all()
    before = Submission.objects.values().get(pk=ids[0])

    assert mark_many([*ids, ids[1]], organization_id=form.organization_id, spam=spam) == 1
    assert mark_many(ids, organization_id=form.organization_id, spam=spam) == 0
    assert Submission.objects.values().get(pk=ids[0]) == before


@pytest.mark.django_db
def test_mark_many__rows_not_counted_yet__are_counted_once_as_what_they_became() -> None:
    form = make_form()
    ids = put(form, 2)

    assert mark_many(ids[:1], organization_id=form.organization_id, spam=True) == 1
    assert counts(form) == (0, 0, 0)
    dispatch_all()
    assert counts(form) == (2, 1, 1)


@pytest.mark.django_db
def test_many__ids_of_others_and_of_nobody__are_left_alone() -> None:
    form, foreign = make_form(), make_form()
    own, others = put(form, 1), put(foreign, 2)
    dispatch_all()
    ids = [*own, *others, new_id()]

    assert mark_many(ids, organization_id=form.organization_id, spam=True) == 1
    assert spam_of(others) == [False, False]
    assert delete_many(ids, organization_id=form.organization_id) == 1
    assert Submission.objects.filter(pk__in=ids).count() == 2
    assert (counts(form), counts(foreign)) == ((1, 0, 0), (2, 2, 0))
    assert mark_many([], organization_id=form.organization_id, spam=True) == 0
    assert delete_many([], organization_id=form.organization_id) == 0


@pytest.mark.django_db
def test_delete_many__counted_and_not__take_away_what_was_stored_but_not_what_was_received() -> None:
    form = make_form()
    counted = put(form, 2) + put(form, 1, spam=True)
    dispatch_all()
    waiting = put(form, 1)

    assert delete_many([*counted[1:], *waiting], organization_id=form.organization_id) == 3
    assert list(Submission.objects.values_list("pk", flat=True)) == counted[:1]
    assert counts(form) == (4, 1, 0)


@pytest.mark.django_db
def test_mark_many__failing_after_the_tallies_moved__changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    form = make_form()
    ids = put(form, 2)
    dispatch_all()
    monkeypatch.setattr(Submission.objects, "bulk_update", lambda *given: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        mark_many(ids, organization_id=form.organization_id, spam=True)
    assert (spam_of(ids), counts(form)) == ([False, False], (2, 2, 0))


@pytest.mark.django_db
def test_delete_many__failing_after_the_rows_went__changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    form = make_form()
    ids = put(form, 2)
    dispatch_all()
    monkeypatch.setattr(spam_marks, "apply_moves", lambda moves: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        delete_many(ids, organization_id=form.organization_id)
    assert (spam_of(ids), counts(form)) == ([False, False], (2, 2, 0))


@pytest.mark.django_db
@pytest.mark.slow
def test_mark_many__a_thousand__in_one_go() -> None:
    form = make_form()
    row = make_submission(form)
    copies = [Submission(**{**Submission.objects.values().get(pk=row.pk), "id": new_id()}) for _ in range(999)]
    ids = [row.pk, *(copy.pk for copy in Submission.objects.bulk_create(copies))]
    dispatch_all()

    assert mark_many(ids, organization_id=form.organization_id, spam=True) == 1000
    assert counts(form) == (1000, 0, 1000)
    assert delete_many(ids, organization_id=form.organization_id) == 1000
    assert counts(form) == (1000, 0, 0)


@pytest.mark.django_db(transaction=True)
def test_many__the_same_rows_from_all_sides__count_each_change_once(tmp_path: Path) -> None:
    with shared_database(tmp_path):
        form = make_form()
        ids = put(form, 20)
        dispatch_all()
        turns = iter([ids, ids[::-1]] * 4)  # opposite orders would deadlock

        def toggle() -> int:
            mine, own = next(turns), {"organization_id": form.organization_id}
            return sum(mark_many(mine, spam=spam, **own) for spam in (True, False, True)) + delete_many(mine[:5], **own)

        changed = run_side_by_side(toggle)

        left = Submission.objects.count()
        assert 10 <= left <= 15
        assert counts(form) == (20, 0, left)
        assert sum(changed) >= 20
