"""A hosted page speaks the language of its form; JSON stays English (docs/contract.md 6.64)."""

import re

import pytest

from forms_app.models import Form
from tests.services.client import Answer, Client
from tests.support.browser import markup_of, text_of
from tests.support.hosted_posts import FIELDS, ask, post
from tests.support.tenants import make_tenant

GERMAN = {"Accept-Language": "de-AT,de;q=0.9"}


def a_form_in(language: str) -> str:
    tenant = make_tenant()
    form_id = tenant.form(fields=FIELDS, name="Ask us")
    Form.objects.filter(organization=tenant.organization, name="Ask us").update(language=language)
    return form_id


def root_of(answer: Answer) -> tuple[str, str, str]:
    """Return language and direction of a page, and the header that names the language."""
    tag = re.search(r"<html([^>]*)>", markup_of(answer))
    attributes = dict(re.findall(r'(lang|dir)="([^"]*)"', tag[1] if tag else ""))
    return attributes.get("lang", ""), attributes.get("dir", ""), answer.headers.get("Content-Language", "")


@pytest.mark.parametrize(("language", "direction"), [("en", "ltr"), ("de", "ltr"), ("ar", "rtl")])
def test_form__in_a_language__has_its_page_errors_and_thanks_in_it(api: Client, language: str, direction: str) -> None:
    form_id = a_form_in(language)

    pages = [
        api.get(f"/f/{form_id}", headers=GERMAN),
        post(api, form_id, {"name": ""}, Accept_Language=GERMAN["Accept-Language"]),
        api.get(f"/f/{form_id}/thanks", headers=GERMAN),
        api.get(f"/f/{form_id}/report", headers=GERMAN),
    ]

    assert [root_of(page) for page in pages] == [(language, direction, language)] * 4
    assert [page.status for page in pages] == [200, 400, 200, 200]


def test_no_form__page_is_in_the_language_of_the_browser(api: Client) -> None:
    asked = ["de-AT,de;q=0.9", "xx,ar;q=0.5,de;q=0.1", "fr", ""]

    pages = [api.get("/f/frm_x", headers={"Accept": "text/html", "Accept-Language": one}) for one in asked]

    assert [root_of(page)[0] for page in pages] == ["de", "ar", "en", "en"]
    assert all("Accept-Language" in page.headers["Vary"] for page in pages)


def test_json__to_a_german_form_and_browser__is_english(api: Client) -> None:
    form_id = a_form_in("de")

    answer = ask(api, form_id, {"email": "x"}, Accept_Language=GERMAN["Accept-Language"])

    said = [error["message"] for error in answer.json()["errors"]]
    assert said == ["Name is required.", "Email must be an email address."]


def test_errors__of_a_german_form__are_german_on_its_page(api: Client) -> None:
    answer = post(api, a_form_in("de"), {"email": "x"})

    for text in ("Name ist ein Pflichtfeld.", "Email muss eine E-Mail-Adresse sein.", "Senden"):
        assert text in text_of(answer)
