"""Posts to `/f/` over the hour: held, shown, released in order, bounded (docs/contract.md 2.11 to 2.15)."""

import csv
import io
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from config.api.ratelimit import BUSY
from keys.models import Organization
from keys.organizations import set_plan
from keys.plans import Plan
from submissions.models import Submission
from tests.services.client import Answer, Client
from tests.services.receivers import Receiver
from tests.services.waiting import eventually
from tests.support.hosted_posts import ask, post
from tests.support.rate_windows import CHEAP, counted_tenant, remaining
from tests.support.replies import invalid
from tests.support.submitting import records, submit
from tests.support.tenants import Tenant, make_tenant
from tests.support.webhooks import register

SPAM = {"_gotcha": "yes", "n": "spam"}


def full(api: Client, limit: int) -> tuple[Tenant, str]:
    """
    Return an organization with room for no browser submission in this hour, and a form of it.

    A tenth of `limit` is left for the owner's own requests.
    """
    tenant = counted_tenant(api, rate_limit=limit)  # counts one
    while remaining(api.get(CHEAP, tenant.key)) > limit - limit * 9 // 10:
        pass
    return tenant, tenant.form()


def hold(api: Client, form_id: str, *numbers: int) -> None:
    for number in numbers:
        assert post(api, form_id, {"n": str(number)}).status == 303


def held_of(tenant: Tenant) -> dict[str, str]:
    """Return `n` of each submission, oldest first, with the reason why it is held. Costs no request of its hour."""
    rows = Submission.objects.filter(organization=tenant.organization).order_by("id")
    return {row.data["n"]: row.held for row in rows}


def found(api: Client, tenant: Tenant, form_id: str, query: str) -> list[str]:
    body = api.get(f"/api/submissions?formId={form_id}&{query}", tenant.key).json()
    assert body["pagination"]["total"] == len(body["data"])
    return [one["data"]["n"] for one in body["data"]]


def larger_plan(tenant: Tenant, limit: int) -> None:
    set_plan(Organization.objects.get(pk=tenant.organization.pk), Plan.ENTERPRISE, by=None, rate_limit=limit)


def test_full_hour__post__is_answered_like_success__held__and_the_owner_still_gets_in(api: Client) -> None:
    tenant, form_id = full(api, 10)

    plain, asked = post(api, form_id, {"n": "1"}), ask(api, form_id, {"n": "2"})
    keyed = submit(api, tenant.publishable, form_id, {"n": "3"})
    owner = api.get("/api/forms", tenant.key)

    assert (plain.status, asked.status, asked.json()["success"]) == (303, 201, True)
    assert (keyed.status, keyed.json()["error"], keyed.json()["message"]) == (429, "rate_limited", BUSY)
    assert 0 < int(keyed.headers["Retry-After"]) <= 3600
    assert (owner.status, remaining(owner)) == (200, 0)
    assert api.get("/api/forms", tenant.key).status == 429
    assert held_of(tenant) == {"1": "quota", "2": "quota"}


def test_held__lists_exports_and_details__show_it_from_the_start(api: Client) -> None:
    tenant, form_id = full(api, 100)
    submit(api, tenant.key, form_id, {"n": "server"})
    hold(api, form_id, 1)

    assert found(api, tenant, form_id, "") == found(api, tenant, form_id, "held=all") == ["1", "server"]
    assert found(api, tenant, form_id, "held=true") == ["1"]
    assert found(api, tenant, form_id, "held=false") == ["server"]
    one = api.get(f"/api/submissions?formId={form_id}", tenant.key).json()["data"][0]
    assert one["held"] == "quota"
    assert api.get(f"/api/submissions/{one['id']}", tenant.key).json()["data"] == one
    export = f"/api/submissions/export?formId={form_id}&held=true&format="
    assert json.loads(api.get(f"{export}json", tenant.key).text) == [one]
    assert json.loads(api.get(f"{export}ndjson", tenant.key).text) == one
    rows = list(csv.reader(io.StringIO(api.get(f"{export}csv", tenant.key).text.lstrip("\ufeff"))))
    assert rows == [["id", "formId", "createdAt", "n"], [one["id"], form_id, one["createdAt"], "1"]]
    assert api.get("/api/submissions?held=maybe", make_tenant().key).json()["error"] == "validation_error"


def test_held__counts__include_it_at_once_and_its_delivery_later(api: Client) -> None:
    tenant, form_id = full(api, 20)
    hold(api, form_id, 1)

    totals = api.get(f"/api/analytics?formId={form_id}", tenant.key).json()["data"]["totals"]
    form = api.get(f"/api/forms/{form_id}", tenant.key).json()["data"]

    assert totals == {"received": 1, "spam": 0, "delivered": 0, "failed": 0}
    assert form["submissionCount"] == 1


def test_larger_plan__held_posts__are_released_in_order_delivered_and_counted(api: Client, receiver: Receiver) -> None:
    tenant, form_id = full(api, 30)
    register(api, tenant, receiver.url(), form_id)
    hold(api, form_id, 1, 2, 3)
    assert receiver.requests == []

    larger_plan(tenant, 1000)

    eventually(lambda: len(receiver.requests) == 3, 60, "the held submissions are delivered")
    records_sent = [json.loads(request.body)["data"] for request in receiver.requests]
    assert {one["data"]["n"]: one["held"] for one in records_sent} == {"1": None, "2": None, "3": None}
    assert held_of(tenant) == {"1": "", "2": "", "3": ""}
    assert 1000 - remaining(api.get("/api/forms", tenant.key)) == 27 + 1 + 3 + 1  # a webhook, the released, and this


def test_queue__post_while_others_are_held__is_held_though_there_is_room(api: Client) -> None:
    tenant, form_id = full(api, 20)
    hold(api, form_id, 1)
    Organization.objects.filter(pk=tenant.organization.pk).update(rate_limit=100)
    hold(api, form_id, 2)
    keyed = submit(api, tenant.publishable, form_id, {"n": "3"})

    # The deliverer may release the first one meanwhile, but never the second one before it.
    seen = held_of(tenant)
    assert keyed.status == 201
    assert seen["3"] == ""
    assert seen["2"] == "quota" or seen["1"] == ""


def test_release__by_hand__delivers_and_counts_nothing(api: Client, receiver: Receiver) -> None:
    tenant, form_id = full(api, 60)
    register(api, tenant, receiver.url(), form_id)
    hold(api, form_id, 1, 2)
    _oldest, newest = records(api, tenant, form_id)
    before = remaining(api.get("/api/forms", tenant.key))

    answer = api.patch(f"/api/submissions/{newest['id']}", tenant.key, json={"held": None})
    again = api.patch(f"/api/submissions/{newest['id']}", tenant.key, json={"held": None})

    released = {**newest, "held": None}
    assert answer.json() == {"success": True, "data": released, "message": "Released."}
    assert again.json() == {"success": True, "data": released, "message": "Not held."}
    (sent,) = receiver.wait_for(1)
    assert json.loads(sent.body)["data"]["id"] == newest["id"]
    assert before - remaining(api.get("/api/forms", tenant.key)) == 3  # the requests since then
    assert held_of(tenant) == {"1": "quota", "2": ""}


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"held": "quota"}, ("held", "invalid", "held: Must be null, which releases the submission.")),
        ({"held": False}, ("held", "invalid", "held: Must be null, which releases the submission.")),
        ({}, ("spam", "required", "spam: This field is required.")),
    ],
)
def test_release__other_values__are_refused(api: Client, body: Any, problem: tuple[str, str, str]) -> None:
    tenant, form_id = full(api, 20)
    hold(api, form_id, 1)
    (one,) = records(api, tenant, form_id)

    answer = api.patch(f"/api/submissions/{one['id']}", tenant.key, json=body)

    assert (answer.status, answer.json()) == (400, invalid(problem))
    assert held_of(tenant) == {"1": "quota"}


def test_release__without_the_right__is_refused(api: Client) -> None:
    tenant, form_id = full(api, 20)
    hold(api, form_id, 1)
    (one,) = records(api, tenant, form_id)

    statuses = [
        api.patch(f"/api/submissions/{one['id']}", key, json={"held": None}).status
        for key in (tenant.issue("submissions:read"), make_tenant().key, tenant.publishable)
    ]

    assert statuses == [403, 403, 403]
    assert held_of(tenant) == {"1": "quota"}


def test_ten_hours_of_the_plan__are_held_at_most__and_spam_goes_on_being_stored(api: Client) -> None:
    tenant = counted_tenant(api, rate_limit=1)
    form_id = tenant.form()
    with Client(api.port) as other:  # ten a minute come from one address
        hold(other, form_id, *range(10))
    refused, as_json = post(api, form_id, {"n": "keep me"}), ask(api, form_id, {"n": "keep me"})
    spam = post(api, form_id, SPAM)
    Organization.objects.filter(pk=tenant.organization.pk).update(rate_limit=1000)

    assert (refused.status, "keep me" in refused.text, BUSY in refused.text) == (429, True, True)
    assert (as_json.status, as_json.json()["message"]) == (429, BUSY)
    assert not re.search(r"\d", BUSY)
    assert spam.status == 303
    (one,) = api.get(f"/api/submissions?formId={form_id}&spam=true", tenant.key).json()["data"]
    assert (one["data"]["n"], one["held"]) == ("spam", None)


@pytest.mark.parametrize("way", ["delete", "spam", "release"])
def test_room__below_the_ten_hours__comes_by_hand(api: Client, way: str) -> None:
    tenant = counted_tenant(api, rate_limit=1)
    form_id, organization = tenant.form(), Organization.objects.filter(pk=tenant.organization.pk)
    with Client(api.port) as other:
        hold(other, form_id, *range(10))
    assert post(api, form_id, {"n": "10"}).status == 429
    organization.update(rate_limit=2)  # one more request, none of which is for pages
    third = Submission.objects.filter(organization=tenant.organization).order_by("id")[2]
    path = f"/api/submissions/{third.public_id}"

    act: dict[str, Callable[[], Answer]] = {
        "delete": lambda: api.delete(path, tenant.key),
        "spam": lambda: api.patch(path, tenant.key, json={"spam": True}),
        "release": lambda: api.patch(path, tenant.key, json={"held": None}),
    }
    assert act[way]().status == 200
    organization.update(rate_limit=1)

    assert organization.values_list("held_posts", flat=True).get() == 9
    assert post(api, form_id, {"n": "10"}).status == 303
    assert post(api, form_id, {"n": "11"}).status == 429


def test_replay__of_a_held_post__holds_no_second_one(api: Client) -> None:
    tenant, form_id = full(api, 10)

    first = ask(api, form_id, {"n": "1"}, Idempotency_Key="once")
    second = ask(api, form_id, {"n": "1"}, Idempotency_Key="once")

    assert first.json() == second.json()
    assert second.headers["Idempotent-Replayed"] == "true"
    assert Organization.objects.get(pk=tenant.organization.pk).held_posts == 1


def test_held__read_by_a_cursor__comes_when_it_is_accepted_and_not_again_when_released(api: Client) -> None:
    tenant, form_id = full(api, 30)
    hold(api, form_id, 1, 2)

    first = api.get("/api/submissions?cursor=", tenant.key).json()
    assert api.patch(f"/api/submissions/{first['data'][0]['id']}", tenant.key, json={"held": None}).status == 200
    hold(api, form_id, 3)
    then = api.get(f"/api/submissions?cursor={first['pagination']['next']}", tenant.key).json()

    assert [(one["data"]["n"], one["held"]) for one in first["data"]] == [("1", "quota"), ("2", "quota")]
    assert [one["data"]["n"] for one in then["data"]] == ["3"]
