"""
Malformed bodies at every endpoint that reads one: a clear 4xx in the envelope, nothing stored, never a 500.

Well-formed bodies with wrong values are in `test_wrong_values.py`.
"""

from typing import Any

import pytest

from tests.services.client import Answer, Client
from tests.support.replies import REQUEST_ID, failure
from tests.support.submitting import chunked
from tests.support.tables.body_endpoints import BodyEndpoint, every_endpoint
from tests.support.tables.stored_rows import stored_rows
from tests.support.tenants import Tenant, make_tenant

pytestmark = pytest.mark.on_sqlite  # refused before anything is looked up

JSON = {"Content-Type": "application/json"}
TOO_DEEP = "The body is nested more than 32 levels deep."


def member(value: str) -> bytes:
    """Return an object whose one value is this text."""
    return b'{"name": ' + value.encode() + b"}"


# mistake -> (the body, the message that names it)
MALFORMED: dict[str, tuple[bytes, str]] = {
    "cut off": (b'{"name": "New"', "The body is not JSON: Expecting ',' delimiter at line 1, column 15."),
    "trailing comma": (b'{"name": "New",}', "The body is not JSON: "),
    "single quotes": (b"{'name': 'New'}", "The body is not JSON: "),
    "two objects": (b'{"name": "New"}{}', "The body is not JSON: Extra data at line 1, column 16."),
    "form data": (b"name=New", "The body is not JSON: Expecting value at line 1, column 1."),
    "blanks": (b" \n ", "The body is not JSON: Expecting value at line 2, column 2."),
    "control character": (b'{"name": "a\x01b"}', "The body is not JSON: Invalid control character at"),
    "broken escape": (b'{"name": "\\u12"}', "The body is not JSON: Invalid \\uXXXX escape"),
    "comment": (b'{"name": "New"} // done', "The body is not JSON: Extra data"),
    "array": (b'[{"name": "New"}]', "The body must be one JSON object, not an array."),
    "string": (b'"New"', "The body must be one JSON object, not a string."),
    "number": (b"5", "The body must be one JSON object, not a number."),
    "true": (b"true", "The body must be one JSON object, not a boolean."),
    "null": (b"null", "The body must be one JSON object, not null."),
    "NaN": (member("NaN"), "NaN is not JSON. Send a number, a string or null."),
    "Infinity": (member("Infinity"), "Infinity is not JSON. Send a number, a string or null."),
    "-Infinity": (member("[-Infinity]"), "-Infinity is not JSON. Send a number, a string or null."),
    "1e999": (member("1e999"), "The number 1e999 is too large for JSON."),
    "-1e999": (member("[[-1e999]]"), "The number -1e999 is too large for JSON."),
    "5,000 digits": (member("9" * 5000), "A number has more than 4300 digits."),
    "5,000 nested lists": (member("[" * 5000 + "]" * 5000), TOO_DEEP),
    "5,000 open brackets": (b"[" * 5000, "The body is "),
    "5,000 nested objects": (b'{"a":' * 5000 + b"1" + b"}" * 5000, TOO_DEEP),
    "100,000 nested lists": (member("[" * 100_000 + "]" * 100_000), TOO_DEEP),
    "33 levels": (member("[" * 32 + "]" * 32), TOO_DEEP),
    "Latin-1": (b'{"name": "caf\xe9"}', "The body is not UTF-8 at byte 14."),
    "UTF-16": ('{"name": "New"}'.encode("utf-16"), "The body is not UTF-8 at byte 1."),
    "half a character": (b'{"name": "\xf0\x9f\x98"}', "The body is not UTF-8 at byte 11."),
    "surrogate bytes": (b'{"name": "\xed\xa0\x80"}', "The body is not UTF-8 at byte 11."),
    "overlong NUL": (b'{"name": "\xc0\x80"}', "The body is not UTF-8 at byte 11."),
}


def send(api: Client, tenant: Tenant, endpoint: BodyEndpoint, path: str, body: Any, headers: dict[str, str]) -> Answer:
    answer = api.request(endpoint.method, path, tenant.key, data=body, headers=headers)
    assert answer.headers["X-Request-Id"] == REQUEST_ID
    return answer


@every_endpoint
def test_body__that_is_no_json_object__is_told_and_nothing_stored(api: Client, endpoint: BodyEndpoint) -> None:
    tenant = make_tenant()
    path = endpoint.path(tenant)
    before = stored_rows(tenant)

    for what, (body, message) in MALFORMED.items():
        answer = send(api, tenant, endpoint, path, body, JSON)
        told = answer.json()
        assert (what, answer.status, told) == (what, 400, failure("invalid_json", told["message"]))
        assert told["message"].startswith(message), what
    assert stored_rows(tenant) == before


@every_endpoint
def test_body__left_out__is_refused_where_one_is_needed(api: Client, endpoint: BodyEndpoint) -> None:
    tenant = make_tenant()
    path = endpoint.path(tenant)
    before = stored_rows(tenant)

    answer = send(api, tenant, endpoint, path, b"", JSON)

    if endpoint.optional:
        assert answer.status in (200, 201), answer.text
    else:
        message = "The body is not JSON: Expecting value at line 1, column 1."
        assert (answer.status, answer.json()) == (400, failure("invalid_json", message))
        assert stored_rows(tenant) == before


MEDIA_TYPES = [
    None,
    "",
    "text/plain",
    "text/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/jsonp",
    "application/xml; charset=application/json",
    "json",
    "application/json" + ";" * 1024,  # too long: parsing its parameters would take quadratic time
]


@every_endpoint
def test_body__of_another_media_type__is_refused_and_nothing_stored(api: Client, endpoint: BodyEndpoint) -> None:
    tenant = make_tenant()
    path = endpoint.path(tenant)
    before = stored_rows(tenant)

    for media_type in MEDIA_TYPES:
        headers = {} if media_type is None else {"Content-Type": media_type}
        answer = send(api, tenant, endpoint, path, b'{"name": "New", "a": "1", "spam": true}', headers)
        told = "Send the body as JSON, with the header Content-Type: application/json."
        assert (media_type, answer.status) == (media_type, 415)
        assert answer.json() == failure("unsupported_media_type", told)
    assert stored_rows(tenant) == before


@pytest.mark.parametrize(
    "media_type", ["application/json", "APPLICATION/JSON", "application/json; charset=utf-8", "application/json ;x=y"]
)
def test_body__of_json_in_any_spelling__is_read(api: Client, media_type: str) -> None:
    headers = {"Content-Type": media_type}

    assert api.post("/api/forms", make_tenant().key, data=b'{"name": "New"}', headers=headers).status == 201
    assert api.post("/api/submit", make_tenant().key, data=b'{"a": "1"}', headers=headers).status == 201


@every_endpoint
@pytest.mark.parametrize("as_chunks", [False, True], ids=["with a length", "chunked"])
def test_body__larger_than_its_limit__is_refused_and_nothing_stored(
    api: Client, endpoint: BodyEndpoint, as_chunks: bool
) -> None:
    tenant = make_tenant()
    path = endpoint.path(tenant)
    before = stored_rows(tenant)
    size, told = endpoint.row.too_large
    body = b'{"name": "' + b"n" * size + b'"}'

    answer = send(api, tenant, endpoint, path, chunked(body) if as_chunks else body, JSON)

    assert (answer.status, answer.json()) == (413, failure("payload_too_large", told))
    assert stored_rows(tenant) == before


def test_body__with_a_byte_order_mark_or_chunked__is_read(api: Client) -> None:
    tenant = make_tenant()

    marked = api.post("/api/forms", tenant.key, data=b'\xef\xbb\xbf{"name": "Marked"}', headers=JSON)
    in_chunks: Any = chunked(b'{"name": "In chunks"}', size=5)
    sent = api.post("/api/forms", tenant.key, data=in_chunks, headers=JSON)

    assert [answer.json()["data"]["name"] for answer in (marked, sent)] == ["Marked", "In chunks"]


def test_body__of_32_levels__is_not_too_deep(api: Client) -> None:
    answer = api.post("/api/forms", make_tenant().key, data=member("[" * 31 + "]" * 31), headers=JSON)

    assert (answer.status, answer.json()["error"]) == (400, "validation_error")
