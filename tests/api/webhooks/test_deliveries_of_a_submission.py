"""`GET /api/submissions/{id}/deliveries` (docs/contract.md 7.42)."""

import dataclasses

from config.base.ids import Prefix, decode_id, encode_id, new_id
from submissions.models import Submission
from tests.services.client import Client
from tests.support.deliveries import make_delivery
from tests.support.replies import NOT_FOUND, TIME, UNAUTHORIZED, failure, success
from tests.support.submitting import submit_and_get_id
from tests.support.tenants import Tenant, make_tenant
from tests.support.webhooks import message_id_of
from webhooks.events import REPLY
from webhooks.models import Delivery, Receiver


def submission_of(api: Client, tenant: Tenant) -> Submission:
    """Return a submission to a form without receivers."""
    return Submission.objects.get(pk=decode_id(Prefix.SUBMISSION, submit_and_get_id(api, tenant, tenant.form())))


def receiver_of(submission: Submission) -> Receiver:
    url = f"http://127.0.0.1:9/{submission.pk}"
    return Receiver.objects.create(
        organization=submission.organization, form=submission.form, url=url, events=["submission.created"]
    )


def record(delivery: Delivery, target: str, channel: str) -> dict[str, object]:
    submission_id = delivery.submission.public_id if delivery.submission else ""
    return {
        "id": delivery.public_id,
        "channel": channel,
        "target": target,
        "webhookId": target if channel == "webhook" else None,
        "submissionId": submission_id,
        "messageId": message_id_of(submission_id),
        "test": False,
        "status": "failed",
        "nextAttemptAt": None,
        "createdAt": TIME,
        "finishedAt": None,
        "attempts": [],
    }


def test_deliveries__of_a_submission__are_those_to_receivers_and_mails_without_replies(api: Client) -> None:
    tenant = make_tenant()
    submission, other = submission_of(api, tenant), submission_of(api, tenant)
    webhook = receiver_of(submission)
    hook = make_delivery(webhook, submission=submission, status="failed")
    mail = make_delivery("ada@example.com", submission=submission, status="failed")
    reply = make_delivery("grace@example.com", organization=tenant.organization, event=REPLY.name, status="failed")
    Delivery.objects.filter(pk=reply.pk).update(submission=submission)
    make_delivery(webhook, submission=other, status="failed")

    answer = api.get(f"/api/submissions/{submission.public_id}/deliveries", tenant.issue("webhooks:write"))

    expected = [record(mail, "ada@example.com", "mail"), record(hook, webhook.public_id, "webhook")]
    assert (answer.status, answer.json()) == (
        200,
        {**success(expected, "2 found."), "pagination": {"page": 1, "limit": 25, "total": 2, "pages": 1}},
    )


def test_deliveries__by_status_and_page__are_some_of_them(api: Client) -> None:
    tenant = make_tenant()
    submission = submission_of(api, tenant)
    failed, delivered = (
        make_delivery(f"{status}@example.com", submission=submission, status=status).public_id
        for status in ("failed", "delivered")
    )
    path = f"/api/submissions/{submission.public_id}/deliveries"

    def listed(query: str) -> list[str]:
        return [row["id"] for row in api.get(path + query, tenant.key).json()["data"]]

    assert (listed("?status=failed"), listed("?status=held")) == ([failed], [])
    assert (listed("?limit=1"), listed("?limit=1&page=2")) == ([delivered], [failed])
    assert (api.get(f"{path}?status=x", tenant.key).json()["error"]) == "validation_error"


def test_deliveries__of_nothing_or_another_organization__are_404_or_403(api: Client) -> None:
    tenant = make_tenant()
    foreign = submission_of(api, make_tenant()).public_id
    unknown = encode_id(Prefix.SUBMISSION, new_id())
    answers = [api.get(f"/api/submissions/{one}/deliveries", tenant.key) for one in (foreign, unknown, "frm_1")]
    assert [(one.status, one.json()) for one in answers[:2]] == [(403, UNAUTHORIZED), (404, NOT_FOUND)]
    assert answers[2].json()["details"][0]["code"] == "invalid_id"


def test_deliveries__of_a_live_submission__are_not_for_a_test_key(api: Client) -> None:
    tenant = make_tenant()
    key = tenant.issue("submissions:read", "webhooks:write", mode="test")
    live = submission_of(api, tenant).public_id
    test = submit_and_get_id(api, dataclasses.replace(tenant, key=key), tenant.form())
    answers = [api.get(f"/api/submissions/{one}/deliveries", key) for one in (live, test)]
    assert [(one.status, one.json().get("data")) for one in answers] == [(403, None), (200, [])]


def test_deliveries__key_that_may_read_submissions_alone__is_told_what_is_missing(api: Client) -> None:
    tenant = make_tenant()
    path = f"/api/submissions/{submission_of(api, tenant).public_id}/deliveries"
    answer = api.get(path, tenant.issue("submissions:read"))
    assert (answer.status, answer.json()) == (403, failure("unauthorized", "Unauthorized"))
    assert answer.headers["X-Required-Permission"] == "webhooks:write"
