"""Slow clients are nginx's. What a service without a proxy holds of them is bounded (docs/contract.md 8.11)."""

import select
import socket
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from keys.models import Membership, Role
from tests.load.slow_peers import rest_of, slow_peers, status_of
from tests.services.application import Application
from tests.services.client import Answer, Client
from tests.services.nginx import Nginx
from tests.services.waiting import eventually
from tests.support.posted_files import FILE_HEADERS, MIB, body_of, file_field, pdf, post_files
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


@pytest.fixture(scope="module")
def impatient_nginx(service: Application) -> Iterator[int]:
    """Yield the port of nginx whose patience with slow clients is one second."""
    more = {
        "client_header_timeout 15s": "client_header_timeout 1s",
        "client_body_timeout 15s": "client_body_timeout 1s",
    }
    with Nginx(service.port, service.events_port, more=more) as nginx:
        yield nginx.port


@pytest.mark.on_sqlite
def test_slow_peers__2600_at_nginx__a_submit_and_healthz_are_answered(
    start_service: Callable[..., Application], full: Tenant
) -> None:
    service = start_service(BURST_PER_ADDRESS_AND_FORM="1000/m", TRUSTED_PROXY_COUNT="1")
    with (
        Nginx(service.port, service.events_port) as nginx,
        slow_peers(nginx.port, spread=True) as peers,
        Client(nginx.port) as api,
    ):
        exports = peers.exports(200, full.key)
        peers.bodies(100, f"/f/{full.default_form_id}")
        peers.bodies(100, "/api/submit", f"x-access-key: {full.key}\r\n")
        peers.heads(1_000)
        peers.silent(1_200)
        assert {status_of(connection) for connection in exports} <= {200, 429}
        for _ in range(20):  # more than there are threads
            assert api.post("/api/submit", full.key, json={"a": "1"}).status == 201
            assert api.post(f"/f/{full.default_form_id}", json={"a": "1"}).status == 201
            assert api.get("/healthz").status == 200


@pytest.mark.on_sqlite
def test_head_and_body__that_never_end__are_cut_by_nginx(impatient_nginx: int) -> None:
    with slow_peers(impatient_nginx) as peers:
        cut = [*peers.heads(2), *peers.bodies(2, "/api/submit")]
        assert not any(rest_of(connection).startswith(b"HTTP/1.1 200") for connection in cut)


@pytest.mark.on_sqlite
def test_silent_connections__more_than_threads_without_a_proxy__let_a_page_through(
    start_service: Callable[..., Application],
) -> None:
    """Three browsers leave as many. gunicorn gives a thread back after five seconds without a byte."""
    port = start_service().port
    with slow_peers(port) as peers, Client(port) as api:
        silent = peers.silent(18)
        assert api.get("/account/login/").status == 200
        assert not select.select(silent, [], [], 0)[0], "they are still open"


@pytest.mark.on_sqlite
def test_requests_that_take_long__hold_half_of_the_threads(
    start_service: Callable[..., Application], full: Tenant
) -> None:
    port = start_service(WEB_THREADS="4").port
    form_id = full.form(fields=[file_field()])
    head, body = post_of_a_file(form_id)
    with slow_peers(port) as peers, Client(port) as api:
        slow = [peers.start(head + body[:100_000]) for _ in range(2)]
        refused = eventually(lambda: _refusal_of_an_export(api, full.key), 30, "they hold the places", every=0.1)
        assert refused.json()["error"] == "rate_limited"
        answer = post_files(api, form_id, [("cv", "cv.pdf", pdf(MIB))])
        assert (answer.status, answer.json()["error"]) == (503, "service_unavailable")
        assert answer.headers.keys() >= {"Retry-After", "X-Request-Id", "Access-Control-Allow-Origin"}
        assert api.post("/api/submit", full.key, json={"a": "1"}).status == 201
        for connection in slow:
            connection.sendall(body[100_000:])
            assert status_of(connection) == 201
        assert api.request("HEAD", EXPORT, full.key).status == 200


def post_of_a_file(form_id: str) -> tuple[bytes, bytes]:
    """Return the head and the body of a request."""
    body = body_of([("cv", "cv.pdf", pdf(MIB))])
    headers = FILE_HEADERS | {"Host": "127.0.0.1", "Content-Length": str(len(body)), "Accept": "application/json"}
    lines = [f"POST /f/{form_id} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode(), body


@pytest.mark.on_sqlite
def test_files_of_a_storage_that_never_answers__hold_half_of_the_threads(
    start_service: Callable[..., Application], full: Tenant
) -> None:
    form_id = full.form(fields=[file_field()])
    with socket.create_server(("127.0.0.1", 0)) as storage:
        storage.settimeout(60)
        files_url = f"s3://key:secret@127.0.0.1:{storage.getsockname()[1]}/files?scheme=http"
        port = start_service(WEB_THREADS="4", FILES_URL=files_url).port
        with slow_peers(port) as peers, Client(port) as api:
            stuck = [peers.start(b"".join(post_of_a_file(form_id))) for _ in range(2)]
            arrived = [storage.accept() for _ in stuck]
            refused = post_files(api, form_id, [("cv", "cv.pdf", pdf(MIB))])
            assert (refused.status, refused.json()["error"]) == (503, "service_unavailable")
            assert api.post("/api/submit", full.key, json={"a": "1"}).status == 201
            assert not select.select(stuck, [], [], 0)[0], "their files are still on their way"
            for connection, _ in arrived:
                connection.close()


def _refusal_of_an_export(api: Client, key: str) -> Answer | None:
    answer = api.request("HEAD", EXPORT, key)
    return api.get(EXPORT, key) if answer.status == 429 else None


@pytest.mark.on_sqlite
def test_export__taken_by_nobody__is_cut_and_its_place_is_free_again(
    start_service: Callable[..., Application], full: Tenant
) -> None:
    port = start_service(READER_SECONDS="1", EXPORTS_AT_ONCE="1").port
    with slow_peers(port) as peers, Client(port) as api:
        (cut,) = peers.exports(1, full.key)
        assert status_of(cut) == 200
        eventually(lambda: api.request("HEAD", EXPORT, full.key).status == 200, 30, "its place is free", every=0.1)
        cut.sendall(b"x")  # the kernel gave the connection up silently, and says so once its client sends
        assert b"\r\n0\r\n\r\n" not in rest_of(cut)


@pytest.mark.on_sqlite
def test_list__read_by_nobody__gives_its_thread_back(start_service: Callable[..., Application], full: Tenant) -> None:
    port = start_service(READER_SECONDS="1", WEB_THREADS="1").port
    with slow_peers(port) as peers, Client(port) as api:
        connection = peers.start(LIST.format(full.key).encode())
        assert status_of(connection) == 200
        assert api.get("/healthz").status == 200


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
