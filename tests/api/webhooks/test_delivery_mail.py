"""Mail to chosen addresses for chosen forms: the same outbox, retries and log (docs/contract.md 7.17)."""

from typing import Any

import pytest

from config.base.ids import Prefix, encode_id
from tests.services.client import Client
from tests.services.receivers import Mail, MailReceiver, Receiver
from tests.services.waiting import eventually
from tests.support.submitting import submit_and_get_id
from tests.support.tables.databases import first_on_both
from tests.support.tenants import Tenant, make_tenant, text_field
from tests.support.webhooks import is_delivered, register, wait_for_delivery
from webhooks.models import Delivery


def address(tenant: Tenant, name: str = "editor") -> str:
    """Return an address that only this test knows: the mail server is the session's."""
    return f"{name}.{tenant.organization.slug}@example.net"


def form_with_mail(tenant: Tenant, *recipients: str, **values: Any) -> str:
    return tenant.form(notification_recipients=list(recipients), **values)


def parts_of(mail: Mail) -> dict[str, str]:
    parts = [part for part in mail.message.walk() if not part.is_multipart()]
    return {part.get_content_type(): part.get_content().replace("\r\n", "\n") for part in parts}


def deliveries_to(recipient: str) -> list[Delivery]:
    return list(Delivery.objects.filter(target=recipient))


def test_submission__form_with_a_recipient__is_mailed_as_text_and_html(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    form_id = form_with_mail(tenant, address(tenant), name="Contact")
    values = {"name": "Ana <b>Köhler</b>", "email": "ana@example.org", "message": "Line one\nLine two"}
    submission_id = submit_and_get_id(api, tenant, form_id, values)
    (mail,) = smtp.wait_for(address(tenant))
    (delivery,) = deliveries_to(address(tenant))
    delivery_id = encode_id(Prefix.DELIVERY, delivery.pk)
    wanted = {
        "From": "Fieldpost <fieldpost@fieldpost.example>",
        "To": address(tenant),
        "Reply-To": "ana@example.org",
        "Subject": "New submission: Contact",
        "Message-ID": f"<{delivery_id}@[127.0.0.1]>",
        "Auto-Submitted": "auto-generated",
    }
    assert {name: mail.message[name] for name in wanted} == wanted
    assert mail.recipients == [address(tenant)]
    assert mail.message.get_content_type() == "multipart/alternative"
    parts = parts_of(mail)
    assert list(parts) == ["text/plain", "text/html"]
    assert all(text in parts["text/plain"] for text in ("name:\nAna <b>Köhler</b>", "Line one\nLine two"))
    assert "Ana &lt;b&gt;Köhler&lt;/b&gt;" in parts["text/html"]
    assert "<b>" not in parts["text/html"]
    assert all(submission_id in text for text in parts.values())


def test_submission__several_recipients__each_gets_a_mail_of_its_own(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    recipients = [address(tenant, name) for name in ("ana", "bo", "cem")]
    submit_and_get_id(api, tenant, form_with_mail(tenant, *recipients))
    mails = [mail for recipient in recipients for mail in smtp.wait_for(recipient)]
    assert [mail.recipients for mail in mails] == [[recipient] for recipient in recipients]
    assert [mail.message["To"] for mail in mails] == recipients
    assert len({mail.message["Message-ID"] for mail in mails}) == 3


def test_submission__address_given_twice__is_mailed_once(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    form_id = form_with_mail(tenant, address(tenant), address(tenant))
    submit_and_get_id(api, tenant, form_id)
    submit_and_get_id(api, tenant, form_id)
    smtp.wait_for(address(tenant), 2)
    eventually(lambda: [row.status for row in deliveries_to(address(tenant))] == ["delivered"] * 2)
    assert len(smtp.to(address(tenant))) == 2


@pytest.mark.parametrize(
    ("values", "subject"),
    first_on_both(
        [
            ({"_subject": "A wedding in May"}, "A wedding in May"),
            ({"_subject": "two\r\nBcc: eve@example.com"}, "two Bcc: eve@example.com"),
            ({"_subject": "Grüße 🎉"}, "Grüße 🎉"),
            ({"subject": "From the form"}, "From the form"),
            ({"_subject": "Control wins", "subject": "over data"}, "Control wins"),
            ({"_subject": "ab " * 100}, ("ab " * 67).rstrip()),
            ({"_subject": "  "}, "New submission: Contact"),
        ],
        3,
    ),
)
def test_subject__given_by_the_page__is_used_on_one_line(
    api: Client, smtp: MailReceiver, values: dict[str, str], subject: str
) -> None:
    tenant = make_tenant()
    submit_and_get_id(api, tenant, form_with_mail(tenant, address(tenant)), {"message": "Hello", **values})
    (mail,) = smtp.wait_for(address(tenant))
    assert mail.message["Subject"] == subject
    assert (mail.recipients, mail.message["Bcc"]) == ([address(tenant)], None)


@pytest.mark.parametrize(
    ("values", "reply_to"),
    first_on_both(
        [
            ({"_replyto": "ana@example.org", "email": "bo@example.org"}, "ana@example.org"),
            ({"email": "ana@example.org\r\nBcc: eve@example.com"}, None),
            ({"message": "no address at all"}, None),
            ({"replyto": "ana@example.org"}, "ana@example.org"),
            ({"contact": "ana@example.org"}, "ana@example.org"),  # the form's Email field, whatever its name
            ({"email": "ana@example.org"}, "ana@example.org"),
            ({"email": " ana@example.org\r\n"}, "ana@example.org"),
            ({"_replyto": " ", "email": "ana@example.org\u00a0"}, "ana@example.org"),
            ({"email": "!#$%&'*+-/=?^_`{}|~@example.org"}, "!#$%&'*+-/=?^_`{}|~@example.org"),
            ({"email": "ana@example.org, eve@example.com"}, None),
            ({"email": '"ana, eve@example.com"@example.org'}, None),
            ({"email": "not an address"}, None),
        ],
        3,
    ),
)
def test_reply_to__what_the_submitter_gave__is_used_if_it_is_one_address(
    api: Client, smtp: MailReceiver, values: dict[str, str], reply_to: str | None
) -> None:
    tenant = make_tenant()
    fields = [text_field("contact", type="Email", required=False)]
    submit_and_get_id(api, tenant, form_with_mail(tenant, address(tenant), fields=fields), values)
    (mail,) = smtp.wait_for(address(tenant))
    assert (mail.message["Reply-To"], mail.message["Bcc"]) == (reply_to, None)
    assert mail.recipients == [address(tenant)]


def test_mail__refused_for_now__is_tried_again_with_the_same_message_id(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    smtp.refusals[address(tenant)] = "451 come back later"
    submit_and_get_id(api, tenant, form_with_mail(tenant, address(tenant)))

    eventually(lambda: [row.attempt_count for row in deliveries_to(address(tenant))] == [1])
    (delivery,) = deliveries_to(address(tenant))
    attempts = [(one.status, one.error, one.response) for one in delivery.attempts.all()]
    assert (delivery.status, attempts) == ("pending", [(451, "mail_failed", "come back later")])
    del smtp.refusals[address(tenant)]
    (mail,) = smtp.wait_for(address(tenant))  # by itself, after about 5 seconds
    assert mail.message["Message-ID"] == f"<{encode_id(Prefix.DELIVERY, delivery.pk)}@[127.0.0.1]>"


def test_mail__refused_for_good__has_failed_at_once(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    smtp.rejections[address(tenant)] = "550 looks like spam"
    submit_and_get_id(api, tenant, form_with_mail(tenant, address(tenant)))
    eventually(lambda: [row.status for row in deliveries_to(address(tenant))] == ["failed"])
    (delivery,) = deliveries_to(address(tenant))
    assert [(one.status, one.error) for one in delivery.attempts.all()] == [(550, "mail_refused")]


def test_mail__recipient_refused_with_5xx__is_tried_again(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    smtp.refusals[address(tenant)] = "550 no such user"
    submit_and_get_id(api, tenant, form_with_mail(tenant, address(tenant)))
    eventually(lambda: [row.attempt_count for row in deliveries_to(address(tenant))] == [1])
    (delivery,) = deliveries_to(address(tenant))
    attempts = [(one.status, one.error) for one in delivery.attempts.all()]
    assert (delivery.status, attempts) == ("pending", [(550, "mail_refused")])
    del smtp.refusals[address(tenant)]
    smtp.wait_for(address(tenant))


def test_mail__refused_recipient__does_not_keep_the_webhook_from_its_message(
    api: Client, smtp: MailReceiver, receiver: Receiver
) -> None:
    tenant = make_tenant()
    smtp.refusals[address(tenant)] = "550 no such user"
    form_id = form_with_mail(tenant, address(tenant), address(tenant, "other"))
    webhook = register(api, tenant, receiver.url(), form_id)
    submit_and_get_id(api, tenant, form_id)
    receiver.wait_for(1)
    smtp.wait_for(address(tenant, "other"))
    wait_for_delivery(api, tenant, webhook["id"], is_delivered)


def test_spam__form_with_a_recipient__is_mailed_only_when_it_is_marked_as_not_spam(
    api: Client, smtp: MailReceiver
) -> None:
    tenant = make_tenant()
    form_id = form_with_mail(tenant, address(tenant))
    spam = submit_and_get_id(api, tenant, form_id, {"message": "Buy", "_gotcha": "bot", "_subject": "spam"})
    submit_and_get_id(api, tenant, form_id, {"message": "Hello", "_subject": "ham"})
    smtp.wait_for(address(tenant))
    assert [mail.message["Subject"] for mail in smtp.to(address(tenant))] == ["ham"]
    assert api.patch(f"/api/submissions/{spam}", tenant.key, json={"spam": False}).status == 200
    mails = smtp.wait_for(address(tenant), 2)
    assert [mail.message["Subject"] for mail in mails] == ["ham", "spam"]


def test_submission__form_without_recipients__mails_nobody(api: Client, smtp: MailReceiver, receiver: Receiver) -> None:
    tenant = make_tenant()
    form_id = form_with_mail(tenant)
    webhook = register(api, tenant, receiver.url(), form_id)
    submit_and_get_id(api, tenant, form_id)
    wait_for_delivery(api, tenant, webhook["id"], is_delivered)
    mails = Delivery.objects.filter(organization=tenant.organization, channel="mail")
    assert set(mails.values_list("event", flat=True)) <= {"notice"}  # of the new webhook
    assert all("submission" not in mail.message["Subject"] for mail in smtp.to(tenant.owner.email))
