"""Invitations by mail: who may invite whom, what the link opens and to whom, and when it stops."""

import datetime as dt
import re
from urllib.parse import urlencode

import pytest
from allauth.account.models import EmailAddress

from config.base.times import now
from keys.invitations import MOST_A_DAY, MOST_OPEN, invite
from keys.models import AuditEvent, Invitation, Membership, Organization, Role, User
from keys.tokens import digest
from tests.services.application import Application
from tests.services.client import Answer, Client
from tests.services.receivers import MailReceiver
from tests.services.waiting import eventually
from tests.support.accounts import SIGN_UP, log_in, mailed_code, new_email, verify
from tests.support.browser import (
    LOGIN,
    PASSWORD,
    Browser,
    logged_in,
    member_of,
    person_of,
    place,
    text_of,
    with_password,
)
from tests.support.tables.databases import first_on_both
from tests.support.tenants import Tenant, make_tenant
from webhooks.models import Delivery

INVITATIONS = "/dashboard/invitations"


def send_invitation(browser: Browser, tenant: Tenant, email: str, role: str = "member") -> Answer:
    return browser.send(place(tenant, "members"), email=email, role=role)


def link_to(smtp: MailReceiver, email: str, count: int = 1) -> str:
    """Return the path in the latest of `count` mails."""
    mail = smtp.wait_for(email, count)[-1].message
    found = re.search(r"/dashboard/invitations/\S+", mail.get_body(("plain",)).get_content())  # type: ignore[union-attr]  # None fails the test
    assert found
    return found[0]


def invited(tenant: Tenant, email: str, role: Role = Role.MEMBER) -> str:
    """Invite without a mail; return the path of the link."""
    _, token = invite(organization=tenant.organization, email=email, role=role, by=tenant.owner)
    return f"/dashboard/invitations/{token}"


def role_of(tenant: Tenant, email: str) -> str | None:
    row = Membership.objects.filter(organization=tenant.organization, user__email=email).first()
    return row.role if row else None


def test_invitation__new_person__joins_in_one_step_without_an_organization(
    api: Client, service: Application, smtp: MailReceiver
) -> None:
    tenant, email = make_tenant(), new_email()
    sent = send_invitation(logged_in(api, person_of(tenant)), tenant, email.upper(), "admin")
    assert (sent.status, sent.headers["Location"]) == (302, place(tenant, "members"))
    mail = smtp.wait_for(email)[0].message
    text = mail.get_body(("plain",)).get_content()  # type: ignore[union-attr]  # None fails the test
    html = mail.get_body(("html",)).get_content()  # type: ignore[union-attr]  # None fails the test
    for said in (tenant.owner.email, tenant.organization.name, "admin", "7 days", f"{service.base_url}/dashboard/"):
        assert said in text
        assert said in html

    guest = Browser(api)
    link = link_to(smtp, email)
    page = guest.get(link)
    assert f'value="{email}"' in page.text
    assert tenant.organization.name in text_of(page)
    joined = guest.send(link, email="other@example.com", name="Grace Hopper", password1=PASSWORD)
    assert joined.headers["Location"] == place(tenant)
    assert "Welcome to" in text_of(guest.follow(joined))
    assert role_of(tenant, email) == "admin"
    person = User.objects.get(email=email)
    assert (person.name, person.memberships.count()) == ("Grace Hopper", 1)
    assert EmailAddress.objects.get(user=person, email=email).verified
    assert [mail.message["Subject"] for mail in smtp.to(email)][1:] == []  # no code
    assert Browser(api).get(link).status == 404
    trail = AuditEvent.objects.filter(user=person).values_list("action", flat=True)
    assert set(trail) == {"account.signed_up", "account.logged_in", "member.joined"}


@pytest.mark.parametrize(
    ("name", "password", "words"),
    first_on_both(
        [
            ("", PASSWORD, "This field is required"),
            ("Win at www.example.com", PASSWORD, "web address"),
            ("Ada", "short", "at least 10 characters"),
            ("Ada", "AnalyticalEngine1", "too easy to guess"),
        ]
    ),
)
def test_invitation__new_person_with_a_bad_name_or_password__stays_outside(
    api: Client, name: str, password: str, words: str
) -> None:
    tenant, email = make_tenant(), new_email()
    Organization.objects.filter(pk=tenant.organization.pk).update(name="Analytical Engine")
    answer = Browser(api).send(invited(tenant, email), name=name, password1=password)
    assert (answer.status, words in text_of(answer)) == (400, True)
    assert not User.objects.filter(email=email).exists()


def test_invitation__address_that_got_an_account_meanwhile__logs_in_instead(api: Client) -> None:
    tenant, email = make_tenant(), new_email()
    path, browser = invited(tenant, email), Browser(api)
    browser.get(path)
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', browser.get(path).text)
    assert token
    User.objects.create_user(email)
    body = {"csrfmiddlewaretoken": token[1], "name": "Eve", "password1": PASSWORD}
    headers = {**browser.headers(), "Content-Type": "application/x-www-form-urlencoded"}
    answer = api.post(path, data=urlencode(body), headers=headers)
    assert (answer.status, f"Log in as {email} to join." in text_of(answer)) == (200, True)
    assert role_of(tenant, email) is None
    assert not User.objects.get(email=email).has_usable_password()


def test_invitation__sign_up_in_the_same_browser__asks_for_no_organization_and_joins(
    api: Client, smtp: MailReceiver
) -> None:
    tenant, email = make_tenant(), new_email()
    guest, link = Browser(api), invited(tenant, email)
    guest.get(link)
    form = guest.get(SIGN_UP)
    assert 'name="organization"' not in form.text
    assert email in form.text
    assert guest.send(SIGN_UP, email=email, password1=PASSWORD).status == 302
    assert role_of(tenant, email) is None  # not before the address is verified
    verified = verify(guest, mailed_code(smtp, email))
    assert verified.headers["Location"] == link
    assert guest.send(link).headers["Location"] == place(tenant)
    assert Organization.objects.filter(memberships__user__email=email).count() == 1


def test_invitation__person_with_an_account__logs_in_and_joins(api: Client) -> None:
    tenant, guest = make_tenant(), person_of(make_tenant())
    path = invited(tenant, guest.email)
    browser = Browser(api)
    page = browser.get(path)
    assert f'href="{LOGIN}?next={path}"' in page.text
    assert f'value="{guest.email}"' in browser.get(LOGIN).text  # filled in
    done = log_in(browser, guest, next=path)
    assert done.headers["Location"] == path
    browser.send(path)
    assert role_of(tenant, guest.email) == "member"
    trail = AuditEvent.objects.filter(organization=tenant.organization, action="member.joined").get()
    assert (trail.user, trail.subject) == (guest, f"{guest.email} as member")


def test_invitation__another_person__cannot_join_and_is_told_whose_it_is(api: Client) -> None:
    tenant, stranger, email = make_tenant(), person_of(make_tenant()), new_email()
    path = invited(tenant, email)
    browser = logged_in(api, stranger)
    page = browser.get(path)
    assert f"This invitation is for {email}" in text_of(page)
    assert ">Join<" not in page.text
    refused = browser.send(path)
    assert f"This invitation is for {email}" in text_of(browser.follow(refused))
    assert role_of(tenant, stranger.email) is None
    # Logging out from that page leads back to it.
    left = browser.post("/account/logout/", form=path, next=path)
    assert left.headers["Location"] == path
    assert 'name="password1"' in browser.get(path).text


def test_invitation__signing_up_with_another_address__is_refused(api: Client) -> None:
    tenant, email, other = make_tenant(), new_email(), new_email()
    browser = Browser(api)
    browser.get(invited(tenant, email))
    answer = browser.send(SIGN_UP, email=other, password1=PASSWORD)
    assert (answer.status, f"The invitation is for {email}" in text_of(answer)) == (200, True)
    assert not User.objects.filter(email=other).exists()


def test_invitation__accepted_once__is_over(api: Client) -> None:
    tenant, guest = make_tenant(), person_of(make_tenant())
    path, browser = invited(tenant, guest.email), logged_in(api, guest)
    browser.send(path)
    Membership.objects.get(organization=tenant.organization, user=guest).delete()
    again = browser.get(path)
    assert (again.status, "This invitation is no longer valid" in again.text) == (404, True)


def test_invitation__older_than_seven_days__is_over_and_can_be_sent_again(api: Client, smtp: MailReceiver) -> None:
    tenant, guest = make_tenant(), person_of(make_tenant())
    path = invited(tenant, guest.email)
    rows = Invitation.objects.filter(email=guest.email)
    rows.update(expires_at=now() - dt.timedelta(seconds=1))
    browser = logged_in(api, guest)
    assert browser.get(path).status == 404
    admin = logged_in(api, member_of(tenant.organization, "admin"))
    members = place(tenant, "members")
    assert "Expired" in text_of(admin.get(members))
    admin.post(f"{members}/invitations/{rows.get().pk}/resend", form=members)
    browser.send(link_to(smtp, guest.email))
    assert role_of(tenant, guest.email) == "member"


def test_invitation__sent_again_or_changed__replaces_the_earlier_link(api: Client, smtp: MailReceiver) -> None:
    tenant, email = make_tenant(), new_email()
    owner = logged_in(api, person_of(tenant))
    send_invitation(owner, tenant, email)
    first = link_to(smtp, email)
    send_invitation(owner, tenant, email, "admin")
    second = link_to(smtp, email, count=2)
    assert (api.get(first).status, api.get(second).status) == (404, 200)
    assert Invitation.objects.get(email=email).role == "admin"


def test_invitation__taken_back__is_over(api: Client) -> None:
    tenant, email = make_tenant(), new_email()
    path, members = invited(tenant, email), place(tenant, "members")
    admin = logged_in(api, member_of(tenant.organization, "admin"))
    admin.post(f"{members}/invitations/{Invitation.objects.get(email=email).pk}/take-back", form=members)
    assert api.get(path).status == 404
    assert f"The invitation of {email} is taken back." in text_of(admin.get(members))
    assert email not in admin.get(members).text
    assert AuditEvent.objects.filter(organization=tenant.organization, action="invitation.revoked").exists()


def test_invitation__owners__are_invited_by_owners_alone(api: Client) -> None:
    tenant, email = make_tenant(), new_email()
    admin = logged_in(api, member_of(tenant.organization, "admin"))
    assert send_invitation(admin, tenant, email, "owner").status == 400
    assert not Invitation.objects.filter(email=email).exists()
    assert send_invitation(logged_in(api, person_of(tenant)), tenant, email, "owner").status == 302
    # Nor may an admin send an owner's invitation again, and sees no button for it.
    page, members = admin.get(place(tenant, "members")), place(tenant, "members")
    assert "/resend" not in page.text
    digest_before = Invitation.objects.get(email=email).digest
    admin.post(f"{members}/invitations/{Invitation.objects.get(email=email).pk}/resend", form=members)
    assert Invitation.objects.get(email=email).digest == digest_before


@pytest.mark.on_sqlite
@pytest.mark.parametrize("entered", ["not-an-address", "a@b@example.com", ""])
def test_invitation__what_is_no_address__is_refused(api: Client, entered: str) -> None:
    tenant = make_tenant()
    assert send_invitation(logged_in(api, person_of(tenant)), tenant, entered).status == 400
    assert not Invitation.objects.filter(organization=tenant.organization).exists()


def test_invitation__of_a_member__is_refused(api: Client) -> None:
    tenant = make_tenant()
    member = member_of(tenant.organization, "member")
    answer = send_invitation(logged_in(api, person_of(tenant)), tenant, member.email.upper())
    assert (answer.status, "is already a member" in answer.text) == (400, True)


def test_invitation__beyond_the_most_that_may_be_open__is_refused(api: Client) -> None:
    tenant = make_tenant()
    for number in range(MOST_OPEN):
        invited(tenant, f"guest-{number}@example.com")
    answer = send_invitation(logged_in(api, person_of(tenant)), tenant, new_email())
    assert (answer.status, f"At most {MOST_OPEN} invitations" in answer.text) == (400, True)


def test_invitation__person_who_has_sent_too_many_in_a_day__is_stopped(api: Client) -> None:
    """Taking back and inviting others would go around the limit of open ones."""
    tenant = make_tenant()
    note = {"organization": tenant.organization, "user": person_of(tenant), "action": "member.invited"}
    AuditEvent.objects.bulk_create(AuditEvent(**note) for _ in range(MOST_A_DAY))
    answer = send_invitation(logged_in(api, tenant.owner), tenant, new_email())
    assert (answer.status, "Try again tomorrow" in answer.text) == (400, True)
    AuditEvent.objects.filter(**note).update(created_at=now() - dt.timedelta(days=1))
    assert send_invitation(logged_in(api, tenant.owner), tenant, new_email()).status == 302


def test_invitation__mail_refused__is_in_the_log_and_can_be_sent_again(api: Client, smtp: MailReceiver) -> None:
    tenant, email = make_tenant(), new_email()
    smtp.rejections[email] = "550 not yet"
    owner = logged_in(api, person_of(tenant))
    page = text_of(owner.follow(send_invitation(owner, tenant, email)))
    assert f"An invitation is on its way to {email}" in page
    assert "Send again" in page
    eventually(lambda: Delivery.objects.get(target=email).status == "failed")
    log = text_of(owner.get(place(tenant, "deliveries")))
    assert email in log
    assert "Invitation" in log
    del smtp.rejections[email]
    members = place(tenant, "members")
    owner.post(f"{members}/invitations/{Invitation.objects.get(email=email).pk}/resend", form=members)
    assert api.get(link_to(smtp, email)).status == 200


def test_invitation__token__is_stored_as_a_hash_and_told_to_no_other_page(api: Client) -> None:
    tenant, email = make_tenant(), new_email()
    path = invited(tenant, email)
    token = path.rpartition("/")[2]
    stored = Invitation.objects.get(email=email)
    assert stored.digest == digest(token)
    assert token not in str(vars(stored))
    assert len(token) >= 43  # 32 bytes
    answer = api.get(path)
    assert answer.headers["Referrer-Policy"] == "strict-origin"
    assert "no-store" in answer.headers["Cache-Control"]


def test_invitation__organization_with_markup_in_its_name__is_text(api: Client, smtp: MailReceiver) -> None:
    tenant, email = make_tenant(), new_email()
    Organization.objects.filter(pk=tenant.organization.pk).update(name='<b>Bold</b>\r\nBcc: x@example.com "')
    send_invitation(logged_in(api, person_of(tenant)), tenant, email)
    mail = smtp.wait_for(email)[0]
    assert mail.recipients == [email]
    assert mail.message["Bcc"] is None
    assert "<b>Bold" not in mail.message.get_body(("html",)).get_content()  # type: ignore[union-attr]  # None fails the test
    assert "<b>Bold" not in api.get(link_to(smtp, email)).text


def test_person__whose_invitation_was_taken_back_while_signing_up__makes_an_organization(
    api: Client, smtp: MailReceiver
) -> None:
    tenant, email = make_tenant(), new_email()
    browser = Browser(api)
    browser.get(invited(tenant, email))
    browser.send(SIGN_UP, email=email, password1=PASSWORD)
    Invitation.objects.filter(email=email).delete()
    browser.follow(verify(browser, mailed_code(smtp, email)))
    assert browser.get("/dashboard/").headers["Location"] == "/dashboard/organizations/new"
    assert with_password(User.objects.get(email=email)).memberships.count() == 0


def test_invitation__invited_person_logs_in_without_the_link__joins_from_the_list(api: Client) -> None:
    tenant, guest, stranger = make_tenant(), person_of(make_tenant()), person_of(make_tenant())
    other = make_tenant()
    invited(tenant, guest.email, Role.ADMIN)
    invited(other, stranger.email)
    Membership.objects.filter(user=guest).delete()
    browser = Browser(api)
    page = browser.follow(browser.follow(log_in(browser, guest)))
    assert f"{tenant.organization.name} has invited you as admin, by {tenant.owner.email}." in text_of(page)
    assert other.organization.name not in page.text

    number = re.search(r'name="invitation" value="(\d+)"', page.text)
    assert number
    joined = browser.send(INVITATIONS, invitation=number[1], do="join")
    assert joined.headers["Location"] == place(tenant)
    assert role_of(tenant, guest.email) == "admin"
    assert browser.get(INVITATIONS).text.count('name="invitation"') == 0


@pytest.mark.parametrize("page", ["", "account", "organizations/new"])
def test_invitation__to_a_member_of_another_organization__is_shown_in_the_dashboard_until_declined(
    api: Client, page: str
) -> None:
    tenant, own = make_tenant(), make_tenant()
    guest = person_of(own)
    invited(tenant, guest.email)
    browser = logged_in(api, guest)
    path = f"/dashboard/{page}" if page else place(own)
    assert f"{tenant.organization.name} has invited you" in text_of(browser.get(path))
    row = Invitation.objects.get(email=guest.email)
    browser.post(INVITATIONS, form=path, invitation=str(row.pk), do="decline")
    assert "has invited you" not in text_of(browser.get(path))
    assert role_of(tenant, guest.email) is None
    trail = AuditEvent.objects.filter(organization=tenant.organization, action="invitation.declined").get()
    assert (trail.user, trail.subject) == (guest, guest.email)


def test_invitation__of_another_person_or_to_an_unverified_address__cannot_be_joined_from_the_list(api: Client) -> None:
    tenant, guest, stranger = make_tenant(), person_of(make_tenant()), person_of(make_tenant())
    invited(tenant, guest.email)
    row = Invitation.objects.get(email=guest.email)
    EmailAddress.objects.filter(user=guest).update(verified=False)
    for person in (stranger, guest):
        browser = logged_in(api, person)
        assert "has invited you" not in text_of(browser.get("/dashboard/account"))
        for number in (str(row.pk), "x", "9" * 30, "-1", ""):
            refused = browser.post(INVITATIONS, form="/dashboard/account", invitation=number, do="join")
            assert refused.headers["Location"] == "/dashboard/"
        assert role_of(tenant, person.email) is None
    assert Invitation.objects.filter(pk=row.pk).exists()


def test_invitation__expired__is_not_in_the_list(api: Client) -> None:
    tenant, guest = make_tenant(), person_of(make_tenant())
    invited(tenant, guest.email)
    Invitation.objects.filter(email=guest.email).update(expires_at=now())
    assert "No open invitations" in text_of(logged_in(api, guest).get(INVITATIONS))
