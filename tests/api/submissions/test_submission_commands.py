"""`export_submissions` and `purge_submissions`, the commands that read and delete submissions."""

import datetime as dt
import uuid

import pytest

from config.base.ids import Prefix, decode_id, first_id_of, new_id
from config.base.times import now
from submissions.models import IdempotencyKey, Submission
from tests.services.application import Application
from tests.services.client import Client
from tests.services.waiting import eventually
from tests.support.command_line import complaint, output, run
from tests.support.replies import failure
from tests.support.submitting import submit_and_get_id
from tests.support.tables.databases import first_on_both
from tests.support.tenants import Tenant, make_tenant


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def age(submission_id: str, days: float) -> str:
    """Let a submission have come so long ago, once dispatch is done with it; return its new id."""
    pk = decode_id(Prefix.SUBMISSION, submission_id)
    row = Submission.objects.filter(pk=pk)
    eventually(lambda: row.filter(dispatched_at__isnull=False).exists(), because="the submission is dispatched")
    moment = now() - dt.timedelta(days=days)
    older = uuid.UUID(int=first_id_of(moment).int | new_id().int & (1 << 80) - 1)
    assert row.update(id=older, created_at=moment) == 1
    return Submission.objects.get(pk=older).public_id


def statuses(api: Client, tenant: Tenant, *submission_ids: str) -> list[int]:
    return [api.get(f"/api/submissions/{one}", tenant.key).status for one in submission_ids]


@pytest.mark.parametrize("chosen", ["csv", "json", "ndjson"])
def test_export__each_format__is_byte_for_byte_what_the_api_exports(
    chosen: str, service: Application, tenant: Tenant, api: Client
) -> None:
    form_id = tenant.form()
    for number in range(3):
        submit_and_get_id(api, tenant, form_id, {"name": f'Zoë "{number}"', "message": "one,\r\ntwo"})
    submit_and_get_id(api, tenant, tenant.default_form_id, {"name": "not of this form"})
    result = run(service, "export_submissions", form_id, "--format", chosen)
    assert (result.returncode, result.stderr) == (0, b"")
    answer = api.get(f"/api/submissions/export?formId={form_id}&format={chosen}", tenant.key)
    assert answer.status == 200
    assert result.stdout == answer.body
    assert result.stdout.count("Zoë".encode()) == 3


def test_export__with_columns__has_those(service: Application, tenant: Tenant, api: Client) -> None:
    form_id = tenant.form()
    submit_and_get_id(api, tenant, form_id, {"name": "Ada", "topic": "Help"})
    printed = output(service, "export_submissions", form_id, "--columns", "topic,name")
    assert printed == "\ufefftopic,name\r\nHelp,Ada\r\n"
    for wrong in (("--columns", "a,,b"), ("--columns", "a", "--format", "json")):
        assert run(service, "export_submissions", form_id, *wrong).returncode == 1


def test_export__with_a_filter__holds_what_it_leaves(service: Application, tenant: Tenant, api: Client) -> None:
    form_id = tenant.form()
    submit_and_get_id(api, tenant, form_id, {"name": "Ada"})
    wanted = submit_and_get_id(api, tenant, form_id, {"name": "Grace"})
    printed = output(service, "export_submissions", form_id, "--format", "ndjson", "--q", "gra")
    assert [line.count(wanted) for line in printed.splitlines()] == [1]
    day_before = (now() - dt.timedelta(days=1)).date().isoformat()
    assert output(service, "export_submissions", form_id, "--format", "ndjson", "--to", day_before) == ""


@pytest.mark.parametrize(
    "arguments",
    first_on_both(
        [
            ["frm_01h455vb4pex5vsknk084sn02q"],
            [],
            ["frm_nonsense"],
            ["FORM", "--format", "xml"],
            ["FORM", "--from", "yesterday"],
            ["FORM", "--from", "2026-02-01T00:00:00"],
            ["FORM", "--q", "ab"],
        ]
    ),
)
def test_export__wrong_arguments__is_an_error(arguments: list[str], service: Application, tenant: Tenant) -> None:
    form_id = tenant.form()
    assert complaint(service, "export_submissions", *[form_id if one == "FORM" else one for one in arguments])


def test_purge__older_than_the_form_keeps__deletes_those_and_no_others(
    service: Application, tenant: Tenant, api: Client
) -> None:
    month, forever = tenant.form(retention_days=30), tenant.form()
    gone = [age(submit_and_get_id(api, tenant, month, {"name": "old"}), days) for days in (30.1, 31, 400)]
    kept = [
        submit_and_get_id(api, tenant, month, {"name": "new"}),
        age(submit_and_get_id(api, tenant, month, {"name": "nearly"}), 29.9),
        age(submit_and_get_id(api, tenant, forever, {"name": "ancient"}), 3000),
    ]
    assert statuses(api, tenant, *gone, *kept) == [200] * 6
    output(service, "purge_submissions")
    missing = api.get(f"/api/submissions/{gone[0]}", tenant.key)
    assert (missing.status, missing.json()) == (404, failure("not_found"))
    assert statuses(api, tenant, *gone) == [404] * 3
    assert statuses(api, tenant, *kept) == [200] * 3
    assert api.get(f"/api/forms/{month}", tenant.key).json()["data"]["submissionCount"] == 2


def test_purge__run_again__finds_nothing_more(service: Application, tenant: Tenant, api: Client) -> None:
    kept = submit_and_get_id(api, tenant, tenant.form(retention_days=1), {"name": "new"})
    assert output(service, "purge_submissions")
    assert output(service, "purge_submissions")
    assert statuses(api, tenant, kept) == [200]


def test_purge__idempotency_keys__are_remembered_for_eight_days(
    service: Application, tenant: Tenant, api: Client
) -> None:
    form_id = tenant.form()
    path = f"/api/submit?formId={form_id}"

    def send(key: str) -> tuple[str, bool]:
        answer = api.post(path, tenant.key, json={"name": "Ada"}, headers={"Idempotency-Key": key})
        assert answer.status == 201
        return answer.json()["data"]["id"], answer.headers.get("Idempotent-Replayed") == "true"

    first = {key: send(key)[0] for key in ("young", "old")}
    for key, days in (("young", 7.9), ("old", 8.1)):
        remembered = IdempotencyKey.objects.filter(form=decode_id(Prefix.FORM, form_id), key=key)
        assert remembered.update(created_at=now() - dt.timedelta(days=days)) == 1
    output(service, "purge_submissions")
    assert send("young") == (first["young"], True)
    again, replayed = send("old")
    assert (again != first["old"], replayed) == (True, False)
    assert statuses(api, tenant, *first.values(), again) == [200] * 3


def test_purge__submission_deleted_by_it__is_not_brought_back_by_a_retry(
    service: Application, tenant: Tenant, api: Client
) -> None:
    path = f"/api/submit?formId={tenant.form(retention_days=1)}"
    headers = {"Idempotency-Key": "once"}
    first = api.post(path, tenant.key, json={"name": "Ada"}, headers=headers).json()["data"]["id"]
    older = age(first, 2)
    IdempotencyKey.objects.filter(submission_id=decode_id(Prefix.SUBMISSION, first)).update(
        submission_id=decode_id(Prefix.SUBMISSION, older)
    )
    output(service, "purge_submissions")
    answer = api.post(path, tenant.key, json={"name": "Ada"}, headers=headers)
    assert (answer.status, answer.json()["data"]["id"]) == (201, older)
    assert answer.headers["Idempotent-Replayed"] == "true"
    assert statuses(api, tenant, older) == [404]
