"""
Rows of PostgreSQL through COPY, in batches of bytes (docs/adr/0100).

A message of the binary format is a row: the number of its columns (2 bytes), then for each column its length (4 bytes)
and its value. Columns of a fixed length come first, so a row is cut at fixed places.
Source: https://www.postgresql.org/docs/current/sql-copy.html#SQL-COPY-FILE-FORMATS (binary format)
"""

import select
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.exceptions import EmptyResultSet
from django.db import connections, transaction
from django.db.models import F, Func, QuerySet, TextField
from psycopg import ClientCursor, Connection, Error, OperationalError, errors, pq

from submissions.models import Submission

Rows = QuerySet[Submission]
Parts = Generator[tuple[bytes, int], None, None]  # of the text, each with its number of rows
Batches = Generator[list[Any], None, None]  # of bytes, or memoryviews where psycopg is pure Python

BATCH_BYTES = 128 * 1024
BATCH_ROWS = 1024
CANCEL_SECONDS = 5.0
SIGNATURE = b"PGCOPY\n\xff\r\n\0"
HEADER_BYTES = len(SIGNATURE) + 4 + 4  # and flags, and the length of an extension that no version has
TRAILER = b"\xff\xff"
COLUMN_HEAD = 4
ROW_HEAD = 2
# The whole COPY is one statement, which lasts as long as its client reads: `_wait` bounds its pauses instead. Like the
# cursor of the portable path it uses one process. Compiling a plan takes longer than it saves.
_SETTINGS = (
    "SELECT set_config('statement_timeout', '0', true), set_config('jit', 'off', true), "
    "set_config('max_parallel_workers_per_gather', '0', true)"
)


class Joined(Func):
    """The texts one after the other. Unlike `Concat` it leaves out casts and checks for NULL: no part may be NULL."""

    template = "(%(expressions)s)"
    arg_joiner = " || "
    output_field = TextField()


def copy_rows(rows: Rows, **columns: F | Func) -> Batches:
    """
    Yield the rows in their order, `columns` only, in batches of about BATCH_BYTES as the binary format has them.

    Reads through the connection of `rows`, inside the caller's transaction. Closing it cancels the statement.
    """
    connection: Any = connections[rows.db]
    aliases = {f"copied_{name}": column for name, column in columns.items()}
    try:
        sql, params = rows.annotate(**aliases).values_list(*aliases).query.get_compiler(rows.db).as_sql()
    except EmptyResultSet:  # filters that no row can pass
        return
    # A savepoint, because the rest of the transaction reads on after a cancelled statement.
    with connection.wrap_database_errors, transaction.atomic(using=rows.db), connection.cursor() as cursor:
        cursor.execute(_SETTINGS)
        statement = ClientCursor(connection.connection).mogrify(sql, params)
        with _copying(connection.connection, f"COPY ({statement}) TO STDOUT (FORMAT binary)") as pgconn:
            yield from _batches(pgconn)


@contextmanager
def _copying(connection: Connection[Any], statement: str) -> Iterator[pq.abc.PGconn]:
    """
    Start a COPY, and cancel it if the block ends before it.

    Not `Cursor.copy`: that waits for the first row without a limit, and its `read` of a row takes longer than libpq's.
    """
    pgconn = connection.pgconn
    pgconn.send_query(statement.encode())
    try:
        while pgconn.flush():
            _wait(pgconn, select.POLLOUT)
        _check(_result(pgconn), pq.ExecStatus.COPY_OUT)
        yield pgconn
        while result := _result(pgconn):
            _check(result, pq.ExecStatus.COMMAND_OK)
    except BaseException:
        _cancel(connection)
        raise


def _cancel(connection: Connection[Any]) -> None:
    """End the running statement, if any; where that fails, the connection."""
    if connection.pgconn.transaction_status != pq.TransactionStatus.ACTIVE:
        return
    try:
        connection.cancel_safe(timeout=CANCEL_SECONDS)
        while result := _result(connection.pgconn, CANCEL_SECONDS):
            while result.status == pq.ExecStatus.COPY_OUT and (found := connection.pgconn.get_copy_data(1)[0]) >= 0:
                if not found:  # the rest that was sent before the server was notified is still on its way
                    _wait(connection.pgconn, seconds=CANCEL_SECONDS)
    except Error:
        connection.close()


def _result(pgconn: pq.abc.PGconn, seconds: float | None = None) -> pq.abc.PGresult | None:
    """Return the next result; waits as `_wait`. libpq's own waiting has no limit, and keeps the interpreter."""
    while pgconn.is_busy():
        _wait(pgconn, seconds=seconds)
    return pgconn.get_result()


def _check(result: pq.abc.PGresult | None, expected: pq.ExecStatus) -> None:
    if result is None or result.status != expected:
        raise errors.error_from_result(result) if result else OperationalError("the connection is lost")


def _batches(pgconn: pq.abc.PGconn) -> Batches:
    """Yield the messages of a COPY."""
    read = pgconn.get_copy_data
    batch: list[Any] = []
    size, to_skip = 0, HEADER_BYTES
    while True:
        length, row = read(1)
        if length > 0:
            batch.append(row)
            size += length
            if size < BATCH_BYTES and len(batch) < BATCH_ROWS:
                continue
        elif length == 0:
            _wait(pgconn)
            continue
        if to_skip and batch:
            batch[0], to_skip = batch[0][to_skip:], 0
        if batch and batch[-1] == TRAILER:
            batch.pop()
        if batch:
            yield batch
        if length < 0:
            break
        batch, size = [], 0


def _wait(pgconn: pq.abc.PGconn, event: int = select.POLLIN, seconds: float | None = None) -> None:
    """
    Wait for data. Raises OperationalError without any for `seconds`, or for as long as a statement may last.

    0 seconds: no limit.
    """
    poll = select.poll()  # a web process can have more open files than `select.select` takes
    poll.register(pgconn.socket, event)
    limit = settings.LONG_STATEMENT_SECONDS if seconds is None else seconds
    if not poll.poll(limit * 1000 or None):
        raise OperationalError("no row was received for too long")
    if event == select.POLLIN:
        pgconn.consume_input()
