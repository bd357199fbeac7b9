"""Whose installation it is: its first person, who may sign up, and what lets people in without a mail."""

import datetime as dt
import re
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode

import pytest
import time_machine
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils.crypto import salted_hmac

from config.base.times import now
from dashboard.accounts.login_link import login_link
from keys.models import AuditEvent, Membership, Organization, User
from tests.services.application import Application
from tests.services.client import Answer, Client
from tests.services.environment import FILE_NAME, service_environment
from tests.services.receivers import MailReceiver
from tests.support.accounts import SIGN_UP, code_of, new_email, with_authenticator_app
from tests.support.browser import LOGIN, PASSWORD, Browser, logged_in, member_of, person_of, place, text_of
from tests.support.mail_links import text_part
from tests.support.tenants import Tenant, make_tenant

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
PERSON = {"organization": "Acme", "name": "Ada", "email": "Ada@Example.com", "password1": PASSWORD}


def not_started(directory: Path) -> Application:
    """Return a service in which nobody has an account, with the defaults of production."""
    environment = service_environment(data_dir=directory, extra={"SIGN_UP": "invited", "DEFAULT_PLAN": "enterprise"})
    return Application(environment, directory / "logs", streams=False, delivers=False, has_people=False)


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Application]:
    """Yield such a service, for one test to set up."""
    with not_started(tmp_path) as service:
        yield service


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    """Yield one that stays empty."""
    with not_started(tmp_path_factory.mktemp("empty")) as service:
        yield service


BEFORE = """
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
last = ("keys", "0014_user_language")
call_command("migrate", *last, verbosity=0)
keys = MigrationLoader(connection).project_state(last).apps
for plan in ("free", "pro", "enterprise"):
    keys.get_model("keys", "User").objects.create(email=plan + "@example.com")
    keys.get_model("keys", "Organization").objects.create(name=plan, slug=plan, plan=plan)
"""


def rows(service: Application, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(Path(service.environment["DATA_DIR"]) / FILE_NAME)) as database:
        return database.execute(sql).fetchall()


def token_of(service: Application) -> str:
    """Return the token in the link that the command prints."""
    printed = service.manage("setup_link")
    found = re.fullmatch(rf"Set up: {service.base_url}/setup\?token=(\w{{32}})\n", printed)
    assert found, printed
    return found[1]


def post(client: Client, path: str, **values: str) -> Answer:
    return client.post(path, data="&".join(f"{name}={value}" for name, value in values.items()), headers=FORM)


@pytest.mark.on_sqlite
def test_first_person__with_the_link_of_the_log__owns_the_installation(fresh: Application) -> None:
    token = token_of(fresh)
    assert f"Set up: {fresh.base_url}/setup?token={token}" in "".join(fresh.logs().values())
    with Client(fresh.port) as client:
        browser = Browser(client)
        page = browser.get(f"/setup?token={token}")
        assert (page.status, page.headers["Referrer-Policy"]) == (200, "no-referrer")
        assert "no-store" in page.headers["Cache-Control"]
        incomplete = post(client, "/setup", token=token, **{**PERSON, "name": "see www.example.com"})
        assert (incomplete.status, token in incomplete.text) == (400, True)
        assert rows(fresh, "SELECT count(*) FROM keys_user") == [(0,)]

        done = browser._remember("/setup", post(client, "/setup", token=token, **PERSON))
        assert done.status == 302
        overview = browser.follow(browser.get("/dashboard/"))
        assert (overview.status, "Acme" in overview.text) == (200, True)
        assert rows(fresh, "SELECT email, name, is_staff, is_superuser FROM keys_user") == [
            ("ada@example.com", "Ada", 1, 1)
        ]
        assert rows(fresh, "SELECT email, verified FROM account_emailaddress") == [("ada@example.com", 1)]
        assert rows(fresh, "SELECT name, plan FROM keys_organization") == [("Acme", "enterprise")]
        assert rows(fresh, "SELECT role FROM keys_membership") == [("owner",)]

        assert client.get(f"/setup?token={token}").status == 404
        assert post(client, "/setup", token=token, **PERSON).status == 404
        assert client.get(SIGN_UP).status == 403
    with pytest.raises(RuntimeError, match="is set up"):
        fresh.manage("setup_link")


@pytest.mark.on_sqlite
def test_pages_without_people__lead_to_setup(empty: Application) -> None:
    with Client(empty.port) as client:
        for path in (LOGIN, SIGN_UP, "/account/password/reset/", "/dashboard/", "/account/"):
            browser, seen = Browser(client), client.get(path)
            for _ in range(2):  # of the dashboard by the login page
                if seen.headers["Location"] != "/setup":
                    seen = browser.get(seen.headers["Location"])
            assert (path, seen.status, seen.headers["Location"]) == (path, 302, "/setup")
        assert "Nobody has set up this installation yet" in text_of(client.get("/setup"))


@pytest.mark.on_sqlite
def test_setup__wrong_token__is_refused_and_counted(empty: Application) -> None:
    hashed = salted_hmac("fieldpost.setup", "", secret="another SECRET_KEY", algorithm="sha256")
    other_key = hashed.hexdigest()[:32]
    with Client(empty.port) as client:
        for sent in (client.get(f"/setup?token={other_key}"), post(client, "/setup", token=other_key, **PERSON)):
            assert (sent.status, "not the token" in sent.text) == (403, True)
        for _ in range(98):
            client.get(f"/setup?token={other_key}")
        refused = client.get(f"/setup?token={other_key}")
        assert (refused.status, int(refused.headers["Retry-After"]) > 0) == (429, True)
    assert rows(empty, "SELECT count(*) FROM keys_user") == [(0,)]


@pytest.mark.on_sqlite
def test_setup__two_at_once__one_wins(fresh: Application) -> None:
    token = token_of(fresh)

    def try_it(number: int) -> int:
        with Client(fresh.port) as client:
            answer = post(client, "/setup", token=token, **{**PERSON, "email": f"{number}@example.com"})
            return len(answer.headers["Location"].partition("/dashboard")[1]) if answer.status == 302 else 0

    with ThreadPoolExecutor(4) as pool:
        won = [number for number in pool.map(try_it, range(4)) if number]
    assert len(won) == 1
    assert rows(fresh, "SELECT (SELECT count(*) FROM keys_user), (SELECT count(*) FROM keys_organization)") == [(1, 1)]


@pytest.mark.on_sqlite
def test_upgrade__from_a_release_without_these_settings__closes_sign_up_and_says_so_once(tmp_path: Path) -> None:
    service = not_started(tmp_path)
    service.manage("shell", "--verbosity", "0", "--command", BEFORE)
    first, second = (service.commands.run(["migrate", "--verbosity", "0"]).stderr.decode() for _ in range(2))
    assert first.count("nobody signs up any more without an invitation (SIGN_UP=invited)") == 1
    assert "those that exist keep theirs" in first
    assert "signs up" not in second
    with service, Client(service.port) as client:
        assert client.get(SIGN_UP).status == 403
        for plan in ("free", "pro", "enterprise"):
            assert rows(service, f"SELECT plan FROM keys_organization WHERE slug = '{plan}'") == [(plan,)]


@pytest.fixture(params=["invited", "closed"])
def by_invitation(request: pytest.FixtureRequest, shared_service: Callable[..., Application]) -> Iterator[Client]:
    with Client(shared_service(SIGN_UP=request.param).port) as client:
        yield client


def test_sign_up__not_open__makes_nothing_whatever_is_posted(by_invitation: Client) -> None:
    browser, email = Browser(by_invitation), new_email()
    browser.get(LOGIN)
    seen = browser.get(SIGN_UP)
    assert (seen.status, "This installation is by invitation" in text_of(seen)) == (403, True)
    for values in ({"email": email}, {"email": email, "password1": PASSWORD, "organization": "Acme"}):
        assert browser.post(SIGN_UP, form=LOGIN, **values).status == 403
    assert not User.objects.filter(email=email).exists()


def test_pages__sign_up_not_open__do_not_link_to_it(by_invitation: Client) -> None:
    assert SIGN_UP not in by_invitation.get(LOGIN).text
    assert "signup" not in by_invitation.get("/docs").text


def link_of(service: Application, tenant: Tenant, email: str, *options: str) -> str:
    """Return the path that `invite` prints."""
    printed = service.manage("invite", email, "--organization", tenant.organization.slug, *options).strip()
    assert printed.startswith(f"{service.base_url}/dashboard/invitations/")
    return printed.removeprefix(service.base_url)


def test_invite_command__makes_an_account_in_every_mode(service: Application, by_invitation: Client) -> None:
    tenant, email = make_tenant(), new_email()
    link = link_of(service, tenant, email.upper(), "--role", "admin")
    browser = Browser(by_invitation)
    joined = browser.send(link, name="Grace", password1=PASSWORD)
    assert joined.headers["Location"] == place(tenant)
    assert Membership.objects.get(organization=tenant.organization, user__email=email).role == "admin"
    invited = AuditEvent.objects.get(organization=tenant.organization, action="member.invited")
    assert (invited.user, invited.subject) == (None, f"{email} as admin")


def test_invite_command__known_person__joins_after_a_login(service: Application, by_invitation: Client) -> None:
    tenant, user = make_tenant(), person_of(make_tenant())
    browser = logged_in(by_invitation, user)
    assert browser.send(link_of(service, tenant, user.email)).headers["Location"] == place(tenant)
    assert Membership.objects.filter(organization=tenant.organization, user=user).exists()
    with pytest.raises(RuntimeError, match="already a member"):
        service.manage("invite", user.email, "--organization", tenant.organization.slug)


def test_invitation_by_a_member__closed__lets_only_people_with_an_account_in(
    shared_service: Callable[..., Application], smtp: MailReceiver
) -> None:
    tenant, email, known = make_tenant(), new_email(), person_of(make_tenant())
    with Client(shared_service(SIGN_UP="closed").port) as client:
        browser = logged_in(client, person_of(tenant))
        for address in (email, known.email):
            assert browser.send(place(tenant, "members"), email=address, role="member").status == 302
        mails = {address: text_part(smtp.wait_for(address)[-1]) for address in (email, known.email)}
        assert all("The operator of the service makes accounts." in text for text in mails.values())
        links = {to: re.search(r"/dashboard/invitations/\S+", text)[0] for to, text in mails.items()}  # type: ignore[index]  # None fails the test
        page = client.get(links[email])
        assert (page.status, "makes accounts" in page.text, "password1" in page.text) == (200, True, False)
        Browser(client).post(links[email], form=LOGIN, name="Grace", password1=PASSWORD)
        assert not User.objects.filter(email=email).exists()
        assert logged_in(client, known).send(links[known.email]).headers["Location"] == place(tenant)


def test_organizations__operators__refuses_everyone_else(shared_service: Callable[..., Application]) -> None:
    tenant = make_tenant()
    member, operator = member_of(tenant.organization, "owner"), member_of(tenant.organization, "owner")
    User.objects.filter(pk=operator.pk).update(is_staff=True)
    new = "/dashboard/organizations/new"
    with Client(shared_service(ORGANIZATIONS="operators", DEFAULT_PLAN="pro").port) as client:
        browser = logged_in(client, member)
        assert new not in browser.get(place(tenant)).text
        assert browser.get(new).status == 403
        assert browser.post(new, form=place(tenant), name="Another").status == 403
        assert logged_in(client, operator).send(new, name=f"Made by {operator.email[:14]}").status == 302
    made = Organization.objects.get(memberships__user=operator, name__startswith="Made")
    assert made.plan == "pro"
    assert Organization.objects.filter(memberships__user=member).count() == 1


def test_create_organization__without_a_plan__has_the_default_one(start_service: Callable[..., Application]) -> None:
    service = start_service(DEFAULT_PLAN="enterprise")
    slug = service.manage("create_organization", f"Plans {new_email()[:8]}", "--owner", new_email()).strip()
    assert Organization.objects.get(slug=slug).plan == "enterprise"


def test_login_link__button__logs_in_once(service: Application, api: Client) -> None:
    user = person_of(make_tenant())
    link = service.manage("login_link", user.email.upper()).strip().removeprefix(service.base_url)
    scanner = Browser(api)
    assert api.request("HEAD", link).status == 200
    page = scanner.get(link)
    assert (page.status, user.email in page.text) == (200, True)
    assert "no-store" in page.headers["Cache-Control"]
    assert scanner.get("/dashboard/").headers["Location"].startswith(LOGIN)

    browser = Browser(api)
    assert browser.send(link).status == 302
    assert browser.get("/dashboard/").headers["Location"].startswith("/dashboard/o/")
    assert scanner.post(link, form=LOGIN).status == 404
    assert Browser(api).get(link).status == 404
    made = AuditEvent.objects.get(action="operator.login_link", subject=user.email)
    assert made.actor
    assert AuditEvent.objects.filter(user=user, action="account.logged_in").count() == 1


def test_login_link__second_step__is_asked(service: Application, api: Client) -> None:
    user = person_of(make_tenant())
    secret = with_authenticator_app(user)
    browser = Browser(api)
    asked = browser.send(service.manage("login_link", user.email).strip().removeprefix(service.base_url))
    assert asked.headers["Location"] == "/account/2fa/authenticate/"
    assert browser.get("/dashboard/").headers["Location"].startswith(LOGIN)
    assert browser.send("/account/2fa/authenticate/", code=code_of(secret)).status == 302
    assert browser.get("/dashboard/").headers["Location"].startswith("/dashboard/o/")


def test_login_link__old_or_altered_or_of_a_closed_account__is_gone(service: Application, api: Client) -> None:
    user = person_of(make_tenant())
    with time_machine.travel(now() - dt.timedelta(minutes=11)):
        old = login_link(user)
    fresh = login_link(user)
    for link in (old, fresh[:-1] + ("A" if fresh[-1] != "A" else "B")):
        assert api.get(link.partition("/account")[1] + link.partition("/account")[2]).status == 404
    user.is_active = False
    user.save()
    assert api.get("/account" + fresh.partition("/account")[2]).status == 404
    with pytest.raises(RuntimeError, match="is closed"):
        service.manage("login_link", user.email)
    with pytest.raises(RuntimeError, match="Nobody has an account"):
        service.manage("login_link", new_email())


LEFT_OUT = ("django_session", "sqlite_", "submissions_refusal", "webhooks_delivery", "webhooks_message")


def tables(service: Application) -> dict[str, list[tuple[object, ...]]]:
    """Return the rows of every table, but for sessions, counted refusals and the answer to a forgotten password."""
    names = [str(name) for (name,) in rows(service, "SELECT name FROM sqlite_master WHERE type = 'table'")]
    assert {name for name in LEFT_OUT if any(each.startswith(name) for each in names)} == set(LEFT_OUT)
    return {name: rows(service, f"SELECT * FROM {name}") for name in names if not name.startswith(LEFT_OUT)}


def addresses() -> set[str]:
    """Return an address of every pattern of ours, with some value for each parameter."""
    found = set[str]()

    def walk(patterns: list[URLPattern | URLResolver], before: str) -> None:
        for each in patterns:
            here = before + str(each.pattern)
            if isinstance(each, URLResolver):
                walk(each.url_patterns, here)
            else:
                found.add("/" + re.sub(r"[\^$]|\\Z|\(\?:?P?<?\w*>?[^)]*\)\??", "", re.sub(r"<[^>]+>", "1", here)))

    walk(get_resolver().url_patterns, "")
    return {address for address in found if "*" not in address}


@pytest.mark.on_sqlite
def test_stranger__before_the_setup__makes_nothing(empty: Application) -> None:
    post_everywhere(empty, people=0)


@pytest.mark.on_sqlite
def test_stranger__after_the_setup__makes_nothing(fresh: Application) -> None:
    with Client(fresh.port) as owner:
        post(owner, "/setup", token=token_of(fresh), **PERSON)
    post_everywhere(fresh, people=1)


def post_everywhere(service: Application, *, people: int) -> None:
    """Open every address as a stranger, and post to it; then nothing has changed."""
    before = tables(service)
    assert len(before["keys_user"]) == people
    visited = addresses()
    assert {"/account/signup/", "/dashboard/o/1/members", "/api/forms", "/setup", "/f/1"} <= visited
    values = {"email": "stranger@example.com", "password1": PASSWORD, "organization": "Strange", "name": "Strange"}
    for address in sorted(visited):
        with Client(service.port) as stranger:  # another address each time, so that no limit stops it
            browser = Browser(stranger)
            browser.get("/account/login/")
            browser.get(address)
            headers = {**browser.headers(), **FORM}
            csrf = browser.cookies.get("fieldpost_csrf", "")
            stranger.post(address, data=urlencode({**values, "csrfmiddlewaretoken": csrf}), headers=headers)
            stranger.post(address, json=values)
            stranger.request("PUT", address, json=values)
    assert tables(service) == before
    assert {kind for (kind,) in rows(service, "SELECT event FROM webhooks_message")} <= {"account.mail"}
