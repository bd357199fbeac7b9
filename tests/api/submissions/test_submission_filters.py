"""The filters of `GET /api/submissions`: form, days, spam, text; and the values it refuses (docs/contract.md 5.24)."""

import datetime as dt
from typing import Any
from urllib.parse import urlencode

import pytest

from config.base.ids import Prefix
from tests.services.application import Application
from tests.services.client import Client
from tests.support.replies import unknown_id
from tests.support.rows import put
from tests.support.submitting import submit_and_get_record
from tests.support.tables.databases import first_on_both
from tests.support.tenants import Tenant, make_tenant


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def found(api: Client, tenant: Tenant, **query: str) -> list[str]:
    """Return the values of `n` in the list, after making sure that the total says the same."""
    answer = api.get(f"/api/submissions?{urlencode(query)}", tenant.key)
    assert answer.status == 200, answer.text
    body = answer.json()
    assert body["pagination"]["total"] == len(body["data"])
    return [row["data"]["n"] for row in body["data"]]


def moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


def test_form_id__own_form__leaves_its_submissions(api: Client, tenant: Tenant) -> None:
    form, other = tenant.form(), tenant.form()
    for form_id, n in ((form, "1"), (other, "2"), (form, "3")):
        put(tenant, form_id, {"n": n})
    assert found(api, tenant, formId=form) == ["3", "1"]
    assert found(api, tenant, formId=other) == ["2"]
    assert found(api, tenant, formId=tenant.default_form_id) == []


def test_form_id__of_another_organization__unauthorized(api: Client, tenant: Tenant) -> None:
    answer = api.get(f"/api/submissions?formId={make_tenant().form()}", tenant.key)
    expected = {"success": False, "error": "unauthorized", "message": "Unauthorized"}
    assert (answer.status, answer.json()) == (403, expected)


def test_form_id__unknown__not_found(api: Client, tenant: Tenant) -> None:
    answer = api.get(f"/api/submissions?formId={unknown_id(Prefix.FORM)}", tenant.key)
    assert (answer.status, answer.json()["error"]) == (404, "not_found")


@pytest.fixture(scope="module")
def dated(service: Application) -> tuple[Tenant, str]:  # noqa: ARG001  # it has the schema
    """Return an organization that is only read, with submissions of six moments in a form of it."""
    tenant = make_tenant()
    form = tenant.form()
    moments = [
        "2026-02-28T12:00:00",
        "2026-03-01T23:59:59.999",
        "2026-03-02T00:00:00",
        "2026-03-02T23:59:59.999",
        "2026-03-03T00:00:00",
        "2026-03-03T15:00:00",
    ]
    for n, text in enumerate(moments, start=1):
        put(tenant, form, {"n": str(n)}, moment(text))
    return tenant, form


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, ["6", "5", "4", "3", "2", "1"]),
        ({"from": "2026-03-02"}, ["6", "5", "4", "3"]),
        ({"to": "2026-03-02"}, ["4", "3", "2", "1"]),
        ({"from": "2026-03-02", "to": "2026-03-02"}, ["4", "3"]),
        ({"from": "2026-03-01", "to": "2026-03-02"}, ["4", "3", "2"]),
        ({"from": "2026-03-04"}, []),
        ({"to": "2026-02-27"}, []),
        ({"from": "2026-03-03", "to": "2026-03-02"}, []),
        ({"from": "2026-03-01T23:59:59.999Z", "to": "2026-03-02T00:00:00Z"}, ["3", "2"]),
        ({"from": "2026-03-02T01:59:59.999+02:00", "to": "2026-03-01T19:00:00-05:00"}, ["3", "2"]),
        ({"from": "2026-03-01T23:59:59.9991Z", "to": "2026-03-03T00:00:00.0009Z"}, ["5", "4", "3"]),
        ({"from": "2026-03-02T23:59:59.999Z", "to": "2026-03-02"}, ["4"]),
        ({"from": "0001-01-01", "to": "9999-12-31"}, ["6", "5", "4", "3", "2", "1"]),
    ],
)
def test_from_and_to__dates_and_times__are_inclusive_in_utc(
    api: Client, dated: tuple[Tenant, str], query: dict[str, str], expected: list[str]
) -> None:
    tenant, form = dated
    assert found(api, tenant, **query) == found(api, tenant, formId=form, **query) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [({}, ["3", "1"]), ({"spam": "false"}, ["3", "1"]), ({"spam": "true"}, ["2"]), ({"spam": "all"}, ["3", "2", "1"])],
)
def test_spam__default_and_each_choice__leaves_what_it_says(
    api: Client, tenant: Tenant, query: dict[str, str], expected: list[str]
) -> None:
    form = tenant.form()
    for n, extra in (("1", {}), ("2", {"_gotcha": "bot"}), ("3", {})):
        submit_and_get_record(api, tenant, form, {"n": n, **extra})
    assert found(api, tenant, **query) == found(api, tenant, formId=form, **query) == expected


SEARCHED = [
    {"n": "1", "message": "Grüße aus KÖLN", "city": "Tromsø"},
    {"n": "2", "message": "100% sure", "note": "under_score"},
    {"n": "3", "message": "100 or so", "note": "underXscore", "needle": "nothing"},
    {"n": "4", "first": "hay", "second": "stack"},
    {"n": "5", "message": "back\\slash and 'quote' and \"double\"", "greek": "ΣΊΣΥΦΟΣ"},
]


@pytest.fixture(scope="module")
def searched(service: Application) -> tuple[Tenant, str]:
    """Return an organization that is only read, with `SEARCHED` in a form of it."""
    tenant = make_tenant()
    form = tenant.form()
    with Client(service.port) as api:
        for values in SEARCHED:
            submit_and_get_record(api, tenant, form, values)
    return tenant, form


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("köln", ["1"]),
        ("KÖLN", ["1"]),
        ("TROMSØ", ["1"]),
        ("grüsse", ["1"]),  # ß folds to ss
        ("σίσυφος", ["5"]),  # a final sigma is a sigma
        ("sure", ["2"]),
        ("100", ["3", "2"]),
        ("0% ", ["2"]),
        ("%%%", []),
        ("r_s", ["2"]),
        ("___", []),
        ("ha%ck", []),
        ("back\\slash", ["5"]),
        ("'quote'", ["5"]),
        ('"double"', ["5"]),
        ("needle", []),  # a name, not a value
        ("message", []),
        ("haystack", []),  # not across two values
        ("hay\x1fstack", []),
        ("hay stack", []),
        ("absent", []),
    ],
)
def test_q__text__is_found_in_any_value_whatever_its_case(
    api: Client, searched: tuple[Tenant, str], text: str, expected: list[str]
) -> None:
    tenant, form = searched
    assert found(api, tenant, q=text) == found(api, tenant, q=text, formId=form) == expected


def test_filters__together__all_hold(api: Client, tenant: Tenant) -> None:
    form, day = tenant.form(), moment("2026-03-02T10:00:00")
    put(tenant, form, {"n": "1", "text": "needle"}, day)
    put(tenant, form, {"n": "2", "text": "needle"}, day, spam=True)
    put(tenant, form, {"n": "3", "text": "needle"}, moment("2026-03-03T10:00:00"))
    put(tenant, form, {"n": "4", "text": "thread"}, day)
    put(tenant, tenant.default_form_id, {"n": "5", "text": "needle"}, day)
    query = {"formId": form, "from": "2026-03-02", "to": "2026-03-02", "q": "needle"}
    assert found(api, tenant, **query) == ["1"]
    assert found(api, tenant, **query, spam="true") == ["2"]


@pytest.mark.parametrize(
    ("query", "field"),
    first_on_both(
        [
            ({"q": "nul\0nul"}, "q"),
            ({"form": "x"}, "form"),
            ({"formid": "x"}, "formid"),
            ({"q ": "needle"}, "q "),
            ({"status": "published"}, "status"),
            ({"format": "csv"}, "format"),  # the export's
            ({"formId": "frm_1"}, "formId"),
            ({"formId": "sub_01jd0000000000000000000000"}, "formId"),
            ({"from": "2026-02-30"}, "from"),
            ({"from": "yesterday"}, "from"),
            ({"to": "2026-3-1"}, "to"),
            ({"to": "20260301"}, "to"),
            ({"to": "2026-03-01T00:00:00"}, "to"),
            ({"to": "2026-03-01T00:00:00 02:00"}, "to"),
            ({"to": "01.03.2026"}, "to"),
            ({"from": "2026-03- 1"}, "from"),
            ({"from": " 2026-3-01"}, "from"),
            ({"from": "2026-W01-1"}, "from"),
            ({"spam": "yes"}, "spam"),
            ({"spam": "True"}, "spam"),
            ({"q": "ab"}, "q"),
        ]
    ),
)
def test_query__unknown_or_malformed__validation_error(
    api: Client, tenant: Tenant, query: dict[str, str], field: str
) -> None:
    answer = api.get(f"/api/submissions?{urlencode(query)}", tenant.key)
    body: dict[str, Any] = answer.json()
    assert (answer.status, body["error"]) == (400, "validation_error")
    assert [detail["field"] for detail in body["details"]] == [field]
    assert body["message"] == body["details"][0]["message"]
