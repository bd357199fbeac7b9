"""The table of every address of the dashboard, tried by everybody: anonymous, each role, another owner."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from tests.services.application import Application
from tests.services.client import Client
from tests.support.browser import Browser, logged_in, member_of, person_of, place
from tests.support.tables.dashboard_table import (
    ADMIN,
    IN_ORGANIZATION,
    MEMBER,
    OF_MENU,
    OPEN,
    OWNER,
    PERSONAL,
    VIEWER,
    Row,
    a_submission,
)
from tests.support.tables.databases import first_on_both
from tests.support.tenants import make_tenant

RANK = {VIEWER: 0, MEMBER: 1, ADMIN: 2, OWNER: 3}


def rows_that(so: Callable[[Row], object]) -> list[Any]:
    return [pytest.param(name, row, id=name) for name, row in IN_ORGANIZATION.items() if so(row)]


ROWS = rows_that(lambda row: True)
# Their views show typed text again after the login.
_PAGES = ("build", "new-file", "notifications", "page", "replies", "settings", "spam")
KEEP_TYPED = {f"form-{page}" for page in _PAGES}


@pytest.fixture(scope="module")
def people(service: Application) -> Iterator[SimpleNamespace]:
    """Yield a tenant with a user of each role, and the owner of another organization, each in a separate browser."""
    tenant, other = make_tenant(), make_tenant()
    with Client(service.port) as client:
        yield SimpleNamespace(
            tenant=tenant,
            home=place(tenant),
            foreign_home=place(other),
            anonymous=Browser(client),
            viewer=logged_in(client, member_of(tenant.organization, VIEWER)),
            member=logged_in(client, member_of(tenant.organization, MEMBER)),
            admin=logged_in(client, member_of(tenant.organization, ADMIN)),
            owner=logged_in(client, person_of(tenant)),
            stranger=logged_in(client, person_of(other)),
        )


def address(people: SimpleNamespace, name: str, row: Row) -> str:
    slug = people.tenant.organization.slug
    return reverse(f"dashboard:{name}", kwargs={"slug": slug, **row.thing(people.tenant)})


def names_of(patterns: list[URLPattern | URLResolver]) -> Iterator[str]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from names_of(pattern.url_patterns)
        else:
            yield str(pattern.name)


def test_table__every_address_of_the_dashboard__has_a_row() -> None:
    routed = set(names_of(get_resolver("dashboard.urls").url_patterns))
    assert routed == set(IN_ORGANIZATION) | PERSONAL | OPEN


def test_menu__of_every_role__lists_the_pages_that_the_role_may_open() -> None:
    assert {name: IN_ORGANIZATION[name].get for name in OF_MENU} == {name: row.get for name, row in OF_MENU.items()}


def test_menu__of_members__has_no_page_of_keys_audit_or_settings() -> None:
    """Rows of pages that only show come from the menu, so this is the one list of those that members may not open."""
    assert {name for name, row in OF_MENU.items() if row.get not in (VIEWER, MEMBER)} == {
        *("keys", "key-new", "audit", "destination-new"),
        *("opt-outs", "organization", "organization-brand"),
    }


@pytest.mark.on_sqlite
@pytest.mark.parametrize(("name", "row"), ROWS)
def test_address__anonymous__is_sent_to_the_login(people: SimpleNamespace, name: str, row: Row) -> None:
    path = address(people, name, row)
    if row.get:
        answer = people.anonymous.get(path)
        assert (answer.status, answer.headers["Location"]) == (302, f"/account/login/?next={path}")
    if row.post:
        answer = people.anonymous.post(path, form="/account/login/", **row.data)
        # Back to the page that sent the form: this one if the form is kept, else an address that answers GET.
        to = f"?ended=kept&next={path}" if name in KEEP_TYPED else "?ended=yes&next=/dashboard/"
        assert (answer.status, answer.headers["Location"]) == (302, f"/account/login/{to}")


# The membership is looked up first, with the same query for every row: of each kind one is on both databases.
@pytest.mark.parametrize(
    ("name", "row"),
    [
        *first_on_both(rows_that(lambda row: row.get and not row.post)),
        *first_on_both(rows_that(lambda row: row.get and row.post)),
        *first_on_both(rows_that(lambda row: row.post and not row.get)),
    ],
)
def test_address__owner_of_another_organization__finds_nothing(people: SimpleNamespace, name: str, row: Row) -> None:
    path = address(people, name, row)
    if row.get:
        assert people.stranger.get(path).status == 404
    if row.post:
        assert people.stranger.post(path, form=people.foreign_home, **row.data).status == 404


# An owner sees every page, so the pages themselves are shown over both databases.
@pytest.mark.parametrize(
    "role", [*(pytest.param(role, marks=pytest.mark.on_sqlite) for role in (VIEWER, MEMBER, ADMIN)), OWNER]
)
@pytest.mark.parametrize(("name", "row"), ROWS)
def test_address__each_role__may_what_the_table_says(people: SimpleNamespace, name: str, row: Row, role: str) -> None:
    browser: Browser = getattr(people, role)
    if row.get:
        answer = browser.get(address(people, name, row))
        assert answer.status == (row.shown if RANK[role] >= RANK[row.get] else 403), answer.text[:3000]
        assert answer.status != 403 or "Your role does not allow this" in answer.text
    if row.post:
        answer = browser.post(address(people, name, row), form=people.home, **row.data)
        assert answer.status == (row.done if RANK[role] >= RANK[row.post] else 403), answer.text[:3000]
        assert answer.status == 403 or answer.headers["Cache-Control"] == "no-store"


@pytest.mark.on_sqlite
@pytest.mark.parametrize(("name", "row"), rows_that(lambda row: row.post))
def test_post__without_a_csrf_token__changes_nothing(people: SimpleNamespace, name: str, row: Row) -> None:
    browser: Browser = people.owner
    headers = {**browser.headers(), "Content-Type": "application/x-www-form-urlencoded"}
    answer = browser.api.post(address(people, name, row), data="do=delete-now", headers=headers)
    assert (answer.status, "This page has expired" in answer.text) == (403, True)


@pytest.mark.on_sqlite
@pytest.mark.parametrize(
    ("name", "row"),
    rows_that(lambda row: row.post and not row.get),
)
def test_get__of_what_only_changes__is_refused(people: SimpleNamespace, name: str, row: Row) -> None:
    assert people.owner.get(address(people, name, row)).status == 405


@pytest.mark.parametrize("name", first_on_both(sorted(PERSONAL - {"find-submission", "account-delete"})))
def test_personal_page__anonymous__is_sent_to_the_login(people: SimpleNamespace, name: str) -> None:
    path = reverse(f"dashboard:{name}")
    assert people.anonymous.get(path).headers["Location"] == f"/account/login/?next={path}"
    assert people.member.get(path).status in (200, 302)


def test_link_of_a_mail__leads_members_to_the_submission__and_others_nowhere(people: SimpleNamespace) -> None:
    public_id = a_submission(people.tenant)["submission_id"]
    path = f"/dashboard/submissions/{public_id}"
    assert people.member.get(path).headers["Location"] == f"{people.home}submissions/{public_id}"
    assert people.stranger.get(path).status == 404
    assert people.anonymous.get(path).headers["Location"] == f"/account/login/?next={path}"


@pytest.mark.parametrize("path", ["forms/frm_nothing", "submissions/sub_01m7y7zpfzefrvg4m5j1gpjskp", "keys/x/revoke"])
def test_address__of_nothing__is_a_page_that_says_so(people: SimpleNamespace, path: str) -> None:
    answer = people.owner.get(people.home + path)
    assert (answer.status, "Page not found" in answer.text) == (404, True)
    assert "<h1>" in answer.text


@pytest.mark.on_sqlite
@pytest.mark.parametrize(("name", "row"), rows_that(lambda row: row.get))
def test_address__with_a_slash_too_many_or_too_few__leads_to_the_page(
    people: SimpleNamespace, name: str, row: Row
) -> None:
    path = address(people, name, row)
    other = path.rstrip("/") if path.endswith("/") else f"{path}/"
    answer = people.owner.get(f"{other}?a=%2F%2Fb&c")
    assert (answer.status, answer.headers["Location"]) == (301, f"{path}?a=%2F%2Fb&c")


@pytest.mark.on_sqlite
@pytest.mark.parametrize(
    ("path", "page"),
    [
        ("/dashboard", "/dashboard/"),
        ("/dashboard///", "/dashboard/"),
        ("/dashboard/account/", "/dashboard/account"),
        ("/account/login", "/account/login/"),
        ("/dashboard/o/nobody%0d%0aX:1/forms//", None),
        ("/dashboard/nothing/", None),
        ("/account", None),
        ("/account//example.com", None),
    ],
)
def test_address__of_no_organization__leads_to_its_page_or_to_404(
    people: SimpleNamespace, path: str, page: str | None
) -> None:
    answer = people.anonymous.get(path)
    assert (answer.status, answer.headers.get("Location")) == ((301, page) if page else (404, None))
