"""
Make partitions: one for each UTC month, AHEAD months before they begin, and `later` for all ids after those.

`later` stays empty. It is no DEFAULT partition, because with one PostgreSQL would read the newest row of every
partition for each list, where now it reads them in turn and stops.
"""

import datetime as dt
import logging
import uuid
from collections.abc import Sequence
from typing import Any

from config.ids import made_at
from submissions.partitions.brief import PAUSES, briefly
from submissions.partitions.catalog import TABLE, is_empty, partitions, references
from submissions.partitions.months import first_id, later_month, this_month

AHEAD = 3  # months; the clean-up makes them, so it may fail for a quarter of a year before `later` gets a row
LATER = f"{TABLE}_later"
_LIKE = f"(LIKE {TABLE} INCLUDING ALL EXCLUDING INDEXES)"
_OPTIONS = "SELECT unnest(reloptions) FROM pg_class WHERE oid = to_regclass(%s)"
_OWNER = "SELECT quote_ident(pg_get_userbyid(relowner)) FROM pg_class WHERE oid = to_regclass(%s)"
_STATISTICS = f"""
SELECT quote_ident(c.relname), a.attnum, a.attstattarget FROM pg_index whole
JOIN pg_attribute a ON a.attrelid = whole.indexrelid AND a.attnum > 0 AND a.attstattarget >= 0
JOIN pg_inherits i ON i.inhparent = whole.indexrelid
JOIN pg_index part ON part.indexrelid = i.inhrelid AND part.indrelid = to_regclass(%s)
JOIN pg_class c ON c.oid = part.indexrelid
WHERE whole.indrelid = to_regclass('{TABLE}')
"""  # noqa: S608 - a name from code

logger = logging.getLogger(__name__)


def name_of(month: dt.date) -> str:
    """Return the name of a month's partition."""
    return f"{TABLE}_{month:%Y_%m}"


def missing_months() -> list[dt.date]:
    """Return the months up to AHEAD from now that have no partition yet."""
    last = partitions()[-1]
    return months_from(made_at(last.first).date()) if last.first else []


def months_from(month: dt.date) -> list[dt.date]:
    """Return the months from this one on that should have a partition."""
    end, found = later_month(this_month(), AHEAD), []
    while month <= end:
        found.append(month)
        month = later_month(month)
    return found


def make_months(*, pauses: Sequence[float] = PAUSES) -> list[dt.date]:
    """
    Make the missing months and return them. Raises TableInUse.

    Without effect if `later` has rows already: it is their partition until it is empty again.
    """
    made: list[dt.date] = []

    def make(cursor: Any) -> None:
        made[:] = missing_months()  # again: another process may have made them
        if made and not is_empty(LATER):
            logger.error("partitions: %s has rows, so no month is made; see docs/running.md", LATER)
            made.clear()
        if made:
            options = storage_options(cursor, LATER)
            cursor.execute(f"ALTER TABLE {TABLE} DETACH PARTITION {LATER}")
            cursor.execute(f"DROP TABLE {LATER}")
            add_months(cursor, made, options)

    if missing_months():
        briefly(make, *exclusively(), pauses=pauses)
    return made


def exclusively() -> list[str]:
    """Return the locks for a change of the partitions. The tables that refer to it are read meanwhile."""
    referring = sorted({reference.table for reference in references()})
    return [f"{', '.join(referring)} IN SHARE MODE", f"{TABLE} IN ACCESS EXCLUSIVE MODE"]


def add_months(cursor: Any, months: Sequence[dt.date], options: Sequence[str]) -> None:
    """Add successive months, and `later` after them. `options`: storage parameters, as a parent can have none."""
    for month in months:
        _add(cursor, name_of(month), first_id(month), first_id(later_month(month)), options)
    _add(cursor, LATER, first_id(later_month(months[-1])), None, options)


def storage_options(cursor: Any, table: str) -> list[str]:
    """Return the storage parameters of a table, such as `fillfactor=90`."""
    cursor.execute(_OPTIONS, [table])
    return [option for (option,) in cursor.fetchall()]


def owner_of(cursor: Any, table: str) -> str:
    """Return the quoted name of a table's owner."""
    cursor.execute(_OWNER, [table])
    ((owner,),) = cursor.fetchall()
    return str(owner)


def _add(cursor: Any, name: str, first: uuid.UUID, end: uuid.UUID | None, options: Sequence[str]) -> None:
    cursor.execute(f"CREATE TABLE {name} {_LIKE}" + (f" WITH ({', '.join(options)})" if options else ""))
    cursor.execute(f"ALTER TABLE {name} OWNER TO {owner_of(cursor, TABLE)}")
    until = f"'{end}'" if end else "MAXVALUE"
    cursor.execute(f"ALTER TABLE {TABLE} ATTACH PARTITION {name} FOR VALUES FROM ('{first}') TO ({until})")
    cursor.execute(_STATISTICS, [name])
    for index, column, target in cursor.fetchall():
        cursor.execute(f"ALTER INDEX {index} ALTER COLUMN {column} SET STATISTICS {target}")
