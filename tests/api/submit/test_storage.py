"""Stored bytes of an organization: counted, refused when used up, freed by deleting (docs/contract.md 2.21)."""

import json
from typing import Any

import pytest

from config.base.ids import Prefix, decode_id
from keys.models import Notice, Organization
from submissions.counts.stored_bytes import count_unknown
from submissions.models import Submission
from tests.services.application import Application
from tests.services.client import Client
from tests.services.waiting import eventually
from tests.support.browser import logged_in, person_of, place, text_of
from tests.support.command_line import complaint, output
from tests.support.hosted_posts import ask, post, refused_json
from tests.support.replies import failure
from tests.support.submitting import submit, submit_and_get_id
from tests.support.tenants import Tenant, make_tenant

ALLOWANCE = 3_000  # bytes
FULL = failure(
    "quota_exceeded",
    "The stored bytes of the plan are used up. Delete submissions or change the plan, then send again.",
)
VISITORS = "This form is not available."


def store(tenant: Tenant, **columns: Any) -> None:
    Organization.objects.filter(pk=tenant.organization.pk).update(**columns)


def stored(tenant: Tenant) -> int | None:
    return Organization.objects.get(pk=tenant.organization.pk).stored_bytes


def size_of(submission_id: str) -> int:
    row = Submission.objects.get(pk=decode_id(Prefix.SUBMISSION, submission_id))
    return sum(
        len(json.dumps(each, ensure_ascii=False, separators=(",", ":")).encode()) for each in (row.data, row.meta)
    )


@pytest.fixture
def small() -> Tenant:
    tenant = make_tenant()
    store(tenant, storage_limit=ALLOWANCE)
    return tenant


@pytest.fixture
def full(small: Tenant) -> Tenant:
    store(small, stored_bytes=ALLOWANCE * 3 // 2)
    return small


def test_stored_bytes__of_submissions_and_spam__are_counted_and_freed_by_deleting(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    ids = [submit_and_get_id(api, tenant, form_id, {"name": "Zoë ✉", "_gotcha": bot}) for bot in ("", "x")]
    sizes = [size_of(one) for one in ids]
    eventually(lambda: stored(tenant) == sum(sizes))
    api.delete(f"/api/submissions/{ids[0]}", tenant.key)
    assert stored(tenant) == sizes[1]
    api.delete(f"/api/submissions/{ids[1]}", tenant.key)
    assert stored(tenant) == 0


def test_submit__over_one_and_a_half_times_the_allowance__is_413_until_something_is_deleted(
    api: Client, small: Tenant
) -> None:
    kept = submit_and_get_id(api, small, values={"text": "x" * ALLOWANCE})
    eventually(lambda: (stored(small) or 0) > ALLOWANCE)
    second = submit_and_get_id(api, small, values={"text": "x" * ALLOWANCE})  # over the allowance, not yet full
    eventually(lambda: (stored(small) or 0) > 2 * ALLOWANCE)
    refused = submit(api, small.key)
    assert (refused.status, refused.json()) == (413, FULL)
    assert api.get("/api/submissions", small.key).json()["pagination"]["total"] == 2
    for one in (kept, second):
        api.delete(f"/api/submissions/{one}", small.key)
    assert submit(api, small.key).status == 201


def test_full__pages_and_scripts__get_413_with_words_for_visitors(api: Client, full: Tenant) -> None:
    form_id = full.form()
    script = submit(api, full.publishable, form_id, Origin="https://shop.example")
    assert (script.status, script.json()) == (413, failure("quota_exceeded", VISITORS))
    page = post(api, form_id, {"a": "1"})
    assert (page.status, "This form is not available" in text_of(page)) == (413, True)
    wanted = refused_json("quota_exceeded", VISITORS, {"code": "quota_exceeded", "message": VISITORS})
    assert ask(api, form_id, {"a": "1"}).json() == wanted
    assert not Submission.objects.filter(organization=full.organization).exists()


def test_full__retry_of_a_stored_submission__is_answered_as_the_first_time(api: Client, small: Tenant) -> None:
    first = submit(api, small.key, values={"a": "1"}, Idempotency_Key="one")
    store(small, stored_bytes=10 * ALLOWANCE)
    again = submit(api, small.key, values={"a": "1"}, Idempotency_Key="one")
    assert (again.status, again.headers["Idempotent-Replayed"], again.json()) == (201, "true", first.json())
    assert submit(api, small.key, values={"a": "1"}, Idempotency_Key="two").status == 413


def test_marks__of_80_and_100_percent__notify_the_owners_once_each(api: Client, small: Tenant) -> None:
    def kinds() -> list[str]:
        rows = Notice.objects.filter(organization=small.organization, kind__startswith="storage.")
        return list(rows.order_by("pk").values_list("kind", flat=True))

    submit(api, small.key, values={"text": "x" * 2_500})
    eventually(lambda: kinds() == ["storage.80"])
    for count in (2, 3):
        submit(api, small.key, values={"text": "x" * 500})
        eventually(lambda count=count: (stored(small) or 0) > 2_000 + 500 * count)  # type: ignore[misc]  # mypy cannot infer a lambda with a default
    assert kinds() == ["storage.80", "storage.100"]
    assert "4.4 KiB" in Notice.objects.get(organization=small.organization, kind="storage.100").text  # the end


def test_overview__from_80_percent_on__has_an_alert(api: Client, small: Tenant) -> None:
    owner = logged_in(api, person_of(small))
    assert "storage used" not in text_of(owner.get(place(small)))
    store(small, stored_bytes=ALLOWANCE * 8 // 10)
    page = owner.get(place(small))
    assert ('role="alert"' in page.text, "2.3 KiB of 2.9 KiB storage used" in text_of(page)) == (True, True)
    assert "80 %" in text_of(owner.get(place(small, "plan")))


def test_recount__by_command_or_clean_up__corrects_the_total(api: Client, service: Application) -> None:
    tenant = make_tenant()
    size = size_of(submit_and_get_id(api, tenant))
    eventually(lambda: stored(tenant) == size)
    store(tenant, stored_bytes=5)
    assert f"{size:,} bytes" in output(service, "recount_storage", tenant.organization.slug)
    assert stored(tenant) == size
    store(tenant, stored_bytes=None)
    count_unknown()
    assert stored(tenant) == size
    assert "nobody" in complaint(service, "recount_storage", "nobody")


@pytest.mark.parametrize(("plan", "limit"), [("pro", "5"), ("enterprise", "0")])
@pytest.mark.on_sqlite
def test_storage_limit__that_the_plan_does_not_allow__is_an_error(service: Application, plan: str, limit: str) -> None:
    slug = make_tenant().organization.slug
    assert "storage limit" in complaint(service, "set_plan", slug, plan, "--storage-limit", limit)
