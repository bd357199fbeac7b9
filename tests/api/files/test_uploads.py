"""Files by themselves: `POST /f/{formId}/uploads` and `POST /api/uploads` (docs/contract.md 11)."""

import hashlib
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from config.base.ids import Prefix, decode_id
from keys.models import Organization
from submissions.models import StoredFile
from tests.services.application import Application
from tests.services.client import Answer, Client
from tests.services.receivers import Receiver, Reply
from tests.support.hosted_posts import solve
from tests.support.posted_files import (
    FILE_HEADERS,
    MIB,
    OTHER_BOUNDARY,
    PDF,
    Part,
    body_of,
    files_of_form,
    pdf,
    post_files,
    with_other_boundary,
)
from tests.support.posted_files.uploads import form_with_files, parts_of, upload
from tests.support.submitting import records, submit
from tests.support.tables.databases import first_on_both
from tests.support.tenants import make_tenant


def upload_with_key(api: Client, key: str, form_id: str, content: bytes = PDF, *, idempotency_key: str = "") -> Answer:
    body = body_of(parts_of(content, formId=form_id))
    headers = FILE_HEADERS | ({"Idempotency-Key": idempotency_key} if idempotency_key else {})
    return api.post("/api/uploads", key, data=body, headers=headers)


def bytes_of(service: Application, row: StoredFile) -> bytes:
    path = Path(service.environment["DATA_DIR"]) / "files" / row.pk.hex[-2:] / row.pk.hex
    return path.read_bytes()


@pytest.mark.parametrize("size", [len(PDF), 3 * MIB], ids=["in memory", "in a file"])
@pytest.mark.parametrize("way", ["page", "key"])
def test_upload__is_kept__and_its_id_is_good_once(way: str, size: int, service: Application, api: Client) -> None:
    tenant = make_tenant()
    form_id = form_with_files(tenant)
    content = PDF if size == len(PDF) else pdf(size)

    if way == "page":
        answer = upload(api, form_id, parts_of(content))
    else:
        answer = upload_with_key(api, tenant.issue(), form_id, content)

    assert answer.status == 201, answer.text
    [row] = files_of_form(form_id)
    assert answer.json() == {
        "success": True,
        "data": {
            "id": row.public_id,
            "field": "cv",
            "name": "plan.pdf",
            "size": size,
            "type": "application/pdf",
            "sha256": hashlib.sha256(content).hexdigest(),
        },
        "message": "The file is kept. Send its id as the value of the field.",
    }
    assert answer.headers["Cache-Control"] == "no-store"
    assert bytes_of(service, row) == content
    assert row.expires_at
    assert row.stored_at
    assert (row.expires_at - row.stored_at).days == 7
    assert row.address == api.address
    assert submit(api, tenant.key, form_id, {"cv": row.public_id}).status == 201
    refused = submit(api, tenant.key, form_id, {"cv": row.public_id})
    assert refused.json()["details"][0]["code"] == "invalid_upload"
    assert len(records(api, tenant, form_id)) == 1


@pytest.mark.parametrize(
    ("parts", "status", "field", "code"),
    first_on_both(
        [
            (parts_of(b""), 400, "cv", "empty_file"),
            (parts_of(b"<html><script>alert(1)</script>", name="a.pdf"), 400, "cv", "file_type_not_allowed"),
            (parts_of(pdf(10 * MIB + 1)), 400, "cv", "too_large"),
            (parts_of(field="name"), 400, "name", "file_not_allowed"),
            (parts_of(field="unknown"), 400, "unknown", "file_not_allowed"),
            (parts_of()[1:], 400, "field", "required"),
            (parts_of()[:1], 400, "file", "required"),
            ([*parts_of(), ("file", "b.pdf", PDF)], 400, "file", "too_many"),
            ([*parts_of(), ("cv", "b.pdf", PDF)], 400, "file", "required"),
        ]
    ),
    ids=["empty", "html", "too large", "text field", "no field", "unnamed", "no file", "two files", "other name"],
)
def test_upload__that_does_not_fit__is_refused_and_nothing_is_kept(
    parts: list[Part], status: int, field: str, code: str, api: Client
) -> None:
    tenant = make_tenant()
    form_id = form_with_files(tenant)

    answer = upload(api, form_id, parts)

    assert answer.status == status, answer.text
    assert answer.json()["error"] == "validation_error"
    assert [(one["field"], one["code"]) for one in answer.json()["details"]] == [(field, code)]
    with_key = [("formId", None, form_id.encode()), *parts]
    answer = api.post("/api/uploads", tenant.key, data=body_of(with_key), headers=FILE_HEADERS)
    assert [(one["field"], one["code"]) for one in answer.json()["details"]] == [(field, code)]
    assert files_of_form(form_id) == []


def test_upload__to_a_form_that_takes_nothing__is_refused(api: Client) -> None:
    tenant = make_tenant()
    draft = form_with_files(tenant, published=False)
    own_pages = form_with_files(tenant, allowed_origins=["https://acme.example"])

    assert (upload(api, draft).status, upload(api, draft).json()["error"]) == (403, "form_not_published")
    assert upload_with_key(api, tenant.key, draft).json()["error"] == "form_not_published"
    other = upload(api, own_pages, Origin="https://evil.example")
    assert (other.status, other.json()["error"]) == (403, "origin_not_allowed")
    assert upload(api, own_pages, Origin="https://acme.example").status == 201
    assert upload(api, "frm_01ja0000000000000000000000").json()["error"] == "not_found"
    assert upload(api, "../../etc/passwd").status == 404
    assert files_of_form(draft) == []


def test_upload__of_another_media_type_or_method__is_refused(api: Client) -> None:
    form_id = form_with_files(make_tenant())

    as_json = api.post(f"/f/{form_id}/uploads", json={"field": "cv"})
    assert (as_json.status, as_json.json()["error"]) == (415, "unsupported_media_type")
    read = api.get(f"/f/{form_id}/uploads")
    assert (read.status, read.json()["error"], read.headers["Allow"]) == (405, "method_not_allowed", "POST, OPTIONS")


def test_upload__of_a_script_of_any_origin__may_read_the_answer(api: Client) -> None:
    form_id = form_with_files(make_tenant())
    asked = {"Origin": "https://acme.example", "Access-Control-Request-Method": "POST"}

    assert api.options(f"/f/{form_id}/uploads", headers=asked).status == 204
    answer = upload(api, form_id, Origin="https://acme.example")
    assert answer.headers["Access-Control-Allow-Origin"] == "https://acme.example"
    assert "Access-Control-Allow-Origin" not in api.options("/api/uploads", headers=asked).headers


def test_upload__with_a_key__needs_a_secret_one_of_the_forms_organization(api: Client) -> None:
    tenant, other = make_tenant(), make_tenant()
    form_id = form_with_files(tenant)

    answers = [upload_with_key(api, key, form_id) for key in ("", tenant.publishable, other.key)]

    assert [(one.status, one.json()["error"]) for one in answers] == [
        (401, "invalid_access_key"),
        (403, "forbidden"),
        (403, "unauthorized"),
    ]
    assert files_of_form(form_id) == []


def test_upload__with_names_that_are_not_known__is_refused(api: Client) -> None:
    tenant = make_tenant()
    form_id = form_with_files(tenant)
    body = body_of(parts_of(formId=form_id, folder="x"))

    answer = api.post("/api/uploads", tenant.key, data=body, headers=FILE_HEADERS)

    assert [(one["field"], one["code"]) for one in answer.json()["details"]] == [("folder", "unknown_field")]


def test_upload__repeated_with_its_idempotency_key__is_one_file(api: Client) -> None:
    tenant = make_tenant()
    form_id = form_with_files(tenant)

    first = upload_with_key(api, tenant.key, form_id, idempotency_key="a")
    body = with_other_boundary(body_of(parts_of(PDF, formId=form_id)))
    again = api.post("/api/uploads", tenant.key, data=body, headers=OTHER_BOUNDARY | {"Idempotency-Key": "a"})
    conflict = upload_with_key(api, tenant.key, form_id, pdf(500), idempotency_key="a")

    assert (first.status, again.status, conflict.status) == (201, 201, 409)
    assert first.json() == again.json()
    assert again.headers["Idempotent-Replayed"] == "true"
    assert [row.public_id for row in files_of_form(form_id) if not row.removed_at] == [first.json()["data"]["id"]]


def test_uploads__of_several_files_at_the_same_time_with_one_idempotency_key__leave_one(service: Application) -> None:
    tenant = make_tenant()
    form_id = form_with_files(tenant)

    def send(number: int) -> int:
        with Client(service.port) as api:
            return upload_with_key(api, tenant.key, form_id, pdf(MIB + number), idempotency_key="a").status

    with ThreadPoolExecutor(4) as pool:
        answers = sorted(pool.map(send, range(4)))

    assert answers == [201, 409, 409, 409]
    assert len([row for row in files_of_form(form_id) if not row.removed_at]) == 1


def test_file__that_would_go_over_the_stored_bytes_of_the_plan__is_refused__and_texts_are_not(api: Client) -> None:
    tenant = make_tenant()
    form_id = form_with_files(tenant)
    early = upload(api, form_id).json()["data"]["id"]
    Organization.objects.filter(pk=tenant.organization.pk).update(storage_limit=MIB, stored_bytes=MIB - len(PDF) + 1)

    refused = [
        upload(api, form_id),
        upload_with_key(api, tenant.key, form_id),
        submit(api, tenant.key, form_id, {"cv": early}),
        post_files(api, form_id, [("cv", "cv.pdf", PDF)]),
    ]
    assert [(one.status, one.json()["error"]) for one in refused] == [(413, "quota_exceeded")] * 4
    assert submit(api, tenant.key, form_id, {"name": "Ada"}).status == 201

    Organization.objects.filter(pk=tenant.organization.pk).update(stored_bytes=MIB - len(PDF))
    assert submit(api, tenant.key, form_id, {"cv": early}).status == 201


def test_uploads__of_one_visitor__have_room_for_the_files_of_a_form(shared_service: Callable[..., Application]) -> None:
    """The bursts of submissions, here 2 a minute of an address, would refuse the submission after its files."""
    form_id = form_with_files(make_tenant())
    with Client(shared_service(BURST_PER_ADDRESS_AND_FORM="2/m").port) as api:
        ids = [upload(api, form_id).json()["data"]["id"] for _ in range(6)]
        assert api.post(f"/f/{form_id}", json={"cv": ids[:3]}).status == 201

        statuses = [upload(api, form_id).status for _ in range(36)]  # over 20 in each minute, if a new one starts
    assert set(statuses) == {201, 429}


def test_proof_of_work__of_one_visitor__is_good_for_the_files_and_the_submission(api: Client) -> None:
    form_id = form_with_files(make_tenant(), spam_protection={"proof_of_work": True})
    other = form_with_files(make_tenant(), spam_protection={"proof_of_work": True})

    without = upload(api, form_id)
    assert [(one["field"], one["code"]) for one in without.json()["details"]] == [("_altcha", "proof_of_work_required")]
    proof = solve(api, form_id)
    answers = [upload(api, form_id, parts_of(_altcha=proof)) for _ in range(4)]
    assert [one.status for one in answers] == [201, 201, 201, 400]  # maxFiles is 3
    assert upload(api, other, parts_of(_altcha=proof)).status == 400
    ids = [one.json()["data"]["id"] for one in answers[:3]]
    assert api.post(f"/f/{form_id}", json={"cv": ids, "_altcha": proof}).status == 201
    assert upload(api, form_id, parts_of(_altcha=proof)).status == 400
    assert api.post(f"/f/{form_id}", json={"name": "Ada", "_altcha": proof}).status == 400


def test_proof_of_work__while_redis_is_unavailable__is_good_for_the_files_and_the_submission(
    shared_service: Callable[..., Application],
) -> None:
    form_id = form_with_files(make_tenant(), spam_protection={"proof_of_work": True})
    with Client(shared_service(REDIS_URL="redis://127.0.0.1:1/0").port) as api:
        proof = solve(api, form_id)
        answers = [upload(api, form_id, parts_of(_altcha=proof)) for _ in range(4)]
        assert [one.status for one in answers] == [201, 201, 201, 400]  # maxFiles is 3
        ids = [one.json()["data"]["id"] for one in answers[:3]]
        assert api.post(f"/f/{form_id}", json={"cv": ids, "_altcha": proof}).status == 201
        assert api.post(f"/f/{form_id}", json={"name": "Ada", "_altcha": proof}).status == 400


@pytest.fixture
def verifier() -> Iterator[Receiver]:
    """Yield a captcha service that knows each token once."""
    with Receiver() as server:
        yield server


def test_captcha__is_checked_once_for_the_files_and_the_submission(
    verifier: Receiver, shared_service: Callable[..., Application]
) -> None:
    service = shared_service(TURNSTILE_VERIFY_URL=verifier.url("/turnstile"))
    protection = {"captcha": "turnstile", "captcha_site_key": "site", "captcha_secret": "secret"}
    form_id = form_with_files(make_tenant(), spam_protection=protection)
    yes, no = (Reply(body=json.dumps({"success": success}).encode()) for success in (True, False))
    verifier.replies.append(yes)
    verifier.reply = no  # a token is good once
    token = {"cf-turnstile-response": "a token"}
    with_token = [*parts_of(), ("cf-turnstile-response", None, b"a token")]

    with Client(service.port) as api:
        answers = [upload(api, form_id, with_token) for _ in range(4)]
        assert [one.status for one in answers] == [201, 201, 201, 400]
        ids = [one.json()["data"]["id"] for one in answers[:3]]
        assert api.post(f"/f/{form_id}", json={"cv": ids, **token}).status == 201
        assert len(verifier.requests) == 1
        assert api.post(f"/f/{form_id}", json={"name": "Ada", **token}).status == 400
        assert upload(api, form_id, with_token).status == 400
        assert upload(api, form_id, parts_of()).status == 400


def test_upload__in_the_place_of_an_id_of_another_organization__is_not_found(api: Client) -> None:
    tenant, other = make_tenant(), make_tenant()
    form_id, elsewhere = form_with_files(tenant), form_with_files(other)
    mine = upload(api, form_id).json()["data"]["id"]

    answer = submit(api, other.key, elsewhere, {"cv": mine})

    assert answer.json()["details"][0]["code"] == "invalid_upload"
    assert StoredFile.objects.get(pk=decode_id(Prefix.FILE, mine)).submission_id is None
