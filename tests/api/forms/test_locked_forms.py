"""Changes of a form while others lock its organization, over PostgreSQL, whose locks are of rows."""

import os
from concurrent.futures import ThreadPoolExecutor

from django.db import connection, transaction

from forms_app.models import Form
from keys.models import Organization
from tests.services.client import Client
from tests.services.environment import BACKEND_VARIABLE, POSTGRESQL
from tests.services.waiting import eventually
from tests.support.tenants import make_tenant

__test__ = os.environ[BACKEND_VARIABLE] == POSTGRESQL


def is_waited_for() -> bool:
    """Return whether another connection waits for a lock of this one."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_stat_activity WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))")
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
