"""Mails about accounts leave through the outbox: no web thread waits for a mail server, and no crash loses one."""

import socket
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from tests.services.application import Application
from tests.services.client import Client
from tests.services.receivers import MailReceiver
from tests.support.accounts import FORGOT, mailed_code, new_email, sign_up
from tests.support.browser import Browser, person_of, text_of
from tests.support.mail_links import text_part
from tests.support.submitting import submit_and_get_id
from tests.support.tenants import make_tenant
from webhooks.models import Delivery, Message


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """Yield a mail server that would accept connections and say nothing."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        listener.setblocking(False)
        yield listener


def was_called(listener: socket.socket) -> bool:
    try:
        listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def test_reset__mail_server_is_silent__waits_for_nothing_and_survives_a_crash(
    smtp: MailReceiver, silent: socket.socket, start_service: Callable[..., Application]
) -> None:
    """The web role knows only the silent server; the session's deliverer has a good one and the same outbox."""
    another = start_service(EMAIL_URL=f"smtp://127.0.0.1:{silent.getsockname()[1]}")
    tenant = make_tenant()
    people = [person_of(tenant) for _ in range(3)]
    with Client(another.port) as client:
        for person in people:
            assert Browser(client).send(FORGOT, email=person.email).status == 302
        submit_and_get_id(client, tenant, tenant.default_form_id)
    another.kill_web()
    assert not was_called(silent)
    for person in people:
        assert mailed_code(smtp, person.email)


def test_code__mailed__is_no_longer_stored_and_has_our_message_id(
    api: Client, smtp: MailReceiver, service: Application
) -> None:
    email = new_email()
    sign_up(Browser(api), email)
    code = mailed_code(smtp, email)
    delivery = Delivery.objects.select_related("message").get(target=email)
    assert smtp.to(email)[0].message["Message-ID"] == f"<{delivery.public_id}@[127.0.0.1]>"
    assert (delivery.organization_id, delivery.account.email if delivery.account else None) == (None, email)
    assert not Message.objects.filter(pk=delivery.message_id, body__contains=code).exists()
    assert code not in "".join(service.logs().values())


def test_code__in_the_log_of_an_organization__is_not_shown(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    person = person_of(tenant)
    Browser(api).send(FORGOT, email=person.email)
    assert mailed_code(smtp, person.email)
    assert not Delivery.objects.filter(organization=tenant.organization, target=person.email).exists()


def test_code__in_a_mail__is_in_its_subject_with_its_minutes_in_both_parts(api: Client, smtp: MailReceiver) -> None:
    person, email = person_of(make_tenant()), new_email()
    sign_up(Browser(api), email)
    Browser(api).send(FORGOT, email=person.email)
    for to, minutes in ((email, 15), (person.email, 3)):
        code, (mail, *_) = mailed_code(smtp, to), smtp.to(to)
        assert mail.message["Subject"] == f"{code} is your Fieldpost code"
        body = mail.message.get_body(("html",))
        assert body is not None
        for part in (text_part(mail), text_of(str(body.get_content()))):
            assert (code in part, f"valid for {minutes} minutes" in " ".join(part.split())) == (True, True)
