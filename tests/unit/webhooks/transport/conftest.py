"""Fixtures of the tests of the channels."""

import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import Settings

from tests.services.packages import program
from tests.unit.webhooks.transport.raw_receiver import OPEN, SILENT_SECONDS, Certificate, Names, RawReceiver, Receivers
from webhooks.transport import connection, http, kept_connections

REAL_GETADDRINFO = socket.getaddrinfo


@pytest.fixture
def only_loopback(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Webhooks may call 127.0.0.1 over http on any port, and nothing else on this machine."""
    settings.WEBHOOK_ALLOW_HTTP = True
    settings.WEBHOOK_ALLOWED_NETWORKS = [OPEN]
    settings.WEBHOOK_ALLOWED_PORTS = [443, 80, 8443, 8080]
    settings.WEBHOOK_PROXY_URL = ""
    monkeypatch.setattr(http, "MAX_SECONDS", 5.0)


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    """No connection is left to the next test."""
    yield
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_connections, "MAX_AGE_SECONDS", 0.0)
        kept_connections.KEPT.sweep()


@pytest.fixture
def receivers() -> Iterator[Receivers]:
    """Make receivers that are closed after the test."""
    made: list[RawReceiver] = []

    def make(*args: Any, kind: type[RawReceiver] = RawReceiver, **kwargs: Any) -> RawReceiver:
        made.append(kind(*args, **kwargs))
        return made[-1]

    yield make
    for receiver in made:
        receiver.listener.close()


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    """`names["a.example"] = [[first answer], [second answer], ...]`; the last one stays. Other names do not resolve."""
    known: Names = {}

    def answer(host: str, port: int, *_args: Any, **_options: Any) -> list[Any]:
        addresses = known.get(host, [[host]])
        current = addresses.pop(0) if len(addresses) > 1 else addresses[0]
        found = [REAL_GETADDRINFO(each, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST) for each in current]
        return [entry for entries in found for entry in entries]

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    return known


@pytest.fixture
def silent_name_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Look-ups hang until the test is over; then they end, so that none disturbs the next test."""
    over = threading.Event()

    def wait(*_args: Any, **_options: Any) -> list[Any]:
        over.wait(SILENT_SECONDS)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", wait)
    yield
    over.set()
    for thread in threading.enumerate():
        if thread.name == "webhook-dns":
            thread.join()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """A self-signed certificate for hooks.example, and the context of a server that shows it."""
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    name = ["-subj", "/CN=hooks.example", "-addext", "subjectAltName=DNS:hooks.example"]
    command = ["req", "-x509", *curve, *name, "-keyout", str(key), "-out", str(cert)]
    subprocess.run([program("openssl"), *command], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return cert, context


@pytest.fixture
def trusted(certificate: Certificate, names: Names, monkeypatch: pytest.MonkeyPatch) -> Iterator[ssl.SSLContext]:
    """The context of a server with that certificate, which our side trusts; hooks.example leads to the server."""
    path, context = certificate
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    connection.tls_context.cache_clear()
    context.sni_callback = None
    names["hooks.example"] = [[OPEN]]
    yield context
    connection.tls_context.cache_clear()
