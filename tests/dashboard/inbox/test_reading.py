"""Read and unread, the panel next to the list, and values as they are."""

import re

import pytest

from submissions.models import Submission
from tests.services.client import Answer, Client
from tests.support.browser import Browser, logged_in, markup_of, member_of, person_of, place, text_of
from tests.support.rows import put
from tests.support.tenants import Tenant, make_tenant, text_field

HOSTILE = "<img src=x onerror=alert(1)>\"'&"


@pytest.fixture
def browser(api: Client, tenant: Tenant) -> Browser:
    return logged_in(api, member_of(tenant.organization, "member"))


def unread(answer: Answer) -> list[str]:
    """Return the ids of the unread rows of a list, in their order."""
    rows = re.findall(r'<tr class="([^"]*)".*?name="id" value="(sub_\w+)"', markup_of(answer))
    return [public_id for classes, public_id in rows if "unread" in classes.split()]


def stored_unread(tenant: Tenant) -> int:
    return Submission.objects.filter(organization=tenant.organization, is_read=False).count()


def test_submission__opened__is_read_for_every_member_until_somebody_marks_it(
    api: Client, tenant: Tenant, browser: Browser
) -> None:
    form_id = tenant.form()
    old, new = (put(tenant, form_id, {"n": str(n)}) for n in range(2))
    path = place(tenant, "submissions")
    first = browser.get(path)
    assert (unread(first), "Unread 2" in text_of(first)) == ([new, old], True)
    assert browser.get(f"{path}/{new}").status == 200
    colleague = logged_in(api, person_of(tenant))
    assert unread(colleague.get(path)) == [old]
    assert unread(colleague.get(f"{path}?unread=on")) == [old]
    back = colleague.post(f"{path}/act", form=path, do="unread", id=[new])
    assert unread(colleague.follow(back)) == [new, old]
    browser.post(f"{path}/act", form=path, do="read", id=[new, old])
    assert "Everything is read" in text_of(browser.get(f"{path}?unread=on"))


def test_submission__loaded_without_being_looked_at__stays_unread(tenant: Tenant, browser: Browser) -> None:
    path = place(tenant, f"submissions/{put(tenant, tenant.form(), {'n': '1'})}")
    for headers in ({"Sec_Purpose": "prefetch;prerender"}, {"Purpose": "prefetch"}, {"Sec_Fetch_Dest": "image"}):
        assert browser.get(path, **headers).status == 200
    assert browser.api.request("HEAD", path, headers=browser.headers()).status == 200
    assert stored_unread(tenant) == 1
    browser.get(path, Sec_Fetch_Dest="document")
    assert stored_unread(tenant) == 0


def test_submission__of_another_organization__is_not_marked_and_not_shown(api: Client, tenant: Tenant) -> None:
    pk = put(tenant, tenant.form(), {"secret": "of others"})
    other = make_tenant()
    stranger, own = logged_in(api, person_of(other)), place(other, "submissions")
    assert stranger.get(f"{own}/{pk}").status == stranger.get(f"{own}/{pk}?part=panel").status == 404
    put(other, other.form(), {"n": "1"})
    for query in (f"open={pk}", f"row={pk}", f"q={pk}"):
        answer = stranger.get(f"{own}?{query}")
        assert (answer.status, "of others" in answer.text) == (200, False)
    for do in ("read", "unread"):
        stranger.post(f"{own}/act", form=own, do=do, id=[pk])
    assert stored_unread(tenant) == 1


def test_panel__of_a_list__shows_the_submission_with_a_way_back(tenant: Tenant, browser: Browser) -> None:
    form_id = tenant.form(fields=[text_field("email", label="Your email")])
    pk = put(tenant, form_id, {"email": "ada@example.com", "note": HOSTILE})
    path = place(tenant, "submissions")
    whole = browser.get(f"{path}?form={form_id}&open={pk}")
    part = browser.get(f"{path}/{pk}?form={form_id}&part=panel")
    for answer in (whole, part):
        assert f'href="{path}?form={form_id}"' in markup_of(answer)
        assert "<img src=x" not in answer.text
    assert re.search(r'<tr class="[^"]*" aria-current="true">', markup_of(whole))
    assert "<html" not in part.text
    assert "Your email" in text_of(part)
    assert unread(whole) == []


def test_rows__that_arrive_live__are_those_of_the_list(tenant: Tenant, browser: Browser) -> None:
    form_id = tenant.form(fields=[text_field("name"), text_field("email")])
    one, two = (put(tenant, form_id, {"name": name, "email": HOSTILE, "more": "1"}) for name in ("Ada", "Grace"))
    elsewhere = put(tenant, tenant.form(), {"name": "Of another form"})
    query = f"form={form_id}&row={one}&row={two}&row={elsewhere}&column=email"
    rows = browser.get(place(tenant, f"submissions?{query}"))
    assert unread(rows) == [two, one]
    assert re.findall(r'data-label="([^"]+)"', rows.text) == ["email", "email"]
    assert (rows.text.count("+2"), "<img" in rows.text, "Of another form" in rows.text) == (2, False, False)


def test_values__are_links_where_they_lead_somewhere_and_long_ones_are_folded(tenant: Tenant, browser: Browser) -> None:
    form_id = tenant.form(fields=[{"name": "tel", "label": "Phone", "type": "Phone", "required": False}])
    values = {
        "tel": "(020) 7946-0000",
        "abroad": "+44 20 7946 0000",
        "number": "2079460000",
        "email": "o'hara+news@example.com",
        "trick": "ada@example.com?bcc=eve@example.com",
        "script": "javascript:alert(1)",
        "essay": "word " * 400 + HOSTILE,
    }
    page = markup_of(browser.get(place(tenant, f"submissions/{put(tenant, form_id, values)}")))
    links = re.findall(r'<a class="value" href="([^"]+)"', page)
    assert links == ["tel:02079460000", "tel:+442079460000", "mailto:o%27hara%2Bnews@example.com"]
    assert 'href="mailto:o%27hara%2Bnews@example.com?subject=Re%3A%20' in page
    assert "Show all 2,031 characters" in page
    assert "<img src=x" not in page
