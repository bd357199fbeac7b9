"""Running the same function in several threads, each with its own database connection."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from django.db import DEFAULT_DB_ALIAS, connection, connections

T = TypeVar("T")

THREADS = 8


def run_side_by_side(work: Callable[[], T], threads: int = THREADS) -> list[T]:
    """Return what each of so many simultaneous calls returned. Raises what the first failing one raised."""
    start = threading.Barrier(threads)

    def run() -> T:
        try:
            start.wait()
            return work()
        finally:
            connection.close()

    with ThreadPoolExecutor(threads) as pool:
        return [future.result() for future in [pool.submit(run) for _ in range(threads)]]


@contextmanager
def shared_database(directory: Path) -> Iterator[None]:
    """
    Make the test database one that threads can share as processes do; PostgreSQL's is one already.

    SQLite's test database lives in memory, where writers do not wait for each other but fail. Meanwhile a copy
    in a file takes its place, with the settings of the running service.
    """
    if connection.vendor != "sqlite":
        yield
        return
    file = directory / "database.sqlite3"
    connection.ensure_connection()
    with sqlite3.connect(file) as copy:
        connection.connection.backup(copy)
    in_memory, settings = connections[DEFAULT_DB_ALIAS], connections.settings[DEFAULT_DB_ALIAS]
    connections.settings[DEFAULT_DB_ALIAS] = {**settings, "NAME": str(file)}
    connections[DEFAULT_DB_ALIAS] = connections.create_connection(DEFAULT_DB_ALIAS)
    try:
        yield
    finally:
        connection.close()
        connections.settings[DEFAULT_DB_ALIAS] = settings
        connections[DEFAULT_DB_ALIAS] = in_memory
