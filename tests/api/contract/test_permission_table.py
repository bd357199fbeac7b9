"""Every endpoint for every kind of caller: who is admitted, who is refused, and with exactly which message."""

from collections.abc import Mapping

import pytest
from django.urls import get_resolver

from config.base.ids import encode_id, new_id
from keys.access_keys import issue_key
from keys.models import AccessKey
from tests.services.application import Application
from tests.services.client import Client
from tests.support.replies import (
    ALL_SIX,
    FORBIDDEN,
    INVALID_ACCESS_KEY,
    SENTENCE,
    UNAUTHORIZED,
    assert_headers,
    failure,
    wrong_fields,
)
from tests.support.tables.callers import STRANGERS, House, furnish, session_cookie, strangers
from tests.support.tables.permission_table import (
    ADMIN,
    ANY_KEY,
    ANY_SECRET,
    OPEN,
    REFERENCES,
    TABLE,
    Endpoint,
    routed,
)
from tests.support.tenants import Tenant, make_tenant

FREE_LIMIT, ENTERPRISE_LIMIT = 100, 100_000
# Of the paths with an id, those that show an object: what a refused request must leave as it is.
SHOWN = ("forms", "submissions", "webhooks", "keys")
MISSING = "X-Required-Permission"
KNOWN_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")

every_endpoint = pytest.mark.parametrize("endpoint", TABLE, ids=str)
every_keyed_endpoint = pytest.mark.parametrize("endpoint", [one for one in TABLE if one.permission != ANY_KEY], ids=str)
every_endpoint_with_a_permission = pytest.mark.parametrize(
    "endpoint", [one for one in TABLE if one.permission not in (ANY_KEY, ANY_SECRET)], ids=str
)
every_endpoint_with_an_id = pytest.mark.parametrize("endpoint", [one for one in TABLE if one.names_an_object], ids=str)


@pytest.fixture(scope="module")
def house(service: Application) -> House:  # noqa: ARG001  # the service is there first
    """Return the objects for requests that are refused, and so change nothing."""
    return furnish(make_tenant())


@pytest.fixture(scope="module")
def outsiders(house: House) -> dict[str, Mapping[str, str]]:
    return strangers(house.tenant)


@pytest.fixture(scope="module")
def page_key(house: House) -> str:
    """Return a publishable key whose row lists every permission: its kind must be enough to refuse it."""
    key, token = issue_key(
        organization=house.tenant.organization, name="Page", by=None, kind=AccessKey.Kind.PUBLISHABLE
    )
    AccessKey.objects.filter(pk=key.pk).update(permissions=ALL_SIX)
    return token


@pytest.fixture(scope="module")
def foreigner(service: Application) -> Tenant:  # noqa: ARG001  # the service is there first
    """Return another organization, whose key may do everything there."""
    return make_tenant()


def just_enough(tenant: Tenant, permission: str) -> str:
    """Return a key that may do this and nothing else."""
    if permission in ALL_SIX:
        return tenant.issue(permission)
    return tenant.issue(admin=permission == ADMIN)


def test_table__compared_with_the_url_configuration__holds_every_routed_method_and_path_once() -> None:
    rows = [(one.method, one.path) for one in TABLE] + OPEN
    assert len(rows) == len(set(rows))
    assert set(routed(get_resolver().url_patterns)) == set(rows)


@every_endpoint
def test_endpoint__key_with_just_its_permission__answers(endpoint: Endpoint, api: Client) -> None:
    house = furnish(make_tenant())
    answer = house.send(api, endpoint, just_enough(house.tenant, endpoint.permission))
    assert answer.status == endpoint.status, answer.text
    assert_headers(answer, ENTERPRISE_LIMIT)
    if answer.headers["Content-Type"].startswith("application/json"):
        body = answer.json()
        bare = endpoint.path == "/api/submissions"  # no envelope here: docs/contract.md 1.10
        assert set(body) == {"data", "pagination"} if bare else body["success"] is True
        assert bare or body["message"] == SENTENCE


@pytest.mark.on_sqlite
@every_endpoint_with_a_permission
def test_endpoint__key_without_any_permission_of_the_resource__is_forbidden(
    endpoint: Endpoint, house: House, api: Client
) -> None:
    answer = house.send(api, endpoint, house.tenant.issue(*endpoint.of_others))
    assert (answer.status, answer.json()) == (403, FORBIDDEN)
    assert MISSING not in answer.headers
    assert_headers(answer, ENTERPRISE_LIMIT)


@pytest.mark.on_sqlite
@pytest.mark.parametrize("endpoint", [one for one in TABLE if one.of_the_resource], ids=str)
def test_endpoint__key_with_another_permission_of_the_resource__is_unauthorized_and_told_which(
    endpoint: Endpoint, house: House, api: Client
) -> None:
    answer = house.send(api, endpoint, house.tenant.issue(*endpoint.of_the_resource))
    assert (answer.status, answer.json()) == (403, UNAUTHORIZED)
    assert answer.headers[MISSING] == endpoint.permission
    assert_headers(answer, ENTERPRISE_LIMIT)


@pytest.mark.on_sqlite
@every_keyed_endpoint
def test_endpoint__publishable_key__is_forbidden_and_counted_against_the_address(
    endpoint: Endpoint, house: House, page_key: str, api: Client
) -> None:
    answer = house.send(api, endpoint, page_key)
    assert (answer.status, answer.json()) == (403, FORBIDDEN)
    assert_headers(answer, FREE_LIMIT)


def test_submit__publishable_key__is_taken(house: House, api: Client) -> None:
    answer = api.post("/api/submit", house.tenant.publishable, json={"message": "Hello"})
    assert answer.status == 201
    assert_headers(answer, ENTERPRISE_LIMIT)


@pytest.mark.on_sqlite
@pytest.mark.parametrize("stranger", STRANGERS)
@every_endpoint
def test_endpoint__caller_without_a_valid_key__is_told_so_and_nothing_else(
    endpoint: Endpoint, stranger: str, house: House, outsiders: dict[str, Mapping[str, str]], api: Client
) -> None:
    answer = house.send(api, endpoint, headers=outsiders[stranger])
    assert (answer.status, answer.json()) == (401, INVALID_ACCESS_KEY)
    assert_headers(answer, FREE_LIMIT)


def test_session_cookie__sent_to_the_dashboard__logs_in(house: House, api: Client) -> None:
    """Without this the refusals of a session would prove nothing."""
    assert "login" in api.get("/dashboard/").headers["Location"]
    inside = api.get("/dashboard/", headers={"Cookie": session_cookie(house.tenant)})
    assert "login" not in inside.headers.get("Location", "")


@every_endpoint_with_an_id
def test_endpoint__object_of_another_organization__is_unauthorized_and_untouched(
    endpoint: Endpoint, house: House, foreigner: Tenant, api: Client
) -> None:
    shown = [f"/api/{name}/{house.ids[name]}" for name in SHOWN]
    before = [api.get(path, house.tenant.key).json() for path in shown]
    answer = house.send(api, endpoint, foreigner.key)
    assert (answer.status, answer.json()) == (403, UNAUTHORIZED)
    assert MISSING not in answer.headers
    assert_headers(answer, ENTERPRISE_LIMIT)
    assert [api.get(path, house.tenant.key).json() for path in shown] == before


@pytest.mark.parametrize("endpoint", REFERENCES, ids=str)
def test_reference__to_an_object_of_another_organization__is_unauthorized(
    endpoint: Endpoint, house: House, foreigner: Tenant, api: Client
) -> None:
    answer = house.send(api, endpoint, foreigner.key)
    assert (answer.status, answer.json()) == (403, UNAUTHORIZED)
    assert_headers(answer, ENTERPRISE_LIMIT)


@pytest.mark.parametrize("endpoint", REFERENCES, ids=str)
def test_reference__to_nothing__is_not_found(endpoint: Endpoint, house: House, api: Client) -> None:
    nothing = House(house.tenant, {"forms": encode_id("frm", new_id()), "submissions": encode_id("sub", new_id())})
    answer = nothing.send(api, endpoint, house.tenant.key)
    assert (answer.status, answer.json()) == (404, failure("not_found"))


@every_endpoint_with_an_id
def test_endpoint__id_of_nothing__is_not_found(endpoint: Endpoint, house: House, api: Client) -> None:
    prefix = house.ids[endpoint.segment].partition("_")[0]
    nothing = House(house.tenant, {**house.ids, endpoint.segment: encode_id(prefix, new_id())})
    answer = nothing.send(api, endpoint, house.tenant.key)
    assert (answer.status, answer.json()) == (404, failure("not_found"))
    assert_headers(answer, ENTERPRISE_LIMIT)


@pytest.mark.on_sqlite
@pytest.mark.parametrize("wrong", [encode_id("org", new_id()), "1", "frm_", "%00"])
@every_endpoint_with_an_id
def test_endpoint__id_of_the_wrong_form__is_a_validation_error(
    endpoint: Endpoint, wrong: str, house: House, api: Client
) -> None:
    nonsense = House(house.tenant, {**house.ids, endpoint.segment: wrong})
    answer = nonsense.send(api, endpoint, house.tenant.key)
    assert wrong_fields(answer) == {"id"}
    assert_headers(answer, ENTERPRISE_LIMIT)


@pytest.mark.on_sqlite
@pytest.mark.parametrize("path", sorted({one.path for one in TABLE}))
def test_path__methods_that_it_has_not__are_refused_in_the_envelope(path: str, house: House, api: Client) -> None:
    allowed = {one.method for one in TABLE if one.path == path}
    for method in [one for one in KNOWN_METHODS if one not in allowed]:
        answer = house.send(api, Endpoint(method, path, ANY_KEY), house.tenant.key)
        assert (answer.status, answer.json()) == (405, failure("method_not_allowed")), method
        assert_headers(answer, ENTERPRISE_LIMIT)


@pytest.mark.on_sqlite
@pytest.mark.parametrize("path", sorted({one.path for one in TABLE if one.method == "GET"}))
def test_path__asked_with_head__is_as_closed_as_with_get(path: str, house: House, api: Client) -> None:
    head = Endpoint("HEAD", path, ANY_KEY)
    assert house.send(api, head).status == 401
    open_to_all = {one.permission for one in TABLE if (one.method, one.path) == ("GET", path)} == {ANY_SECRET}
    assert house.send(api, head, house.tenant.issue()).status == (200 if open_to_all else 403)
    assert house.send(api, head, house.tenant.key).status == 200


@pytest.mark.on_sqlite
@pytest.mark.parametrize("path", ["/api/", "/api/nothing", "/api/forms/", "/api/v1/forms", "/api/keys/a/b/c"])
def test_unknown_path__with_and_without_a_key__is_not_found_in_the_envelope(
    path: str, house: House, api: Client
) -> None:
    for key in (None, house.tenant.key):
        answer = api.get(path, key)
        assert (answer.status, answer.json()) == (404, failure("not_found"))
        assert answer.headers["X-Request-Id"]


@pytest.mark.on_sqlite
@pytest.mark.parametrize(("method", "path"), OPEN)
def test_open_endpoint__without_a_key__answers(method: str, path: str, api: Client) -> None:
    assert api.request(method, path).status == 200
