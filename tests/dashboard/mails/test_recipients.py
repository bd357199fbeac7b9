"""Recipients who are no members confirm their address before anything is sent to them, and can stop the mails."""

import datetime as dt

import pytest
from django.db.models import F

from config.base.times import now
from forms_app.models import Form, Recipient
from keys.models import Membership
from keys.plans import Plan
from tests.services.client import Client
from tests.services.receivers import MailReceiver
from tests.support.browser import Browser, logged_in, member_of, person_of, place, text_of
from tests.support.mail_links import link_in, press, text_part
from tests.support.submitting import submit_and_get_id
from tests.support.tenants import Tenant, make_tenant
from webhooks.mails.recipients import ask_waiting_recipients
from webhooks.models import Delivery

NOTIFIED = "submission.created"


def new_address(tenant: Tenant, name: str = "stranger") -> str:
    return f"{name}.{tenant.organization.slug}@example.net"


def save(api: Client, tenant: Tenant, *addresses: str, name: str = "Contact") -> tuple[Browser, str, str]:
    """Save the recipients of a new form as its owner; return the owner, the form's id and the page."""
    form_id = tenant.form(name=name)
    owner, path = logged_in(api, person_of(tenant)), place(tenant, f"forms/{form_id}/notifications")
    assert owner.send(path, recipients="\n".join(addresses)).status == 302
    return owner, form_id, path


def notified(address: str) -> list[str]:
    """Return the statuses of the notifications to an address."""
    return list(Delivery.objects.filter(target=address, event=NOTIFIED).values_list("status", flat=True))


def test_recipient__stranger__is_asked_and_gets_nothing_else_before_confirming(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    stranger, owner_address = new_address(tenant), tenant.owner.email
    owner, form_id, path = save(api, tenant, stranger, owner_address)
    (asked,) = smtp.wait_for(stranger)
    assert asked.message["Subject"] == "Confirm that you want submissions by mail"
    assert all(word in text_part(asked) for word in ("Contact", tenant.organization.name, stranger, "7 days"))
    assert "Waiting for confirmation" in text_of(owner.get(path))
    owner.post(place(tenant, f"forms/{form_id}/test-mail"), form=path, recipient=stranger)
    submit_and_get_id(api, tenant, form_id, {"n": "1"})
    smtp.wait_for(owner_address)  # a member needs no confirmation: by now the other mail would be there, too
    assert (notified(stranger), len(smtp.to(stranger))) == ([], 1)
    assert press(api, asked).status == 200
    submit_and_get_id(api, tenant, form_id, {"n": "2"})
    assert smtp.wait_for(stranger, 2)[1].message["Subject"] == "New submission: Contact"
    assert "Confirmed" in text_of(owner.get(path))


def test_confirmation__opened__confirms_nothing_and_has_one_button(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    stranger = new_address(tenant)
    save(api, tenant, stranger)
    link = link_in(smtp.wait_for(stranger)[0])
    for method in ("GET", "HEAD"):
        answer = api.request(method, link)
        assert (answer.status, answer.headers["Referrer-Policy"]) == (200, "no-referrer")
    page = api.get(link).text
    assert (page.count("<button"), "Confirm address" in page) == (1, True)
    assert Recipient.objects.get(email=stranger).confirmed_at is None
    assert str(Recipient.objects.get(email=stranger).digest) not in link


@pytest.mark.parametrize("token", ["x", "a" * 43, "%F0%9F%8E%89", "frm_x.y.z"])
def test_link__unknown__is_404(api: Client, token: str) -> None:
    for kind in ("confirm", "stop"):
        for method in ("GET", "POST"):
            assert api.request(method, f"/mails/{kind}/{token}").status == 404


def test_confirmation__after_7_days__is_gone(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    stranger = new_address(tenant)
    owner, _, path = save(api, tenant, stranger)
    asked = smtp.wait_for(stranger)[0]
    Recipient.objects.filter(email=stranger).update(asked_at=now() - dt.timedelta(days=7, seconds=1))
    assert press(api, asked).status == 404
    assert Recipient.objects.get(email=stranger).confirmed_at is None
    assert "Not confirmed" in text_of(owner.get(path))


def test_send_again__within_10_minutes_and_after_5_times__is_refused(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    stranger = new_address(tenant)
    owner, form_id, path = save(api, tenant, stranger)
    first = smtp.wait_for(stranger)[0]
    again = place(tenant, f"forms/{form_id}/ask-recipient")

    def send_again() -> str:
        return text_of(owner.follow(owner.post(again, form=path, recipient=stranger)))

    assert "less than 10 minutes ago" in send_again()
    rows = Recipient.objects.filter(email=stranger)
    rows.update(asked_at=F("asked_at") - dt.timedelta(minutes=11))
    assert "is on its way" in send_again()
    second = smtp.wait_for(stranger, 2)[1]
    assert press(api, first).status == 404  # replaced
    rows.update(asked_at=F("asked_at") - dt.timedelta(minutes=11), asked_count=5)
    assert "asked 5 times" in send_again()
    assert press(api, second).status == 200
    assert "confirmed already" in send_again()


def test_send_again__address_of_nobody__is_refused(api: Client) -> None:
    tenant = make_tenant()
    owner, form_id, path = save(api, tenant)
    again = place(tenant, f"forms/{form_id}/ask-recipient")
    page = text_of(owner.follow(owner.post(again, form=path, recipient="eve@example.net")))
    assert "Save the address first" in page
    assert not Delivery.objects.filter(target="eve@example.net").exists()


def test_stop__one_click_without_login__ends_the_mails_of_this_form_only(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    stranger = new_address(tenant)
    form_id, other = (tenant.form(name=name, notification_recipients=[stranger]) for name in ("One", "Two"))
    submit_and_get_id(api, tenant, form_id)
    mail = smtp.wait_for(stranger)[0]
    assert mail.message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert mail.message["List-Unsubscribe"].endswith(f"{link_in(mail, 'stop')}>")
    assert "One" in text_part(mail)
    assert "Stop these mails?" in text_of(api.get(link_in(mail, "stop")))
    assert Recipient.objects.filter(email=stranger, stopped_at__isnull=False).count() == 0
    for _ in range(2):
        assert press(api, mail, "stop", "List-Unsubscribe=One-Click").status == 200
    submit_and_get_id(api, tenant, form_id)
    submit_and_get_id(api, tenant, other)
    assert smtp.wait_for(stranger, 2)[1].message["Subject"] == "New submission: Two"
    assert len(notified(stranger)) == 2


def test_stop__address_removed_and_added_again__holds_and_only_the_recipient_undoes_it(
    api: Client, smtp: MailReceiver
) -> None:
    tenant = make_tenant()
    stranger = new_address(tenant)
    owner, form_id, path = save(api, tenant, stranger)
    press(api, smtp.wait_for(stranger)[0])
    submit_and_get_id(api, tenant, form_id)
    mail = smtp.wait_for(stranger, 2)[1]
    press(api, mail, "stop")
    owner.send(path, recipients="")
    owner.send(path, recipients=stranger)
    assert "Stopped by the recipient" in text_of(owner.get(path))
    again = owner.post(place(tenant, f"forms/{form_id}/ask-recipient"), form=path, recipient=stranger)
    assert "has stopped the mails" in text_of(owner.follow(again))
    assert "continue" in text_of(press(api, mail, "stop", "action=resume"))
    submit_and_get_id(api, tenant, form_id)
    smtp.wait_for(stranger, 3)


def test_stop__by_a_member__holds_too(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    person, other = person_of(tenant), member_of(tenant.organization, "admin")
    form_id = tenant.form(notification_recipients=[person.email, other.email])
    Recipient.objects.all().filter(form__organization=tenant.organization).delete()
    submit_and_get_id(api, tenant, form_id)
    press(api, smtp.wait_for(person.email)[0], "stop")
    submit_and_get_id(api, tenant, form_id)
    smtp.wait_for(other.email, 2)
    assert len(notified(person.email)) == 1


def test_member__who_has_left__gets_nothing_more(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    person, other = person_of(tenant), member_of(tenant.organization, "member")
    form_id = tenant.form(notification_recipients=[person.email, other.email])
    Recipient.objects.filter(form__organization=tenant.organization).delete()
    Membership.objects.filter(user=other).delete()
    submit_and_get_id(api, tenant, form_id)
    smtp.wait_for(person.email)
    assert notified(other.email) == []


def test_recipients_of_an_earlier_release__are_asked_by_the_hourly_job_once(smtp: MailReceiver) -> None:
    tenant = make_tenant()
    stranger, person = new_address(tenant), person_of(tenant)
    form_id = tenant.form(notification_recipients=[stranger, person.email])
    Recipient.objects.filter(form__organization=tenant.organization).delete()
    ask_waiting_recipients()
    ask_waiting_recipients()
    assert len(smtp.wait_for(stranger)) == 1
    asked = Delivery.objects.filter(organization=tenant.organization, event="recipient.asked")
    assert [delivery.target for delivery in asked] == [stranger]
    assert Form.objects.filter(name="Contact", recipients__email=stranger).exists(), form_id


def test_one_address__asked_for_many_forms__is_asked_5_times_a_day(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    stranger = new_address(tenant)
    for number in range(7):
        save(api, tenant, stranger, name=f"Form {number}")
    smtp.wait_for(stranger, 5)
    assert Delivery.objects.filter(target=stranger).count() == 5


def test_confirmation__form_named_like_an_address__does_not_show_it(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    stranger = new_address(tenant)
    save(api, tenant, stranger, name="You won, see https://evilhost.example/claim")
    asked = smtp.wait_for(stranger)[0]
    assert "evilhost" not in str(asked.message)
    assert "evilhost" not in api.get(link_in(asked)).text


@pytest.mark.parametrize(
    ("plan", "is_member", "subject"),
    [
        (Plan.FREE, False, "New submission: Contact"),
        (Plan.FREE, True, "Verify now"),
        (Plan.PRO, False, "Verify now"),
        (Plan.ENTERPRISE, True, "Verify now"),
    ],
)
def test_subject__given_by_the_page__is_for_paid_plans_and_members(
    api: Client, smtp: MailReceiver, plan: Plan, is_member: bool, subject: str
) -> None:
    tenant = make_tenant(plan)
    address = person_of(tenant).email if is_member else new_address(tenant)
    form_id = tenant.form(notification_recipients=[address])
    values = {"message": "Hello", "_subject": "Verify now", "_replyto": "ada@example.org"}
    submit_and_get_id(api, tenant, form_id, values)
    mail = smtp.wait_for(address)[0].message
    assert (mail["Subject"], mail["Reply-To"]) == (subject, "ada@example.org")
