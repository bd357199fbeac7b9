"""Receivers of the service's requests and mails: a real HTTP server and a real SMTP server that record them."""

import email
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.policy import default as modern
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from tests.services.processes import free_port
from tests.services.waiting import PATIENCE_SECONDS, eventually


@dataclass(frozen=True)
class Received:
    method: str
    path: str
    headers: Mapping[str, str]  # names in lower case
    body: bytes
    arrived: float  # epoch seconds


@dataclass(frozen=True)
class Reply:
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    delay: float = 0.0  # seconds before the status line


class Receiver:
    """An HTTP server on 127.0.0.1. `replies` are for the next requests, one each; `reply` for all after them."""

    def __init__(self) -> None:
        self.requests: list[Received] = []
        self.replies: deque[Reply] = deque()
        self.reply = Reply()
        self._lock = threading.Lock()
        self._closing = threading.Event()

    def __enter__(self) -> Self:
        self._server = _HTTPServer(("127.0.0.1", 0), self._handler())
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._closing.set()  # wakes those who wait out a delay
        self._server.shutdown()
        self._server.server_close()

    def url(self, path: str = "/hook") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def wait_for(self, count: int, timeout: float = PATIENCE_SECONDS, path: str | None = None) -> list[Received]:
        """Return the requests so far (to `path`), once there are `count` of them."""

        def arrived() -> list[Received]:
            found = [one for one in list(self.requests) if path in (None, one.path)]
            assert len(found) >= count, f"{len(found)} came: {[(one.method, one.path) for one in found]}"
            return found

        return eventually(arrived, timeout, f"{count} requests at the receiver") if count else arrived()

    def _take(self, request: Received) -> Reply:
        with self._lock:
            self.requests.append(request)
            return self.replies.popleft() if self.replies else self.reply

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"  # keep-alive, as customers' servers have it

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                reply = receiver._take(Received(self.command, self.path, headers, body, time.time()))
                if reply.delay:
                    receiver._closing.wait(reply.delay)
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

            def log_message(self, *args: object) -> None:
                """Print nothing: the requests are in `requests`."""

        return Handler


class _HTTPServer(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        """Print nothing: tests are about senders that give up or are killed."""


@dataclass(frozen=True)
class Mail:
    sender: str
    recipients: list[str]
    message: EmailMessage


class MailReceiver:
    """
    An SMTP server. `refusals` maps a recipient to the line it is refused with at RCPT, such as `550 no such user`;
    `rejections` to the line at DATA, which is final.
    """

    def __init__(self) -> None:
        self.mails: list[Mail] = []
        self.refusals: dict[str, str] = {}
        self.rejections: dict[str, str] = {}
        self.port = free_port()
        self.url = f"smtp://127.0.0.1:{self.port}"
        self._controller = Controller(self, hostname="127.0.0.1", port=self.port)

    def __enter__(self) -> Self:
        self._controller.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._controller.stop()

    def to(self, recipient: str) -> list[Mail]:
        return [mail for mail in list(self.mails) if recipient in mail.recipients]

    def wait_for(self, recipient: str, count: int = 1, timeout: float = PATIENCE_SECONDS) -> list[Mail]:
        """Return the mails to this address, once there are `count` of them."""

        def arrived() -> list[Mail]:
            found = self.to(recipient)
            assert len(found) >= count, f"{len(found)} came, and {len(self.mails)} for anybody"
            return found

        return eventually(arrived, timeout, f"{count} mails to {recipient}")

    # The two names below are aiosmtpd's.
    async def handle_RCPT(
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        if address in self.refusals:
            return self.refusals[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:
        for address in envelope.rcpt_tos:
            if address in self.rejections:
                return self.rejections[address]
        message = email.message_from_bytes(envelope.original_content or b"", policy=modern)
        self.mails.append(Mail(envelope.mail_from or "", list(envelope.rcpt_tos), message))
        return "250 OK"
