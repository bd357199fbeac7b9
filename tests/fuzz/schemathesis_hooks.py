"""
Rules that schemathesis cannot read from an OpenAPI schema. Its command line loads them (see `test_schema.py`).

Ids that exist come as JSON in the environment, so that generated requests reach more than a 404. Cases that are meant
to be refused are not changed.
"""

import itertools
import json
import os
import zlib
from collections.abc import Iterator
from typing import Any

import schemathesis
from hypothesis import strategies as st
from requests import PreparedRequest, Response
from requests.adapters import HTTPAdapter
from schemathesis import Case

from config.base.text import clean_name

OWN_KEY = os.environ["FUZZING_KEY"]
IDS: dict[str, list[str]] = json.loads(os.environ["FUZZING_IDS"])  # by prefix, such as `frm`
FILE_FIELD = "cv"  # of the form that takes files
# `submissionId` and `webhookId` of a delivery, `importId` of a dry run.
MAY_BE_NULL = {"submissions": "sub", "webhooks": "whk", "imports": "imp"}
LONG = 1_000  # characters
numbers = itertools.count()
send = HTTPAdapter.send


def send_from_anywhere(adapter: HTTPAdapter, request: PreparedRequest, *arguments: Any, **options: Any) -> Response:
    """
    Send each request as if from its own address: many have no key, and an address may send 100 of those an hour.

    A hook cannot do it: schemathesis takes a case for corrected when a hook has touched its headers.
    """
    number = next(numbers)
    request.headers["X-Forwarded-For"] = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    return send(adapter, request, *arguments, **options)


HTTPAdapter.send = send_from_anywhere  # type: ignore[method-assign, assignment] # only in schemathesis's own process

# A key's expiry must not lie in the past, and a range of hours is at most three months long.
schemathesis.openapi.format("date", st.integers(1, 28).map("2999-03-{:02}".format))
schemathesis.openapi.format("date-time", st.integers(1, 28).map("2999-03-{:02}T09:30:00+01:00".format))
# A webhook's address is looked up when it is saved: no name, and a port on which nothing listens.
schemathesis.openapi.format("uri", st.from_regex(r"http://127\.0\.0\.1:9/[a-z0-9]{1,8}", fullmatch=True))


@schemathesis.hook
def before_load_schema(_context: schemathesis.HookContext, raw_schema: dict[str, Any]) -> None:
    """
    Let records have no other members than those of the document, which lets clients ignore later ones.

    Long texts lose their pattern, which only says that they are not blank; names keep the same one. Schemathesis draws
    a text with a pattern character by character: the 5,000 of a reply took most of a run's time.
    """
    for schema in raw_schema["components"]["schemas"].values():
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
            for member in schema["properties"].values():
                if member.get("maxLength", 0) > LONG:
                    member.pop("pattern", None)


@schemathesis.hook
def before_call(_context: schemathesis.HookContext, case: Case[Any], _kwargs: dict[str, Any]) -> None:
    """Replace a call that would revoke the key of all cases, and an id that was null in the answer before."""
    drawn = (case.path_parameters or {}).get("id", "")
    segment = case.operation.path.partition("/{")[0].rpartition("/")[2]
    if drawn == OWN_KEY:
        case.path_parameters["id"] = IDS["key"][0]
    if drawn in (None, "None") and segment in MAY_BE_NULL:  # of a test event, of a mail, of a dry run
        case.path_parameters["id"] = IDS[MAY_BE_NULL[segment]][0]
    if case.meta is not None and case.meta.generation.mode.is_positive and isinstance(case.body, dict):
        name_anew(case.body)


@schemathesis.hook
def filter_case(_context: schemathesis.HookContext, case: Case[Any]) -> bool:
    """
    Leave out a text that is too long, but is accepted because cleaning makes it shorter.

    U+0000 and spaces around it are removed, and names are composed, before anything is checked (docs/contract.md 1.8).
    """
    is_positive = case.meta is None or case.meta.generation.mode.is_positive
    return is_positive or not any(len(clean_name(one).strip()) < len(one) for one in texts(case.body))


def texts(value: Any) -> Iterator[str]:
    """Yield the texts and names in JSON, or in the fields of a form. Cases can be nested deeper than Python's stack."""
    values = [value]
    while values:
        one = values.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, list):
            values += one
        elif isinstance(one, dict):
            values += [*one, *one.values()]


@schemathesis.hook
def map_case(_context: schemathesis.HookContext, case: Case[Any]) -> Case[Any]:
    """Make a request that is valid by the schema valid by what a schema cannot say, too."""
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return case
    if case.meta.phase.name.value != "stateful":  # there, ids come from earlier answers
        name_existing(case)
    if isinstance(case.body, dict) and "_formId" in case.body:  # read only where the query has no form id
        case.body["_formId"] = IDS["frm"][zlib.crc32(repr(case.body["_formId"]).encode()) % len(IDS["frm"])]
    if isinstance(case.query, dict) and "cursor" in case.query:
        correct_cursor(case.query)
    for values in (case.query, case.body):
        correct_range(values)
    if isinstance(case.query, dict) and "columns" in case.query:
        correct_columns(case.query)
    if isinstance(case.body, dict):
        correct_form(case.body)
        correct_look(case.body)
        if case.operation.path.endswith("/by-key/{key}"):
            case.body.pop("key", None)  # another one than that of the path is refused
        correct_destination(case.body)
        if case.operation.path == "/api/uploads":
            name_file_field(case.body)
    return case


def name_existing(case: Case[Any]) -> None:
    """Replace most ids in path, query and body by existing ones."""
    for values, name in ((case.path_parameters, "id"), (case.query, "formId"), (case.body, "formId")):
        if isinstance(values, dict) and values.get(name) is not None:  # null: a webhook of all forms
            values[name] = existing(str(values[name]))
    ids = case.body.get("ids") if isinstance(case.body, dict) else None
    if isinstance(case.body, dict) and isinstance(ids, list):
        case.body["ids"] = [existing(str(one)) for one in ids]


def existing(drawn: str) -> str:
    """Return an existing id for most drawn ids of its kind; always the same."""
    known, number = IDS.get(drawn[:3], []), zlib.crc32(drawn.encode())
    return known[number % len(known)] if known and number % 5 else drawn


def name_file_field(body: dict[str, Any]) -> None:
    """Name the form and the field that take files, with content that they take."""
    body.update(formId=IDS["files"][0], field=FILE_FIELD, file=b"A text")


def correct_range(values: Any) -> None:
    """Make `from` and `to`, which a pattern draws, days and times that exist."""
    for name in ("from", "to"):
        if isinstance(values, dict) and name in values:
            day = f"2999-03-{zlib.crc32(repr(values[name]).encode()) % 28 + 1:02}"
            values[name] = day if len(values[name]) == len(day) else f"{day}T09:30:00+01:00"


def correct_cursor(query: dict[str, Any]) -> None:
    """Begin to read on, without what has no place in that order. Cursors of answers are for other tests."""
    query["cursor"] = ""
    query.pop("page", None)
    for name, value in (("spam", "false"), ("held", "true")):
        if name in query:
            query[name] = value


def correct_columns(query: dict[str, Any]) -> None:
    """Choose columns for CSV only, and each once: the pattern of the parameter cannot say it."""
    names = query.pop("columns").split(",")
    if query.get("format", "csv") == "csv":
        query["columns"] = ",".join(f"{name} {place}" for place, name in enumerate(names))


def correct_destination(body: dict[str, Any]) -> None:
    """Give a destination the config of its kind, which the document leaves open. All of them are of one kind."""
    if "config" in body:
        body["config"] = {"url": "http://127.0.0.1:9/in", "template": {"id": "{{ submission.id }}"}}
        body.update({"kind": "http"} if "kind" in body else {})


def name_anew(body: dict[str, Any]) -> None:
    """
    Give a new destination a name that none has had.

    All have the same config, so a scenario could repeat an `Idempotency-Key` with the same body, get the first answer
    again, and not find the destination, which the earlier scenario had deleted.
    """
    if "kind" in body and isinstance(body.get("name"), str):
        body["name"] = f"{body['name'][:180]}{next(numbers)}"


def correct_file_field(field: dict[str, Any]) -> None:
    """Make 5.0 an integer, and accept types that are not those of programs, which are refused."""
    field.update({name: int(field[name]) for name in ("maxFiles", "maxBytes") if isinstance(field.get(name), float)})
    if "accept" in field:
        field["accept"] = [".pdf", "image/*"]


def correct_look(body: dict[str, Any]) -> None:
    """Ask no strangers, load no captcha, and give colors, names and links that are not refused for what they say."""
    known: dict[str, Any] = {
        "recipients": [],
        "replyTo": None,
        "senderName": "Nora",
        "accent": None,
        "returnUrl": "https://shop.example/back",
    }
    if isinstance(body.get("spam"), dict):
        known["spam"] = {"minSeconds": 2, "maxLinks": 3, "proofOfWork": True}
    body.update({name: value for name, value in known.items() if name in body})


def correct_form(body: dict[str, Any]) -> None:
    """
    Make names distinct, a redirect a URL and 5.0 an integer.

    Require no field: the default form cannot have a required one. Answer nobody: these forms have no human check.
    """
    if isinstance(body.get("reply"), dict):
        body["reply"] = {"enabled": False, "subject": "Thanks", "text": "We answer soon."}
    if "confirmation" in body:
        body["confirmation"] = False
    if body.get("redirectUrl"):
        body["redirectUrl"] = "https://shop.example/thanks"
    if isinstance(body.get("retentionDays"), float):
        body["retentionDays"] = int(body["retentionDays"])
    for field in body["fields"] if isinstance(body.get("fields"), list) else []:
        correct_file_field(field)
    for place, field in enumerate(body["fields"] if isinstance(body.get("fields"), list) else []):
        if "name" in field:
            field["name"] = f"{field['name'][:100]} {place}"
        if "required" in field:
            field["required"] = False
