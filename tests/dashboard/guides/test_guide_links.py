"""The link from each screen of the dashboard to its part of the guides."""

import re

import pytest

from dashboard.frame.design.menu import PAGES
from dashboard.guides.library import GUIDES
from dashboard.guides.screens import PARTS, part_about
from tests.services.client import Client
from tests.support.browser import logged_in, person_of, place
from tests.support.tables.dashboard_table import IN_ORGANIZATION
from tests.support.tenants import make_tenant

pytestmark = pytest.mark.on_sqlite
FRAGMENTS = {
    *("submissions-live", "submission-story", "exports-progress", "form-preview", "form-page-preview", "audit-export"),
    "file-preview",
}


def test_screens__every_one_of_an_organization__has_its_part() -> None:
    shown = {name for name, row in IN_ORGANIZATION.items() if row.get and row.shown == 200} - FRAGMENTS
    assert [name for name in sorted(shown) if not part_about(name)] == []


def test_parts__of_all_screens__are_on_the_page() -> None:
    anchors = {heading.anchor for heading in GUIDES["dashboard"].document.headings}
    assert {*PARTS.values(), *(page.guide for page in PAGES)} - anchors == {""}


@pytest.mark.parametrize(
    ("page", "part"),
    [
        ("", "#overview"),
        ("forms", "#forms"),
        ("submissions", "#submissions"),
        ("keys", "#access-keys"),
        ("refused", "#refused"),
        ("/dashboard/account", "#your-account"),
        ("/dashboard/organizations/new", ""),
    ],
)
def test_screen__links_to_its_part(api: Client, page: str, part: str) -> None:
    tenant = make_tenant()
    browser = logged_in(api, person_of(tenant))
    text = browser.get(page if page.startswith("/") else place(tenant, page)).text
    assert re.findall(r'href="(/docs/dashboard[^"]*)"', text) == [f"/docs/dashboard{part}"]
