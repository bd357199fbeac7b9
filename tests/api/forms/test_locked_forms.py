"""Changes of a form while others lock its organization, over PostgreSQL, whose locks are of rows."""

import os
import secrets
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction

from config.base.ids import Prefix, decode_id
from forms_app.actions import change_form, create_form
from forms_app.models import Form
from keys.models import Organization
from tests.api.forms.documents import put
from tests.services.client import Client
from tests.services.environment import BACKEND_VARIABLE, POSTGRESQL
from tests.services.waiting import eventually
from tests.support.browser import person_of
from tests.support.replies import UNAUTHORIZED, failure
from tests.support.tenants import make_tenant

__test__ = os.environ[BACKEND_VARIABLE] == POSTGRESQL


def is_waited_for() -> bool:
    """Return whether another connection waits for a lock of this one."""
    with connection.cursor() as cursor:
        # Not pg_stat_activity, of which a transaction sees what it saw first.
        cursor.execute("SELECT 1 FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))")
        return cursor.fetchone() is not None


def test_archive__while_rows_of_the_form_are_added__waits_without_a_deadlock(api: Client) -> None:
    tenant = make_tenant()
    form = tenant.form()
    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            Organization.objects.select_for_update(no_key=True).get(pk=tenant.organization.pk)
            archived = threads.submit(api.delete, f"/api/forms/{form}", tenant.key)
            eventually(is_waited_for, because="the request waits for the organization")
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL lock_timeout = '5s'")
                # As a new row of a form does.
                rows = f"SELECT 1 FROM {Form._meta.db_table} WHERE organization_id = %s FOR KEY SHARE"
                cursor.execute(rows, [tenant.organization.pk])
        assert archived.result().status == 200


def row(form: str) -> Form:
    return Form.objects.get(pk=decode_id(Prefix.FORM, form))


def unused() -> str:
    return f"at-{secrets.token_hex(6)}"


@pytest.mark.parametrize("is_new", [False, True], ids=["a form", "a new form"])
@pytest.mark.parametrize("name", ["key", "address"])
def test_name_of_a_form__that_is_about_to_give_it_up__is_taken_without_waiting(
    name: str, is_new: bool, api: Client
) -> None:
    """Two forms that change places would wait for each other, and a new one holds its organization meanwhile."""
    tenant = make_tenant()
    given_up: Any = {name: unused()}
    other: Any = {name: unused()}
    giver, taker = tenant.form(**given_up), tenant.form()
    with transaction.atomic():
        change_form(row(giver), **other)
        if is_new:
            answer = api.post("/api/forms", tenant.key, json={"name": "New", **given_up})
        else:
            answer = api.patch(f"/api/forms/{taker}", tenant.key, json=given_up)
    assert (answer.status, answer.json()["error"]) == (409, "conflict")


@pytest.mark.parametrize("is_kept", [True, False], ids=["committed", "rolled back"])
@pytest.mark.parametrize("name", ["key", "address"])
def test_name_that_another_form_is_taking__waits_for_what_becomes_of_it(name: str, is_kept: bool, api: Client) -> None:
    tenant, wanted = make_tenant(), unused()
    values: Any = {name: wanted}
    first, second = tenant.form(), tenant.form()
    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            change_form(row(first), **values)
            asked = threads.submit(api.patch, f"/api/forms/{second}", tenant.key, json=values)
            eventually(is_waited_for, because="the request waits for the other form")
            transaction.set_rollback(not is_kept)
        answer = asked.result()
    assert answer.status == (409 if is_kept else 200)
    assert [getattr(row(form), name) == wanted for form in (first, second)] == [is_kept, not is_kept]


@pytest.mark.parametrize(("header", "status"), [({}, 200), ({"If_None_Match": "*"}, 412)])
def test_put__of_a_key_that_another_request_is_making__changes_that_form(
    header: dict[str, str], status: int, api: Client
) -> None:
    tenant = make_tenant()
    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            create_form(organization=tenant.organization, name="First", key="orders")
            asked = threads.submit(put, api, tenant, {"name": "Second"}, **header)
            eventually(is_waited_for, because="the request waits for the new form")
        answer = asked.result()
    made = Form.objects.get(organization=tenant.organization, key="orders")
    assert (answer.status, made.name) == (status, "Second" if status == 200 else "First")


def test_recipients__removed_while_a_patch_waits__do_not_come_back_without_the_permission(api: Client) -> None:
    tenant = make_tenant()
    owner, writer = person_of(tenant).email, tenant.issue("forms:write")
    form = tenant.form(notification_recipients=[owner])
    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            change_form(row(form), notification_recipients=[])
            asked = threads.submit(api.patch, f"/api/forms/{form}", writer, json={"recipients": [{"email": owner}]})
            eventually(is_waited_for, because="the request waits for the other change")
        answer = asked.result()
    assert (answer.status, answer.json()) == (403, UNAUTHORIZED)
    assert row(form).notification_recipients == []


def test_if_match__of_a_form_that_another_request_is_changing__is_412(api: Client) -> None:
    tenant = make_tenant()
    made = put(api, tenant, {"name": "Orders"})
    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            change_form(row(made.json()["data"]["id"]), name="Changed")
            asked = threads.submit(put, api, tenant, {"name": "Mine"}, If_Match=made.headers["ETag"])
            eventually(is_waited_for, because="the request waits for the other change")
        answer = asked.result()
    assert (answer.status, answer.json()) == (412, failure("precondition_failed"))
    assert row(made.json()["data"]["id"]).name == "Changed"
