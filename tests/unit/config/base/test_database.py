"""`config.base.database.is_away` on the errors that drivers raise, as Django wraps them."""

import sqlite3

import psycopg
import pytest
from django.db import (
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    OperationalError,
    ProgrammingError,
)
from psycopg import errors

from config.base.database import is_away, is_busy


def wrapped(cause: Exception) -> Error:
    """Return the error of Django that has this cause."""
    classes = {
        psycopg.InternalError: InternalError,
        psycopg.ProgrammingError: ProgrammingError,
        psycopg.DataError: DataError,
        psycopg.IntegrityError: IntegrityError,
        psycopg.InterfaceError: InterfaceError,
    }
    found = next((ours for theirs, ours in classes.items() if isinstance(cause, theirs)), OperationalError)
    error = found(str(cause))
    error.__cause__ = cause
    return error


AWAY = [
    errors.ReadOnlySqlTransaction,
    errors.CannotConnectNow,
    errors.AdminShutdown,
    errors.CrashShutdown,
    errors.TooManyConnections,
    errors.DiskFull,
    errors.OutOfMemory,
    errors.IoError,
    errors.IdleInTransactionSessionTimeout,
    psycopg.InterfaceError,
]
BUSY = [errors.LockNotAvailable, errors.QueryCanceled, errors.DeadlockDetected]
PERMANENT = [
    errors.ProgramLimitExceeded,
    errors.InFailedSqlTransaction,
    errors.DataCorrupted,
    errors.UndefinedTable,
    errors.UniqueViolation,
    errors.NumericValueOutOfRange,
]
SQLITE = ["disk I/O error", "database or disk is full", "attempt to write a readonly database", "unable to open"]


@pytest.mark.parametrize("cause", AWAY)
def test_is_away__error_of_the_server__is_an_outage(cause: type[Exception]) -> None:
    assert is_away(wrapped(cause("gone")))
    assert not is_busy(wrapped(cause("gone")))


@pytest.mark.parametrize("cause", BUSY)
def test_is_away__statement_that_waited_too_long__is_busy(cause: type[Exception]) -> None:
    assert is_away(wrapped(cause("waited")))
    assert is_busy(wrapped(cause("waited")))


@pytest.mark.parametrize("cause", PERMANENT)
def test_is_away__error_of_the_row__is_none(cause: type[Exception]) -> None:
    assert not is_away(wrapped(cause("wrong")))


@pytest.mark.parametrize("message", SQLITE)
def test_is_away__error_of_sqlites_file__is_an_outage(message: str) -> None:
    assert is_away(wrapped(sqlite3.OperationalError(message)))


def test_is_away__locked_sqlite__is_busy() -> None:
    assert is_busy(wrapped(sqlite3.OperationalError("database is locked")))


def test_is_away__any_other_exception__is_none() -> None:
    assert not is_away(ValueError("not about a database"))
