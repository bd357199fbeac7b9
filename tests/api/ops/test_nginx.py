"""The example `deploy/nginx.conf`, run by nginx in front of the running service."""

import os
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPSConnection
from pathlib import Path

import pytest
import urllib3

from tests.services.application import Application
from tests.services.packages import program
from tests.services.processes import ROOT, Process, free_port, listens
from tests.support.posted_files import FILE_HEADERS, MIB, body_of, file_field, pdf
from tests.support.replies import REQUEST_ID, failure
from tests.support.rows import put
from tests.support.tenants import make_tenant

pytestmark = pytest.mark.on_sqlite

Nginx = tuple[urllib3.HTTPSConnectionPool, int]
GZIP = {"Accept-Encoding": "gzip"}
JSON = {"Content-Type": "application/json"}
TOO_LARGE = b'{"a": "' + b"x" * 2_000_000 + b'"}'
# What a distribution's nginx.conf sets around the files of its conf.d.
AROUND = """
daemon off;
{user}
pid {folder}/pid;
error_log stderr warn;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {folder}/bodies;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    scgi_temp_path {folder}/scgi;
    uwsgi_temp_path {folder}/uwsgi;
    add_header X-From-Cache $upstream_cache_status;
    include {folder}/fieldpost.conf;
}}
"""


def make_certificate(folder: Path) -> None:
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem")]
    subprocess.run([program("openssl"), "req", "-x509", *kind, *name, *files], check=True, capture_output=True)


@pytest.fixture(scope="module")
def nginx(service: Application, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nginx]:
    """Yield a client over TLS, and the port of plain http. Only names, ports and folders of the example change."""
    folder, https, http = tmp_path_factory.mktemp("nginx"), free_port(), free_port()
    text = (ROOT / "deploy" / "nginx.conf").read_text()
    for given, ours in (
        ("forms.example.com", "localhost"),
        ("/etc/ssl/fieldpost", str(folder)),
        ("/var/cache/nginx/fieldpost", f"{folder}/cache"),
        ("listen 443 ", f"listen 127.0.0.1:{https} "),
        ("listen 80;", f"listen 127.0.0.1:{http};"),
        ("127.0.0.1:8000", f"127.0.0.1:{service.port}"),
        ("127.0.0.1:8001", f"127.0.0.1:{service.events_port}"),
    ):
        assert given in text
        text = text.replace(given, ours)
    (folder / "fieldpost.conf").write_text(text)
    (folder / "nginx.conf").write_text(AROUND.format(folder=folder, user="user root;" if os.geteuid() == 0 else ""))
    make_certificate(folder)
    process = Process("nginx", [program("nginx"), "-p", folder, "-c", folder / "nginx.conf"], log=folder / "log")
    pool = urllib3.HTTPSConnectionPool("localhost", https, ca_certs=str(folder / "certificate.pem"), retries=False)
    try:
        process.wait_until(lambda: listens(https))
        assert (folder / "log").read_text() == "", "nginx warns about its configuration"
        yield pool, http
    finally:
        pool.close()
        process.stop()


@pytest.mark.parametrize("path", ["/api/submission", "/api/forms"])
def test_body__of_two_megabytes__is_refused_in_our_words(nginx: Nginx, path: str) -> None:
    answer = nginx[0].request("POST", path, body=TOO_LARGE, headers=JSON)
    assert (answer.status, answer.headers["Cache-Control"]) == (413, "no-store")
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.json() == failure("payload_too_large", "The body is larger than 256 KiB. Send less.")
    assert answer.headers["X-Request-Id"] == REQUEST_ID


def test_body__larger_than_any_with_files__is_refused_before_it_is_sent(nginx: Nginx) -> None:
    trusted = ssl.create_default_context(cafile=nginx[0].ca_certs)
    with closing(HTTPSConnection("localhost", nginx[0].port, context=trusted, timeout=30)) as connection:
        connection.putrequest("POST", "/f/frm_01m7xm8edre0vb01kdr290cqbz")
        connection.putheader("Content-Length", str(300 * 1024 * 1024))
        connection.endheaders()
        answer = connection.getresponse()
        text = answer.read()
    assert (answer.status, answer.headers["Cache-Control"]) == (413, "no-store")
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert (answer.headers["Content-Type"], b"too large to be sent" in text) == ("text/html", True)


def test_file__of_two_megabytes__is_passed_on(nginx: Nginx) -> None:
    form_id = make_tenant().form(fields=[file_field()])
    headers = {**FILE_HEADERS, "Accept": "application/json"}
    answer = nginx[0].request("POST", f"/f/{form_id}", body=body_of([("cv", "cv.pdf", pdf(2 * MIB))]), headers=headers)
    assert answer.status == 201, answer.data


def test_body__of_300_kilobytes__is_refused_by_the_service_itself(nginx: Nginx) -> None:
    headers = {**JSON, "x-access-key": make_tenant().key}
    answer = nginx[0].request("POST", "/api/submit", body=TOO_LARGE[:300_000], headers=headers)
    assert (answer.status, answer.json()) == (413, failure("payload_too_large"))
    assert "X-RateLimit-Limit" in answer.headers


def test_gzip__is_passed_on_for_lists_and_never_added_to_secrets(nginx: Nginx) -> None:
    tenant = make_tenant()
    for _ in range(20):
        put(tenant, tenant.default_form_id, {"message": "words " * 50})
    headers = {**GZIP, **JSON, "x-access-key": tenant.key}
    listed = nginx[0].request("GET", "/api/submissions", headers=headers)
    assert (listed.status, listed.headers["Content-Encoding"]) == (200, "gzip")
    made = nginx[0].request("POST", "/api/keys", json={"name": "n" * 200}, headers=headers)
    login = nginx[0].request("GET", "/account/login/", headers=GZIP)
    assert (made.status, login.status) == (201, 200)
    assert "Content-Encoding" not in {**made.headers, **login.headers}


@pytest.mark.parametrize("path", ["/forms.js", "/static/brand/tokens.000000000000.css"])
def test_cache__scripts_and_styles__answers_the_next_request(nginx: Nginx, path: str) -> None:
    """An answer from the cache has no request id, which would be that of the request that filled it."""
    for headers in (GZIP, {"Accept-Encoding": "identity"}):
        asked = {**headers, "X-Request-Id": "of-a-stranger"}
        first, again = (nginx[0].request("GET", path, headers=asked) for _ in range(2))
        assert (first.status, again.headers["X-From-Cache"]) == (200, "HIT")
        assert "X-Request-Id" not in {**first.headers, **again.headers}
        assert (first.data, first.headers.get("Content-Encoding")) == (
            again.data,
            again.headers.get("Content-Encoding"),
        )
    schemas = {nginx[0].request("GET", "/api/schema").headers["X-Request-Id"] for _ in range(2)}
    assert len(schemas) == 2


def test_live_stream__and_plain_http__get_where_they_belong(nginx: Nginx) -> None:
    stream = nginx[0].request("GET", "/events?token=wrong")
    assert (stream.status, stream.json()["error"]) == (401, "invalid_token")
    with urllib3.HTTPConnectionPool("127.0.0.1", nginx[1], retries=False) as plain:
        answer = plain.request("GET", "/f/x?a=1", headers={"Host": "localhost"}, redirect=False)
    assert (answer.status, answer.headers["Location"]) == (308, "https://localhost/f/x?a=1")
