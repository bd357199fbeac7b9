"""Starter forms: the most common forms, so that nobody has to start with an empty page."""

import dataclasses
from collections.abc import Sequence

from forms_app.field_definitions import FieldDefinition
from forms_app.field_kinds import FieldType


@dataclasses.dataclass(frozen=True, slots=True)
class StarterForm:
    """`label` and `help` as the page for a new form shows them, the name of the form, and its fields."""

    label: str
    help: str
    name: str
    fields: Sequence[FieldDefinition]


def _field(name: str, label: str, kind: FieldType, *, required: bool = False, **more: object) -> FieldDefinition:
    return {"name": name, "label": label, "type": kind.value, "required": required, **more}  # type: ignore[typeddict-item]  # `more`: optional keys


NAME = _field("name", "Name", FieldType.TEXT, required=True)
EMAIL = _field("email", "Email", FieldType.EMAIL, required=True)
PHONE = _field("phone", "Phone", FieldType.PHONE)
STARTER_FORMS = {
    "blank": StarterForm("Blank", "Add your own fields. Without fields it accepts any values.", "Untitled form", []),
    "contact": StarterForm(
        "Contact",
        "Questions and requests to your team.",
        "Contact",
        [NAME, EMAIL, _field("message", "Message", FieldType.TEXTAREA, required=True)],
    ),
    "newsletter": StarterForm(
        "Newsletter",
        "An email address, and consent.",
        "Newsletter",
        [EMAIL, _field("consent", "I want to get your newsletter", FieldType.CHECKBOX, required=True)],
    ),
    "feedback": StarterForm(
        "Feedback",
        "How it was, and why.",
        "Feedback",
        [
            _field("rating", "How was it?", FieldType.SELECT, required=True, options=["Great", "Good", "Fair", "Poor"]),
            _field("comment", "What should we know?", FieldType.TEXTAREA),
            _field("email", "Email, if we may answer", FieldType.EMAIL),
        ],
    ),
    "registration": StarterForm(
        "Event registration",
        "Who comes, to which session, and their diet.",
        "Event registration",
        [
            NAME,
            EMAIL,
            _field("organization", "Organization", FieldType.TEXT),
            _field(
                "session", "Session", FieldType.SELECT, required=True, options=["Morning", "Afternoon", "Whole day"]
            ),
            _field("diet", "Diet", FieldType.CHECKBOX, options=["Vegetarian", "Vegan", "Gluten-free"]),
            _field("notes", "Anything else?", FieldType.TEXTAREA),
        ],
    ),
    "rsvp": StarterForm(
        "RSVP",
        "Yes or no, and how many.",
        "RSVP",
        [
            NAME,
            _field(
                "attending",
                "Will you come?",
                FieldType.SELECT,
                required=True,
                options=["Yes", "No", "Not sure yet"],
            ),
            _field("guests", "How many are you?", FieldType.NUMBER, placeholder="2"),
            _field("message", "Message to the host", FieldType.TEXTAREA),
        ],
    ),
    "order": StarterForm(
        "Order or quote",
        "A product, how many, and by when.",
        "Request a quote",
        [
            NAME,
            EMAIL,
            PHONE,
            _field("product", "Product", FieldType.TEXT, required=True),
            _field("quantity", "Quantity", FieldType.NUMBER, required=True),
            _field("date", "Needed by", FieldType.DATE),
            _field("details", "Details", FieldType.TEXTAREA),
        ],
    ),
    "application": StarterForm(
        "Job application",
        "Who, when, and links to work.",
        "Job application",
        [
            NAME,
            EMAIL,
            PHONE,
            _field("profile", "Link to your profile or work", FieldType.URL),
            _field("start", "When could you start?", FieldType.DATE),
            _field("about", "About you", FieldType.TEXTAREA, required=True),
        ],
    ),
    "bug": StarterForm(
        "Bug report",
        "What happened, where, and how bad it is.",
        "Bug report",
        [
            _field("summary", "What happened?", FieldType.TEXT, required=True),
            _field("steps", "How can we see it too?", FieldType.TEXTAREA, required=True),
            _field("severity", "How bad is it?", FieldType.SELECT, options=["I cannot work", "Annoying", "Cosmetic"]),
            _field("page", "Address of the page", FieldType.URL),
            EMAIL,
        ],
    ),
}
