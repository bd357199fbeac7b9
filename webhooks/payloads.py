"""What a webhook is told: Standard Webhooks messages, serialized once (CONTRACT section 7)."""

import uuid
from typing import Any

from config.ids import new_id, suffix
from config.times import format_time, now
from forms_app.field_kinds import kind_of
from forms_app.models import Form
from submissions.json_text import dump_json
from submissions.models import Submission
from submissions.serializers import submission_record
from webhooks.models import Event


def message_id(pk: uuid.UUID) -> str:
    """Return the `webhook-id`: of a submission the same for every endpoint, attempt and replay."""
    return f"msg_{suffix(pk)}"


def submission_message(submission: Submission, form_name: str) -> str:
    """Return the body that tells of a submission: `{type, timestamp, data: {…record, formName}}`."""
    return _message(format_time(submission.created_at), {**submission_record(submission), "formName": form_name})


def test_message(form: Form) -> str:
    """Return the body of a test event: a made-up submission to this form, marked by `"test": true`."""
    values = {field["name"]: _example(field) for field in form.fields} or {"message": "This is a test."}
    example = Submission(id=new_id(), form=form, data=values, meta=EMPTY_META, spam_reasons=[], created_at=now())
    record = {**submission_record(example), "formName": form.name, "test": True}
    return _message(format_time(example.created_at), record)


EMPTY_META = {"ip": None, "userAgent": None, "origin": None, "referer": None}


def _example(field: dict[str, Any]) -> str:
    options = field.get("options")
    return options[0] if options else kind_of(field["type"]).test_value


def _message(timestamp: str | None, data: dict[str, Any]) -> str:
    return dump_json({"type": Event.SUBMISSION_CREATED.value, "timestamp": timestamp, "data": data})
