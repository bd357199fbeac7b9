"""Finding pages, forms, webhooks, keys and submissions: only those that the member may open."""

from urllib.parse import urlencode

import pytest

from keys.access_keys import issue_key
from tests.services.client import Client
from tests.support.browser import Browser, logged_in, member_of, place, text_of
from tests.support.rows import put
from tests.support.tenants import Tenant, make_tenant


def found(browser: Browser, tenant: Tenant, text: str) -> str:
    return text_of(browser.get(f"{place(tenant, 'find')}?{urlencode({'q': text, 'part': '1'})}"))


def test_find__part_of_a_name__shows_forms_keys_and_pages(tenant: Tenant, owner: Browser) -> None:
    tenant.form(name="Bakery <b>orders</b> 100%")
    issue_key(organization=tenant.organization, name="Order import", by=None)
    assert "Bakery <b>orders</b> 100% Published" in found(owner, tenant, "BAKERY")
    assert "Order import fp_…" in found(owner, tenant, "order")
    assert found(owner, tenant, "100_") == ""  # a wildcard of LIKE is a letter here
    assert found(owner, tenant, "export csv") == "Pages Export"


def test_find__id_of_a_submission__leads_to_it(tenant: Tenant, owner: Browser) -> None:
    submission = put(tenant, tenant.default_form_id, {"message": "Hello"})
    page = owner.get(f"{place(tenant, 'find')}?q=+{submission}+")
    assert f'href="{place(tenant, f"submissions/{submission}")}"' in page.text
    assert "Inbox" in text_of(page)


def test_find__things_of_another_organization__are_not_there(tenant: Tenant, owner: Browser) -> None:
    other = make_tenant()
    other.form(name="Elsewhere")
    issue_key(organization=other.organization, name="Elsewhere too", by=None)
    submission = put(other, other.default_form_id, {"message": "Hello"})
    assert found(owner, tenant, "elsewhere") == ""
    assert found(owner, tenant, submission) == ""
    assert owner.get(place(other, "find")).status == 404


def test_find__for_a_member__shows_no_keys_and_no_pages_of_admins(api: Client, tenant: Tenant) -> None:
    issue_key(organization=tenant.organization, name="Audit import", by=None)
    member = logged_in(api, member_of(tenant.organization, "member"))
    assert found(member, tenant, "audit") == ""
    assert "Access Keys" not in found(member, tenant, "")


@pytest.mark.parametrize("text", ["x" * 201, "a\x00b", "sub_", "sub_000", "%", "' OR 1=1 --", "é" * 200])
def test_find__odd_text__finds_nothing(tenant: Tenant, owner: Browser, text: str) -> None:
    answer = owner.get(f"{place(tenant, 'find')}?{urlencode({'q': text})}")
    assert (answer.status, "No results" in text_of(answer)) == (200, True)
