"""`POST /api/submit`: the form, the stored values of a body, and its limits (docs/contract.md 5)."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from config.base.ids import Prefix
from submissions.models import Submission
from tests.services.client import Client
from tests.support.replies import TIME, UNAUTHORIZED, an_id, failure, invalid, invalid_id, unknown_id
from tests.support.submitting import accepted, records, stored_data, submit_raw
from tests.support.tables.databases import first_on_both
from tests.support.tenants import make_tenant

pytestmark = pytest.mark.quick

EMPTY = failure("empty_submission", "The submission has no values. Send at least one field besides the control fields.")
NO_FORM = failure("not_found", "There is no form with this id.")
CLOSED = failure("form_not_published", "This form does not take submissions now. Publish it first.")
CONTROLS = ["_next", "_subject", "_replyto", "_webhook", "_altcha"]
CAPTCHAS = ["g-recaptcha-response", "h-captcha-response", "cf-turnstile-response", "altcha"]


def test_submit__values__are_stored_and_the_record_is_whole(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()

    answer = api.post(
        f"/api/submit?formId={form_id}",
        tenant.key,
        json={"email": "ada@example.com", "message": "Hello"},
        headers={"User-Agent": "Acceptance/1.0", "Referer": "https://site.example/contact"},
    )

    assert (answer.status, answer.json()) == (201, accepted(form_id))
    assert answer.headers["Content-Type"] == "application/json"
    meta = {"ip": api.address, "userAgent": "Acceptance/1.0", "origin": None, "referer": "https://site.example/contact"}
    assert records(api, tenant, form_id) == [
        {
            **answer.json()["data"],
            "data": {"email": "ada@example.com", "message": "Hello"},
            "files": [],
            "spam": False,
            "spamReasons": [],
            "held": None,
            "test": False,
            "meta": meta,
            "imported": False,
        }
    ]


def test_submit__form_with_a_success_message__answers_it(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(success_message="Danke sch\u00f6n!")

    answer = api.post(f"/api/submit?formId={form_id}", tenant.key, json={"a": "1"})

    assert (answer.status, answer.json()) == (201, accepted(form_id, "Danke sch\u00f6n!"))


@pytest.mark.parametrize(
    "path", first_on_both(["/api/submit", "/api/submit?formId=", "/api/submit?utm_source=mail&page=0"])
)
@pytest.mark.parametrize("body", [{"a": "1"}, {"a": "1", "_formId": ""}, {"a": "1", "_formId": None}])
def test_submit__no_form_named__goes_to_the_default_form(api: Client, path: str, body: dict[str, Any]) -> None:
    tenant = make_tenant()

    answer = api.post(path, tenant.key, json=body)

    assert (answer.status, answer.json()) == (201, accepted(tenant.default_form_id))
    assert stored_data(api, tenant, tenant.default_form_id) == [{"a": "1"}]


@pytest.mark.parametrize("key", ["secret", "publishable", "without permissions"])
def test_submit__form_named_in_the_body__goes_there_with_any_key(api: Client, key: str) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    keys = {"secret": tenant.key, "publishable": tenant.publishable, "without permissions": tenant.issue()}

    answer = api.post("/api/submit", keys[key], json={"a": "1", "_formId": form_id})

    assert (answer.status, answer.json()) == (201, accepted(form_id))
    assert stored_data(api, tenant, form_id) == [{"a": "1"}]


@pytest.mark.parametrize("where", ["query", "body"])
def test_submit__id_that_names_no_form_of_ours__is_refused(api: Client, where: str) -> None:
    tenant, other = make_tenant(), make_tenant()
    foreign = other.form()
    cases = [
        (unknown_id(Prefix.FORM), 404, NO_FORM),
        (foreign, 403, UNAUTHORIZED),
        (unknown_id(Prefix.SUBMISSION), 400, invalid_id("frm", "formId")),
        ("contact", 400, invalid_id("frm", "formId")),
    ]

    for form_id, status, expected in cases:
        query, body = (f"?formId={form_id}", {}) if where == "query" else ("", {"_formId": form_id})
        answer = api.post(f"/api/submit{query}", tenant.key, json={"a": "1", **body})
        assert (form_id, answer.status, answer.json()) == (form_id, status, expected)
    assert records(api, tenant, tenant.default_form_id) == records(api, other, foreign) == []


@pytest.mark.parametrize("form_id", [5, True, ["frm_1"], [None]])
def test_submit__form_id_that_is_no_string__is_refused(api: Client, form_id: Any) -> None:
    answer = api.post("/api/submit", make_tenant().key, json={"a": "1", "_formId": form_id})

    assert (answer.status, answer.json()) == (400, invalid_id("frm", "formId"))


@pytest.mark.parametrize("action", ["unpublish", "archive"])
def test_submit__form_out_of_use__is_refused(api: Client, action: str) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    if action == "archive":
        api.delete(f"/api/forms/{form_id}", tenant.key)
    else:
        api.post(f"/api/forms/{form_id}/unpublish", tenant.key)

    answer = api.post(f"/api/submit?formId={form_id}", tenant.key, json={"a": "1"})

    assert (answer.status, answer.json()) == (403, CLOSED)
    assert records(api, tenant, form_id) == []


@pytest.mark.parametrize(
    ("raw", "expected"),
    first_on_both(
        [
            ('"text"', "text"),
            ('""', ""),
            ('"  blanks stay  "', "  blanks stay  "),
            ('"line\\r\\nline"', "line\r\nline"),
            ('"\\ud83d\\ude00"', "\U0001f600"),
            ('"a\\u0000b"', "ab"),
            ('"\\ud800x"', "\ufffdx"),
            ('"\\udc00\\ud800"', "\ufffd\ufffd"),
            ('"e\\u0301"', "e\u0301"),
            ('"=1+1"', "=1+1"),
            ("null", ""),
            ('["a", 1.50, true, null, "z"]', "a, 1.50, true, , z"),
            ("5", "5"),
            ("-0", "-0"),
            ("1.50", "1.50"),
            ("1e2", "1e2"),
            ("1E+2", "1E+2"),
            ("-0.10e-2", "-0.10e-2"),
            ("12345678901234567890", "12345678901234567890"),
            ("0.1234567890123456789012345", "0.1234567890123456789012345"),
            ("true", "true"),
            ("false", "false"),
            ("[]", ""),
            ('["a"]', "a"),
            ('["a", "b, c", ""]', "a, b, c, "),
        ],
        12,
    ),
)
def test_value__of_any_scalar_or_list__is_stored_as_this_text(api: Client, raw: str, expected: str) -> None:
    tenant = make_tenant()
    form_id = tenant.form()

    answer = submit_raw(api, tenant, form_id, f'{{"value": {raw}}}'.encode())

    assert (answer.status, stored_data(api, tenant, form_id)) == (201, [{"value": expected}])


@pytest.mark.parametrize("value", first_on_both([{}, {"a": "b"}, [{}], [[]], ["a", ["b"]]]))
def test_value__that_is_an_object_or_nested__is_refused(api: Client, value: Any) -> None:
    tenant = make_tenant()
    form_id = tenant.form()

    answer = api.post(f"/api/submit?formId={form_id}", tenant.key, json={"good": "1", "file": value})

    message = "file must be a string, a number, a boolean, null or a list of these."
    assert (answer.status, answer.json()) == (400, invalid(("file", "invalid_type", message)))
    assert records(api, tenant, form_id) == []


def test_names__in_the_order_received__are_kept_as_they_are(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    names = ["zeta", "_x", "__proto__", "a[b][]", "alpha", "with space", "\u540d\u524d", "id", "formId", "-", "_formid"]

    answer = api.post(f"/api/submit?formId={form_id}", tenant.key, json=dict.fromkeys(names, "1"))

    assert answer.status == 201
    assert [list(data) for data in stored_data(api, tenant, form_id)] == [names]


def test_names__of_another_spelling__are_stored_composed_and_clean(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()

    answer = submit_raw(api, tenant, form_id, b'{"cafe\\u0301": "1", "a\\u0000b": "2", "\\udfff": "3", "k": 1, "k": 2}')

    assert answer.status == 201
    assert stored_data(api, tenant, form_id) == [{"caf\u00e9": "1", "ab": "2", "\ufffd": "3", "k": "2"}]


def test_control_fields__and_captcha_tokens__are_not_in_data(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    body = {"a": "1", "_formId": form_id, "_gotcha": "", **dict.fromkeys([*CONTROLS, *CAPTCHAS], "x")}

    answer = api.post("/api/submit", tenant.key, json=body)

    assert answer.status == 201
    assert stored_data(api, tenant, form_id) == [{"a": "1"}]


def test_aliases_of_control_fields__are_stored_as_well(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    body = {"subject": "Offer", "replyto": "ada@example.com", "redirect": "/thanks", "next": "/n", "gotcha": "x"}

    answer = api.post(f"/api/submit?formId={form_id}", tenant.key, json=body)

    assert answer.status == 201
    assert [(row["data"], row["spam"]) for row in records(api, tenant, form_id)] == [(body, False)]


@pytest.mark.parametrize(
    "body", first_on_both([{}, {"_next": "/thanks"}, {"_gotcha": "bot"}, dict.fromkeys(CAPTCHAS, "token")])
)
def test_submit__no_value_beside_control_fields__is_empty(api: Client, body: dict[str, str]) -> None:
    tenant = make_tenant()
    form_id = tenant.form()

    answer = api.post(f"/api/submit?formId={form_id}", tenant.key, json=body)

    assert (answer.status, answer.json()) == (400, EMPTY)
    assert records(api, tenant, form_id) == []


def test_honeypot__filled_in__is_answered_like_success_and_stored_as_spam(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(success_message="Thanks!")

    honest = api.post(f"/api/submit?formId={form_id}", tenant.key, json={"a": "1"})
    caught = api.post(f"/api/submit?formId={form_id}", tenant.key, json={"a": "2", "_gotcha": "http://spam.example"})

    assert (caught.status, caught.json()) == (201, accepted(form_id, "Thanks!"))
    assert set(caught.headers) == set(honest.headers)
    read = api.get(f"/api/submissions/{caught.json()['data']['id']}", tenant.key).json()["data"]
    assert (read["data"], read["spam"], read["spamReasons"]) == ({"a": "2"}, True, ["honeypot: _gotcha was filled in"])
    visible = api.get(f"/api/submissions?formId={form_id}", tenant.key).json()["data"]
    assert [row["id"] for row in visible] == [honest.json()["data"]["id"]]


def test_submit__forty_at_once__are_all_stored(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()

    with ThreadPoolExecutor(20) as threads:
        answers = list(
            threads.map(lambda n: api.post(f"/api/submit?formId={form_id}", tenant.key, json={"n": n}), range(40))
        )

    assert [answer.status for answer in answers] == [201] * 40
    answered = {answer.json()["data"]["id"]: {"n": str(n)} for n, answer in enumerate(answers)}
    assert {row["id"]: row["data"] for row in records(api, tenant, form_id)} == answered
    assert len(answered) == 40


def test_submit__answered__is_found_with_the_id_and_time_that_were_answered(api: Client) -> None:
    tenant = make_tenant()

    made = api.post("/api/submit", tenant.key, json={"a": "1"}).json()["data"]
    read = api.get(f"/api/submissions/{made['id']}", tenant.key).json()["data"]

    assert made == {"id": an_id("sub"), "formId": tenant.default_form_id, "createdAt": TIME}
    assert {name: read[name] for name in made} == made


@pytest.mark.parametrize("door", ["/api/submit?formId={form}", "/f/{form}"])
def test_submit__request_id__is_kept_with_the_row_and_never_shown(api: Client, door: str) -> None:
    """Log lines of failed deliveries have it."""
    tenant = make_tenant()
    form_id = tenant.form()
    address = door.format(form=form_id)
    answer = api.post(address, tenant.key, json={"a": "1"}, headers={"X-Request-Id": "trace-42"})
    assert answer.headers["X-Request-Id"] == "trace-42"
    (row,) = Submission.objects.filter(organization=tenant.organization)
    assert row.controls == {"request_id": "trace-42"}
    assert "trace-42" not in str(records(api, tenant, form_id))


@pytest.mark.parametrize("longer", [0, 1, 5])
def test_submit__metadata__is_kept_up_to_its_length(api: Client, longer: int) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    kept = {"userAgent": "u" * 512, "origin": "https://" + "o" * 292, "referer": "https://" + "r" * 2040}
    sent = {name: text + "x" * longer for name, text in kept.items()}
    headers = {"User-Agent": sent["userAgent"], "Origin": sent["origin"], "Referer": sent["referer"]}
    assert api.post(f"/api/submit?formId={form_id}", tenant.key, json={"a": "1"}, headers=headers).status == 201
    assert records(api, tenant, form_id)[0]["meta"] == {"ip": api.address, **kept}
