"""Starter forms: the most common forms, so that nobody has to start with an empty page."""

import dataclasses
from collections.abc import Sequence

from forms_app.field_definitions import FieldDefinition
from forms_app.field_kinds import FieldType


@dataclasses.dataclass(frozen=True, slots=True)
class StarterForm:
    """`label` and `help` as the page for a new form shows them, and the fields of the form."""

    label: str
    help: str
    fields: Sequence[FieldDefinition]


def _field(name: str, label: str, kind: str, *, required: bool = False, **more: object) -> FieldDefinition:
    return {"name": name, "label": label, "type": str(kind), "required": required, **more}  # type: ignore[typeddict-item]  # `more`: optional keys


NAME = _field("name", "Name", FieldType.TEXT.value, required=True)
EMAIL = _field("email", "Email", FieldType.EMAIL.value, required=True)
STARTER_FORMS = {
    "contact": StarterForm(
        "Contact",
        "Name, email, message",
        [NAME, EMAIL, _field("message", "Message", FieldType.TEXTAREA.value, required=True)],
    ),
    "newsletter": StarterForm(
        "Newsletter",
        "Email, and a box to agree",
        [EMAIL, _field("consent", "I want to get your newsletter", FieldType.CHECKBOX.value, required=True)],
    ),
    "feedback": StarterForm(
        "Feedback",
        "How it was, and why",
        [
            _field(
                "rating",
                "How was it?",
                FieldType.SELECT.value,
                required=True,
                options=["Great", "Good", "Fair", "Poor"],
            ),
            _field("comment", "What should we know?", FieldType.TEXTAREA.value),
            _field("email", "Email, if we may answer", FieldType.EMAIL.value),
        ],
    ),
    "application": StarterForm(
        "Job application",
        "Who, when, links",
        [
            NAME,
            EMAIL,
            _field("phone", "Phone", FieldType.PHONE.value),
            _field("profile", "Link to your profile or work", FieldType.URL.value),
            _field("start", "When could you start?", FieldType.DATE.value),
            _field("about", "About you", FieldType.TEXTAREA.value, required=True),
        ],
    ),
    "blank": StarterForm("Blank", "Without fields it takes any values", []),
}
