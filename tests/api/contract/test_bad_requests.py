"""Requests that are odd before any body is read: paths, query encodings, headers, hosts. Never a 500."""

import json
import secrets
from typing import Any

import pytest

from tests.services.application import Application
from tests.services.client import Client
from tests.services.waiting import eventually
from tests.support.replies import invalid
from tests.support.tables.databases import first_on_both
from tests.support.tenants import make_tenant

LISTS = ["/api/forms", "/api/submissions", "/api/webhooks", "/api/keys"]


def raw_request(api: Client, head: bytes, body: bytes = b"") -> tuple[int, bytes]:
    """Send these very bytes; status and body of what came back."""
    answer = api.raw(head + b"Connection: close\r\n\r\n" + body)
    status_line, _, rest = answer.partition(b"\r\n")
    return int(status_line.split()[1]), rest.partition(b"\r\n\r\n")[2]


def unchunked(body: bytes) -> Any:
    """Return the JSON between the sizes of a chunked body."""
    return json.loads(body[body.index(b"{") : body.rindex(b"}") + 1])


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize(
    "query",
    first_on_both(
        [
            *(
                "page=0",
                "page=%00",
                "page=-1",
                "page=x",
                "page=1e3",
                "page=1%00",
                "page=%ff",
                "page[]=1",
                "page=1;limit=2",
            ),
            *("limit=0", "limit=1000", "limit=101", "limit=%2B", f"limit={'9' * 5000}", f"page={'9' * 5000}"),
            *("%00=1", "%ff=1", "p%00age=1", "typo=1", "%F0%9F%98%80=1", "=1", "status=%00"),
        ],
        2,
    ),
)
def test_list__with_an_odd_query__is_a_validation_error(api: Client, path: str, query: str) -> None:
    answer = api.get(f"{path}?{query}", make_tenant().key)

    assert (answer.status, answer.json()["error"]) == (400, "validation_error"), answer.text
    assert len(answer.body) < 20_000
    assert "\0" not in answer.text


@pytest.mark.parametrize(
    "query",
    first_on_both(
        [
            *(
                "formId=%00",
                "to=%00",
                "q=%00%00%00",
                "formId=1",
                "formId=%ff",
                "from=2024-02-30",
                "from=today",
                "to=2024-1-01",
            ),
            *("from=2024-W01-1", "to=2024-01-%201", "from=%EF%BC%92024-01-01", "from=2024-02-02T00:00:00"),
            *("spam=maybe", "spam=%00", "q=ab", f"q={'q' * 201}"),
        ],
        3,
    ),
)
@pytest.mark.parametrize("path", ["/api/submissions", "/api/submissions/export"])
def test_submissions__with_an_odd_filter__is_a_validation_error(api: Client, path: str, query: str) -> None:
    answer = api.get(f"{path}?{query}", make_tenant().key)

    assert (answer.status, answer.json()["error"]) == (400, "validation_error"), answer.text


@pytest.mark.parametrize(
    "query",
    first_on_both(
        [
            *("formId=%00", "formId=1", "from=2024-02-30", "to=2024-W01-1", "from=2024-02-02T00:00:00"),
            *("interval=minute", "interval=%00", "from=0001-01-01&to=9999-12-31", "typo=1", "%00=1"),
        ]
    ),
)
def test_analytics__with_an_odd_parameter__is_a_validation_error(api: Client, query: str) -> None:
    answer = api.get(f"/api/analytics?{query}", make_tenant().key)

    assert (answer.status, answer.json()["error"]) == (400, "validation_error"), answer.text


@pytest.mark.parametrize(
    "odd", first_on_both(["%00", "%ff", "frm_%00", "..%2F..%2Fetc", "%F0%9F%98%80", "frm_" + "0" * 5000, "%20"])
)
@pytest.mark.parametrize(
    "path", ["/api/forms/{}", "/api/submissions/{}", "/api/webhooks/{}", "/api/keys/{}", "/api/webhooks/{}/deliveries"]
)
def test_path__with_an_odd_id__is_refused(api: Client, path: str, odd: str) -> None:
    answer = api.get(path.format(odd), make_tenant().key)

    expected = (404, "not_found") if "%2F" in odd else (400, "validation_error")
    assert (answer.status, answer.json()["error"]) == expected


@pytest.mark.parametrize("query", first_on_both(["formId=%00", "formId=%ff", "formId=frm_", f"formId={'f' * 5000}"]))
def test_submit__with_an_odd_form_id__is_a_validation_error(api: Client, query: str) -> None:
    answer = api.post(f"/api/submit?{query}", make_tenant().key, json={"a": "1"})

    assert (answer.status, [detail["field"] for detail in answer.json()["details"]]) == (400, ["formId"])


@pytest.mark.parametrize("query", ["%00=1", "%ff=%ff", "utm_source=%00", "page=0", "x" * 5000, "&&&=&"])
def test_submit__with_any_other_query__is_taken(api: Client, query: str) -> None:
    assert api.post(f"/api/submit?{query}", make_tenant().key, json={"a": "1"}).status == 201


def test_path__very_long__is_told_as_unknown_or_too_long(api: Client) -> None:
    key = make_tenant().key.encode()

    for length, expected in ((8_000, 404), (10_000, 414), (1_000_000, 414)):
        head = b"GET /api/%s HTTP/1.1\r\nHost: 127.0.0.1\r\nx-access-key: %s\r\n" % (b"a" * length, key)
        status, body = raw_request(api, head)
        assert status == expected
        assert status != 404 or unchunked(body)["error"] == "not_found"


@pytest.mark.parametrize("name", ["x-access-key", "Origin", "Referer", "User-Agent", "Idempotency-Key", "X-Request-Id"])
def test_header__of_ten_thousand_characters__is_no_bug(api: Client, name: str) -> None:
    headers = {"x-access-key": make_tenant().key, name: "a" * 10_000}

    answer = api.post("/api/submit", json={"a": "1"}, headers=headers)

    expected = {"x-access-key": 401, "Idempotency-Key": 400}.get(name, 201)
    assert (answer.status, answer.json()["success"]) == (expected, expected == 201)
    assert len(answer.headers["X-Request-Id"]) <= 64


@pytest.mark.parametrize("value", [b"caf\xe9", b"\xff\xfe", b"na\xc3\xafve", b"a\tb"])
@pytest.mark.parametrize("name", [b"User-Agent", b"Referer", b"Origin", b"X-Request-Id", b"x-access-key"])
def test_header__of_other_bytes_than_ascii__is_no_bug(api: Client, name: bytes, value: bytes) -> None:
    key = b"" if name == b"x-access-key" else b"x-access-key: %s\r\n" % make_tenant().key.encode()
    body = b'{"a": "1"}'
    head = b"POST /api/submit HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n%s" % key
    head += b"Content-Length: %d\r\n%s: %s\r\n" % (len(body), name, value)

    status, answer = raw_request(api, head, body)

    assert status == (401 if name == b"x-access-key" else 201), answer


@pytest.mark.parametrize(
    "host", first_on_both([b"evil.example", b"127.0.0.1.evil.example", b"a b", b"[", b"", b"127.0.0.1:port", b"\xff"])
)
@pytest.mark.parametrize("path", first_on_both([b"/api/forms", b"/api/submit", b"/api/nothing", b"/healthz"]))
def test_host__that_is_unknown_or_malformed__is_a_validation_error(api: Client, path: bytes, host: bytes) -> None:
    key = make_tenant().key.encode()

    status, body = raw_request(api, b"GET %s HTTP/1.1\r\nHost: %s\r\nx-access-key: %s\r\n" % (path, host, key))

    assert status == 400
    message = "The request is malformed or its Host is unknown here."
    assert not body or unchunked(body) == invalid(("host", "invalid", message))


@pytest.mark.on_sqlite
def test_host__that_is_unknown__is_one_line_of_the_log_without_a_traceback(service: Application, api: Client) -> None:
    host = f"{secrets.token_hex(8)}.example"
    for path in ("/api/forms", "/account/login/"):
        assert api.get(path, headers={"Host": host}).status == 400

    def lines() -> list[str]:
        return [line for line in service.logs().get("web", "").splitlines() if host in line]

    eventually(lambda: len(lines()) == 2)
    for line in lines():
        assert "Traceback" not in line
        assert "warning" in line.lower()


@pytest.mark.on_sqlite
@pytest.mark.parametrize("length", [b"-1", b"+5", b"five", b"5, 6", b"99999999999999999999999"])
def test_content_length__that_is_no_length__is_refused(api: Client, length: bytes) -> None:
    head = b"POST /api/submit HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %s\r\n"

    status, _ = raw_request(api, head % length, b'{"a": "1"}')

    assert 400 <= status < 500


@pytest.mark.on_sqlite
def test_request__that_is_no_http__leaves_the_service_as_it_was(api: Client) -> None:
    for garbage in (b"\x00\xff" * 500 + b"\r\n\r\n", b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", b"{}\r\n\r\n"):
        api.raw(garbage, timeout=0.5)

    assert api.get("/healthz").status == 200


LENGTH, CHUNKED = b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n"


@pytest.mark.on_sqlite
@pytest.mark.parametrize(
    "framing", [LENGTH + CHUNKED, CHUNKED + LENGTH, LENGTH + b"Content-Length: 6\r\n", b"Transfer-Encoding: gzip\r\n"]
)
def test_body__whose_length_is_ambiguous__is_refused_and_the_connection_closed(api: Client, framing: bytes) -> None:
    head = b"POST /api/submit HTTP/1.1\r\nHost: 127.0.0.1\r\nx-access-key: %s\r\n" % make_tenant().key.encode()

    answer = api.raw(head + b"Content-Type: application/json\r\n" + framing + b'\r\na\r\n{"a": "1"}\r\n0\r\n\r\n')

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1") == 1


@pytest.mark.on_sqlite
def test_header__spelt_with_an_underscore__is_dropped(api: Client) -> None:
    head = b"GET /api/forms HTTP/1.1\r\nHost: 127.0.0.1\r\nx_access_key: %s\r\n" % make_tenant().key.encode()

    assert raw_request(api, head)[0] == 401


def test_body__in_chunks__is_taken_like_one_with_a_length(api: Client) -> None:
    key = make_tenant().key.encode()
    head = (
        b"POST /api/submit HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nx-access-key: %s\r\n" % key
    )

    status, _ = raw_request(api, head + CHUNKED, b'6\r\n{"a": \r\n4\r\n"1"}\r\n0\r\nX-Trailer: 1\r\n\r\n')

    assert status == 201


@pytest.mark.on_sqlite
def test_requests__pipelined__are_answered_in_order(api: Client) -> None:
    one = b"GET /%s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    last = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"

    answer = api.raw(one % b"healthz" + one % b"api/nothing" + last)

    assert [part[1:4] for part in answer.split(b"HTTP/1.1")[1:]] == [b"200", b"404", b"200"]


@pytest.mark.on_sqlite
def test_client__that_expects_100_continue__is_told_to_go_on(api: Client) -> None:
    head = b"POST /f/x HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n"

    assert api.raw(head + b"Connection: close\r\n\r\n", timeout=1).startswith(b"HTTP/1.1 100 ")
