"""A million submissions in one form within about a minute, as varied as real ones and as if all had been dispatched."""

import dataclasses
import datetime as dt
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection
from django.db.backends.utils import CursorWrapper

from config.base.ids import Prefix, decode_id
from submissions.models import ReadingPosition, Submission, Tally
from tests.scale.grams import without_index
from tests.scale.texts import COMMON, COMPANIES, NAMES, OLD_THIRD, PERCENT, RARE, SENTENCES, SPAM_EVERY, UNREAD_EVERY
from tests.support.tenants import Tenant

DAYS = 30  # over which the rows are spread evenly, up to now
TABLE = Submission._meta.db_table


@dataclasses.dataclass(frozen=True)
class Loaded:
    """Rows 1 (the oldest) to `count` of a form; a submission's email address contains its number."""

    organization_id: uuid.UUID
    form_id: uuid.UUID
    count: int

    def numbers(self) -> list[int]:
        """Return the numbers of those that are not spam, newest first."""
        return [number for number in range(self.count, 0, -1) if number % SPAM_EVERY]


def number_of(submission: Submission) -> int:
    return int(submission.data["email"].split("@")[0].split(".")[1])


def holds(text: str, number: int, count: int) -> bool:
    return {
        COMMON: number % 50 != 7,
        PERCENT: number % 100 == 3,
        OLD_THIRD: number <= count // 3,
        RARE: number in (11, count // 2 + 1, count - 11),
    }[text]


def load_submissions(tenant: Tenant, form_id: str, count: int) -> Loaded:
    """Fill an empty form. Ids are UUIDv7 that rise with `created_at`; every row is dispatched and counted."""
    loaded = Loaded(tenant.organization.pk, decode_id(Prefix.FORM, form_id), count)
    values: dict[str, Any] = {
        "form": str(loaded.form_id),
        "organization": str(loaded.organization_id),
        "count": count,
        "newest": dt.datetime.now(dt.UTC),
        "spacing": dt.timedelta(days=DAYS) / count,
        "names": list(NAMES),
        "companies": list(COMPANIES),
        "sentences": list(SENTENCES),
    }
    with connection.cursor() as cursor:
        # Row by row, the index of the search takes minutes, and references a third of the rest.
        with without_index(cursor), _without_references(cursor):
            cursor.execute(_ROWS, values)
            cursor.execute(_TALLIES, values)
            cursor.execute(_POSITION, values)
        cursor.execute(f"VACUUM ANALYZE {TABLE}")  # as autovacuum would before long
        cursor.execute(f"VACUUM ANALYZE {Tally._meta.db_table}")
    return loaded


@contextmanager
def _without_references(cursor: CursorWrapper) -> Iterator[None]:
    """Drop the table's foreign keys, and add them at the end, which checks all rows together."""
    cursor.execute(
        "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'f' AND conrelid = %s::regclass",
        [TABLE],
    )
    references = cursor.fetchall()
    for name, _ in references:
        cursor.execute(f"ALTER TABLE {TABLE} DROP CONSTRAINT {name}")
    yield
    for name, definition in references:
        cursor.execute(f"ALTER TABLE {TABLE} ADD CONSTRAINT {name} {definition}")


_ROWS = f"""
INSERT INTO {TABLE} (id, organization_id, form_id, data, search_text, controls, meta, spam, spam_reasons, created_at,
    dispatched_at, counted_as, position, is_read)
SELECT (lpad(to_hex((extract(epoch FROM moment) * 1000)::bigint), 12, '0') || '7' || substr(md5(n::text), 1, 3)
        || 'a' || substr(md5(n::text), 4, 15))::uuid,
    %(organization)s::uuid, %(form)s::uuid,
    '{{"name":' || to_json(name) || ',"email":' || to_json(email) || ',"company":' || to_json(company)
        || ',"order":' || to_json(number) || ',"message":' || to_json(message) || '}}',
    lower(concat_ws(chr(31), name, email, company, number, message)),
    '{{}}', '{{"ip":"203.0.113.7","userAgent":"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)",'
        '"origin":"https://www.example.com","referer":"https://www.example.com/contact"}}',
    n %% {SPAM_EVERY} = 0, CASE WHEN n %% {SPAM_EVERY} = 0 THEN '["honeypot"]' ELSE '[]' END,
    moment, moment, CASE WHEN n %% {SPAM_EVERY} = 0 THEN 'spam' ELSE 'kept' END,
    CASE WHEN n %% {SPAM_EVERY} = 0 THEN NULL ELSE n END, n %% {UNREAD_EVERY} <> 1
FROM (
    SELECT n, %(newest)s::timestamptz - (%(count)s - n) * %(spacing)s::interval AS moment,
        (%(names)s::text[])[1 + n %% {len(NAMES)}] AS name,
        'person.' || lpad(n::text, 8, '0') || '@mail' || lpad((n %% 97)::text, 2, '0') || '.example' AS email,
        (%(companies)s::text[])[1 + n %% {len(COMPANIES)}] AS company,
        'A-' || lpad(((n * 7919::bigint) %% 1000003)::text, 7, '0') AS number,
        CASE WHEN n %% 50 = 7 THEN '' ELSE 'Hello! ' END
            || (%(sentences)s::text[])[1 + (hashint4(n) & 7)] || ' '
            || (%(sentences)s::text[])[1 + (hashint4(n + 1000000) & 7)]
            || CASE WHEN n %% 100 = 3 THEN ' {PERCENT}' ELSE '' END
            || CASE WHEN n <= %(count)s / 3 THEN ' {OLD_THIRD}' ELSE '' END
            || CASE WHEN n IN (11, %(count)s / 2 + 1, %(count)s - 11) THEN ' {RARE}' ELSE '' END AS message
    FROM generate_series(1, %(count)s) AS n
) AS made
"""

# Without it the worker would number the rows meanwhile, as after an upgrade.
_POSITION = f"""
INSERT INTO {ReadingPosition._meta.db_table} (organization_id, last, served)
VALUES (%(organization)s::uuid, %(count)s, 0)
"""

_TALLIES = f"""
INSERT INTO {Tally._meta.db_table} (form_id, hour, received, kept, spam, delivered, failed)
SELECT form_id, date_trunc('hour', created_at, 'UTC'), count(*), count(*) FILTER (WHERE NOT spam),
    count(*) FILTER (WHERE spam), 0, 0
FROM {TABLE} WHERE form_id = %(form)s GROUP BY 1, 2
"""
