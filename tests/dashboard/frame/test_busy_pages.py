"""Pages while the database is unavailable: for people they are pages, and what a form has sent is still there."""

import html
import re
from collections.abc import Iterator

import pytest
from django.conf import settings

from tests.services.application import Application
from tests.services.client import Answer, Client
from tests.support.browser import text_of
from tests.support.outage import service_without_database

SESSION = {"Cookie": f"{settings.SESSION_COOKIE_NAME}=0123456789abcdefghijklmnopqrstuv"}  # which has to be looked up
PAGE = SESSION | {"Accept": "text/html,application/xhtml+xml"}
FORM = PAGE | {"Content-Type": "application/x-www-form-urlencoded"}
SETTINGS = "/dashboard/o/acme/forms/frm_1/settings?from=list"
HOSTED = "/f/frm_00000000000000000000000000"


@pytest.fixture(scope="module")
def away(service: Application, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    directory = tmp_path_factory.mktemp("away")
    with service_without_database(service, directory) as application, Client(application.port) as client:
        yield client


def inputs(page: Answer) -> list[tuple[str, str]]:
    found = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', page.text)
    return [(html.unescape(name), html.unescape(value)) for name, value in found]


def test_form__of_the_dashboard__can_be_sent_again_from_the_page(away: Client) -> None:
    page = away.post(SETTINGS, data="name=A+%22B%22&on=1&on=2&text=a%0D%0A%3Cb%3E", headers=FORM)
    assert (page.status, page.headers["Retry-After"], page.headers["Cache-Control"]) == (503, "2", "no-store")
    assert inputs(page) == [("name", 'A "B"'), ("on", "1"), ("on", "2"), ("text", "a\r\n<b>")]
    assert f'<form method="post" action="{html.escape(SETTINGS)}">' in page.text
    assert "They are kept on this page" in text_of(page)
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]


@pytest.mark.parametrize("headers", [PAGE, SESSION | {"Accept": "*/*"}, PAGE | {"Accept-Language": "xx"}])
def test_page__of_the_dashboard__is_a_page(away: Client, headers: dict[str, str]) -> None:
    page = away.get(SETTINGS, headers=headers)
    assert (page.status, "The service is busy" in text_of(page)) == (503, True)
    assert inputs(page) == []


def test_script__of_the_dashboard__gets_json(away: Client) -> None:
    assert away.get(SETTINGS, headers=SESSION | {"Accept": "application/json"}).json()["error"] == "service_unavailable"


def test_visitor__reads_no_header_and_keeps_the_text(away: Client) -> None:
    opened = away.get(HOSTED, headers=PAGE)
    assert (opened.status, "Wait a moment, then reload this page." in text_of(opened)) == (503, True)
    sent = away.post(HOSTED, data="message=Hello+there&_gotcha=", headers=FORM)
    assert (sent.status, "Idempotency" in sent.text) == (503, False)
    shown = text_of(sent)
    assert "This was not sent" in shown
    assert "The service is busy. Wait a moment, then send it again." in shown
    assert "Hello there" in shown
    assert "_gotcha" not in shown


def test_script__of_a_visitors_page__reads_the_same_words(away: Client) -> None:
    answer = away.post(HOSTED, data="a=b", headers=FORM | {"Accept": "application/json"})
    assert (answer.status, answer.json()["message"]) == (503, "The service is busy. Wait a moment, then send it again.")
