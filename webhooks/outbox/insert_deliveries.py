"""
Inserting the messages and deliveries of a dispatch, each by one statement with the rows as one JSON text.

Models and Django's `bulk_create` prepare each value of each column apart, which takes most of the time of a dispatch:
20,000 values for 200 submissions with three webhooks each.
"""

import datetime as dt
import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.db import connection

from config.base.ids import new_id
from submissions.models import Submission
from webhooks.enqueue import Target
from webhooks.models import Delivery, Message

CHARACTERS_A_STATEMENT = 4 * 1024 * 1024  # of bodies, and one more body, which can have 1 MiB
_PENDING, _CANCELED, _RECORDED = Delivery.Status.PENDING, Delivery.Status.CANCELED, Delivery.Status.RECORDED
# The columns that follow from status and time.
_TIMES = {  # {status}: of the row, {time}: a parameter
    "next_attempt_at": f"CASE WHEN {{status}} = '{_PENDING}' THEN {{time}} END",
    "finished_at": f"CASE WHEN {{status}} IN ('{_CANCELED}', '{_RECORDED}') THEN {{time}} END",
    "created_at": "{time}",
}


def new_delivery(row: Submission, message_id: uuid.UUID, event: str, target: Target, status: str) -> dict[str, Any]:
    """Return the columns of a new delivery. SQLite stores ids as 32 hexadecimal digits, and PostgreSQL takes them."""
    return {
        "id": new_id().hex,
        "organization_id": row.organization_id.hex,
        "message_id": message_id.hex,
        "submission_id": row.pk.hex,
        "receiver_id": None if target.receiver is None else target.receiver.pk.hex,
        "event": event,
        "channel": target.channel,
        "target": target.name,
        "host": target.host,
        "status": status,
    }


def insert_deliveries(deliveries: Sequence[Mapping[str, Any]], moment: dt.datetime) -> None:
    """
    Insert new deliveries: pending ones are due at `moment`, canceled and recorded ones ended then.

    Skips those that are there already. Runs in the caller's transaction.
    """
    if deliveries:
        _insert(Delivery._meta.db_table, _TIMES, deliveries, moment, otherwise="ON CONFLICT DO NOTHING")


def insert_messages(messages: Sequence[Message], moment: dt.datetime) -> None:
    """Insert new messages of submissions. Runs in the caller's transaction."""
    columns = {"created_at": _TIMES["created_at"]}
    for some in _by_size(messages):
        rows = [
            {
                "id": each.pk.hex,
                "event": each.event,
                "submission_id": each.submission_id and each.submission_id.hex,
                "body": each.body,
            }
            for each in some
        ]
        _insert(Message._meta.db_table, columns, rows, moment)


def _by_size(messages: Sequence[Message]) -> Iterator[list[Message]]:
    some: list[Message] = []
    size = 0
    for message in messages:
        some.append(message)
        size += len(message.body)
        if size >= CHARACTERS_A_STATEMENT:
            yield some
            some, size = [], 0
    if some:
        yield some


def _insert(
    table: str,
    times: Mapping[str, str],
    rows: Sequence[Mapping[str, Any]],
    moment: dt.datetime,
    *,
    otherwise: str = "",
) -> None:
    names = list(rows[0])
    if connection.vendor == "postgresql":
        values = {name: f"v.{name}" for name in names}
        types = (f"{name} {'uuid' if name == 'id' or name.endswith('_id') else 'text'}" for name in names)
        source = f"json_to_recordset(%s::json) AS v({', '.join(types)})"
        time = "%s::timestamptz"
    else:
        values = {name: f"json_extract(value, '$.{name}')" for name in names}
        # Without a WHERE the parser takes ON for that of a join: https://www.sqlite.org/lang_upsert.html
        source, time = "json_each(%s) WHERE true", "%s"
    selected = [*values.values(), *(each.format(status=values.get("status"), time=time) for each in times.values())]
    statement = (
        f"INSERT INTO {table} ({', '.join([*names, *times])}) "  # noqa: S608 - names from code
        f"SELECT {', '.join(selected)} FROM {source} {otherwise}"
    )
    written = connection.ops.adapt_datetimefield_value(moment)
    with connection.cursor() as cursor:
        cursor.execute(statement, [*[written] * len(times), json.dumps(rows, ensure_ascii=False)])
