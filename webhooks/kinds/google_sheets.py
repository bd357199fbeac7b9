"""
Google Sheets, by a service account whose key the organization pastes.

The token comes from Google's own address; the one in the pasted key is ignored. Columns are found by the text of their
header, so a moved column stays right; missing headers are added.

https://developers.google.com/identity/protocols/oauth2/service-account#httprest
https://developers.google.com/workspace/sheets/api/reference/rest/v4/spreadsheets.values
https://developers.google.com/workspace/sheets/api/reference/rest/v4/spreadsheets/request#AppendDimensionRequest
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from django.utils.translation import gettext, gettext_lazy, gettext_noop
from rest_framework import serializers

from config.api.serializers import NameField, StrictSerializer, TextField
from config.secrets.hints import hint
from submissions.json_text import dump_json
from webhooks.kinds.google_tokens import CredentialsField, forget_token, token_of
from webhooks.kinds.kind import JSON, SECRET_LINES, USER_AGENT, Config, Input, Kind, Preview, Request, answer_of
from webhooks.kinds.submitted import Submitted, cut
from webhooks.models import ErrorClass
from webhooks.transport import http
from webhooks.transport.connection import MAX_ANSWER_BYTES
from webhooks.transport.outcome import EXCERPT_BYTES, Outcome

SHEETS = "https://sheets.googleapis.com/v4/spreadsheets"
ENOUGH_SECONDS = 15.0  # no further request of the same row begins after this; one takes 15 at most
MOST_COLUMNS = 200  # a page may send any names: what is over goes into one column
MOST_CELL = 50_000  # characters
OWN_COLUMNS = ("Submission ID", "Submitted at")
OTHERS = "Other values"
ID = re.compile(r"[A-Za-z0-9_-]{20,100}")
NO_ACCESS = gettext_noop(
    "Google refused access to the sheet. Share it with the address of the service account, as an editor."
)
NO_API = gettext_noop("The Google Sheets API is not enabled in the project of the service account. Enable it there.")
NO_SHEET = gettext_noop("The sheet is not in this file. Check its name.")
NO_COLUMN = gettext_noop("The sheet has no free column for a new field. Add columns on its right.")


class SheetsConfig(StrictSerializer):
    credentials = CredentialsField()
    spreadsheetId = TextField(max_length=100)
    sheet = NameField(max_length=100)

    def validate_spreadsheetId(self, text: str) -> str:
        if not ID.fullmatch(text):
            message = gettext("Paste the long part of the sheet's address, between /d/ and /edit.")
            raise serializers.ValidationError(message, code="invalid_id")
        return text


def id_in(address: str) -> str:
    """Return the ID in the address of a spreadsheet; any other text as it is."""
    after = address.partition("/d/")[2]
    return after.partition("/")[0].partition("?")[0].partition("#")[0] if after else address


class GoogleSheets(Kind):
    """A row for each submission, with raw values: a text that begins with = is no formula."""

    name = "google_sheets"
    label = "Google Sheets"
    config_class = SheetsConfig
    pace = 1.0  # 60 writes a minute for an account
    refused = frozenset({401, 403, 404})
    reason = NO_ACCESS
    summary = gettext_lazy("A row in a spreadsheet for each submission, under the names of the fields.")
    steps = (
        gettext_lazy(
            "Open https://console.cloud.google.com, choose or make a project, and enable the Google Sheets API in it."
        ),
        gettext_lazy("Under IAM & Admin, Service Accounts, create a service account. It needs no role."),
        gettext_lazy("Open it, then Keys, Add key, Create new key, JSON. Paste the whole content of the file here."),
        gettext_lazy("Share the spreadsheet with the address of the service account, as an editor."),
        gettext_lazy("Copy the address of the spreadsheet, and the name of the sheet from the tab at its bottom."),
    )
    inputs = (
        Input(
            *("credentials", gettext_lazy("Key of the service account")),
            gettext_lazy("The JSON file, whole. The preview then shows the address to share the spreadsheet with."),
            SECRET_LINES,
            '{"type": "service_account", …}',
        ),
        Input(
            *("spreadsheetId", gettext_lazy("Spreadsheet"), gettext_lazy("Its address in the browser, or its ID.")),
            placeholder="https://docs.google.com/spreadsheets/d/…/edit",
            reads=id_in,
        ),
        Input("sheet", gettext_lazy("Sheet"), gettext_lazy("The name on the tab."), initial="Sheet1"),
    )
    example = {"credentials": {}, "spreadsheetId": "0", "sheet": "Sheet1"}

    def shown(self, config: Config) -> Config:
        return {**config, "credentials": hint(config["credentials"]["private_key_id"])}

    def remarks(self, config: Config) -> list[str]:
        """Return with which address the sheet has to be shared."""
        address = config["credentials"].get("client_email")
        if not address:
            return []
        return [gettext("Share the spreadsheet with %(address)s, as an editor.") % {"address": address}]

    def previewed(self, request: Request, submitted: Submitted) -> Preview:  # noqa: ARG002  # the interface of kinds
        return Preview(cells=tuple(_cells(submitted).items()))

    def render(self, submitted: Submitted, config: Config) -> Request:
        """Return the row as it is logged; `send` arranges it by the headers of the sheet."""
        url = f"{_values(config, 'A1')}:append?valueInputOption=RAW&insertDataOption=INSERT_ROWS"
        body = dump_json({"majorDimension": "ROWS", "values": [list(_cells(submitted).values())]}).encode()
        return Request(url, body, {"Content-Type": JSON}, url, config=config, submitted=submitted)

    def send(self, request: Request, endpoint: str) -> Outcome:
        """Get a token, read the headers, add those that are missing, and append the row."""
        assert request.config is not None  # noqa: S101 - as `render` made it
        assert request.submitted is not None  # noqa: S101 - as `render` made it
        started = time.monotonic()
        outcome = self._append(request.config, request.submitted, endpoint, started)
        if outcome.status == 401 and forget_token(request.config["credentials"]):
            outcome = self._append(request.config, request.submitted, endpoint, started)  # it was an old token
        return outcome

    def _append(self, config: Mapping[str, Any], submitted: Submitted, endpoint: str, started: float) -> Outcome:
        token, failure = token_of(config["credentials"])
        if failure is not None:
            return failure
        headers = {"Authorization": f"Bearer {token}", "Content-Type": JSON, "User-Agent": USER_AGENT}

        def call(method: str, url: str, value: Any = None) -> Outcome:
            if time.monotonic() - started > ENOUGH_SECONDS:
                return Outcome(False, None, 0, ErrorClass.TIMEOUT.value)
            body = b"" if value is None else dump_json(value).encode()
            return http.post(url, body, headers, endpoint=endpoint, method=method, kept=MAX_ANSWER_BYTES)

        outcome = call("GET", _values(config, "1:1"))
        if not outcome.succeeded:
            return self._ended(outcome, started)
        present = _first_row(outcome)
        if present is None:  # without it the row would be put under wrong headers, and new ones over old ones
            return self._ended(replace(outcome, succeeded=False, error=ErrorClass.INVALID_RESPONSE.value), started)
        cells = _cells(submitted)
        columns, added = _columns(present, cells)
        if added and not (outcome := _add_headers(call, config, present, added)).succeeded:
            return self._ended(outcome, started)
        row = {"majorDimension": "ROWS", "values": [_arranged(cells, columns)]}
        where = f"{_values(config, 'A1')}:append?valueInputOption=RAW&insertDataOption=INSERT_ROWS"
        return self._ended(call("POST", where, row), started)

    def _ended(self, outcome: Outcome, started: float) -> Outcome:
        spent = round((time.monotonic() - started) * 1000)
        kept = outcome.response_excerpt[:EXCERPT_BYTES]
        return self.judge(replace(outcome, duration_ms=spent, response_excerpt=kept))

    def judge(self, outcome: Outcome) -> Outcome:
        """Find the other faults that only somebody can correct: no API, no such sheet, no free column."""
        judged = super().judge(outcome)
        if outcome.status == 403 and "SERVICE_DISABLED" in outcome.response_excerpt:
            return replace(judged, refused=NO_API)
        if outcome.status == 400 and "Unable to parse range" in outcome.response_excerpt:
            return replace(judged, refused=NO_SHEET)
        if _is_too_narrow(outcome):
            return replace(judged, refused=NO_COLUMN)
        return judged


def _values(config: Mapping[str, Any], cells: str) -> str:
    name = config["sheet"].replace("'", "''")
    where = quote(f"'{name}'!{cells}", safe="")
    return f"{SHEETS}/{config['spreadsheetId']}/values/{where}"


def _cells(submitted: Submitted) -> dict[str, str]:
    """Return the values by the text of their header."""
    own = dict(zip(OWN_COLUMNS, (submitted.id, submitted.created_at), strict=True))
    reserved = {*OWN_COLUMNS, OTHERS}
    given = {f"data.{name}" if name in reserved else name: value for name, value in submitted.data.items()}
    return {name: cut(value, MOST_CELL) for name, value in (own | given).items()}


def _first_row(outcome: Outcome) -> list[str] | None:
    """Return the headers, [] for an empty row; None for an answer that is not one, or was cut off."""
    answer = answer_of(outcome)
    rows = answer.get("values", [[]])
    is_whole = isinstance(rows, list) and all(isinstance(row, list) for row in rows)
    if not is_whole or not answer.keys() & {"values", "range"}:
        return None
    return [str(cell) for cell in rows[0]] if rows else []


Call = Callable[..., Outcome]


def _add_headers(call: Call, config: Mapping[str, Any], present: Sequence[str], added: Sequence[str]) -> Outcome:
    """Write new headers behind those that are there. A new sheet has 26 columns: add some if these are not enough."""
    place = f"{_values(config, f'{_letters(len(present) + 1)}1')}?valueInputOption=RAW"
    row = {"majorDimension": "ROWS", "values": [list(added)]}
    outcome = call("PUT", place, row)
    if not _is_too_narrow(outcome):
        return outcome
    widened = _widen(call, config, len(present) + len(added))
    return call("PUT", place, row) if widened is not None and widened.succeeded else widened or outcome


def _widen(call: Call, config: Mapping[str, Any], columns: int) -> Outcome | None:
    """Give the sheet so many columns. None if the answer does not say which one it is."""
    address = f"{SHEETS}/{config['spreadsheetId']}"
    asked = call("GET", f"{address}?fields=sheets.properties")
    if not asked.succeeded:
        return asked
    for properties in _properties_in(answer_of(asked)):
        there = properties.get("gridProperties")
        number = there.get("columnCount") if isinstance(there, dict) else None
        if properties.get("title") == config["sheet"] and isinstance(number, int):
            if number >= columns:
                return asked  # somebody has added some meanwhile
            # Its id is left out when it is 0, as of the first sheet of a file.
            where = {"sheetId": properties.get("sheetId", 0), "dimension": "COLUMNS", "length": columns - number}
            return call("POST", f"{address}:batchUpdate", {"requests": [{"appendDimension": where}]})
    return None


def _properties_in(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    sheets = answer.get("sheets")
    found = [each.get("properties") for each in sheets if isinstance(each, dict)] if isinstance(sheets, list) else []
    return [each for each in found if isinstance(each, dict)]


def _is_too_narrow(outcome: Outcome) -> bool:
    return outcome.status == 400 and "exceeds grid limits" in outcome.response_excerpt


def _columns(present: Sequence[str], cells: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Return the headers of all columns after those that are missing were added, and the added ones."""
    missing = [name for name in cells if name not in present]
    room = max(0, MOST_COLUMNS - 1 - len(present))
    added = missing[:room]
    if len(missing) > room and OTHERS not in present:
        added.append(OTHERS)
    return [*present, *added], added


def _arranged(cells: Mapping[str, str], columns: Sequence[str]) -> list[str]:
    """Return the row in the order of the columns; values without one are together in the last."""
    rest = [f"{name}: {value}" for name, value in cells.items() if name not in columns]
    known = {**cells, OTHERS: cut("\n".join(rest), MOST_CELL)} if rest else {**cells}
    return [known.pop(name, "") for name in columns]  # a value goes into one of two columns with its name


def _letters(number: int) -> str:
    """Return the letters of a column, from 1: A, …, Z, AA."""
    letters = ""
    while number:
        number, place = divmod(number - 1, 26)
        letters = chr(65 + place) + letters
    return letters
