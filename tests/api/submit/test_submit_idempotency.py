"""`Idempotency-Key`: two requests that are one submission (docs/contract.md 5.17)."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from config.api.ratelimit import ANONYMOUS_LIMIT
from tests.services.application import Application
from tests.services.client import Answer, Client
from tests.support.rate_windows import lasting_client
from tests.support.replies import failure, invalid
from tests.support.submitting import records, stored_data, submit, submit_raw
from tests.support.tenants import make_tenant, text_field

BODY = b'{"a": "1"}'
OTHER_BODY = failure(
    "conflict", "This Idempotency-Key came with another body before. Use a new key for a new submission."
)
MALFORMED = invalid(("Idempotency-Key", "invalid", "Idempotency-Key: must be 1 to 255 printable ASCII characters."))


@pytest.mark.parametrize("key", ["k", "9f1c-4e", "with blank", "~!@#$%^&*()", "k" * 255])
def test_idempotency_key__same_again__answers_the_first_201(api: Client, key: str) -> None:
    tenant = make_tenant()
    form_id = tenant.form()

    first, again = (submit_raw(api, tenant, form_id, BODY, Idempotency_Key=key) for _ in range(2))

    assert (first.status, again.status) == (201, 201)
    assert again.json() == first.json()
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"
    assert stored_data(api, tenant, form_id) == [{"a": "1"}]


@pytest.mark.parametrize("body", [b'{"a": "2"}', b'{"a":"1"}', b'{"a": "1"}\n'])
def test_idempotency_key__other_raw_body__is_a_conflict(api: Client, body: bytes) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    submit_raw(api, tenant, form_id, BODY, Idempotency_Key="k")

    answer = submit_raw(api, tenant, form_id, body, Idempotency_Key="k")

    assert (answer.status, answer.json()) == (409, OTHER_BODY)
    assert stored_data(api, tenant, form_id) == [{"a": "1"}]


def test_idempotency_key__other_form_or_other_key__is_another_submission(api: Client) -> None:
    tenant = make_tenant()
    form_id, other = tenant.form(), tenant.form()

    answers = [
        submit_raw(api, tenant, form, BODY, Idempotency_Key=key)
        for form, key in ((form_id, "k"), (other, "k"), (form_id, "K"))
    ]

    assert [answer.status for answer in answers] == [201] * 3
    assert len({answer.json()["data"]["id"] for answer in answers}) == 3
    assert (len(records(api, tenant, form_id)), len(records(api, tenant, other))) == (2, 1)


def test_idempotency_key__without_one__every_request_is_a_submission(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()

    first, again = (submit_raw(api, tenant, form_id, BODY) for _ in range(2))

    assert first.json()["data"]["id"] != again.json()["data"]["id"]
    assert len(records(api, tenant, form_id)) == 2


def test_idempotency_key__twenty_requests_at_once__store_one_row(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()

    with ThreadPoolExecutor(20) as threads:
        answers = list(threads.map(lambda _: submit_raw(api, tenant, form_id, BODY, Idempotency_Key="once"), range(20)))

    assert [answer.status for answer in answers] == [201] * 20
    assert len({answer.body for answer in answers}) == 1
    assert sum("Idempotent-Replayed" not in answer.headers for answer in answers) == 1
    assert [row["id"] for row in records(api, tenant, form_id)] == [answers[0].json()["data"]["id"]]


def test_idempotency_key__after_the_submission_was_deleted__answers_the_same_and_stores_nothing(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    first = submit_raw(api, tenant, form_id, BODY, Idempotency_Key="k")
    deleted = api.delete(f"/api/submissions/{first.json()['data']['id']}", tenant.key)

    again = submit_raw(api, tenant, form_id, BODY, Idempotency_Key="k")

    assert (deleted.status, again.status, again.json()) == (200, 201, first.json())
    assert again.headers["Idempotent-Replayed"] == "true"
    assert records(api, tenant, form_id) == []


@pytest.mark.parametrize("refused", [b'{"other": "1"}', b'{"a": {}}', b"{", b"{}"])
def test_idempotency_key__after_a_refusal__is_still_free(api: Client, refused: bytes) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=[text_field("a", required=True)])

    assert submit_raw(api, tenant, form_id, refused, Idempotency_Key="k").status == 400
    taken = submit_raw(api, tenant, form_id, BODY, Idempotency_Key="k")

    assert taken.status == 201
    assert "Idempotent-Replayed" not in taken.headers
    assert stored_data(api, tenant, form_id) == [{"a": "1"}]


def test_idempotency_key__refused_by_a_draft__is_free_once_it_is_published(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(published=False)

    refused = submit_raw(api, tenant, form_id, BODY, Idempotency_Key="k")
    api.post(f"/api/forms/{form_id}/publish", tenant.key)
    taken = submit_raw(api, tenant, form_id, BODY, Idempotency_Key="k")

    assert (refused.status, taken.status) == (403, 201)
    assert "Idempotent-Replayed" not in taken.headers


def test_idempotency_key__of_spam__is_remembered_as_any_other(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()

    first, again = (
        submit_raw(api, tenant, form_id, b'{"a": "1", "_gotcha": "x"}', Idempotency_Key="k") for _ in range(2)
    )

    assert (again.status, again.json()) == (201, first.json())
    assert [row["spam"] for row in records(api, tenant, form_id)] == [True]


def test_idempotency_key__of_spam__is_remembered_over_the_hour_of_its_address(service: Application) -> None:
    tenant, client = make_tenant(), lasting_client(service.port)
    form_id = tenant.form()

    def send(key: str) -> Answer:
        return submit(client, tenant.publishable, form_id, {"a": "1", "_gotcha": "x"}, Idempotency_Key=key)

    first = send("k")
    for _ in range(ANONYMOUS_LIMIT):
        client.get("/api/forms")

    again, other = send("k"), send("another")

    assert (again.status, again.json(), again.headers["Idempotent-Replayed"]) == (201, first.json(), "true")
    assert other.status == 429
    assert len(records(client, tenant, form_id)) == 1


@pytest.mark.parametrize("key", ["", "k" * 256, "caf\u00e9", "tab\there"])
def test_idempotency_key__malformed__is_refused(api: Client, key: str) -> None:
    tenant = make_tenant()
    form_id = tenant.form()

    answer = submit_raw(api, tenant, form_id, BODY, Idempotency_Key=key)

    assert (answer.status, answer.json()) == (400, MALFORMED)
    assert records(api, tenant, form_id) == []
