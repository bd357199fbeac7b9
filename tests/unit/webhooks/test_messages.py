"""The bodies of messages: Standard Webhooks payloads, serialized once (docs/contract.md 7)."""

import json
import uuid
from typing import Any

import pytest

from config.base.ids import Prefix, encode_id, made_at
from forms_app.models import Form
from keys.models import Organization
from submissions.models import Submission
from webhooks import payloads as messages
from webhooks.models import Message
from webhooks.payloads import submission_message

PK = uuid.UUID("01890a5d-ac96-774b-bcce-b302099a8057")  # TypeID's own example: 01h455vb4pex5vsknk084sn02q
SUFFIX = "01h455vb4pex5vsknk084sn02q"
FORM = Form(
    id=uuid.UUID("01890a5d-ac96-774b-bcce-b302099a8058"), organization=Organization(), name="Contact", fields=[]
)


def submission(**values: Any) -> Submission:
    start = {"data": {"b": "2", "a": "1"}, "meta": {"ip": "192.0.2.1"}, "spam_reasons": []}
    return Submission(id=PK, form=FORM, created_at=made_at(PK), **{**start, **values})


def test_message_id__submission__is_msg_and_its_own_26_characters() -> None:
    assert Message(id=PK).public_id == f"msg_{SUFFIX}"


def test_submission_message__ordinary__is_the_record_with_the_forms_name() -> None:
    assert json.loads(submission_message(submission(), "Contact")) == {
        "type": "submission.created",
        "timestamp": "2023-06-30T03:34:18.518Z",
        "data": {
            "id": f"sub_{SUFFIX}",
            "formId": encode_id(Prefix.FORM, FORM.id),
            "data": {"b": "2", "a": "1"},
            "files": [],
            "spam": False,
            "spamReasons": [],
            "held": None,
            "test": False,
            "meta": {"ip": "192.0.2.1"},
            "imported": False,
            "createdAt": "2023-06-30T03:34:18.518Z",
            "formName": "Contact",
        },
    }


def test_submission_message__inputs_in_an_order__keep_it_and_the_text_is_compact() -> None:
    body = submission_message(submission(), "Contact")
    assert '"data":{"b":"2","a":"1"}' in body
    assert ": " not in body


@pytest.mark.parametrize("text", ["Grüße 🎉", "\u2028", '"\\', "line\nbreak", "</script>", "\u200f"])
def test_submission_message__any_text__survives_the_way(text: str) -> None:
    body = submission_message(submission(data={text: text}), text)
    data = json.loads(body.encode())["data"]
    assert (data["data"], data["formName"]) == ({text: text}, text)


def test_test_message__form_with_fields__fills_each_and_is_marked() -> None:
    fields = [
        {"name": "who", "label": "Who", "type": "Text", "required": True},
        {"name": "mail", "label": "Mail", "type": "Email", "required": False},
        {"name": "size", "label": "Size", "type": "Select", "required": False, "options": ["S", "M"]},
        {"name": "day", "label": "Day", "type": "Date", "required": False},
    ]
    form = Form(id=FORM.id, organization=FORM.organization, name="Order", fields=fields)
    body = json.loads(messages.test_message(form))
    assert body["type"] == "submission.created"
    assert body["timestamp"] == body["data"]["createdAt"]
    assert body["data"]["data"] == {"who": "Test", "mail": "ada@example.com", "size": "S", "day": "2026-01-31"}
    assert (body["data"]["test"], body["data"]["formName"], body["data"]["spam"]) == (True, "Order", False)


def test_test_message__form_without_fields__still_says_something() -> None:
    assert json.loads(messages.test_message(FORM))["data"]["data"] == {"message": "This is a test."}
