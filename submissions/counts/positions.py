"""
The order in which submissions became readable for somebody who follows the list with a cursor (docs/adr/0065).

Ids cannot be that order: they are drawn before the commit, so a row can appear below ids that were read already. So
dispatch numbers the rows of each organization, and marking and confirming do, in the transaction that makes them
readable. Test submissions are numbered apart, by the same row. The counter's row stays locked until the commit:
numbers become visible in their order, without gaps. This lock comes last, after those of submissions, tallies and
organizations.
"""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from django.db import connection, transaction

from config.base.database import database_id
from submissions.models import ReadingPosition, Submission

_TABLE = Submission._meta.db_table
_COUNTERS = ReadingPosition._meta.db_table
_ADD = (
    f"INSERT INTO {_COUNTERS} (organization_id, {{last}}) VALUES (%s, %s) "  # noqa: S608 - names from code
    f"ON CONFLICT (organization_id) DO UPDATE SET {{last}} = {_COUNTERS}.{{last}} + excluded.{{last}} "
    "RETURNING {last}"
)
_UPDATE = f"UPDATE {_TABLE} SET {{changes}}position = {{position}} {{source}} WHERE {_TABLE}.id = {{id}} AND "  # noqa: S608 - names from code


def next_positions(rows: Iterable[tuple[uuid.UUID, bool, uuid.UUID]]) -> dict[uuid.UUID, int]:
    """
    Return a position for each row, by id: those of an organization and mode in the order of their ids.

    `rows`: the organization, whether it is a test submission, and the id of each. Runs inside the caller's transaction,
    which has to store them.
    """
    by_order: dict[tuple[uuid.UUID, bool], list[uuid.UUID]] = defaultdict(list)
    for organization, is_test, pk in rows:
        by_order[organization, is_test].append(pk)
    found: dict[uuid.UUID, int] = {}
    with connection.cursor() as cursor:
        for (organization, is_test), ids in sorted(by_order.items()):
            cursor.execute(_ADD.format(last=last_of(is_test)), [database_id(organization), len(ids)])
            (last,) = cursor.fetchone()
            found.update(zip(sorted(ids), range(last - len(ids) + 1, last + 1), strict=True))
    return found


def last_of(is_test: bool) -> str:
    """Return the column of the highest position given in a mode."""
    return "test_last" if is_test else "last"


def served_of(is_test: bool) -> str:
    """Return the column of the highest position in a mode that some reader was given."""
    return "test_served" if is_test else "served"


def store_positions(positions: Mapping[uuid.UUID, int | None], *, condition: str, changes: str = "") -> None:
    """
    Set the positions of rows, by id, and other `changes`, by one statement on PostgreSQL.

    `condition` and `changes` are SQL about the columns of a submission.
    """
    given = {database_id(pk): position for pk, position in positions.items()}
    if not given:
        return
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            source = "FROM unnest(%s::uuid[], %s::bigint[]) AS given(id, position)"
            update = _UPDATE.format(changes=changes, position="given.position", source=source, id="given.id")
            cursor.execute(update + condition, [list(given), list(given.values())])
        else:
            update = _UPDATE.format(changes=changes, position="%s", source="", id="%s")
            cursor.executemany(update + condition, [(position, pk) for pk, position in given.items()])


def number_missed(limit: int) -> int:
    """
    Give up to `limit` rows a position that are readable and have none; return how many.

    A release without positions dispatched them: before an upgrade, or while its last processes ended.
    """
    unnumbered = Submission.objects.unnumbered().order_by("pk")
    if not unnumbered.exists():  # on SQLite a transaction here would lock out the writers
        return 0
    with transaction.atomic():
        rows = unnumbered.select_for_update(skip_locked=True, no_key=True).values_list("organization_id", "pk")[:limit]
        positions = next_positions((organization, False, pk) for organization, pk in rows)  # it knew no test mode
        store_positions(positions, condition=f"{_TABLE}.position IS NULL")
    return len(positions)


def served_positions(organizations: Iterable[uuid.UUID]) -> dict[tuple[uuid.UUID, bool], int]:
    """Return the last position that any reader was given, by organization and mode; locks the counters."""
    counters = ReadingPosition.objects.filter(pk__in=set(organizations)).order_by("pk")
    found = list(counters.select_for_update(no_key=True))
    return {(one.pk, is_test): getattr(one, served_of(is_test)) for one in found for is_test in (False, True)}


def take_back(rows: Sequence[Submission]) -> None:
    """
    Take the position of rows that become unreadable and that no reader was given, before the caller saves them.

    They get a new one when they become readable again, so that a reader who passed them by meanwhile does not miss
    them. A row that somebody may have read keeps its position, and is not read twice.
    """
    placed = [row for row in rows if row.position is not None]
    served = served_positions(row.organization_id for row in placed) if placed else {}
    for row in placed:
        if row.position is not None and row.position > served.get((row.organization_id, row.is_test), 0):
            row.position = None


def note_served(organization_id: uuid.UUID, position: int, *, test: bool) -> None:
    """Store that a reader is given the rows up to this position. It must be committed before they are read."""
    served = served_of(test)
    ReadingPosition.objects.filter(**{"pk": organization_id, f"{served}__lt": position}).update(**{served: position})
