"""Location, ETag and 304, gzip, bodies that are compressed (docs/contract.md 1.31 to 1.35)."""

import gzip
import json
from typing import Any

import pytest

from tests.services.client import Answer, Client
from tests.support.replies import an_id, success
from tests.support.rows import put
from tests.support.tables.callers import furnish
from tests.support.tenants import Tenant, make_tenant

GZIP = {"Accept-Encoding": "gzip"}
HOOK = {"url": "http://127.0.0.1:9/hook", "events": ["submission.created"]}


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def packed(api: Client, path: str, key: str | None, accepted: str = "gzip") -> Answer:
    return api.get(path, key, headers={"Accept-Encoding": accepted})


def test_created__each_kind__is_found_at_its_location(api: Client, tenant: Tenant) -> None:
    bodies: dict[str, dict[str, Any]] = {
        "forms": {"name": "New"},
        "webhooks": {**HOOK, "formId": tenant.default_form_id},
        "keys": {"name": "New"},
    }
    for name, body in bodies.items():
        made = api.post(f"/api/{name}", tenant.key, json=body)
        assert made.headers["Location"] == f"/api/{name}/{made.json()['data']['id']}"
        assert api.get(made.headers["Location"], tenant.key).json()["data"]["id"] == made.json()["data"]["id"]


def test_submitted__again_too__is_found_at_its_location(api: Client, tenant: Tenant) -> None:
    once = {"Idempotency-Key": "order-1"}
    answers = [api.post("/api/submit", tenant.key, json={"a": "1"}, headers=once) for _ in range(2)]
    (path,) = {answer.headers["Location"] for answer in answers}
    found = api.get(path, tenant.key).json()["data"]
    assert (found["id"], found["data"]) == (answers[0].json()["data"]["id"], {"a": "1"})


def test_submitted__from_a_page__says_nothing_that_its_body_does_not(api: Client, tenant: Tenant) -> None:
    made = api.post("/api/submit", tenant.publishable, json={"a": "1"}, headers={"Origin": "https://a.example"})
    assert made.headers["Location"] == f"/api/submissions/{made.json()['data']['id']}"
    assert "Location" not in made.headers["Access-Control-Expose-Headers"]
    assert api.get(made.headers["Location"], tenant.publishable).status == 403


@pytest.mark.parametrize("name", ["forms", "submissions", "webhooks", "keys"])
def test_object__unchanged__is_304_without_content(api: Client, name: str) -> None:
    house = furnish(make_tenant())
    path = f"/api/{name}/{house.ids[name]}"
    etag = api.get(path, house.tenant.key).headers["ETag"]

    for known in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        again = api.get(path, house.tenant.key, headers={"If-None-Match": known, **GZIP})
        assert (again.status, again.body, again.headers["ETag"]) == (304, b"", etag)
        assert again.headers.keys() >= {"X-RateLimit-Limit", "X-Request-Id", "Cache-Control", "Vary"}
        assert not {"Content-Type", "Content-Length", "Content-Encoding", "Transfer-Encoding"} & again.headers.keys()
    for other in ('"other"', etag.strip('"'), ""):
        assert api.get(path, house.tenant.key, headers={"If-None-Match": other}).status == 200


CHANGES: dict[str, list[tuple[str, str, Any]]] = {
    "forms": [
        ("PATCH", "/api/forms/{forms}", {"successMessage": "Thanks"}),
        ("POST", "/api/forms/{forms}/publish", {}),
        ("POST", "/api/submit?formId={forms}", {"a": "1"}),  # submissionCount
        ("DELETE", "/api/forms/{forms}", {}),
    ],
    "submissions": [("PATCH", "/api/submissions/{submissions}", {"spam": True})],
    "webhooks": [("PATCH", "/api/webhooks/{webhooks}", {"status": "disabled"})],
    "keys": [("POST", "/api/keys/{keys}/regenerate", {}), ("DELETE", "/api/keys/{keys}", {})],
}


@pytest.mark.parametrize("name", CHANGES)
def test_object__after_each_change_that_is_seen__has_another_etag(api: Client, name: str) -> None:
    house = furnish(make_tenant())
    path, key = f"/api/{name}/{house.ids[name]}", house.tenant.key
    etag = api.get(path, key).headers["ETag"]
    for method, change, body in CHANGES[name]:
        assert api.request(method, change.format(**house.ids), key, json=body).status in (200, 201)
        now = api.get(path, key, headers={"If-None-Match": etag})
        assert (now.status, now.headers["ETag"] == etag) == (200, False), change
        etag = now.headers["ETag"]


@pytest.mark.on_sqlite
def test_object__of_another_organization_with_its_etag__is_refused(api: Client) -> None:
    house = furnish(make_tenant())
    path = f"/api/forms/{house.ids['forms']}"
    etag = api.get(path, house.tenant.key).headers["ETag"]
    assert api.get(path, make_tenant().key, headers={"If-None-Match": etag}).status == 403
    assert api.get(path, headers={"If-None-Match": etag}).status == 401


@pytest.mark.on_sqlite
@pytest.mark.parametrize("path", ["/api/forms", "/api/submissions", "/api/analytics", "/api/submissions/export"])
def test_list__has_no_etag(api: Client, tenant: Tenant, path: str) -> None:
    assert "ETag" not in api.get(path, tenant.key).headers


def test_list__for_a_client_that_takes_gzip__is_compressed(api: Client, tenant: Tenant) -> None:
    for number in range(30):
        put(tenant, tenant.default_form_id, {"message": f"The same words again, {number}"})
    plain = api.get("/api/submissions?limit=100", tenant.key)
    answer = packed(api, "/api/submissions?limit=100", tenant.key)
    assert (answer.headers["Content-Encoding"], answer.headers["Vary"]) == ("gzip", "Accept-Encoding")
    assert int(answer.headers["Content-Length"]) < len(plain.body) / 4
    assert answer.body == plain.body  # the client has unpacked it
    assert (plain.headers["Vary"], "Content-Encoding" in plain.headers) == ("Accept-Encoding", False)


@pytest.mark.on_sqlite
def test_list__compressed_twice__has_another_length(api: Client, tenant: Tenant) -> None:
    """A stranger who can add to a list must not learn from its length what else is in it."""
    put(tenant, tenant.default_form_id, {"message": "words " * 200})
    lengths = {packed(api, "/api/submissions", tenant.key).headers["Content-Length"] for _ in range(10)}
    assert len(lengths) > 2


@pytest.mark.on_sqlite
@pytest.mark.parametrize("accepted", ["", "br", "gzip;q=0", "identity"])
def test_list__for_others__is_not_compressed(api: Client, tenant: Tenant, accepted: str) -> None:
    put(tenant, tenant.default_form_id, {"message": "words " * 200})
    assert "Content-Encoding" not in packed(api, "/api/submissions", tenant.key, accepted).headers


@pytest.mark.parametrize("chosen", ["csv", "json", "ndjson"])
def test_export__compressed__is_the_same_file(api: Client, tenant: Tenant, chosen: str) -> None:
    for number in range(300):
        put(tenant, tenant.default_form_id, {"n": str(number), "message": "words " * 100})
    path = f"/api/submissions/export?format={chosen}"
    plain, answer = api.get(path, tenant.key), packed(api, path, tenant.key)
    assert (answer.headers["Content-Encoding"], answer.headers["Vary"]) == ("gzip", "Accept-Encoding")
    assert "Content-Length" not in answer.headers
    assert answer.headers["Content-Disposition"] == plain.headers["Content-Disposition"]
    assert answer.body == plain.body


@pytest.mark.on_sqlite
def test_answers_that_show_a_secret__are_never_compressed(api: Client, tenant: Tenant) -> None:
    """Next to a name that was sent, its length would give the secret away (BREACH)."""
    name = "n" * 200
    key = api.post("/api/keys", tenant.key, json={"name": name}, headers=GZIP)
    again = api.post(f"/api/keys/{key.json()['data']['id']}/regenerate", tenant.key, headers=GZIP)
    body = {**HOOK, "url": f"http://127.0.0.1:9/{name}", "formId": tenant.default_form_id}
    hook = api.post("/api/webhooks", tenant.key, json=body, headers=GZIP)
    login = api.get("/account/login/", headers=GZIP)
    for answer in (key, again, hook, login):
        assert answer.status in (200, 201)
        assert len(answer.body) > 400
        assert "Content-Encoding" not in answer.headers


@pytest.mark.on_sqlite
def test_schema__is_compressed_and_304_for_who_has_it(api: Client) -> None:
    plain, answer = api.get("/api/schema"), packed(api, "/api/schema", None)
    assert (answer.status, answer.headers["Content-Encoding"]) == (200, "gzip")
    assert int(answer.headers["Content-Length"]) < len(plain.body) / 5
    assert (answer.body, answer.headers["ETag"]) == (plain.body, f"W/{plain.headers['ETag']}")
    assert "Accept-Encoding" in plain.headers["Vary"]
    for known in (plain.headers["ETag"], answer.headers["ETag"]):
        again = api.get("/api/schema", headers={"If-None-Match": known, **GZIP})
        assert (again.status, again.body, again.headers["ETag"]) == (304, b"", plain.headers["ETag"])


@pytest.mark.on_sqlite
@pytest.mark.parametrize("coding", ["gzip", "br", "deflate, gzip"])
def test_body__compressed__is_415_everywhere_and_says_what_is_taken(api: Client, tenant: Tenant, coding: str) -> None:
    body = gzip.compress(json.dumps({"name": "New"}).encode())
    headers = {"Content-Type": "application/json", "Content-Encoding": coding}
    for path, key in (("/api/forms", tenant.key), ("/api/submit", tenant.key), (f"/f/{tenant.form()}", None)):
        answer = api.post(path, key, data=body, headers=headers)
        assert (answer.status, answer.json()["error"]) == (415, "unsupported_media_type"), path
        assert answer.headers["Accept-Encoding"] == "identity"


@pytest.mark.on_sqlite
@pytest.mark.parametrize("coding", ["", "identity", "Identity"])
def test_body__that_is_not_compressed__is_taken(api: Client, tenant: Tenant, coding: str) -> None:
    answer = api.post("/api/submit", tenant.key, json={"a": "1"}, headers={"Content-Encoding": coding})
    data = {"id": an_id("sub"), "formId": tenant.default_form_id, "createdAt": answer.json()["data"]["createdAt"]}
    assert (answer.status, answer.json()) == (201, success(data, "Submission received."))
