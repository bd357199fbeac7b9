"""Files in plain posts (docs/contract.md 5.10, 6.9)."""

import hashlib
from typing import Any

import pytest

from config.base.ids import Prefix, decode_id
from submissions.models import Submission
from tests.services.client import Client
from tests.support.hosted_posts import refused_json
from tests.support.posted_files import (
    FILE_HEADERS,
    MIB,
    OTHER_BOUNDARY,
    PDF,
    Part,
    body_of,
    file_field,
    files_of_form,
    pdf,
    post_files,
    with_other_boundary,
)
from tests.support.submitting import chunked, records, stored_data
from tests.support.tenants import make_tenant, text_field

NAME: Part = ("name", None, b"Ada")


def fields(**values: Any) -> list[dict[str, Any]]:
    return [text_field("name", required=False), file_field(**values)]


def test_file_of_ten_mebibytes__is_stored__with_its_submission(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=fields())
    content = pdf(10 * MIB)

    answer = post_files(api, form_id, [NAME, ("cv", "Mein Lebenslauf.pdf", content)])

    assert answer.status == 201, answer.text
    [record] = records(api, tenant, form_id)
    assert record["data"] == {"name": "Ada", "cv": "Mein Lebenslauf.pdf"}
    [row] = files_of_form(form_id)
    assert (row.submission_id, row.place) == (decode_id(Prefix.SUBMISSION, record["id"]), 0)
    assert (row.field, row.name, row.size) == ("cv", "Mein Lebenslauf.pdf", 10 * MIB)
    assert (row.content_type, row.sha256) == ("application/pdf", hashlib.sha256(content).hexdigest())
    assert (row.expires_at, row.removed_at, row.address) == (None, None, "")
    assert row.organization_id == tenant.organization.pk
    assert row.submission_id
    assert Submission.objects.get(pk=row.submission_id).files_size == 10 * MIB


def test_small_file__in_a_body_that_is_in_memory__is_stored_too(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=fields())

    assert post_files(api, form_id, [NAME, ("cv", "cv.pdf", PDF)]).status == 201

    assert stored_data(api, tenant, form_id) == [{"name": "Ada", "cv": "cv.pdf"}]
    [row] = files_of_form(form_id)
    assert row.size == len(PDF)


def test_several_files__keep_their_order__and_their_bytes(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=[file_field(maxFiles=3), file_field("photo")])
    first, second = pdf(400_000), pdf(300_000)
    parts: list[Part] = [("photo", "p.pdf", PDF), ("cv", "a.pdf", first), ("cv", "b.pdf", second)]

    assert post_files(api, form_id, parts).status == 201

    assert stored_data(api, tenant, form_id) == [{"cv": "a.pdf, b.pdf", "photo": "p.pdf"}]
    rows = files_of_form(form_id)
    assert [(row.place, row.field, row.name) for row in rows] == [
        (0, "cv", "a.pdf"),
        (1, "cv", "b.pdf"),
        (2, "photo", "p.pdf"),
    ]
    assert [row.sha256 for row in rows[:2]] == [hashlib.sha256(one).hexdigest() for one in (first, second)]


def test_chunked_body__larger_than_memory_takes__is_stored(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=fields())
    content = pdf(2 * MIB)
    body = chunked(body_of([NAME, ("cv", "cv.pdf", content)]), 50_000)

    answer = api.post(f"/f/{form_id}", data=body, headers=FILE_HEADERS)

    assert answer.status == 303, answer.text
    [row] = files_of_form(form_id)
    assert (row.size, row.sha256) == (2 * MIB, hashlib.sha256(content).hexdigest())


@pytest.mark.parametrize("size", [0, 300_000])
def test_empty_file_input__is_no_file__next_to_a_body_of_any_size(size: int, api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=[file_field(), file_field("photo")])
    parts: list[Part] = [("photo", "", b""), ("x", "", b""), ("cv", "cv.pdf", pdf(size + 1000))]

    assert post_files(api, form_id, parts).status == 201

    assert stored_data(api, tenant, form_id) == [{"cv": "cv.pdf"}]


REFUSED: list[tuple[str, dict[str, Any], list[Part], str, str]] = [
    (
        "too large",
        {"maxBytes": 300_000},
        [("cv", "cv.pdf", pdf(300_001))],
        "too_large",
        "A file in “CV” is too large. Each may have at most 293 KiB.",
    ),
    ("too many", {}, [("cv", "a.pdf", PDF), ("cv", "b.pdf", PDF)], "too_many", "“CV” takes at most 1 file."),
    ("empty", {}, [("cv", "cv.pdf", b"")], "empty_file", "A file in “CV” is empty. Choose another one."),
    (
        "lying name",
        {},
        [("cv", "cv.png", PDF)],
        "file_type_not_allowed",
        "The name of a file in “CV” suggests another type than its content.",
    ),
    (
        "not accepted",
        {"accept": ["image/*", ".png"]},
        [("cv", "cv.pdf", PDF)],
        "file_type_not_allowed",
        "A file in “CV” has a type that is not accepted, or its name suggests another type. Accepted: images or PNG",
    ),
    (
        "a page that says it is a picture",
        {},
        [("cv", "cv.png", b"<!doctype html><script>alert(1)</script>")],
        "file_type_not_allowed",
        "CV: HTML and SVG files are not accepted. Send the file in another format, for instance PDF.",
    ),
    (
        "no id",
        {},
        [("cv", None, b"hello")],
        "invalid_upload",
        "A file in “CV” was not found, or was used already. Choose it again.",
    ),
]


@pytest.mark.parametrize(
    ("field", "parts", "code", "message"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_file_that_does_not_fit__is_refused__naming_its_field(
    field: dict[str, Any], parts: list[Part], code: str, message: str, api: Client
) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=fields(**field))

    answer = post_files(api, form_id, [NAME, *parts])

    error = {"code": code, "field": "cv", "message": message}
    assert (answer.status, answer.json()) == (400, refused_json("validation_error", message, error))
    assert (records(api, tenant, form_id), files_of_form(form_id)) == ([], [])


@pytest.mark.parametrize("size", [100, 400_000])
@pytest.mark.parametrize("name", ["name", "other"])
def test_file_of_another_input__is_refused__naming_it(name: str, size: int, api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=fields())

    answer = post_files(api, form_id, [(name, "cv.pdf", pdf(size))], Accept="text/html", X_Requested_With="x")

    label = {"name": "Name", "other": "other"}[name]
    message = f"Files cannot be sent with this form. Remove the file from “{label}”, then send it again."
    error = {"code": "NO_FILE_UPLOADS", "message": message}
    assert (answer.status, answer.json()) == (400, refused_json("validation_error", message, error))


def test_required_file__that_is_missing__is_asked_for(api: Client) -> None:
    form_id = make_tenant().form(fields=fields(required=True))

    answer = post_files(api, form_id, [NAME, ("cv", "", b"")])

    assert answer.json()["errors"] == [{"code": "REQUIRED_FIELD_MISSING", "field": "cv", "message": "CV is required."}]
    assert post_files(api, form_id, [("cv", "cv.pdf", PDF)]).status == 201


def test_error_page__after_files__keeps_the_texts_and_asks_for_the_files_again(api: Client) -> None:
    form_id = make_tenant().form(
        fields=[text_field("name", required=False), text_field("email", type="Email", required=False), file_field()]
    )
    parts: list[Part] = [NAME, ("email", None, b"wrong"), ("cv", "cv.pdf", pdf(500_000))]

    answer = api.post(f"/f/{form_id}", data=body_of(parts), headers=FILE_HEADERS)

    assert (answer.status, "Your files were not kept. Choose them again" in answer.text) == (400, True)
    assert ('value="Ada"' in answer.text, 'value="wrong"' in answer.text) == (True, True)
    assert files_of_form(form_id) == []


def test_large_body__to_a_form_without_file_fields__is_too_large(api: Client) -> None:
    form_id = make_tenant().form(fields=[text_field("name", required=False)])

    answer = post_files(api, form_id, [NAME, ("cv", "cv.pdf", pdf(5 * MIB))])

    assert (answer.status, answer.json()["error"]) == (413, "payload_too_large")
    assert answer.headers["Connection"] == "close"


@pytest.mark.parametrize(("status", "code"), [("draft", 403), ("archived", 403)])
def test_large_body__to_a_form_that_is_closed__is_refused(status: str, code: int, api: Client) -> None:
    form_id = make_tenant().form(fields=fields(), status=status)

    answer = post_files(api, form_id, [("cv", "cv.pdf", pdf(5 * MIB))])

    assert (answer.status, answer.json()["error"]) == (code, "form_not_published")


def test_large_body__to_no_form__is_not_found(api: Client) -> None:
    answer = post_files(api, "frm_01ja0000000000000000000000", [("cv", "cv.pdf", pdf(5 * MIB))])

    assert (answer.status, answer.json()["error"]) == (404, "not_found")


def test_large_json__and_large_texts__are_too_large_at_a_form_with_files(api: Client) -> None:
    form_id = make_tenant().form(fields=fields())

    for headers in ({"Content-Type": "application/json"}, {"Content-Type": "application/x-www-form-urlencoded"}):
        answer = api.post(f"/f/{form_id}", data=b"a" * (300 * 1024), headers=headers | {"Accept": "application/json"})
        assert (answer.status, answer.json()["error"]) == (413, "payload_too_large")
    texts: list[Part] = [(f"t{number}", None, b"x" * 60_000) for number in range(5)]
    answer = post_files(api, form_id, texts)
    assert (answer.status, answer.json()["error"]) == (413, "payload_too_large")


def test_too_many_files__in_one_body__are_refused(api: Client) -> None:
    form_id = make_tenant().form(fields=fields(maxFiles=10))

    answer = post_files(api, form_id, [(f"f{number}", "a.pdf", PDF) for number in range(101)])

    assert (answer.status, answer.json()["errors"][0]["code"]) == (400, "too_many")


def test_same_body__with_the_same_idempotency_key__is_stored_once(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=fields())
    parts: list[Part] = [("cv", "cv.pdf", pdf(600_000))]

    answers = [post_files(api, form_id, parts, Idempotency_Key="once")]
    headers = OTHER_BOUNDARY | {"Idempotency-Key": "once", "Accept": "application/json"}
    answers += [api.post(f"/f/{form_id}", data=with_other_boundary(body_of(parts)), headers=headers)]
    other = post_files(api, form_id, [("cv", "cv.pdf", pdf(600_001))], Idempotency_Key="once")

    assert [answer.status for answer in answers] == [201, 201]
    assert (answers[1].headers["Idempotent-Replayed"], other.status) == ("true", 409)
    assert len(records(api, tenant, form_id)) == 1
    assert [row.submission_id is None for row in files_of_form(form_id) if row.removed_at is None] == [False]


def test_name_of_a_file__is_cleaned(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=fields())

    assert post_files(api, form_id, [("cv", "../../etc/\u202ecv\u202d.pdf", PDF)]).status == 201

    assert stored_data(api, tenant, form_id) == [{"cv": "cv.pdf"}]
