"""Files as the API, exports and webhooks show them (docs/contract.md 11.13)."""

import json
from urllib.parse import quote

import pytest
from django.conf import settings

from config.base.ids import Prefix
from tests.services.client import Client
from tests.services.receivers import Receiver
from tests.support.files.rows import Sent, file_field, file_record_of, picture, put_with_files
from tests.support.replies import TIME, an_id, success
from tests.support.rows import put, record_of, wait_until_dispatched
from tests.support.tenants import Tenant, make_tenant, text_field
from tests.support.webhooks import register

PHOTOS = [picture("one, or two.png", field="photos", scan="clean"), picture("two.png", field="photos")]
FILES = [Sent(scan="infected"), *PHOTOS]


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


@pytest.fixture
def form(tenant: Tenant) -> str:
    fields = [text_field("name"), file_field("cv"), file_field("photos", maxFiles=3)]
    return tenant.form(name="Apply", fields=fields)


def test_record__with_files__is_the_same_in_detail_list_and_cursor(api: Client, tenant: Tenant, form: str) -> None:
    made = put_with_files(tenant, form, FILES, {"name": "Ada"})
    expected = {
        **record_of(made),
        "data": {"name": "Ada", "cv": "cv.pdf", "photos": "one, or two.png, two.png"},
        "files": [file_record_of(sent) for sent in FILES],
    }
    answer = api.get(f"/api/submissions/{made.public_id}", tenant.key)
    assert (answer.status, answer.json()["data"]) == (200, expected)
    assert answer.json()["data"]["files"][0]["url"] == f"{settings.PUBLIC_URL}/files/{made.files[0].public_id}"
    wait_until_dispatched(tenant)
    for query in (f"formId={form}", f"formId={form}&cursor="):
        assert api.get(f"/api/submissions?{query}", tenant.key).json()["data"] == [expected]


def test_record__marked_as_spam__keeps_its_files(api: Client, tenant: Tenant, form: str) -> None:
    made = put_with_files(tenant, form, FILES[:1])
    answer = api.patch(f"/api/submissions/{made.public_id}", tenant.key, json={"spam": True})
    assert (answer.status, answer.json()["data"]["files"]) == (200, [file_record_of(FILES[0])])


@pytest.mark.parametrize("query", [quote("one, or two"), "CV.PDF", "two.png"])
def test_search__name_of_a_file__finds_its_submission(api: Client, tenant: Tenant, form: str, query: str) -> None:
    made = put_with_files(tenant, form, FILES)
    put(tenant, form, {"name": "one"})
    found = api.get(f"/api/submissions?formId={form}&q={query}", tenant.key).json()["data"]
    assert [record["id"] for record in found] == [made.public_id]


def test_exports__with_files__have_records_in_json_and_names_in_csv(api: Client, tenant: Tenant, form: str) -> None:
    made, plain = put_with_files(tenant, form, FILES, {"name": "Ada"}), put(tenant, form, {"name": "Bo"})
    expected = {**record_of(made), "files": [file_record_of(sent) for sent in FILES]}
    as_json = api.get(f"/api/submissions/export?formId={form}&format=json", tenant.key).json()
    assert (as_json[0], as_json[1]["id"], as_json[1]["files"]) == (expected, plain, [])
    lines = api.get(f"/api/submissions/export?formId={form}&format=ndjson", tenant.key).text.splitlines()
    assert [json.loads(line) for line in lines] == as_json
    csv = api.get(f"/api/submissions/export?formId={form}", tenant.key).body.decode("utf-8-sig").splitlines()
    assert csv[0] == "id,formId,createdAt,name,cv,photos"
    assert csv[1] == f'{made.public_id},{form},{expected["createdAt"]},Ada,cv.pdf,"one, or two.png, two.png"'


def test_submission__with_files__is_sent_to_webhooks_with_them(
    api: Client, receiver: Receiver, tenant: Tenant, form: str
) -> None:
    register(api, tenant, receiver.url(), form)
    made = put_with_files(tenant, form, FILES, {"name": "Ada"})
    (message,) = receiver.wait_for(1)
    record = api.get(f"/api/submissions/{made.public_id}", tenant.key).json()["data"]
    assert record["files"] == [file_record_of(sent) for sent in FILES]
    assert json.loads(message.body)["data"] == {**record, "formName": "Apply"}


def test_test_event__of_a_form_with_file_fields__has_an_example_of_each(
    api: Client, receiver: Receiver, tenant: Tenant, form: str
) -> None:
    webhook = register(api, tenant, receiver.url(), form)
    answer = api.post(f"/api/webhooks/{webhook['id']}/test", tenant.key)
    assert answer.json() == success(answer.json()["data"])
    (message,) = receiver.wait_for(1)
    data = json.loads(message.body)["data"]
    example = Sent("example.pdf", b"%PDF-1.4 example")
    assert data["data"] == {"name": "Test", "cv": "example.pdf", "photos": "example.pdf"}
    assert data["files"] == [
        file_record_of(example),
        file_record_of(Sent("example.pdf", b"%PDF-1.4 example", field="photos")),
    ]
    assert (data["id"], data["createdAt"], data["test"]) == (an_id(Prefix.SUBMISSION), TIME, True)
