"""The mail channel against a real SMTP server, and against scripted ones that refuse, drip or fall silent."""

import socket
import threading
import time
from collections.abc import Iterator
from email.message import EmailMessage
from email.utils import getaddresses
from io import BufferedRWPair
from ssl import SSLContext
from typing import Any

import pytest
from django.core import mail as outgoing
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from tests.services.receivers import MailReceiver
from tests.services.waiting import eventually, let_pass
from tests.unit.webhooks.transport.raw_receiver import BUSY_MS, Behaviour, RawReceiver, drip, lasted
from webhooks.transport import smtp
from webhooks.transport.outcome import Outcome
from webhooks.transport.smtp import Mail, message_id_for, send

SMTP = "django.core.mail.backends.smtp.EmailBackend"
MAIL = Mail("ana@example.com", "Hello", "plain text", "<p>html</p>", "<dlv_1@fieldpost.example>", "bo@example.org")


def mail(**changes: Any) -> Mail:
    return Mail(**{name: changes.get(name, getattr(MAIL, name)) for name in Mail.__slots__})


@pytest.fixture
def smtp_settings(settings: Settings) -> Settings:
    settings.EMAIL_BACKEND = SMTP
    settings.EMAIL_HOST, settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = "127.0.0.1", "", ""
    settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
    settings.EMAIL_TIMEOUT = 10
    settings.DEFAULT_FROM_EMAIL = "Fieldpost <fieldpost@fieldpost.example>"
    return settings


class ScriptedServer(RawReceiver):
    """An SMTP server: `replies["RCPT"] = "550 no"`, None for silence; `verbs` are the commands that it got."""

    def __init__(self) -> None:
        self.replies: dict[str, str | None] = {"DATA": "354 go on", "QUIT": "221 bye"}
        self.verbs: list[str] = []
        self.converse: Behaviour = self._follow_the_script
        super().__init__()

    def handle(self, connection: socket.socket) -> None:
        self.converse(connection)

    def _follow_the_script(self, connection: socket.socket) -> None:
        with connection.makefile("rwb") as lines:
            say(lines, "220 hello")
            while line := lines.readline():
                verb = line.split()[0].decode().upper()
                self.verbs.append(verb)
                say(lines, self.replies.get(verb, "250 fine"))
                if verb == "DATA" and (self.replies["DATA"] or "").startswith("354"):
                    while lines.readline() not in (b".\r\n", b""):
                        pass
                    say(lines, self.replies.get("END", "250 accepted"))


@pytest.fixture
def server(smtp_settings: Settings) -> Iterator[ScriptedServer]:
    receiver = ScriptedServer()
    smtp_settings.EMAIL_PORT = receiver.port
    yield receiver
    receiver.listener.close()


def body_of(message: EmailMessage, kind: str) -> str:
    part = message.get_body([kind])
    assert part is not None
    return str(part.get_content())


def say(lines: BufferedRWPair, reply: str | None) -> None:
    if reply is None:
        lines.read()  # until the client hangs up
    else:
        lines.write(reply.encode() + b"\r\n")
        lines.flush()


def test_send__real_server__gets_both_bodies_and_the_headers(smtp_settings: Settings) -> None:
    with MailReceiver() as receiver:
        smtp_settings.EMAIL_PORT = receiver.port
        outcome = send(mail(subject="Grüße", text="Zoë\n.\n\r\n.\r\nMAIL FROM:<evil@example.com>\r\n" + "x" * 65_536))
        [received] = receiver.mails
    assert outcome == Outcome(True, None, outcome.duration_ms, "")
    message = received.message
    assert (received.sender, received.recipients) == ("fieldpost@fieldpost.example", ["ana@example.com"])
    assert [message[name] for name in ("Subject", "To", "Reply-To")] == ["Grüße", "ana@example.com", "bo@example.org"]
    assert message["Message-ID"] == "<dlv_1@fieldpost.example>"
    assert message["Auto-Submitted"] == "auto-generated"
    text = body_of(message, "plain")
    assert text.replace("\r\n", "\n").startswith("Zoë\n.\n\n.\nMAIL FROM:<evil@example.com>\nxxx")
    assert text.count("x") >= 65_536
    assert body_of(message, "html").strip() == "<p>html</p>"


@pytest.mark.parametrize(
    ("verb", "error", "permanent", "tries"),
    [
        ("MAIL", "mail_failed", False, None),  # the relay's fault, or our account's
        ("RCPT", "mail_refused", False, 4),
        ("DATA", "mail_refused", True, None),
        ("END", "mail_refused", True, None),
    ],
)
@pytest.mark.parametrize("code", [500, 550, 554])
def test_send__5xx__is_final_after_data_and_for_a_recipient_after_four_attempts(
    server: ScriptedServer, verb: str, code: int, error: str, permanent: bool, tries: int | None
) -> None:
    server.replies[verb] = f"{code} because"
    outcome = send(MAIL)
    assert (outcome.succeeded, outcome.error, outcome.permanent, outcome.tries) == (False, error, permanent, tries)
    assert (outcome.status, outcome.response_excerpt) == (code, "because")


@pytest.mark.parametrize("verb", ["MAIL", "RCPT", "DATA", "END"])
@pytest.mark.parametrize("code", [421, 451])
def test_send__4xx__is_tried_by_the_whole_schedule(server: ScriptedServer, verb: str, code: int) -> None:
    server.replies[verb] = f"{code} because"
    outcome = send(MAIL)
    assert (outcome.error, outcome.permanent, outcome.tries) == ("mail_failed", False, None)
    assert (outcome.status, outcome.response_excerpt) == (code, "because")


@pytest.mark.parametrize("verb", ["MAIL", "RCPT", "DATA", "END"])
@pytest.mark.parametrize("reply", ["hello", "-1 odd", "999 odd", "2 50"])
def test_send__reply_without_a_code__is_tried_again_and_has_no_status(
    server: ScriptedServer, verb: str, reply: str
) -> None:
    server.replies[verb] = reply
    outcome = send(MAIL)
    assert (outcome.succeeded, outcome.error, outcome.permanent) == (False, "mail_failed", False)
    assert outcome.status is None


@pytest.mark.parametrize("reply", ["454 TLS not available", "501 what", "502 no", "554 go away"])
def test_send__starttls_is_refused__nothing_is_sent_in_the_clear(
    server: ScriptedServer, smtp_settings: Settings, reply: str
) -> None:
    smtp_settings.EMAIL_USE_TLS = True
    server.replies |= {"EHLO": "250-me\r\n250 STARTTLS", "STARTTLS": reply}
    outcome = send(MAIL)
    assert (outcome.error, outcome.permanent) == ("mail_failed", False)
    assert not {"MAIL", "AUTH", "DATA"} & set(server.verbs)


@pytest.mark.parametrize(
    "reply", ["554 not today", "421 busy", "521 no mail here", "550 your address is blocked", "hello"]
)
def test_send__server_refuses_everybody__is_not_the_mails_fault(server: ScriptedServer, reply: str | None) -> None:
    server.converse = lambda connection: say(connection.makefile("rwb"), reply)
    outcome = send(MAIL)
    assert (outcome.error, outcome.permanent) == ("mail_failed", False)


def test_send__our_own_login_is_refused__is_tried_again(server: ScriptedServer, smtp_settings: Settings) -> None:
    server.replies |= {"EHLO": "250-me\r\n250 AUTH PLAIN", "AUTH": "535 wrong password"}
    smtp_settings.EMAIL_HOST_USER, smtp_settings.EMAIL_HOST_PASSWORD = "user", "secret"
    outcome = send(MAIL)
    assert (outcome.error, outcome.permanent, outcome.response_excerpt) == ("mail_failed", False, "")
    assert server.verbs[-1] == "QUIT"
    server.replies |= {"AUTH": "235 ok", "MAIL": "530 log in first"}
    outcome = send(MAIL)
    assert (outcome.error, outcome.permanent) == ("mail_failed", False)


def test_send__nobody_listens__mail_failed(server: ScriptedServer) -> None:
    server.listener.shutdown(socket.SHUT_RDWR)
    server.listener.close()
    outcome = send(MAIL)
    assert (outcome.error, outcome.permanent) == ("mail_failed", False)


@pytest.mark.parametrize("verb", ["EHLO", "RCPT", "END"])
def test_send__silence_longer_than_the_socket_timeout__timeout(
    server: ScriptedServer, smtp_settings: Settings, verb: str
) -> None:
    smtp_settings.EMAIL_TIMEOUT = 0.2
    server.replies |= {verb: None, "HELO": None}
    outcome = send(MAIL)
    assert (outcome.error, outcome.permanent) == ("timeout", False)
    assert outcome.duration_ms < BUSY_MS  # an attempt may take 30 s


def test_send__dripping_greeting__hung_up_at_the_deadline(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smtp, "MAX_SECONDS", 1.0)
    ended = []

    def handle(connection: socket.socket) -> None:
        try:
            drip(first=b"220 ")(connection)
        except OSError:
            ended.append(time.monotonic())

    server.converse = handle
    outcome = send(MAIL)
    assert (outcome.error, lasted(outcome, 1.0)) == ("timeout", True)
    eventually(lambda: bool(ended), because="the server no longer drips: our end is closed")


def test_send__slow_name_server__timeout_at_the_deadline_and_nothing_is_sent_later(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smtp, "MAX_SECONDS", 0.5)
    known, release, answered = socket.getaddrinfo, threading.Event(), threading.Event()

    def slow(*arguments: Any, **options: Any) -> Any:
        release.wait(5)
        found = known(*arguments, **options)
        answered.set()
        return found

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    outcome = send(MAIL)
    assert (outcome.error, lasted(outcome, 0.5)) == ("timeout", True)
    release.set()
    assert answered.wait(5)
    let_pass(0.2)  # what must not happen would happen now
    assert server.verbs == []


def test_send__server_is_silent_after_its_refusal__the_refusal_counts(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smtp, "MAX_SECONDS", 1.0)
    server.replies |= {"RCPT": "550 no such user", "RSET": None, "QUIT": None}
    outcome = send(MAIL)
    assert (outcome.error, outcome.tries, outcome.status) == ("mail_refused", 4, 550)
    assert "RSET" not in server.verbs


@pytest.mark.parametrize("goodbye", [None, "500 no", "221 " + "x" * 9_000])
def test_send__no_or_an_odd_answer_to_quit__the_mail_is_sent(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, goodbye: str | None
) -> None:
    monkeypatch.setattr(smtp, "QUIT_SECONDS", 0.2)
    server.replies["QUIT"] = goodbye
    outcome = send(MAIL)
    assert (outcome.succeeded, outcome.duration_ms < BUSY_MS) == (True, True)


@pytest.fixture
def tls_server(server: ScriptedServer, trusted: SSLContext, smtp_settings: Settings) -> ScriptedServer:
    smtp_settings.EMAIL_HOST, smtp_settings.EMAIL_USE_SSL = "hooks.example", True
    server.context = trusted
    return server


def test_send__over_tls__is_sent(tls_server: ScriptedServer) -> None:
    assert send(MAIL).error == ""
    assert "DATA" in tls_server.verbs


def test_send__silent_handshake__timeout_at_the_deadline(
    tls_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smtp, "MAX_SECONDS", 1.0)
    hung_up = []
    tls_server.context = None
    tls_server.converse = lambda connection: hung_up.append([connection.recv(65536), connection.recv(65536)][-1])
    outcome = send(MAIL)
    assert (outcome.error, lasted(outcome, 1.0)) == ("timeout", True)
    eventually(lambda: hung_up == [b""], because="our end has hung up")


@pytest.mark.parametrize(
    "to", ["", "nobody", "a@b", "a@example.com,b@example.com", "a@example.com\r\nBcc: b@example.com"]
)
def test_send__recipient_that_is_no_address__refused_for_good(to: str) -> None:
    outcome = send(mail(to=to))
    assert (outcome.error, outcome.permanent, outgoing.outbox) == ("mail_refused", True, [])


def test_send__line_break_in_the_message_id__refused_for_good() -> None:
    outcome = send(mail(message_id="<a@b>\r\nBcc: b@example.com"))
    assert (outcome.error, outcome.permanent, outgoing.outbox) == ("mail_refused", True, [])


@pytest.mark.parametrize(
    ("subject", "sent"),
    [
        ("  two \t words\r\nBcc: b@example.com ", "two words Bcc: b@example.com"),
        ("a\x00b\x1b[31m\u2028c\u202ed\x85e", "a b [31m c d e"),
        ("x" * 300, "x" * 200),
        ("Grüße \U0001f468\u200d\U0001f469\u200d\U0001f467", "Grüße \U0001f468\u200d\U0001f469\u200d\U0001f467"),
        ("\ud800", ""),
    ],
)
def test_send__any_subject__is_one_line_of_at_most_200_characters(subject: str, sent: Any) -> None:
    assert send(mail(subject=subject)).succeeded
    assert outgoing.outbox[0].subject == sent


@pytest.mark.parametrize(
    "address", ["bo@example.org", "bo+tag@sub.example.org", "o'neill@example.org", "bo@bücher.example"]
)
def test_send__reply_to_is_one_address__is_set(address: str) -> None:
    assert send(mail(reply_to=address)).succeeded
    assert outgoing.outbox[0].reply_to == [address]


@pytest.mark.parametrize(
    "address",
    [
        "",
        "not an address",
        "Bo <bo@example.org>",
        "bo@example.org, eve@example.org",
        "bo@example.org;eve@example.org",
        "bo@example.org\r\nBcc: eve@example.org",
        "bo@example.org\n",
        '"bo\x01"@example.org',
        '"a,b"@example.org',
    ],
)
def test_send__reply_to_is_anything_else__is_left_out(address: str) -> None:
    assert send(mail(reply_to=address)).succeeded
    assert outgoing.outbox[0].reply_to == []


ANY = st.text(max_size=60) | st.emails()


@given(to=st.sampled_from(["ana@example.com"]) | ANY, subject=ANY, text=ANY, reply_to=ANY, message_id=ANY)
def test_send__any_text_anywhere__an_outcome_and_headers_on_one_line(
    to: str, subject: str, text: str, reply_to: str, message_id: str
) -> None:
    outgoing.outbox = []
    outcome = send(mail(to=to, subject=subject, text=text, reply_to=reply_to, message_id=message_id))
    assert outcome.succeeded or (outcome.error, outcome.permanent) == ("mail_refused", True)
    for sent in outgoing.outbox:
        message = sent.message()
        assert len(message.get_all("Subject", [])) == len(message.get_all("To", [])) == 1
        assert "Bcc" not in message
        assert len(getaddresses(message.get_all("Reply-To", []))) <= 1


def test_message_id_for__public_url__is_stable_and_at_its_host(settings: Settings) -> None:
    settings.PUBLIC_URL = "https://forms.example.com:8443"
    assert message_id_for("dlv_1") == message_id_for("dlv_1") == "<dlv_1@forms.example.com>"
    settings.PUBLIC_URL = "http://[::1]:8000"
    assert message_id_for("dlv_1") == "<dlv_1@[::1]>"
    settings.PUBLIC_URL = "http://127.0.0.1:8000"
    assert message_id_for("dlv_1") == "<dlv_1@[127.0.0.1]>"
