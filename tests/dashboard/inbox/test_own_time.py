"""A user's time zone: what it changes, and what stays UTC."""

import datetime as dt
import json
import re

import pytest

from keys.models import User
from tests.services.client import Client
from tests.support.browser import Browser, logged_in, markup_of, member_of, place, text_of
from tests.support.rows import put
from tests.support.tenants import Tenant

PAGE = "/dashboard/account/time-zone"
MOMENT = dt.datetime(2026, 1, 30, 23, 30, tzinfo=dt.UTC)  # the 31st in Berlin


@pytest.fixture
def user(tenant: Tenant) -> User:
    return member_of(tenant.organization, "member")


@pytest.fixture
def browser(api: Client, user: User) -> Browser:
    return logged_in(api, user)


def zone_of(user: User) -> str:
    return User.objects.get(pk=user.pk).time_zone


def test_time_zone__chosen__is_that_of_times_and_of_days(tenant: Tenant, browser: Browser) -> None:
    pk = put(tenant, tenant.form(), {"n": "1"}, MOMENT)
    day, path = "from=2026-01-31&to=2026-01-31", place(tenant, "submissions")
    assert pk not in browser.get(f"{path}?{day}").text
    assert browser.send(PAGE, zone="Europe/Berlin").headers["Location"] == "/dashboard/account"
    listed = markup_of(browser.get(f"{path}?{day}"))
    assert re.search(r'<time datetime="2026-01-30T23:30:00Z" title="2026-01-31 00:30:00 Europe/Berlin">', listed)
    assert "2026-01-31 00:30:00 Europe/Berlin" in text_of(browser.get(f"{path}/{pk}"))
    export = browser.get(f"{path}/export?{day}")
    assert "(Europe/Berlin, both included)" in text_of(export)
    lines = browser.post(f"{path}/export/run", form=path, format="ndjson", from_="2026-01-31", to="2026-01-31")
    assert [json.loads(line)["createdAt"] for line in lines.text.splitlines()] == ["2026-01-30T23:30:00.000Z"]


def test_time_zone__of_the_browser__is_taken_once(user: User, browser: Browser) -> None:
    assert f'data-presets-zone="{PAGE}"' in browser.get("/dashboard/account").text
    assert browser.send(PAGE, preset="Asia/Kolkata").status == 204
    assert browser.send(PAGE, preset="Europe/Berlin").status == 204
    assert zone_of(user) == "Asia/Kolkata"
    account = browser.get("/dashboard/account")
    assert ("data-presets-zone" in account.text, "Asia/Kolkata" in text_of(account)) == (False, True)
    assert browser.send(PAGE, zone="Nowhere/Else").status == 400
    assert zone_of(user) == "Asia/Kolkata"


@pytest.mark.parametrize("name", ["../../etc/passwd", "Etc/GMT+5", "", "<b>"])
def test_time_zone__that_cannot_be_chosen__is_utc(user: User, browser: Browser, name: str) -> None:
    assert browser.send(PAGE, preset=name).status == 204
    assert zone_of(user) == "UTC"


@pytest.mark.parametrize("name", ["Nowhere/Else", "../etc/passwd", "\x00"[1:] + "Mars"])
def test_time_zone__that_is_stored_and_unknown__is_utc(tenant: Tenant, user: User, browser: Browser, name: str) -> None:
    User.objects.filter(pk=user.pk).update(time_zone=name)
    pk = put(tenant, tenant.form(), {"n": "1"}, MOMENT)
    assert "2026-01-30 23:30:00 UTC" in text_of(browser.get(place(tenant, f"submissions/{pk}")))
