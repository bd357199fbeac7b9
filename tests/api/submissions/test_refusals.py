"""Records of refused submissions, for "Why was my POST refused?": their organization, and the gate that failed."""

import datetime as dt
import json

import pytest

from config.base.ids import Prefix
from config.base.times import now
from dashboard.refusal_advice import advise
from forms_app.models import Form
from forms_app.spam_protection import SpamProtection
from keys.access_keys import revoke_key
from keys.tokens import make_token
from tests.services.application import Application
from tests.services.client import Client
from tests.support.hosted_posts import FIELDS, GOOD, URLENCODED, multipart, post
from tests.support.key_records import expire, key_of
from tests.support.rate_windows import counted_tenant, lasting_client
from tests.support.refusals import EVIL, SHOP, Told, everything, public_id, rows, rows_of, the_row, told
from tests.support.replies import unknown_id
from tests.support.submitting import submit, submit_raw
from tests.support.tenants import make_tenant, text_field

LONG = b"v" * 300_000
MANY_FIELDS = json.dumps(dict.fromkeys(map(str, range(300)), "")).encode()
VALIDATION, SIZE = ("Validation", "validation_error"), ("Size", "validation_error")
# Body and headers of posts with a valid key -> the record. The form declares a required e-mail address.
SUBMITTED: list[tuple[bytes, dict[str, str], Told]] = [
    (b'{"email": "' + LONG + b'"}', {}, ("Size", "payload_too_large", "", "", "")),
    (b"a=1", {"Content_Type": "text/plain"}, ("Validation", "unsupported_media_type", "", "", "")),
    (b"{", {}, ("Validation", "invalid_json", "", "", "")),
    (b'{"_subject": "S"}', {}, ("Validation", "empty_submission", "", "", "")),
    (b'{"a": 1}', {}, (*VALIDATION, "required", "email", "")),
    (b'{"email": "x"}', {"Origin": SHOP}, (*VALIDATION, "invalid_email", "email", SHOP)),
    (b'{"a": {}}', {}, (*VALIDATION, "invalid_type", "a", "")),
    (b'{"": "1"}', {}, (*VALIDATION, "blank", "", "")),
    (json.dumps({"a": "v" * 65_537}).encode(), {}, (*SIZE, "too_long", "a", "")),
    (MANY_FIELDS, {}, (*SIZE, "too_many", "", "")),
    (
        b'{"email": "a@b.example"}',
        {"Idempotency_Key": "n" * 256},
        ("Retry safety", "validation_error", "invalid", "Idempotency-Key", ""),
    ),
]


def test_submit__refused_with_a_good_key__is_told_with_gate_form_and_key(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=[text_field("email", type="Email", required=True)])

    answers = [submit_raw(api, tenant, form_id, body, **headers) for body, headers, _ in SUBMITTED]

    found = rows_of(tenant, len(SUBMITTED))
    assert [answer.json()["error"] for answer in answers] == [expected[1] for _, _, expected in SUBMITTED]
    assert sorted(map(told, found)) == sorted(expected for _, _, expected in SUBMITTED)
    for row in found:
        assert (public_id(row), row.access_key, row.count) == (form_id, key_of(tenant.key), 1)
        assert row.first_at == row.last_at
        assert dt.timedelta(0) <= now() - row.last_at < dt.timedelta(minutes=1)


def test_submit__origin_off_the_list__names_origin_form_and_the_pages_key(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(allowed_origins=[SHOP])

    for origin in (EVIL, EVIL, "null"):
        assert submit(api, tenant.publishable, form_id, Origin=origin).status == 403
    assert submit(api, tenant.publishable, form_id).status == 403
    assert submit(api, tenant.publishable, form_id, Referer=f"{EVIL}:8443/secret/page?query").status == 403

    found = rows_of(tenant, 5)
    assert {row.origin: row.count for row in found} == {EVIL: 2, "null": 1, "": 1, f"{EVIL}:8443": 1}
    for row in found:
        assert told(row) == ("Origin", "origin_not_allowed", "", "", row.origin)
        assert (public_id(row), row.access_key) == (form_id, key_of(tenant.publishable))


def test_submit__state_conflict_and_robot_check__are_told(api: Client) -> None:
    tenant = make_tenant()
    draft, form_id = tenant.form(published=False), tenant.form()
    guarded = tenant.form(spam_protection=SpamProtection(proof_of_work=True).stored())
    submit(api, tenant.key, draft)
    submit(api, tenant.publishable, guarded, Origin=SHOP)
    for value in "12":
        submit(api, tenant.key, form_id, {"a": value}, Idempotency_Key="once")

    assert {public_id(row): told(row) for row in rows_of(tenant, 3)} == {
        draft: ("State", "form_not_published", "", "", ""),
        guarded: ("Robot check", "validation_error", "proof_of_work_required", "_altcha", SHOP),
        form_id: ("Retry safety", "conflict", "", "", ""),
    }


def spoilt(token: str) -> str:
    return token[:-1] + ("a" if token[-1] != "a" else "b")


def test_submit__key_of_nobody__is_told_to_who_owns_the_named_form(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    keys = {"missing": None, "misspelt": spoilt(tenant.key), "unknown": make_token()}

    statuses = [submit(api, key, form_id, Origin=SHOP).status for key in keys.values()]
    statuses.append(submit(api, keys["unknown"], values={"a": "1", "_formId": form_id}, Origin=SHOP).status)

    found = rows_of(tenant, 4)
    assert statuses == [401] * 4
    assert {told(row): row.count for row in found} == {
        ("Key", "invalid_access_key", "missing", "", SHOP): 1,
        ("Key", "invalid_access_key", "misspelt", "", SHOP): 1,
        ("Key", "invalid_access_key", "unknown", "", SHOP): 2,
    }
    for row in found:
        assert (public_id(row), row.access_key) == (form_id, None)
        assert not any(key and key in everything(row) for key in keys.values())


@pytest.mark.parametrize("end", ["revoked", "expired"])
def test_submit__key_that_has_ended__is_told_to_its_owner_with_its_name(api: Client, end: str) -> None:
    tenant, stranger = make_tenant(), make_tenant()
    token, own_form = tenant.issue(), tenant.form()
    if end == "revoked":
        revoke_key(key_of(token), by=None)
    else:
        expire(token)

    statuses = [submit(api, token, form_id).status for form_id in ("", own_form, stranger.form())]

    found = rows_of(tenant, 3)
    assert statuses == [401] * 3
    assert {public_id(row): row.count for row in found} == {None: 2, own_form: 1}
    for row in found:
        assert (row.access_key, end in advise(row).title) == (key_of(token), True)
        assert token not in everything(row)
    assert rows(stranger) == []  # the key has an owner, so whose form was named does not count


def test_submit__form_of_another_organization__is_told_to_the_keys_owner_without_that_form(api: Client) -> None:
    tenant, stranger = make_tenant(), make_tenant()

    assert submit(api, tenant.key, stranger.form()).status == 403

    row = the_row(tenant)
    assert (row.code, row.form, row.access_key) == ("unauthorized", None, key_of(tenant.key))
    assert rows(stranger) == []


def test_submit__form_that_does_not_exist__is_one_row_for_the_keys_owner_however_many_ids(api: Client) -> None:
    tenant = make_tenant()

    statuses = [submit(api, tenant.publishable, unknown_id(Prefix.FORM), Origin=SHOP).status for _ in range(5)]
    statuses.append(submit(api, tenant.key, unknown_id(Prefix.FORM)).status)

    found = rows_of(tenant, 6)
    assert statuses == [404] * 6
    assert {(told(row), row.access_key, row.form): row.count for row in found} == {
        (("Form", "not_found", "", "", SHOP), key_of(tenant.publishable), None): 5,
        (("Form", "not_found", "", "", ""), key_of(tenant.key), None): 1,
    }


def test_submit__malformed_form_id__is_not_blamed_on_the_default_form(api: Client) -> None:
    tenant = make_tenant()
    Form.objects.filter(organization=tenant.organization, is_default=True).update(allowed_origins=[SHOP])

    answers = [
        submit(api, tenant.publishable, "abc", Origin=EVIL),
        submit(api, tenant.publishable, values={"a": "1", "_formId": "abc"}, Origin=EVIL),
    ]

    [row] = rows_of(tenant, 2)
    assert [(answer.status, answer.json()["error"]) for answer in answers] == [(400, "validation_error")] * 2
    assert (told(row), row.form) == (("Validation", "validation_error", "invalid_id", "formId", EVIL), None)


def test_limits__burst_and_the_plans_hour__are_told_apart(api: Client) -> None:
    tenant = make_tenant()
    form_id, hosted = tenant.form(), tenant.form()
    refused = [submit(api, tenant.publishable, form_id, Origin=SHOP).status for _ in range(21)].count(429)
    refused_there = [post(api, hosted, GOOD).status for _ in range(21)].count(429)
    hourly = counted_tenant(api, rate_limit=1)
    assert submit(api, hourly.key).status == 429

    assert (refused > 0, refused_there > 0) == (True, True)
    assert {told(row): row.count for row in rows_of(tenant, refused + refused_there)} == {
        ("Limit", "rate_limited", "burst", "", SHOP): refused,
        ("Limit", "rate_limited", "burst", "", ""): refused_there,
    }
    row = the_row(hourly)
    assert told(row) == ("Limit", "rate_limited", "hour", "", "")
    assert "The plan includes 1 requests an hour." in advise(row).fix


def test_limits__address_that_was_refused_too_often__is_not_blamed_on_the_plan(service: Application) -> None:
    tenant = make_tenant()
    form_id = tenant.form(allowed_origins=[SHOP])
    with lasting_client(service.port) as client:  # it has counted one request
        statuses = [submit(client, tenant.publishable, form_id, Origin=EVIL).status for _ in range(100)]
        statuses.append(post(client, form_id, GOOD, Origin=EVIL).status)

    assert statuses == [403] * 99 + [429] * 2
    origin, limit = ("Origin", "origin_not_allowed", "", "", EVIL), ("Limit", "rate_limited", "address", "", EVIL)
    found = {(told(row), row.access_key): row.count for row in rows_of(tenant, 101)}
    key = key_of(tenant.publishable)
    assert found == {(origin, key): 99, (limit, key): 1, (limit, None): 1}


# Body and headers of posts to `/f/` -> the record. The form has one allowed origin.
FILE, FILE_HEADERS = multipart(GOOD, {"cv": ("cv.pdf", "x")})
HOSTED: list[tuple[str | bytes, dict[str, str], Told]] = [
    ("name=Ada", URLENCODED, (*VALIDATION, "required", "email", SHOP)),
    ("", URLENCODED, ("Validation", "empty_submission", "", "", SHOP)),
    ("name=Ada", {"Content-Type": "text/plain"}, ("Validation", "unsupported_media_type", "", "", SHOP)),
    (FILE, FILE_HEADERS, (*VALIDATION, "file_not_allowed", "cv", SHOP)),
    (b"a=" + LONG, URLENCODED, ("Size", "payload_too_large", "", "", SHOP)),
    ("name=Ada", {**URLENCODED, "Origin": EVIL}, ("Origin", "origin_not_allowed", "", "", EVIL)),
]


def test_hosted_post__refused__is_told_with_its_form_and_no_key(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=FIELDS, allowed_origins=[SHOP])

    for body, headers, _ in HOSTED:
        assert api.post(f"/f/{form_id}", data=body, headers={"Origin": SHOP, **headers}).status >= 400

    found = rows_of(tenant, len(HOSTED))
    assert sorted(map(told, found)) == sorted(expected for _, _, expected in HOSTED)
    assert {(public_id(row), row.access_key, row.count) for row in found} == {(form_id, None, 1)}


def test_hosted_post__to_a_draft__is_told(api: Client) -> None:
    tenant = make_tenant()
    draft = tenant.form(published=False)

    post(api, draft, GOOD)

    row = the_row(tenant)
    assert (told(row), public_id(row)) == (("State", "form_not_published", "", "", ""), draft)


def test_what_was_taken_or_is_nobodys_to_mend__is_not_told(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    statuses = [
        submit(api, tenant.key, form_id).status,
        post(api, form_id, GOOD).status,
        api.get(f"/api/submit?formId={form_id}", tenant.key).status,
        api.get(f"/api/submit?formId={form_id}", spoilt(tenant.key)).status,
        post(api, unknown_id(Prefix.FORM), GOOD).status,
    ]
    submit(api, tenant.key, form_id, {})

    assert statuses == [201, 303, 405, 401, 404]
    assert the_row(tenant).code == "empty_submission"  # written after all the others
