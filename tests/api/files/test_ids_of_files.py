"""Submissions whose File fields hold ids of files that were sent before (docs/contract.md 5.10)."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

from config.base.times import now
from submissions.models import StoredFile, Submission
from tests.services.client import Client
from tests.support.posted_files import PDF, file_field, files_of_form, pdf, post_files, stored_file
from tests.support.submitting import stored_data, submit
from tests.support.tenants import Tenant, make_tenant, text_field

MESSAGE = "A file in “CV” was not found, or was used already. Choose it again."


def form_of(tenant: Tenant, **values: Any) -> str:
    return tenant.form(fields=[text_field("name", required=False), file_field(**values), file_field("photo")])


def sent_before(tenant: Tenant, form_id: str, field: str = "cv", **values: Any) -> StoredFile:
    return stored_file(form_id, field, organization_id=tenant.organization.pk, **values)


@pytest.mark.parametrize("key", ["secret", "publishable", "page"])
@pytest.mark.parametrize("is_list", [False, True])
def test_id__as_a_text_or_in_a_list__becomes_the_submissions_file(is_list: bool, key: str, api: Client) -> None:
    tenant = make_tenant()
    form_id = form_of(tenant)
    row = sent_before(tenant, form_id)
    values = {"name": "Ada", "cv": [row.public_id] if is_list else row.public_id}

    if key == "page":
        answer = api.post(f"/f/{form_id}", json=values)
    else:
        answer = submit(api, tenant.key if key == "secret" else tenant.publishable, form_id, values)

    assert answer.status == 201, answer.text
    assert stored_data(api, tenant, form_id) == [{"name": "Ada", "cv": "plan.pdf"}]
    [found] = files_of_form(form_id)
    assert (found.pk, found.expires_at, found.address) == (row.pk, None, "")
    assert found.submission_id
    assert Submission.objects.get(pk=found.submission_id).files_size == len(PDF)


def test_several_ids__and_files_of_the_same_post__are_joined_in_order(api: Client) -> None:
    tenant = make_tenant()
    form_id = form_of(tenant, maxFiles=3)
    rows = [sent_before(tenant, form_id, name=f"{number}.pdf") for number in (2, 1)]

    parts = [("cv", None, row.public_id.encode()) for row in rows]
    assert post_files(api, form_id, [*parts, ("cv", "3.pdf", pdf(300_000))]).status == 201

    assert stored_data(api, tenant, form_id) == [{"cv": "2.pdf, 1.pdf, 3.pdf"}]
    assert [(row.place, row.name) for row in files_of_form(form_id)] == [(0, "2.pdf"), (1, "1.pdf"), (2, "3.pdf")]


def test_required_file__is_there__with_an_id(api: Client) -> None:
    tenant = make_tenant()
    form_id = form_of(tenant, required=True)

    assert submit(api, tenant.key, form_id, {"cv": sent_before(tenant, form_id).public_id}).status == 201
    refused = submit(api, tenant.key, form_id, {"cv": [], "name": "Ada"})
    assert refused.json()["details"] == [{"field": "cv", "code": "required", "message": "CV is required."}]


def of_another_form(tenant: Tenant, _form_id: str) -> str:
    return sent_before(tenant, form_of(tenant)).public_id


def of_another_organization(_tenant: Tenant, _form_id: str) -> str:
    return of_another_form(make_tenant(), "")


def of_another_field(tenant: Tenant, form_id: str) -> str:
    return sent_before(tenant, form_id, "photo").public_id


def expired(tenant: Tenant, form_id: str) -> str:
    return sent_before(tenant, form_id, expires_at=now() - dt.timedelta(seconds=1)).public_id


def removed(tenant: Tenant, form_id: str) -> str:
    return sent_before(tenant, form_id, removed_at=now()).public_id


def not_stored(tenant: Tenant, form_id: str) -> str:
    return sent_before(tenant, form_id, stored_at=None).public_id


def used(tenant: Tenant, form_id: str) -> str:
    other = sent_before(tenant, form_id, submission_id=tenant.organization.pk, expires_at=None)
    return other.public_id


def of_nothing(_tenant: Tenant, _form_id: str) -> str:
    return "upl_01ja0000000000000000000000"


def of_another_kind(_tenant: Tenant, form_id: str) -> str:
    return form_id


def name_of_a_file(_tenant: Tenant, _form_id: str) -> str:
    return "../../etc/passwd"


BAD = [
    of_another_form,
    of_another_organization,
    of_another_field,
    expired,
    removed,
    not_stored,
    used,
    of_nothing,
    of_another_kind,
    name_of_a_file,
]


@pytest.mark.parametrize("bad", BAD)
def test_id_that_cannot_be_used__for_whatever_reason__is_the_same_error(
    bad: Callable[[Tenant, str], str], api: Client
) -> None:
    tenant = make_tenant()
    form_id = form_of(tenant)

    answer = submit(api, tenant.key, form_id, {"name": "Ada", "cv": bad(tenant, form_id)})

    error = {"field": "cv", "code": "invalid_upload", "message": MESSAGE}
    assert (answer.status, answer.json()["details"]) == (400, [error])
    assert stored_data(api, tenant, form_id) == []


def test_id__twice_in_a_submission__or_in_two_of_them__is_refused(api: Client) -> None:
    tenant = make_tenant()
    form_id = form_of(tenant, maxFiles=3)
    row = sent_before(tenant, form_id)

    answers = [submit(api, tenant.key, form_id, {"cv": value}) for value in ([row.public_id] * 2, row.public_id)]
    again = submit(api, tenant.key, form_id, {"cv": row.public_id})

    assert [answer.status for answer in [*answers, again]] == [400, 201, 400]
    assert again.json()["details"][0]["code"] == "invalid_upload"


def test_too_many_ids__are_refused__before_they_are_looked_up(api: Client) -> None:
    tenant = make_tenant()
    form_id = form_of(tenant, maxFiles=2)

    answer = submit(api, tenant.key, form_id, {"cv": ["upl_x"] * 3})

    error = {"field": "cv", "code": "too_many", "message": "“CV” takes at most 2 files."}
    assert (answer.status, answer.json()["details"]) == (400, [error])


def test_retry_with_its_idempotency_key__after_the_id_was_used__is_replayed(api: Client) -> None:
    tenant = make_tenant()
    form_id = form_of(tenant)
    values = {"cv": sent_before(tenant, form_id).public_id}

    answers = [submit(api, tenant.key, form_id, values, Idempotency_Key="k") for _ in range(2)]

    assert [answer.status for answer in answers] == [201, 201]
    assert answers[0].json()["data"] == answers[1].json()["data"]


def test_held_submission__has_its_files(api: Client) -> None:
    tenant = make_tenant()
    form_id = form_of(tenant)
    tenant.organization.rate_limit = 1
    tenant.organization.save(update_fields=["rate_limit"])
    assert submit(api, tenant.key, form_id, {"name": "Ada"}).status == 201

    assert post_files(api, form_id, [("cv", "cv.pdf", pdf(300_000))]).status == 201

    [row] = files_of_form(form_id)
    assert row.submission_id
    held = Submission.objects.get(pk=row.submission_id)
    assert (held.held, held.files_size, held.data) == ("quota", 300_000, {"cv": "cv.pdf"})
