"""Running the same function in several threads, each with its own database connection."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection, connections

T = TypeVar("T")

THREADS = 8
SECONDS = 0.5  # how long a step waits for another thread, which may in turn be waiting for this one's transaction


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


class Meanwhile:
    """A call in a thread with its own connection; begun in the midst of another transaction, ended after it."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work
        self._errors: list[BaseException] = []
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self._errors.append(error)
        finally:
            connection.close()

    def begin(self) -> None:
        if self._thread.ident is None:
            self._thread.start()
            self._thread.join(SECONDS)

    def end(self) -> None:
        """Wait for it. Raises what it raised."""
        self._thread.join(60)
        for error in self._errors:
            raise error


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
