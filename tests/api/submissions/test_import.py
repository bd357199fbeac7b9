"""`POST /api/submissions/import`: old submissions come in once, with their own time (docs/contract.md 5.80)."""

import datetime as dt
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest
from django.db import connection

from config.base.ids import Prefix, decode_id, encode_id, made_at
from config.base.times import format_time, now
from keys.models import AuditEvent, Organization
from submissions.importing.undo import finish_undoing
from submissions.models import Import, ImportedRow, Submission, Tally
from tests.services.client import Answer, Client
from tests.services.receivers import Receiver
from tests.support.replies import NOT_FOUND, UNAUTHORIZED, an_id, failure, invalid, success, unknown_id
from tests.support.rows import EMPTY_META, wait_until_dispatched
from tests.support.submitting import records, submit_and_get_id
from tests.support.tenants import Tenant, make_tenant, text_field

THEN = "2024-02-29T12:30:00.250Z"


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def row(number: int = 1, **values: Any) -> dict[str, Any]:
    return {"createdAt": THEN, "data": {"n": str(number)}, **values}


def bring(api: Client, tenant: Tenant, *rows: Any, form: str = "", **values: Any) -> Answer:
    path = f"/api/submissions/import?formId={form or tenant.default_form_id}"
    return api.post(path, tenant.key, json={"source": "elsewhere", "rows": list(rows), **values})


def brought(api: Client, tenant: Tenant, *rows: Any, **values: Any) -> dict[str, Any]:
    answer = bring(api, tenant, *rows, **values)
    assert answer.status == 200, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


def undo(api: Client, tenant: Tenant, import_id: str) -> Answer:
    return api.delete(f"/api/submissions/imports/{import_id}", tenant.key)


def listed(api: Client, tenant: Tenant, query: str = "") -> tuple[int, list[dict[str, str]]]:
    body = api.get(f"/api/submissions?{query}", tenant.key).json()
    return body["pagination"].get("total", -1), [record["data"] for record in body["data"]]


def test_import__rows__are_records_with_their_own_time(api: Client, tenant: Tenant) -> None:
    answer = bring(
        api,
        tenant,
        {"createdAt": "2024-02-29T13:30:00.2509+01:00", "data": {"n": 1.50, "ok": True, "no": None, "l": ["a", 2]}},
        row(2, spam=True, sourceId="s2"),
    )
    outcome = {"importId": an_id("imp"), "imported": 2, "skipped": 0, "problems": []}
    assert (answer.status, answer.json()) == (200, success(outcome, "Imported 2, skipped 0, refused 0."))
    found = {record["data"]["n"]: record for record in records(api, tenant, tenant.default_form_id)}
    assert found["1.5"] == {
        "id": an_id("sub"),
        "formId": tenant.default_form_id,
        "data": {"n": "1.5", "ok": "true", "no": "", "l": "a, 2"},
        "files": [],
        "spam": False,
        "spamReasons": [],
        "held": None,
        "meta": EMPTY_META,
        "imported": True,
        "test": False,
        "createdAt": THEN,
    }
    assert (found["2"]["spam"], found["2"]["spamReasons"]) == (True, ["imported as spam"])
    ids = [decode_id(Prefix.SUBMISSION, record["id"]) for record in found.values()]
    assert [format_time(made_at(pk)) for pk in ids] == [THEN, THEN]
    assert api.get(f"/api/submissions/{found['1.5']['id']}", tenant.key).json()["data"] == found["1.5"]
    exported = api.get("/api/submissions/export?format=ndjson", tenant.key)
    assert exported.json() == found["1.5"]
    assert "imported" not in api.get("/api/submissions/export", tenant.key).text


def test_import__the_same_rows_again__are_skipped_even_when_deleted(api: Client, tenant: Tenant) -> None:
    first = brought(api, tenant, row(1), row(2, sourceId="s2"), row(1))
    assert (first["imported"], first["skipped"]) == (2, 1)
    for record in records(api, tenant, tenant.default_form_id):
        assert api.delete(f"/api/submissions/{record['id']}", tenant.key).status == 200
    swapped = {"data": {"n": "1"}, "createdAt": "2024-02-29T12:30:00.250+00:00"}
    again = brought(api, tenant, swapped, row(2, sourceId="s2", createdAt="2024-03-01T00:00:00Z"), row(3))
    assert (again["imported"], again["skipped"], again["problems"]) == (1, 2, [])
    other_source = brought(api, tenant, row(1), source="other")
    assert (other_source["imported"], other_source["skipped"]) == (1, 0)
    form = tenant.form()
    assert brought(api, tenant, row(1), form=form)["imported"] == 1


def test_import__names_in_another_order__are_the_same_row(api: Client, tenant: Tenant) -> None:
    assert brought(api, tenant, {"createdAt": THEN, "data": {"a": "1", "b": "2"}})["imported"] == 1
    assert brought(api, tenant, {"createdAt": THEN, "data": {"b": "2", "a": "1"}})["skipped"] == 1


def test_import__other_values_with_a_known_id__are_a_problem(api: Client, tenant: Tenant) -> None:
    brought(api, tenant, row(1, sourceId="s"))
    found = brought(api, tenant, row(2, sourceId="s"), row(1, sourceId="s"))
    message = "A row with this id and other values was imported before."
    assert found["problems"] == [{"row": 0, "field": "sourceId", "code": "duplicate", "message": message}]
    assert (found["imported"], found["skipped"]) == (0, 1)


WRONG: list[tuple[Any, str, str]] = [
    ("a row", "", "invalid"),
    (None, "", "invalid"),
    (row(1, more=1), "more", "unknown_field"),
    ({"data": {"a": "1"}}, "createdAt", "required"),
    ({"createdAt": THEN}, "data", "required"),
    (row(1, createdAt=5), "createdAt", "invalid"),
    (row(1, createdAt=None), "createdAt", "null"),
    (row(1, createdAt="2024-02-29"), "createdAt", "invalid"),
    (row(1, createdAt="2024-02-29T12:30:00"), "createdAt", "invalid"),
    (row(1, createdAt="29.02.2024"), "createdAt", "invalid"),
    (row(1, createdAt="1969-12-31T23:59:59.999Z"), "createdAt", "invalid"),
    (row(1, createdAt="2999-01-01T00:00:00Z"), "createdAt", "invalid"),
    (row(1, data=None), "data", "null"),
    (row(1, data=[]), "data", "invalid"),
    (row(1, data={}), "data", "empty"),
    (row(1, data={"_gotcha": "x"}), "data", "empty"),
    (row(1, data={"a": {}}), "data.a", "invalid_type"),
    (row(1, data={"a": [[]]}), "data.a", "invalid_type"),
    (row(1, data={"": "x"}), "data", "blank"),
    (row(1, data={"a": "x" * 65_537}), "data.a", "too_long"),
    (row(1, data={str(number): "" for number in range(201)}), "data", "too_many"),
    (row(1, spam="true"), "spam", "invalid"),
    (row(1, spam=1), "spam", "invalid"),
    (row(1, spam=None), "spam", "null"),
    (row(1, sourceId=7), "sourceId", "invalid"),
    (row(1, sourceId=" "), "sourceId", "blank"),
    (row(1, sourceId="x" * 256), "sourceId", "max_length"),
]


def test_import__malformed_rows__are_problems_of_those_rows_alone(api: Client, tenant: Tenant) -> None:
    found = brought(api, tenant, row(1), *(wrong for wrong, _, _ in WRONG), row(2))
    assert (found["imported"], found["skipped"]) == (2, 0)
    told = [(problem["row"], problem["field"], problem["code"]) for problem in found["problems"]]
    assert told == [(place, field, code) for place, (_, field, code) in enumerate(WRONG, 1)]
    assert all(problem["message"] for problem in found["problems"])
    assert listed(api, tenant)[0] == 2


def test_import__types_and_required_fields_of_the_form__are_not_checked(api: Client, tenant: Tenant) -> None:
    form = tenant.form(fields=[text_field("mail", type="Email", required=True)], retention_days=3650)
    assert brought(api, tenant, row(1, data={"mail": "no address", "_next": "/"}), row(2), form=form)["imported"] == 2
    assert sorted(map(str, listed(api, tenant, f"formId={form}")[1])) == ["{'mail': 'no address'}", "{'n': '2'}"]


def test_import__row_past_the_retention__is_too_old(api: Client, tenant: Tenant) -> None:
    form = tenant.form(retention_days=30)
    moments = [now() - dt.timedelta(days=30, minutes=1), now() - dt.timedelta(days=29)]
    found = brought(api, tenant, *(row(1, createdAt=format_time(at)) for at in moments), form=form)
    assert [(one["row"], one["code"]) for one in found["problems"]] == [(0, "too_old")]
    assert found["imported"] == 1


BODIES: list[tuple[dict[str, Any], str, str]] = [
    ({"source": ""}, "source", "blank"),
    ({"source": "x" * 41}, "source", "max_length"),
    ({"source": 5}, "source", "invalid"),
    ({"source": None}, "source", "null"),
    ({"rows": []}, "rows", "empty"),
    ({"rows": {}}, "rows", "not_a_list"),
    ({"rows": 5}, "rows", "not_a_list"),
    ({"rows": [row()] * 501}, "rows", "max_length"),
    ({"importId": "sub_1"}, "importId", "invalid_id"),
    ({"dryRun": "true"}, "dryRun", "invalid"),
    ({"more": 1}, "more", "unknown_field"),
]


@pytest.mark.parametrize(("values", "field", "code"), BODIES)
def test_import__wrong_body__is_a_validation_error(
    api: Client, tenant: Tenant, values: dict[str, Any], field: str, code: str
) -> None:
    answer = bring(api, tenant, row(), **values)
    assert (answer.status, answer.json()["error"]) == (400, "validation_error")
    assert [(detail["field"], detail["code"]) for detail in answer.json()["details"]] == [(field, code)]


def test_import__without_a_form__is_a_validation_error(api: Client, tenant: Tenant) -> None:
    answer = api.post("/api/submissions/import", tenant.key, json={"source": "a", "rows": [row()]})
    detail = ("formId", "required", "formId: This field is required.")
    assert (answer.status, answer.json()) == (400, invalid(detail))


def test_import__body_of_up_to_8_mib__is_read(api: Client, tenant: Tenant) -> None:
    big = [row(1, data={"a": "x" * 65_000, "b": "y" * 15_000, "n": str(number)}) for number in range(100)]
    assert brought(api, tenant, *big)["imported"] == 100
    answer = bring(api, tenant, *big, row(1, data={"a": ["x" * 60_000] * 10}))
    message = "The body is larger than 8 MiB. Send fewer rows at a time."
    assert (answer.status, answer.json()) == (413, failure("payload_too_large", message))


def test_import__archived_form__is_a_conflict(api: Client, tenant: Tenant) -> None:
    form = tenant.form()
    assert api.delete(f"/api/forms/{form}", tenant.key).status == 200
    assert bring(api, tenant, row(), form=form).status == 409


def test_import__over_the_stored_bytes__is_413_before_the_first_row(api: Client, tenant: Tenant) -> None:
    Organization.objects.filter(pk=tenant.organization.pk).update(storage_limit=1_000, stored_bytes=0)
    assert brought(api, tenant, row(1))["imported"] == 1
    answer = bring(api, tenant, row(2), row(3, data={"a": "x" * 1_000}))
    assert (answer.status, answer.json()) == (413, failure("quota_exceeded"))
    assert listed(api, tenant)[0] == 1
    assert brought(api, tenant, row(1))["skipped"] == 1


def test_import__dry_run__says_the_same_and_changes_nothing(api: Client, tenant: Tenant) -> None:
    brought(api, tenant, row(1))
    answer = bring(api, tenant, row(1), row(2), row(3, spam=0), dryRun=True)
    problem = {"row": 2, "field": "spam", "code": "invalid", "message": "spam: Must be true or false."}
    outcome = {"importId": None, "imported": 1, "skipped": 1, "problems": [problem]}
    assert answer.json() == success(outcome, "Only tried: imported 1, skipped 1, refused 1.")
    assert (listed(api, tenant)[0], Import.objects.filter(organization=tenant.organization).count()) == (1, 1)


def test_import__further_calls__belong_to_the_import(api: Client, tenant: Tenant) -> None:
    first = brought(api, tenant, row(1))
    again = brought(api, tenant, row(2), importId=first["importId"])
    assert again["importId"] == first["importId"]
    assert bring(api, tenant, row(3), importId=first["importId"], form=tenant.form()).status == 409
    assert bring(api, tenant, row(3), importId=unknown_id("imp")).json() == NOT_FOUND
    foreign = make_tenant()
    refused = bring(api, foreign, row(3), importId=first["importId"])
    assert (refused.status, refused.json()) == (403, UNAUTHORIZED)
    assert undo(api, tenant, first["importId"]).json()["data"]["submissions"] == 2


def test_import__what_a_new_submission_causes__does_not_happen(api: Client, tenant: Tenant, receiver: Receiver) -> None:
    form = tenant.form(notification_recipients=["ada@example.com"])
    hook = {"formId": form, "url": receiver.url(), "events": ["submission.created"]}
    assert api.post("/api/webhooks", tenant.key, json=hook).status == 201
    brought(api, tenant, row(1), row(2, spam=True), form=form)
    by_number = {record["data"]["n"]: record["id"] for record in records(api, tenant, form)}
    assert api.patch(f"/api/submissions/{by_number['2']}", tenant.key, json={"spam": False}).status == 200
    assert api.patch(f"/api/submissions/{by_number['1']}", tenant.key, json={"held": None}).status == 200
    last = submit_and_get_id(api, tenant, form, {"n": "3"})
    wait_until_dispatched(tenant)
    (message,) = receiver.wait_for(1)
    assert last in message.body.decode()
    log = api.get(f"/api/webhooks?formId={form}", tenant.key).json()["data"]
    shown = api.get(f"/api/webhooks/{log[0]['id']}/deliveries", tenant.key).json()["data"]
    assert [delivery["submissionId"] for delivery in shown] == [last]
    analytics = api.get(f"/api/analytics?formId={form}&from=2024-02-29", tenant.key).json()["data"]["totals"]
    assert (analytics["received"], analytics["spam"]) == (1, 0)
    assert not Tally.objects.filter(form_id=decode_id(Prefix.FORM, form), hour__year=2024).exists()


def test_import__rows__count_in_totals_stored_bytes_and_records_of_forms(api: Client, tenant: Tenant) -> None:
    form = tenant.form()
    brought(api, tenant, row(1), row(2), row(3, spam=True), form=form)
    assert listed(api, tenant)[0] == listed(api, tenant, f"formId={form}")[0] == 2
    assert (listed(api, tenant, "spam=all")[0], listed(api, tenant, "spam=true")[0]) == (3, 1)
    assert api.get(f"/api/forms/{form}", tenant.key).json()["data"]["submissionCount"] == 2
    own = Submission.objects.filter(organization=tenant.organization)
    assert not own.filter(is_read=False).exists()
    assert Organization.objects.get(pk=tenant.organization.pk).stored_bytes == sum(
        len('{"n":"1"}') + len('{"ip":null,"userAgent":null,"origin":null,"referer":null}') for _ in own
    )
    spam = own.get(spam=True).public_id
    assert api.patch(f"/api/submissions/{spam}", tenant.key, json={"spam": False}).status == 200
    assert listed(api, tenant)[0] == 3
    assert api.delete(f"/api/submissions/{spam}", tenant.key).status == 200
    assert (listed(api, tenant)[0], listed(api, tenant, "spam=true")[0]) == (2, 0)


def test_import__followed_with_a_cursor__is_read_now(api: Client, tenant: Tenant) -> None:
    submit_and_get_id(api, tenant, tenant.default_form_id, {"n": "0"})
    wait_until_dispatched(tenant)
    start = api.get("/api/submissions?cursor=", tenant.key).json()["pagination"]["next"]
    brought(api, tenant, row(1), row(2, spam=True))
    assert listed(api, tenant, f"cursor={start}")[1] == [{"n": "1"}]
    spam = Submission.objects.get(organization=tenant.organization, spam=True).public_id
    assert api.patch(f"/api/submissions/{spam}", tenant.key, json={"spam": False}).status == 200
    assert listed(api, tenant, f"cursor={start}")[1] == [{"n": "1"}, {"n": "2"}]


def test_undo__within_a_day__forgets_the_rows(api: Client, tenant: Tenant) -> None:
    kept = submit_and_get_id(api, tenant, tenant.default_form_id, {"n": "0"})
    import_id = brought(api, tenant, row(1), row(2, sourceId="2"), row(3, spam=True))["importId"]
    answer = undo(api, tenant, import_id)
    done = {"id": import_id, "deleted": True}
    assert (answer.status, answer.json()) == (200, success({**done, "submissions": 3}, "Import undone."))
    assert undo(api, tenant, import_id).json()["data"] == {**done, "submissions": 0}
    assert [record["id"] for record in records(api, tenant, tenant.default_form_id)] == [kept]
    assert bring(api, tenant, row(1), importId=import_id).status == 409
    corrected = brought(api, tenant, row(1), row(5, sourceId="2"))
    assert (corrected["imported"], corrected["problems"]) == (2, [])
    wait_until_dispatched(tenant)
    actions = AuditEvent.objects.filter(organization_ref=tenant.organization.pk, action__contains="import")
    assert list(actions.order_by("id").values_list("action", flat=True)) == [
        "submissions.imported",
        "submissions.import_undone",
        "submissions.imported",
    ]


def test_undo__later_than_a_day__is_a_conflict(api: Client, tenant: Tenant) -> None:
    import_id = brought(api, tenant, row(1))["importId"]
    found = Import.objects.filter(pk=decode_id(Prefix.IMPORT, import_id))
    found.update(last_call_at=now() - dt.timedelta(hours=24, minutes=1))
    assert undo(api, tenant, import_id).status == 409
    brought(api, tenant, row(2), importId=import_id)
    assert undo(api, tenant, import_id).json()["data"]["submissions"] == 2


def test_undo__while_rows_are_being_deleted__hides_and_forgets_them(api: Client, tenant: Tenant) -> None:
    import_id = brought(api, tenant, row(1), row(2))["importId"]
    shown = records(api, tenant, tenant.default_form_id)[0]["id"]
    Import.objects.filter(pk=decode_id(Prefix.IMPORT, import_id)).update(undone_at=now())
    assert listed(api, tenant) == (0, [])
    assert listed(api, tenant, "cursor=")[1] == []
    assert listed(api, tenant, "spam=all")[0] == 0
    assert api.get(f"/api/submissions/{shown}", tenant.key).json() == NOT_FOUND
    assert api.get("/api/submissions/export?format=json", tenant.key).json() == []
    assert brought(api, tenant, row(1))["imported"] == 1
    assert listed(api, tenant) == (1, [{"n": "1"}])


def test_import__idempotency_key__answers_again(api: Client, tenant: Tenant) -> None:
    path = f"/api/submissions/import?formId={tenant.default_form_id}"
    body = {"source": "elsewhere", "rows": [row(1)]}
    first, again = (api.post(path, tenant.key, json=body, headers={"Idempotency-Key": "one"}) for _ in range(2))
    assert first.json() == again.json()
    assert again.headers["Idempotent-Replayed"] == "true"
    assert listed(api, tenant)[0] == 1


def test_import__id_of_the_import__is_that_of_the_list_of_imports(tenant: Tenant, api: Client) -> None:
    import_id = brought(api, tenant, row(1))["importId"]
    stored = Import.objects.get(organization=tenant.organization)
    assert (encode_id(Prefix.IMPORT, stored.pk), stored.kept, stored.spam) == (import_id, 1, 0)


def test_import__the_same_rows_by_calls_at_the_same_time__come_in_once(api: Client, tenant: Tenant) -> None:
    rows = [row(number, sourceId=str(number)) for number in range(200)]

    def by_one(some: list[dict[str, Any]]) -> dict[str, Any]:
        with closing(connection):  # that of this thread
            return brought(api, tenant, *some)

    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(by_one, [rows, rows[::-1], rows, rows[::-1]]))
    assert sum(outcome["imported"] for outcome in done) == 200
    assert sum(outcome["skipped"] for outcome in done) == 600
    assert listed(api, tenant)[0] == 200


def test_undo__of_more_than_a_request_deletes__is_finished_by_the_clean_up(api: Client, tenant: Tenant) -> None:
    import_id = brought(api, tenant, row(1), row(2, spam=True))["importId"]
    batch = Import.objects.filter(pk=decode_id(Prefix.IMPORT, import_id))
    batch.update(undone_at=now())
    finish_undoing()
    assert not Submission.objects.filter(organization=tenant.organization).exists()
    assert not ImportedRow.objects.filter(imported_in__in=batch).exists()
    assert batch.get().deleted_at is not None
    assert Organization.objects.get(pk=tenant.organization.pk).stored_bytes == 0
    assert undo(api, tenant, import_id).json()["data"]["submissions"] == 0


def test_import__with_a_test_key__is_unauthorized(api: Client, tenant: Tenant) -> None:
    key = tenant.issue("forms:write", "submissions:read", mode="test")
    path = f"/api/submissions/import?formId={tenant.default_form_id}"
    answer = api.post(path, key, json={"source": "elsewhere", "rows": [row(1)]})
    assert (answer.status, answer.json()) == (403, UNAUTHORIZED)
    import_id = brought(api, tenant, row(1))["importId"]
    assert api.delete(f"/api/submissions/imports/{import_id}", key).status == 403
    assert listed(api, tenant)[0] == 1
