"""Requests of an account in a minute (docs/contract.md 2.46)."""

import html
import re
from collections.abc import Callable

import pytest

from tests.services.client import Answer, Client
from tests.support.browser import Browser, logged_in, member_of, place, text_of
from tests.support.rows import put
from tests.support.tables.dashboard_table import a_destination, a_webhook
from tests.support.tenants import Tenant

POSTS, EXPENSIVE = 120, 20
HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)"\s*>')
HTMX = {"HX_Request": "true"}


def until_refused(ask: Callable[[], Answer], limit: int) -> Answer:
    """Return the first 429. The minute may turn meanwhile."""
    for _ in range(2 * limit + 2):
        answer = ask()
        if answer.status == 429:
            return answer
    pytest.fail(f"{2 * limit + 2} requests, and none was refused")


def used_up(browser: Browser, tenant: Tenant) -> None:
    """Use up the POSTs of an account, with some that no page takes."""
    page = place(tenant, "forms")
    until_refused(lambda: browser.post(page, form=page), POSTS)


def refused(ask: Callable[[], Answer], use_up: Callable[[], object]) -> Answer:
    """Return the refusal of a request; use up the limit again if its minute turned before."""
    for _ in range(3):
        use_up()
        answer = ask()
        if answer.status == 429:
            return answer
    pytest.fail(f"not refused: {answer.status}")


def test_post__over_the_limit__is_refused_and_its_text_is_kept(tenant: Tenant, member: Browser) -> None:
    path = place(tenant, f"forms/{tenant.form()}/settings")
    typed = {"name": 'Typed & "kept"', "success_message": "One\r\ntwo <b>", "allowed_origins": ""}
    answer = refused(lambda: member.send(path, **typed), lambda: used_up(member, tenant))
    assert 1 <= int(answer.headers["Retry-After"]) <= 61
    assert answer.headers["Cache-Control"] == "no-store"
    assert "The limit of 120 requests is used up." in text_of(answer)
    assert re.search(r"<button[^>]*>\s*Send again\s*</button>", answer.text)
    assert f'action="{path}"' in answer.text
    kept = {name: html.unescape(value) for name, value in HIDDEN.findall(answer.text)}
    assert kept.pop("csrfmiddlewaretoken")
    assert kept == typed
    assert member.get(path).status == 200  # reading goes on


def test_post__of_another_account__is_not_counted(api: Client, tenant: Tenant, member: Browser) -> None:
    used_up(member, tenant)
    other = logged_in(api, member_of(tenant.organization, "member"))
    path = place(tenant, f"forms/{tenant.form()}/settings")
    assert other.send(path, name="Mine").status == 302


def test_post__with_secrets__has_them_in_no_page(tenant: Tenant, owner: Browser) -> None:
    change = "/account/password/change/"
    typed = {"oldpassword": "of old hushhush", "password1": "of new hushhush", "password2": "of new hushhush"}
    answer = refused(lambda: owner.send(change, **typed), lambda: used_up(owner, tenant))
    assert "hushhush" not in answer.text
    assert len(re.findall(r'type="password"\s+name="(?:oldpassword|password1|password2)"', answer.text)) == 3
    telegram = place(tenant, "destinations/new/telegram")
    typed = {"form_": "all", "name": "Team", "config__token": "12:hushhush", "config__chatId": "-100"}
    answer = refused(lambda: owner.send(telegram, **typed), lambda: used_up(owner, tenant))
    assert "hushhush" not in answer.text
    assert re.search(r'type="password"\s+name="config-token"', answer.text)
    assert dict(HIDDEN.findall(answer.text))["config-chatId"] == "-100"


def searched(browser: Browser, tenant: Tenant) -> Answer:
    return until_refused(lambda: browser.get(place(tenant, "submissions?q=hello")), EXPENSIVE)


def test_search__over_the_limit__is_refused_and_the_list_is_not(tenant: Tenant, member: Browser) -> None:
    answer = searched(member, tenant)
    assert f'href="{place(tenant, "submissions?q=hello")}"' in answer.text
    assert member.get(place(tenant, "submissions")).status == 200
    typed = [member.get(place(tenant, f"submissions?q=hello+{number}"), **HTMX).status for number in range(25)]
    assert typed == [200] * 25
    assert [member.get(place(tenant, "find?part=1&q=a")).status for _ in range(3)] == [200] * 3


def test_expensive__of_every_kind__is_one_count(tenant: Tenant, owner: Browser) -> None:
    put(tenant, tenant.default_form_id, {"message": "hello"})
    form_id, home = tenant.default_form_id, place(tenant)
    asked: list[Callable[[], Answer]] = [
        lambda path=path: owner.get(f"{home}{path}")  # type: ignore[misc]  # a default is how a loop binds
        for path in ("find?q=a", "submissions/export?q=hello")
    ]
    paths = {
        "submissions/export/run": {"format": "csv"},
        "submissions/export/files": {},
        "audit/export": {"format": "csv"},
        "submissions/act": {"do": "export", "id": "sub_x"},
        f"destinations/{a_webhook(tenant)['receiver_id']}/test": {},
        f"destinations/{a_destination(tenant)['receiver_id']}/test": {},
        f"forms/{form_id}/tests": {},
        f"forms/{form_id}/test-mail": {"recipient": "a@example.com"},
        f"forms/{form_id}/test-reply": {},
    }
    asked += [
        lambda path=path, values=values: owner.post(f"{home}{path}", form=home, **values)  # type: ignore[misc]  # as above
        for path, values in paths.items()
    ]
    answers = [refused(ask, lambda: searched(owner, tenant)) for ask in asked]
    assert [answer.status for answer in answers] == [429] * len(asked)


def test_test__refused_for_a_script_of_the_page__is_a_note_above_its_part(tenant: Tenant, member: Browser) -> None:
    page = place(tenant, f"forms/{tenant.default_form_id}")
    searched(member, tenant)
    headers = {**member.headers(), "HX-Request": "true", "Content-Type": "application/x-www-form-urlencoded"}
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', member.get(page).text)
    assert token
    body = f"csrfmiddlewaretoken={token[1]}"

    def send() -> Answer:
        return member.api.post(f"{page}/tests", data=body, headers=headers)

    answer = refused(send, lambda: searched(member, tenant))
    assert answer.headers["HX-Reswap"] == "beforebegin"
    assert answer.text.startswith('<div class="notice error" role="alert"><p>The limit of 20 requests is used up.')


def test_preview__while_somebody_types__is_not_counted(tenant: Tenant, member: Browser) -> None:
    page = place(tenant, f"forms/{tenant.form()}/build")
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', member.get(page).text)
    assert token
    headers = {**member.headers(), "HX-Request": "true", "Content-Type": "application/x-www-form-urlencoded"}
    preview = page.replace("/build", "/preview")
    body = f"csrfmiddlewaretoken={token[1]}&row=k0&label-k0=A&type-k0=Text"
    shown = {member.api.post(preview, data=body, headers=headers).status for _ in range(POSTS + 5)}
    assert shown == {200}
    assert member.post(place(tenant, "forms"), form=page).status == 405
