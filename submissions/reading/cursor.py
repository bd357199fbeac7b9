"""
Reading on: a list in the order in which submissions became readable, for clients who follow it (docs/contract.md 5.36).

A cursor is opaque to clients: a version, the last position read, and a checksum that belongs to one organization and
mode.
"""

import base64
import binascii
import dataclasses
import hashlib
import struct
import uuid

from config.base.database import snapshot
from submissions.counts.positions import last_of, note_served, served_of
from submissions.files.records import load_files
from submissions.models import ReadingPosition, Submission
from submissions.reading.listing import HEAVY_COLUMNS, Scope

_VERSION = 1
_LAYOUT = struct.Struct(">BQ6s")


class MalformedCursor(ValueError):
    """The text is not a cursor of this organization and mode."""


@dataclasses.dataclass(frozen=True, slots=True)
class Stretch:
    """Rows in reading order. `next`: the cursor after them; `has_more`: there were more when they were read."""

    rows: list[Submission]
    next: str
    has_more: bool


def encode_cursor(organization_id: uuid.UUID, position: int, *, test: bool = False) -> str:
    """Return the cursor of an organization that continues after this position."""
    packed = _LAYOUT.pack(_VERSION, position, _checksum(organization_id, position, test=test))
    return base64.urlsafe_b64encode(packed).rstrip(b"=").decode()


def decode_cursor(organization_id: uuid.UUID, text: str, *, test: bool = False) -> int:
    """Return the position of a cursor; 0 for an empty one. Raises MalformedCursor."""
    if not text:
        return 0
    try:
        packed = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
        version, position, checksum = _LAYOUT.unpack(packed)
    except (UnicodeEncodeError, binascii.Error, struct.error):
        raise MalformedCursor from None
    if version != _VERSION or checksum != _checksum(organization_id, position, test=test) or position >= 1 << 63:
        raise MalformedCursor
    return int(position)


def _checksum(organization_id: uuid.UUID, position: int, *, test: bool) -> bytes:
    """Not a secret: it finds mistakes, such as a cursor of another organization."""
    return hashlib.sha256(organization_id.bytes + position.to_bytes(8) + b"test" * test).digest()[:6]


def read_on(scope: Scope, position: int, limit: int) -> Stretch:
    """
    Return up to `limit` rows of a scope after a position.

    How far the reader gets is committed before the rows are read: one that is marked as spam in between keeps its
    position, as one that was read does (`submissions.counts.positions.take_back`).
    """
    end, served, stretch = _look(scope, position, limit)
    if end > served:
        note_served(scope.organization_id, end, test=scope.test)
        _, _, again = _look(scope, position, limit, last=end)
        return dataclasses.replace(again, next=stretch.next, has_more=stretch.has_more)
    return stretch


def _look(scope: Scope, position: int, limit: int, *, last: int | None = None) -> tuple[int, int, Stretch]:
    """Return how far the rows after a position reach, at most to `last`, how far any reader got, and the rows."""
    with snapshot() as alias:
        counters = ReadingPosition.objects.using(alias).filter(pk=scope.organization_id)
        newest, served = counters.values_list(last_of(scope.test), served_of(scope.test)).first() or (0, 0)
        after = scope.rows(alias).filter(position__gt=position).order_by("position")
        if last is not None:
            after = after.filter(position__lte=last)
        rows = load_files(after.defer(*HEAVY_COLUMNS)[: limit + 1])
    has_more = len(rows) > limit
    end = rows[limit - 1].position or 0 if has_more else max(position, newest)
    return end, served, Stretch(rows[:limit], encode_cursor(scope.organization_id, end, test=scope.test), has_more)
