"""A program logs in by a code that a person confirms in the browser (docs/contract.md 3.16)."""

import datetime as dt
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlencode

import pytest

from config.base.ids import Prefix, encode_id
from config.base.times import now
from keys.devices.logins import purge_device_logins
from keys.models import AccessKey, AuditEvent, DeviceLogin, Membership, Organization, User
from keys.tokens import digest
from tests.services.application import Application
from tests.services.client import Answer, Client
from tests.support.browser import Browser, logged_in, make_stale, markup_of, member_of, person_of, text_of
from tests.support.key_records import SECRET, record
from tests.support.rate_windows import lasting_client
from tests.support.replies import Like
from tests.support.tenants import Tenant, make_tenant

PAGE = "/account/device"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
OTHER_FORM = "/dashboard/account/language"  # of a page whose token is good here too
GRANT = "urn:ietf:params:oauth:grant-type:device_code"
TEST_SECRET = Like(r"fp_test_[0-9A-Za-z]{46}")
MACHINE = "ada's laptop <1>"


def send(api: Client, path: str, **values: str) -> Answer:
    body = urlencode({"client_id": "fieldpost-cli", **values})
    return api.post(f"{PAGE}/{path}", data=body, headers=FORM)


def begin(api: Client, machine: str = MACHINE) -> Any:
    answer = send(api, "code", machine=machine)
    assert answer.status == 200, answer.text
    return answer.json()


def poll(api: Client, device_code: str) -> Answer:
    return send(api, "token", grant_type=GRANT, device_code=device_code)


def refusal(answer: Answer) -> tuple[int, str]:
    assert answer.headers["Cache-Control"].count("no-store") == 1
    assert set(answer.json()) == {"error", "error_description"}
    return answer.status, answer.json()["error"]


def decide(browser: Browser, code: str, do: str = "authorize", **values: str) -> Answer:
    """Open the page with the code in its address, and press a button."""
    opened = f"{PAGE}?user_code={code}"
    if "organization" not in values:
        found = re.search(r'name="organization" value="([^"]+)"', browser.get(opened).text)
        values |= {"organization": found[1]} if found else {}
    return browser.post(PAGE, form=opened, user_code=code, do=do, **values)


def owner_of(api: Client, tenant: Tenant) -> Browser:
    return logged_in(api, person_of(tenant))


def row_of(asked: Any) -> DeviceLogin:
    return DeviceLogin.objects.get(device_digest=digest(asked["device_code"]))


def test_code__asked_for__is_answered_as_the_rfc_has_it(api: Client, service: Application) -> None:
    answer = send(api, "code", machine=MACHINE)
    shown = answer.json()["user_code"]
    assert (answer.status, answer.json()) == (
        200,
        {
            "device_code": Like(r"[A-Za-z0-9_-]{43}"),
            "user_code": Like("[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}"),
            "verification_uri": f"{service.base_url}{PAGE}",
            "verification_uri_complete": f"{service.base_url}{PAGE}?user_code={shown}",
            "expires_in": 900,
            "interval": 5,
        },
    )
    assert "no-store" in answer.headers["Cache-Control"]
    stored = str(DeviceLogin.objects.order_by("pk").values().last())
    assert answer.json()["device_code"] not in stored
    assert shown.replace("-", "") not in stored


def test_login__authorized__gives_the_program_its_keys_once(api: Client, service: Application) -> None:
    tenant = make_tenant()
    asked = begin(api)
    assert refusal(poll(api, asked["device_code"])) == (400, "authorization_pending")
    browser = owner_of(api, tenant)

    page = browser.get(asked["verification_uri_complete"].removeprefix(service.base_url))
    assert MACHINE in text_of(page)
    assert all(part in text_of(page) for part in (asked["user_code"], api.address, tenant.organization.name))
    assert not AccessKey.objects.filter(name=MACHINE, organization=tenant.organization).exists()
    done = decide(browser, asked["user_code"])
    assert done.status == 200
    assert f"You are logged in on {MACHINE}" in text_of(done)

    answer = poll(api, asked["device_code"])
    organization = tenant.organization
    assert (answer.status, answer.json()) == (
        200,
        {
            "organization": {
                "id": encode_id(Prefix.ORGANIZATION, organization.pk),
                "name": organization.name,
                "plan": organization.plan,
            },
            "eventsUrl": service.environment["EVENTS_URL"],
            "live": record(MACHINE, key=SECRET),
            "test": record(MACHINE, mode="test", key=TEST_SECRET),
        },
    )

    live, test = (answer.json()[mode]["key"] for mode in ("live", "test"))
    assert [api.get("/api/me", key).json()["data"]["key"]["mode"] for key in (live, test)] == ["live", "test"]
    assert refusal(poll(api, asked["device_code"])) == (400, "invalid_grant")
    made = AuditEvent.objects.filter(organization=organization, action="key.created").latest("pk")
    assert (made.user, made.address) == (tenant.owner, api.address)


def test_keys__asked_for_by_several_at_the_same_time__are_given_to_one(api: Client, service: Application) -> None:
    tenant = make_tenant()
    asked = begin(api)
    decide(owner_of(api, tenant), asked["user_code"])

    def ask(_number: int) -> int:
        with Client(service.port) as another:
            return poll(another, asked["device_code"]).status

    with ThreadPoolExecutor(6) as pool:
        assert sorted(pool.map(ask, range(6))) == [200, *[400] * 5]
    assert AccessKey.objects.filter(organization=tenant.organization, name=MACHINE).count() == 2


def test_login__denied__gives_nothing(api: Client) -> None:
    tenant = make_tenant()
    asked = begin(api)
    keys = AccessKey.objects.filter(organization=tenant.organization)
    before = keys.count()
    browser = owner_of(api, tenant)
    assert "gets no keys" in text_of(decide(browser, asked["user_code"], "deny", organization=""))
    assert refusal(poll(api, asked["device_code"])) == (400, "access_denied")
    assert refusal(poll(api, asked["device_code"])) == (400, "access_denied")
    values = {"user_code": asked["user_code"], "do": "authorize", "organization": str(tenant.organization.pk)}
    assert browser.post(PAGE, form=OTHER_FORM, **values).status == 400
    assert refusal(poll(api, asked["device_code"])) == (400, "access_denied")
    assert keys.count() == before


def test_code__confirmed_a_second_time__is_unknown_and_changes_nothing(api: Client) -> None:
    first, second = make_tenant(), make_tenant()
    asked = begin(api)
    decide(owner_of(api, first), asked["user_code"])
    browser = owner_of(api, second)
    values = {"user_code": asked["user_code"], "do": "authorize", "organization": str(second.organization.pk)}
    again = browser.post(PAGE, form=OTHER_FORM, **values)
    assert (again.status, "No login waits for this code" in text_of(again)) == (400, True)
    assert row_of(asked).organization == first.organization
    assert poll(api, asked["device_code"]).json()["organization"]["name"] == first.organization.name


def test_code__expired__is_unknown_to_people_and_expired_to_the_program(api: Client) -> None:
    asked = begin(api)
    DeviceLogin.objects.filter(pk=row_of(asked).pk).update(expires_at=now() - dt.timedelta(seconds=1))
    browser = owner_of(api, make_tenant())
    assert browser.get(f"{PAGE}?user_code={asked['user_code']}").status == 400
    assert refusal(poll(api, asked["device_code"])) == (400, "expired_token")
    purge_device_logins()
    assert refusal(poll(api, asked["device_code"])) == (400, "expired_token")
    DeviceLogin.objects.filter(pk=row_of(asked).pk).update(expires_at=now() - dt.timedelta(hours=2))
    purge_device_logins()
    assert refusal(poll(api, asked["device_code"])) == (400, "invalid_grant")


def test_code__authorized_and_expired_before_the_program_asks__gives_nothing(api: Client) -> None:
    tenant = make_tenant()
    asked = begin(api)
    decide(owner_of(api, tenant), asked["user_code"])
    DeviceLogin.objects.filter(pk=row_of(asked).pk).update(expires_at=now() - dt.timedelta(seconds=1))
    assert refusal(poll(api, asked["device_code"])) == (400, "expired_token")


@pytest.mark.parametrize("typed", ["{lower}", " {lower} ", "{plain}", "{spaced}"])
def test_code__typed_in_another_way__is_the_same(api: Client, typed: str) -> None:
    code = begin(api)["user_code"]
    ways = {"lower": code.lower(), "plain": code.replace("-", ""), "spaced": " ".join(code)}
    page = owner_of(api, make_tenant()).get(f"{PAGE}?{urlencode({'user_code': typed.format(**ways)})}")
    assert (page.status, code in page.text) == (200, True)


def test_poll__sooner_than_the_interval__is_told_to_slow_down(api: Client) -> None:
    asked = begin(api)
    answers = [refusal(poll(api, asked["device_code"])) for _ in range(2)]
    DeviceLogin.objects.filter(pk=row_of(asked).pk).update(polled_at=now() - dt.timedelta(seconds=5))
    answers.append(refusal(poll(api, asked["device_code"])))
    assert [error for _, error in answers] == ["authorization_pending", "slow_down", "authorization_pending"]


def test_confirmation__sent_from_another_site__is_refused(api: Client) -> None:
    tenant = make_tenant()
    asked = begin(api)
    browser = owner_of(api, tenant)
    page = browser.get(f"{PAGE}?user_code={asked['user_code']}")
    body = urlencode({"user_code": asked["user_code"], "do": "authorize", "organization": tenant.organization.pk})
    sent = api.post(PAGE, data=body, headers={**browser.headers(), **FORM, "Origin": "https://evil.example"})
    assert sent.status == 403
    assert row_of(asked).decided_at is None
    assert page.headers["X-Frame-Options"] == "DENY"
    assert "Access-Control-Allow-Origin" not in page.headers


def test_page__opened_by_a_stranger__asks_for_the_login_and_comes_back(api: Client) -> None:
    code = begin(api)["user_code"]
    answer = Browser(api).get(f"{PAGE}?user_code={code}")
    assert (answer.status, answer.headers["Location"]) == (
        302,
        f"/account/login/?next=/account/device%3Fuser_code%3D{code}",
    )


def test_page__login_is_old__asks_for_a_proof_first(api: Client) -> None:
    tenant = make_tenant()
    asked = begin(api)
    browser = owner_of(api, tenant)
    browser.get(f"{PAGE}?user_code={asked['user_code']}")
    make_stale(session_key(browser))
    sent = browser.post(PAGE, form=f"{PAGE}?user_code={asked['user_code']}", user_code=asked["user_code"], do="deny")
    shown = browser.get(f"{PAGE}?user_code={asked['user_code']}")
    assert [one.headers["Location"].partition("?")[0] for one in (shown, sent)] == ["/account/reauthenticate/"] * 2
    assert row_of(asked).decided_at is None


def session_key(browser: Browser) -> str:
    return next(value for name, value in browser.cookies.items() if "session" in name)


@pytest.mark.parametrize("role", ["member", "viewer"])
def test_page__of_a_person_who_manages_nothing__shows_no_login(role: str, api: Client) -> None:
    asked = begin(api)
    browser = logged_in(api, member_of(make_tenant().organization, role))
    page = browser.get(f"{PAGE}?user_code={asked['user_code']}")
    assert (page.status, MACHINE in text_of(page)) == (403, False)
    assert "Only owners and admins" in text_of(page)


def test_organization__of_several__is_chosen_among_those_that_one_manages(api: Client) -> None:
    tenant, second, foreign = make_tenant(), make_tenant(), make_tenant()
    Membership.objects.create(organization=second.organization, user=person_of(tenant), role="admin")
    Membership.objects.create(organization=foreign.organization, user=person_of(tenant), role="member")
    asked = begin(api)
    browser = owner_of(api, tenant)
    page = markup_of(browser.get(f"{PAGE}?user_code={asked['user_code']}"))
    listed = re.findall(r'<option value="([^"]*)"', page)
    assert set(listed) == {"", str(tenant.organization.pk), str(second.organization.pk)}
    for wrong in (str(foreign.organization.pk), "", "x"):
        assert decide(browser, asked["user_code"], organization=wrong).status == 400
    assert row_of(asked).decided_at is None
    decide(browser, asked["user_code"], organization=str(second.organization.pk))
    assert poll(api, asked["device_code"]).json()["organization"]["name"] == second.organization.name


def leave(tenant: Tenant) -> None:
    Membership.objects.filter(user=tenant.owner).update(role="member")


def be_deactivated(tenant: Tenant) -> None:
    User.objects.filter(pk=tenant.owner.pk).update(is_active=False)


def be_suspended(tenant: Tenant) -> None:
    Organization.objects.filter(pk=tenant.organization.pk).update(suspended_at=now())


def need_a_second_step(tenant: Tenant) -> None:
    Organization.objects.filter(pk=tenant.organization.pk).update(second_step_required=True)


@pytest.mark.parametrize("change", [leave, be_deactivated, be_suspended, need_a_second_step])
def test_rights__lost_before_the_program_asks__give_it_nothing(change: Any, api: Client) -> None:
    tenant = make_tenant()
    asked = begin(api)
    decide(owner_of(api, tenant), asked["user_code"])
    change(tenant)
    assert refusal(poll(api, asked["device_code"])) == (400, "access_denied")
    assert not AccessKey.objects.filter(organization=tenant.organization, name=MACHINE).exists()


def test_authorizing__for_an_organization_that_asks_for_a_second_step__leads_to_one(api: Client) -> None:
    tenant = make_tenant()
    need_a_second_step(tenant)
    asked = begin(api)
    answer = decide(owner_of(api, tenant), asked["user_code"])
    assert (answer.status, answer.headers["Location"]) == (302, "/account/2fa/")
    assert row_of(asked).decided_at is None


@pytest.mark.parametrize(
    ("path", "body", "error"),
    [
        ("code", "client_id=fieldpost-cli", "invalid_request"),
        ("code", "machine=a", "invalid_request"),
        ("code", "client_id=other&machine=a", "invalid_client"),
        ("code", "client_id=fieldpost-cli&machine=", "invalid_request"),
        ("code", "client_id=fieldpost-cli&machine=a&machine=b", "invalid_request"),
        ("code", "client_id=fieldpost-cli&machine=%0a", "invalid_request"),
        ("code", "client_id=fieldpost-cli&machine=a%0d%0ab", "invalid_request"),
        ("code", f"client_id=fieldpost-cli&machine={'a' * 101}", "invalid_request"),
        ("token", "client_id=fieldpost-cli&device_code=a", "invalid_request"),
        ("token", "client_id=fieldpost-cli&device_code=a&grant_type=password", "unsupported_grant_type"),
        ("token", f"client_id=fieldpost-cli&device_code=%00%ff&grant_type={GRANT}", "invalid_grant"),
        ("token", '{"client_id": "fieldpost-cli"}', "invalid_request"),
    ],
)
def test_program__that_asks_wrongly__is_told_so(path: str, body: str, error: str, api: Client) -> None:
    before = DeviceLogin.objects.count()
    assert refusal(api.post(f"{PAGE}/{path}", data=body, headers=FORM)) == (400, error)
    assert DeviceLogin.objects.count() == before


@pytest.mark.on_sqlite
@pytest.mark.parametrize("path", ["code", "token"])
def test_program__that_sends_no_form__is_told_so(path: str, api: Client) -> None:
    assert refusal(api.post(f"{PAGE}/{path}", json={"client_id": "fieldpost-cli"})) == (400, "invalid_request")
    assert api.get(f"{PAGE}/{path}").status == 405


def test_codes__guessed_300_times__are_refused_with_a_wait_for_programs_and_people(service: Application) -> None:
    tenant = make_tenant()
    with lasting_client(service.port) as api:
        asked = begin(api)
        browser = owner_of(api, tenant)
        for _ in range(150):
            assert refusal(poll(api, "guess")) == (400, "invalid_grant")
            assert browser.get(f"{PAGE}?user_code=BBBBBBBB").status == 400
        told = poll(api, asked["device_code"])
        page = browser.get(f"{PAGE}?user_code={asked['user_code']}")
    assert refusal(told) == (429, "rate_limited")
    assert page.status == 429
    assert all(0 < int(one.headers["Retry-After"]) <= 3601 for one in (told, page))


def test_logins__begun_100_times_from_an_address__are_429(service: Application) -> None:
    with lasting_client(service.port) as api:
        answers = [send(api, "code", machine="a") for _ in range(101)]
    assert {one.status for one in answers[:100]} == {200}
    assert refusal(answers[100]) == (429, "rate_limited")
