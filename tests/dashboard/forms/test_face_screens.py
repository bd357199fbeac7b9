"""Key, address and look of a form on its screens: saved, refused, shown again."""

import secrets
from typing import Any

import pytest

from config.base.ids import Prefix, decode_id
from forms_app.models import Form, FormerAddress
from keys.models import AuditEvent
from keys.plans import Plan
from tests.services.client import Client
from tests.support.browser import Browser, logged_in, markup_of, person_of, place, text_of
from tests.support.hosted_posts import multipart
from tests.support.tables.permission_table import PNG
from tests.support.tenants import Tenant, make_tenant


def row(form_id: str) -> Form:
    return Form.objects.get(pk=decode_id(Prefix.FORM, form_id))


def page(tenant: Tenant, form_id: str, name: str) -> str:
    return place(tenant, f"forms/{form_id}/{name}")


def save(browser: Browser, tenant: Tenant, form_id: str, tab: str, /, **values: Any) -> Any:
    path = page(tenant, form_id, tab)
    return browser.post(path, form=path, **values)


def test_settings__key_and_address__are_saved_and_shown_again(api: Client) -> None:
    tenant, address = make_tenant(), f"tables-{secrets.token_hex(6)}"
    form_id = tenant.form()
    browser = logged_in(api, person_of(tenant))
    names = {"name": "Contact", "key": "tables", "address": address}

    assert save(browser, tenant, form_id, "settings", **names).status == 302
    assert (row(form_id).key, row(form_id).address) == ("tables", address)
    shown = browser.get(page(tenant, form_id, "settings"))
    assert f'value="{address}"' in markup_of(shown)
    assert f"/f/{address}" in markup_of(shown)

    assert save(browser, tenant, form_id, "settings", name="Contact").status == 302
    assert (row(form_id).key, row(form_id).address) == ("tables", None)
    assert FormerAddress.objects.filter(pk=address, form=row(form_id)).exists()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"key": "inbox"}, "has the key inbox. Choose another one."),
        ({"key": "A B"}, "characters of a to z, 0 to 9 and the hyphen."),
        ({"address": "dashboard"}, "is a word that this service uses itself."),
        ({"address": "Contact Us"}, "Use 3 to 64 characters"),
    ],
)
def test_settings__unfit_key_or_address__is_refused_with_what_to_do(
    api: Client, values: dict[str, str], message: str
) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    answer = save(logged_in(api, person_of(tenant)), tenant, form_id, "settings", name="Contact", **values)
    assert (answer.status, message in text_of(answer)) == (400, True)
    assert (row(form_id).key, row(form_id).address) == ("contact", None)


def test_page__accent_and_service__are_saved__and_a_color_that_cannot_be_seen_is_not(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    browser = logged_in(api, person_of(tenant))
    assert save(browser, tenant, form_id, "page", accent="2563EB", hides_service="on").status == 302
    assert (row(form_id).accent, row(form_id).powered_by) == ("#2563eb", False)
    refused = save(browser, tenant, form_id, "page", accent="#ffff00")
    assert (refused.status, "too light for the light mode" in text_of(refused)) == (400, True)
    assert save(browser, tenant, form_id, "page").status == 302
    assert (row(form_id).accent, row(form_id).powered_by) == ("", True)


def test_page__on_free__names_the_service__whatever_is_posted(api: Client) -> None:
    tenant = make_tenant(Plan.FREE)
    form_id = tenant.form()
    browser = logged_in(api, person_of(tenant))
    assert "On the Free plan, pages name the service." in text_of(browser.get(page(tenant, form_id, "page")))
    assert save(browser, tenant, form_id, "page", hides_service="on").status == 302
    assert row(form_id).powered_by is True


def test_logo__chosen_by_a_member__is_that_of_the_form__until_it_is_removed(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    browser = logged_in(api, person_of(tenant))
    text = browser.get(page(tenant, form_id, "page")).text
    token = text.partition('csrfmiddlewaretoken" value="')[2].partition('"')[0]
    body, kind = multipart({"csrfmiddlewaretoken": token}, {"logo": ("logo.png", PNG.decode("latin-1"))})
    path = page(tenant, form_id, "logo")
    assert api.post(path, data=body.encode("latin-1"), headers=browser.headers() | kind).status == 302
    assert row(form_id).logo_name.endswith("-1x1")
    assert browser.post(path, form=page(tenant, form_id, "page"), do="remove").status == 302
    assert row(form_id).logo_name == ""
    actions = AuditEvent.objects.filter(organization=tenant.organization).values_list("action", flat=True)
    assert list(actions).count("form.page_changed") == 2


def test_notifications__reply_to__is_one_of_the_recipients__and_goes_with_it(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(notification_recipients=["a@example.com", "b@example.com"])
    browser = logged_in(api, person_of(tenant))
    both = {"recipients": "a@example.com\nb@example.com"}
    assert save(browser, tenant, form_id, "notifications", **both, reply_to="b@example.com").status == 302
    assert row(form_id).reply_to == "b@example.com"
    assert save(browser, tenant, form_id, "notifications", **both, reply_to="eve@example.com").status == 400
    gone = {"recipients": "a@example.com", "reply_to": "b@example.com"}
    assert save(browser, tenant, form_id, "notifications", **gone).status == 302
    assert (row(form_id).notification_recipients, row(form_id).reply_to) == (["a@example.com"], "")


def test_replies__sender_name__is_saved__without_addresses(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    browser = logged_in(api, person_of(tenant))
    assert save(browser, tenant, form_id, "replies", sender_name="Ann's Bakery").status == 302
    assert row(form_id).sender_name == "Ann's Bakery"
    for name in ("Ann <a@b>", "evil.example", "x" * 61):
        assert save(browser, tenant, form_id, "replies", sender_name=name).status == 400
    assert row(form_id).sender_name == "Ann's Bakery"


def test_spam__secret_of_10_000_characters__is_refused(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    values = {"minimum_seconds": "2", "captcha": "turnstile", "captcha_site_key": "site"}
    browser = logged_in(api, person_of(tenant))
    assert save(browser, tenant, form_id, "spam", **values, captcha_secret="s" * 10_000).status == 400
    assert row(form_id).spam_protection == {}
    assert save(browser, tenant, form_id, "spam", **values, captcha_secret="s" * 200).status == 302
