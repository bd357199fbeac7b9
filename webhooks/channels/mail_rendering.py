"""The texts of mails: for a submission, a test event, and a notice."""

from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.html import linebreaks

from forms_app.field_kinds import FieldType
from forms_app.outsiders.recipients import stop_url
from submissions.models import Submission
from submissions.serializers import submission_record
from webhooks.channels.smtp import Mail, one_line


def render_mail(submission: Submission, *, to: str, message_id: str, uses_subject: bool) -> Mail:
    """
    Return the mail for a submission; its form must be loaded.

    `uses_subject`: the page may choose the subject. A stranger who has a page's key could write it.
    """
    subject = submission.controls.get("_subject") or submission.data.get("subject", "")
    return render_submission(
        submission_record(submission),
        form_name=submission.form.name,
        form_url=f"{settings.SUBMISSION_PAGE}{submission.public_id}",
        to=to,
        message_id=message_id,
        reply_to=_reply_to(submission),
        subject=subject if uses_subject else "",
    )


def render_test(body: dict[str, Any], *, to: str, message_id: str) -> Mail:
    """Return the mail for a test event, from its message's body."""
    example = body["data"]
    return render_submission(
        example,
        form_name=example["formName"],
        form_url=None,
        to=to,
        message_id=message_id,
        reply_to="",
        subject=f"Test: new submission to {example['formName']}",
    )


def render_notice(body: dict[str, Any], *, to: str, message_id: str) -> Mail:
    """Return the mail for a notice, from its message's body: `{subject, text}`."""
    return Mail(
        to=to,
        subject=body["subject"],
        text=body["text"],
        html=linebreaks(body["text"], autoescape=True),  # mail programs prefer this part, so it must not be empty
        reply_to="",
        message_id=message_id,
    )


def render_stored(body: dict[str, Any], *, to: str, message_id: str) -> Mail:
    """Return a mail whose texts were rendered where it was asked for: `{subject, text, html}`."""
    return Mail(
        to=to,
        subject=body["subject"],
        text=body["text"],
        html=body["html"],
        reply_to="",
        message_id=message_id,
    )


def render_submission(
    record: dict[str, Any],
    *,
    form_name: str,
    form_url: str | None,
    to: str,
    message_id: str,
    reply_to: str,
    subject: str,
) -> Mail:
    """
    Return the mail for a submission record.

    `record` is that of docs/contract.md 5 (`data`, `createdAt`, `id` and `formId` are used; values are kept whole).
    `form_url` is our own page of the submission, None for no link. Without a `subject` the form's name makes one.
    """
    context = {
        "form_name": form_name,
        "form_url": form_url,
        "values": list(record["data"].items()),
        "received_at": datetime.fromisoformat(record["createdAt"]).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
        "submission_id": record["id"],
        "stop_url": stop_url(record["formId"], to),
    }
    return Mail(
        to=to,
        subject=one_line(subject) or one_line(f"New submission: {form_name}"),
        text=render_to_string("mail/submission.txt", context),
        html=render_to_string("mail/submission.html", context),
        reply_to=reply_to,
        message_id=message_id,
        stop_url=context["stop_url"],
    )


def _reply_to(submission: Submission) -> str:
    """Return the submitter's address: as a control field says, else the first Email field, else `email`."""
    declared = [field["name"] for field in submission.form.fields if field["type"] == FieldType.EMAIL]
    candidates = [submission.controls.get("_replyto")]
    candidates += [submission.data.get(name) for name in ("replyto", "replyTo", *declared, "email")]
    return next((address for address in candidates if address), "")
