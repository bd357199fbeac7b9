"""Published lists of odd JSON and odd strings: each is stored as it is, or refused (`tests/corpora/README.md`)."""

import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from config.base.text import clean_name
from tests.corpora import corpus
from tests.services.client import Client
from tests.support.hosted_posts import URLENCODED
from tests.support.submitting import JSON, stored_data, submit_raw
from tests.support.tenants import make_tenant

pytestmark = pytest.mark.on_sqlite
LARGE = {"n_structure_100000_opening_arrays": "[" * 100_000, "n_structure_open_array_object": '[{"":' * 40_000 + "\n"}
MULTIPART = {"Content-Type": "multipart/form-data; boundary=BB"}
AS_BROWSERS_DO = str.maketrans({'"': "%22", "\r": "%0D", "\n": "%0A"})


def stored_text(value: Any) -> str | None:
    """Return the text of a JSON value whose numbers came as texts; None for one that a field cannot have."""
    if isinstance(value, list):
        texts = [None if isinstance(one, list | dict) else stored_text(one) for one in value]
        return None if None in texts else ", ".join(text or "" for text in texts)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "".join("\ufffd" if "\ud800" <= one <= "\udfff" else one for one in value.replace("\0", ""))
    return "" if value is None else None


def test_json_test_suite__every_case__is_stored_as_its_text_or_refused(api: Client) -> None:
    tenant = make_tenant()
    form_id, expected = tenant.form(), list[dict[str, str]]()
    for name, text in (corpus("json_test_suite") | LARGE).items():
        source = text.encode("latin-1")
        answer = submit_raw(api, tenant, form_id, b'{"a":' + source + b"}")
        if name.startswith("y_"):
            wanted = stored_text(json.loads(source, parse_int=str, parse_float=str))
            assert answer.status == (400 if wanted is None else 201), name
        if answer.status == 201:
            assert not name.startswith("n_"), name
            value = stored_text(json.loads(source.decode("utf-8-sig"), parse_int=str, parse_float=str))
            expected.append({"a": value or ""})
        else:
            wrong = "validation_error" if name.startswith("y_") else answer.json()["error"]
            assert (answer.status, answer.json()["error"]) == (400, wrong), name
            assert not name.startswith("n_") or wrong == "invalid_json", name

    assert stored_data(api, tenant, form_id) == expected
    assert len(expected) > 60


def test_json_test_suite__every_case_as_a_whole_body__is_refused_or_a_submission(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    for name, text in (corpus("json_test_suite") | LARGE).items():
        answer = submit_raw(api, tenant, form_id, text.encode("latin-1"))
        assert answer.status in ((400,) if name.startswith("n_") else (201, 400)), name


def as_json(values: dict[str, str]) -> tuple[bytes, dict[str, str]]:
    return json.dumps(values).encode(), JSON


def as_urlencoded(values: dict[str, str]) -> tuple[bytes, dict[str, str]]:
    return urlencode(values).encode(), URLENCODED


def as_multipart(values: dict[str, str]) -> tuple[bytes, dict[str, str]]:
    head = '--BB\r\nContent-Disposition: form-data; name="{}"\r\n\r\n{}\r\n'
    parts = (head.format(name.translate(AS_BROWSERS_DO), value) for name, value in values.items())
    return ("".join(parts) + "--BB--\r\n").encode(), MULTIPART


def portions(strings: list[str], make: Callable[[int, str], tuple[str, str]]) -> Iterator[dict[str, str]]:
    for start in range(0, len(strings), 200):
        yield dict(make(start + number, text) for number, text in enumerate(strings[start : start + 200]))


@pytest.mark.parametrize("encode", [as_json, as_urlencoded, as_multipart])
def test_naughty_strings__as_values_and_as_names__are_stored_as_they_are(api: Client, encode: Any) -> None:
    tenant = make_tenant()
    form_id, sent = tenant.form(), list[dict[str, str]]()
    names = [text for text in corpus("naughty_strings") if 0 < len(text) <= 128]
    for values in (
        *portions(corpus("naughty_strings"), lambda number, text: (f"n{number}", text)),
        *portions(names, lambda number, text: (text, f"{number}")),
    ):
        body, headers = encode(values)
        assert api.post(f"/f/{form_id}", data=body, headers=headers | {"Accept": "application/json"}).status == 201
        sent.append({clean_name(name): value for name, value in values.items()})

    assert stored_data(api, tenant, form_id) == sent
    export = api.get(f"/api/submissions/export?formId={form_id}&format=ndjson", tenant.key)
    assert [json.loads(line)["data"] for line in export.text.splitlines()] in (sent, sent[::-1])
