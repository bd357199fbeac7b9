"""`/api/submissions`: list and its pages, read, mark as spam or not, delete (docs/contract.md 5)."""

from collections.abc import Callable
from typing import Any

import pytest

from config.base.ids import Prefix
from tests.services.client import Client
from tests.support.replies import unknown_id
from tests.support.rows import put, wait_until_dispatched
from tests.support.submitting import submit_and_get_record
from tests.support.tables.databases import first_on_both
from tests.support.tenants import Tenant, make_tenant

pytestmark = pytest.mark.quick


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def listed(api: Client, tenant: Tenant, query: str = "") -> Any:
    answer = api.get(f"/api/submissions{query}", tenant.key)
    assert answer.status == 200, answer.text
    return answer.json()


def total(api: Client, tenant: Tenant, query: str = "") -> int:
    return int(listed(api, tenant, query)["pagination"]["total"])


def test_list__nothing_received__is_empty_with_no_pages(api: Client, tenant: Tenant) -> None:
    answer = api.get("/api/submissions", tenant.key)
    expected = {"data": [], "pagination": {"page": 1, "limit": 25, "total": 0, "pages": 0}}
    assert (answer.status, answer.headers["Content-Type"], answer.json()) == (200, "application/json", expected)


def test_list__two_received__is_data_and_pagination_newest_first(api: Client, tenant: Tenant) -> None:
    form = tenant.form()
    first = submit_and_get_record(api, tenant, form, {"name": "Ada", "topic": "Ünïcode"})
    second = submit_and_get_record(api, tenant, form, {"name": "Grace"})
    expected = {"data": [second, first], "pagination": {"page": 1, "limit": 25, "total": 2, "pages": 1}}
    assert listed(api, tenant) == expected


def test_list__several_forms__holds_the_whole_organization(api: Client, tenant: Tenant) -> None:
    first = submit_and_get_record(api, tenant, tenant.form(), {"a": "1"})
    second = submit_and_get_record(api, tenant, tenant.default_form_id, {"b": "2"})
    assert listed(api, tenant)["data"] == [second, first]


def test_list__another_organization__sees_nothing_of_it(api: Client, tenant: Tenant) -> None:
    submit_and_get_record(api, tenant, tenant.form(), {"a": "1"})
    assert listed(api, make_tenant())["data"] == []


def test_list__values_in_order_sent__keeps_their_order(api: Client, tenant: Tenant) -> None:
    names = ["zebra", "apple", "Mango", "_own", "10", "9"]
    submit_and_get_record(api, tenant, tenant.form(), dict.fromkeys(names, "x"))
    assert list(listed(api, tenant)["data"][0]["data"]) == names


@pytest.mark.parametrize(
    ("page", "limit", "places", "pages"),
    [
        (1, 3, [6, 5, 4], 3),
        (2, 3, [3, 2, 1], 3),
        (3, 3, [0], 3),
        (4, 3, [], 3),
        (10**12, 100, [], 1),
        (1, 7, [6, 5, 4, 3, 2, 1, 0], 1),
        (2, 1, [5], 7),
        (1, 100, [6, 5, 4, 3, 2, 1, 0], 1),
    ],
)
def test_list__page_and_limit__cut_it_exactly(
    api: Client, tenant: Tenant, page: int, limit: int, places: list[int], pages: int
) -> None:
    form = tenant.form()
    for place in range(7):
        put(tenant, form, {"place": str(place)})
    body = listed(api, tenant, f"?page={page}&limit={limit}")
    assert [row["data"]["place"] for row in body["data"]] == [str(place) for place in places]
    assert body["pagination"] == {"page": page, "limit": limit, "total": 7, "pages": pages}


@pytest.mark.parametrize(
    "query",
    first_on_both(
        ["page=0", "page=-1", "page=x", "page=1.5", "page=", "page=1_0", "limit=0", "limit=101", "limit=ten"]
    ),
)
def test_list__page_or_limit_out_of_range__validation_error(api: Client, tenant: Tenant, query: str) -> None:
    answer = api.get(f"/api/submissions?{query}", tenant.key)
    assert (answer.status, answer.json()["error"]) == (400, "validation_error")
    assert [detail["field"] for detail in answer.json()["details"]] == [query.partition("=")[0]]


def test_total__after_every_submit__is_exact_at_once_and_stays_so(api: Client, tenant: Tenant) -> None:
    form = tenant.form()
    for count in range(1, 16):  # some of these are dispatched by now, some are not
        submit_and_get_record(api, tenant, form, {"n": str(count)})
        assert (total(api, tenant, f"?formId={form}"), total(api, tenant)) == (count, count)
    wait_until_dispatched(tenant)
    assert (total(api, tenant, f"?formId={form}"), total(api, tenant)) == (15, 15)


@pytest.mark.parametrize("settle", [wait_until_dispatched, lambda tenant: None], ids=["dispatched", "immediately"])
def test_total__after_delete_and_spam_flips__is_exact_at_once(
    api: Client, tenant: Tenant, settle: Callable[[Tenant], None]
) -> None:
    form = tenant.form()
    ids = [submit_and_get_record(api, tenant, form, {"n": str(n)})["id"] for n in range(5)]
    settle(tenant)
    seen = []
    changes: list[tuple[str, int, dict[str, Any]]] = [
        ("DELETE", 0, {}),
        ("PATCH", 1, {"json": {"spam": True}}),
        ("PATCH", 2, {"json": {"spam": True}}),
        ("PATCH", 1, {"json": {"spam": False}}),
        ("DELETE", 2, {}),
    ]
    for method, place, options in changes:
        assert api.request(method, f"/api/submissions/{ids[place]}", tenant.key, **options).status == 200
        seen.append([total(api, tenant, f"?formId={form}&spam={spam}") for spam in ("false", "true", "all")])
    assert seen == [[4, 0, 4], [3, 1, 4], [2, 2, 4], [3, 1, 4], [3, 0, 3]]
    wait_until_dispatched(tenant)
    assert [total(api, tenant, f"?formId={form}&spam={spam}") for spam in ("false", "true", "all")] == [3, 0, 3]


def test_read__own_submission__is_the_whole_record(api: Client, tenant: Tenant) -> None:
    record = submit_and_get_record(api, tenant, tenant.form(), {"name": "Ada", "age": "36"})
    answer = api.get(f"/api/submissions/{record['id']}", tenant.key)
    assert (answer.status, answer.json()) == (200, {"success": True, "data": record, "message": "Found."})


def test_mark__spam_and_back__is_the_whole_record_each_time(api: Client, tenant: Tenant) -> None:
    record = submit_and_get_record(api, tenant, tenant.form(), {"name": "Ada"})
    path = f"/api/submissions/{record['id']}"
    marked = api.patch(path, tenant.key, json={"spam": True}).json()
    spam = {**record, "spam": True, "spamReasons": ["marked as spam"]}
    assert marked == {"success": True, "data": spam, "message": "Marked as spam."}
    assert api.get(path, tenant.key).json()["data"] == spam
    cleared = api.patch(path, tenant.key, json={"spam": False}).json()
    assert cleared == {"success": True, "data": record, "message": "Marked as not spam."}
    assert api.get(path, tenant.key).json()["data"] == record


def test_mark__as_it_is_already__changes_nothing(api: Client, tenant: Tenant) -> None:
    record = submit_and_get_record(api, tenant, tenant.form(), {"name": "Ada", "_gotcha": "bot"})
    answer = api.patch(f"/api/submissions/{record['id']}", tenant.key, json={"spam": True})
    assert (answer.status, answer.json()["data"]) == (200, record)


@pytest.mark.parametrize(
    ("body", "field", "code"),
    first_on_both(
        [
            ({}, "spam", "required"),
            ({"spam": None}, "spam", "null"),
            ({"spam": "true"}, "spam", "invalid"),
            ({"spam": 1}, "spam", "invalid"),
            ({"spam": [True]}, "spam", "invalid"),
            ({"spam": True, "data": {}}, "data", "unknown_field"),
        ]
    ),
)
def test_mark__wrong_body__validation_error(
    api: Client, tenant: Tenant, body: dict[str, Any], field: str, code: str
) -> None:
    record = submit_and_get_record(api, tenant, tenant.form(), {"name": "Ada"})
    answer = api.patch(f"/api/submissions/{record['id']}", tenant.key, json=body)
    assert (answer.status, answer.json()["error"]) == (400, "validation_error")
    assert [(detail["field"], detail["code"]) for detail in answer.json()["details"]] == [(field, code)]
    assert api.get(f"/api/submissions/{record['id']}", tenant.key).json()["data"] == record


def test_delete__own_submission__is_gone(api: Client, tenant: Tenant) -> None:
    form = tenant.form()
    kept = submit_and_get_record(api, tenant, form, {"n": "1"})
    path = f"/api/submissions/{submit_and_get_record(api, tenant, form, {'n': '2'})['id']}"
    answer = api.delete(path, tenant.key)
    expected = {"id": path.rpartition("/")[2], "deleted": True}
    assert (answer.status, answer.json()) == (
        200,
        {"success": True, "data": expected, "message": "Submission deleted."},
    )
    assert api.get(path, tenant.key).status == api.delete(path, tenant.key).status == 404
    assert listed(api, tenant)["data"] == [kept]


REQUESTS: list[tuple[str, dict[str, Any]]] = [("GET", {}), ("PATCH", {"json": {"spam": True}}), ("DELETE", {})]


@pytest.mark.parametrize(("method", "options"), REQUESTS)
def test_submission__of_another_organization__unauthorized_and_untouched(
    api: Client, tenant: Tenant, method: str, options: dict[str, Any]
) -> None:
    record = submit_and_get_record(api, tenant, tenant.form(), {"name": "Ada"})
    answer = api.request(method, f"/api/submissions/{record['id']}", make_tenant().key, **options)
    expected = {"success": False, "error": "unauthorized", "message": "Unauthorized"}
    assert (answer.status, answer.json()) == (403, expected)
    assert api.get(f"/api/submissions/{record['id']}", tenant.key).json()["data"] == record


@pytest.mark.parametrize(("method", "options"), REQUESTS)
def test_submission__unknown_id__not_found(api: Client, tenant: Tenant, method: str, options: dict[str, Any]) -> None:
    answer = api.request(method, f"/api/submissions/{unknown_id(Prefix.SUBMISSION)}", tenant.key, **options)
    assert (answer.status, answer.json()["error"]) == (404, "not_found")


@pytest.mark.parametrize("text", ["1", "sub_", "sub_short", f"SUB_{26 * '0'}", f"frm_{26 * '0'}"])
def test_submission__malformed_id__validation_error(api: Client, tenant: Tenant, text: str) -> None:
    answer = api.get(f"/api/submissions/{text}", tenant.key)
    assert (answer.status, answer.json()["error"]) == (400, "validation_error")
    assert [(detail["field"], detail["code"]) for detail in answer.json()["details"]] == [("id", "invalid_id")]


def test_submission__of_an_archived_form__stays_readable(api: Client, tenant: Tenant) -> None:
    form = tenant.form()
    record = submit_and_get_record(api, tenant, form, {"name": "Ada"})
    assert api.delete(f"/api/forms/{form}", tenant.key).status == 200
    assert api.get(f"/api/submissions/{record['id']}", tenant.key).json()["data"] == record
    assert listed(api, tenant, f"?formId={form}")["data"] == [record]
