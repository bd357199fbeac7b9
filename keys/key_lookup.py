"""
The look-up of an access key and its organization: the first query of every request with a key.

Its text and the converters of its columns are made once. A queryset would build and compile the same query each time,
which took a quarter of such a request.
"""

import datetime as dt
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from django.db import connection, models

from keys.models import AccessKey, Organization

_MODELS: tuple[type[models.Model], ...] = (AccessKey, Organization)
_COLUMNS = ", ".join(
    f'{model._meta.db_table}."{field.column}"' for model in _MODELS for field in model._meta.concrete_fields
)
_SELECT = (
    f"SELECT {_COLUMNS} FROM {AccessKey._meta.db_table} "  # noqa: S608 - names from code
    f"JOIN {Organization._meta.db_table} ON {Organization._meta.db_table}.id = organization_id "
    "WHERE digest = %s AND revoked_at IS NULL AND (expires_on IS NULL OR expires_on >= %s)"
)
_OWNER = AccessKey._meta.get_field("organization")
_KEY_NAMES, _OWNER_NAMES = ([field.attname for field in model._meta.concrete_fields] for model in _MODELS)

Converters = Sequence[tuple[int, Any, Callable[[Any, Any, Any], Any]]]  # place, expression, function
_of_thread = threading.local()  # as connections are


def find_usable_key(digest: str) -> AccessKey | None:
    """Return the key with this digest and its organization, or None if it is unknown, revoked or expired."""
    today = connection.ops.adapt_datefield_value(dt.datetime.now(dt.UTC).date())
    with connection.cursor() as cursor:
        cursor.execute(_SELECT, [digest, today])
        row = cursor.fetchone()
    if row is None:
        return None
    values = list(row)
    for place, expression, convert in _converters():
        values[place] = convert(values[place], expression, connection)
    key = AccessKey.from_db(connection.alias, _KEY_NAMES, values[: len(_KEY_NAMES)])
    owner = Organization.from_db(connection.alias, _OWNER_NAMES, values[len(_KEY_NAMES) :])
    _OWNER.set_cached_value(key, owner)
    return key


def _converters() -> Converters:
    """Return what turns values of the driver into values of the fields, made once for each thread."""
    known: Converters | None = getattr(_of_thread, "converters", None)
    if known is None:
        known = _of_thread.converters = list(_converters_of_columns())
    return known


def _converters_of_columns() -> Iterator[tuple[int, Any, Callable[[Any, Any, Any], Any]]]:
    """Yield them as Django's compiler applies them: those of the database, then those of the field."""
    fields = [field for model in _MODELS for field in model._meta.concrete_fields]
    for place, field in enumerate(fields):
        column = field.get_col(field.model._meta.db_table)
        for convert in (*connection.ops.get_db_converters(column), *column.get_db_converters(connection)):
            yield place, column, convert
