"""A person's language: of pages, and nowhere in the API."""

import pytest

from tests.services.client import Client
from tests.support.browser import Browser, logged_in, member_of, place
from tests.support.tenants import Tenant

PAGE = "/dashboard/account/language"


@pytest.fixture
def browser(api: Client, tenant: Tenant) -> Browser:
    return logged_in(api, member_of(tenant.organization, "member"))


def test_language__chosen__is_that_of_pages(tenant: Tenant, browser: Browser) -> None:
    home = place(tenant)
    assert "Übersicht" not in browser.get(home).text
    assert browser.send(PAGE, language="de").headers["Location"] == "/dashboard/account"
    page = browser.get(home)
    assert (page.headers["Content-Language"], '<html lang="de"' in page.text, "Übersicht" in page.text) == (
        "de",
        True,
        True,
    )
    browser.send(PAGE, language="ar")
    assert '<html lang="ar" dir="rtl"' in browser.get(home).text


def test_language__not_chosen__is_the_browsers(api: Client) -> None:
    page = api.get("/account/login/", headers={"Accept-Language": "de-AT, en;q=0.5"})
    assert (page.headers["Content-Language"], "Anmelden" in page.text) == ("de", True)
    assert "Accept-Language" in page.headers["Vary"]
    assert api.get("/account/login/", headers={"Accept-Language": "fr"}).headers["Content-Language"] == "en"


@pytest.mark.parametrize("language", ["xx", "de-AT", "en\x00"])
def test_language__that_there_is_not__is_refused(browser: Browser, language: str) -> None:
    assert browser.send(PAGE, language="de").status == 302
    assert browser.send(PAGE, language=language).status == 400
    assert '<html lang="de"' in browser.get(PAGE).text


def test_api__asked_for_german__answers_in_english(api: Client, tenant: Tenant) -> None:
    answers = [
        api.post("/api/forms", tenant.key, json={"name": "", "fields": [{}]}, headers={"Accept-Language": language})
        for language in ("en", "de", "ar")
    ]
    assert {answer.status for answer in answers} == {400}
    assert answers[0].body == answers[1].body == answers[2].body
