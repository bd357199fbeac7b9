"""Settings, Access Keys: generated, shown once, regenerated, revoked; what an owner is warned of."""

import datetime as dt
import html
import re

import pytest

from config.base.times import now
from keys.models import AccessKey
from keys.plans import Plan
from tests.services.client import Answer, Client
from tests.support.browser import Browser, logged_in, member_of, person_of, place, text_of
from tests.support.submitting import submit
from tests.support.tables.databases import first_on_both
from tests.support.tenants import Tenant, make_tenant

ALL = ["forms:read", "forms:write", "submissions:read", "submissions:export", "webhooks:write", "analytics:read"]
TOKEN = re.compile(r"fp_(?:pub_)?[0-9A-Za-z]{46}")


def generate(browser: Browser, tenant: Tenant, **values: str | list[str]) -> Answer:
    path = place(tenant, "keys/new")
    once = re.search(r'name="once" value="([^"]+)"', browser.get(path).text)
    assert once
    return browser.post(path, form=path, **{"kind": "secret", "permissions": ALL, "once": once[1], **values})


def token_in(answer: Answer) -> str:
    found = TOKEN.search(html.unescape(answer.text))
    assert found, text_of(answer)
    return found[0]


@pytest.fixture
def browser(api: Client, tenant: Tenant) -> Browser:
    return logged_in(api, person_of(tenant))


def test_key__generated__is_shown_once_and_works(api: Client, tenant: Tenant, browser: Browser) -> None:
    answer = generate(browser, tenant, name="Import <b>script</b>")
    token = token_in(answer)
    assert f"FIELDPOST_ACCESS_KEY={token}" in answer.text
    assert answer.headers["Cache-Control"] == "no-store"
    assert "Import &lt;b&gt;script&lt;/b&gt;" in answer.text
    assert api.get("/api/forms", token).status == 200
    assert api.get("/api/keys", token).status == 403, "not administrative unless asked"
    listed = browser.get(place(tenant, "keys"))
    assert token not in listed.text
    assert f"fp_…{token[-4:]}" in listed.text


@pytest.mark.parametrize("kind", ["secret", "publishable"])
@pytest.mark.parametrize("mode", ["live", "test"])
def test_key__of_a_mode__submits_in_it_and_is_marked(
    api: Client, tenant: Tenant, browser: Browser, kind: str, mode: str
) -> None:
    answer = generate(browser, tenant, name="Trying out", kind=kind, mode=mode, admin="on")
    found = re.search(r"fp_[0-9A-Za-z_]{46,}", html.unescape(answer.text))
    assert found
    pk = submit(api, found[0], tenant.form()).json()["data"]["id"]
    assert api.get(f"/api/submissions/{pk}", tenant.key).json()["data"]["test"] is (mode == "test")
    key = AccessKey.objects.get(organization=tenant.organization, name="Trying out")
    assert (key.mode, key.admin) == (mode, kind == "secret" and mode == "live")
    listed = text_of(browser.get(place(tenant, "keys")))
    assert ("Trying out Test" in listed) is (mode == "test")
    refused = generate(browser, tenant, name="Other", mode="both")
    assert (refused.status, AccessKey.objects.filter(name="Other").exists()) == (400, False)


def test_key__form_sent_again_by_a_reload__makes_no_second_key(tenant: Tenant, browser: Browser) -> None:
    path = place(tenant, "keys/new")
    once = re.search(r'name="once" value="([^"]+)"', browser.get(path).text)
    assert once
    values = {"name": "Once", "kind": "secret", "permissions": ALL, "once": once[1]}
    assert browser.post(path, form=path, **values).status == 200
    again = browser.post(path, form=path, **values)
    assert "That form was already sent" in text_of(browser.follow(again))
    assert AccessKey.objects.filter(organization=tenant.organization, name="Once").count() == 1


def test_key__administrative__manages_keys(api: Client, tenant: Tenant, browser: Browser) -> None:
    token = token_in(generate(browser, tenant, name="Admin", admin="on"))
    assert api.get("/api/keys", token).status == 200


def test_key__publishable__can_only_submit_and_stays_readable(api: Client, tenant: Tenant, browser: Browser) -> None:
    token = token_in(generate(browser, tenant, name="Shop", kind="publishable", admin="on"))
    assert token.startswith("fp_pub_")
    assert api.get("/api/forms", token).status == 403
    assert api.post("/api/submit", token, json={"a": "b"}).status == 201
    assert token in browser.get(place(tenant, "keys")).text


def test_key__scoped_on_enterprise__has_what_was_ticked_and_ends(api: Client, tenant: Tenant, browser: Browser) -> None:
    tomorrow = (now() + dt.timedelta(days=1)).date().isoformat()
    token = token_in(generate(browser, tenant, name="Few", permissions=["forms:read"], expires_on=tomorrow))
    assert api.get("/api/forms", token).status == 200
    assert api.get("/api/submissions", token).status == 403
    key = AccessKey.objects.get(organization=tenant.organization, name="Few")
    assert (key.permissions, key.expires_on.isoformat()) == (["forms:read"], tomorrow)  # type: ignore[union-attr]  # None fails the test


@pytest.mark.parametrize("plan", first_on_both([Plan.FREE, Plan.PRO]))
def test_key__scoped_without_enterprise__is_told_in_plain_words_and_not_made(api: Client, plan: Plan) -> None:
    tenant = make_tenant(plan)
    browser = logged_in(api, person_of(tenant))
    page = text_of(browser.get(place(tenant, "keys/new")))
    assert "All six, on this plan." in page
    generate(browser, tenant, name="Few", permissions=["forms:read"], expires_on="2099-01-01")
    key = AccessKey.objects.get(organization=tenant.organization, name="Few")
    assert (key.permissions, key.expires_on) == (ALL, None), "what the page does not offer is not taken"


@pytest.mark.parametrize("plan", Plan)
def test_key__administrative__may_what_its_page_says_on_each_plan(api: Client, plan: Plan) -> None:
    tenant = make_tenant(plan)
    browser = logged_in(api, person_of(tenant))
    page = text_of(browser.get(place(tenant, "keys/new")))
    generate(browser, tenant, name="Other")
    other = AccessKey.objects.get(organization=tenant.organization, name="Other")

    statuses = {
        "list": api.get("/api/keys", tenant.key).status,
        "create": api.post("/api/keys", tenant.key, json={"name": "By API"}).status,
        "regenerate": api.post(f"/api/keys/{other.public_id}/regenerate", tenant.key).status,
        "revoke": api.delete(f"/api/keys/{other.public_id}", tenant.key).status,
    }

    if plan == Plan.ENTERPRISE:
        assert "Can also list, create, regenerate and revoke keys through the API." in page
        assert statuses == {"list": 200, "create": 201, "regenerate": 200, "revoke": 200}
    else:
        assert "Can also list, regenerate and revoke keys through the API. On this plan it cannot create keys." in page
        assert statuses == {"list": 200, "create": 403, "regenerate": 200, "revoke": 200}


@pytest.mark.on_sqlite
def test_key__last_day_in_the_past__is_refused_at_its_field(tenant: Tenant, browser: Browser) -> None:
    answer = generate(browser, tenant, name="Old", expires_on="2020-01-01")
    assert answer.status == 400
    assert "is in the past" in text_of(answer)
    assert not AccessKey.objects.filter(organization=tenant.organization, name="Old").exists()


def test_key__regenerated__stops_the_old_secret_at_once(api: Client, tenant: Tenant, browser: Browser) -> None:
    old = token_in(generate(browser, tenant, name="Rotated"))
    key = AccessKey.objects.get(organization=tenant.organization, name="Rotated")
    new = token_in(browser.send(place(tenant, f"keys/{key.public_id}/regenerate")))
    assert [api.get("/api/forms", token).status for token in (old, new)] == [401, 200]


def test_key__revoked__is_listed_as_ended(api: Client, tenant: Tenant, browser: Browser) -> None:
    token = token_in(generate(browser, tenant, name="Ended"))
    key = AccessKey.objects.get(organization=tenant.organization, name="Ended")
    page = browser.follow(browser.send(place(tenant, f"keys/{key.public_id}/revoke")))
    assert "“Ended” is revoked" in text_of(page)
    assert api.get("/api/forms", token).status == 401
    refused = browser.follow(browser.send(place(tenant, f"keys/{key.public_id}/regenerate")))
    assert "revoked and cannot be used again" in text_of(refused)


def test_keys__old_or_seen_in_a_page__say_so(api: Client, tenant: Tenant, browser: Browser) -> None:
    page = place(tenant, "keys")
    assert "Over 90 days old" not in browser.get(page).text
    assert "was sent from a web page" not in browser.get(page).text
    api.post("/api/submit", tenant.key, json={"a": "b"}, headers={"Origin": "https://shop.example"})
    AccessKey.objects.filter(organization=tenant.organization, kind="secret").update(
        secret_made_at=now() - dt.timedelta(days=91)
    )
    text = text_of(browser.get(page))
    assert "Over 90 days old" in text
    assert "was sent from a web page" in text
    warning = "The secret key “Administrative” was sent from a web page"
    assert warning in text_of(browser.get(place(tenant)))
    assert warning not in text_of(logged_in(api, member_of(tenant.organization, "member")).get(place(tenant)))
    key = AccessKey.objects.get(organization=tenant.organization, kind="secret")
    browser.send(place(tenant, f"keys/{key.public_id}/regenerate"))
    assert warning not in text_of(browser.get(place(tenant)))
