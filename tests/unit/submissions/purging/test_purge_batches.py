"""Purges read by key and delete in bounded batches, each with its own commit."""

import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection

from config.base.times import now
from config.clean_up import delete_in_batches
from forms_app.models import Form
from keys.suspension import resume_organization, suspend_organization
from submissions.lifecycle import erasure, retention
from submissions.lifecycle.spam_marks import delete_submissions
from submissions.models import IdempotencyKey, Submission
from tests.support.rows import put, put_many
from tests.support.tenants import Tenant, make_tenant

pytestmark = pytest.mark.django_db(transaction=True)

ROWS = 5
LONG_AGO = dt.timedelta(days=100)


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


@contextmanager
def statements() -> Iterator[list[tuple[str, bool]]]:
    """Yield the statements of the block, each with whether a transaction was open."""
    seen: list[tuple[str, bool]] = []

    def note(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        seen.append((sql, connection.in_atomic_block))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield seen


def reads_of(seen: list[tuple[str, bool]], table: str) -> list[str]:
    """Return the statements outside transactions that read keys of a table."""
    return [sql for sql, is_inside in seen if sql.startswith("SELECT") and f'FROM "{table}"' in sql and not is_inside]


def test_retention__of_five_rows_two_at_a_time__reads_each_batch_behind_the_last(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "ROWS_A_BATCH", 2)
    form_id = tenant.form(retention_days=30)
    for number in range(ROWS):
        put(tenant, form_id, {"n": str(number)}, now() - LONG_AGO + dt.timedelta(hours=number))
    kept = put(tenant, form_id, {"n": "new"})
    with statements() as seen:
        assert retention.purge_submissions() == ROWS
    reads = reads_of(seen, "submissions_submission")
    assert len(reads) == 4  # 2, 2, 1, and none
    assert all("LIMIT 2" in sql and "OFFSET" not in sql for sql in reads)
    assert ['"id" >= ' in sql for sql in reads] == [False, True, True, True]
    assert sum(sql.startswith('DELETE FROM "submissions_submission"') for sql, _ in seen) == 3
    assert [row.public_id for row in Submission.objects.all()] == [kept]


def test_erasing__of_five_rows_two_at_a_time__finds_rows_behind_its_key_too(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that began before the form was archived may store one with an older id."""
    monkeypatch.setattr(erasure, "ROWS_A_BATCH", 2)
    form_id = tenant.form()
    for number in range(ROWS):
        put(tenant, form_id, {"n": str(number)}, now() - LONG_AGO + dt.timedelta(hours=number))
    form = Form.objects.get(organization=tenant.organization, is_default=False)
    deleted: list[int] = []

    def delete(ids: list[Any]) -> int:
        if not deleted:
            put(tenant, form_id, {"n": "late"}, now() - 2 * LONG_AGO)
        deleted.append(len(ids))
        return original(ids)

    original = delete_submissions
    monkeypatch.setattr(erasure, "delete_submissions", delete)
    with statements() as seen:
        erasure.finish_erasing(form)
    assert deleted == [2, 2, 1, 1]
    reads = reads_of(seen, "submissions_submission")
    assert sum('"id" > ' in sql for sql in reads) == 4
    assert not Submission.objects.exists()


def test_idempotency_keys__outdated_ones__go_in_batches_with_a_commit_each(tenant: Tenant) -> None:
    form = Form.objects.get(organization=tenant.organization)
    moment = now()
    IdempotencyKey.objects.bulk_create(
        IdempotencyKey(
            form=form,
            key=str(number),
            body_sha256="",
            submission_id=form.pk,
            message="",
            created_at=moment - (LONG_AGO if number < ROWS else dt.timedelta()),
        )
        for number in range(ROWS + 1)
    )
    outdated = IdempotencyKey.objects.filter(created_at__lt=moment - dt.timedelta(days=8))
    with statements() as seen:
        assert delete_in_batches(outdated, by="created_at", rows=2) == ROWS
    reads = reads_of(seen, "submissions_idempotencykey")
    assert all("LIMIT 2" in sql for sql in reads)
    assert ['"created_at" >= ' in sql for sql in reads] == [False, True, True, True]  # behind the last batch
    words = [sql.split()[0] for sql, _ in seen if sql in reads or sql.startswith("DELETE")]
    assert words == ["SELECT", "DELETE"] * 3 + ["SELECT"]  # the reads are in no transaction: each delete has its own
    assert [one.key for one in IdempotencyKey.objects.all()] == [str(ROWS)]


def test_retention__of_a_suspended_organization__deletes_nothing_until_it_is_resumed(tenant: Tenant) -> None:
    form_id = tenant.form(retention_days=30)
    old = put(tenant, form_id, {"n": "old"}, now() - LONG_AGO)
    suspend_organization(tenant.organization, by=None)
    assert retention.purge_submissions() == 0
    assert [row.public_id for row in Submission.objects.all()] == [old]
    resume_organization(tenant.organization, by=None)
    assert retention.purge_submissions() == 1
    assert not Submission.objects.exists()


def test_retention__while_the_organization_is_suspended__ends_with_the_present_batch(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "ROWS_A_BATCH", 2)
    form_id = tenant.form(retention_days=30)
    put_many(tenant, form_id, [{"n": "old"}] * ROWS, now() - LONG_AGO)

    def delete(ids: list[Any]) -> int:
        suspend_organization(tenant.organization, by=None)
        return delete_submissions(ids)

    monkeypatch.setattr(retention, "delete_submissions", delete)
    assert retention.purge_submissions() == 2
    assert Submission.objects.count() == ROWS - 2
