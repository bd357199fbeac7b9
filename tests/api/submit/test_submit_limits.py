"""Limits of a submission: its body, its fields, their names and values (docs/contract.md 5.5)."""

import json
from typing import Any

import pytest

from tests.services.client import Client
from tests.services.waiting import takes_at_most
from tests.support.replies import failure, invalid
from tests.support.submitting import accepted, chunked, records, stored_data, submit_raw
from tests.support.tables.databases import first_on_both
from tests.support.tenants import make_tenant

TOO_LARGE = failure("payload_too_large", "The body is larger than 256 KiB. Send less.")
MAX_BODY = 256 * 1024


def body_of(size: int) -> bytes:
    """Return a JSON object of exactly `size` bytes with values of a legal length."""
    values = dict.fromkeys("abcd", "v" * 60000)
    missing = size - len(json.dumps(values | {"e": ""}))
    return json.dumps(values | {"e": "v" * missing}).encode()


@pytest.mark.parametrize("as_chunks", [False, True], ids=["with a length", "chunked"])
@pytest.mark.parametrize(("size", "status"), [(MAX_BODY, 201), (MAX_BODY + 1, 413), (MAX_BODY * 2, 413)])
def test_body__around_256_kib__is_taken_up_to_there(api: Client, size: int, status: int, as_chunks: bool) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    body = body_of(size) if size <= MAX_BODY + 1 else b'{"a": "' + b"v" * size + b'"}'

    answer = submit_raw(api, tenant, form_id, chunked(body) if as_chunks else body)

    assert answer.status == status, answer.text
    assert answer.json() == (accepted(form_id) if status == 201 else TOO_LARGE)
    assert [sum(map(len, data.values())) > 240_000 for data in stored_data(api, tenant, form_id)] == [True] * (
        status == 201
    )


@pytest.mark.parametrize("as_chunks", [False, True], ids=["with a length", "chunked"])
def test_body__too_large__is_answered_every_time(api: Client, as_chunks: bool) -> None:
    """A connection that is closed while the client still sends loses the answer, now and then."""
    tenant = make_tenant()
    form_id, body = tenant.form(), b'{"a": "' + b"v" * 400_000 + b'"}'

    statuses = [submit_raw(api, tenant, form_id, chunked(body) if as_chunks else body).status for _ in range(40)]

    assert statuses == [413] * 40


def test_fields__two_hundred_beside_control_fields__are_the_most(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    fields = {f"f{number}": str(number) for number in range(200)}
    controls = {"_next": "/", "_subject": "S", "altcha": "token"}

    taken = api.post(f"/api/submit?formId={form_id}", tenant.key, json=fields | controls)
    refused = api.post(f"/api/submit?formId={form_id}", tenant.key, json=fields | {"one": "more"})
    flood = api.post(f"/api/submit?formId={form_id}", tenant.key, json={f"f{n}": 1 for n in range(10_000)})

    told = "A submission has at most 200 fields; this one has {}."
    assert taken.status == 201
    assert (refused.status, refused.json()) == (400, invalid(("", "too_many", told.format("201"))))
    assert (flood.status, flood.json()) == (400, invalid(("", "too_many", told.format("10,000"))))
    assert stored_data(api, tenant, form_id) == [fields]


@pytest.mark.parametrize(
    ("body", "detail"),
    first_on_both(
        [
            ({"\0": "1"}, ("", "blank", "A field has an empty name. Name it or leave it out.")),
            (
                {"n" * 129: "1"},
                ("n" * 128, "too_long", f"A field's name is longer than 128 characters: {'n' * 128}\u2026"),
            ),
            ({"v": "v" * 65_537}, ("v", "too_long", "v is longer than 65,536 characters.")),
            ({"v": ["v" * 32_768, "v" * 32_767]}, ("v", "too_long", "v is longer than 65,536 characters.")),
            ({"": "1"}, ("", "blank", "A field has an empty name. Name it or leave it out.")),
        ]
    ),
)
def test_name_or_value__too_long_or_empty__is_refused(
    api: Client, body: dict[str, Any], detail: tuple[str, str, str]
) -> None:
    tenant = make_tenant()
    form_id = tenant.form()

    answer = api.post(f"/api/submit?formId={form_id}", tenant.key, json=body)

    assert (answer.status, answer.json()) == (400, invalid(detail))
    assert records(api, tenant, form_id) == []


@pytest.mark.parametrize(
    ("body", "data"),
    [
        ({"n" * 128: "1"}, {"n" * 128: "1"}),
        ({"e\u0301" * 128: "1"}, {"\u00e9" * 128: "1"}),
        ({"v": "v" * 65_536}, {"v": "v" * 65_536}),
        ({"v": "v" * 65_536 + "\0"}, {"v": "v" * 65_536}),
        ({"v": ["v" * 32_767, "v" * 32_767]}, {"v": f"{'v' * 32_767}, {'v' * 32_767}"}),
    ],
)
def test_name_or_value__at_its_limit__is_stored_whole(api: Client, body: dict[str, Any], data: dict[str, str]) -> None:
    tenant = make_tenant()
    form_id = tenant.form()

    answer = api.post(f"/api/submit?formId={form_id}", tenant.key, json=body)

    assert (answer.status, stored_data(api, tenant, form_id)) == (201, [data])


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"n": "1" * 40_000 + "x"}, "invalid_number"),
        ({"a" + "\u0301" * 20_000 + "\u0323" * 20_000: "1", "n": "1"}, "too_long"),
    ],
    ids=["digits", "accents"],
)
def test_submit__made_to_be_slow__is_refused_in_a_moment(api: Client, body: dict[str, Any], code: str) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=[{"name": "n", "label": "N", "type": "Number", "required": False}])

    def send() -> None:
        answer = submit_raw(api, tenant, form_id, json.dumps(body, ensure_ascii=False).encode())
        assert (answer.status, answer.json()["details"][0]["code"]) == (400, code)

    assert takes_at_most(3, send)
