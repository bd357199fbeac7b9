"""Starter forms: the most common forms, so that nobody has to start with an empty page."""

import dataclasses
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.core.serializers.json import DjangoJSONEncoder
from django.utils.translation import gettext_lazy

from forms_app.field_definitions import DEFAULT_FILE_BYTES
from forms_app.field_kinds import FieldType

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


@dataclasses.dataclass(frozen=True, slots=True)
class StarterForm:
    """`label` and `help` as the page for a new form shows them, the fields, and another name of the form."""

    label: "StrOrPromise"
    help: "StrOrPromise"
    definitions: Sequence[dict[str, Any]]
    other_name: "StrOrPromise" = ""

    @property
    def name(self) -> "StrOrPromise":
        return self.other_name or self.label

    @property
    def fields(self) -> list[dict[str, Any]]:
        """The fields as they are stored: in the language of the person who creates the form."""
        return list(json.loads(json.dumps(self.definitions, cls=DjangoJSONEncoder)))


def _field(
    name: str, label: "StrOrPromise", kind: FieldType, *, required: bool = False, **more: object
) -> dict[str, Any]:
    return {"name": name, "label": label, "type": kind.value, "required": required, **more}


NAME = _field("name", gettext_lazy("Name"), FieldType.TEXT, required=True)
EMAIL = _field("email", gettext_lazy("Email"), FieldType.EMAIL, required=True)
PHONE = _field("phone", gettext_lazy("Phone"), FieldType.PHONE)
STARTER_FORMS = {
    "blank": StarterForm(
        gettext_lazy("Blank"),
        gettext_lazy("Add your own fields. Without fields it accepts any values."),
        [],
        gettext_lazy("Untitled form"),
    ),
    "contact": StarterForm(
        gettext_lazy("Contact"),
        gettext_lazy("Questions and requests to your team."),
        [NAME, EMAIL, _field("message", gettext_lazy("Message"), FieldType.TEXTAREA, required=True)],
    ),
    "newsletter": StarterForm(
        gettext_lazy("Newsletter"),
        gettext_lazy("An email address, and consent."),
        [EMAIL, _field("consent", gettext_lazy("I want to get your newsletter"), FieldType.CHECKBOX, required=True)],
    ),
    "feedback": StarterForm(
        gettext_lazy("Feedback"),
        gettext_lazy("How it was, and why."),
        [
            _field(
                "rating",
                gettext_lazy("How was it?"),
                FieldType.SELECT,
                required=True,
                options=[gettext_lazy("Great"), gettext_lazy("Good"), gettext_lazy("Fair"), gettext_lazy("Poor")],
            ),
            _field("comment", gettext_lazy("What should we know?"), FieldType.TEXTAREA),
            _field("email", gettext_lazy("Email, if we may answer"), FieldType.EMAIL),
        ],
    ),
    "registration": StarterForm(
        gettext_lazy("Event registration"),
        gettext_lazy("Who comes, to which session, and their diet."),
        [
            NAME,
            EMAIL,
            _field("organization", gettext_lazy("Organization"), FieldType.TEXT),
            _field(
                "session",
                gettext_lazy("Session"),
                FieldType.SELECT,
                required=True,
                options=[gettext_lazy("Morning"), gettext_lazy("Afternoon"), gettext_lazy("Whole day")],
            ),
            _field(
                "diet",
                gettext_lazy("Diet"),
                FieldType.CHECKBOX,
                options=[gettext_lazy("Vegetarian"), gettext_lazy("Vegan"), gettext_lazy("Gluten-free")],
            ),
            _field("notes", gettext_lazy("Anything else?"), FieldType.TEXTAREA),
        ],
    ),
    "rsvp": StarterForm(
        gettext_lazy("RSVP"),
        gettext_lazy("Yes or no, and how many."),
        [
            NAME,
            _field(
                "attending",
                gettext_lazy("Will you come?"),
                FieldType.SELECT,
                required=True,
                options=[gettext_lazy("Yes"), gettext_lazy("No"), gettext_lazy("Not sure yet")],
            ),
            _field("guests", gettext_lazy("How many are you?"), FieldType.NUMBER, placeholder="2"),
            _field("message", gettext_lazy("Message to the host"), FieldType.TEXTAREA),
        ],
    ),
    "order": StarterForm(
        gettext_lazy("Order or quote"),
        gettext_lazy("A product, how many, and by when."),
        [
            NAME,
            EMAIL,
            PHONE,
            _field("product", gettext_lazy("Product"), FieldType.TEXT, required=True),
            _field("quantity", gettext_lazy("Quantity"), FieldType.NUMBER, required=True),
            _field("date", gettext_lazy("Needed by"), FieldType.DATE),
            _field("details", gettext_lazy("Details"), FieldType.TEXTAREA),
        ],
        gettext_lazy("Request a quote"),
    ),
    "application": StarterForm(
        gettext_lazy("Job application"),
        gettext_lazy("Who, when, a CV and links to work."),
        [
            NAME,
            EMAIL,
            PHONE,
            _field(
                "cv",
                gettext_lazy("CV"),
                FieldType.FILE,
                required=True,
                accept=["application/pdf", ".doc", ".docx", ".odt"],
                maxFiles=1,
                maxBytes=DEFAULT_FILE_BYTES,
            ),
            _field("profile", gettext_lazy("Link to your profile or work"), FieldType.URL),
            _field("start", gettext_lazy("When could you start?"), FieldType.DATE),
            _field("about", gettext_lazy("About you"), FieldType.TEXTAREA, required=True),
        ],
    ),
    "bug": StarterForm(
        gettext_lazy("Bug report"),
        gettext_lazy("What happened, where, and how bad it is."),
        [
            _field("summary", gettext_lazy("What happened?"), FieldType.TEXT, required=True),
            _field("steps", gettext_lazy("How can we see it too?"), FieldType.TEXTAREA, required=True),
            _field(
                "severity",
                gettext_lazy("How bad is it?"),
                FieldType.SELECT,
                options=[gettext_lazy("I cannot work"), gettext_lazy("Annoying"), gettext_lazy("Cosmetic")],
            ),
            _field("page", gettext_lazy("Address of the page"), FieldType.URL),
            EMAIL,
        ],
    ),
}
