"""
What the live stream knows without looking anything up: who may watch what (a signed token), and what an event says.

The token is made where rights are checked, by a page of the dashboard, and is good for a short while. It names an
organization and perhaps one form; the stream ends with it.
"""

import dataclasses
import time
import uuid
from typing import Any

from django.conf import settings
from django.core import signing

from config.ids import Prefix, encode_id
from config.times import format_time
from submissions.json_text import dump_json
from submissions.models import Submission

SALT = "fieldpost.live"
MAX_NAMES = 50  # of one submission
MAX_VALUE = 200  # characters of a value; the page of the submission shows all of it
MAX_NAME = 128


class BadToken(ValueError):
    """The token is none of ours, or its time is over."""


@dataclasses.dataclass(frozen=True, slots=True)
class Watch:
    """What a viewer may see: an organization's submissions, of one form or (None) of all, until `expires` (epoch s)."""

    organization_id: uuid.UUID
    form_id: uuid.UUID | None
    expires: int


def live_token(organization_id: uuid.UUID, form_id: uuid.UUID | None, user_id: uuid.UUID) -> str:
    """Return a token that is good for EVENTS_TOKEN_SECONDS."""
    expires = int(time.time()) + settings.EVENTS_TOKEN_SECONDS
    return signing.dumps([str(organization_id), str(form_id or ""), str(user_id), expires], salt=SALT)


def read_token(text: str) -> Watch:
    """Return what a token allows. Raises BadToken."""
    try:
        organization, form, _, expires = signing.loads(text, salt=SALT)
    except signing.BadSignature:
        raise BadToken("The token is not one of ours.") from None
    if expires <= time.time():
        raise BadToken("The token has expired. Ask the page for a new one.")
    return Watch(uuid.UUID(organization), uuid.UUID(form) if form else None, expires)


def event_of(row: Submission, form_name: str) -> dict[str, Any]:
    """Return what is told of a submission: `{id, formId, formName, createdAt, values}`, values cut short."""
    values = list(row.data.items())[:MAX_NAMES]
    return {
        "id": row.public_id,
        "formId": encode_id(Prefix.FORM, row.form_id),
        "formName": form_name,
        "createdAt": format_time(row.created_at),
        "values": {name[:MAX_NAME]: value[:MAX_VALUE] for name, value in values},
    }


def server_sent(event: str, data: str = "{}", *, event_id: str = "") -> bytes:
    """Return a message of an event stream (WHATWG HTML, 9.2). JSON text has no line break that could end it early."""
    head = f"id: {event_id}\n" if event_id else ""
    return f"{head}event: {event}\ndata: {data}\n\n".encode()


def submission_event(row: Submission, form_name: str) -> bytes:
    """Return the message that tells of a submission."""
    return server_sent("submission", dump_json(event_of(row, form_name)), event_id=row.public_id)
