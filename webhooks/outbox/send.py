"""One claimed delivery out to its channel. Touches no database: it runs in the deliverer's threads."""

import json
import logging
import time

from django.conf import settings
from django.utils.html import linebreaks

from config.ids import Prefix, encode_id
from config.times import now
from forms_app.field_kinds import FieldType
from submissions.models import Submission
from submissions.serializers import submission_record
from webhooks.channels import email, http
from webhooks.channels.outcome import ErrorClass, Outcome
from webhooks.models import Delivery, Webhook
from webhooks.outbox.record import Claim, Result
from webhooks.signing import headers_for

CANCELED = Outcome(succeeded=False, status=None, duration_ms=0, error=ErrorClass.CANCELED.value)

logger = logging.getLogger(__name__)


def send(claim: Claim) -> Result:
    """Send a delivery and return what came of it. Never raises: a poison row fails like any other attempt."""
    started_at, clock = now(), time.monotonic()
    try:
        outcome = _send(claim.delivery)
    except Exception:
        logger.exception("delivery %s failed on our side", claim.delivery.pk)
        spent = int((time.monotonic() - clock) * 1000)
        outcome = Outcome(succeeded=False, status=None, duration_ms=spent, error=ErrorClass.INTERNAL_ERROR.value)
    return Result(claim, outcome, started_at)


def _send(delivery: Delivery) -> Outcome:
    if delivery.submission is not None and delivery.submission.spam:
        return CANCELED  # marked after it was dispatched; "not spam" brings it back
    if delivery.webhook is not None:
        return _post(delivery, delivery.webhook)
    return email.send(_mail(delivery))


def _post(delivery: Delivery, webhook: Webhook) -> Outcome:
    if webhook.status != Webhook.Status.ACTIVE:
        return CANCELED
    sent_at = now()
    body = delivery.body.encode()
    headers = headers_for(delivery.message_id, body, webhook.secrets_at(sent_at), sent_at)
    return http.post(webhook.url, body, headers)


def _mail(delivery: Delivery) -> email.Mail:
    message_id = email.message_id_for(encode_id(Prefix.DELIVERY, delivery.pk))
    if delivery.kind == Delivery.Kind.TEST:
        example = json.loads(delivery.body)["data"]
        return email.render_submission(
            example,
            form_name=example["formName"],
            form_url=None,
            to=delivery.recipient,
            message_id=message_id,
            reply_to="",
            subject=f"Test: new submission to {example['formName']}",
        )
    if delivery.submission is None:
        notice = json.loads(delivery.body)
        return email.Mail(
            to=delivery.recipient,
            subject=notice["subject"],
            text=notice["text"],
            html=linebreaks(notice["text"], autoescape=True),  # an empty part would be what most programs show
            reply_to="",
            message_id=message_id,
        )
    submission = delivery.submission
    return email.render_submission(
        submission_record(submission),
        form_name=submission.form.name,
        form_url=f"{settings.SUBMISSION_PAGE}{submission.public_id}",
        to=delivery.recipient,
        message_id=message_id,
        reply_to=_reply_to(submission),
        subject=submission.controls.get("_subject") or submission.data.get("subject", ""),
    )


def _reply_to(submission: Submission) -> str:
    """Return the submitter's address: as a control field says, else the first Email field, else `email`."""
    declared = [field["name"] for field in submission.form.fields if field["type"] == FieldType.EMAIL]
    candidates = [submission.controls.get("_replyto")]
    candidates += [submission.data.get(name) for name in ("replyto", *declared, "email")]
    return next((address for address in candidates if address), "")
