"""`POST /api/submissions/bulk`: one action on up to 100 submissions, all or none (docs/contract.md 5.60)."""

from typing import Any

import pytest

from config.base.ids import Prefix, decode_id
from keys.models import AuditEvent
from submissions.models import Submission, Tally
from tests.services.client import Answer, Client
from tests.services.receivers import Receiver
from tests.services.waiting import eventually
from tests.support.replies import NOT_FOUND, UNAUTHORIZED, failure, invalid, success, unknown_id
from tests.support.rows import put, wait_until_dispatched
from tests.support.tenants import Tenant, make_tenant

PATH = "/api/submissions/bulk"


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def three(tenant: Tenant, *, spam: bool = False) -> list[str]:
    return [put(tenant, tenant.default_form_id, {"n": str(number)}, spam=spam) for number in range(3)]


def bulk(api: Client, tenant: Tenant, ids: Any, action: Any) -> Answer:
    return api.post(PATH, tenant.key, json={"ids": ids, "action": action})


def stored(tenant: Tenant) -> dict[str, bool]:
    """Return which submissions are stored, and whether each is spam."""
    return {row.public_id: row.spam for row in Submission.objects.filter(organization=tenant.organization)}


def test_bulk__delete__removes_them_and_says_how_many(api: Client, tenant: Tenant) -> None:
    first, second, kept = three(tenant)
    answer = bulk(api, tenant, [first, second, first], "delete")
    assert (answer.status, answer.json()) == (200, success({"changed": 2}, "2 are deleted."))
    assert stored(tenant) == {kept: False}


def test_bulk__spam__counts_those_that_were_not(api: Client, tenant: Tenant) -> None:
    ids = three(tenant)
    marked = put(tenant, tenant.default_form_id, {"n": "4"}, spam=True)
    answer = bulk(api, tenant, [*ids, marked], "spam")
    assert (answer.status, answer.json()) == (200, success({"changed": 3}, "3 are now marked as spam."))
    assert stored(tenant) == dict.fromkeys([*ids, marked], True)
    assert bulk(api, tenant, ids, "spam").json()["data"] == {"changed": 0}


def test_bulk__not_spam__delivers_them_like_new_ones(api: Client, tenant: Tenant, receiver: Receiver) -> None:
    ids = three(tenant, spam=True)
    wait_until_dispatched(tenant)
    hook = {"formId": tenant.default_form_id, "url": receiver.url(), "events": ["submission.created"]}
    assert api.post("/api/webhooks", tenant.key, json=hook).status == 201
    answer = bulk(api, tenant, ids[:1], "notSpam")
    assert (answer.status, answer.json()) == (200, success({"changed": 1}, "1 is now marked as not spam."))
    eventually(lambda: len(receiver.requests) == 1, because="it is delivered")
    assert stored(tenant) == {ids[0]: False, ids[1]: True, ids[2]: True}


def test_bulk__counted_ones__move_in_the_tallies(api: Client, tenant: Tenant) -> None:
    ids = three(tenant)
    wait_until_dispatched(tenant)
    assert bulk(api, tenant, ids[:2], "spam").status == 200
    assert bulk(api, tenant, ids[2:], "delete").status == 200
    tallies = Tally.objects.filter(form_id=decode_id(Prefix.FORM, tenant.default_form_id))
    assert [(tally.received, tally.kept, tally.spam) for tally in tallies] == [(3, 0, 2)]


@pytest.mark.parametrize("action", ["delete", "spam"])
def test_bulk__one_of_them_unknown__is_404_and_changes_nothing(api: Client, tenant: Tenant, action: str) -> None:
    ids = three(tenant)
    answer = bulk(api, tenant, [*ids, unknown_id(Prefix.SUBMISSION)], action)
    assert (answer.status, answer.json()) == (404, NOT_FOUND)
    assert stored(tenant) == dict.fromkeys(ids, False)


@pytest.mark.parametrize("action", ["delete", "spam"])
def test_bulk__one_of_another_organization__is_403_and_changes_nothing(
    api: Client, tenant: Tenant, action: str
) -> None:
    ids, other = three(tenant), make_tenant()
    foreign = three(other)
    answer = bulk(api, tenant, [*ids, foreign[0]], action)
    assert (answer.status, answer.json()) == (403, UNAUTHORIZED)
    assert stored(tenant) == dict.fromkeys(ids, False)
    assert stored(other) == dict.fromkeys(foreign, False)


def test_bulk__unknown_and_foreign__existence_comes_first(api: Client, tenant: Tenant) -> None:
    answer = bulk(api, tenant, [three(make_tenant())[0], unknown_id(Prefix.SUBMISSION)], "spam")
    assert (answer.status, answer.json()) == (404, NOT_FOUND)


def test_bulk__a_hundred__are_taken_and_one_more_refused(api: Client, tenant: Tenant) -> None:
    ids = [put(tenant, tenant.default_form_id, {"n": "1"}) for _ in range(100)]
    message = "ids: Ensure this field has no more than 100 elements."
    refused = bulk(api, tenant, [*ids, ids[0]], "delete")
    assert (refused.status, refused.json()) == (400, invalid(("ids", "max_length", message)))
    assert bulk(api, tenant, ids, "delete").json()["data"] == {"changed": 100}
    assert stored(tenant) == {}


@pytest.mark.on_sqlite
@pytest.mark.parametrize(
    ("ids", "action", "field"),
    [
        ([], "spam", "ids"),
        ("sub_1", "spam", "ids"),
        ({"0": "x"}, "spam", "ids"),
        (None, "spam", "ids"),
        ([5], "spam", "ids.0"),
        ([["x"]], "spam", "ids.0"),
        (["frm_01m7xm8edre0vb01kdr290cqbz"], "spam", "ids.0"),
        ([unknown_id(Prefix.SUBMISSION)], "Spam", "action"),
        ([unknown_id(Prefix.SUBMISSION)], True, "action"),
        ([unknown_id(Prefix.SUBMISSION)], ["spam"], "action"),
        ([unknown_id(Prefix.SUBMISSION)], None, "action"),
    ],
)
def test_bulk__wrong_types__are_a_validation_error(
    api: Client, tenant: Tenant, ids: Any, action: Any, field: str
) -> None:
    answer = bulk(api, tenant, ids, action)
    assert (answer.status, [one["field"] for one in answer.json()["details"]]) == (400, [field]), answer.text


@pytest.mark.on_sqlite
def test_bulk__other_methods__are_405(api: Client, tenant: Tenant) -> None:
    answer = api.get(PATH, tenant.key)
    assert (answer.status, answer.json()) == (405, failure("method_not_allowed"))


@pytest.mark.on_sqlite
def test_bulk__done__is_one_entry_of_the_audit_trail_with_every_id(api: Client, tenant: Tenant) -> None:
    ids = three(tenant)
    assert bulk(api, tenant, ids, "delete").status == 200
    event = AuditEvent.objects.filter(organization_ref=tenant.organization.pk).latest("pk")
    assert (event.action, event.subject) == ("submissions.deleted", "3 submissions")
    assert event.access_key is not None
    assert event.changes == {"submissions": [None, ids]}
