"""Login by a proxy in front: whose header counts, whom it lets in, what ends the session, and step-up in it."""

import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from allauth.account.models import EmailAddress

from keys.invitations import invite
from keys.models import AuditEvent, Invitation, Membership, Role, User
from tests.services.application import Application
from tests.services.client import Answer, Client
from tests.services.environment import service_environment
from tests.services.receivers import MailReceiver
from tests.support.accounts import code_of, log_in, mailed_code, new_email, with_authenticator_app
from tests.support.browser import LOGIN, PASSWORD, Browser, logged_in, member_of, person_of, place, text_of
from tests.support.tenants import Tenant, make_tenant

HEADER = "Remote-Email"
PROXIES = "127.250.0.0/16"  # no client of another test connects from there
SETTINGS = {"REMOTE_USER_HEADER": HEADER, "TRUSTED_PROXIES": f"10.0.0.0/8,{PROXIES}"}
ACCOUNT, BY_MAIL = "/dashboard/account", "/account/reauthenticate/mail/"
PAGES = ["/dashboard/", "/dashboard", ACCOUNT, LOGIN, "/admin/", "/%64ashboard/", "/dashboard/no/such/page", "/account"]


class Proxied(Browser):
    """A browser whose requests come through a proxy that says who it is; None: the proxy sends no header."""

    def __init__(self, api: Client, email: str | None) -> None:
        super().__init__(api)
        self.email = email

    def headers(self) -> dict[str, str]:
        return super().headers() | ({} if self.email is None else {HEADER: self.email})


@pytest.fixture
def behind(shared_service: Callable[..., Application]) -> Application:
    return shared_service(**SETTINGS)


@pytest.fixture
def proxy(behind: Application) -> Iterator[Client]:
    """Yield a client that is a trusted proxy."""
    with Client(behind.port, f"127.250.{secrets.randbelow(250)}.{1 + secrets.randbelow(250)}") as client:
        yield client


@pytest.fixture
def stranger(behind: Application) -> Iterator[Client]:
    with Client(behind.port) as client:
        yield client


def enter(client: Client, email: str) -> Proxied:
    """Return a browser that the header has logged in."""
    browser = Proxied(client, email)
    assert browser.get(ACCOUNT).headers["Location"] == ACCOUNT
    assert email.lower() in browser.get(ACCOUNT).text
    return browser


def is_login(answer: Answer) -> bool:
    return answer.status == 302 and answer.headers["Location"].startswith(LOGIN)


@pytest.mark.parametrize("written", [str.lower, str.upper])
def test_header__of_a_known_address__logs_in(proxy: Client, tenant: Tenant, written: Callable[[str], str]) -> None:
    user = person_of(tenant)
    browser = Proxied(proxy, written(user.email))
    first = browser.get(f"{place(tenant)}?days=7")
    assert (first.status, first.headers["Location"]) == (302, f"{place(tenant)}?days=7")
    assert browser.follow(first).status == 200
    assert browser.get(place(tenant, "keys")).status == 200
    assert AuditEvent.objects.filter(user=user, action="account.logged_in").count() == 1


def test_header__on_the_login_page__leads_on(proxy: Client, tenant: Tenant) -> None:
    browser = Proxied(proxy, person_of(tenant).email)
    there = browser.follow(browser.get(f"{LOGIN}?next={ACCOUNT}"))
    assert there.headers["Location"] == ACCOUNT


@pytest.mark.on_sqlite
@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("said", ["ada@example.com", ""])
def test_header__of_another_peer__is_refused(stranger: Client, path: str, said: str) -> None:
    forged = {HEADER: said, "X-Forwarded-For": "127.250.1.1", "X-Real-Ip": "127.250.1.1"}
    for method in ("GET", "POST", "HEAD", "OPTIONS"):
        assert stranger.request(method, path, headers=forged).status == 400, method
    answer = stranger.get(path, headers=forged)
    assert "which only the proxy that logs people in may send" in text_of(answer)
    assert "Set-Cookie" not in answer.headers
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert stranger.get(path).status in (200, 301, 302, 404)


@pytest.mark.on_sqlite
def test_header__of_another_peer_with_a_session__is_refused(stranger: Client, tenant: Tenant) -> None:
    browser = logged_in(stranger, person_of(tenant))
    assert browser.get(ACCOUNT, Remote_Email=tenant.owner.email).status == 400
    assert browser.get(ACCOUNT).status == 200


@pytest.mark.parametrize(
    "path", ["/api/me", "/", "/docs", "/setup", "/healthz", "/forms.js", "/f/frm_0", "/dashboards"]
)
def test_header__elsewhere__is_ignored(stranger: Client, proxy: Client, path: str) -> None:
    for client in (stranger, proxy):
        without = client.get(path)
        answer = client.get(path, headers={HEADER: "ada@example.com"})
        assert (answer.status, "Set-Cookie" in answer.headers) == (without.status, "Set-Cookie" in without.headers)


@pytest.mark.on_sqlite
def test_header__without_the_setting__is_ignored_everywhere(api: Client, tenant: Tenant) -> None:
    for path in PAGES:
        assert Proxied(api, person_of(tenant).email).get(path).status == api.get(path).status
    assert is_login(Proxied(api, tenant.owner.email).get(ACCOUNT))


@pytest.mark.on_sqlite
@pytest.mark.parametrize("lines", [["{}", "{}"], ["{}", "eve@example.com"], ["", "{}"], ["{}", ""], ["{}, {}"]])
def test_header__twice__is_refused(proxy: Client, tenant: Tenant, lines: list[str]) -> None:
    email = person_of(tenant).email
    sent = "".join(f"{HEADER}: {line.replace('{}', email)}\r\n" for line in lines)
    answer = proxy.raw(f"GET {ACCOUNT} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{sent}\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 400")


@pytest.mark.on_sqlite
@pytest.mark.parametrize("name", ["Remote_Email", "remote_email", "REMOTE_EMAIL", "HTTP_REMOTE_EMAIL"])
def test_header__with_an_underscore__never_counts(proxy: Client, stranger: Client, tenant: Tenant, name: str) -> None:
    user, other = person_of(tenant), member_of(tenant.organization, "admin")
    for client in (proxy, stranger):
        assert is_login(client.get(ACCOUNT, headers={name: user.email}))
    browser = Proxied(proxy, user.email)
    browser.get(ACCOUNT, **{HEADER: user.email})
    sent = browser.headers() | {name: other.email}
    assert user.email in proxy.get(ACCOUNT, headers=sent).text


@pytest.mark.parametrize("now", [None, "", "other"])
def test_session__header_gone_or_changed__ends(proxy: Client, tenant: Tenant, now: str | None) -> None:
    other = member_of(tenant.organization, "member")
    browser = enter(proxy, person_of(tenant).email)
    old = dict(browser.cookies)
    browser.email = other.email if now == "other" else now
    answer = browser.get(ACCOUNT)
    assert is_login(answer) if now != "other" else answer.headers["Location"] == ACCOUNT
    browser.cookies = old  # the session itself is gone, not only its cookie
    assert tenant.owner.email not in browser.get(ACCOUNT).text
    assert AuditEvent.objects.filter(user=tenant.owner, action="account.logged_out").count() == 1
    if now == "other":
        assert other.email in enter(proxy, other.email).get(ACCOUNT).text


def test_session__of_a_header__is_worth_nothing_at_another_peer(
    proxy: Client, stranger: Client, tenant: Tenant
) -> None:
    browser = enter(proxy, person_of(tenant).email)
    taken = Browser(stranger)
    taken.cookies = dict(browser.cookies)
    assert is_login(taken.get(ACCOUNT))


def test_session__of_a_password__stays_without_and_with_a_header(proxy: Client, tenant: Tenant) -> None:
    other = member_of(tenant.organization, "member")
    browser = Proxied(proxy, None)
    assert log_in(browser, person_of(tenant)).status == 302
    for said in (None, "", other.email, tenant.owner.email):
        browser.email = said
        assert tenant.owner.email in browser.get(ACCOUNT).text


@pytest.mark.parametrize("kind", ["unknown", "unverified", "closed", "no address"])
def test_header__of_nobody_who_may_enter__is_a_page_that_says_why(proxy: Client, kind: str) -> None:
    words = {
        "unknown": "Ask a member of your organization to invite this address",
        "unverified": "nobody has confirmed here",
        "closed": "is closed",
        "no address": "without a usable email address",
    }
    user = person_of(make_tenant())
    EmailAddress.objects.filter(user=user, verified=True).update(verified=kind != "unverified")
    User.objects.filter(pk=user.pk).update(is_active=kind != "closed")
    email = {"unknown": new_email(), "no address": "ada"}.get(kind, user.email)
    browser = Proxied(proxy, email)
    for path in ("/dashboard/", ACCOUNT, "/admin/"):
        answer = browser.get(path)
        assert (answer.status, words[kind] in text_of(answer), LOGIN in answer.text) == (403, True, True)
    assert browser.get(LOGIN).status == 200
    assert not User.objects.filter(email=email, is_active=True).exclude(pk=user.pk).exists()


def test_header__of_an_invited_stranger__makes_the_account(proxy: Client, tenant: Tenant) -> None:
    email = new_email()
    invite(organization=tenant.organization, email=email, role=Role.ADMIN, by=tenant.owner)
    browser = enter(proxy, email.upper())
    assert browser.get(place(tenant, "members")).status == 200
    user = User.objects.get(email=email)
    assert (user.has_usable_password(), user.memberships.get().role) == (False, "admin")


def test_header__of_strangers_at_the_same_time__makes_one_account(
    shared_service: Callable[..., Application], tenant: Tenant
) -> None:
    email = new_email()
    service = shared_service(**SETTINGS, OIDC_ORGANIZATION=tenant.organization.slug, SIGN_UP="closed")

    def come(number: int) -> int:
        with Client(service.port, f"127.250.251.{number}") as client:
            return Proxied(client, email).get(ACCOUNT).status

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(come, range(1, 7))) == [302] * 6
    assert Membership.objects.get(user__email=email).role == "member"
    assert EmailAddress.objects.filter(email=email, verified=True).count() == 1
    assert AuditEvent.objects.filter(organization=tenant.organization, action="member.joined").count() == 1


def test_header__before_the_first_person__leads_to_the_setup(tmp_path: Path) -> None:
    environment = service_environment(data_dir=tmp_path, extra={**SETTINGS, "SIGN_UP": "invited"})
    with (
        Application(environment, tmp_path / "logs", streams=False, delivers=False, has_people=False) as fresh,
        Client(fresh.port, "127.250.252.1") as client,
    ):
        assert Proxied(client, "ada@example.com").get(LOGIN).headers["Location"] == "/setup"
        assert client.get("/setup", headers={HEADER: "ada@example.com"}).status == 200


def test_second_step__of_the_account__is_asked(proxy: Client, tenant: Tenant) -> None:
    user = person_of(tenant)
    secret, browser = with_authenticator_app(user), Proxied(proxy, user.email)
    for _ in range(2):
        assert browser.get(ACCOUNT).headers["Location"] == "/account/2fa/authenticate/"
    done = browser.send("/account/2fa/authenticate/", code=code_of(secret))
    assert (done.status, done.headers["Location"]) == (302, ACCOUNT)
    assert browser.get(place(tenant, "keys/new")).status == 200  # the code was a proof a moment ago
    browser.email = None
    assert is_login(browser.get(ACCOUNT))


def test_form__sent_without_a_session__changes_nothing_and_leads_to_the_login(proxy: Client, tenant: Tenant) -> None:
    browser = Proxied(proxy, None)
    browser.get(LOGIN)
    browser.email = person_of(tenant).email
    assert is_login(browser.post(ACCOUNT, form=LOGIN, name="Changed"))
    assert not User.objects.filter(pk=tenant.owner.pk, name="Changed").exists()
    part = browser.get(place(tenant), HX_Request="true")
    assert (part.status, part.headers["HX-Redirect"].startswith(LOGIN)) == (200, True)
    assert not AuditEvent.objects.filter(user=tenant.owner, action="account.logged_in").exists()


def send_invitation(browser: Proxied, tenant: Tenant) -> Answer:
    return browser.post(place(tenant, "members"), form="/account/logout/", email="new@example.com", role="admin")


def has_invited(tenant: Tenant) -> bool:
    return Invitation.objects.filter(organization=tenant.organization).exists()


@pytest.mark.parametrize("has_password", [True, False])
def test_step_up__without_a_second_step__takes_a_mailed_code(
    proxy: Client, tenant: Tenant, smtp: MailReceiver, *, has_password: bool
) -> None:
    user = person_of(tenant)
    if not has_password:
        user.set_unusable_password()
        user.save()
    browser = enter(proxy, user.email)
    for page in (place(tenant, "keys/new"), "/account/2fa/totp/activate/", "/account/2fa/webauthn/add/"):
        assert browser.get(page).headers["Location"].startswith(BY_MAIL), page
    asked = send_invitation(browser, tenant)
    assert (asked.status, has_invited(tenant)) == (302, False)
    there = asked.headers["Location"]
    assert there.startswith(BY_MAIL)
    assert browser.get("/account/reauthenticate/").headers["Location"].startswith(BY_MAIL)  # no password
    assert browser.send(there, code="").headers["Location"].startswith(BY_MAIL)  # the first button mails a code
    code = mailed_code(smtp, user.email)
    assert "15 minutes" in text_of(browser.get(there))
    assert "not correct" in text_of(browser.send(there, code="WRONG1"))
    assert not has_invited(tenant)
    assert browser.send(there, code=code, next=place(tenant, "members")).status in (200, 302)
    assert has_invited(tenant)
    assert browser.get("/account/2fa/totp/activate/").status == 200
    assert browser.get(BY_MAIL).status == 200
    assert browser.send(BY_MAIL, code=code).status == 302  # used up: a new one is mailed
    assert mailed_code(smtp, user.email, 2) != code


def test_step_up__before_the_first_password__is_asked(proxy: Client, tenant: Tenant) -> None:
    user = person_of(tenant)
    user.set_unusable_password()
    user.save()
    browser = enter(proxy, user.email)
    path = "/account/password/set/"
    assert browser.get(path).headers["Location"].startswith(BY_MAIL)
    sent = browser.post(path, form="/account/logout/", password1=PASSWORD, password2=PASSWORD)
    assert sent.headers["Location"].startswith(BY_MAIL)
    user.refresh_from_db()
    assert not user.has_usable_password()


def test_session__after_the_setting_was_removed__ends(proxy: Client, api: Client, tenant: Tenant) -> None:
    browser = enter(proxy, person_of(tenant).email)
    browser.api = api
    assert is_login(browser.get(ACCOUNT))


def test_step_up__three_wrong_codes__asks_for_a_new_one(proxy: Client, tenant: Tenant, smtp: MailReceiver) -> None:
    user = person_of(tenant)
    browser = enter(proxy, user.email)
    path = place(tenant, "keys/new")
    there = browser.get(path).headers["Location"]
    browser.send(there, mail_code="1")
    code = mailed_code(smtp, user.email)
    assert [browser.send(there, code="WRONG1").status for _ in range(3)] == [200, 200, 302]
    assert "Too many wrong codes" in text_of(browser.get(there))
    browser.send(there, code=code)
    assert browser.get(path).headers["Location"] == there


def test_step_up__mails_in_an_hour__are_few(proxy: Client, tenant: Tenant, smtp: MailReceiver) -> None:
    user = person_of(tenant)
    browser = enter(proxy, user.email)
    for _ in range(3):
        browser.send(BY_MAIL, mail_code="1")
    mailed_code(smtp, user.email, 3)
    for _ in range(2):
        browser.post(BY_MAIL, form="/account/logout/", mail_code="1")
    browser.post(BY_MAIL, form="/account/logout/", mail_code="1")
    mailed_code(smtp, user.email, 5)
    assert "Wait an hour" in text_of(browser.get(ACCOUNT))


def test_step_up__with_an_authenticator_app__takes_its_code_and_no_mail(proxy: Client, tenant: Tenant) -> None:
    user = person_of(tenant)
    browser = enter(proxy, user.email)
    secret = with_authenticator_app(user)
    asked = send_invitation(browser, tenant)
    assert asked.headers["Location"].startswith("/account/2fa/reauthenticate/")
    assert browser.get(BY_MAIL).headers["Location"].startswith("/account/2fa/reauthenticate/")
    page = browser.get(asked.headers["Location"])
    assert "/account/reauthenticate/" not in page.text.replace("/account/2fa/reauthenticate/", "")
    refused = browser.post("/account/reauthenticate/", form="/account/logout/", password=PASSWORD)
    assert refused.headers["Location"].startswith("/account/2fa/reauthenticate/")
    assert not has_invited(tenant)
    browser.send(asked.headers["Location"], code=code_of(secret))
    assert has_invited(tenant)


def test_step_up__of_a_password_session__knows_no_mailed_code(proxy: Client, tenant: Tenant) -> None:
    browser = logged_in(proxy, person_of(tenant), seconds_ago=601)
    asked = browser.get(place(tenant, "keys/new"))
    assert asked.headers["Location"].startswith("/account/reauthenticate/?")
    assert browser.get(BY_MAIL).headers["Location"] == "/account/reauthenticate/"
