"""The rights of a program that listens, checked when its stream opens and every few seconds after."""

import datetime as dt
import uuid
from collections.abc import Collection
from dataclasses import dataclass

from config.api.errors import Forbidden, InvalidAccessKey, Suspended, Unauthorized, invalid
from config.api.find_owned import find_owned
from config.base.ids import InvalidId, Prefix, decode_id
from config.base.times import now
from forms_app.models import Form
from keys.authentication import USE_NOTED_EVERY, find_key, note_use_safely
from keys.models import AccessKey, Permission
from keys.permissions import MISSING
from webhooks.listening.messages import start_position

NEEDED = (Permission.SUBMISSIONS_READ, Permission.WEBHOOKS_WRITE)
PARAMETERS = {"mode", "formId"}
LAST_EVENT_ID = "Last-Event-ID"


@dataclass(frozen=True, slots=True)
class Right:
    """The submissions that a key may receive: those of its mode, of one form or (None) of all, after a position."""

    key_id: uuid.UUID
    digest: str
    organization_id: uuid.UUID
    is_test: bool
    form_id: uuid.UUID | None
    position: int
    opened_at: dt.datetime

    @property
    def mode(self) -> str:
        return AccessKey.Mode.TEST if self.is_test else AccessKey.Mode.LIVE


def admit(token: str, query: dict[str, str], last_event_id: str) -> Right:
    """Return the rights of a stream to open. Raises ApiError in the order of docs/contract.md 1.17."""
    key = find_key(token)
    if key is None:
        raise InvalidAccessKey
    if key.is_suspended:
        raise Suspended
    _check_permissions(key)
    if unknown := sorted(query.keys() - PARAMETERS):
        raise invalid(unknown[0], "unknown_parameter", "There is no query parameter of this name.")
    seen = _position_of(last_event_id)
    form_id = _form_id(query["formId"], key) if "formId" in query else None
    if key.last_used_at is None or now() - key.last_used_at >= USE_NOTED_EVERY:
        note_use_safely(key.pk)
    position = start_position(key.organization_id, key.is_test, seen)
    return Right(key.pk, key.digest, key.organization_id, key.is_test, form_id, position, now())


def _check_permissions(key: AccessKey) -> None:
    missing = [one for one in NEEDED if one not in key.permissions]
    if key.is_publishable or len(missing) == len(NEEDED):
        raise Forbidden
    if missing:
        raise Unauthorized(headers={MISSING: str(missing[0])})


def _position_of(text: str) -> int | None:
    if text and not (text.isascii() and text.isdigit() and len(text) < 19):
        raise invalid(LAST_EVENT_ID, "invalid", "must be the id of an earlier event of this stream.")
    return int(text) if text else None


def _form_id(text: str, key: AccessKey) -> uuid.UUID:
    try:
        form_id = decode_id(Prefix.FORM, text)
    except InvalidId as error:
        raise invalid("formId", "invalid_id", str(error)) from None
    find_owned(Form.objects.only("organization"), form_id, key.organization_id)
    return form_id


def still_usable(rights: Collection[Right]) -> set[tuple[uuid.UUID, str]]:
    """Return key and digest of those that may go on: not revoked, regenerated, expired or suspended since."""
    usable = AccessKey.objects.usable().filter(organization__suspended_at=None)
    return set(usable.filter(pk__in={one.key_id for one in rights}).values_list("pk", "digest"))
