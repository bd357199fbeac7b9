"""The rows of refused submissions: nothing of a payload, equal ones grouped, bounded, and deleted after a day."""

import datetime as dt
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from config.base.ids import Prefix, decode_id
from config.base.times import now
from forms_app.models import Form
from submissions.lifecycle.erasure import erase_form
from submissions.models import Refusal
from submissions.refusals.recorder import KEPT, purge_refusals, recent_refusals
from submissions.refusals.store import MOST_AN_HOUR
from tests.services.client import Client
from tests.services.waiting import eventually
from tests.support.hosted_posts import URLENCODED, multipart
from tests.support.key_records import key_of
from tests.support.refusals import EVIL, SHOP, everything, public_id, rows, rows_of, the_row
from tests.support.submitting import JSON, submit, submit_raw
from tests.support.tenants import Tenant, make_tenant, text_field

MARKER = "4111111111111111"  # a typed value; it looks like a number, so that JSON's errors meet it too
# Payloads with the marker in every place that a value has -> the answer's code. Names of fields may be shown.
PAYLOADS: list[tuple[str | bytes, dict[str, str], str]] = [
    (f'{{"email": "{MARKER}"}}', {}, "validation_error"),
    (f'{{"email": "a@b.example", "n": {MARKER}e999}}', {}, "invalid_json"),
    (f'{{"email": "a@b.example", "n": -{MARKER}{MARKER}e999}}', {}, "invalid_json"),
    (f'{{"email": "{MARKER}", }}', {}, "invalid_json"),
    (f'{{"email": "\\uzz{MARKER}"}}', {}, "invalid_json"),
    (f'{{"email": {MARKER}x}}', {}, "invalid_json"),
    (f'"{MARKER}"', {}, "invalid_json"),
    (f'{{"email": "{MARKER}'.encode() + b'\xff"}', {}, "invalid_json"),
    (f'{{"a": {{"b": "{MARKER}"}}}}', {}, "validation_error"),
    (json.dumps({"a": MARKER * 5_000}), {}, "validation_error"),
    (f'{{"_formId": "{MARKER}", "email": "a@b.example"}}', {}, "validation_error"),
    (f'{{"_subject": "{MARKER}"}}', {}, "empty_submission"),
    (f'{{"a": "{MARKER}"}}', {"Content-Type": f"text/{MARKER}"}, "unsupported_media_type"),
    (f'{{"email": "{MARKER}"}}', {"Idempotency-Key": MARKER * 20}, "validation_error"),
    (f'{{"email": "{MARKER}"}}', {"Referer": f"{SHOP}/{MARKER}?{MARKER}#{MARKER}"}, "validation_error"),
]
# A script that posts JSON and calls it a form: the whole body is in the place of a name.
MISTAKEN = json.dumps({"email": MARKER, "message": "m" * 200})


def test_payload__refused_by_the_api__is_in_no_column(api: Client) -> None:
    tenant = make_tenant()
    fields = [text_field("email", type="Email", required=False)]
    Form.objects.filter(organization=tenant.organization, is_default=True).update(fields=fields)

    for body, headers, code in PAYLOADS:
        answer = api.post("/api/submit", tenant.key, data=body, headers=JSON | headers)
        assert answer.json()["error"] == code, answer.text

    for row in rows_of(tenant, len(PAYLOADS)):
        assert MARKER not in everything(row)


def test_payload__refused_by_the_hosted_form__is_in_no_column(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    file, file_headers = multipart({"name": MARKER}, {"cv": (MARKER, MARKER)})

    assert api.post(f"/f/{form_id}", data=MISTAKEN, headers=URLENCODED).status == 400
    assert api.post(f"/f/{form_id}", data=file, headers=file_headers).status == 400

    found = rows_of(tenant, 2)
    assert {row.detail_code for row in found} == {"too_long", "file_not_allowed"}
    assert not any(MARKER in everything(row) for row in found)


# Names of inputs, and origins where headers can carry them: one row that the database refuses spoils a whole second.
NASTY = ["na'me", "n\0ul", "e\u0301", "<b>", "%s", "'; DROP TABLE", "\u202e", "n" * 500]


def test_names_and_origins__of_any_text__are_noted(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    for name in NASTY:
        body, headers = multipart({}, {name: ("f", "x")})
        assert api.post(f"/f/{form_id}", data=body.encode(), headers=headers).status == 400
        assert submit_raw(api, tenant, form_id, json.dumps({name: {}}).encode()).status == 400
        assert submit(api, None, form_id, Origin=name.encode().decode("latin-1").replace("\0", "")).status == 401
    submit(api, tenant.key, form_id, {"\ud800": {}})

    assert rows_of(tenant, 3 * len(NASTY) + 1)


def test_alike_refusals__are_one_row_with_their_number_and_times(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    submit(api, tenant.key, form_id, {})
    first = the_row(tenant)
    for _ in range(3):
        submit(api, tenant.key, form_id, {})

    last, *earlier = rows_of(tenant, 4)
    assert len(earlier) == (last.hour > first.hour)  # an hour that ended meanwhile
    assert last.fingerprint == first.fingerprint
    assert last.last_at > first.last_at
    assert last.first_at == first.first_at or earlier


def test_two_processes__at_once__add_up(api: Client, start_service: Any) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    with Client(start_service().port) as other, ThreadPoolExecutor(4) as threads:
        statuses = set(threads.map(lambda client: submit(client, tenant.key, form_id, {}).status, [api, other] * 20))
        found = rows_of(tenant, 40)

    assert statuses == {400}
    assert len(found) == len({row.hour for row in found})


def fill_hour(tenant: Tenant, wanted: int) -> None:
    """Store rows of as many kinds, in this hour and, should it end meanwhile, in the next."""
    moment = now()
    hour = moment.replace(minute=0, second=0, microsecond=0)
    Refusal.objects.bulk_create(
        Refusal(
            organization=tenant.organization,
            code="origin_not_allowed",
            hour=start,
            first_at=moment,
            last_at=moment,
            fingerprint=f"{number:064}",
        )
        for start in (hour, hour + dt.timedelta(hours=1))
        for number in range(wanted)
    )


def test_flood__beyond_five_hundred_kinds_an_hour__is_told_in_fewer_words(api: Client) -> None:
    tenant, neighbour = make_tenant(), make_tenant()
    form_id = tenant.form(allowed_origins=[SHOP])
    fill_hour(tenant, MOST_AN_HOUR - 1)
    added = Refusal.objects.filter(form=decode_id(Prefix.FORM, form_id)).values_list("origin", "detail_code", "count")
    submit(api, tenant.publishable, form_id, Origin=EVIL)
    eventually(lambda: set(added.all()) == {(EVIL, "", 1)})

    for number in range(20):
        submit(api, tenant.publishable, form_id, Origin=f"https://flood{number}.example")
    submit(api, tenant.publishable, form_id, Origin=EVIL)  # known, so it still has its own row
    submit(api, neighbour.publishable, neighbour.form(allowed_origins=[SHOP]), Origin=EVIL)

    eventually(lambda: sorted(added.all()) == [("", "many", 20), (EVIL, "", 2)])
    assert the_row(neighbour).origin == EVIL


def test_recent_refusals__by_form_and_key__are_a_days_newest_first(api: Client) -> None:
    tenant = make_tenant()
    form_id, other_id = tenant.form(), tenant.form()
    submit(api, tenant.key, form_id, {})
    submit(api, tenant.publishable, other_id, {})
    rows_of(tenant, 2)
    form = Form.objects.get(pk=decode_id(Prefix.FORM, form_id))
    by_form = recent_refusals(tenant.organization, form=form)
    by_key = recent_refusals(tenant.organization, key=key_of(tenant.publishable))

    assert [public_id(row) for row in rows(tenant)] == [other_id, form_id]
    assert [public_id(row) for row in by_form] == [form_id]
    assert [public_id(row) for row in by_key] == [other_id]
    assert not recent_refusals(make_tenant().organization, form=form).exists()

    Refusal.objects.filter(form=form).update(last_at=now() - KEPT - dt.timedelta(seconds=1))
    assert [public_id(row) for row in rows(tenant)] == [other_id]


def test_purge_refusals__after_a_day__forgets_them_and_no_others(api: Client) -> None:
    tenant = make_tenant()
    for _ in range(2):
        submit(api, tenant.key, tenant.form(), {})
    newest, oldest = rows_of(tenant, 2)
    Refusal.objects.filter(pk=oldest.pk).update(last_at=now() - KEPT - dt.timedelta(seconds=1))

    assert purge_refusals() >= 1

    assert [row.pk for row in Refusal.objects.filter(organization=tenant.organization)] == [newest.pk]


def test_erased_form__takes_its_refusals_along(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    submit(api, tenant.key, form_id, {})
    the_row(tenant)
    api.delete(f"/api/forms/{form_id}", tenant.key)

    assert erase_form(Form.objects.get(pk=decode_id(Prefix.FORM, form_id)), by=None)

    assert rows(tenant) == []
