"""Replies to submitters: who gets one, what it says, and the caps (docs/contract.md 10)."""

import secrets
from email.header import decode_header, make_header
from email.utils import parseaddr

import pytest
from django.conf import settings

from config.base.times import now
from forms_app.models import Recipient
from keys.models import Notice
from keys.plans import Plan
from submissions.models import SubmitterMail
from tests.services.client import Client
from tests.services.receivers import MailReceiver
from tests.support.answers.sending import (
    REPLY,
    answering_form,
    decision,
    link_of,
    press,
    row_of,
    send,
    send_plainly,
)
from tests.support.hosted_posts import solve
from tests.support.mail_links import text_part
from tests.support.submitting import submit, submit_and_get_id
from tests.support.tenants import Tenant, make_tenant


def new_address(name: str = "ada") -> str:
    return f"{name}.{secrets.token_hex(6)}@example.net"


def downgrade(tenant: Tenant) -> None:
    tenant.organization.plan = Plan.FREE
    tenant.organization.save(update_fields=["plan"])


def is_wanted(submission_id: str) -> bool:
    """Whether a dispatched submission has asked for any mail to its submitter."""
    return SubmitterMail.objects.filter(submission=row_of(submission_id)).exists()


def test_reply__to_a_page_with_a_proof__is_mailed_and_marked_as_automatic(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    form_id, address = answering_form(tenant), new_address()

    send(api, tenant, form_id, email=address, name="Ada Lovelace", topic="Sales")

    (mail,) = smtp.wait_for(address)
    headers = {name: mail.message[name] for name in ("Subject", "Auto-Submitted", "X-Auto-Response-Suppress")}
    assert headers == {
        "Subject": "Thanks for writing about Sales",
        "Auto-Submitted": "auto-replied",
        "X-Auto-Response-Suppress": "All",
    }
    assert "Dear friend,\nwe answer within a day." in text_part(mail).replace("\r\n", "\n")
    assert "Lovelace" not in text_part(mail)  # nobody has confirmed the address
    assert mail.message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"


def test_plain_post__with_a_proof__is_answered(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    form_id, address = answering_form(tenant), new_address()

    assert send_plainly(api, form_id, email=address, topic="Support").status == 303

    assert smtp.wait_for(address)[0].message["Subject"] == "Thanks for writing about Support"


def test_secret_key__without_a_human_check__gets_no_reply__with_a_visitors_proof_it_does(
    api: Client, smtp: MailReceiver
) -> None:
    tenant = make_tenant()
    form_id, address = answering_form(tenant), new_address()

    without = submit_and_get_id(api, tenant, form_id, {"email": address, "topic": "Sales"})
    wrong = submit_and_get_id(api, tenant, form_id, {"email": address, "topic": "Sales", "_altcha": "made up"})
    passed_on = send(api, tenant, form_id, tenant.key, email=address, topic="Sales")

    assert decision(passed_on) == ""
    assert len(smtp.wait_for(address)) == 1
    for one in (without, wrong):
        assert not is_wanted(one)


def test_spam__gets_no_reply__not_even_after_it_is_marked_as_not_spam(api: Client) -> None:
    tenant = make_tenant()
    form_id = answering_form(tenant)
    spam = send(api, tenant, form_id, email=new_address(), topic="Sales", _gotcha="x")

    assert api.patch(f"/api/submissions/{spam}", tenant.key, json={"spam": False}).status == 200

    assert decision(send(api, tenant, form_id, email=new_address(), topic="Sales")) == ""
    assert not is_wanted(spam)


@pytest.mark.parametrize(
    ("address", "refusal"),
    [
        ("", "no_address"),
        ("=?utf-8?q?=61da?=@example.net", "bad_address"),
        ("mailer-daemon@example.net", "program"),
        ("list-request@example.net", "program"),
    ],
)
def test_submitters_address__that_no_person_reads__gets_no_reply(api: Client, address: str, refusal: str) -> None:
    tenant = make_tenant()

    assert decision(send(api, tenant, answering_form(tenant), email=address, topic="Sales")) == refusal


def test_list_of_addresses__as_the_submitters__is_refused(api: Client) -> None:
    tenant = make_tenant()
    form_id = answering_form(tenant)
    for value in ("a@example.net, b@example.net", "a@example.net;b@example.net", "a@example.net\nBcc: b@example.net"):
        answer = submit(
            api, tenant.publishable, form_id, {"email": value, "topic": "Sales", "_altcha": solve(api, form_id)}
        )
        assert (answer.status, answer.json()["details"][0]["code"]) == (400, "invalid_email")


def test_own_address__of_the_service__is_not_answered(api: Client) -> None:
    tenant = make_tenant()
    own = parseaddr(settings.DEFAULT_FROM_EMAIL)[1]

    assert decision(send(api, tenant, answering_form(tenant), email=own, topic="Sales")) == "program"


def test_second_submission__of_an_address_in_a_day__gets_no_second_reply__whatever_its_tag(
    api: Client, smtp: MailReceiver
) -> None:
    tenant = make_tenant()
    form_id, address = answering_form(tenant), new_address()
    name, _, host = address.partition("@")
    first = send(api, tenant, form_id, email=address, topic="Sales")
    assert decision(first) == ""

    again = [send(api, tenant, form_id, email=one, topic="Sales") for one in (f"{name}+b@{host}", address.upper())]

    assert [decision(one) for one in again] == ["form_address", "form_address"]
    assert len(smtp.wait_for(address)) == 1


def test_organization__mails_an_address_3_times_a_day(api: Client) -> None:
    tenant, other = make_tenant(), make_tenant()
    address = new_address()
    forms = [answering_form(tenant) for _ in range(4)]

    decisions = [decision(send(api, tenant, form_id, email=address, topic="Sales")) for form_id in forms]

    assert decisions == ["", "", "", "org_address"]
    assert decision(send(api, other, answering_form(other), email=address, topic="Sales")) == ""


def test_many_submissions_at_once__do_not_pass_a_cap_together(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    form_id, address = answering_form(tenant), new_address()

    sent = [send(api, tenant, form_id, email=address, topic="Sales") for _ in range(6)]

    assert sorted(decision(one) for one in sent) == ["", *["form_address"] * 5]
    assert len(smtp.wait_for(address)) == 1


def test_link_in_a_reply__ends_the_mails_of_the_organization__and_of_no_other(api: Client, smtp: MailReceiver) -> None:
    tenant, other = make_tenant(), make_tenant()
    address = new_address()
    send(api, tenant, answering_form(tenant), email=address, topic="Sales")
    link = link_of(smtp.wait_for(address)[0], "no-mails")

    page = api.get(link)
    assert (page.status, page.text.count("<button"), "Set-Cookie" in page.headers) == (200, 1, False)
    assert decision(send(api, tenant, answering_form(tenant), email=address, topic="Sales")) == ""
    assert press(api, link, "List-Unsubscribe=One-Click").status == 200

    assert decision(send(api, tenant, answering_form(tenant), email=address, topic="Sales")) == "opted_out"
    assert decision(send(api, other, answering_form(other), email=address, topic="Sales")) == ""
    assert press(api, link, "action=resume").status == 200
    assert decision(send(api, tenant, answering_form(tenant), email=address, topic="Sales")) == ""


def test_reply__turned_off__is_not_sent(api: Client) -> None:
    tenant = make_tenant()
    form_id = answering_form(tenant, reply={**REPLY, "enabled": False})

    made = send(api, tenant, form_id, email=new_address(), topic="Sales")

    assert decision(send(api, tenant, answering_form(tenant), email=new_address(), topic="Sales")) == ""
    assert not is_wanted(made)


def test_reply__of_a_form_whose_name_holds_a_web_address__says_a_form(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    form_id, address = answering_form(tenant, name="Win at evilhost.example/claim"), new_address()

    send(api, tenant, form_id, email=address)

    (mail,) = smtp.wait_for(address)
    said = f"because this address was sent with a form of {tenant.organization.name}."
    for part in ("plain", "html"):
        body = mail.message.get_body((part,))
        assert body is not None
        text = " ".join(body.get_content().split())
        assert said in text
        assert "evilhost" not in text


LINKS = {
    "enabled": True,
    "subject": "Suspended, see www.evilhost.example",
    "text": "Log in at https://evilhost.example/login\n"
    'or evilhost{{ data.topic }} now, {{ data.name | default: "friend" }}.',
}


def test_reply__with_links_from_before__on_free_lacks_them__and_the_owners_are_mailed_once(
    api: Client, smtp: MailReceiver
) -> None:
    tenant = make_tenant(Plan.PRO)
    fields = [
        {"name": "email", "label": "Email", "type": "Email", "required": False},
        {"name": "name", "label": "Name", "type": "Text", "required": False},
        {"name": "topic", "label": "Topic", "type": "Select", "required": False, "options": [".example/login"]},
    ]
    form_id, paid, first, second = answering_form(tenant, reply=LINKS, fields=fields), *map(new_address, "abc")
    send(api, tenant, form_id, email=paid, topic=".example/login")
    assert "https://evilhost.example/login\nor evilhost.example/login now" in body_of(smtp, paid)
    downgrade(tenant)

    for address in (first, second):
        send(api, tenant, form_id, email=address, topic=".example/login")
        (mail,) = smtp.wait_for(address)
        assert mail.message["Subject"] == "Suspended, see"
        assert "evilhost" not in str(mail.message)
        assert "Log in at \nor  now, friend." in body_of(smtp, address)

    (notice,) = Notice.objects.filter(organization=tenant.organization)
    assert (notice.kind, notice.subject) == ("reply.cut", "A reply of Contact was sent without its links")


def test_reply__with_links_on_free__to_a_confirmed_address__has_them(api: Client, smtp: MailReceiver) -> None:
    tenant, address = make_tenant(Plan.FREE), new_address()
    form_id = answering_form(tenant, reply=LINKS, confirmation=True)
    send(api, tenant, form_id, email=address, name="Ada", topic="Sales")

    press(api, link_of(smtp.wait_for(address)[0]))

    assert smtp.wait_for(address, 2)[1].message["Subject"] == LINKS["subject"]
    assert not Notice.objects.filter(organization=tenant.organization).exists()


def test_reply__with_links_on_free__to_an_address_that_a_member_confirmed__lacks_them(
    api: Client, smtp: MailReceiver
) -> None:
    tenant, address = make_tenant(Plan.FREE), new_address()
    form_id = answering_form(tenant, reply=LINKS, confirmation=True)
    made = send(api, tenant, form_id, email=address, topic="Sales")
    smtp.wait_for(address)

    assert api.patch(f"/api/submissions/{made}", tenant.key, json={"held": None}).status == 200

    assert smtp.wait_for(address, 2)[1].message["Subject"] == "Suspended, see"


def body_of(smtp: MailReceiver, address: str) -> str:
    return text_part(smtp.wait_for(address)[0]).replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("", "Fieldpost"),
        ("Ann's Bakery", "Ann's Bakery via Fieldpost"),
        ('Quoted "Ann", Ltd.', 'Quoted "Ann", Ltd. via Fieldpost'),
        ("مخبز " * 12, f"{('مخبز ' * 12).strip()} via Fieldpost"),
        ("Two\r\nBcc: eve", "Two Bcc: eve via Fieldpost"),  # however it came there
        ("evil.example", "Fieldpost"),
    ],
)
def test_sender_name__is_that_of_mails_to_submitters(api: Client, smtp: MailReceiver, name: str, shown: str) -> None:
    tenant = make_tenant()
    address = new_address()
    send(api, tenant, answering_form(tenant, sender_name=name), email=address, topic="Sales")
    (mail,) = smtp.wait_for(address)
    sender = str(make_header(decode_header(mail.message["From"])))
    assert parseaddr(sender) == (shown, parseaddr(settings.DEFAULT_FROM_EMAIL)[1])
    assert (mail.message["Bcc"], mail.message["Reply-To"]) == (None, None)


def test_reply_to__is_the_address_of_a_recipient__while_it_gets_mails(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    office = new_address("office")
    form_id = answering_form(tenant, notification_recipients=[office], reply_to=office)
    first, second = new_address(), new_address()

    send(api, tenant, form_id, email=first, topic="Sales")
    assert smtp.wait_for(first)[0].message["Reply-To"] == office
    Recipient.objects.filter(email=office).update(stopped_at=now())
    send(api, tenant, form_id, email=second, topic="Sales")
    assert smtp.wait_for(second)[0].message["Reply-To"] is None
