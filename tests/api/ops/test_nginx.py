"""The example `deploy/nginx.conf`, run by nginx in front of the running service."""

import ssl
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPSConnection

import pytest
import urllib3

from tests.services.application import Application
from tests.services.nginx import Nginx
from tests.support.posted_files import FILE_HEADERS, MIB, body_of, file_field, pdf
from tests.support.replies import REQUEST_ID, failure
from tests.support.rows import put
from tests.support.tenants import make_tenant

pytestmark = pytest.mark.on_sqlite

GZIP = {"Accept-Encoding": "gzip"}
JSON = {"Content-Type": "application/json"}
TOO_LARGE = b'{"a": "' + b"x" * 2_000_000 + b'"}'


class Proxied:
    """
    A client over TLS of nginx in front of the service.

    `port`: without TLS; `redirect`: of plain http; `proofs`: the folder of certbot.
    """

    def __init__(self, nginx: Nginx) -> None:
        self.port, self.redirect, self.proofs = nginx.port, nginx.redirect, nginx.proofs
        self.pool = urllib3.HTTPSConnectionPool(
            "localhost", nginx.https, ca_certs=str(nginx.certificate), retries=False, maxsize=20
        )


@pytest.fixture(scope="module")
def nginx(service: Application) -> Iterator[Proxied]:
    with Nginx(service.port, service.events_port) as server:
        client = Proxied(server)
        yield client
        client.pool.close()


@pytest.mark.parametrize("path", ["/api/submission", "/api/forms"])
def test_body__of_two_megabytes__is_refused_in_our_words(nginx: Proxied, path: str) -> None:
    answer = nginx.pool.request("POST", path, body=TOO_LARGE, headers=JSON)
    assert (answer.status, answer.headers["Cache-Control"]) == (413, "no-store")
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.json() == failure("payload_too_large", "The body is larger than 256 KiB. Send less.")
    assert answer.headers["X-Request-Id"] == REQUEST_ID


def test_body__larger_than_any_with_files__is_refused_before_it_is_sent(nginx: Proxied) -> None:
    trusted = ssl.create_default_context(cafile=nginx.pool.ca_certs)
    with closing(HTTPSConnection("localhost", nginx.pool.port, context=trusted, timeout=30)) as connection:
        connection.putrequest("POST", "/f/frm_01m7xm8edre0vb01kdr290cqbz")
        connection.putheader("Content-Length", str(300 * 1024 * 1024))
        connection.endheaders()
        answer = connection.getresponse()
        text = answer.read()
    assert (answer.status, answer.headers["Cache-Control"]) == (413, "no-store")
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert (answer.headers["Content-Type"], b"too large to be sent" in text) == ("text/html", True)


def test_file__of_two_megabytes__is_passed_on(nginx: Proxied) -> None:
    form_id = make_tenant().form(fields=[file_field()])
    headers = {**FILE_HEADERS, "Accept": "application/json"}
    answer = nginx.pool.request(
        "POST", f"/f/{form_id}", body=body_of([("cv", "cv.pdf", pdf(2 * MIB))]), headers=headers
    )
    assert answer.status == 201, answer.data


def test_body__of_300_kilobytes__is_refused_by_the_service_itself(nginx: Proxied) -> None:
    headers = {**JSON, "x-access-key": make_tenant().key}
    answer = nginx.pool.request("POST", "/api/submit", body=TOO_LARGE[:300_000], headers=headers)
    assert (answer.status, answer.json()) == (413, failure("payload_too_large"))
    assert "X-RateLimit-Limit" in answer.headers


def test_gzip__is_passed_on_for_lists_and_never_added_to_secrets(nginx: Proxied) -> None:
    tenant = make_tenant()
    for _ in range(20):
        put(tenant, tenant.default_form_id, {"message": "words " * 50})
    headers = {**GZIP, **JSON, "x-access-key": tenant.key}
    listed = nginx.pool.request("GET", "/api/submissions", headers=headers)
    assert (listed.status, listed.headers["Content-Encoding"]) == (200, "gzip")
    made = nginx.pool.request("POST", "/api/keys", json={"name": "n" * 200}, headers=headers)
    login = nginx.pool.request("GET", "/account/login/", headers=GZIP)
    assert (made.status, login.status) == (201, 200)
    assert "Content-Encoding" not in {**made.headers, **login.headers}


@pytest.mark.parametrize("path", ["/forms.js", "/static/brand/tokens.000000000000.css"])
def test_cache__scripts_and_styles__answers_the_next_request(nginx: Proxied, path: str) -> None:
    """An answer from the cache has no request id, which would be that of the request that filled it."""
    for headers in (GZIP, {"Accept-Encoding": "identity"}):
        asked = {**headers, "X-Request-Id": "of-a-stranger"}
        first, again = (nginx.pool.request("GET", path, headers=asked) for _ in range(2))
        assert (first.status, again.headers["X-From-Cache"]) == (200, "HIT")
        assert "X-Request-Id" not in {**first.headers, **again.headers}
        assert (first.data, first.headers.get("Content-Encoding")) == (
            again.data,
            again.headers.get("Content-Encoding"),
        )
    schemas = {nginx.pool.request("GET", "/api/schema").headers["X-Request-Id"] for _ in range(2)}
    assert len(schemas) == 2


def test_live_stream__and_plain_http__get_where_they_belong(nginx: Proxied) -> None:
    stream = nginx.pool.request("GET", "/events?token=wrong")
    assert (stream.status, stream.json()["error"]) == (401, "invalid_token")
    listening = nginx.pool.request("GET", "/events?mode=listen", headers={"x-access-key": "wrong"})
    assert (listening.status, listening.json()["error"]) == (401, "invalid_access_key")
    with urllib3.HTTPConnectionPool("127.0.0.1", nginx.redirect, retries=False) as plain:
        answer = plain.request("GET", "/f/x?a=1", headers={"Host": "localhost"}, redirect=False)
    assert (answer.status, answer.headers["Location"]) == (308, "https://localhost/f/x?a=1")


def test_plain_http__proof_for_a_certificate__is_served_and_not_redirected(nginx: Proxied) -> None:
    nginx.proofs.mkdir(parents=True)
    (nginx.proofs / "token").write_text("proof")
    with urllib3.HTTPConnectionPool("127.0.0.1", nginx.redirect, retries=False) as plain:
        answers = [plain.request("GET", f"/.well-known/acme-challenge/{name}") for name in ("token", "other")]
    assert [(answer.status, answer.data == b"proof") for answer in answers] == [(200, True), (404, False)]
