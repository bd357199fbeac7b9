"""`GET EVENTS_URL/events?mode=listen`: signed messages for a program that listens (docs/contract.md 8.33)."""

import dataclasses
import datetime as dt
import http.client
import json
from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import Any
from urllib.parse import urlencode

import pytest
from standardwebhooks import Webhook

from config.base.ids import Prefix, decode_id
from config.base.times import now
from keys.access_keys import regenerate_key, revoke_key
from keys.models import AccessKey, Organization
from submissions.lifecycle.spam_marks import mark_not_spam
from submissions.models import Submission
from tests.services.application import Application
from tests.services.client import Client
from tests.services.receivers import Receiver
from tests.services.waiting import eventually
from tests.support.key_records import expire, key_of
from tests.support.live_stream import Event, Listening
from tests.support.replies import (
    FORBIDDEN,
    INVALID_ACCESS_KEY,
    NOT_FOUND,
    UNAUTHORIZED,
    Like,
    failure,
    unknown_id,
)
from tests.support.rows import wait_until_dispatched
from tests.support.submitting import submit_and_get_id
from tests.support.tenants import Tenant, make_tenant
from tests.support.webhooks import message_id_of, register

NEEDED = ("submissions:read", "webhooks:write")
SECRET = Like(r"whsec_[A-Za-z0-9+/]{43}=")
ENDS_WITHIN = 10  # seconds


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def key_to_listen(tenant: Tenant) -> str:
    return tenant.issue(*NEEDED)


def messages(stream: Listening, count: int) -> list[Event]:
    """Return the messages after `ready`, once there are so many."""
    ready, *rest = stream.wait_for(count + 1)
    assert ready.name == "ready"
    assert {one.name for one in rest} <= {"message"}
    return rest


def submission_of(event: Event) -> str:
    return str(json.loads(event.data["body"])["data"]["id"])


def told_until_now(stream: Listening, api: Client, tenant: Tenant, form_id: str = "") -> list[str]:
    """
    Return the submissions that a stream has sent, sorted. One more, the last, shows that nothing else came.

    Two workers dispatch side by side, so that only what was dispatched before is sent before.
    """
    wait_until_dispatched(tenant)
    last = submit_and_get_id(api, tenant, form_id, {"note": "the last one"})

    def ids() -> list[str]:
        return [submission_of(event) for event in stream.events if event.name == "message"]

    eventually(lambda: last in ids(), because="the last message comes")
    return sorted(one for one in ids() if one != last)


def refusal(port: int, key: str = "", **query: str) -> tuple[int, Any, dict[str, str]]:
    headers = {"x-access-key": key} if key else {}
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        connection.request("GET", f"/events?{urlencode({'mode': 'listen', **query})}", headers=headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read()), dict(answer.getheaders())


def test_listening__a_submission__comes_as_a_webhook_would_get_it(
    api: Client, service: Application, tenant: Tenant, receiver: Receiver
) -> None:
    form_id = tenant.form(name="Contact")
    register(api, tenant, receiver.url(), form_id)
    with Listening(service.events_port, key_to_listen(tenant)) as stream:
        (ready,) = stream.wait_for(1)
        assert (ready.name, ready.data) == ("ready", {"secret": SECRET, "mode": "live"})
        pk = submit_and_get_id(api, tenant, form_id, {"name": "Ada", "note": "a\n\u2028</script>"})
        (event,) = messages(stream, 1)
    (delivered,) = receiver.wait_for(1)
    assert event.data["body"] == delivered.body.decode()
    assert event.data["headers"] == {
        "webhook-id": message_id_of(pk),
        "webhook-timestamp": Like(r"\d{10}"),
        "webhook-signature": Like("v1,.+"),
    }
    assert Webhook(ready.data["secret"]).verify(event.data["body"], event.data["headers"])["data"]["id"] == pk


def test_listening__of_one_form__brings_no_other_form_spam_or_organization(
    api: Client, service: Application, tenant: Tenant
) -> None:
    form_id, other = tenant.form(), make_tenant()
    with Listening(service.events_port, key_to_listen(tenant), form_id=form_id) as stream:
        stream.wait_for(1)
        submit_and_get_id(api, tenant, values={"note": "to the default form"})
        submit_and_get_id(api, other, values={"note": "to another organization"})
        api.post(f"/api/submit?formId={form_id}", tenant.key, json={"note": "a robot", "_gotcha": "x"})
        wanted = submit_and_get_id(api, tenant, form_id, {"note": "wanted"})
        assert told_until_now(stream, api, tenant, form_id) == [wanted]


def test_listening__of_a_test_key__brings_tests_alone_and_of_a_live_key_none(
    api: Client, service: Application, tenant: Tenant
) -> None:
    test_key = tenant.issue(*NEEDED, mode="test")
    testing = dataclasses.replace(tenant, key=test_key)
    with Listening(service.events_port, test_key) as tests, Listening(service.events_port, tenant.key) as lives:
        assert (tests.wait_for(1)[0].data["mode"], lives.wait_for(1)[0].data["mode"]) == ("test", "live")
        live, test = submit_and_get_id(api, tenant), submit_and_get_id(api, testing)
        assert told_until_now(tests, api, testing) == [test]
        assert told_until_now(lives, api, tenant) == [live]


def test_listening__marked_as_not_spam__comes_then(api: Client, service: Application, tenant: Tenant) -> None:
    with Listening(service.events_port, key_to_listen(tenant)) as stream:
        stream.wait_for(1)
        answer = api.post("/api/submit", tenant.key, json={"note": "a robot", "_gotcha": "x"})
        pk = answer.json()["data"]["id"]
        row = Submission.objects.filter(pk=decode_id(Prefix.SUBMISSION, pk))
        eventually(lambda: row.filter(dispatched_at__isnull=False).exists(), because="it is dispatched")
        mark_not_spam(row.get())
        assert [submission_of(event) for event in messages(stream, 1)] == [pk]


def test_listening__connected_again__misses_nothing_and_gets_nothing_twice(
    api: Client, service: Application, tenant: Tenant
) -> None:
    key = key_to_listen(tenant)
    with Listening(service.events_port, key) as stream:
        stream.wait_for(1)
        seen = submit_and_get_id(api, tenant)
        (event,) = messages(stream, 1)
        assert submission_of(event) == seen
    missed = [submit_and_get_id(api, tenant, values={"number": str(number)}) for number in range(12)]
    with Listening(service.events_port, key, after=event.id) as stream:
        assert sorted(submission_of(one) for one in messages(stream, 12)) == sorted(missed)
        live = submit_and_get_id(api, tenant)
        assert told_until_now(stream, api, tenant) == sorted([*missed, live])


def test_listening__connected_again_before_any_message__goes_on_from_ready(
    api: Client, service: Application, tenant: Tenant
) -> None:
    key = key_to_listen(tenant)
    submit_and_get_id(api, tenant)
    wait_until_dispatched(tenant)
    with Listening(service.events_port, key) as stream:
        (ready,) = stream.wait_for(1)
    missed = submit_and_get_id(api, tenant)
    with Listening(service.events_port, key, after=ready.id) as stream:
        assert missed in [submission_of(one) for one in messages(stream, 1)]


@pytest.mark.parametrize(("minutes", "comes"), [(9, True), (11, False)])
def test_listening__away_for_minutes__gets_ten_of_them(
    minutes: int, comes: bool, api: Client, service: Application, tenant: Tenant
) -> None:
    pk = submit_and_get_id(api, tenant)
    row = Submission.objects.filter(pk=decode_id(Prefix.SUBMISSION, pk))
    eventually(lambda: row.filter(dispatched_at__isnull=False).exists(), because="it is dispatched")
    row.update(dispatched_at=now() - dt.timedelta(minutes=minutes))
    with Listening(service.events_port, key_to_listen(tenant), after="0") as stream:
        assert told_until_now(stream, api, tenant) == ([pk] if comes else [])


def test_listening__secret__is_that_of_the_key_and_outlives_its_regeneration(
    service: Application, tenant: Tenant
) -> None:
    keys = [key_to_listen(tenant), key_to_listen(tenant)]
    keys.append(regenerate_key(key_of(keys[0]), by=None))
    first, second, renewed = keys[0], keys[1], keys[2]
    secrets = []
    for key in (renewed, second, renewed):
        with Listening(service.events_port, key) as stream:
            secrets.append(stream.wait_for(1)[0].data["secret"])
    assert secrets[0] == secrets[2] != secrets[1]
    assert refusal(service.events_port, first)[:2] == (401, INVALID_ACCESS_KEY)


def suspend(key: AccessKey) -> None:
    Organization.objects.filter(pk=key.organization_id).update(suspended_at=now())


def let_expire(key: AccessKey) -> None:
    AccessKey.objects.filter(pk=key.pk).update(expires_on=now().date() - dt.timedelta(days=1))


ENDINGS: dict[str, Callable[[AccessKey], object]] = {
    "revoked": lambda key: revoke_key(key, by=None),
    "regenerated": lambda key: regenerate_key(key, by=None),
    "expired": let_expire,
    "suspended": suspend,
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_listening__key_that_ends__ends_the_stream_and_opens_no_other(
    ending: str, service: Application, tenant: Tenant
) -> None:
    key, untouched = key_to_listen(tenant), key_to_listen(make_tenant())
    with Listening(service.events_port, key) as stream, Listening(service.events_port, untouched) as other:
        stream.wait_for(1)
        other.wait_for(1)
        ENDINGS[ending](key_of(key))
        assert stream.ended.wait(ENDS_WITHIN)
        assert not other.ended.is_set()
    status, body, _ = refusal(service.events_port, key)
    assert (status, body) == ((403, failure("suspended")) if ending == "suspended" else (401, INVALID_ACCESS_KEY))


def test_listening__eleventh_stream_of_a_key__is_429_until_one_ends(service: Application, tenant: Tenant) -> None:
    key, other = key_to_listen(tenant), key_to_listen(tenant)
    with ExitStack() as open_streams:
        for _ in range(9):
            open_streams.enter_context(Listening(service.events_port, key)).wait_for(1)
        with Listening(service.events_port, key) as tenth:
            tenth.wait_for(1)
            status, body, headers = refusal(service.events_port, key)
            assert (status, body, headers["retry-after"]) == (429, failure("rate_limited"), "10")
            open_streams.enter_context(Listening(service.events_port, other)).wait_for(1)
        eventually(lambda: _opens(service, key), because="there is a place again")


def _opens(service: Application, key: str) -> bool:
    with Listening(service.events_port, key) as stream:
        return stream.answer.status == 200


def test_listening__openings__count_nothing_in_the_hour(service: Application, api: Client, tenant: Tenant) -> None:
    for _ in range(3):
        with Listening(service.events_port, tenant.key) as stream:
            stream.wait_for(1)
    assert api.get("/api/me", tenant.key).json()["data"]["hour"]["used"] == 1


def test_listening__key_in_the_query__is_401(service: Application, tenant: Tenant) -> None:
    for query in ({"x-access-key": tenant.key}, {"token": tenant.key}, {}):
        status, body, headers = refusal(service.events_port, **query)
        assert (status, body) == (401, INVALID_ACCESS_KEY)
        assert headers["www-authenticate"] == "AccessKey"


@pytest.mark.parametrize(
    ("permissions", "body", "missing"),
    [
        ((), FORBIDDEN, None),
        (("forms:read", "analytics:read"), FORBIDDEN, None),
        (("submissions:read",), UNAUTHORIZED, "webhooks:write"),
        (("webhooks:write",), UNAUTHORIZED, "submissions:read"),
    ],
)
def test_listening__key_with_too_few_permissions__is_403(
    permissions: tuple[str, ...], body: Any, missing: str | None, service: Application, tenant: Tenant
) -> None:
    status, told, headers = refusal(service.events_port, tenant.issue(*permissions), formId="x")
    assert (status, told, headers.get("x-required-permission")) == (403, body, missing)


def test_listening__publishable_misspelt_or_expired_key__is_refused(service: Application, tenant: Tenant) -> None:
    assert refusal(service.events_port, tenant.publishable)[:2] == (403, FORBIDDEN)
    ended = key_to_listen(tenant)
    expire(ended)
    for key in (tenant.key[:-1], "x" * 5_000, "\xff", ended):
        assert refusal(service.events_port, key)[:2] == (401, INVALID_ACCESS_KEY)


def test_listening__wrong_parameters__are_told(service: Application, tenant: Tenant) -> None:
    foreign = make_tenant().default_form_id
    assert refusal(service.events_port, tenant.key, formId=unknown_id("frm"))[:2] == (404, NOT_FOUND)
    assert refusal(service.events_port, tenant.key, formId=foreign)[:2] == (403, UNAUTHORIZED)
    for name, value, code in (("formId", "x", "invalid_id"), ("formid", "x", "unknown_parameter")):
        status, body, _ = refusal(service.events_port, tenant.key, **{name: value})
        assert (status, [(one["field"], one["code"]) for one in body["details"]]) == (400, [(name, code)])
    with Listening(service.events_port, tenant.key, after="sub_1") as stream:
        assert stream.answer.status == 400


def test_listening__position_beyond_the_newest__begins_now(api: Client, service: Application, tenant: Tenant) -> None:
    submit_and_get_id(api, tenant)
    with Listening(service.events_port, tenant.key, after="999999999999") as stream:
        stream.wait_for(1)
        wanted = submit_and_get_id(api, tenant)
        assert wanted in told_until_now(stream, api, tenant)
