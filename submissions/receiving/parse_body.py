"""
From a request's JSON object to what is stored. Pure: no database, no request (CONTRACT section 5).
"""

import dataclasses
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from config.api.errors import Detail, ValidationFailed, invalid
from config.api.parsing import NumberText
from config.api.serializers import MAX_DETAILS
from config.ids import InvalidId, Prefix, decode_id
from config.text import clean_name, clean_text
from forms_app.field_definitions import CAPTCHA_FIELDS, CONTROL_FIELDS, MAX_FIELDS, MAX_NAME

MAX_VALUE = 65_536  # characters
HONEYPOT = "_gotcha"
KEPT_CONTROLS = frozenset({"_next", "_subject", "_replyto", "_webhook"})  # what delivery needs
PROOFS = CAPTCHA_FIELDS | {"_altcha"}
LIST_SEPARATOR = ", "


@dataclasses.dataclass(frozen=True, slots=True)
class Intake:
    """
    `values`: what is stored, in the order received. `lists`: members of the values that came as lists.
    `controls`: what delivery needs of the control fields. `proofs`: captcha tokens and proof of work, never stored.
    `spam_reasons`: why this is spam; empty when it is not.
    """

    values: dict[str, str]
    lists: dict[str, list[str]]
    controls: dict[str, str]
    proofs: dict[str, str]
    spam_reasons: list[str]


def take_in(body: Mapping[str, Any]) -> Intake:
    """
    Sort a parsed body into values and control fields.

    Strings stay, numbers and booleans become their JSON text, null an empty string, a list its members joined with
    `", "`. Numbers are expected as NumberText. Raises ValidationFailed for objects, nested lists, and what is too
    much or too long.
    """
    problems = list(_problems(body))
    if problems:
        raise ValidationFailed(problems[:MAX_DETAILS])
    values: dict[str, str] = {}
    lists: dict[str, list[str]] = {}
    controls: dict[str, str] = {}
    for raw_name, raw in body.items():
        name = clean_name(raw_name)
        if isinstance(raw, list):
            lists[name] = [as_text(member) for member in raw]
        text = LIST_SEPARATOR.join(lists[name]) if isinstance(raw, list) else as_text(raw)
        (controls if is_control(name) else values)[name] = text
    return Intake(
        values=values,
        lists=lists,
        controls={name: controls[name] for name in KEPT_CONTROLS & controls.keys() if controls[name]},
        proofs={name: controls[name] for name in PROOFS & controls.keys()},
        spam_reasons=[f"honeypot: {HONEYPOT} was filled in"] if controls.get(HONEYPOT) else [],
    )


def is_control(name: str) -> bool:
    """Tell whether a name steers the submission instead of being data."""
    return name in CONTROL_FIELDS or name in CAPTCHA_FIELDS


def as_text(value: Any) -> str:
    """Return the string that is stored for a JSON scalar."""
    if isinstance(value, NumberText):
        return str.__str__(value)
    if isinstance(value, str):
        return clean_text(value)
    if value is None:
        return ""
    return "true" if value is True else "false"


def _problems(body: Mapping[str, Any]) -> Iterator[Detail]:
    if len(body) > MAX_FIELDS + len(CONTROL_FIELDS) + len(CAPTCHA_FIELDS) or _data_count(body) > MAX_FIELDS:
        yield Detail("", "too_many", f"A submission has at most {MAX_FIELDS} fields; this one has {len(body):,}.")
        return
    for name, value in body.items():
        shown = clean_name(name)[:MAX_NAME]
        if not shown:
            yield Detail("", "blank", "A field has an empty name. Name it or leave it out.")
        elif len(clean_name(name)) > MAX_NAME:
            message = f"A field's name is longer than {MAX_NAME} characters: {shown}…"
            yield Detail(shown, "too_long", message, has_subject=True)
        elif isinstance(value, dict) or (isinstance(value, list) and any(isinstance(v, dict | list) for v in value)):
            message = f"{shown} must be a string, a number, a boolean, null or a list of these."
            yield Detail(shown, "invalid_type", message, has_subject=True)
        elif _length(value) > MAX_VALUE:
            yield Detail(shown, "too_long", f"{shown} is longer than {MAX_VALUE:,} characters.", has_subject=True)


def _data_count(body: Mapping[str, Any]) -> int:
    return sum(not is_control(clean_name(name)) for name in body) if len(body) > MAX_FIELDS else len(body)


def _length(value: Any) -> int:
    if isinstance(value, list):
        return sum(len(as_text(member)) + len(LIST_SEPARATOR) for member in value) - len(LIST_SEPARATOR)
    return len(as_text(value))


def parse_form_id(text: object) -> uuid.UUID:
    """Return the UUID of a form's public id. Raises ValidationFailed."""
    try:
        return decode_id(Prefix.FORM, text)
    except InvalidId as error:
        raise invalid("formId", "invalid_id", str(error)) from None
