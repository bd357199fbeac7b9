"""
Tokens and events of the live stream: who may watch (a signed token), and the content of an event. No look-ups.

A page of the dashboard makes the token, where rights are checked. It is valid for EVENTS_TOKEN_SECONDS and names an
organization, perhaps one form, the person and their session; the stream ends when it expires. `rights.py` checks
session and membership again when a stream opens.
"""

import dataclasses
import time
import uuid
from collections.abc import Mapping
from itertools import islice
from typing import Any

from django.conf import settings
from django.core import signing

from config.base.ids import Prefix, encode_id
from config.base.times import format_time
from config.secrets.encryption import CannotDecrypt, decrypt, encrypt
from submissions.json_text import dump_json
from submissions.models import Submission

SALT = "fieldpost.live"
MAX_NAMES = 50  # of one submission
MAX_VALUE = 200  # characters of a value; the page of the submission shows all of it
MAX_NAME = 128


class BadToken(ValueError):
    """The token is forged or has expired."""


@dataclasses.dataclass(frozen=True, slots=True)
class Watch:
    """
    A viewer's rights: an organization's submissions, of one form or (None) of all, until `expires` (epoch s).

    `session_key`: the session of the person; "" for a token that no login made, as our own programs do.
    """

    organization_id: uuid.UUID
    form_id: uuid.UUID | None
    expires: int
    user_id: uuid.UUID | None = None
    session_key: str = ""


def live_token(organization_id: uuid.UUID, form_id: uuid.UUID | None, user_id: uuid.UUID, session_key: str = "") -> str:
    """Return a token that is valid for EVENTS_TOKEN_SECONDS. The session's key is encrypted: addresses are logged."""
    expires = int(time.time()) + settings.EVENTS_TOKEN_SECONDS
    session = [encrypt(session_key)] if session_key else []
    return signing.dumps([str(organization_id), str(form_id or ""), str(user_id), expires, *session], salt=SALT)


def read_token(text: str) -> Watch:
    """Return the rights in a token. Raises BadToken."""
    try:
        organization, form, user, expires, *session = signing.loads(text, salt=SALT)
        session_key = decrypt(session[0]) if session else ""
    except (signing.BadSignature, CannotDecrypt):
        raise BadToken("The token is not one of ours.") from None
    if expires <= time.time():
        raise BadToken("The token has expired. Ask the page for a new one.")
    form_id = uuid.UUID(form) if form else None
    return Watch(uuid.UUID(organization), form_id, expires, uuid.UUID(user), session_key)


def event_of(row: Submission, form_name: str, values: Mapping[str, str]) -> dict[str, Any]:
    """Return the event of a submission: `{id, formId, formName, createdAt, held, values}`, values cut short."""
    return {
        "id": row.public_id,
        "formId": encode_id(Prefix.FORM, row.form_id),
        "formName": form_name,
        "createdAt": format_time(row.created_at),
        "held": row.held or None,
        "values": {name[:MAX_NAME]: value[:MAX_VALUE] for name, value in islice(values.items(), MAX_NAMES)},
    }


def server_sent(event: str, data: str = "{}", *, event_id: str = "") -> bytes:
    """Return a message of an event stream (WHATWG HTML, 9.2). JSON has no line break to end it early."""
    head = f"id: {event_id}\n" if event_id else ""
    return f"{head}event: {event}\ndata: {data}\n\n".encode()


def submission_event(row: Submission, form_name: str, values: Mapping[str, str]) -> bytes:
    return server_sent("submission", dump_json(event_of(row, form_name, values)), event_id=row.public_id)
