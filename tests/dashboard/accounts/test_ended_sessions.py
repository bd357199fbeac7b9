"""A page that is still open after its session has ended: where it leads, and that typed text is not lost."""

import html
from urllib.parse import parse_qs, urlsplit

import pytest
from django.conf import settings

from forms_app.models import Form
from tests.services.client import Answer, Client
from tests.support.accounts import log_in
from tests.support.browser import LOGIN, Browser, logged_in, person_of, place, text_of
from tests.support.tenants import Tenant, text_field

TYPED = {
    "settings": {"name": "Typed for an hour", "success_message": "Thank <you>"},
    "page": {"description": "Typed for an hour"},
    "spam": {"minimum_seconds": "2", "blocked_words": "Typed for an hour", "captcha_secret": "hushhush"},
    "replies": {"subject": "Typed for an hour", "text": "{{ form.name }}"},
    "notifications": {"recipients": "typed-for-an-hour@example.com"},
    "build": {"row": "k0", "label__k0": "Typed for an hour", "type__k0": "Text", "do": "save"},
}


def end_session(browser: Browser) -> None:
    browser.cookies.pop(settings.SESSION_COOKIE_NAME)


def target_of(answer: Answer) -> dict[str, list[str]]:
    """Return the parameters of the login's address to which an answer leads."""
    address = urlsplit(answer.headers.get("HX-Redirect") or answer.headers["Location"])
    assert address.path == LOGIN
    return parse_qs(address.query)


@pytest.mark.parametrize("screen", TYPED)
def test_form__sent_after_the_session__is_there_after_the_login_and_not_saved(
    owner: Browser, tenant: Tenant, screen: str
) -> None:
    form_id = tenant.form(fields=[text_field("one", required=False)])
    forms = Form.objects.filter(organization=tenant.organization).order_by("pk").values()
    stored = list(forms)
    path = place(tenant, f"forms/{form_id}/{screen}")
    owner.get(path)
    end_session(owner)
    refused = owner.send(path, **TYPED[screen])
    assert target_of(refused) == {"ended": ["kept"], "next": [path]}
    assert "the page shows what you typed" in text_of(owner.get(refused.headers["Location"]))
    assert log_in(owner, tenant.owner, next=path).headers["Location"] == path
    shown = owner.get(path)
    assert (shown.status, "It is not saved yet." in text_of(shown)) == (200, True)
    assert "Typed for an hour" in html.unescape(shown.text) or "typed-for-an-hour@example.com" in shown.text
    assert "hushhush" not in shown.text
    assert "data-changed" in shown.text
    assert list(forms.all()) == stored
    again = owner.get(path)
    assert "It is not saved yet." not in text_of(again)
    assert owner.post(path, form=path, **TYPED[screen], seen=seen_of(again)).status == 302
    assert list(forms.all()) != stored


def seen_of(page: Answer) -> str:
    return page.text.partition('name="seen" value="')[2].partition('"')[0]


def test_panel__after_the_session__leads_the_whole_page_to_the_login_and_back_to_the_list(
    owner: Browser, tenant: Tenant
) -> None:
    end_session(owner)
    lists = place(tenant, "submissions")
    asked = f"{lists}/sub_0000000000000000000000000000?part=panel"
    answer = owner.get(asked, HX_Request="true", HX_Current_URL=f"http://127.0.0.1:{owner.api.port}{lists}?open=sub_1")
    assert target_of(answer) == {"ended": ["yes"], "next": [f"{lists}?open=sub_1"]}
    assert answer.body == b""
    elsewhere = owner.get(asked, HX_Request="true", HX_Current_URL=f"https://evil.example{lists}")
    assert target_of(elsewhere)["next"] == ["/dashboard/"]


def test_button__after_the_session__leads_back_to_its_page(owner: Browser, tenant: Tenant) -> None:
    page = place(tenant, f"forms/{tenant.form()}")
    owner.get(page)
    end_session(owner)
    owner.agent = ""
    answer = owner.post(f"{page}/unpublish", form=page)
    assert target_of(answer) == {"ended": ["yes"], "next": ["/dashboard/"]}


def test_typed__of_another_page_or_too_much__is_not_shown(api: Client, tenant: Tenant) -> None:
    forms = [place(tenant, f"forms/{tenant.form()}/settings") for _ in range(2)]
    browser = logged_in(api, person_of(tenant))
    for path in forms:
        browser.get(path)
    end_session(browser)
    assert target_of(browser.send(forms[1], name="Typed", success_message="x" * 200_000))["ended"] == ["yes"]
    assert target_of(browser.send(forms[0], name="Typed"))["ended"] == ["kept"]
    log_in(browser, tenant.owner)
    assert "It is not saved yet." not in text_of(browser.get(forms[1]))
    assert "It is not saved yet." in text_of(browser.get(forms[0]))
