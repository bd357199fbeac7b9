"""A client that sends or reads slowly holds no thread, and not for long (docs/contract.md 8.11)."""

import select
from collections import Counter
from collections.abc import Callable

import pytest

from keys.models import Membership, Role
from tests.load.slow_peers import rest_of, slow_peers, status_of
from tests.services.application import Application
from tests.services.client import Client
from tests.services.waiting import eventually
from tests.support.rows import fill
from tests.support.tenants import Tenant, make_tenant

MEGABYTES = 8  # more than sockets hold
LIST = "GET /api/submissions?limit=100 HTTP/1.1\r\nHost: 127.0.0.1\r\nx-access-key: {}\r\n\r\n"
EXPORT = "/api/submissions/export?format=ndjson"


@pytest.fixture(scope="module")
def full() -> Tenant:
    """Return an organization whose export does not fit into sockets."""
    tenant = make_tenant()
    fill(tenant, MEGABYTES)
    return tenant


def test_slow_peers__2600_at_once__a_submit_and_healthz_are_answered(
    start_service: Callable[..., Application], full: Tenant
) -> None:
    port = start_service(BURST_PER_ADDRESS_AND_FORM="1000/m").port
    with slow_peers(port) as peers, Client(port) as api:
        exports = peers.exports(200, full.key)
        peers.bodies(100, f"/f/{full.default_form_id}")
        peers.bodies(100, "/api/submit", f"x-access-key: {full.key}\r\n")
        peers.heads(2_000)
        assert Counter(map(status_of, exports)) == {200: 2, 429: 198}
        for _ in range(20):  # more than there are threads
            assert api.post("/api/submit", full.key, json={"a": "1"}).status == 201
            assert api.post(f"/f/{full.default_form_id}", json={"a": "1"}).status == 201
            assert api.get("/healthz").status == 200


@pytest.fixture(scope="module")
def impatient(shared_service: Callable[..., Application]) -> Application:
    """Return a service whose patience with slow clients is one second."""
    return shared_service(HEAD_SECONDS="1", BODY_SECONDS="1", READER_SECONDS="1")


@pytest.mark.on_sqlite
def test_head__that_never_ends__is_cut(impatient: Application) -> None:
    with slow_peers(impatient.port) as peers:
        assert [rest_of(connection) for connection in peers.heads(3)] == [b"", b"", b""]


@pytest.mark.on_sqlite
@pytest.mark.parametrize("path", ["/api/submit", "/f/FORM", "/account/login/"])
def test_body__that_never_comes__is_408_and_the_connection_closed(impatient: Application, path: str) -> None:
    tenant = make_tenant()
    path = path.replace("FORM", tenant.default_form_id)
    with slow_peers(impatient.port) as peers:
        (connection,) = peers.bodies(1, path, f"x-access-key: {tenant.key}\r\n")
        answer = rest_of(connection)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'"error": "request_timeout"' in answer


@pytest.mark.on_sqlite
def test_body__of_a_request_that_is_refused_anyway__is_not_waited_for(
    start_service: Callable[..., Application],
) -> None:
    port = start_service(BODY_SECONDS="600", BURST_PER_FORM="1/h").port
    tenant = make_tenant()
    form = f"/f/{tenant.default_form_id}"
    with slow_peers(port) as peers, Client(port) as api:
        (keyless,) = peers.bodies(1, "/api/submit")
        assert status_of(keyless) == 401
        assert api.post(form, data="a=1", headers={"Content-Type": "application/x-www-form-urlencoded"}).status == 303
        (over,) = peers.bodies(1, form)
        assert status_of(over) == 429


@pytest.mark.on_sqlite
def test_export__taken_by_nobody__is_cut_and_its_place_is_free_again(impatient: Application, full: Tenant) -> None:
    with slow_peers(impatient.port) as peers, Client(impatient.port) as api:
        cut = peers.exports(2, full.key)
        assert {status_of(connection) for connection in cut} == {200}
        eventually(lambda: api.request("HEAD", EXPORT, full.key).status == 200, 30, "a place is free", every=0.1)
        assert not any(rest_of(connection).endswith(b"0\r\n\r\n") for connection in cut)


@pytest.mark.on_sqlite
def test_list__read_by_nobody__is_cut_and_the_connection_reset(impatient: Application, full: Tenant) -> None:
    with slow_peers(impatient.port) as peers:
        connection = peers.start(LIST.format(full.key).encode())
        watch = select.poll()
        watch.register(connection, 0)  # errors only; data that waits does not count
        assert watch.poll(30_000), "the connection is reset"


def test_exports__more_than_an_organization_may_run__are_429_with_retry_after(
    start_service: Callable[..., Application], full: Tenant
) -> None:
    port = start_service().port
    with slow_peers(port) as peers, Client(port) as api:
        assert {status_of(connection) for connection in peers.exports(2, full.key)} == {200}
        refused = api.get(EXPORT, full.key)
        assert (refused.status, refused.json()["error"]) == (429, "rate_limited")
        assert int(refused.headers["Retry-After"]) > 0
        assert api.get(EXPORT, make_tenant().key).status == 200


@pytest.mark.on_sqlite
def test_exports__more_than_all_may_run__are_429(start_service: Callable[..., Application], full: Tenant) -> None:
    port = start_service(EXPORTS_AT_ONCE="1").port
    other = make_tenant().key
    with Client(port) as api:
        with slow_peers(port) as peers:
            assert {status_of(connection) for connection in peers.exports(1, full.key)} == {200}
            assert api.get(EXPORT, other).status == 429
        eventually(lambda: api.get(EXPORT, other).status == 200, 30, "the place is free again", every=0.1)


def test_exports__of_organizations_of_one_owner__are_three_together(
    start_service: Callable[..., Application], full: Tenant
) -> None:
    second, stranger = make_tenant(), make_tenant()
    fill(second, MEGABYTES)
    Membership.objects.create(organization=second.organization, user=full.owner, role=Role.OWNER)
    Membership.objects.create(organization=stranger.organization, user=full.owner, role=Role.ADMIN)
    port = start_service().port
    with slow_peers(port) as peers, Client(port) as api:
        asked = [peers.exports(1, key) for _ in range(10) for key in (full.key, second.key)]
        assert Counter(status_of(connection) for (connection,) in asked) == {200: 3, 429: 17}
        assert {api.get(EXPORT, one.key).status for one in (full, second)} == {429}
        assert api.get(EXPORT, stranger.key).status == 200


@pytest.mark.on_sqlite
def test_exports__last_place__is_kept_for_organizations_that_run_none(
    start_service: Callable[..., Application], full: Tenant
) -> None:
    port = start_service(EXPORTS_AT_ONCE="2").port
    with slow_peers(port) as peers, Client(port) as api:
        assert {status_of(connection) for connection in peers.exports(1, full.key)} == {200}
        assert api.get(EXPORT, full.key).status == 429
        assert api.get(EXPORT, make_tenant().key).status == 200
