"""`GET /api/analytics`: totals and a series filled with zeros (docs/contract.md 5.30)."""

import datetime as dt
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest

from config.base.ids import Prefix
from tests.services.client import Client
from tests.services.receivers import Receiver, Reply
from tests.services.waiting import eventually
from tests.support.replies import unknown_id
from tests.support.rows import put, wait_until_dispatched
from tests.support.submitting import submit_and_get_id, submit_and_get_record
from tests.support.tables.databases import first_on_both
from tests.support.tenants import Tenant, make_tenant

NOTHING = {"received": 0, "spam": 0, "delivered": 0, "failed": 0}
Settle = Callable[[Tenant], None]
SETTLED = pytest.mark.parametrize(
    "settle", [wait_until_dispatched, lambda tenant: None], ids=["dispatched", "immediately"]
)


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def analytics(api: Client, tenant: Tenant, **query: str) -> Any:
    answer = api.get(f"/api/analytics?{urlencode(query)}", tenant.key)
    assert answer.status == 200, answer.text
    return answer.json()


def totals(api: Client, tenant: Tenant, **query: str) -> dict[str, int]:
    found: dict[str, int] = analytics(api, tenant, **query)["data"]["totals"]
    return found


def point(start: str, received: int = 0, spam: int = 0) -> dict[str, Any]:
    return {"start": start, "received": received, "spam": spam}


def today(api: Client) -> dt.date:
    """Return the service's own UTC day."""
    return dt.datetime.strptime(api.get("/healthz").headers["Date"], "%a, %d %b %Y %H:%M:%S %Z").date()


def put_a_week(tenant: Tenant, form: str) -> None:
    for text, spam in [
        ("2026-03-01T23:59:59.999", False),
        ("2026-03-02T00:00:00", False),
        ("2026-03-02T10:59:59.999", True),
        ("2026-03-02T23:59:59.999", False),
        ("2026-03-04T12:30:00", False),
        ("2026-03-05T00:00:00", True),
    ]:
        put(tenant, form, {"n": "1"}, dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC), spam=spam)


@SETTLED
def test_days__range_with_gaps__is_filled_with_zeros(api: Client, tenant: Tenant, settle: Settle) -> None:
    put_a_week(tenant, tenant.form())
    settle(tenant)
    assert analytics(api, tenant, **{"from": "2026-03-02", "to": "2026-03-04"}) == {
        "success": True,
        "data": {
            "totals": {**NOTHING, "received": 4, "spam": 1},
            "series": [
                point("2026-03-02T00:00:00.000Z", 3, 1),
                point("2026-03-03T00:00:00.000Z"),
                point("2026-03-04T00:00:00.000Z", 1),
            ],
        },
        "message": "Counts from 2026-03-02 to 2026-03-04.",
    }


@SETTLED
def test_hours__one_day__is_24_points_filled_with_zeros(api: Client, tenant: Tenant, settle: Settle) -> None:
    put_a_week(tenant, tenant.form())
    settle(tenant)
    body = analytics(api, tenant, **{"from": "2026-03-02", "to": "2026-03-02", "interval": "hour"})
    series = [point(f"2026-03-02T{hour:02}:00:00.000Z") for hour in range(24)]
    for hour, spam in ((0, 0), (10, 1), (23, 0)):
        series[hour] = point(f"2026-03-02T{hour:02}:00:00.000Z", 1, spam)
    assert body["data"] == {"totals": {**NOTHING, "received": 3, "spam": 1}, "series": series}


def test_range__not_given__is_the_last_30_days(api: Client, tenant: Tenant) -> None:
    day = today(api)
    noon = dt.datetime.combine(day, dt.time(0), dt.UTC)
    for days in (29, 30):
        put(tenant, tenant.default_form_id, {"n": "1"}, noon - dt.timedelta(days=days))
    record = submit_and_get_record(api, tenant, tenant.default_form_id, {"n": "1"})
    series = [point(f"{day - dt.timedelta(days=days)}T00:00:00.000Z") for days in range(29, -1, -1)]
    for place in (0, 29):
        series[place]["received"] = 1
    assert record["createdAt"].startswith(str(day))
    assert analytics(api, tenant) == {
        "success": True,
        "data": {"totals": {**NOTHING, "received": 2}, "series": series},
        "message": f"Counts from {day - dt.timedelta(days=29)} to {day}.",
    }


@pytest.mark.parametrize(
    ("query", "first", "last", "points"),
    [
        ({"to": "2026-03-30"}, "2026-03-01", "2026-03-30", 30),
        ({"from": "2026-02-28", "to": "2026-03-01"}, "2026-02-28", "2026-03-01", 2),
        ({"from": "2024-02-28", "to": "2024-03-01"}, "2024-02-28", "2024-03-01", 3),
        ({"from": "9999-12-31", "to": "9999-12-31"}, "9999-12-31", "9999-12-31", 1),
        ({"from": "2026-03-29", "to": "2026-03-29", "interval": "hour"}, "2026-03-29", "2026-03-29", 24),
    ],
)
def test_range__from_and_to__are_inclusive_utc_days(
    api: Client, tenant: Tenant, query: dict[str, str], first: str, last: str, points: int
) -> None:
    starts = [one["start"] for one in analytics(api, tenant, **query)["data"]["series"]]
    assert (len(starts), starts[0], starts[-1][:10]) == (points, f"{first}T00:00:00.000Z", last)


def test_range__from_alone__ends_today(api: Client, tenant: Tenant) -> None:
    day = today(api)
    body = analytics(api, tenant, **{"from": str(day - dt.timedelta(days=2))})
    assert [one["start"][:10] for one in body["data"]["series"]] == [
        str(day - dt.timedelta(days=days)) for days in (2, 1, 0)
    ]


def test_range__times__count_their_whole_hours(api: Client, tenant: Tenant) -> None:
    form = tenant.form()
    for text in ("09:59:59.999", "10:00:00", "10:59:59.999", "11:10:00", "12:00:00"):
        put(tenant, form, {"n": "1"}, dt.datetime.fromisoformat(f"2026-03-02T{text}").replace(tzinfo=dt.UTC))
    times = {"from": "2026-03-02T12:30:00+02:00", "to": "2026-03-02T11:00:00Z"}

    by_hour = analytics(api, tenant, **times, interval="hour")
    by_day = analytics(api, tenant, **times)

    assert by_hour["message"] == "Counts from 2026-03-02T10:00:00.000Z to before 2026-03-02T12:00:00.000Z."
    assert [(point["start"], point["received"]) for point in by_hour["data"]["series"]] == [
        ("2026-03-02T10:00:00.000Z", 2),
        ("2026-03-02T11:00:00.000Z", 1),
    ]
    assert [(point["start"], point["received"]) for point in by_day["data"]["series"]] == [
        ("2026-03-02T00:00:00.000Z", 3)
    ]


@pytest.mark.parametrize("interval", ["day", "hour"])
def test_range__from_after_to__is_empty(api: Client, tenant: Tenant, interval: str) -> None:
    for first, last in (("2026-03-02", "2026-03-01"), ("2026-03-01T10:50:00Z", "2026-03-01T10:10:00Z")):
        body = analytics(api, tenant, **{"from": first, "to": last, "interval": interval})
        assert body == {
            "success": True,
            "data": {"totals": {"received": 0, "spam": 0, "delivered": 0, "failed": 0}, "series": []},
            "message": "Nothing lies in this range: `from` is after `to`.",
        }


@pytest.mark.parametrize(
    ("query", "field"),
    first_on_both(
        [
            ({"from": "2026-03-02T10:00:00"}, "from"),
            ({"from": "2026-02-30"}, "from"),
            ({"to": "2026-3-1"}, "to"),
            ({"to": "2026-W01-1"}, "to"),
            ({"from": ""}, "from"),
            ({"from": "2010-01-01", "to": "2026-01-01"}, "from"),  # too many days
            ({"from": "2025-01-01", "to": "2026-01-01", "interval": "hour"}, "from"),  # too many hours
            ({"interval": "week"}, "interval"),
            ({"interval": "Day"}, "interval"),
            ({"formId": "frm_1"}, "formId"),
            ({"page": "1"}, "page"),
            ({"form": "x"}, "form"),
        ]
    ),
)
def test_query__malformed_or_unknown__validation_error(
    api: Client, tenant: Tenant, query: dict[str, str], field: str
) -> None:
    answer = api.get(f"/api/analytics?{urlencode(query)}", tenant.key)
    assert (answer.status, answer.json()["error"]) == (400, "validation_error")
    assert [detail["field"] for detail in answer.json()["details"]] == [field]


def test_form_id__own_form__counts_it_alone(api: Client, tenant: Tenant) -> None:
    form, other = tenant.form(), tenant.form()
    for form_id in (form, form, other):
        submit_and_get_record(api, tenant, form_id, {"n": "1"})
    assert totals(api, tenant, formId=form) == {**NOTHING, "received": 2}
    assert totals(api, tenant, formId=other) == {**NOTHING, "received": 1}
    assert totals(api, tenant) == {**NOTHING, "received": 3}
    assert totals(api, make_tenant()) == NOTHING


def test_form_id__foreign_or_unknown__is_refused(api: Client, tenant: Tenant) -> None:
    foreign = api.get(f"/api/analytics?formId={make_tenant().form()}", tenant.key)
    expected = {"success": False, "error": "unauthorized", "message": "Unauthorized"}
    assert (foreign.status, foreign.json()) == (403, expected)
    unknown = api.get(f"/api/analytics?formId={unknown_id(Prefix.FORM)}", tenant.key)
    assert (unknown.status, unknown.json()["error"]) == (404, "not_found")


def test_received__after_every_submit__is_exact_at_once(api: Client, tenant: Tenant) -> None:
    form = tenant.form()
    for count in range(1, 11):  # some of these are dispatched by now, some are not
        submit_and_get_record(api, tenant, form, {"n": "1", **({"_gotcha": "bot"} if count % 2 else {})})
        expected = {**NOTHING, "received": count, "spam": (count + 1) // 2}
        assert totals(api, tenant, formId=form) == totals(api, tenant) == expected
    wait_until_dispatched(tenant)
    assert totals(api, tenant, formId=form) == {**NOTHING, "received": 10, "spam": 5}


@SETTLED
def test_received__after_deletes__is_not_lowered(api: Client, tenant: Tenant, settle: Settle) -> None:
    form = tenant.form()
    values = ({"n": "1"}, {"n": "1", "_gotcha": "bot"}, {"n": "1"})
    ids = [submit_and_get_id(api, tenant, form, each) for each in values]
    settle(tenant)
    for pk in ids[:2]:
        assert api.delete(f"/api/submissions/{pk}", tenant.key).status == 200
    assert totals(api, tenant, formId=form) == {**NOTHING, "received": 3}
    wait_until_dispatched(tenant)
    assert totals(api, tenant, formId=form) == {**NOTHING, "received": 3}


@SETTLED
def test_spam__after_flips__is_what_is_stored_now(api: Client, tenant: Tenant, settle: Settle) -> None:
    form = tenant.form()
    path = f"/api/submissions/{submit_and_get_record(api, tenant, form, {'n': '1'})['id']}"
    settle(tenant)
    for spam in (True, False, True):
        assert api.patch(path, tenant.key, json={"spam": spam}).status == 200
        assert totals(api, tenant, formId=form) == {**NOTHING, "received": 1, "spam": int(spam)}
    wait_until_dispatched(tenant)
    assert totals(api, tenant, formId=form) == {**NOTHING, "received": 1, "spam": 1}


def test_delivered_and_failed__webhook_answers__are_counted_once(
    api: Client, tenant: Tenant, receiver: Receiver
) -> None:
    form = tenant.form()
    hook = {"formId": form, "url": receiver.url(), "events": ["submission.created"]}
    webhook = api.post("/api/webhooks", tenant.key, json=hook).json()["data"]["id"]
    for count in (1, 2):
        submit_and_get_record(api, tenant, form, {"n": str(count)})
        receiver.wait_for(count)
    receiver.reply = Reply(410)  # the one answer that ends a delivery with its first attempt
    submit_and_get_record(api, tenant, form, {"n": "3"})
    expected = {"received": 3, "spam": 0, "delivered": 2, "failed": 1}
    eventually(lambda: totals(api, tenant, formId=form) == expected, because=f"the totals are {expected}", every=0.1)
    receiver.reply = Reply(200)
    assert api.patch(f"/api/webhooks/{webhook}", tenant.key, json={"status": "active"}).status == 200
    assert api.post(f"/api/webhooks/{webhook}/replay", tenant.key, json={}).json()["data"]["replayed"] == 1
    healed = {"received": 3, "spam": 0, "delivered": 3, "failed": 0}
    eventually(lambda: totals(api, tenant) == healed, because=f"the totals are {healed}", every=0.1)
