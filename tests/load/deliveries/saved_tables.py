"""Tables that are put back between rounds, so that every round starts from the same rows."""

import time
from collections.abc import Sequence

import psycopg
from psycopg import sql


class SavedTables:
    """
    A copy of some tables, parents first. Copies hold every column, so this needs no knowledge of the schema.

    The copy is unlogged, because reading it is not measured; the tables themselves keep PostgreSQL's durability.
    """

    def __init__(self, url: str, tables: Sequence[str]) -> None:
        self._url = url
        self._tables = tables
        with self._connect() as connection:
            for table in tables:
                names = {"copy": sql.Identifier(f"saved_{table}"), "table": sql.Identifier(table)}
                connection.execute(sql.SQL("DROP TABLE IF EXISTS {copy}").format(**names))
                connection.execute(sql.SQL("CREATE UNLOGGED TABLE {copy} AS SELECT * FROM {table}").format(**names))

    def put_back(self) -> None:
        """
        Replace the rows of the tables, and of all that refer to them, by the saved ones.

        One transaction, with fresh statistics and the log written out before its end: those who poll see all rows at
        the same moment, and what follows starts with an idle disk.
        """
        with self._connect() as connection:
            for table in reversed(self._tables):
                connection.execute(sql.SQL("TRUNCATE {} CASCADE").format(sql.Identifier(table)))
            for table in self._tables:
                connection.execute(_refill(table))
            connection.execute("ANALYZE")
            connection.execute("CHECKPOINT")

    def empty(self, table: str) -> None:
        """Remove the rows of one table, and of those that refer to it, for a reference that fills it."""
        with self._connect() as connection:
            connection.execute(sql.SQL("TRUNCATE {} CASCADE").format(sql.Identifier(table)))
            connection.execute("CHECKPOINT")

    def seconds_to_refill(self, table: str) -> float:
        """Return how long one INSERT … SELECT of the saved rows takes, with its commit."""
        with self._connect() as connection:
            start = time.monotonic()
            connection.execute(_refill(table))
            connection.commit()
            return time.monotonic() - start

    def _connect(self) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(self._url)


def _refill(table: str) -> sql.Composed:
    names = {"copy": sql.Identifier(f"saved_{table}"), "table": sql.Identifier(table)}
    return sql.SQL("INSERT INTO {table} SELECT * FROM {copy}").format(**names)
