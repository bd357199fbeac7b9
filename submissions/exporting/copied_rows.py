"""The columns that rows of COPY begin with in every format: two ids and a time."""

import datetime as dt
import struct
import uuid
from collections.abc import Callable
from typing import Any

from django.db.models import F

from config.times import format_time
from submissions.serializers import form_id_text

HEAD = struct.Struct(">6x16s4x16s4xq4x")  # id, formId, microseconds since 2000, then the length of the last column
HEAD_COLUMNS = {"id": F("pk"), "form": F("form_id"), "created": F("created_at")}
EPOCH = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
MICROSECONDS = 1_000_000
MOST_KEPT = 10_000  # texts of forms or of seconds


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


def second_text(second: int) -> str:
    """Return a time up to its fraction, such as `2026-01-31T09:30:00.`, of whole seconds since 2000."""
    return (format_time(EPOCH + dt.timedelta(seconds=second)) or "").removesuffix("000Z")
