"""PostgreSQL's catalog about the table of submissions: its partitions, and the foreign keys to it."""

import dataclasses
import datetime as dt
import uuid
from typing import Any

from django.db import connection

from config.ids import made_at
from submissions.models import Submission

TABLE = Submission._meta.db_table
_KIND = "SELECT relkind FROM pg_class WHERE oid = to_regclass(%s)"
_PARTITIONS = """
SELECT c.relname, pg_get_expr(c.relpartbound, c.oid) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = to_regclass(%s)
"""
_REFERENCES = """
SELECT quote_ident(c.relname), quote_ident(f.conname), pg_get_constraintdef(f.oid), f.convalidated
FROM pg_constraint f JOIN pg_class c ON c.oid = f.conrelid
WHERE f.contype = 'f' AND f.confrelid = to_regclass(%s) AND f.conparentid = 0 ORDER BY 1, 2
"""
_FORWARD = "FOR VALUES FROM ("


@dataclasses.dataclass(frozen=True, slots=True)
class Partition:
    """A partition, and its range of ids: from `first` (None: the smallest) to before `end` (None: without a limit)."""

    name: str
    first: uuid.UUID | None
    end: uuid.UUID | None

    @property
    def ended_at(self) -> dt.datetime | None:
        """The moment from which on no new id is in its range."""
        return made_at(self.end) if self.end else None


@dataclasses.dataclass(frozen=True, slots=True)
class Reference:
    """A foreign key to submissions. The names are quoted."""

    table: str
    name: str
    definition: str
    is_validated: bool


def read(query: str, *parameters: Any) -> list[Any]:
    """Return the rows of a query."""
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        return list(cursor.fetchall())


def is_partitioned() -> bool:
    """Return whether submissions are in partitions; never on SQLite."""
    return connection.vendor == "postgresql" and read(_KIND, TABLE) == [("p",)]


def partitions() -> list[Partition]:
    """Return the partitions, oldest first."""
    found = []
    for name, bound in read(_PARTITIONS, TABLE):
        first, end = bound.removeprefix(_FORWARD).removesuffix(")").split(") TO (")
        found.append(Partition(name, _limit(first), _limit(end)))
    return sorted(found, key=lambda one: one.first.int if one.first else -1)


def _limit(text: str) -> uuid.UUID | None:
    return None if text in ("MINVALUE", "MAXVALUE") else uuid.UUID(text.strip("'"))


def references() -> list[Reference]:
    """Return the foreign keys of other tables to submissions."""
    return [Reference(*row) for row in read(_REFERENCES, TABLE)]


def is_empty(name: str) -> bool:
    """Return whether a partition has no rows."""
    return not read(f"SELECT 1 FROM {name} ORDER BY id LIMIT 1")  # noqa: S608 - a name from the catalog
