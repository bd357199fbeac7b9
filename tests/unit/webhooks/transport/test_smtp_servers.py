"""The mail channel against a real SMTP server that delays, refuses, asks for logins and TLS, or goes silent."""

import asyncio
import smtplib
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from ssl import SSLContext
from types import SimpleNamespace
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from pytest_django import Settings

from tests.services.processes import free_port
from tests.services.waiting import eventually
from tests.unit.webhooks.transport.raw_receiver import lasted
from webhooks.transport import smtp, useless_server
from webhooks.transport.smtp import Mail, send

MAIL = Mail("ana@example.com", "Hello", "plain text", "<p>html</p>", "<dlv_1@fieldpost.example>")
DROP, SILENCE = object(), object()
Reply = str | float | object  # a line; seconds to wait before 250; DROP; SILENCE


def mail(to: str) -> Mail:
    return Mail(to, "Hello", "plain text", "", f"<{to}>")


class MailServer:
    """
    An SMTP server. `replies` are by command (EHLO, MAIL, RCPT, DATA, QUIT) or by recipient; all else is accepted.

    `accepted` are recipients of accepted mails, `commands` are what clients sent, `is_secure` whether each mail came
    over TLS.
    """

    def __init__(self) -> None:
        self.replies: dict[str, Reply] = {}
        self.accepted: list[str] = []
        self.commands: list[str] = []
        self.is_secure: list[bool] = []
        self.password = ""
        self.port = free_port()

    async def _reply(self, server: SMTP, command: str, key: str) -> str | None:
        """Return the wanted reply, or None for the usual one."""
        self.commands.append(command)
        wanted = self.replies.get(key, self.replies.get(command))
        if wanted is DROP:
            assert isinstance(server.transport, asyncio.WriteTransport)
            server.transport.abort()
            return "421 gone"
        if wanted is SILENCE:
            await asyncio.sleep(60)  # longer than the test; canceled when the client hangs up
        if isinstance(wanted, float):
            await asyncio.sleep(wanted)
            return None
        return wanted if isinstance(wanted, str) else None

    # The names below are aiosmtpd's.
    async def handle_EHLO(
        self, server: SMTP, session: Session, _envelope: Envelope, name: str, responses: list[str]
    ) -> list[str]:
        session.host_name = name
        reply = await self._reply(server, "EHLO", "EHLO")
        return [reply] if reply else responses

    async def handle_HELO(self, server: SMTP, session: Session, _envelope: Envelope, name: str) -> str:
        session.host_name = name
        return await self._reply(server, "HELO", "HELO") or "250 fine"

    async def handle_MAIL(
        self, server: SMTP, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        reply = await self._reply(server, "MAIL", "MAIL")
        envelope.mail_from = None if reply else address
        return reply or "250 fine"

    async def handle_RCPT(
        self, server: SMTP, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        reply = await self._reply(server, "RCPT", address)
        if reply is None:
            envelope.rcpt_tos.append(address)
        return reply or "250 fine"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        reply = await self._reply(server, "DATA", "DATA")
        if reply is None:
            self.accepted += envelope.rcpt_tos
            self.is_secure.append(session.ssl is not None)
        return reply or "250 accepted"

    async def handle_QUIT(self, server: SMTP, _session: Session, _envelope: Envelope) -> str:
        return await self._reply(server, "QUIT", "QUIT") or "221 bye"

    def authenticate(
        self, _server: SMTP, _session: Session, _envelope: Envelope, _mechanism: str, data: LoginPassword
    ) -> AuthResult:
        return AuthResult(success=data.password == self.password.encode(), handled=False)


@pytest.fixture
def start(settings: Settings) -> Iterator[Callable[..., MailServer]]:
    """Start a server, with aiosmtpd's options, and lead the service's mails to it."""
    controllers = []

    def start_one(**options: Any) -> MailServer:
        server = MailServer()
        controller = Controller(
            server, hostname="127.0.0.1", port=server.port, authenticator=server.authenticate, **options
        )
        controller.start()
        controllers.append(controller)
        settings.EMAIL_PORT = server.port
        return server

    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = "127.0.0.1", "", ""
    settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
    settings.EMAIL_TIMEOUT = 10
    useless_server.LOGGED.clear()
    yield start_one
    for controller in controllers:
        controller.stop()


@pytest.mark.parametrize(
    ("command", "reply", "error", "permanent", "tries"),
    [
        ("RCPT", "550 5.1.1 no such user", "mail_refused", False, 4),
        ("RCPT", "556 5.1.10 the domain takes no mail", "mail_refused", False, 4),
        ("RCPT", "450 4.2.0 greylisted", "mail_failed", False, None),
        ("RCPT", "452 4.2.2 mailbox full", "mail_failed", False, None),
        ("RCPT", "552 5.2.2 mailbox full", "mail_failed", False, None),
        ("RCPT", "530 5.7.0 log in first", "mail_failed", False, None),
        ("MAIL", "550 5.7.1 sender blocked", "mail_failed", False, None),
        ("MAIL", "552 5.3.4 too large", "mail_failed", False, None),
        ("DATA", "552 5.3.4 too large", "mail_refused", True, None),
        ("DATA", "452 4.3.1 disk full", "mail_failed", False, None),
        ("DATA", "554 5.7.1 spam", "mail_refused", True, None),
        ("DATA", "421 4.3.2 shutting down", "mail_failed", False, None),
        ("EHLO", "421 4.3.2 shutting down", "mail_failed", False, None),
    ],
)
def test_send__refused_at_a_command__5xx_about_the_mail_ends_it_and_nothing_else(
    start: Callable[..., MailServer], command: str, reply: str, error: str, permanent: bool, tries: int | None
) -> None:
    server = start()
    server.replies[command] = server.replies["HELO"] = reply
    outcome = send(MAIL)
    assert (outcome.succeeded, outcome.error, outcome.permanent, outcome.tries) == (False, error, permanent, tries)
    assert (outcome.status, outcome.response_excerpt) == (
        (None, "") if command == "EHLO" else (int(reply[:3]), reply[4:])
    )
    assert server.accepted == []


@pytest.mark.parametrize("reply", ["554 5.7.0 go away", "521 5.3.2 no mail here", "500 what"])
def test_send__server_refuses_ehlo_and_helo_with_5xx__is_tried_again(
    start: Callable[..., MailServer], reply: str
) -> None:
    server = start()
    server.replies |= {"EHLO": reply, "HELO": reply}
    outcome = send(MAIL)
    assert (outcome.error, outcome.permanent, outcome.status) == ("mail_failed", False, None)
    assert "MAIL" not in server.commands


def test_send__one_address_bounces__the_others_get_their_mails(start: Callable[..., MailServer]) -> None:
    server = start()
    server.replies |= {"gone@example.com": "550 no such user", "full@example.com": "452 full"}
    addresses = ["ana@example.com", "gone@example.com", "bo@example.com", "full@example.com", "cem@example.com"]
    with ThreadPoolExecutor(5) as pool:
        outcomes = list(pool.map(lambda to: send(mail(to)), addresses))
    assert [(one.error, one.tries) for one in outcomes] == [
        ("", None),
        ("mail_refused", 4),
        ("", None),
        ("mail_failed", None),
        ("", None),
    ]
    assert sorted(server.accepted) == ["ana@example.com", "bo@example.com", "cem@example.com"]


@pytest.mark.parametrize("command", ["EHLO", "MAIL", "RCPT", "DATA"])
def test_send__server_drops_the_connection__is_tried_again(start: Callable[..., MailServer], command: str) -> None:
    server = start()
    server.replies |= {command: DROP, "HELO": DROP}
    outcome = send(MAIL)
    assert (outcome.error, outcome.permanent, outcome.status) == ("mail_failed", False, None)
    del server.replies[command]
    assert send(MAIL).succeeded


@pytest.mark.parametrize("command", ["EHLO", "MAIL", "RCPT", "DATA"])
def test_send__server_falls_silent__timeout_at_the_deadline(
    start: Callable[..., MailServer], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr(smtp, "MAX_SECONDS", 0.5)
    server = start()
    server.replies[command] = SILENCE
    outcome = send(MAIL)
    assert (outcome.error, outcome.permanent) == ("timeout", False)
    assert lasted(outcome, 0.5)
    assert server.accepted == []


def test_attempt__of_a_mail__ends_after_30_seconds_and_a_socket_waits_10(settings: Settings) -> None:
    """The figures of docs/contract.md 7.17; the other tests shorten them."""
    assert (smtp.MAX_SECONDS, settings.EMAIL_TIMEOUT) == (30.0, 10)


def test_send__server_takes_its_time__is_sent(start: Callable[..., MailServer]) -> None:
    server = start()
    server.replies |= {"EHLO": 0.1, "MAIL": 0.1, "RCPT": 0.1, "DATA": 0.3}
    outcome = send(MAIL)
    assert (outcome.succeeded, server.accepted) == (True, ["ana@example.com"])
    assert outcome.duration_ms >= 600


@pytest.mark.parametrize(("refused", "error"), [(False, ""), (True, "mail_refused")])
def test_send__deadline_passes_at_quit__the_verdict_before_it_counts(
    start: Callable[..., MailServer], monkeypatch: pytest.MonkeyPatch, refused: bool, error: str
) -> None:
    monkeypatch.setattr(smtp, "MAX_SECONDS", 1.0)
    server = start()
    server.replies["QUIT"] = SILENCE
    if refused:
        server.replies["RCPT"] = "550 no such user"
    outcome = send(MAIL)
    assert (outcome.error, lasted(outcome, 1.0)) == (error, True)
    assert server.accepted == ([] if refused else ["ana@example.com"])


@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
def test_send__wrong_login__stays_pending_until_it_is_right(
    start: Callable[..., MailServer], settings: Settings
) -> None:
    server = start(auth_required=True, auth_require_tls=False)
    server.password = "right"
    assert (send(MAIL).error, send(MAIL).permanent) == ("mail_failed", False)  # 530 without any login
    settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = "user", "wrong"
    outcome = send(MAIL)
    assert (outcome.error, outcome.permanent, outcome.response_excerpt) == ("mail_failed", False, "")
    assert server.accepted == []
    settings.EMAIL_HOST_PASSWORD = "right"
    assert send(MAIL).succeeded
    assert server.accepted == ["ana@example.com"]


def test_send__unexpected_error_after_the_deadline__is_logged(
    start: Callable[..., MailServer], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(smtp, "MAX_SECONDS", 0.3)
    is_over = threading.Event()

    def fail_later(*_args: Any, **_options: Any) -> None:
        is_over.wait(30)
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(smtplib.SMTP, "sendmail", fail_later)
    start()
    assert send(MAIL).error == "timeout"
    is_over.set()
    eventually(lambda: "a mail failed with an unexpected error" in lines_of(caplog), because="the thread goes on")


def lines_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return our own lines: the server of these tests logs too."""
    return [one.getMessage() for one in caplog.records if one.name.startswith("webhooks.")]


@pytest.mark.parametrize(
    ("command", "reply", "line"),
    [
        ("EHLO", "554 5.7.0 go away", "SMTPHeloError 554 5.7.0 go away"),
        ("MAIL", "550 5.7.1 sender blocked", "SMTPSenderRefused 550 5.7.1 sender blocked"),
        ("RCPT", "550 5.1.1 no such user", None),
        ("DATA", "554 5.7.1 spam", None),
    ],
)
def test_send__server_is_of_no_use__is_one_log_line_for_each_reason_and_ten_minutes(
    start: Callable[..., MailServer],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    command: str,
    reply: str,
    line: str | None,
) -> None:
    assert useless_server.LINE_EVERY == 600.0
    server = start()
    server.replies[command] = server.replies["HELO"] = reply
    with ThreadPoolExecutor(5) as pool:
        outcomes = list(pool.map(lambda number: send(mail(f"user{number}@example.com")), range(10)))
    assert not any(one.succeeded for one in outcomes)
    expected = [] if line is None else [f"the mail server takes no mails now, they are retried: {line}"]
    assert lines_of(caplog) == expected
    clock = SimpleNamespace(time=lambda: time.time() + 600)
    monkeypatch.setattr("django.core.cache.backends.locmem.time", clock)
    send(MAIL)
    assert lines_of(caplog) == 2 * expected


def test_send__nobody_listens_and_wrong_login__are_a_line_each(
    start: Callable[..., MailServer], settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    server = start(auth_require_tls=False)
    server.password = "right"
    settings.EMAIL_PORT = free_port()
    assert [send(MAIL).error for _ in range(3)] == ["mail_failed"] * 3
    settings.EMAIL_PORT, settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = server.port, "user", "hidden"
    assert [send(MAIL).error for _ in range(3)] == ["mail_failed"] * 3
    unreachable, refused = lines_of(caplog)
    assert "Connection refused" in unreachable
    assert "535" in refused
    assert "hidden" not in refused


def test_send__starttls__the_mail_comes_over_tls(
    start: Callable[..., MailServer], settings: Settings, trusted: SSLContext
) -> None:
    settings.EMAIL_HOST, settings.EMAIL_USE_TLS = "hooks.example", True
    server = start(tls_context=trusted)
    assert send(MAIL).error == ""
    assert server.is_secure == [True]


def test_send__starttls_is_not_offered__is_not_sent_in_the_clear(
    start: Callable[..., MailServer], settings: Settings
) -> None:
    settings.EMAIL_USE_TLS = True
    server = start()
    outcome = send(MAIL)
    assert (outcome.error, outcome.permanent) == ("mail_failed", False)
    assert "MAIL" not in server.commands


def test_send__starttls_with_a_certificate_of_nobody_we_trust__is_not_sent(
    start: Callable[..., MailServer], settings: Settings, trusted: SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    settings.EMAIL_HOST, settings.EMAIL_USE_TLS = "hooks.example", True
    server = start(tls_context=trusted)
    outcome = send(MAIL)
    assert (outcome.error, outcome.permanent) == ("mail_failed", False)
    assert "MAIL" not in server.commands


def test_send__sixteen_at_the_same_time__leave_no_thread(start: Callable[..., MailServer]) -> None:
    server = start()
    with ThreadPoolExecutor(16) as pool:
        outcomes = list(pool.map(lambda number: send(mail(f"user{number}@example.com")), range(48)))
    assert all(one.succeeded for one in outcomes)
    assert len(set(server.accepted)) == len(server.accepted) == 48
    assert not [thread for thread in threading.enumerate() if thread.name == "mail"]
