"""Retries: which requests are sent again, and how often."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import fieldpost

Planned = tuple[int, dict[str, str], bytes]
OK: Planned = (200, {}, b'{"success": true, "data": {"id": "frm_1"}, "message": "Found."}')
BUSY = b'{"success": false, "error": "rate_limited", "message": "Too many requests."}'
CUT: Planned = (0, {}, b"")


class Service:
    """A server on 127.0.0.1 that answers as planned and keeps what came."""

    def __init__(self) -> None:
        self.plan: list[Planned] = []
        self.came: list[tuple[str, str, str | None]] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                service.came.append((self.command, self.path, self.headers.get("Idempotency-Key")))
                status, headers, body = service.plan.pop(0) if service.plan else OK
                if not status:
                    self.connection.close()
                    return
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_PUT = do_GET

            def log_message(self, *_arguments: object) -> None:
                """Print nothing."""

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_arguments: object) -> None:
                """Print nothing: the handler closes connections itself."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def client(self) -> fieldpost.Client:
        client = fieldpost.Client(self.url, "fp_test")
        client.transport.pause = 0
        return client


@pytest.fixture
def service() -> Iterator[Service]:
    found = Service()
    threading.Thread(target=found.server.serve_forever, args=(0.01,), daemon=True).start()
    yield found
    found.server.shutdown()
    found.server.server_close()


def busy(status: int = 429, **headers: str) -> Planned:
    return status, {name.replace("_", "-"): value for name, value in headers.items()}, BUSY


@pytest.mark.parametrize(
    "failures",
    [[busy(Retry_After="0")], [busy(503), busy(502)], [busy(504), CUT], [CUT, CUT], [busy(Retry_After="soon")]],
    ids=["429", "503, 502", "504, cut", "cut twice", "a Retry-After that cannot be read"],
)
def test_submit__service_away_twice__is_sent_again_with_one_key(failures: list[Planned], service: Service) -> None:
    service.plan = list(failures)

    assert service.client().submit("frm_1", {"name": "Ada"}) == {"id": "frm_1"}

    assert len(service.came) == len(failures) + 1
    [sent] = set(service.came)
    assert sent[:2] == ("POST", "/api/submit?formId=frm_1")
    assert sent[2]


def test_submit__service_busy_three_times__is_an_error(service: Service) -> None:
    service.plan = [busy(Retry_After="0")] * 3

    with pytest.raises(fieldpost.APIError) as caught:
        service.client().submit("frm_1", {"name": "Ada"})

    error = caught.value
    assert (error.status, error.code, error.message) == (429, "rate_limited", "Too many requests.")
    assert len(service.came) == 3


@pytest.mark.parametrize(
    "answer",
    [busy(Retry_After="61"), busy(Retry_After="Fri, 31 Dec 2999 00:00:00 GMT"), busy(500), busy(400)],
    ids=["over a minute", "a date", "500", "400"],
)
def test_get__answer_that_no_retry_helps__is_an_error_immediately(answer: Planned, service: Service) -> None:
    service.plan = [answer]

    with pytest.raises(fieldpost.APIError):
        service.client().forms.get("frm_1")

    assert len(service.came) == 1


@pytest.mark.parametrize(("answer", "count"), [(CUT, 1), (busy(503), 1), (busy(Retry_After="0"), 2)], ids=repr)
def test_put__perhaps_done__is_not_sent_again(answer: Planned, count: int, service: Service) -> None:
    service.plan = [answer]

    try:
        service.client().transport.request(
            "PUT", "/api/forms/by-key/contact", json_body={}, headers={"If-Match": '"a"'}
        )
    except fieldpost.Error:
        assert count == 1
    assert len(service.came) == count


@pytest.mark.parametrize(
    ("answer", "error", "code"),
    [
        ((302, {"Location": "https://elsewhere.example/"}, b""), fieldpost.APIError, "not_fieldpost"),
        ((404, {}, b"<h1>Not found</h1>"), fieldpost.APIError, "not_fieldpost"),
        ((400, {}, b'["a list"]'), fieldpost.APIError, "not_fieldpost"),
        ((403, {"Content-Length": "900"}, b"{"), fieldpost.ConnectionError, "unreachable"),
    ],
    ids=["redirect", "page", "other JSON", "half"],
)
def test_get__answer_of_another_server__says_so(
    answer: Planned, error: type[fieldpost.Error], code: str, service: Service
) -> None:
    service.plan = [answer]

    with pytest.raises(error) as caught:
        service.client().forms.get("frm_1")

    assert caught.value.code == code
    assert len(service.came) == 1


def test_get__gateway_without_an_envelope__is_unreachable(service: Service) -> None:
    service.plan = [(503, {}, b"<h1>Maintenance</h1>")] * 3

    with pytest.raises(fieldpost.ConnectionError, match="503"):
        service.client().forms.get("frm_1")


def test_get__id_with_a_slash__stays_in_its_path(service: Service) -> None:
    service.client().forms.get("../keys?x=1")

    assert service.came[0][1] == "/api/forms/..%2Fkeys%3Fx%3D1"


def test_get__no_server__is_unreachable_after_three_tries() -> None:
    client = fieldpost.Client("http://127.0.0.1:1", "fp_test")
    client.transport.pause = 0

    with pytest.raises(fieldpost.ConnectionError, match="cannot be reached"):
        client.forms.get("frm_1")


def test_get__through_a_proxy__asks_it(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", service.url)
    client = fieldpost.Client("http://forms.example", "fp_test")

    assert client.forms.get("frm_1")["id"] == "frm_1"
    assert service.came == [("GET", "http://forms.example/api/forms/frm_1", None)]


@pytest.mark.parametrize(
    ("url", "key"),
    [
        (None, "fp_a"),
        ("https://forms.example", None),
        ("forms.example", "fp_a"),
        ("ftp://forms.example", "fp_a"),
        ("https://ada:secret@forms.example", "fp_a"),
        ("https://forms.example", "fp_a\r\nX-Other: 1"),
        ("https://forms.example", "fp_ä"),
    ],
)
def test_client__of_no_service_or_key__is_refused(
    url: str | None, key: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FIELDPOST_URL", raising=False)
    monkeypatch.delenv("FIELDPOST_KEY", raising=False)

    with pytest.raises(fieldpost.Error) as caught:
        fieldpost.Client(url, key)

    assert caught.value.code == "usage"
    assert "secret" not in str(caught.value) or url is None or "secret" in url


def test_client__without_arguments__reads_the_environment(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIELDPOST_URL", service.url + "/")
    monkeypatch.setenv("FIELDPOST_KEY", "fp_test")

    assert fieldpost.Client().forms.get("frm_1")["id"] == "frm_1"
