"""
Sends one mail over SMTP (docs/contract.md 7).

Everything that a submitter typed is made harmless before it reaches a header. A mail that can never be sent is a
permanent failure: a header with a line break is a poison message, and retrying it cannot help.
"""

import ipaddress
import logging
import queue
import re
import smtplib
import socket
import threading
import time
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from email.utils import formataddr, parseaddr
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.core.mail.backends.smtp import EmailBackend

from forms_app.consent.addresses import is_single_address
from submissions.json_text import dump_json
from webhooks.models import ErrorClass
from webhooks.transport.deadline import Deadline
from webhooks.transport.outcome import EXCERPT_BYTES, Outcome
from webhooks.transport.useless_server import log_useless_server

MAX_SECONDS = 30.0  # for everything; EMAIL_TIMEOUT starts again at every socket operation
QUIT_SECONDS = 1.0  # the mail is accepted by then, so there is no reason to wait for the answer to QUIT
MAX_SUBJECT_CHARACTERS = 200
NAMELESS_SERVICE = "Fieldpost"  # where DEFAULT_FROM_EMAIL is an address without a name
# Attempts at a recipient whom the server refuses with 5xx. A relay that refuses everybody for some minutes loses no
# mail, and an unknown mailbox is soon final.
RECIPIENT_TRIES = 4
# 5xx about our own login, not about the mail (RFC 4954, section 6): the operator fixes it, and the mail stays pending.
LOGIN_CODES = frozenset({530, 534, 535, 538})
# To RCPT: a full mailbox, or too many recipients. RFC 5321, section 4.5.3.1.10: to be read as 452.
FULL_MAILBOX_CODES = frozenset({552})
# Controls, line and paragraph separators, marks that reverse the reading direction, lone surrogates.
_UNFIT_FOR_SUBJECT = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

_STOP_HEADER = "List-Unsubscribe"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Mail:
    """
    One mail to one address. `message_id` is the whole `<...@host>` of `message_id_for()`, the same at every attempt.

    `subject` and `reply_to` may be any text: sending collapses the subject to one line and drops an invalid address.
    Without `html` the mail is plain text. `stop_url`: where the recipient ends such mails, by a POST too (RFC 8058).
    `spam_url`: where they mark its submission. `is_reply`: it answers a submission of its recipient. `sender`: a name
    before that of the service, which any mail is from.
    """

    to: str
    subject: str
    text: str
    html: str
    message_id: str
    reply_to: str = ""
    stop_url: str = ""
    spam_url: str = ""
    is_reply: bool = False
    sender: str = ""


def message_id_for(delivery_id: str) -> str:
    """Return the Message-ID of a delivery, at the host of PUBLIC_URL: an address in brackets (RFC 5322, 3.6.4)."""
    host = urlsplit(settings.PUBLIC_URL).hostname or "localhost"
    with suppress(ValueError):
        host = f"[{ipaddress.ip_address(host)}]"
    return f"<{delivery_id}@{host}>"


def send(mail: Mail) -> Outcome:
    """
    Send the mail and return the outcome, after at most 30 seconds. Never raises.

    It runs in its own thread, because the lookup of the mail server has no timeout at all.
    """
    started = time.monotonic()
    deadline = Deadline(MAX_SECONDS)
    result: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
    thread = threading.Thread(target=_submit, args=(mail, deadline, result), name="mail", daemon=True)
    try:
        thread.start()
        outcome = result.get(timeout=deadline.remaining)
        thread.join(deadline.remaining)  # it says goodbye; the outcome is known
        if thread.is_alive():
            deadline.cut()
    except queue.Empty:
        deadline.cut()
        outcome = _failed(ErrorClass.TIMEOUT)
    except RuntimeError:  # the host has no thread left
        outcome = _failed(ErrorClass.MAIL_FAILED)
    deadline.close()
    return replace(outcome, duration_ms=round((time.monotonic() - started) * 1000))


def _submit(mail: Mail, deadline: Deadline, result: queue.SimpleQueue[Outcome]) -> None:
    """Put the outcome, without its duration, as soon as it is known: a server that hangs at QUIT has the mail."""
    try:
        message = _message(mail)
        message.message()  # fails here for text that a header cannot hold: the mail's fault, not the server's
    except ValueError:  # BadHeaderError, a bad address, text that cannot be encoded
        result.put(_failed(ErrorClass.MAIL_REFUSED, permanent=True))
        return
    try:
        with closing(_connection(deadline)) as connection:  # Django leaves it open after a refused login
            result.put(_outcome_of(message, connection, deadline))
    except Exception as error:  # after the dialogue the first outcome counts
        result.put(_failure_of(error, deadline))


def _outcome_of(message: EmailMultiAlternatives, connection: BaseEmailBackend, deadline: Deadline) -> Outcome:
    try:
        connection.open()  # or send_messages would close it
        sent = connection.send_messages([message])
    except Exception as error:
        return _failure_of(error, deadline)
    return Outcome(True, None, 0, "") if sent != 0 else _failed(ErrorClass.MAIL_FAILED)


def _message(mail: Mail) -> EmailMultiAlternatives:
    if not is_single_address(mail.to):
        raise ValueError("not an address")
    message = EmailMultiAlternatives(
        subject=one_line(mail.subject),
        body=mail.text,
        from_email=_from(mail),
        to=[mail.to],
        reply_to=[mail.reply_to] if is_single_address(mail.reply_to) else [],
        headers=_headers(mail),
    )
    if mail.html:
        message.attach_alternative(mail.html, "text/html")
    return message


def _from(mail: Mail) -> str:
    """Return the From header: `"Ann's Bakery via Fieldpost" <fieldpost@example.com>`."""
    if not mail.sender:
        return str(settings.DEFAULT_FROM_EMAIL)
    service, address = parseaddr(settings.DEFAULT_FROM_EMAIL)
    return formataddr((f"{one_line(mail.sender)} via {service or NAMELESS_SERVICE}", address))


def _headers(mail: Mail) -> dict[str, str]:
    # RFC 3834: holiday notices must not answer a machine.
    headers = {"Message-ID": mail.message_id, "Auto-Submitted": "auto-replied" if mail.is_reply else "auto-generated"}
    if mail.is_reply:
        # Exchange and Outlook do not read RFC 3834: https://learn.microsoft.com/openspecs/exchange_server_protocols/ms-oxcmail
        headers["X-Auto-Response-Suppress"] = "All"
    if mail.stop_url:
        # RFC 8058: a mail program's own button for it sends one POST.
        headers[_STOP_HEADER] = f"<{mail.stop_url}>"
        headers[f"{_STOP_HEADER}-Post"] = "List-Unsubscribe=One-Click"
    return headers


def logged_mail(mail: Mail) -> str:
    """
    Return the JSON text of `{method, url, headers, body}` for the log: the headers that we choose, and 4 KiB of text.

    Without the links that stop the mails and mark spam: they work for everyone who has them.
    """
    reply_to = {"Reply-To": mail.reply_to} if is_single_address(mail.reply_to) else {}
    ours = {"From": _from(mail), "To": mail.to, "Subject": one_line(mail.subject), **reply_to}
    headers = ours | {name: value for name, value in _headers(mail).items() if not name.startswith(_STOP_HEADER)}
    text = mail.text
    for link in filter(None, (mail.stop_url, mail.spam_url)):
        text = text.replace(link, "…")
    body = text.encode("utf-8", "replace")[:EXCERPT_BYTES].decode(errors="ignore")
    return dump_json({"method": "MAIL", "url": f"mailto:{mail.to}", "headers": headers, "body": body})


def one_line(text: str) -> str:
    """Return text as a subject: on one line, without control characters, at most 200 characters."""
    return " ".join(_UNFIT_FOR_SUBJECT.sub(" ", text).split())[:MAX_SUBJECT_CHARACTERS].rstrip()


def _failed(
    error: ErrorClass,
    code: int | None = None,
    reply: bytes | str = "",
    *,
    permanent: bool = False,
    tries: int | None = None,
) -> Outcome:
    """Return a failure, with the reply of the server for the log. smtplib gives -1 for one without a code."""
    status = code if code is not None and 200 <= code < 600 else None
    text = reply.decode("utf-8", "replace") if isinstance(reply, bytes) else reply
    excerpt = text.replace("\0", "")[:EXCERPT_BYTES]
    return Outcome(False, status, 0, error.value, excerpt, permanent=permanent, tries=tries)


def _failure_of(error: Exception, deadline: Deadline) -> Outcome:
    """
    Only replies to RCPT and DATA are about the mail.

    Those to the connection, EHLO, STARTTLS, AUTH and MAIL are about the server or our account, whatever their code.
    """
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return _refusal(*next(iter(error.recipients.values())), passing=FULL_MAILBOX_CODES, tries=RECIPIENT_TRIES)
    if isinstance(error, smtplib.SMTPDataError):
        return _refusal(error.smtp_code, error.smtp_error)
    if not isinstance(error, OSError):  # SMTPException is one, and the end of the deadline causes no other
        logger.error("a mail failed with an unexpected error", exc_info=error)
        return _failed(ErrorClass.MAIL_FAILED)
    # smtplib reports a timeout while it reads as a lost connection.
    if deadline.is_over or isinstance(error, TimeoutError) or isinstance(error.__context__, TimeoutError):
        log_useless_server(ErrorClass.TIMEOUT)
        return _failed(ErrorClass.TIMEOUT)
    log_useless_server(error)
    if isinstance(error, smtplib.SMTPSenderRefused):
        return _failed(ErrorClass.MAIL_FAILED, error.smtp_code, error.smtp_error)
    return _failed(ErrorClass.MAIL_FAILED)


def _refusal(code: int, reply: bytes | str, passing: frozenset[int] = frozenset(), tries: int | None = None) -> Outcome:
    """
    Return the outcome of a refused mail: 5xx means never, 4xx means not now (RFC 5321, section 4.2.1).

    `passing`: 5xx that mean not now. `tries`: attempts until 5xx means never.
    """
    if not 500 <= code < 600 or code in LOGIN_CODES | passing:
        return _failed(ErrorClass.MAIL_FAILED, code, reply)
    return _failed(ErrorClass.MAIL_REFUSED, code, reply, permanent=tries is None, tries=tries)


def _connection(deadline: Deadline) -> BaseEmailBackend:
    """Return the connection to the mail server, its socket under the deadline."""
    connection = get_connection()
    if type(connection) is not EmailBackend:
        return connection  # another backend has its own timeouts, and the thread is abandoned at the deadline

    class Watched(smtplib.SMTP):
        """Watched from the moment it is connected, before the server sends its first line."""

        def _rset(self) -> None:
            """Send no RSET after a refusal: QUIT follows, and a slow answer would hide the verdict."""

        def _get_socket(self, *args: Any) -> socket.socket:
            line: socket.socket = super()._get_socket(*args)  # type: ignore[misc]  # smtplib's hook, not in the stubs
            deadline.watch(line)
            return line

    class WatchedTLS(smtplib.SMTP_SSL, Watched):
        """SMTP_SSL asks the next class for its socket, so that the handshake is watched as well."""

    class Backend(EmailBackend):
        @property
        def connection_class(self) -> type[smtplib.SMTP]:
            return WatchedTLS if self.use_ssl else Watched

        def _close_connection(self, connection: smtplib.SMTP) -> None:
            """Send QUIT. An error at this point must not turn an accepted mail into a failure."""
            if connection.sock is not None:
                connection.sock.settimeout(QUIT_SECONDS)
            with suppress(OSError):
                super()._close_connection(connection)  # type: ignore[misc]  # Django's own, not in the stubs

    return Backend()
