"""The dashboard of an organization with many forms: pages of the list, choices, and the limit of the plan."""

import re

from forms_app.models import Form
from keys.plans import Plan
from tests.services.client import Client
from tests.support.browser import Browser, logged_in, member_of, place, text_of
from tests.support.tenants import Tenant, make_tenant

FULL = "The plan has at most 100 forms. Archive one first."
SHOWN = re.compile(r"Build (F \d+)")


def many(number: int, status: str = "draft", **values: object) -> Tenant:
    """Return an organization on Free with this many forms besides the default one."""
    tenant = make_tenant(Plan.FREE)
    made = [
        Form(organization=tenant.organization, name=f"F {n}", status=status, **values) for n in range(1, number + 1)
    ]
    Form.objects.bulk_create(made)
    return tenant


def member_in(api: Client, tenant: Tenant) -> Browser:
    return logged_in(api, member_of(tenant.organization, "member"))


def test_list__of_more_forms_than_a_page__shows_each_once_over_its_pages(api: Client) -> None:
    tenant = many(60)
    member = member_in(api, tenant)
    pages = [member.get(place(tenant, f"forms?page={number}")).text for number in (1, 2, 3)]
    shown = [SHOWN.findall(page) for page in pages]
    assert [len(names) for names in shown] == [24, 25, 11]  # and the default form on the first one
    assert sorted(name for names in shown for name in names) == sorted(f"F {number}" for number in range(1, 61))
    assert "61 · page 3 of 3" in text_of(pages[2])
    assert 'rel="next"' not in pages[2]
    assert "61 · page 3 of 3" in text_of(member.get(place(tenant, "forms?page=99")))
    assert "61 · page 1 of 3" in text_of(member.get(place(tenant, "forms?page=x")))


def test_list__of_archived_forms__keeps_to_them_from_page_to_page(api: Client) -> None:
    tenant = many(26, "archived")
    page = member_in(api, tenant).get(place(tenant, "forms?status=archived"))
    assert 'href="?status=archived&amp;page=2"' in page.text


def test_new_form__at_the_limit__says_so_and_makes_none(api: Client) -> None:
    tenant = many(99)
    member = member_in(api, tenant)
    for path, values in (
        ("forms/new", {"name": "One more", "start": "blank"}),
        ("forms/new/html", {"name": "One more", "html": "<form><input name=a></form>"}),
    ):
        page = member.send(place(tenant, path), **values)
        if path.endswith("html"):
            shown = dict(re.findall(r'name="(shown|seen)" value="([^"]*)"', page.text))
            page = member.send(place(tenant, path), do="add", **values, **shown)
        assert page.status == 409
        assert FULL in text_of(page)
        assert "One more" in page.text
    member.post(place(tenant, f"forms/{tenant.default_form_id}/duplicate"), form=place(tenant, "forms"))
    assert FULL in text_of(member.get(place(tenant, f"forms/{tenant.default_form_id}")))
    assert Form.objects.filter(organization=tenant.organization).count() == 100


def test_choice__of_many_forms__offers_all_and_finds_the_chosen_one(api: Client) -> None:
    tenant = many(60)
    chosen = Form.objects.get(organization=tenant.organization, name="F 7")
    member = member_in(api, tenant)
    assert member.get(place(tenant, "submissions")).text.count('<option value="frm_') == 61
    overview = member.get(place(tenant, f"?form={chosen.public_id}"))
    assert overview.text.count('<option value="frm_') == 61
    assert f'<option value="{chosen.public_id}" selected>F 7</option>' in overview.text
