"""
One connection to a receiver: to a checked address, under a deadline, with a bounded answer (docs/adr/0014).

The guard sits at the socket: the host is resolved once for a connection, every address is checked, and the connection
goes to a checked address, while Host, SNI and the certificate keep the name. The operator's proxy, WEBHOOK_PROXY_URL
(docs/running.md), looks up the name again and connects, so it must guard.
"""

import http.client
import io
import socket
import ssl
import time
from contextlib import closing, suppress
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from django.conf import settings
from urllib3.util import make_headers, parse_url
from urllib3.util.ssl_ import create_urllib3_context
from urllib3.util.ssltransport import SSLTransport

from webhooks.transport.address_guard import (
    DEFAULT_PORTS,
    Destination,
    NameNotResolved,
    PortRefused,
    SocketAddress,
    look_up,
    resolve,
)
from webhooks.transport.deadline import Deadline

MAX_ANSWER_BYTES = 64 * 1024  # status line and headers included
SHORTEST_SECONDS = 0.001  # a timeout of 0 would mean "do not wait" and be another error


@cache
def tls_context() -> ssl.SSLContext:
    """Return the TLS context of the process: reading the system's certificates takes longer than the handshake."""
    context = create_urllib3_context()
    context.load_default_certs()
    return context


def connect(addresses: list[SocketAddress], deadline: Deadline) -> socket.socket:
    """
    Connect to the first address that answers. Raises OSError.

    Each gets its share of the time left, so that a dead one leaves some.
    """
    failure = OSError("no address")
    for tried, address in enumerate(addresses):
        try:
            return _connect_to(address, deadline.remaining / (len(addresses) - tried))
        except OSError as error:
            failure = error
    raise failure


def _connect_to(address: SocketAddress, seconds: float) -> socket.socket:
    line = socket.socket(address.family, socket.SOCK_STREAM)
    try:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        line.settimeout(max(seconds, SHORTEST_SECONDS))
        line.connect(address.sockaddr)
    except OSError:
        line.close()
        raise
    return line


class BoundedReader(io.RawIOBase):
    """Ends the answer after `most` bytes, so that neither endless headers nor an endless body fill the memory."""

    def __init__(self, raw: io.RawIOBase, most: int) -> None:
        self._raw = raw
        self.left = most
        self.has_ended = False  # by the peer, or at the bound
        self.is_stopped = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if self.is_stopped:
            return 0
        count = self._raw.readinto(memoryview(buffer)[: self.left]) if self.left else 0
        self.left -= count or 0
        self.has_ended = not count
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class Answer(http.client.HTTPResponse):
    """An answer of bounded size, which knows afterwards whether the next one can follow on its connection."""

    most_bytes = MAX_ANSWER_BYTES

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._reader = BoundedReader(self.fp.detach(), self.most_bytes)
        self.fp: io.BufferedReader = io.BufferedReader(self._reader)
        self._is_whole = self._has_surplus = False

    def begin(self) -> None:
        """Read the status and the headers; skip interim answers (RFC 9110, 15.2), which http.client takes for final."""
        super().begin()
        while 101 < self.status < 200:
            self.headers = self.msg = None  # type: ignore[assignment]  # or it would return immediately
            super().begin()

    def read1(self, n: int = -1) -> bytes:
        """Return some bytes of the body, b"" at its end. Raises IncompleteRead for broken chunks."""
        data = super().read1(n)
        self._is_whole = not data and not self._reader.has_ended
        return data

    def _close_conn(self) -> None:
        """http.client's hook at the end of the body. More bytes in the buffer belong to no request of ours."""
        self._reader.is_stopped = True
        self._has_surplus = bool(self.fp.peek(1))
        super()._close_conn()  # type: ignore[misc]  # not in the stubs

    @property
    def has_begun(self) -> bool:
        return self._reader.left < self.most_bytes

    @property
    def leaves_a_clean_connection(self) -> bool:
        """Whether this answer, now closed, was read to its end, had nothing after it, and announced no end."""
        return self._is_whole and not self._has_surplus and not self.will_close and self._has_one_end()

    def _has_one_end(self) -> bool:
        """Whether every reader of the headers finds the same end (RFC 9112, 6.3)."""
        lengths, codings = self.headers.get_all("Content-Length", []), self.headers.get_all("Transfer-Encoding", [])
        if self.headers.defects or self.status < 200:
            return False
        if self.status in (204, 304):
            return not codings and lengths in ([], ["0"])
        if codings:
            return not lengths and [coding.strip().lower() for coding in codings] == ["chunked"]
        return len(lengths) == 1 and lengths[0].isascii() and lengths[0].strip().isdigit()


@lru_cache(maxsize=1024)
def _target_of(url: str) -> str:
    """Return the path and query as they are sent: percent-encoded, without dot segments."""
    return parse_url(url).request_uri


class _Proxy(NamedTuple):
    """The operator's proxy, and the headers that it is asked with."""

    scheme: str
    host: str
    port: int
    headers: dict[str, str]


@lru_cache(maxsize=8)
def _proxy_at(url: str) -> _Proxy:
    parts = urlsplit(url)
    credentials = unquote(parts.netloc.rpartition("@")[0])
    headers = dict(make_headers(proxy_basic_auth=credentials)) if credentials else {}
    return _Proxy(parts.scheme, parts.hostname or "", parts.port or DEFAULT_PORTS[parts.scheme], headers)


def _open_tunnel(line: socket.socket, proxy: _Proxy, place: str) -> None:
    """Have the proxy pass on everything to this host and port. Raises OSError if it refuses, and HTTPException."""
    headers = "".join(f"{name}: {value}\r\n" for name, value in {"Host": place, **proxy.headers}.items())
    line.sendall(f"CONNECT {place} HTTP/1.1\r\n{headers}\r\n".encode())
    with closing(Answer(line, method="CONNECT")) as answer:
        answer.begin()
        if answer.status != 200:
            raise OSError(f"the proxy refused the tunnel: {answer.status}")


class Connection(http.client.HTTPConnection):
    """A connection for messages to one destination's scheme, host and port."""

    auto_open = 0  # only `open` connects

    def __init__(self, destination: Destination) -> None:
        host = destination.host.rstrip(".")
        super().__init__(host, destination.port)
        self._base = replace(destination, host=host, target="").url
        self.default_port = DEFAULT_PORTS[destination.scheme]  # left out of the Host header
        self.origin = (destination.scheme, destination.host, destination.port)
        self.opened_at = 0.0
        self.answer: Answer | None = None
        self._proxy = _proxy_at(settings.WEBHOOK_PROXY_URL) if settings.WEBHOOK_PROXY_URL else None

    def open(self, deadline: Deadline, dns_seconds: float) -> None:
        """Resolve, check and connect. Raises NameNotResolved, AddressRefused, OSError, and HTTPException of a proxy."""
        scheme, host, port = self.origin
        proxy = self._proxy
        self.opened_at = time.monotonic()  # before the look-up: its age is what counts
        line = connect(self._addresses(deadline, dns_seconds), deadline)
        deadline.watch(line)
        self.sock = line
        line.settimeout(max(deadline.remaining, SHORTEST_SECONDS))
        if proxy is not None and proxy.scheme == "https":
            self.sock = tls_context().wrap_socket(line, server_hostname=proxy.host)
        if scheme == "https":
            if proxy is not None:
                _open_tunnel(self.sock, proxy, f"[{host}]:{port}" if ":" in host else f"{self.host}:{port}")
                if deadline.is_over:  # http.client takes headers that we cut off for complete ones
                    raise TimeoutError
            if isinstance(self.sock, ssl.SSLSocket):  # `ssl` does not speak TLS inside of TLS
                self.sock = SSLTransport(self.sock, tls_context(), self.host)
            else:
                self.sock = tls_context().wrap_socket(self.sock, server_hostname=self.host)

    def _addresses(self, deadline: Deadline, dns_seconds: float) -> list[SocketAddress]:
        """Return the checked addresses of the receiver; those of the proxy unchecked, as the operator chose it."""
        _, host, port = self.origin
        try:
            addresses = resolve(host, port, min(dns_seconds, deadline.remaining))
        except NameNotResolved:
            if self._proxy is None:
                raise
            if port not in settings.WEBHOOK_ALLOWED_PORTS:  # perhaps only the proxy can resolve the name
                raise PortRefused(host) from None
        if self._proxy is None:
            return addresses
        return look_up(self._proxy.host, self._proxy.port, min(dns_seconds, deadline.remaining))

    def exchange(
        self, url: str, body: bytes, headers: dict[str, str], deadline: Deadline, method: str = "POST"
    ) -> Answer:
        """Send one message and return its answer, status and headers read. Raises OSError and HTTPException."""
        self.answer = None
        self.sock.settimeout(max(deadline.remaining, SHORTEST_SECONDS))
        target = _target_of(url)
        if self._proxy is not None and self.origin[0] == "http":  # it reads the receiver from the request
            target, headers = f"{self._base}{target}", headers | self._proxy.headers
        with suppress(BrokenPipeError):  # the peer may have answered before it stopped reading
            self.request(method, target, body, headers)
        self.getresponse()
        assert self.answer is not None  # noqa: S101 - getresponse made it
        return self.answer

    def response_class(self, *args: Any, **kwargs: Any) -> Answer:  # type: ignore[override]  # http.client only calls it
        """Return a new answer, and remember it: a failure depends on what has arrived."""
        self.answer = Answer(*args, **kwargs)
        return self.answer

    @property
    def has_answer_begun(self) -> bool:
        return self.answer is not None and self.answer.has_begun

    def is_quiet(self) -> bool:
        """Return whether the peer has sent nothing since the last answer: neither bytes nor its end."""
        try:
            self.sock.settimeout(0.0)
            self.sock.recv(1)  # over TLS this passes over session tickets
        except (BlockingIOError, ssl.SSLWantReadError):
            return True
        except OSError:
            return False
        return False
