"""`fieldpost.Client` against the running service."""

from pathlib import Path
from typing import Any, get_type_hints

import pytest

import fieldpost
from fieldpost.records import Accepted, Field, Form, Meta, StoredFile, Submission, Upload
from tests.services.application import Application
from tests.services.client import Client
from tests.services.receivers import Receiver
from tests.support.replies import TIME, an_id
from tests.support.rows import wait_until_dispatched
from tests.support.submitting import records
from tests.support.tenants import Tenant, make_tenant, text_field
from tests.support.webhooks import one_message

FILE_FIELD = {"name": "cv", "label": "CV", "type": "File", "maxFiles": 2}


def client_of(service: Application, tenant: Tenant) -> fieldpost.Client:
    return fieldpost.Client(service.base_url, tenant.key)


def test_submit__values__are_stored_once(service: Application, api: Client) -> None:
    tenant = make_tenant()
    form_id, client = tenant.form(), client_of(service, tenant)

    first = client.submit(form_id, {"name": "Ada", "age": 36, "tags": ["a", "b"]}, idempotency_key="order-1")
    again = client.submit(form_id, {"name": "Ada", "age": 36, "tags": ["a", "b"]}, idempotency_key="order-1")

    assert first == again == {"id": an_id("sub"), "formId": form_id, "createdAt": TIME}
    assert [record["data"] for record in records(api, tenant, form_id)] == [
        {"name": "Ada", "age": "36", "tags": "a, b"}
    ]


def test_submit__with_files__sends_each_kind_once(service: Application, api: Client, tmp_path: Path) -> None:
    tenant = make_tenant()
    form_id, client = tenant.form(fields=[FILE_FIELD, text_field("name")]), client_of(service, tenant)
    path = tmp_path / "cv.txt"
    path.write_text("Ada Lovelace, mathematician")

    with path.open("rb") as opened:
        first = client.submit(form_id, {"name": "Ada"}, files={"cv": [path, opened]}, idempotency_key="cv-1")
    again = client.submit(
        form_id, {"name": "Ada"}, files={"cv": [str(path), ("cv.txt", path.read_bytes())]}, idempotency_key="cv-1"
    )

    assert first == again
    [record] = records(api, tenant, form_id)
    assert record["data"] == {"cv": "cv.txt, cv.txt", "name": "Ada"}
    assert [(file["field"], file["name"], file["size"]) for file in record["files"]] == [("cv", "cv.txt", 27)] * 2


def test_submit__wrong_values__says_which(service: Application) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=[text_field("name", required=True), text_field("mail", type="Email")])

    with pytest.raises(fieldpost.APIError) as caught:
        client_of(service, tenant).submit(form_id, {"mail": "ada"})

    assert (caught.value.status, caught.value.code) == (400, "validation_error")
    assert [(one["field"], one["code"]) for one in caught.value.details] == [
        ("name", "required"),
        ("mail", "invalid_email"),
    ]


def test_submissions__more_than_a_request_gives__come_in_order(service: Application) -> None:
    tenant = make_tenant()
    form_id, client = tenant.form(), client_of(service, tenant)
    sent = []
    for number in range(5):
        sent.append(client.submit(form_id, {"number": number})["id"])
        wait_until_dispatched(tenant)  # two workers at the same time may take the last one first
    client.submit(tenant.form(), {"of": "another form"})

    found = list(client.submissions.list(form_id, limit=2))

    assert [one["id"] for one in found] == sent
    assert [one["data"] for one in found] == [{"number": str(number)} for number in range(5)]
    assert client.submissions.get(sent[0]) == found[0]
    assert {one["formId"] for one in client.submissions.list()} >= {form_id}


def test_forms__of_the_organization__are_listed_and_read(service: Application) -> None:
    tenant = make_tenant()
    form_id, client = tenant.form(), client_of(service, tenant)

    assert [form["id"] for form in client.forms.list()] == [form_id, tenant.default_form_id]
    assert client.forms.get(form_id)["key"] == "contact"
    assert client.me()["organization"]["name"] == tenant.organization.name


def test_forms__of_another_organization__are_refused(service: Application) -> None:
    with pytest.raises(fieldpost.APIError) as caught:
        client_of(service, make_tenant()).forms.get(make_tenant().form())

    assert (caught.value.status, caught.value.code, caught.value.message) == (403, "unauthorized", "Unauthorized")


def test_verify_webhook__what_the_service_sent__is_genuine(api: Client, receiver: Receiver) -> None:
    message, secret = one_message(api, receiver)

    event = fieldpost.verify_webhook(message.body, message.headers, secret)

    assert event["type"] == "submission.created"
    with pytest.raises(fieldpost.SignatureError):
        fieldpost.verify_webhook(message.body + b" ", message.headers, secret)


@pytest.mark.on_sqlite
@pytest.mark.parametrize(
    ("record", "schema"),
    [
        (Form, "Form"),
        (Field, "FormField"),
        (Submission, "Submission"),
        (StoredFile, "SubmissionFile"),
        (Meta, "SubmissionMeta"),
        (Accepted, "SubmissionReceipt"),
        (Upload, "Upload"),
    ],
)
def test_record__of_the_client__has_the_members_of_the_schema(record: Any, schema: str, api: Client) -> None:
    schemas = api.get("/api/schema").json()["components"]["schemas"]

    assert schemas[schema]["properties"].keys() == get_type_hints(record).keys()
