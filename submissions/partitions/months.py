"""Months in UTC, each by its first day, and the ranges of ids that they are (docs/adr/0104)."""

import datetime as dt
import uuid

from config.ids import first_id_of
from config.times import now


def this_month() -> dt.date:
    """Return the first day of the current month."""
    return now().date().replace(day=1)


def later_month(month: dt.date, number: int = 1) -> dt.date:
    """Return the month so many months later."""
    years, index = divmod(month.month - 1 + number, 12)
    return dt.date(month.year + years, index + 1, 1)


def read_month(text: str) -> dt.date:
    """Return the month of `2026-01`. Raises ValueError."""
    return dt.datetime.strptime(text, "%Y-%m").replace(tzinfo=dt.UTC).date()


def start_of(month: dt.date) -> dt.datetime:
    """Return the first moment of a month."""
    return dt.datetime(month.year, month.month, 1, tzinfo=dt.UTC)


def first_id(month: dt.date) -> uuid.UUID:
    """Return the lower bound of the ids of a month."""
    return first_id_of(start_of(month))
