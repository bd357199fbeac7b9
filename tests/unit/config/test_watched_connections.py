"""A refusal by PostgreSQL itself, and one by the system: only the second means that it cannot be reached."""

import os

import psycopg
import pytest
from django.db import connection

from config.postgresql.watched import has_spoken
from tests.services.environment import BACKEND_VARIABLE, POSTGRESQL
from tests.services.processes import free_port

__test__ = os.environ[BACKEND_VARIABLE] == POSTGRESQL

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("changed", "spoken"),
    [({"dbname": "of_nobody"}, True), ({"user": "nobody"}, True), ({"port": "", "host": "127.0.0.1"}, False)],
)
def test_refusal__by_the_server_or_by_the_system__is_told_apart(changed: dict[str, str], spoken: bool) -> None:
    if "port" in changed:
        changed = {**changed, "port": str(free_port())}
    given = connection.get_connection_params()
    parameters = {name: given[name] for name in ("dbname", "user", "password", "host", "port") if name in given}
    with pytest.raises(psycopg.OperationalError) as refused:
        psycopg.connect(**{**parameters, **changed})
    assert has_spoken(refused.value) is spoken
