"""
From a request to a `Post`: the key it shows, the form it names, and its values, cleaned and sorted. No database.

Values and limits: docs/contract.md 5.
"""

import dataclasses
import hashlib
import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.http import HttpRequest

from config.api.errors import ApiError, Detail, ValidationFailed, invalid
from config.api.parsing import NumberText, idempotency_key, read_json
from config.api.serializers import MAX_DETAILS
from config.base.client_address import client_address
from config.base.ids import InvalidId, Prefix, decode_id
from config.base.text import clean_name, clean_text
from forms_app.field_definitions import (
    CAPTCHA_FIELDS,
    CONTROL_FIELDS,
    MAX_FIELDS,
    MAX_NAME,
    PAGE_CONTROL_FIELDS,
    is_framework_field,
)
from keys import tokens
from keys.authentication import META_NAME
from submissions.files.arrived import Arrived

MAX_VALUE = 65_536  # characters
META = {"userAgent": ("HTTP_USER_AGENT", 512), "origin": ("HTTP_ORIGIN", 300), "referer": ("HTTP_REFERER", 2048)}
NO_FORM = uuid.UUID(int=0)  # the id of no form: a malformed one must not lead to the default form
HONEYPOT = "_gotcha"
KEPT_CONTROLS = frozenset({"_next", "_redirect", "_subject", "_replyto", "_webhook", "_cc"})  # for delivery and story
PROOFS = CAPTCHA_FIELDS | {"_altcha"}
LIST_SEPARATOR = ", "
_MAX_NAMES = MAX_FIELDS + len(PAGE_CONTROL_FIELDS) + len(CAPTCHA_FIELDS)


@dataclasses.dataclass(frozen=True, slots=True)
class Intake:
    """
    `values`: the data to store, in the order received. `lists`: members of the values that came as lists.
    `controls`: the control fields that delivery needs. `proofs`: captcha tokens and proof of work, never stored.
    `spam_reasons`: why this is spam; empty when it is not. `dropped`: fields of frameworks, stored only if declared.
    """

    values: dict[str, str]
    lists: dict[str, list[str]]
    controls: dict[str, str]
    proofs: dict[str, str]
    spam_reasons: list[str]
    dropped: dict[str, str] = dataclasses.field(default_factory=dict)


NOTHING = Intake({}, {}, {}, {}, [])


@dataclasses.dataclass(frozen=True, slots=True)
class Body:
    """
    Names and values of a body as parsed, and its files, which are closed with the request.

    `raw`: its bytes, unless they are in a file. `sha256`: of the parts of multipart, whose boundary differs each time.
    """

    fields: dict[str, Any]
    files: Sequence[Arrived] = ()
    raw: bytes = b""
    sha256: str = ""

    def digest(self) -> str:
        """Return the SHA-256 in hexadecimal that is the same for the same body."""
        return self.sha256 or hashlib.sha256(self.raw).hexdigest()


NO_BODY = Body({})


@dataclasses.dataclass(frozen=True, slots=True)
class Post:
    """
    The content of a request, before any look-up.

    `key_digest`: SHA-256 of its access key; "" without a well-formed one. `form_id`: None for the default form.
    `key_in_body`: the key that the body shows, well-formed or not, where keys are read from it.
    `opened_for`: seconds for which the hosted page was open, if it was sent from there.
    `problem`: the first error in the body. It is raised later, after key and limit (docs/contract.md 1), whose look-up
    may need the form id in the body.
    """

    request: HttpRequest
    key_digest: str = ""
    form_id: uuid.UUID | None = None
    body: Body = NO_BODY
    intake: Intake = NOTHING
    idempotency_key: str | None = None
    opened_for: float | None = None
    problem: ApiError | None = None
    key_in_body: str = ""


def read_keyed_json(request: HttpRequest) -> Post:
    """
    Return the content of a request to `/api/submit`.

    Without a well-formed key its body is not read: a stranger must not occupy a thread by sending one slowly.
    """
    token = request.META.get(META_NAME, "")
    digest = tokens.digest(token) if tokens.is_well_formed(token) else ""
    body, intake, key = NO_BODY, NOTHING, None
    problem: ApiError | None = None
    if digest and request.method == "POST":
        try:
            raw, fields = read_json(request, numbers_as_text=True)
            body = Body(fields, raw=raw)
            intake = take_in(fields)
            key = idempotency_key(request)
        except ApiError as error:
            problem = error
    form_id, bad_id = named_form(request, body.fields)
    return Post(request, digest, form_id, body, intake, key, problem=problem or bad_id)


def named_form(request: HttpRequest, fields: Mapping[str, Any]) -> tuple[uuid.UUID | None, ApiError | None]:
    """Return the id of the form that a request names, None without one; NO_FORM and the error of a malformed one."""
    named = request.GET.get("formId") or fields.get("_formId")
    if named is None or named == "":
        return None, None
    try:
        return parse_form_id(named), None
    except ValidationFailed as error:
        return NO_FORM, error


def parse_form_id(text: object) -> uuid.UUID:
    """Return the UUID of a form's public id. Raises ValidationFailed."""
    try:
        return decode_id(Prefix.FORM, text)
    except InvalidId as error:
        raise invalid("formId", "invalid_id", str(error)) from None


def take_in(body: Mapping[str, Any], *, page_controls: Collection[str] = ()) -> Intake:
    """
    Sort a parsed body into values and control fields.

    `page_controls`: of a plain post, the names that are control fields besides ours; it drops framework fields too.

    Strings stay, numbers and booleans become their JSON text, null an empty string, a list its members joined with
    `", "`. Numbers are expected as NumberText. Raises ValidationFailed for objects, nested lists, too many fields, and
    names or values that are too long.
    """
    if len(body) > _MAX_NAMES or _data_count(body, page_controls) > MAX_FIELDS:
        raise invalid("", "too_many", f"A submission has at most {MAX_FIELDS} fields; this one has {len(body):,}.")
    problems: list[Detail] = []
    values: dict[str, str] = {}
    lists: dict[str, list[str]] = {}
    controls: dict[str, str] = {}
    dropped: dict[str, str] = {}
    for raw_name, raw in body.items():
        name = clean_name(raw_name)
        members = [as_text(member) for member in raw] if isinstance(raw, list) else None
        text = as_text(raw) if members is None else LIST_SEPARATOR.join(members)
        problem = _problem(name, raw, text)
        if problem:
            problems.append(problem)
        lists.pop(name, None)  # of another spelling of the same name: the last one counts, checked and stored alike
        if members is not None:
            lists[name] = members
        if is_control(name, page_controls):
            controls[name] = text
        elif page_controls and is_framework_field(name):
            dropped[name] = text
        else:
            values[name] = text
    if problems:
        raise ValidationFailed(problems[:MAX_DETAILS])
    return Intake(
        values=values,
        lists=lists,
        controls={name: value for name, value in controls.items() if value and name in KEPT_CONTROLS},
        proofs={name: controls[name] for name in PROOFS & controls.keys()},
        spam_reasons=[f"honeypot: {HONEYPOT} was filled in"] if controls.get(HONEYPOT) else [],
        dropped=dropped,
    )


def request_meta(request: HttpRequest) -> dict[str, str | None]:
    """Return the metadata to store: `{ip, userAgent, origin, referer}`."""
    meta: dict[str, str | None] = {"ip": client_address(request)}
    for name, (header, most) in META.items():
        meta[name] = clean_text(request.META.get(header, ""))[:most] or None
    return meta


def is_control(name: str, page_controls: Collection[str] = ()) -> bool:
    """Return whether a name controls the submission instead of being data; `page_controls` as for `take_in`."""
    return name in CONTROL_FIELDS or name in CAPTCHA_FIELDS or name in page_controls


def as_text(value: Any) -> str:
    """Return the string that is stored for a JSON scalar."""
    if isinstance(value, NumberText):
        return str.__str__(value)
    if isinstance(value, str):
        return clean_text(value)
    if value is None:
        return ""
    return "true" if value is True else "false"


def _problem(name: str, raw: Any, text: str) -> Detail | None:
    """Return the error of one field, given its cleaned name, its JSON value and the text of that, or None."""
    if not name:
        return Detail("", "blank", "A field has an empty name. Name it or leave it out.")
    shown = name[:MAX_NAME]
    if len(name) > MAX_NAME:
        message = f"A field's name is longer than {MAX_NAME} characters: {shown}…"
        return Detail(shown, "too_long", message, has_subject=True)
    if isinstance(raw, dict) or (isinstance(raw, list) and any(isinstance(member, dict | list) for member in raw)):
        message = f"{shown} must be a string, a number, a boolean, null or a list of these."
        return Detail(shown, "invalid_type", message, has_subject=True)
    if len(text) > MAX_VALUE:
        return Detail(shown, "too_long", f"{shown} is longer than {MAX_VALUE:,} characters.", has_subject=True)
    return None


def _data_count(body: Mapping[str, Any], page_controls: Collection[str]) -> int:
    if len(body) <= MAX_FIELDS:
        return len(body)
    return sum(not is_control(clean_name(name), page_controls) for name in body)
