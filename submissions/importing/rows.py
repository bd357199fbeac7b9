"""A row of an import, checked by itself: what is wrong with it is a problem of that row (docs/contract.md 5.82)."""

import dataclasses
import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext

from config.api.errors import Detail, ValidationFailed
from config.api.parsing import NumberText
from config.base.text import clean_text
from config.base.times import now, parse_date, parse_period
from submissions.receiving.parse_body import take_in

MAX_ROWS = 500  # of one call
MAX_SOURCE = 40  # characters
MAX_SOURCE_ID = 255  # characters
MAX_PROBLEMS = 10  # of one row
FIRST = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)  # ids have no earlier time
NAMES = ("createdAt", "data", "spam", "sourceId")


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """A row to store. `place`: in its call, from 0. `source_id`: its id at its source, or None."""

    place: int
    created_at: dt.datetime
    values: dict[str, str]
    spam: bool
    source_id: str | None


@dataclasses.dataclass(frozen=True, slots=True)
class Problem:
    """Why a row is not imported."""

    row: int
    field: str
    code: str
    message: str


def read_rows(raw_rows: Sequence[Any], *, oldest: dt.datetime | None) -> tuple[list[Row], list[Problem]]:
    """
    Return the rows that can be stored, and the problems of the others. Numbers are expected as NumberText.

    `oldest`: what the form's retention keeps; None: everything.
    """
    rows, problems = [], []
    for place, raw in enumerate(raw_rows):
        try:
            rows.append(_read(place, raw, oldest))
        except ValidationFailed as error:
            problems += [Problem(place, one.field, one.code, one.sentence) for one in error.details[:MAX_PROBLEMS]]
    return rows, problems


def _read(place: int, raw: Any, oldest: dt.datetime | None) -> Row:
    if not isinstance(raw, Mapping):
        raise ValidationFailed([Detail("", "invalid", gettext("Must be an object."))])
    problems = [
        Detail(clean_text(name)[:128], "unknown_field", gettext("There is no field of this name"))
        for name in raw
        if name not in NAMES
    ]
    created_at = _caught(problems, _time, raw, oldest)
    values = _caught(problems, _values, raw)
    spam = _caught(problems, _spam, raw)
    source_id = _caught(problems, _source_id, raw)
    if problems:
        raise ValidationFailed(problems)
    return Row(place, created_at, values, spam, source_id)


def _caught(problems: list[Detail], read: Any, *arguments: Any) -> Any:
    try:
        return read(*arguments)
    except ValidationFailed as error:
        problems += error.details
        return None


def _time(raw: Mapping[str, Any], oldest: dt.datetime | None) -> dt.datetime:
    text = _text(raw, "createdAt")
    if parse_date(text):
        raise _wrong("createdAt", "invalid", gettext("Must be a time with an offset such as 2026-01-31T09:30:00Z."))
    try:
        period = parse_period(text)
    except ValueError as error:
        raise _wrong("createdAt", "invalid", str(error)) from None
    moment = period.end - dt.timedelta(milliseconds=1)  # the millisecond in which it lies
    if moment < FIRST:
        raise _wrong("createdAt", "invalid", gettext("Must not be before 1970."))
    if moment > now():
        raise _wrong("createdAt", "invalid", gettext("Must not be in the future."))
    if oldest is not None and moment < oldest:
        raise _wrong("createdAt", "too_old", gettext("The form deletes submissions of this age."))
    return moment


def _values(raw: Mapping[str, Any]) -> dict[str, str]:
    if "data" not in raw:
        raise _required("data")
    data = raw["data"]
    if not isinstance(data, Mapping):
        raise _wrong("data", "null" if data is None else "invalid", gettext("Must be an object."))
    try:
        values = take_in(data).values
    except ValidationFailed as error:
        raise ValidationFailed(
            [
                Detail(f"data.{one.field}", one.code, one.message, one.has_subject)
                if one.field
                else Detail("data", one.code, one.message, has_subject=True)
                for one in error.details
            ]
        ) from None
    if not values:
        raise _wrong("data", "empty", gettext("Must have a value besides control fields."))
    return values


def _spam(raw: Mapping[str, Any]) -> bool:
    spam = raw.get("spam", False)
    if not isinstance(spam, bool):
        raise _wrong("spam", "null" if spam is None else "invalid", gettext("Must be true or false."))
    return spam


def _source_id(raw: Mapping[str, Any]) -> str | None:
    if "sourceId" not in raw:
        return None
    text = _text(raw, "sourceId")
    if not text.strip():
        raise _wrong("sourceId", "blank", gettext("Must not be blank."))
    if len(text) > MAX_SOURCE_ID:
        message = gettext("Must have at most %(most)s characters.") % {"most": MAX_SOURCE_ID}
        raise _wrong("sourceId", "max_length", message)
    return text


def _text(raw: Mapping[str, Any], name: str) -> str:
    if name not in raw:
        raise _required(name)
    value = raw[name]
    if not isinstance(value, str) or isinstance(value, NumberText):
        raise _wrong(name, "null" if value is None else "invalid", gettext("Must be a string."))
    return clean_text(value)


def _required(name: str) -> ValidationFailed:
    return _wrong(name, "required", gettext("This field is required."))


def _wrong(field: str, code: str, message: str) -> ValidationFailed:
    return ValidationFailed([Detail(field, code, message)])
