"""
Turn the table of submissions into partitions while the service runs (docs/adr/0104).

The table itself becomes the first partition, `before`, up to a boundary in the future. Four steps, of which each can be
killed and run again: a CHECK that all ids are below the boundary, without reading them; reading them, while rows come
in; the swap, one transaction of milliseconds; the foreign keys of other tables, read like the CHECK.
"""

import datetime as dt
from collections.abc import Callable
from typing import Any

from django.db import IntegrityError, connection

from config.times import now
from submissions.partitions.brief import briefly
from submissions.partitions.catalog import TABLE, is_partitioned, read, references
from submissions.partitions.making import (
    add_months,
    make_months,
    missing_months,
    months_from,
    owner_of,
    storage_options,
)
from submissions.partitions.months import first_id, later_month, read_month, start_of, this_month

BEFORE = f"{TABLE}_before"
AWAY = dt.timedelta(days=7)  # of the boundary at least: reading a large table takes hours
LEFT_OVER = dt.timedelta(days=3)  # a CHECK whose boundary is nearer is removed: behind it no submission is taken
_BOUND = "submission_id_before_"  # and its month: `submission_id_before_2027_01`
_BOUNDS = (
    "SELECT conname, convalidated FROM pg_constraint WHERE conrelid = to_regclass(%s) AND starts_with(conname, %s)"
)
_OBSTACLES = f"""
WITH ours AS (SELECT to_regclass('{TABLE}')::oid AS id)
SELECT 'triggers' FROM pg_trigger, ours WHERE tgrelid = id AND NOT tgisinternal
UNION SELECT 'rules' FROM pg_rewrite, ours WHERE ev_class = id
UNION SELECT 'policies' FROM pg_policy, ours WHERE polrelid = id
UNION SELECT 'a publication' FROM pg_publication_rel, ours WHERE prrelid = id
UNION SELECT 'views' FROM ours, pg_depend d JOIN pg_rewrite r ON r.oid = d.objid
    WHERE d.classid = 'pg_rewrite'::regclass AND d.refobjid = id
UNION SELECT 'permissions of single columns' FROM pg_attribute, ours WHERE attrelid = id AND attacl IS NOT NULL
UNION SELECT 'an invalid index' FROM pg_index, ours WHERE indrelid = id AND NOT indisvalid
UNION SELECT 'a constraint that is not validated' FROM pg_constraint, ours
    WHERE conrelid = id AND NOT convalidated AND NOT starts_with(conname, '{_BOUND}')
"""  # noqa: S608 - names from code
_INDEXES = """
SELECT quote_ident(c.relname), c.relname, pg_get_indexdef(i.indexrelid), pg_get_constraintdef(k.oid)
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
LEFT JOIN pg_constraint k ON k.conindid = i.indexrelid AND k.conrelid = i.indrelid AND k.contype IN ('p', 'u')
WHERE i.indrelid = to_regclass(%s) ORDER BY k.oid, c.relname
"""
_STATISTICS = """
SELECT quote_ident(c.relname), a.attnum, a.attstattarget FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND a.attstattarget >= 0
WHERE i.indrelid = to_regclass(%s)
"""
_FOREIGN_KEYS = """
SELECT quote_ident(f.conname), pg_get_constraintdef(f.oid), quote_ident(c.relname) FROM pg_constraint f
JOIN pg_class c ON c.oid = f.confrelid WHERE f.contype = 'f' AND f.conrelid = to_regclass(%s)
"""
_GRANTS = """
SELECT g.privilege_type, CASE WHEN g.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(g.grantee)) END,
    g.is_grantable
FROM pg_class c, aclexplode(c.relacl) g WHERE c.oid = to_regclass(%s) AND g.grantee <> c.relowner
"""


class CannotPartition(Exception):
    """The table has something that partitions would not take over; the message says what."""


def remaining_steps() -> list[str]:
    """Return what `partition_table` would do now, a line each."""
    if is_partitioned():
        steps = [f"make the partition of {month:%Y-%m}" for month in missing_months()]
    else:
        _refuse_obstacles()
        boundary, is_validated = _present_bound() or (_new_boundary(), False)
        steps = [] if is_validated else [f"check that every id is from before {boundary:%Y-%m}, while the service runs"]
        names = ", ".join(f"{month:%Y-%m}" for month in months_from(boundary))
        steps.append(f"rename {TABLE} to {BEFORE}, and make it the first partition")
        steps.append(f"make the partitions of {names}")
    unread = [one for one in references() if not one.is_validated or not is_partitioned()]
    return steps + [f"check the foreign key {one.name} of {one.table}" for one in unread]


def partition_table(report: Callable[[str], None]) -> None:
    """
    Partition the table, or finish it, or make the missing months. `report` gets a line after each step.

    Raises CannotPartition before anything has changed, and TableInUse between two steps.
    """
    if is_partitioned():
        for month in make_months():
            report(f"made the partition of {month:%Y-%m}")
    else:
        _refuse_obstacles()
        boundary = _bound(report)
        _swap(boundary)
        report(f"{TABLE} has partitions; {BEFORE} has the rows up to {boundary:%Y-%m}")
    for reference in references():
        if not reference.is_validated:
            _execute(f"ALTER TABLE {reference.table} VALIDATE CONSTRAINT {reference.name}")
            report(f"checked the foreign key {reference.name} of {reference.table}")
    _execute(f"ANALYZE {TABLE}")  # autovacuum does it for partitions, and never for the whole


def remove_left_over() -> bool:
    """Remove the CHECK of an attempt that was not finished, before it refuses submissions; return whether it did."""
    found = None if is_partitioned() else _present_bound()
    if found is None or start_of(found[0]) - now() > LEFT_OVER:
        return False
    _drop_bound(found[0])
    return True


def _execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def _refuse_obstacles() -> None:
    if found := sorted(name for (name,) in read(_OBSTACLES)):
        raise CannotPartition(f"{TABLE} has {', '.join(found)}. Remove them first, and make them again after.")


def _new_boundary() -> dt.date:
    following = later_month(this_month())
    return following if start_of(following) - now() >= AWAY else later_month(following)


def _present_bound() -> tuple[dt.date, bool] | None:
    """Return the boundary of an earlier attempt, and whether all rows were read; None without one."""
    for name, is_validated in read(_BOUNDS, TABLE, _BOUND):
        return read_month(name.removeprefix(_BOUND).replace("_", "-")), is_validated
    return None


def _name_of_bound(boundary: dt.date) -> str:
    return f"{_BOUND}{boundary:%Y_%m}"


def _drop_bound(boundary: dt.date) -> None:
    drop = f"ALTER TABLE {TABLE} DROP CONSTRAINT {_name_of_bound(boundary)}"
    briefly(lambda cursor: cursor.execute(drop))


def _bound(report: Callable[[str], None]) -> dt.date:
    """Have PostgreSQL know that all ids are before a boundary, so that the swap need not read the rows; return it."""
    found = _present_bound()
    if found and start_of(found[0]) - now() < AWAY:
        _drop_bound(found[0])
        found = None
    boundary, is_validated = found or (_new_boundary(), False)
    name = _name_of_bound(boundary)
    if not found:
        check = f"ALTER TABLE {TABLE} ADD CONSTRAINT {name} CHECK (id < '{first_id(boundary)}') NOT VALID"
        briefly(lambda cursor: cursor.execute(check))
    if not is_validated:
        try:
            _execute(f"ALTER TABLE {TABLE} VALIDATE CONSTRAINT {name}")
        except IntegrityError as error:
            _drop_bound(boundary)
            raise CannotPartition(f"There are submissions from after {boundary:%Y-%m}: a clock was wrong.") from error
        report(f"checked that every id is from before {boundary:%Y-%m}")
    return boundary


def _swap(boundary: dt.date) -> None:
    referring = ", ".join(sorted({reference.table for reference in references()}))
    owners = ", ".join(sorted({table for _, _, table in read(_FOREIGN_KEYS, TABLE)}))
    briefly(
        lambda cursor: _swap_locked(cursor, boundary),
        f"{owners} IN SHARE ROW EXCLUSIVE MODE",  # adding a foreign key to a table locks it
        f"{referring} IN ACCESS EXCLUSIVE MODE",
        f"{TABLE} IN ACCESS EXCLUSIVE MODE",
    )


def _swap_locked(cursor: Any, boundary: dt.date) -> None:
    if is_partitioned():  # meanwhile, by another process
        return
    indexes, foreign_keys, grants = read(_INDEXES, TABLE), read(_FOREIGN_KEYS, TABLE), read(_GRANTS, TABLE)
    statistics, referring, options = read(_STATISTICS, TABLE), references(), storage_options(cursor, TABLE)
    bound = f"DROP CONSTRAINT {_name_of_bound(boundary)}"
    statements = [f"ALTER TABLE {one.table} DROP CONSTRAINT {one.name}" for one in referring]
    statements += [f"ALTER INDEX {quoted} RENAME TO {_old_name(name)}" for quoted, name, _, _ in indexes]
    statements += [
        f"ALTER TABLE {TABLE} RENAME TO {BEFORE}",
        f"CREATE TABLE {TABLE} (LIKE {BEFORE} INCLUDING ALL EXCLUDING INDEXES) PARTITION BY RANGE (id)",
        f"ALTER TABLE {TABLE} {bound}",  # copied
        f"ALTER TABLE {TABLE} OWNER TO {owner_of(cursor, TABLE)}",
    ]
    for quoted, _, definition, constraint in indexes:
        statements.append(f"ALTER TABLE {TABLE} ADD CONSTRAINT {quoted} {constraint}" if constraint else definition)
    statements += [f"ALTER INDEX {name} ALTER COLUMN {column} SET STATISTICS {n}" for name, column, n in statistics]
    statements += [f"ALTER TABLE {TABLE} ADD CONSTRAINT {name} {text}" for name, text, _ in foreign_keys]
    statements += [
        f"GRANT {privilege} ON {TABLE} TO {role}{' WITH GRANT OPTION' if is_grantable else ''}"
        for privilege, role, is_grantable in grants
    ]
    statements += [
        f"ALTER TABLE {TABLE} ATTACH PARTITION {BEFORE} FOR VALUES FROM (MINVALUE) TO ('{first_id(boundary)}')",
        f"ALTER TABLE {BEFORE} {bound}",
    ]
    for statement in statements:
        cursor.execute(statement)
    add_months(cursor, months_from(boundary), options)
    for one in referring:
        cursor.execute(f"ALTER TABLE {one.table} ADD CONSTRAINT {one.name} {one.definition} NOT VALID")


def _old_name(name: str) -> str:
    return '"' + f"{name[:56]}_before".replace('"', '""') + '"'
