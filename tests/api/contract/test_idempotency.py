"""`Idempotency-Key` on every POST of the management API (docs/contract.md 1.30); on submit: test_submit_idempotency."""

import datetime as dt
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from config.base.ids import Prefix, decode_id
from config.base.times import now
from forms_app.models import Form
from keys.models import AccessKey, Organization, RememberedAnswer
from keys.plans import Plan
from submissions.models import Submission
from tests.services.client import Answer, Client
from tests.support.deliveries import deliveries_of
from tests.support.replies import ALL_SIX, INVALID_ACCESS_KEY, NOT_FOUND, failure, invalid, success, unknown_id
from tests.support.tables.callers import House, furnish
from tests.support.tables.permission_table import ADMIN, TABLE, Endpoint
from tests.support.tenants import Tenant, make_tenant
from webhooks.models import Receiver

POSTS = [one for one in TABLE if one.method == "POST" and one.path != "/api/submit"]
SECRETS = {  # of the answers that show one
    "POST /api/keys": "key",
    "POST /api/keys/{id}/regenerate": "key",
    "POST /api/webhooks": "secret",
    "POST /api/webhooks/{id}/rotate-secret": "secret",
}
OTHER_BODY = failure("conflict", "This Idempotency-Key came with another body before. Use a new key for a new request.")
MALFORMED = invalid(("Idempotency-Key", "invalid", "Idempotency-Key: must be 1 to 255 printable ASCII characters."))
FORM = {"name": "Contact"}


def send(house: House, api: Client, endpoint: Endpoint, key: str = "once") -> Answer:
    return house.send(api, endpoint, house.tenant.key, {"Idempotency-Key": key})


def create(api: Client, tenant: Tenant, body: Mapping[str, Any] = FORM, key: str = "once", **headers: str) -> Answer:
    return api.post("/api/forms", headers.get("by", tenant.key), json=body, headers={"Idempotency-Key": key})


def state_of(tenant: Tenant) -> list[Any]:
    """Return whatever a POST could change."""
    organization = tenant.organization
    keys = AccessKey.objects.filter(organization=organization).order_by("id").values_list("id", "digest")
    forms = Form.objects.filter(organization=organization).order_by("id").values_list("id", "status", "updated_at")
    hooks = Receiver.objects.filter(organization=organization).order_by("id")
    submissions = Submission.objects.filter(organization=organization).order_by("id").values_list("id", "spam")
    deliveries = deliveries_of(tenant).values_list("id", "message")
    return [list(keys), list(forms), [(each.pk, each.secret) for each in hooks], list(submissions), set(deliveries)]


def forms_named(tenant: Tenant, name: str = "Contact") -> int:
    return Form.objects.filter(organization=tenant.organization, name=name).count()


@pytest.mark.parametrize("endpoint", POSTS, ids=str)
def test_post__same_key_and_body_again__answers_the_same_and_changes_nothing(endpoint: Endpoint, api: Client) -> None:
    house = furnish(make_tenant())

    first = send(house, api, endpoint)
    after = state_of(house.tenant)
    again = send(house, api, endpoint)

    assert (first.status, again.status) == (endpoint.status, endpoint.status), first.text
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers.get("Idempotent-Replayed") == "true"
    assert again.headers.get("Location") == first.headers.get("Location")
    if (name := SECRETS.get(str(endpoint))) is not None:
        assert first.json()["data"][name]
        message = (
            "This request was carried out before, and its answer is repeated without the secret: "
            f"`{name}` is null, because it is shown only once. If you have lost it, make a new one."
        )
        assert again.json() == success({**first.json()["data"], name: None}, message)
        assert RememberedAnswer.objects.filter(answer__contains=first.json()["data"][name]).count() == 0
    else:
        assert again.body == first.body
    assert state_of(house.tenant) == after


@pytest.mark.on_sqlite
@pytest.mark.parametrize("endpoint", POSTS, ids=str)
def test_post__malformed_key__is_refused_and_changes_nothing(endpoint: Endpoint, api: Client) -> None:
    house = furnish(make_tenant())
    before = state_of(house.tenant)

    answer = send(house, api, endpoint, "k" * 256)

    assert (answer.status, answer.json()) == (400, MALFORMED)
    assert state_of(house.tenant) == before


@pytest.mark.parametrize("path", ["/api/forms/{id}/publish", "/api/webhooks/{id}/replay"])
def test_key__no_body_and_an_empty_object__differ(path: str, api: Client) -> None:
    house = furnish(make_tenant())
    address = Endpoint("POST", path, "").address(house.ids)
    headers = {"Idempotency-Key": "once"}

    first = api.post(address, house.tenant.key, headers=headers)
    other = api.post(address, house.tenant.key, json={}, headers=headers)
    again = api.post(address, house.tenant.key, headers=headers)

    assert (first.status, other.status, other.json()) == (200, 409, OTHER_BODY)
    assert (again.status, again.body, again.headers["Idempotent-Replayed"]) == (200, first.body, "true")


@pytest.mark.parametrize("body", [b'{"name": "Other"}', b'{"name":"Contact"}', b'{"name": "Contact"}\n'])
def test_key__another_raw_body__is_a_conflict(body: bytes, api: Client) -> None:
    tenant = make_tenant()
    headers = {"Idempotency-Key": "once", "Content-Type": "application/json"}
    first = api.post("/api/forms", tenant.key, data=b'{"name": "Contact"}', headers=headers)

    answer = api.post("/api/forms", tenant.key, data=body, headers=headers)

    assert (first.status, answer.status, answer.json()) == (201, 409, OTHER_BODY)
    assert (forms_named(tenant), forms_named(tenant, "Other")) == (1, 0)


def test_key__of_another_organization_path_or_spelling__is_another_request(api: Client) -> None:
    tenant, other = make_tenant(), make_tenant()
    house = furnish(tenant)
    answers = [create(api, tenant), create(api, other), create(api, tenant, key="Once")]
    answers += [send(house, api, Endpoint("POST", f"/api/forms/{{id}}/{to}", "")) for to in ("publish", "unpublish")]

    assert [answer.status for answer in answers] == [201, 201, 201, 200, 200]
    assert not [answer for answer in answers if "Idempotent-Replayed" in answer.headers]
    assert len({answer.json()["data"]["id"] for answer in answers[:3]}) == 3


def test_key__two_access_keys_of_the_organization__share_it(api: Client) -> None:
    tenant = make_tenant()
    first = create(api, tenant)

    again = create(api, tenant, by=tenant.issue("forms:write", "webhooks:write"))

    assert (again.status, again.body, again.headers["Idempotent-Replayed"]) == (201, first.body, "true")
    assert forms_named(tenant) == 1


def test_key__fifty_requests_at_once__make_one_object(api: Client) -> None:
    tenant = make_tenant()
    body = {"formId": tenant.form(), "url": "http://127.0.0.1:9/hook", "events": ["submission.created"]}

    def attempt(_: int) -> Answer:
        return api.post("/api/webhooks", tenant.key, json=body, headers={"Idempotency-Key": "once"})

    with ThreadPoolExecutor(50) as threads:
        answers = list(threads.map(attempt, range(50)))

    assert [answer.status for answer in answers] == [201] * 50, {answer.text for answer in answers}
    assert sum("Idempotent-Replayed" not in answer.headers for answer in answers) == 1
    assert sum(answer.json()["data"]["secret"] is not None for answer in answers) == 1
    (made,) = Receiver.objects.filter(organization=tenant.organization)
    assert {answer.json()["data"]["id"] for answer in answers} == {made.public_id}


@pytest.mark.on_sqlite
def test_refusal__is_not_remembered(api: Client) -> None:
    house = furnish(make_tenant())
    path, headers = f"/api/webhooks/{house.ids['webhooks']}", {"Idempotency-Key": "once"}
    api.patch(path, house.tenant.key, json={"status": "disabled"})

    refused = api.post(f"{path}/test", house.tenant.key, headers=headers)
    api.patch(path, house.tenant.key, json={"status": "active"})
    taken = api.post(f"{path}/test", house.tenant.key, headers=headers)

    assert (refused.status, refused.json()["error"], taken.status) == (409, "conflict", 200)
    assert "Idempotent-Replayed" not in taken.headers


def test_answer__object_that_was_made_is_deleted__is_repeated(api: Client) -> None:
    house = furnish(make_tenant())
    body = {"formId": house.ids["forms"], "url": "http://127.0.0.1:9/made", "events": ["submission.created"]}
    endpoint = Endpoint("POST", "/api/webhooks", "", 201, body)
    first = send(house, api, endpoint)
    made = first.json()["data"]["id"]
    assert api.delete(f"/api/webhooks/{made}", house.tenant.key).status == 200

    again = send(house, api, endpoint)

    assert (again.status, again.json()["data"]["id"], again.headers["Idempotent-Replayed"]) == (201, made, "true")
    assert not Receiver.objects.filter(organization=house.tenant.organization, url=body["url"]).exists()


@pytest.mark.on_sqlite
def test_answer__object_of_the_path_is_deleted__is_not_found(api: Client) -> None:
    house = furnish(make_tenant())
    endpoint = Endpoint("POST", "/api/webhooks/{id}/test", "")
    assert send(house, api, endpoint).status == 200
    api.delete(f"/api/webhooks/{house.ids['webhooks']}", house.tenant.key)

    again = send(house, api, endpoint)

    assert (again.status, again.json()) == (404, NOT_FOUND)


def test_answer__older_than_a_day__is_forgotten(api: Client) -> None:
    tenant = make_tenant()
    first = create(api, tenant)
    remembered = RememberedAnswer.objects.filter(organization=tenant.organization)
    remembered.update(created_at=now() - dt.timedelta(hours=23, minutes=59))
    second = create(api, tenant)
    remembered.update(created_at=now() - dt.timedelta(hours=24))

    third = create(api, tenant, {"name": "Contact", "retentionDays": 3})
    fourth = create(api, tenant, {"name": "Contact", "retentionDays": 3})

    assert second.json() == first.json()
    assert (third.status, "Idempotent-Replayed" in third.headers) == (201, False)
    assert (fourth.body, fourth.headers["Idempotent-Replayed"]) == (third.body, "true")
    assert forms_named(tenant) == 2


GATES: dict[str, tuple[int, Any]] = {
    "key": (401, INVALID_ACCESS_KEY),
    "suspension": (403, failure("suspended")),
    "limit": (429, failure("rate_limited")),
    "permission": (403, failure("unauthorized", "Unauthorized")),
    "forbidden": (403, failure("forbidden", "Forbidden")),
}


@pytest.mark.on_sqlite
@pytest.mark.parametrize("gate", GATES)
def test_gates__of_a_repeated_request__come_first(gate: str, api: Client) -> None:
    tenant = make_tenant()
    assert create(api, tenant).status == 201
    organization = Organization.objects.filter(pk=tenant.organization.pk)
    by = {"permission": tenant.issue("forms:read"), "forbidden": tenant.issue("webhooks:write"), "key": "fp_wrong"}
    if gate == "suspension":
        organization.update(suspended_at=now())
    if gate == "limit":
        organization.update(rate_limit=1)

    answer = create(api, tenant, by=by.get(gate, tenant.key))

    assert (answer.status, answer.json()) == GATES[gate]
    assert "Idempotent-Replayed" not in answer.headers


@pytest.mark.on_sqlite
def test_gates__plan_changed_since__comes_first(api: Client) -> None:
    house = furnish(make_tenant())
    endpoint = Endpoint("POST", "/api/keys", ADMIN, 201, {"name": "Made", "permissions": ALL_SIX})
    assert send(house, api, endpoint).status == 201
    Organization.objects.filter(pk=house.tenant.organization.pk).update(plan=Plan.PRO)

    answer = send(house, api, endpoint)

    assert (answer.status, answer.json()["error"]) == (403, "plan_required")


@pytest.mark.on_sqlite
@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        (b"{", 400, "invalid_json"),
        (b'{"name": 5}', 400, "validation_error"),
        (b"x" * 300_000, 413, "payload_too_large"),
    ],
)
def test_gates__body_that_is_wrong__is_refused_before_the_key_is_compared(
    body: bytes, status: int, error: str, api: Client
) -> None:
    tenant = make_tenant()
    create(api, tenant)
    headers = {"Idempotency-Key": "once", "Content-Type": "application/json"}

    answer = api.post("/api/forms", tenant.key, data=body, headers=headers)

    assert (answer.status, answer.json()["error"]) == (status, error)


@pytest.mark.on_sqlite
def test_object__of_another_organization_or_of_nobody__is_refused_and_not_remembered(api: Client) -> None:
    house, foreigner = furnish(make_tenant()), make_tenant()
    for path in (f"/api/forms/{house.ids['forms']}/publish", f"/api/forms/{unknown_id(Prefix.FORM)}/publish"):
        answer = api.post(path, foreigner.key, headers={"Idempotency-Key": "once"})
        assert answer.status == (403 if house.ids["forms"] in path else 404)
    assert not RememberedAnswer.objects.filter(organization=foreigner.organization).exists()
    assert Form.objects.get(pk=decode_id(Prefix.FORM, house.ids["forms"])).status == "draft"
