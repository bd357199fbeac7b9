"""The reader of the live stream: little memory for large submissions, and nothing read twice."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from config.base.ids import first_id_of
from config.base.times import now
from forms_app.models import Form
from submissions.live.reader import Message, Reader
from submissions.models import Submission
from tests.support.rows import put, put_many
from tests.support.tenants import Tenant, make_tenant

pytestmark = pytest.mark.django_db(transaction=True)
LARGE = {f"f{number}": "x" * 60_000 for number in range(4)}  # a submission of 240 kB
START = first_id_of(now())


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def read(tenant: Tenant, by: Reader) -> list[Message]:
    return by.read([tenant.organization.pk], START)


def statements(act: Callable[[], object]) -> int:
    seen: list[str] = []

    def note(execute: Any, sql: str, *rest: Any) -> Any:
        seen.append(sql)
        return execute(sql, *rest)

    with connection.execute_wrapper(note):
        act()
    return len(seen)


def test_read__of_many_large_submissions__has_few_of_them_in_memory(tenant: Tenant) -> None:
    for _ in range(5):
        put_many(tenant, tenant.default_form_id, [LARGE] * 20)
    tracemalloc.start()
    try:
        messages = read(tenant, Reader())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(messages) == 100
    assert sum(len(message[3]) for message in messages) < 200_000
    assert peak < 8 * 2**20  # of 24,000,000 characters


def test_read__of_rows_that_the_last_read_has_seen__asks_for_the_new_ones_only(tenant: Tenant) -> None:
    by = Reader()
    put_many(tenant, tenant.default_form_id, [{"n": str(number)} for number in range(3)])
    assert statements(lambda: read(tenant, by)) == 2
    first = read(tenant, by)
    assert statements(lambda: read(tenant, by)) == 1
    added = put(tenant, tenant.default_form_id, {"n": "4"})
    messages = read(tenant, by)
    assert (messages[:3], added in messages[3][3].decode()) == (first, True)


def test_read__of_a_row_that_was_deleted_or_changed__is_as_the_row_is_now(tenant: Tenant) -> None:
    by = Reader()
    put_many(tenant, tenant.default_form_id, [{"n": "1"}, {"n": "2"}])
    (gone, *_), (kept, *_) = read(tenant, by)
    Submission.objects.filter(pk=gone).delete()
    Form.objects.filter(organization=tenant.organization).update(name="Renamed")
    Submission.objects.filter(pk=kept).update(held=Submission.Held.QUOTA)
    [(pk, _, _, text)] = read(tenant, by)
    assert (pk, b'"formName":"Renamed"' in text, b'"held":"quota"' in text) == (kept, True, True)


def test_read__of_a_row_that_goes_while_it_is_read__leaves_it_out(tenant: Tenant) -> None:
    put_many(tenant, tenant.default_form_id, [{"n": "1"}])

    def delete_behind_the_first(execute: Any, sql: str, *rest: Any) -> Any:
        found = execute(sql, *rest)
        if '"form"' in sql or "JOIN" in sql:
            Submission.objects.all().delete()
        return found

    with connection.execute_wrapper(delete_behind_the_first):
        assert read(tenant, Reader()) == []
