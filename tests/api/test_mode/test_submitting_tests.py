"""Test submissions: how they are made, marked, read and changed (docs/contract.md 12)."""

import json
from typing import Any

import pytest

from tests.services.client import Client
from tests.services.waiting import eventually
from tests.support.replies import ALL_SIX, INVALID_ACCESS_KEY
from tests.support.rows import wait_until_dispatched
from tests.support.submitting import submit, submit_and_get_id
from tests.support.tenants import UNHURRIED, Tenant, make_tenant, text_field

URLENCODED = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


@pytest.fixture
def key(tenant: Tenant) -> str:
    return tenant.issue(*ALL_SIX, mode="test")


def sent(api: Client, key: str, form_id: str = "", values: Any = None, **headers: str) -> str:
    answer = submit(api, key, form_id, values, **headers)
    assert answer.status == 201, answer.text
    return str(answer.json()["data"]["id"])


def found(api: Client, key: str, query: str = "") -> list[str]:
    answer = api.get(f"/api/submissions?{query}", key)
    assert answer.status == 200, answer.text
    return [row["id"] for row in answer.json()["data"]]


def record(api: Client, tenant: Tenant, pk: str) -> dict[str, Any]:
    read: dict[str, Any] = api.get(f"/api/submissions/{pk}", tenant.key).json()["data"]
    return read


def test_submission__of_each_mode__is_seen_by_its_own_readers(tenant: Tenant, key: str, api: Client) -> None:
    live, test = submit_and_get_id(api, tenant), sent(api, key)
    of_page = sent(api, tenant.test_publishable)
    wait_until_dispatched(tenant)

    assert found(api, tenant.key) == found(api, tenant.key, "test=false") == [live]
    assert found(api, key) == found(api, key, "test=true") == found(api, tenant.key, "test=true") == [of_page, test]
    assert [record(api, tenant, pk)["test"] for pk in (live, test, of_page)] == [False, True, True]


@pytest.mark.parametrize("query", ["", "formId={form}&", "q=needle&", "spam=all&held=all&", "held=false&", "spam=all&"])
def test_list__with_every_other_filter__keeps_to_its_mode(query: str, tenant: Tenant, key: str, api: Client) -> None:
    values, form = {"a": "a needle"}, tenant.default_form_id
    live, test = submit_and_get_id(api, tenant, values=values), sent(api, key, values=values)
    query = query.replace("{form}", form)
    assert found(api, tenant.key, query) == [live]
    assert found(api, tenant.key, f"{query}test=true") == found(api, key, query) == [test]
    for token, rows in ((tenant.key, [live]), (key, [test])):
        exported = api.get(f"/api/submissions/export?{query}format=ndjson", token).text.splitlines()
        assert [(json.loads(line)["id"], json.loads(line)["test"]) for line in exported] == [
            (pk, pk == test) for pk in rows
        ]


def test_cursor__of_each_mode__reads_its_own_rows_in_order(tenant: Tenant, key: str, api: Client) -> None:
    def put(token: str) -> str:
        made = sent(api, token)
        wait_until_dispatched(tenant)  # which gives the places: of two at the same time the later may come first
        return made

    live, tests = [put(tenant.key) for _ in range(2)], [put(key) for _ in range(3)]

    def read(token: str) -> tuple[list[str], str]:
        rows, cursor = [], ""
        while True:
            page = api.get(f"/api/submissions?limit=2&cursor={cursor}", token).json()
            rows += [row["id"] for row in page["data"]]
            cursor = page["pagination"]["next"]
            if not page["pagination"]["hasMore"]:
                return rows, cursor

    eventually(lambda: read(tenant.key)[0] == live and read(key)[0] == tests)
    _, cursor = read(key)
    assert api.get(f"/api/submissions?cursor={cursor}", key).json()["data"] == []
    assert api.get(f"/api/submissions?cursor={cursor}", tenant.key).status == 400, "a cursor belongs to its mode"
    later = sent(api, key)
    eventually(lambda: found(api, key, f"cursor={cursor}") == [later])


def test_csv__of_test_submissions__has_no_column_for_the_mode(key: str, api: Client) -> None:
    sent(api, key, values={"a": "1"})
    (head, *_) = api.get("/api/submissions/export", key).text.splitlines()
    assert head.lstrip("\ufeff") == "id,formId,createdAt,a"


def test_live_key__marks_releases_and_deletes_test_submissions(tenant: Tenant, key: str, api: Client) -> None:
    first, second = sent(api, key), sent(api, key)
    wait_until_dispatched(tenant)

    marked = api.patch(f"/api/submissions/{first}", tenant.key, json={"spam": True}).json()["data"]
    assert (marked["spam"], marked["test"]) == (True, True)
    assert found(api, key) == [second]
    bulk = {"ids": [first, second], "action": "notSpam"}
    assert api.post("/api/submissions/bulk", tenant.key, json=bulk).json()["data"] == {"changed": 1}
    assert api.delete(f"/api/submissions/{first}", tenant.key).status == 200
    assert found(api, key, "spam=all") == [second]
    analytics = api.get("/api/analytics", tenant.key).json()["data"]["totals"]
    assert analytics == {"received": 0, "spam": 0, "delivered": 0, "failed": 0}


def test_idempotency_key__of_a_test__is_no_live_one(tenant: Tenant, key: str, api: Client) -> None:
    form = tenant.form()
    ids = [
        submit(api, token, form, {"a": body}, Idempotency_Key="one").json()["data"]["id"]
        for token, body in [(key, "test"), (tenant.key, "live"), (tenant.publishable, "page")]
        for _ in range(2)
    ]
    assert ids[0::2] == ids[1::2]
    assert len(set(ids)) == 3
    assert submit(api, key, form, {"a": "other"}, Idempotency_Key="one").status == 409
    assert (
        submit(api, tenant.test_publishable, form, {"a": "test"}, Idempotency_Key="one").json()["data"]["id"] == ids[0]
    )


@pytest.mark.parametrize(
    "origin", ["http://localhost", "http://localhost:5173", "http://127.0.0.1:3000", "http://[::1]:8"]
)
def test_loopback_page__of_a_form_with_origins__sends_tests_alone(origin: str, tenant: Tenant, api: Client) -> None:
    form = tenant.form(allowed_origins=["https://shop.example"])
    assert submit(api, tenant.test_publishable, form, Origin=origin).status == 201
    assert submit(api, tenant.publishable, form, Origin=origin).json()["error"] == "origin_not_allowed"


@pytest.mark.parametrize(
    "origin",
    ["https://localhost", "http://localhost.evil.example", "http://localhost:1@evil.example", "http://[::2]", "null"],
)
def test_other_page__of_a_form_with_origins__sends_no_tests(origin: str, tenant: Tenant, api: Client) -> None:
    form = tenant.form(allowed_origins=["https://shop.example"])
    assert submit(api, tenant.test_publishable, form, Origin=origin).json()["error"] == "origin_not_allowed"


def test_captcha__of_a_test__passes_unasked_unless_it_is_to_fail(tenant: Tenant, api: Client) -> None:
    guarded = {"captcha": "turnstile", "captcha_site_key": "site", "captcha_secret": "secret"}
    form = tenant.form(spam_protection=guarded)
    key, field = tenant.test_publishable, "cf-turnstile-response"
    passed = sent(api, key, form, {"a": "1"})
    assert record(api, tenant, passed)["spam"] is False
    assert record(api, tenant, sent(api, key, form, {"a": "1", field: "anything"}))["spam"] is False
    refused = submit(api, key, form, {"a": "1", field: "test-fail"})
    assert (refused.status, refused.json()["details"][0]["code"]) == (400, "captcha_required")


def test_proof_of_work__of_a_test__is_checked(tenant: Tenant, api: Client) -> None:
    form = tenant.form(spam_protection={"proof_of_work": True})
    answer = submit(api, tenant.test_publishable, form)
    assert (answer.status, answer.json()["details"][0]["code"]) == (400, "proof_of_work_required")


def test_special_address__in_an_email_field__is_spam_or_held(tenant: Tenant, key: str, api: Client) -> None:
    form = tenant.form(fields=[text_field("mail", type="Email", required=False), text_field("name", required=False)])
    spam, held, plain = (
        sent(api, key, form, values)
        for values in (
            {"mail": "Spam@Fieldpost.test"},
            {"mail": "held@fieldpost.test"},
            {"name": "spam@fieldpost.test"},
        )
    )
    assert record(api, tenant, spam)["spamReasons"] == ["test: the address is spam@fieldpost.test"]
    assert record(api, tenant, held)["held"] == "rule"
    assert (record(api, tenant, plain)["spam"], record(api, tenant, plain)["held"]) == (False, None)
    assert found(api, key, "held=true") == [held]
    assert found(api, key, "held=false") == [plain]
    assert held in found(api, key, "cursor="), "from the start"
    live = submit_and_get_id(api, tenant, form, {"mail": "spam@fieldpost.test"})
    assert record(api, tenant, live)["spam"] is False

    released = api.patch(f"/api/submissions/{held}", key, json={"held": None}).json()["data"]
    assert (released["held"], released["test"]) == (None, True)
    wait_until_dispatched(tenant)
    assert record(api, tenant, held)["test"] is True


def test_unconfirmed_test__is_held_and_in_no_list(tenant: Tenant, key: str, api: Client) -> None:
    form = tenant.form(
        fields=[text_field("mail", type="Email", required=False)],
        spam_protection={"proof_of_work": True},
        confirmation=True,
    )
    pk = sent(api, key, form, {"mail": "ada@example.com"})
    assert record(api, tenant, pk)["held"] == "confirmation"
    assert (found(api, key), found(api, key, "held=all")) == ([], [pk])


def post(api: Client, form: str, query: str) -> Any:
    return api.post(f"/f/{form}?{query}", data="a=1", headers={**URLENCODED, "Accept": "application/json"})


def test_plain_post__with_the_test_key__is_a_test(tenant: Tenant, api: Client) -> None:
    form = tenant.form(**UNHURRIED)
    answers = [post(api, form, query) for query in (f"test={tenant.test_publishable}", "", "test=1", "test=fp")]
    assert [answer.status for answer in answers] == [201] * 4
    ids = [answer.json()["data"]["id"] for answer in answers]
    assert [record(api, tenant, pk)["test"] for pk in ids] == [True, False, False, False]


def test_plain_post__with_another_key__is_401_and_stores_nothing(tenant: Tenant, api: Client) -> None:
    form, other = tenant.form(), make_tenant()
    secret = tenant.issue(mode="test")
    wrong = [tenant.publishable, tenant.key, secret, other.test_publishable, "fp_", tenant.test_publishable[:-1] + "!"]
    for token in wrong:
        answer = post(api, form, f"test={token}")
        assert (answer.status, answer.json()["error"]) == (401, INVALID_ACCESS_KEY["error"])
    assert found(api, tenant.key, "spam=all") == found(api, tenant.key, "test=true&spam=all") == []


def test_hosted_page__with_the_test_key__posts_with_it(tenant: Tenant, api: Client) -> None:
    form = tenant.form(fields=[text_field("test", required=False), text_field("needed", required=True)])
    page = api.get(f"/f/{form}?test={tenant.test_publishable}").text
    again = api.post(
        f"/f/{form}?test={tenant.test_publishable}",
        data="test=1",
        headers={**URLENCODED, "Accept": "text/html"},
    ).text
    for html in (page, again):
        assert f'&amp;test={tenant.test_publishable}"' in html
    assert f'value="{tenant.test_publishable}"' not in page


def test_hour__of_tests__is_their_own(tenant: Tenant, key: str, api: Client) -> None:
    before = api.get("/api/me", tenant.key).json()["data"]["hour"]["used"]
    answers = [submit(api, token) for token in (key, tenant.test_publishable)]
    assert [answer.headers["X-RateLimit-Limit"] for answer in answers] == ["1000", "1000"]
    assert int(answers[0].headers["X-RateLimit-Remaining"]) - int(answers[1].headers["X-RateLimit-Remaining"]) == 1
    assert api.get("/api/me", tenant.key).json()["data"]["hour"]["used"] == before + 1
