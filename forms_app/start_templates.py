"""Forms to begin with: what most people build first, so that nobody begins with an empty page."""

import dataclasses
from collections.abc import Sequence

from forms_app.field_definitions import FieldDefinition
from forms_app.field_kinds import FieldType


@dataclasses.dataclass(frozen=True, slots=True)
class Start:
    """A name for people, and the fields."""

    label: str
    help: str
    fields: Sequence[FieldDefinition]


def _field(name: str, label: str, kind: str, *, required: bool = False, **more: object) -> FieldDefinition:
    return {"name": name, "label": label, "type": str(kind), "required": required, **more}  # type: ignore[typeddict-item]


NAME = _field("name", "Name", FieldType.TEXT.value, required=True)
EMAIL = _field("email", "Email", FieldType.EMAIL.value, required=True)
STARTS = {
    "contact": Start(
        "Contact",
        "Name, email, message",
        [NAME, EMAIL, _field("message", "Message", FieldType.TEXTAREA.value, required=True)],
    ),
    "newsletter": Start(
        "Newsletter",
        "Email, and a box to agree",
        [EMAIL, _field("consent", "I want to get your newsletter", FieldType.CHECKBOX.value, required=True)],
    ),
    "feedback": Start(
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
    "application": Start(
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
    "blank": Start("Blank", "Without fields it takes any values", []),
}
