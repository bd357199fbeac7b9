"""
Google Sheets against a server that this test plays from the vendor's documents.

developers.google.com/identity/protocols/oauth2/service-account and /workspace/sheets/api
"""

import base64
import json
from typing import Any
from urllib.parse import parse_qs, unquote

import pytest
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256

from config.api.errors import ValidationFailed
from tests.services.receivers import Receiver, Reply
from tests.unit.webhooks.kinds.kinds_at_work import HOSTILE, SUBMITTED, URL, deliver
from webhooks.kinds import google_sheets, google_tokens
from webhooks.kinds.registry import KINDS
from webhooks.kinds.submitted import Submitted

EMPTY = Reply(body=b'{"range": "A!A1:Z1", "majorDimension": "ROWS"}')
TOKEN = Reply(body=b'{"access_token": "ya29.token", "expires_in": 3599, "token_type": "Bearer"}')


def test_sheets__submission__signs_for_googles_address_and_appends_by_header(
    vendor: Receiver, sheets: dict[str, Any], key: RSAPrivateKey
) -> None:
    vendor.replies.extend([TOKEN, Reply(body=b'{"values": [["name", "Submission ID"]]}'), Reply(), Reply()])
    assert deliver("google_sheets", sheets).succeeded
    token, headers, added, appended = vendor.requests
    assert (token.path, token.headers["x-asked-host"]) == ("/token", "oauth2.googleapis.com")
    assertion = parse_qs(token.body.decode())["assertion"][0]
    signed, _, signature = assertion.rpartition(".")
    key.public_key().verify(base64.urlsafe_b64decode(signature + "=="), signed.encode(), PKCS1v15(), SHA256())
    claims = json.loads(base64.urlsafe_b64decode(signed.split(".")[1] + "=="))
    assert (claims["iss"], claims["aud"]) == (
        "robot@project.iam.gserviceaccount.com",
        "https://oauth2.googleapis.com/token",
    )
    assert claims["exp"] - claims["iat"] == 3600
    place = f"/v4/spreadsheets/{'a' * 44}/values/'It''s'!"
    assert (headers.method, unquote(headers.path)) == ("GET", f"{place}1:1")
    assert (added.method, unquote(added.path)) == ("PUT", f"{place}C1?valueInputOption=RAW")
    assert json.loads(added.body)["values"] == [["Submitted at", "empty"]]
    assert unquote(appended.path) == f"{place}A1:append?valueInputOption=RAW&insertDataOption=INSERT_ROWS"
    assert json.loads(appended.body)["values"] == [[HOSTILE, "sub_1", "2026-11-23T00:00:00.000Z", ""]]
    assert appended.headers["authorization"] == "Bearer ya29.token"
    vendor.replies.extend([Reply(body=b'{"values": [["name", "Submission ID", "Submitted at", "empty"]]}'), Reply()])
    assert deliver("google_sheets", sheets).succeeded
    assert len(vendor.requests) == 6  # the token is kept


@pytest.mark.parametrize(
    ("replies", "reason"),
    [
        ([Reply(400, body=b'{"error": "invalid_grant"}')], google_tokens.NO_KEY),
        ([TOKEN, Reply(403, body=b'{"error": {"status": "PERMISSION_DENIED"}}')], google_sheets.NO_ACCESS),
        ([TOKEN, Reply(400, body=b'{"error": {"message": "Unable to parse range: X!1:1"}}')], google_sheets.NO_SHEET),
        ([TOKEN, Reply(429, {"Retry-After": "60"})], ""),
        ([TOKEN, Reply(403, body=b'{"error": {"details": [{"reason": "SERVICE_DISABLED"}]}}')], google_sheets.NO_API),
        ([Reply(400, body=b'{"error_description": "Invalid JWT: ... in a reasonable timeframe."}')], ""),  # our clock
        ([Reply(503)], ""),
        ([Reply(body=b"{}")], ""),
    ],
)
def test_sheets__answer__is_classified(
    vendor: Receiver, sheets: dict[str, Any], replies: list[Reply], reason: str
) -> None:
    vendor.replies.extend(replies)
    outcome = deliver("google_sheets", sheets)
    assert (outcome.succeeded, outcome.refused, bool(outcome.error)) == (False, reason, True)
    assert "ya29" not in outcome.response_excerpt


def test_sheets__config__shows_no_key(sheets: dict[str, Any]) -> None:
    kind = KINDS["google_sheets"]
    config = kind.read(sheets)
    assert kind.shown(config) == {**sheets, "credentials": {"hint": "…cdef"}}
    request = kind.render(SUBMITTED, config)
    assert "PRIVATE KEY" not in repr(request) + request.logged()


def test_sheets__many_columns__puts_the_rest_into_one(vendor: Receiver, sheets: dict[str, Any]) -> None:
    vendor.replies.extend([TOKEN, EMPTY, Reply(), Reply()])
    wide = Submitted("F", "sub_1", "t", {f"n{number}": str(number) for number in range(300)}, {}, URL)
    assert deliver("google_sheets", sheets, wide).succeeded
    added, row = (json.loads(one.body)["values"][0] for one in vendor.requests[2:])
    assert (len(added), added[-1], len(row)) == (200, "Other values", 200)
    assert row[-1].splitlines()[-1] == "n299: 299"


FULL = b'{"error": {"message": "Range (A!C1) exceeds grid limits. Max rows: 1000, max columns: 26"}}'
SHEET = {"sheetId": 7, "title": "It's", "gridProperties": {"columnCount": 3}}
GRID = json.dumps({"sheets": [{"properties": {"title": "x"}}, {"properties": SHEET}]}).encode()


def test_sheets__sheet_is_too_narrow__is_widened(vendor: Receiver, sheets: dict[str, Any]) -> None:
    vendor.replies.extend([TOKEN, EMPTY, Reply(400, body=FULL), Reply(body=GRID), Reply(), Reply(), Reply()])
    assert deliver("google_sheets", sheets).succeeded
    asked, widened, again = vendor.requests[3:6]
    assert (asked.method, asked.path) == ("GET", f"/v4/spreadsheets/{'a' * 44}?fields=sheets.properties")
    assert (widened.method, widened.path) == ("POST", f"/v4/spreadsheets/{'a' * 44}:batchUpdate")
    columns = {"sheetId": 7, "dimension": "COLUMNS", "length": 1}
    assert json.loads(widened.body) == {"requests": [{"appendDimension": columns}]}
    assert (again.method, again.path, again.body) == ("PUT", vendor.requests[2].path, vendor.requests[2].body)


def test_sheets__sheet_cannot_be_widened__needs_attention(vendor: Receiver, sheets: dict[str, Any]) -> None:
    vendor.replies.extend([TOKEN, EMPTY, Reply(400, body=FULL), Reply(body=b'{"sheets": 5}')])
    assert deliver("google_sheets", sheets).refused == google_sheets.NO_COLUMN


@pytest.mark.parametrize("answer", [b'{"values": [["Name", "Submission', b"<html>", b"{}", b'{"values": ["a"]}', b""])
def test_sheets__headers_that_cannot_be_read__are_never_overwritten(
    vendor: Receiver, sheets: dict[str, Any], answer: bytes
) -> None:
    vendor.replies.extend([TOKEN, Reply(body=answer)])
    outcome = deliver("google_sheets", sheets)
    assert (outcome.succeeded, outcome.error, outcome.refused) == (False, "invalid_response", "")
    assert len(vendor.requests) == 2


@pytest.mark.parametrize(
    "values",
    [{"private_key_id": "\ud800"}, {"private_key": "-----BEGIN PRIVATE KEY-----\n" + "A" * 9_000}, {"type": 1}],
)
def test_sheets__key_that_is_wrong__is_refused(sheets: dict[str, Any], values: dict[str, Any]) -> None:
    config = {**sheets, "credentials": {**json.loads(sheets["credentials"]), **values}}
    with pytest.raises(ValidationFailed) as refused:
        KINDS["google_sheets"].read(config)
    assert [detail.field for detail in refused.value.details] == ["config.credentials"]
