"""Rows that wait for SQLite's one writer share a statement and a commit, and nothing else (docs/adr/0107)."""

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, OperationalError
from django.db.transaction import Atomic
from django.db.utils import ConnectionHandler

from config.settings import databases
from submissions.receiving import insert
from submissions.receiving.insert import SharedInserts
from tests.services.environment import BACKEND_VARIABLE, SQLITE
from tests.services.waiting import eventually

__test__ = os.environ[BACKEND_VARIABLE] == SQLITE

TABLES = """
    CREATE TABLE forms (id integer PRIMARY KEY);
    INSERT INTO forms VALUES (1);
    CREATE TABLE answers (
        id integer PRIMARY KEY, form integer REFERENCES forms (id) DEFERRABLE INITIALLY DEFERRED
    );
"""
FORM, NO_FORM = 1, 2


class Ending:
    """A value that ends the thread which binds it."""

    def __conform__(self, _protocol: object) -> str:
        raise SystemExit


class Locking:
    """A value that, when it is bound for the second time, has another connection lock the file."""

    def __init__(self, file: Path) -> None:
        self.other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        self._is_bound = False

    def __conform__(self, _protocol: object) -> int:
        if self._is_bound:
            self.other.execute("BEGIN IMMEDIATE")
        self._is_bound = True
        return FORM


class Desk:
    """A database and its `SharedInserts`. `texts`: the statements of every connection."""

    def __init__(self, file: Path, handler: ConnectionHandler) -> None:
        self.file = file
        self.handler = handler
        self.inserts = SharedInserts("INSERT INTO answers (id, form) VALUES", 2)
        self.texts: list[str] = []

    @property
    def connection(self) -> Any:
        return self.handler["default"]

    def insert(self, pk: int, form: object = FORM) -> None:
        """Insert a row over this thread's connection, and check that others see it then."""
        self.connection.ensure_connection()
        self.connection.connection.set_trace_callback(self.texts.append)
        self.inserts.insert([pk, form])
        assert pk in self.stored()

    def stored(self) -> list[int]:
        with closing(sqlite3.connect(self.file)) as connection:
            return [pk for (pk,) in connection.execute("SELECT id FROM answers ORDER BY id")]

    def sizes(self) -> list[int]:
        """Return how many rows each INSERT had."""
        return [text.count("(") - 1 for text in self.texts if text.startswith("INSERT")]

    @contextmanager
    def written_by_another(self) -> Iterator[None]:
        """Hold the write lock of the file."""
        with closing(sqlite3.connect(self.file, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield
            connection.execute("ROLLBACK")

    def insert_together(self, rows: Sequence[tuple[int, object]]) -> "list[Future[None]]":
        """Insert row 0, and meanwhile these, each in its own thread. Return their outcomes."""
        with ThreadPoolExecutor(len(rows) + 1) as pool:
            with self.written_by_another():
                first = pool.submit(self.insert, 0)
                eventually(lambda: self.inserts.is_led, because="a thread writes row 0")
                found = []
                for number, row in enumerate(rows):
                    found.append(pool.submit(self.insert, *row))
                    eventually(partial(self._has_waiting, number + 1), because="the row waits")
            first.result()
        return found

    def _has_waiting(self, number: int) -> bool:
        return len(self.inserts.waiting) == number


@pytest.fixture
def desk(db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:  # noqa: ARG001  # pytest-django's
    """Yield a database in which each thread has its connection, as in a web process."""
    file = tmp_path / "desk.sqlite3"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(f"PRAGMA journal_mode=WAL; {TABLES}")
    handler = ConnectionHandler(databases(f"sqlite:///{file}"))
    monkeypatch.setattr(insert, "connections", handler)
    yield Desk(file, handler)
    handler["default"].close()


def test_rows__that_wait_for_the_writer__share_one_statement(desk: Desk) -> None:
    for one in desk.insert_together([(1, FORM), (2, FORM), (3, FORM)]):
        one.result()
    assert desk.stored() == [0, 1, 2, 3]
    assert desk.sizes() == [1, 3]


@pytest.mark.parametrize("refused", [(0, FORM), (2, NO_FORM)], ids=["its id is taken", "its form is gone"])
def test_row__refused_among_others__fails_alone(desk: Desk, refused: tuple[int, int]) -> None:
    before, failed, after = desk.insert_together([(1, FORM), refused, (3, FORM)])
    before.result()
    after.result()
    with pytest.raises(IntegrityError):
        failed.result()
    assert desk.stored() == [0, 1, 3]


def test_rows__whose_writing_thread_ends__are_not_taken_for_written(desk: Desk) -> None:
    writing, ending, other = desk.insert_together([(1, FORM), (2, Ending()), (3, FORM)])
    with pytest.raises(SystemExit):
        writing.result()
    for one in (ending, other):
        with pytest.raises(OperationalError):
            one.result()
    assert desk.stored() == [0]
    desk.insert(4)
    assert desk.stored() == [0, 4]


def test_rows__while_another_process_writes_for_too_long__fail_and_later_ones_do_not(desk: Desk) -> None:
    desk.handler.settings["default"]["OPTIONS"]["timeout"] = 0.2
    with desk.written_by_another(), ThreadPoolExecutor(3) as pool:
        for one in [pool.submit(desk.insert, pk) for pk in range(3)]:
            with pytest.raises(OperationalError, match="locked"):
                one.result()
    assert sum(desk.sizes()) == 3  # none is tried again by itself: each would wait as long
    desk.insert(3)
    assert desk.stored() == [3]


def test_rows__after_a_refused_one__while_another_process_writes_for_too_long__fail_together(desk: Desk) -> None:
    desk.handler.settings["default"]["OPTIONS"]["timeout"] = 3
    locking = Locking(desk.file)
    found = desk.insert_together([(1, locking), (2, NO_FORM), (3, FORM)])
    for one in found:
        with pytest.raises(OperationalError, match="locked"):
            one.result()
    locking.other.close()
    assert desk.sizes() == [1, 3, 1]  # each of the others would wait as long as the first
    desk.insert(4)
    assert desk.stored() == [0, 4]


def test_rows__of_many_threads__are_each_committed_when_answered(desk: Desk) -> None:
    threads, each, start = 8, 25, threading.Barrier(8)

    def insert_some(number: int) -> None:
        start.wait()
        for pk in range(number * each, (number + 1) * each):
            desk.insert(pk)

    with ThreadPoolExecutor(threads) as pool:
        for one in [pool.submit(insert_some, number) for number in range(threads)]:
            one.result()
    assert desk.stored() == list(range(threads * each))
    assert sum(desk.sizes()) == threads * each


def test_row__in_a_transaction__belongs_to_it(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not wait for the thread that writes the others: that one waits for the end of the transaction."""
    desk.handler.settings["default"]["OPTIONS"]["timeout"] = 3
    with monkeypatch.context() as patched, ThreadPoolExecutor(1) as pool:
        patched.setattr("django.db.transaction.connections", desk.handler)
        with Atomic("default", savepoint=True, durable=False):
            desk.inserts.insert([1, FORM])
            other = pool.submit(desk.insert, 2)
            eventually(lambda: desk.inserts.is_led, because="a thread writes row 2")
            desk.inserts.insert([3, FORM])
            with desk.connection.cursor() as cursor:
                assert cursor.execute("SELECT id FROM answers ORDER BY id").fetchall() == [(1,), (3,)]
            desk.connection.set_rollback(True)
        other.result()
    assert desk.stored() == [2]
