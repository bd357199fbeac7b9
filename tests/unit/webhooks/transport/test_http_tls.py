"""The HTTP channel over TLS: the socket goes to a checked address, everything else keeps the name."""

from ssl import SSLContext

import pytest

from tests.unit.webhooks.transport.raw_receiver import (
    BODY,
    HEADERS,
    OK,
    OPEN,
    Names,
    RawReceiver,
    Receivers,
    drip,
    failed_with,
    lasted,
    silent,
)
from webhooks.transport import connection, http
from webhooks.transport.http import post

pytestmark = pytest.mark.usefixtures("only_loopback")


@pytest.fixture
def secure_receiver(trusted: SSLContext, receivers: Receivers) -> RawReceiver:
    """A receiver with that certificate; `.names` are the server names it was asked for."""
    receiver = receivers(context=trusted)
    receiver.names = []
    trusted.sni_callback = lambda connection, name, _: receiver.names.append(name)
    return receiver


def test_post__https__keeps_the_name_for_sni_certificate_and_host(secure_receiver: RawReceiver) -> None:
    outcome = post(secure_receiver.url("hooks.example", "https"), BODY, HEADERS)
    assert (outcome.error, outcome.succeeded) == ("", True)
    assert secure_receiver.names == ["hooks.example"]
    assert f"Host: hooks.example:{secure_receiver.port}".encode() in secure_receiver.requests[0]


@pytest.mark.parametrize("host", ["other.example", OPEN])
def test_post__certificate_of_another_name__tls_failure(secure_receiver: RawReceiver, names: Names, host: str) -> None:
    names["other.example"] = [[OPEN]]
    assert failed_with(post(secure_receiver.url(host, "https"), BODY, HEADERS)) == "tls_failure"
    assert secure_receiver.requests == []


def test_post__certificate_of_nobody_we_trust__tls_failure(
    secure_receiver: RawReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    connection.tls_context.cache_clear()
    assert failed_with(post(secure_receiver.url("hooks.example", "https"), BODY, HEADERS)) == "tls_failure"
    assert secure_receiver.requests == []


def test_post__https_to_a_plain_server__tls_failure(receivers: Receivers, monkeypatch: pytest.MonkeyPatch) -> None:
    receiver = receivers()
    monkeypatch.setattr(receiver, "handle", lambda connection: connection.sendall(OK))
    assert failed_with(post(receiver.url(scheme="https"), BODY, HEADERS)) == "tls_failure"


def test_post__silent_handshake__timeout_at_the_deadline(receivers: Receivers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_SECONDS", 0.5)
    receiver = receivers()
    monkeypatch.setattr(receiver, "handle", silent)
    outcome = post(receiver.url(scheme="https"), BODY, HEADERS)
    assert failed_with(outcome) == "timeout"
    assert lasted(outcome, 0.5)


def test_post__huge_answer_over_tls__reads_64_kib_and_keeps_4(secure_receiver: RawReceiver) -> None:
    secure_receiver.answer = b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1_000_000
    outcome = post(secure_receiver.url("hooks.example", "https"), BODY, HEADERS)
    assert (outcome.succeeded, outcome.response_excerpt) == (True, "x" * 4096)


def test_post__dripping_body_over_tls__ends_at_the_deadline(
    secure_receiver: RawReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "MAX_SECONDS", 1.0)
    secure_receiver.answer = drip(first=b"HTTP/1.1 500 Oops\r\n\r\n")
    outcome = post(secure_receiver.url("hooks.example", "https"), BODY, HEADERS)
    assert (failed_with(outcome), outcome.status) == ("http_error", 500)
    assert lasted(outcome, 1.0)
