"""Single sign-on in Chromium, with a certified OpenID provider that checks everything we send."""

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Page, expect

from keys.models import Identity, Membership, User
from tests.services.application import Application
from tests.services.openid.certified import CertifiedProvider, new_key, public
from tests.support.accounts import new_email
from tests.support.browser import PASSWORD, person_of
from tests.support.chromium.dashboard_page import at_the_dashboard, log_out, make_login_stale, press
from tests.support.tenants import Tenant, make_tenant

pytestmark = pytest.mark.on_sqlite
BUTTON = "Log in with Acme"


@dataclass(frozen=True)
class Installation:
    """A service and the provider that logs in there; new people join the organization of `tenant`."""

    service: Application
    provider: CertifiedProvider
    tenant: Tenant

    def new_account(self, login: str, **claims: object) -> str:
        """Give the provider an account with this login; return its address."""
        email = str(claims.pop("email", new_email()))
        self.provider.accounts[login] = {"email": email, "email_verified": True, "name": "Ada", **claims}
        self.provider.restart()
        return email


@pytest.fixture
def install(start_service: Callable[..., Application]) -> Iterator[Callable[..., Installation]]:
    """Yield `install(ONLY="1")`, which starts both with these settings of single sign-on."""
    with CertifiedProvider() as provider:

        def start(**more: str) -> Installation:
            tenant = make_tenant()
            ours = {"NAME": "Acme", "ORGANIZATION": tenant.organization.slug, "ROLE_CLAIM": "fieldpost_role", **more}
            service = start_service(**provider.settings(**ours))
            provider.redirect_uri = f"{service.base_url}/account/oidc/callback/"
            provider.restart()
            return Installation(service, provider, tenant)

        yield start


def log_in_there(page: Page, login: str) -> None:
    """Log in on the provider's own page, and agree if it asks what we may see."""
    page.locator("[name=login]").fill(login)
    page.locator("[name=password]").fill("any")
    press(page, "Sign-in")
    agree = page.get_by_role("button", name="Continue", exact=True)
    expect(agree.or_(page.locator("#main"))).to_be_visible()
    if agree.is_visible():
        agree.click()


def sign_on(page: Page, login: str) -> None:
    page.goto("/account/login/")
    page.get_by_role("link", name=BUTTON).click()
    log_in_there(page, login)


def sees(page: Page, heading: str) -> None:
    expect(page.get_by_role("heading", name=heading)).to_be_visible()


def test_first_login__gets_the_role_of_the_claim_and_comes_back_where_it_wanted(
    browser: Browser, install: Callable[..., Installation]
) -> None:
    here = install()
    email = here.new_account("ada", fieldpost_role="admin")
    with at_the_dashboard(browser, here.service.base_url) as (page, _):
        page.goto("/dashboard/account")
        page.get_by_role("link", name=BUTTON).click()
        log_in_there(page, "ada")
        page.wait_for_url("**/dashboard/account")
        expect(page.locator("#main")).to_contain_text(email)
        expect(page.locator("#main")).to_contain_text("Linked")
    membership = Membership.objects.get(user__email=email)
    assert (membership.organization, membership.role) == (here.tenant.organization, "admin")


def test_login__links_the_account_of_a_verified_address_and_no_other(
    browser: Browser, install: Callable[..., Installation]
) -> None:
    here, known, other = install(), person_of(make_tenant()), person_of(make_tenant())
    here.new_account("known", email=known.email.upper())
    here.new_account("eve", email=other.email, email_verified=False)
    with at_the_dashboard(browser, here.service.base_url) as (page, _):
        sign_on(page, "eve")
        sees(page, "You cannot log in this way yet")
        expect(page.locator("#main")).to_contain_text("is not confirmed where you logged in")
        page.goto("/dashboard/account")
        expect(page.get_by_role("link", name=BUTTON)).to_be_visible()
    with at_the_dashboard(browser, here.service.base_url) as (page, _):
        sign_on(page, "known")
        page.goto("/dashboard/account")
        expect(page.locator("#main")).to_contain_text(known.email)
    assert Identity.objects.get(user=known).subject == "known"
    assert not Identity.objects.filter(user=other).exists()


def test_only__has_one_button_and_lets_in_by_it(browser: Browser, install: Callable[..., Installation]) -> None:
    here = install(ONLY="1")
    email = here.new_account("ada")
    with at_the_dashboard(browser, here.service.base_url) as (page, complaints):
        page.goto("/account/login/")
        expect(page.get_by_role("textbox")).to_have_count(0)
        expect(page.get_by_role("button", name="passkey")).to_have_count(0)
        assert complaints == []
        sign_on(page, "ada")
        page.goto("/dashboard/account")
        expect(page.locator("#main")).to_contain_text(email)
        expect(page.get_by_text("Password", exact=True)).to_have_count(0)


def test_sensitive_change__asks_for_the_login_there_again_and_is_then_made(
    browser: Browser, install: Callable[..., Installation]
) -> None:
    here = install()
    here.new_account("ada", fieldpost_role="owner")
    name = f"Key {secrets.token_hex(4)}"
    new_key_page = f"/dashboard/o/{here.tenant.organization.slug}/keys/new"
    with at_the_dashboard(browser, here.service.base_url) as (page, _):
        sign_on(page, "ada")
        sees(page, "First steps")
        make_login_stale(page)
        page.goto(new_key_page)
        sees(page, "Confirm that it is you")

        here.provider.tamper("a session of then")  # it answers without asking, as one that knows no max_age
        page.get_by_role("link", name="Confirm with Acme").click()
        sees(page, "The login did not work")
        expect(page.locator("#main")).to_contain_text("Acme did not ask for your login again")
        here.provider.tamper("")

        page.goto(new_key_page)
        page.get_by_role("link", name="Confirm with Acme").click()
        log_in_there(page, "ada")
        page.wait_for_url(f"**{new_key_page}")
        page.get_by_label("Name").fill(name)
        press(page, "Generate key")
        expect(page.locator("#main")).to_contain_text("fp_")
    assert here.tenant.organization.access_keys.filter(name=name).count() == 1


@pytest.mark.parametrize("how", ["foreign signature", "another client", "another sub"])
def test_answer__tampered_with__logs_nobody_in(
    browser: Browser, install: Callable[..., Installation], how: str
) -> None:
    here = install()
    email = here.new_account("ada")
    here.provider.tamper(how)
    with at_the_dashboard(browser, here.service.base_url) as (page, _):
        sign_on(page, "ada")
        sees(page, "The login did not work")
        expect(page.locator("#main")).to_contain_text("The answer of Acme cannot be trusted")
        here.provider.tamper("")
        page.get_by_role("link", name="Log in again").click()
        page.get_by_role("link", name=BUTTON).click()  # the provider knows the person by now
        sees(page, "First steps")
    assert User.objects.filter(email=email).count() == 1


def test_answer__replayed__logs_nobody_in(browser: Browser, install: Callable[..., Installation]) -> None:
    here = install()
    here.new_account("ada")
    with at_the_dashboard(browser, here.service.base_url) as (page, _):
        backs: list[str] = []
        page.on("request", lambda request: backs.append(request.url) if "/oidc/callback/" in request.url else None)
        sign_on(page, "ada")
        sees(page, "First steps")
        log_out(page)
        (back,) = backs
        page.goto(back)
        sees(page, "The login did not work")


def test_issuer__that_goes_down_and_comes_back_with_other_keys(
    browser: Browser, install: Callable[..., Installation]
) -> None:
    here = install()
    here.new_account("ada")
    old = here.provider.keys
    with at_the_dashboard(browser, here.service.base_url) as (page, _):
        sign_on(page, "ada")
        sees(page, "First steps")
        log_out(page)

        here.provider.keys = [new_key("second")]
        here.provider.restart()
        sign_on(page, "ada")
        sees(page, "First steps")
        log_out(page)

        here.provider.published = [public(key) for key in here.provider.keys]
        here.provider.keys = old  # somebody signs with what the provider has taken back
        here.provider.restart()
        sign_on(page, "ada")
        sees(page, "The login did not work")


def test_issuer__that_is_down__is_a_page_with_a_way_back(
    browser: Browser, install: Callable[..., Installation]
) -> None:
    here, known = install(), person_of(make_tenant())
    here.provider.stop()
    with at_the_dashboard(browser, here.service.base_url) as (page, _):
        page.goto("/account/login/")
        page.get_by_role("link", name=BUTTON).click()
        sees(page, "Acme does not answer")
        page.get_by_role("link", name="Log in again").click()
        page.get_by_label("Email").fill(known.email)
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        press(page, "Log in")
        sees(page, "First steps")
