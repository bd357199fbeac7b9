"""
The messages of a stream that listens: signed ones, of the submissions after a position, in the order of dispatch.

That order has no gaps and is that of the commits (docs/adr/0065), so a position is all that a stream needs to remember.
"""

import datetime as dt
import uuid
from base64 import b64encode
from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Min
from django.utils.crypto import salted_hmac

from config.base.ids import encode_id, first_id_of
from config.base.times import now
from submissions.counts.positions import last_of
from submissions.files.records import load_files
from submissions.json_text import dump_json
from submissions.live.tokens import server_sent
from submissions.models import ReadingPosition, Submission
from webhooks.events import SUBMISSION_CREATED
from webhooks.models.deliveries import MESSAGE_PREFIX
from webhooks.signing import SECRET_PREFIX, headers_for

ROWS_A_PAGE = 8  # of up to 256 KiB each
REPLAYED = dt.timedelta(minutes=10)  # how far back a lost connection is made up for
NEAR = 1_000  # positions: a stream that is no further behind needs no search for its start


@dataclass(frozen=True, slots=True)
class Page:
    """Some messages, ready to send, and the position that they lead to."""

    messages: list[bytes]
    end: int


def newest_positions(organizations: Collection[uuid.UUID]) -> dict[tuple[uuid.UUID, bool], int]:
    """Return the newest position by organization and whether it is that of tests; one without any is left out."""
    counters = ReadingPosition.objects.filter(pk__in=organizations)
    return {(one.pk, is_test): getattr(one, last_of(is_test)) for one in counters for is_test in (False, True)}


def start_position(organization_id: uuid.UUID, is_test: bool, seen: int | None) -> int:
    """Return the position after which a stream begins: where it ended, but ten minutes back at most; else now."""
    newest = newest_positions([organization_id]).get((organization_id, is_test), 0)
    if seen is None or seen > newest:
        return newest
    if newest - seen <= NEAR:
        return seen
    late = Submission.objects.of_mode(test=is_test).filter(
        organization=organization_id, id__gt=first_id_of(now() - REPLAYED)
    )
    first = late.filter(position__gt=seen).aggregate(first=Min("position"))["first"]
    return newest if first is None else first - 1


def read_page(
    organization_id: uuid.UUID,
    form_id: uuid.UUID | None,
    *,
    test: bool,
    after: int,
    to: int,
    since: dt.datetime,
    secret: str,
) -> Page:
    """Return the next messages after a position, at most to another: of submissions dispatched `since`."""
    rows = Submission.objects.of_mode(test=test).filter(
        organization=organization_id, position__gt=after, position__lte=to
    )
    if form_id is not None:
        rows = rows.filter(form=form_id)
    rows = rows.filter(imported_in=None, spam=False, held=Submission.Held.NOT, dispatched_at__gte=since)
    found = load_files(rows.select_related("form").defer("search_text").order_by("position")[:ROWS_A_PAGE])
    end = found[-1].position or to if len(found) == ROWS_A_PAGE else to
    return Page([message_of(row, secret) for row in found], end)


def message_of(submission: Submission, secret: str) -> bytes:
    """Return the event `{headers, body}`: what a webhook with this secret gets, signed now."""
    body = SUBMISSION_CREATED.write(submission)
    headers = headers_for(encode_id(MESSAGE_PREFIX, submission.pk), body.encode(), [secret], now())
    standard = {name: value for name, value in headers.items() if name.startswith("webhook-")}
    data = dump_json({"headers": standard, "body": body})
    return server_sent("message", data, event_id=str(submission.position))


def secret_of(key_id: uuid.UUID) -> str:
    """Return the signing secret of a key's streams: the same in every process, and for a regenerated key."""
    digest = salted_hmac("webhooks.listening", str(key_id), algorithm="sha256").digest()
    return SECRET_PREFIX + b64encode(digest).decode("ascii")
