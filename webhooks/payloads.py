"""The bodies of messages: Standard Webhooks payloads, serialized once (docs/contract.md 7)."""

import hashlib
from dataclasses import dataclass
from typing import Any

from rest_framework import serializers

from config.base.ids import new_id
from config.base.times import format_time, now
from forms_app.field_kinds import kind_of
from forms_app.models import Form
from forms_app.snippets import test_values
from keys.notices import ENGLISH
from submissions.json_text import dump_json
from submissions.models import StoredFile, Submission
from submissions.serializers import SubmissionRecord, submission_record

SUBMISSION_CREATED = "submission.created"
EXAMPLE_CONTENT = b"%PDF-1.4 example"  # of a test event's file


def standard_message(event: str, timestamp: str | None, data: dict[str, Any]) -> str:
    """Return the body of an event, `{type, timestamp, data}`, as https://www.standardwebhooks.com has it."""
    return dump_json({"type": event, "timestamp": timestamp, "data": data})


def submission_message(submission: Submission, form_name: str) -> str:
    """Return the body for a new submission: `{type, timestamp, data: {…record, formName}}`."""
    data = {**submission_record(submission), "formName": form_name}
    return standard_message(SUBMISSION_CREATED, format_time(submission.created_at), data)


class SubmittedSubmission(SubmissionRecord):
    """The submission, with the name of its form."""

    texts = {
        **SubmissionRecord.texts,
        "formName": "The name of its form.",
        "test": "Whether it is a test submission, or the example of a test event.",
    }

    formName = serializers.CharField()

    class Meta(SubmissionRecord.Meta):
        fields: tuple[str, ...] = (*SubmissionRecord.Meta.fields, "formName")  # type: ignore[assignment]  # longer


def test_message(form: Form) -> str:
    """Return the body of a test event: an example submission to this form, marked by `"test": true`."""
    example = example_submission(form)
    record = {**submission_record(example), "formName": form.name, "test": True}
    return standard_message(SUBMISSION_CREATED, format_time(example.created_at), record)


def example_submission(form: Form) -> Submission:
    """Return a submission that is stored nowhere."""
    example = Submission(
        id=new_id(), form=form, data=test_values(form), meta=EMPTY_META, spam_reasons=[], created_at=now()
    )
    named = [field["name"] for field in form.fields if kind_of(field["type"]).takes_files]
    example.files = [_example_file(name, example.data[name]) for name in named if name in example.data]
    return example


def _example_file(field: str, name: str) -> StoredFile:
    """Return a file as receivers get it. It is stored nowhere, so its address answers 404."""
    size, sha256 = len(EXAMPLE_CONTENT), hashlib.sha256(EXAMPLE_CONTENT).hexdigest()
    return StoredFile(id=new_id(), field=field, name=name, size=size, content_type="application/pdf", sha256=sha256)


@dataclass(frozen=True, slots=True)
class Notice:
    """A mail from us to a user: subject and plain text, in this language."""

    subject: str
    text: str
    language: str = ENGLISH


@dataclass(frozen=True, slots=True)
class RenderedMail:
    """
    A mail whose texts are ready. `html` may be empty.

    `stop_url`: where its recipient ends such mails. `is_reply`: it answers a submission of its recipient; then it may
    come from a `sender`, a name before that of the service, with answers to `reply_to`.
    """

    subject: str
    text: str
    html: str = ""
    stop_url: str = ""
    is_reply: bool = False
    sender: str = ""
    reply_to: str = ""


def rendered_message(mail: RenderedMail) -> str:
    """Return the body of a mail that was rendered where it was asked for: `{subject, text, html}`, and its options."""
    options: dict[str, Any] = {}
    if mail.is_reply:
        options = {"stopUrl": mail.stop_url, "isReply": True, "sender": mail.sender, "replyTo": mail.reply_to}
    return dump_json({"subject": mail.subject, "text": mail.text, "html": mail.html, **options})


def notice_message(notice: Notice) -> str:
    """Return the body of a notice: `{subject, text, language}`."""
    return dump_json({"subject": notice.subject, "text": notice.text, "language": notice.language})


EMPTY_META = {"ip": None, "userAgent": None, "origin": None, "referer": None}
