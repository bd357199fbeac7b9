"""
Inserting the deliveries of a dispatch by one statement, with the rows as one JSON text.

Django's `bulk_create` prepares each value of each column apart, which takes most of the time of a dispatch: 20,000
values for 200 submissions with three webhooks each.
"""

import datetime as dt
import json
import uuid
from collections.abc import Sequence

from django.db import connection

from config.database import database_id
from webhooks.models import Delivery

_TABLE = Delivery._meta.db_table
# Columns of the rows, and their types in PostgreSQL; the others have a default, or follow from the status.
_TYPES = {
    "id": "uuid",
    "organization_id": "uuid",
    "message_id": "uuid",
    "submission_id": "uuid",
    "webhook_id": "uuid",
    "event": "text",
    "channel": "text",
    "target": "text",
    "host": "text",
    "priority": "smallint",
    "status": "text",
}
_INTO = (
    f"INSERT INTO {_TABLE} ({', '.join(_TYPES)}, next_attempt_at, finished_at, created_at) SELECT {{}}, "
    f"CASE WHEN {{}} = '{Delivery.Status.PENDING}' THEN {{}} END, "
    f"CASE WHEN {{}} = '{Delivery.Status.CANCELED}' THEN {{}} END, {{}} "
)
_STATUS_OF_SQLITE = "json_extract(value, '$.status')"
_STATEMENTS = {
    "postgresql": _INTO.format(
        ", ".join(f"v.{name}" for name in _TYPES),
        *["v.status", "%s::timestamptz", "v.status", "%s::timestamptz", "%s::timestamptz"],
    )
    + f"FROM json_to_recordset(%s::json) AS v({', '.join(f'{name} {kind}' for name, kind in _TYPES.items())}) "
    "ON CONFLICT DO NOTHING",
    "sqlite": _INTO.format(
        ", ".join(f"json_extract(value, '$.{name}')" for name in _TYPES),
        *[_STATUS_OF_SQLITE, "%s", _STATUS_OF_SQLITE, "%s", "%s"],
    )
    # Without a WHERE the parser takes ON for that of a join: https://www.sqlite.org/lang_upsert.html
    + "FROM json_each(%s) WHERE true ON CONFLICT DO NOTHING",
}


def _text(pk: uuid.UUID | None) -> str | None:
    """Return an id in the form of the database, as text."""
    return None if pk is None else str(database_id(pk))


def insert_deliveries(deliveries: Sequence[Delivery], moment: dt.datetime) -> None:
    """
    Insert new deliveries: pending ones are due at `moment`, canceled ones ended then.

    Skips those that are there already. Runs in the caller's transaction.
    """
    if not deliveries:
        return
    rows = [
        {
            "id": _text(each.pk),
            "organization_id": _text(each.organization_id),
            "message_id": _text(each.message_id),
            "submission_id": _text(each.submission_id),
            "webhook_id": _text(each.webhook_id),
            "event": each.event,
            "channel": each.channel,
            "target": each.target,
            "host": each.host,
            "priority": each.priority,
            "status": each.status,
        }
        for each in deliveries
    ]
    time = connection.ops.adapt_datetimefield_value(moment)
    with connection.cursor() as cursor:
        cursor.execute(_STATEMENTS[connection.vendor], [time, time, time, json.dumps(rows)])
