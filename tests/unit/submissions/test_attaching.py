"""Files become those of a submission in its transaction, or nothing is stored."""

import itertools
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.http import HttpRequest

from config.api.errors import Conflict, NotFound, ValidationFailed
from config.base.times import now
from forms_app.models import Form
from submissions.files.removal import remove_files
from submissions.models import IdempotencyKey, StoredFile, Submission
from submissions.receiving.files import FilesOfPost
from submissions.receiving.gates import Candidate, accept
from submissions.receiving.insert import Hold, Stored, store
from submissions.receiving.key_and_form import Owner
from submissions.receiving.once import Once
from submissions.receiving.parse_body import NOTHING, Body, Post, take_in
from tests.unit.webhooks.rows import make_form
from tests.unit.webhooks.side_by_side import THREADS, run_side_by_side, shared_database

pytestmark = pytest.mark.django_db


def waiting(form: Form, **values: Any) -> StoredFile:
    known = {"name": "a.pdf", "size": 7, "content_type": "application/pdf", "sha256": "0" * 64, "field": "cv"}
    moments = {"stored_at": now(), "expires_at": now()}
    return StoredFile.objects.create(
        organization_id=form.organization_id, form_id=form.pk, **{**known, **moments, **values}
    )


def stored(form: Form, *files: StoredFile, **options: Any) -> Stored:
    return store(form, NOTHING, {}, files=files, **options)


@pytest.mark.parametrize("options", [{}, {"once": Once("k", "page", "a")}, {"hold": Hold("quota", most=5)}])
def test_files__of_a_submission__are_attached_with_their_size(options: dict[str, Any]) -> None:
    form = make_form()
    files = [waiting(form, name=name) for name in ("b.pdf", "a.pdf")]

    made = stored(form, *files, **options)

    assert Submission.objects.get(pk=made.id).files_size == 14
    rows = StoredFile.objects.filter(submission_id=made.id).order_by("place").values_list("name", "place", "expires_at")
    assert list(rows) == [("b.pdf", 0, None), ("a.pdf", 1, None)]


@pytest.mark.parametrize("options", [{}, {"once": Once("k", "page", "a")}, {"hold": Hold("quota", most=5)}])
@pytest.mark.parametrize(
    "meanwhile",
    [
        {"submission_id": uuid.uuid4(), "expires_at": None},
        {"removed_at": now()},
        {"stored_at": None},
        {"form_id": uuid.uuid4()},
        {"field": "other"},
    ],
)
def test_file__that_changed_since_it_was_looked_up__stores_nothing(
    meanwhile: dict[str, Any], options: dict[str, Any]
) -> None:
    form = make_form()
    fine, changed = waiting(form), waiting(form)
    StoredFile.objects.filter(pk=changed.pk).update(**meanwhile)

    with pytest.raises(ValidationFailed) as refused:
        stored(form, fine, changed, **options)

    assert [(detail.field, detail.code) for detail in refused.value.details] == [("cv", "invalid_upload")]
    assert (Submission.objects.count(), IdempotencyKey.objects.count()) == (0, 0)
    fine.refresh_from_db()
    assert (fine.submission_id, fine.place, fine.expires_at is None) == (None, 0, False)
    form.organization.refresh_from_db()
    assert form.organization.held_posts == 0


@pytest.mark.django_db(transaction=True)
def test_files__of_several_submissions_at_once__become_those_of_one(tmp_path: Path) -> None:
    with shared_database(tmp_path):
        form = make_form()
        for _ in range(5):
            files = [waiting(form) for _ in range(10)]
            turns = itertools.count()

            def send(files: list[StoredFile] = files, turns: "itertools.count[int]" = turns) -> str:
                try:
                    # Half of them name the files from the last to the first: in that order they would wait for each
                    # other, until the database ends one of the transactions.
                    stored(form, *(files if next(turns) % 2 else reversed(files)))
                except ValidationFailed as refused:
                    return refused.details[0].code
                return "stored"

            assert sorted(run_side_by_side(send)) == ["invalid_upload"] * (THREADS - 1) + ["stored"]
            assert len({row.submission_id for row in StoredFile.objects.filter(pk__in=[one.pk for one in files])}) == 1
        assert Submission.objects.count() == 5


def test_files__of_a_replay_or_a_conflict__are_not_attached() -> None:
    form = make_form()
    first, second, third = (waiting(form) for _ in range(3))
    made = stored(form, first, once=Once("k", "page", "a"))

    again = stored(form, second, once=Once("k", "page", "a"))
    with pytest.raises(Conflict):
        stored(form, third, once=Once("k", "page", "b"))

    assert (again.id, again.replayed) == (made.id, True)
    assert StoredFile.objects.exclude(submission_id=None).get() == first


def test_submission_without_files__is_one_statement(django_assert_num_queries: Any) -> None:
    form = make_form()

    with django_assert_num_queries(1):
        store(form, NOTHING, {})


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("has_files", [False, True])
@pytest.mark.parametrize("key", [None, "k"])
def test_submission__of_a_form_that_is_erased_meanwhile__is_not_found(key: str | None, has_files: bool) -> None:
    form = make_form()
    files = FilesOfPost([waiting(form)] if has_files else [], {})
    owner = Owner(form.organization, form, is_member=True)
    post = Post(HttpRequest(), intake=take_in({"a": "b"}), idempotency_key=key, body=Body({}, sha256="a"))
    candidate = Candidate(post, owner, files=files)
    Form.objects.filter(pk=form.pk).delete()

    with pytest.raises(NotFound):
        accept(candidate)

    assert (Submission.objects.count(), StoredFile.objects.exclude(submission_id=None).count()) == (0, 0)


def test_files_of_deleted_submissions__are_to_be_removed() -> None:
    form = make_form()
    gone, other = (stored(form, waiting(form)) for _ in range(2))

    remove_files(submission_id__in=[gone.id])

    removed = StoredFile.objects.filter(removed_at__isnull=False).values_list("submission_id", flat=True)
    assert list(removed) == [gone.id]
    assert StoredFile.objects.filter(submission_id=other.id, removed_at=None).exists()
