"""Query parameters are checked before any id is looked up, and every problem is listed (docs/contract.md 1.17)."""

import pytest

from config.base.ids import Prefix, encode_id, new_id
from tests.services.client import Client
from tests.support.tenants import make_tenant

LISTS = ["/api/submissions", "/api/submissions/export", "/api/webhooks", "/api/destinations"]


def unknown_form() -> str:
    return encode_id(Prefix.FORM, new_id())


@pytest.mark.parametrize("whose", ["nobody's", "another's"])
@pytest.mark.parametrize("path", LISTS)
def test_parameter__wrong_beside_a_form_that_is_not_ours__answers_first(api: Client, path: str, whose: str) -> None:
    form_id = unknown_form() if whose == "nobody's" else make_tenant().default_form_id
    wrong = "format=x" if path.endswith("export") else "limit=abc"
    answer = api.get(f"{path}?formId={form_id}&{wrong}", make_tenant().key)
    assert (answer.status, answer.json()["error"]) == (400, "validation_error")


@pytest.mark.parametrize("wrong", ["limit=abc", "page=0", "bogus=1", "status=x", "status="])
@pytest.mark.parametrize("of", [f"webhooks/{Prefix.WEBHOOK}", f"submissions/{Prefix.SUBMISSION}"])
def test_parameter__wrong_in_the_log_of_nothing__answers_first(api: Client, of: str, wrong: str) -> None:
    path = f"/api/{encode_id(of, new_id())}/deliveries"
    answer = api.get(f"{path}?{wrong}", make_tenant().key)
    assert (answer.status, answer.json()["error"]) == (400, "validation_error")


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        ("/api/submissions?page=0&spam=x", {"spam", "page"}),
        ("/api/submissions?page=0&limit=0&bogus=1", {"bogus", "page", "limit"}),
        ("/api/submissions?page=x&limit=y&from=z&q=a", {"q", "from", "page", "limit"}),
        ("/api/submissions/export?format=x&to=&spam=x", {"to", "spam", "format"}),
        ("/api/forms?status=x&page=-1", {"status", "page"}),
        ("/api/analytics?from=x&to=y&interval=z&formId=q&bogus=1", {"from", "to", "interval", "formId", "bogus"}),
    ],
)
def test_parameters__several_wrong__are_all_told(api: Client, path: str, wrong: set[str]) -> None:
    answer = api.get(path, make_tenant().key)
    body = answer.json()
    assert answer.status == 400
    assert {detail["field"] for detail in body["details"]} == wrong
    assert body["message"] == body["details"][0]["message"]


def test_idempotency_key__form_says_something_else_by_now__the_first_answer_is_repeated(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(success_message="Thank you.")
    path, headers = f"/api/submit?formId={form_id}", {"Idempotency-Key": "one"}
    first = api.post(path, tenant.key, json={"a": "1"}, headers=headers)
    api.patch(f"/api/forms/{form_id}", tenant.key, json={"successMessage": "Changed."})
    api.post(f"/api/forms/{form_id}/unpublish", tenant.key)
    again = api.post(path, tenant.key, json={"a": "1"}, headers=headers)
    assert (again.status, again.json()) == (201, first.json())
    assert again.headers["Idempotent-Replayed"] == "true"


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ('{"a": NaN}', "line 1, column 7"),
        ('{"a": "NaN",\n "b": -Infinity}', "line 2, column 7"),
        ('{"1e999": [1e999]}', "line 1, column 12"),
    ],
)
def test_json__number_that_is_none__is_refused_with_its_place(api: Client, body: str, place: str) -> None:
    headers = {"Content-Type": "application/json"}
    answer = api.post("/api/submit", make_tenant().key, data=body, headers=headers)
    assert (answer.status, answer.json()["error"]) == (400, "invalid_json")
    assert answer.json()["message"].endswith(f"See {place}.")
