"""Rows for exports: only the columns that are needed, as the database sends them, in constant memory."""

from collections.abc import Generator
from contextlib import closing
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connections, transaction
from django.db.models import QuerySet, TextField
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast

from submissions.models import Submission

Rows = QuerySet[Submission]
Found = Generator[tuple[Any, ...], None, None]
Parts = Generator[tuple[bytes, int], None, None]  # of the text, each with its number of rows
ROWS_A_FETCH = 100
BATCH_ROWS = 1000
BATCH_CHARACTERS = 128 * 1024
# The statement lasts as long as its client reads: `_limited` bounds the wait for rows instead. Compiling a plan takes
# longer than it saves, and exports leave the other cores to requests.
_SETTINGS = (
    "SELECT set_config('statement_timeout', '0', true), set_config('jit', 'off', true), "
    "set_config('max_parallel_workers_per_gather', '0', true)"
)


def stored_text(column: str) -> Cast:
    """Return a column of JSON as its stored text, which exports pass on or read with orjson."""
    return Cast(column, TextField())


def read_batches(rows: Rows, *columns: str | Combinable) -> Generator[list[tuple[Any, ...]], None, None]:
    """
    Yield the values of these columns of each row in order, in batches. The first column is the largest text.

    Reads inside the caller's transaction. Closing it cancels the statement.
    """
    batch: list[tuple[Any, ...]] = []
    size = 0
    with closing(_read(rows.values_list(*columns))) as found:
        for row in found:
            batch.append(row)
            size += len(row[0])
            if size >= BATCH_CHARACTERS or len(batch) == BATCH_ROWS:
                yield batch
                batch, size = [], 0
    if batch:
        yield batch


def _read(rows: Any) -> Found:
    if connections[rows.db].vendor != "postgresql":
        yield from rows.iterator(ROWS_A_FETCH)
        return
    from psycopg import ClientCursor, Cursor  # SQLite does not need it

    connection: Any = connections[rows.db]
    try:
        sql, params = rows.query.get_compiler(rows.db).as_sql()
    except EmptyResultSet:  # filters that no row can pass
        return
    # A savepoint, because the rest of the transaction reads on after a canceled statement.
    with connection.wrap_database_errors, transaction.atomic(using=rows.db), connection.cursor() as cursor:
        cursor.execute(_SETTINGS)
        statement = ClientCursor(connection.connection).mogrify(sql, params)
        # The server sends rows while earlier ones are written, and no row waits for the last one as in a plain cursor.
        yield from Cursor(connection.connection).stream(statement.encode(), binary=True, size=ROWS_A_FETCH)
