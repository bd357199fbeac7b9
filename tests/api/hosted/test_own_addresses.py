"""A form at its own address, and at those that it gave up (docs/contract.md 6.65)."""

import datetime as dt
import secrets
from typing import Any

import pytest

from config.base.times import now
from forms_app.actions import archive_form, change_form
from forms_app.models import Form, FormerAddress
from tests.services.client import Client
from tests.support.browser import markup_of
from tests.support.hosted_posts import FIELDS, GOOD, SHOP, URLENCODED, WANTS_JSON, accepted_json, post
from tests.support.submitting import records
from tests.support.tenants import UNHURRIED, Tenant, make_tenant

OTHERS = ["/{at}", "/ajax/{at}", "/s/{at}", "/p/123/f/{at}", "/f/{at}.json", "/f/{at}/", "/f/{at}"]


def new_address() -> str:
    """Return one that no other test has: addresses are unique in the installation."""
    return f"contact-{secrets.token_hex(6)}"


def at_own_address(tenant: Tenant, **values: Any) -> tuple[str, str]:
    """Return the id and the address of a form."""
    address = new_address()
    return tenant.form(address=address, fields=FIELDS, **UNHURRIED, **values), address


def move(tenant: Tenant, address: str) -> str:
    """Give the form at an address another one, and return that."""
    moved = change_form(Form.objects.get(organization=tenant.organization, address=address), address=new_address())
    return str(moved.address)


def age(address: str, days: int) -> None:
    """Let an address be given up so many days ago."""
    FormerAddress.objects.filter(address=address).update(given_up_at=now() - dt.timedelta(days=days))


def test_own_address__serves_the_form_and_every_path_below_it(api: Client) -> None:
    tenant = make_tenant()
    form_id, address = at_own_address(tenant, name="Ask us")
    url = f"http://127.0.0.1:{api.port}/f/{address}"

    assert api.get(f"/api/forms/{form_id}", tenant.key).json()["data"]["url"] == url
    for path in (f"/f/{address}", f"/f/{form_id}"):
        page = markup_of(api.get(path))
        assert "<h1>Ask us</h1>" in page
        assert f'href="/f/{address}/report"' in page
    answer = post(api, address, GOOD)
    assert (answer.status, answer.headers["Location"]) == (303, f"{url}/thanks")
    assert api.get(f"/f/{address}/thanks").status == 200
    assert api.get(f"/f/{address}/report").status == 200
    assert [one["data"] for one in records(api, tenant, form_id)] == [GOOD]


def test_own_page__sent_twice_unchanged__is_one_submission(api: Client) -> None:
    """The stamp in the page's address is for the address that it was opened at, and good there after a change."""
    tenant = make_tenant()
    form_id, address = at_own_address(tenant)
    page = api.get(f"/f/{address}").text
    query = page.partition('action="')[2].partition('"')[0]
    assert query.startswith("?stamp=")

    post(api, address, GOOD, query=query)
    move(tenant, address)
    assert post(api, address, GOOD, query=query).status == 303

    assert len(records(api, tenant, form_id)) == 1


def test_error_page__posts_to_the_own_address(api: Client) -> None:
    form_id, address = at_own_address(make_tenant())
    for path in (address, form_id):
        page = post(api, path, {"name": "Ada"})
        action = page.text.partition('action="')[2].partition('"')[0]
        assert page.status == 400
        assert action.startswith("?stamp=" if path == address else f"/f/{address}?stamp=")


@pytest.mark.parametrize("path", OTHERS)
def test_addresses_of_other_services__with_an_own_address__take_posts(api: Client, path: str) -> None:
    tenant = make_tenant()
    form_id, address = at_own_address(tenant)
    old, address = address, move(tenant, address)
    for at in (address, old):
        answer = api.post(path.replace("{at}", at), json=GOOD, headers=SHOP)
        assert (answer.status, answer.json()["data"]["formId"]) == (201, form_id), at
    assert len(records(api, tenant, form_id)) == 2


@pytest.mark.parametrize("path", OTHERS)
def test_addresses_of_other_services__opened_in_a_browser__lead_to_the_form(api: Client, path: str) -> None:
    tenant = make_tenant()
    _, old = at_own_address(tenant)
    address = move(tenant, old)
    answer = api.get(path.replace("{at}", old) + "?name=Ada%20L")
    assert (answer.status, answer.headers["Location"]) == (303, f"/f/{address}?name=Ada%20L")
    if not path.startswith("/f/{at}") or path.endswith(".json"):
        assert api.get(path.replace("{at}", address)).headers["Location"].endswith(f"/f/{address}")


@pytest.mark.parametrize("page", ["", "/thanks", "/report"])
def test_former_address__leads_on_for_90_days(api: Client, page: str) -> None:
    tenant = make_tenant()
    form_id, old = at_own_address(tenant)
    address = move(tenant, old)

    answer = api.get(f"/f/{old}{page}?name=Ada")
    assert (answer.status, answer.headers["Location"]) == (303, f"/f/{address}{page}?name=Ada")
    assert post(api, old, GOOD, **WANTS_JSON).json() == accepted_json(
        form_id, f"http://127.0.0.1:{api.port}/f/{address}/thanks"
    )

    age(old, 89)
    assert api.get(f"/f/{old}{page}").status == 303
    age(old, 91)
    assert api.get(f"/f/{old}{page}").status == 404
    assert post(api, old, GOOD).status == 404


def test_address_of_an_archived_form__leads_to_a_page_that_says_so(api: Client) -> None:
    tenant = make_tenant()
    form_id, address = at_own_address(tenant)
    archive_form(Form.objects.get(organization=tenant.organization, address=address))
    answer = api.get(f"/f/{address}")
    assert (answer.status, answer.headers["Location"]) == (303, f"/f/{form_id}")
    assert post(api, address, GOOD).status == 403


@pytest.mark.on_sqlite
@pytest.mark.parametrize("path", ["/nothing-here", "/wp-login", "/contact/", "/favicon", "/a", "/UPPER"])
def test_path_of_no_form__is_the_404_of_every_path(api: Client, path: str) -> None:
    page = api.get(path, headers={"Accept": "text/html"})
    assert (page.status, "This form is not open" in page.text) == (404, False)
    assert api.post(path, data="a=1", headers=URLENCODED).status == 404


def test_uploads__below_an_own_and_a_former_address__are_taken(api: Client) -> None:
    """The path is found; what it says about the empty body is that of the form."""
    tenant = make_tenant()
    _, old = at_own_address(tenant)
    for address in (move(tenant, old), old):
        assert (
            api.post(f"/f/{address}/uploads", data="", headers=URLENCODED).json()["error"] == "unsupported_media_type"
        )
    assert api.post(f"/f/{new_address()}/uploads", data="", headers=URLENCODED).json()["error"] == "not_found"
