"""Passkeys in Chromium with its virtual authenticator, and other parts of login that need a browser."""

import secrets

from playwright.sync_api import Browser, expect

from keys.invitations import invite
from keys.models import Membership, Role, User
from tests.services.application import Application
from tests.support.accounts import with_authenticator_app
from tests.support.browser import PASSWORD, member_of, person_of, with_password
from tests.support.chromium.dashboard_page import at_the_dashboard, log_in, log_out, make_login_stale, press
from tests.support.chromium.passkeys import AUTHENTICATOR, add_authenticator, add_passkey, named_host
from tests.support.tenants import make_tenant


def test_passkey__added__logs_in_without_a_password_and_is_the_second_step_after_one(
    browser: Browser, service: Application
) -> None:
    person = person_of(make_tenant())
    with at_the_dashboard(browser, named_host(service)) as (page, complaints):
        add_authenticator(page)
        log_in(page, person)
        expect(page.get_by_role("heading", name="First steps")).to_be_visible()
        add_passkey(page, "Laptop")

        log_out(page)
        press(page, "Log in with a passkey")
        page.wait_for_url("**/dashboard/o/**")
        page.goto("/account/2fa/webauthn/")
        expect(page.get_by_text("Laptop", exact=True)).to_be_visible()

        log_out(page)
        log_in(page, person)
        expect(page.get_by_role("heading", name="Two-step login")).to_be_visible()
        page.goto("/dashboard/account")  # the password is not enough
        expect(page.get_by_role("heading", name="Two-step login")).to_be_visible()
        press(page, "Use a passkey")
        page.wait_for_url("**/dashboard/o/**")

        page.goto("/account/2fa/webauthn/")
        make_login_stale(page)
        page.get_by_role("link", name="Remove Laptop").click()
        page.get_by_role("link", name="Use a passkey").click()  # to confirm
        press(page, "Use a passkey")
        press(page, "Remove passkey")
        expect(page.get_by_text("No passkeys yet")).to_be_visible()
        assert complaints == []


def test_passkey__that_no_device_has__says_so_on_the_page(browser: Browser, service: Application) -> None:
    with at_the_dashboard(browser, named_host(service)) as (page, complaints):
        devtools = page.context.new_cdp_session(page)
        devtools.send("WebAuthn.enable")
        devtools.send("WebAuthn.addVirtualAuthenticator", {"options": {**AUTHENTICATOR, "isUserVerified": False}})
        page.goto("/account/login/")
        press(page, "Log in with a passkey")
        expect(page.get_by_role("alert")).to_contain_text("Try again")
        assert complaints == []
    with at_the_dashboard(browser, service.base_url) as (page, complaints):
        page.goto("/account/login/")
        press(page, "Log in with a passkey")
        expect(page.get_by_role("alert")).to_contain_text("Passkeys need a host name")
        assert complaints == []


def test_passkey__at_an_address__is_told_before_the_form_with_a_link_to_where_it_works(
    browser: Browser, service: Application
) -> None:
    person = person_of(make_tenant())
    with at_the_dashboard(browser, service.base_url, person) as (page, complaints):
        add_authenticator(page)
        for path in ("/account/2fa/", "/account/2fa/webauthn/", "/account/2fa/webauthn/add/"):
            page.goto(path)
            expect(page.get_by_text(f"Passkeys do not work at 127.0.0.1:{service.port}")).to_be_visible()
        assert page.get_by_label("Name").count() == 0
        page.get_by_role("link", name=named_host(service)).click()
        page.get_by_label("Email").fill(person.email)
        page.get_by_label("Password").fill(PASSWORD)
        press(page, "Log in")
        page.get_by_label("Name").fill("Laptop")
        press(page, "Add passkey")
        expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
        assert complaints == []


def test_invitation__joined_in_a_browser__passes_the_checks_on_where_a_form_came_from(
    browser: Browser, service: Application
) -> None:
    """A stricter Referrer-Policy would make browsers send `Origin: null`, and joining would be refused."""
    tenant, guest = make_tenant(), person_of(make_tenant())
    _, token = invite(organization=tenant.organization, email=guest.email, role=Role.MEMBER, by=tenant.owner)
    with at_the_dashboard(browser, service.base_url, guest) as (page, complaints):
        page.goto(f"/dashboard/invitations/{token}")
        press(page, "Join")
        expect(page.get_by_text(f"Welcome to {tenant.organization.name}.")).to_be_visible()
        assert complaints == []


def test_admin__organization_with_a_member_to_choose__works_under_the_strict_policy(
    browser: Browser, service: Application
) -> None:
    tenant = make_tenant()
    guest = with_password(User.objects.create_user(f"guest-{secrets.token_hex(6)}@example.com"))
    operator = with_password(User.objects.create_superuser(f"operator-{secrets.token_hex(6)}@example.com"))
    with_authenticator_app(operator)
    with at_the_dashboard(browser, service.base_url, operator) as (page, complaints):
        page.route("**/favicon.ico", lambda route: route.fulfill(status=204))
        page.goto(f"/admin/keys/organization/{tenant.organization.pk}/change/")
        page.get_by_text("Add another Membership").click()
        page.locator(".select2-selection").last.click()
        expect(page.locator(".select2-search__field")).to_be_focused()
        page.keyboard.type(guest.email)
        page.get_by_role("option", name=guest.email).click()
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_text("was changed successfully")).to_be_visible()
        assert complaints == []
    assert Membership.objects.get(organization=tenant.organization, user=guest).role == "member"


def test_members__managed_in_a_browser__from_an_invitation_to_another_role(
    browser: Browser, service: Application
) -> None:
    tenant = make_tenant()
    member = member_of(tenant.organization, "member")
    with at_the_dashboard(browser, service.base_url, person_of(tenant)) as (page, complaints):
        page.goto(f"/dashboard/o/{tenant.organization.slug}/members")
        page.get_by_label("Email", exact=True).fill("guest@example.com")
        press(page, "Send invitation")
        expect(page.get_by_text("An invitation is on its way to guest@example.com")).to_be_visible()
        press(page, "Take back the invitation of guest@example.com")
        expect(page.get_by_text("is taken back")).to_be_visible()
        page.get_by_label(f"Role of {member.email}", exact=True).select_option("Admin")
        press(page, f"Change the role of {member.email}")
        expect(page.get_by_text(f"{member.email} is now admin.")).to_be_visible()
        assert complaints == []
