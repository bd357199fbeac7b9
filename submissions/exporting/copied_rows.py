"""The columns that rows of COPY begin with in every format: two ids and a time."""

import datetime as dt
import struct
import uuid
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from django.db.models import F

from config.times import format_time
from submissions.serializers import form_id_text

HEAD = struct.Struct(">6x16s4x16s4xq4x")  # id, formId, microseconds since 2000, then the length of the last column
HEAD_COLUMNS = {"id": F("pk"), "form": F("form_id"), "created": F("created_at")}
EPOCH = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
MICROSECONDS = 1_000_000
MINUTE = 60 * MICROSECONDS
MINUTES_A_DAY = 1440
# Of a time behind its date. Rows have their own seconds, so `format_time` for each took a quarter of an export.
MINUTES = [f"T{minute // 60:02d}:{minute % 60:02d}:" for minute in range(MINUTES_A_DAY)]
SECONDS = [f"{second:02d}." for second in range(60)]
T = TypeVar("T", str, bytes)
MOST_KEPT = 10_000  # texts of forms or of days


class Kept(dict[Any, Any]):
    """Texts by their keys: those that were made last, as neighbours have the same form and the same second."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: Any) -> Any:
        """Make the text of a key."""
        if len(self) >= MOST_KEPT:
            self.clear()
        made = self[key] = self._make(key)
        return made


def form_text(raw: bytes) -> str:
    """Return the public id of a form of 16 bytes."""
    return form_id_text(uuid.UUID(bytes=raw))


def seconds_of(times: Sequence[int], days: Kept, minutes: Sequence[T], seconds: Sequence[T]) -> list[T]:
    """Return the text of each time, in microseconds since 2000, up to its fraction; of the texts of its parts."""
    return [
        days[time // (MINUTES_A_DAY * MINUTE)]
        + minutes[time // MINUTE % MINUTES_A_DAY]
        + seconds[time // MICROSECONDS % 60]
        for time in times
    ]


def day_text(day: int) -> str:
    """Return the date, such as `2026-01-31`, of whole days since 2000."""
    return (format_time(EPOCH + dt.timedelta(days=day)) or "").partition("T")[0]
