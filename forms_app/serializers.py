"""Bodies and records of forms (docs/contract.md 4)."""

from typing import Any

from django.conf import settings
from django.utils.translation import gettext, gettext_lazy
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from config.api.fields import PublicIdField, TimeField
from config.api.schema import ruled
from config.api.serializers import FlagField, NameField, StrictSerializer, TextField, WholeNumberField
from config.base.ids import Prefix
from config.base.text import clean_text
from forms_app.field_definitions import (
    CAPTCHA_FIELDS,
    CONTROL_FIELDS,
    DEFAULT_FILE_BYTES,
    DEFAULT_FILES,
    MAX_FIELDS,
    MAX_FILE_BYTES,
    MAX_FILES,
    MAX_HELP,
    MAX_LABEL,
    MAX_NAME,
    MAX_PLACEHOLDER,
    fill_in_names,
    first_duplicate,
)
from forms_app.field_kinds import KINDS, find_kind, kind_of
from forms_app.file_fields.entries import ENTRY, MAX_ACCEPT, MAX_ENTRY, InvalidEntry, entry_of
from forms_app.formats import is_web_address
from forms_app.models import MAX_BUTTON_LABEL, MAX_DESCRIPTION, MAX_RETURN_URL, Form
from forms_app.origins import InvalidOrigin, parse_origin_pattern
from forms_app.texts.replies import MAX_SUBJECT, MAX_TEXT

MAX_ORIGINS = 50
MAX_OPTIONS = 200
MAX_RETENTION_DAYS = 3650  # ten years
# The format of an origin, for the schema; `parse_origin_pattern` is authoritative.
ORIGIN = r"^[Hh][Tt][Tt][Pp][Ss]?://(\*\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?(:([0-9]{1,4}|[1-5][0-9]{4}))?$"
NEED_OPTIONS = [name for name, kind in KINDS.items() if kind.needs_options]
MAY_HAVE_OPTIONS = [name for name, kind in KINDS.items() if kind.takes_options and not kind.needs_options]
TAKE_FILES = [name for name, kind in KINDS.items() if kind.takes_files]
OF_FILES = ("accept", "maxFiles", "maxBytes")  # members of fields that take files


class FieldTypeField(serializers.ChoiceField):
    """A field type in any case; its value has the spelling of the table."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(choices=[(name, name) for name in KINDS], **kwargs)

    def to_internal_value(self, data: Any) -> str:
        kind = find_kind(data) if isinstance(data, str) else None
        if kind is None:
            shown = clean_text(str(data))[:100]
            raise serializers.ValidationError(
                gettext('"%(type)s" is not a field type. Choose one of %(types)s.')
                % {"type": shown, "types": ", ".join(KINDS)},
                code="invalid_choice",
            )
        return kind.name


class AcceptField(TextField):
    """A media type or an extension that a File field accepts; its value has the stored spelling."""

    def to_internal_value(self, data: Any) -> str:
        try:
            return entry_of(super().to_internal_value(data))
        except InvalidEntry as error:
            raise serializers.ValidationError(str(error), code=error.code) from None


FIELD_TEXTS = {
    "name": "The name of its value in a submission. Made from the label if left out.",
    "label": "The text at its input.",
    "type": "How its values are checked and shown.",
    "required": "Whether a submission needs a value.",
    "options": "The values to choose from. A Select needs them, a Checkbox may have them, other types have none.",
    "placeholder": "An example, shown in an empty input.",
    "help": "A sentence below the label on the form's page.",
    "accept": "The types of a File: media types such as `application/pdf` and `image/*`, extensions such as `.pdf`. "
    "Left out: every type but web pages, SVG, scripts and programs, which are always refused.",
    "maxFiles": f"How many files a File takes, by default {DEFAULT_FILES}.",
    "maxBytes": f"The largest size of each file of a File in bytes, by default {DEFAULT_FILE_BYTES}.",
}


# With `if` and `dependentSchemas`, which generators pass over: `anyOf` becomes several types.
@ruled(
    **{
        "if": {"properties": {"type": {"enum": NEED_OPTIONS}}, "required": ["type"]},
        "then": {"properties": {"options": {"minItems": 1}}, "required": ["options"]},
        "dependentSchemas": {
            "options": {"properties": {"type": {"enum": [*NEED_OPTIONS, *MAY_HAVE_OPTIONS]}}},
            **{name: {"properties": {"type": {"enum": TAKE_FILES}}} for name in OF_FILES},
        },
        # Without `default` for the limits of files: generated clients would send it with every other type.
        "properties": {"accept": {"items": {"type": "string", "maxLength": MAX_ENTRY, "pattern": ENTRY}}},
    }
)
class FieldDefinitionSerializer(StrictSerializer):
    """A field of a form to create or change."""

    schema_name = "NewFormField"
    texts = FIELD_TEXTS
    name = NameField(max_length=MAX_NAME, required=False)
    label = NameField(max_length=MAX_LABEL)  # type: ignore[assignment]  # the names of the API, which DRF uses for itself
    type = FieldTypeField()
    required = FlagField(default=False)  # type: ignore[assignment]  # likewise
    options = serializers.ListField(child=NameField(), required=False, allow_empty=False, max_length=MAX_OPTIONS)
    placeholder = TextField(max_length=MAX_PLACEHOLDER, required=False, allow_blank=True)
    help = TextField(max_length=MAX_HELP, required=False, allow_blank=True)
    accept = serializers.ListField(child=AcceptField(), required=False, max_length=MAX_ACCEPT)
    maxFiles = WholeNumberField(min_value=1, max_value=MAX_FILES, required=False)
    maxBytes = WholeNumberField(
        min_value=1,
        max_value=MAX_FILE_BYTES,
        required=False,
        error_messages={"max_value": gettext_lazy("A file has at most {max_value} bytes (25 MiB).")},
    )

    def validate_name(self, name: str) -> str:
        """Reject control fields: their values are not stored as data."""
        if name in CONTROL_FIELDS or name in CAPTCHA_FIELDS:
            raise serializers.ValidationError(
                gettext("%(name)s is a control field. Choose another name.") % {"name": name}, code="reserved"
            )
        return name

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """
        Require options for a type that needs them, and reject them for a type without; likewise the limits of files.

        A File gets its defaults: its record has them without being asked for.
        """
        kind, has_options = kind_of(attrs["type"]), "options" in attrs
        if kind.needs_options and not has_options:
            message = gettext("A %(type)s needs a list of options.") % {"type": kind.name}
            raise serializers.ValidationError({"options": [message]}, code="required")
        if has_options and not kind.takes_options:
            types = gettext(" and ").join([*NEED_OPTIONS, *MAY_HAVE_OPTIONS])
            message = gettext("Only %(types)s have options.") % {"types": types}
            raise serializers.ValidationError({"options": [message]}, code="not_allowed")
        if attrs.get("help") == "":
            del attrs["help"]
        return self._with_file_limits(attrs) if kind.takes_files else self._without_file_limits(attrs)

    def _with_file_limits(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs["accept"] = list(dict.fromkeys(attrs.get("accept", [])))
        if not attrs["accept"]:
            del attrs["accept"]  # every type, as if it was left out
        return {**attrs, "maxFiles": DEFAULT_FILES, "maxBytes": DEFAULT_FILE_BYTES} | attrs

    def _without_file_limits(self, attrs: dict[str, Any]) -> dict[str, Any]:
        message = gettext("Only %(types)s fields have this.") % {"types": gettext(" and ").join(TAKE_FILES)}
        given = {name: [message] for name in OF_FILES if name in attrs}
        if given:
            raise serializers.ValidationError(given, code="not_allowed")
        return attrs


class WebAddressField(TextField):
    """An http or https URL; its value is "" for none."""

    default_error_messages = {"invalid_url": gettext_lazy("Must be a URL that begins with http:// or https://.")}

    def run_validation(self, data: Any = serializers.empty) -> str:
        url = super().run_validation(data)
        if url and not is_web_address(url):
            self.fail("invalid_url")
        return url or ""


REPLY_TEXTS = {
    "enabled": "Whether it is sent.",
    "subject": "One line. May hold placeholders such as `{{ data.topic }}`.",
    "text": "Plain text, with the same placeholders.",
}


class ReplySerializer(StrictSerializer):
    """The mail that answers each submitter."""

    schema_name = "NewFormReply"
    texts = REPLY_TEXTS
    enabled = FlagField()
    subject = TextField(max_length=MAX_SUBJECT)
    text = TextField(max_length=MAX_TEXT)

    def validate_subject(self, subject: str) -> str:
        return " ".join(subject.split())

    def validate_text(self, text: str) -> str:
        """Return the text with plain line breaks, which browsers send as two characters."""
        return text.replace("\r\n", "\n")


class NamesFields(serializers.Serializer[Any]):
    """Names the attribute `fields_` `fields` in JSON; as an attribute, `fields` belongs to DRF."""

    def get_fields(self) -> dict[str, Any]:
        return {name.rstrip("_"): field for name, field in super().get_fields().items()}


@ruled(
    properties={
        "fields": {"maxItems": MAX_FIELDS},
        "allowedOrigins": {"items": {"type": "string", "maxLength": 300, "pattern": ORIGIN}},
    }
)
class FormChanges(NamesFields, StrictSerializer):
    """Changes of a form. Members that are left out stay as they are."""

    # Not DRF's `partial`, which makes members of nested objects optional too.
    texts = {
        "name": "A name for people.",
        "fields": "Its fields, in their order. They replace all earlier ones.",
        "allowedOrigins": "The origins whose pages may submit, such as `https://*.example.com`. Empty: all.",
        "redirectUrl": "Where a visitor goes after submitting: an http or https URL. Empty or null: a thank-you page.",
        "successMessage": "The text after submitting. Empty or null: a standard text.",
        "retentionDays": "After how many days submissions are deleted; null for never.",
        "reply": "The mail that answers each submitter; null for none. Needs an Email field and a human check.",
        "confirmation": "Whether submitters confirm their address first. Needs an Email field and a human check.",
    }
    name = NameField(required=False)
    # `max_length` instead of a check in a method, which would validate eighty thousand fields before it counts them.
    # (Ignored, since the stubs do not know that `many=True` accepts the arguments of a ListSerializer.)
    fields_ = FieldDefinitionSerializer(many=True, required=False, max_length=MAX_FIELDS)  # type: ignore[call-arg]  # see above
    allowedOrigins = serializers.ListField(
        child=TextField(max_length=300), source="allowed_origins", required=False, max_length=MAX_ORIGINS
    )
    redirectUrl = WebAddressField(
        max_length=2048, source="redirect_url", required=False, allow_blank=True, allow_null=True
    )
    successMessage = TextField(
        max_length=1000, source="success_message", required=False, allow_blank=True, allow_null=True
    )
    retentionDays = WholeNumberField(
        min_value=1, max_value=MAX_RETENTION_DAYS, source="retention_days", required=False, allow_null=True
    )
    reply = ReplySerializer(required=False, allow_null=True)
    confirmation = FlagField(required=False)

    def validate_fields(self, fields: list[dict[str, Any]]) -> list[dict[str, Any]]:
        duplicate = first_duplicate(field["name"] for field in fields if field.get("name"))
        if duplicate is not None:
            raise serializers.ValidationError(
                gettext("Two fields have the name %(name)s.") % {"name": duplicate}, code="duplicate"
            )
        return fill_in_names(fields)

    def validate_allowedOrigins(self, origins: list[str]) -> list[str]:
        """Return the origins in the spelling of browsers, without duplicates."""
        try:
            return list(dict.fromkeys(parse_origin_pattern(origin) for origin in origins))
        except InvalidOrigin as error:
            raise serializers.ValidationError(str(error), code="invalid_origin") from None

    def validate_successMessage(self, message: str | None) -> str:
        return message or ""


class PageChanges(StrictSerializer):
    """Changes of a form's hosted page, from the dashboard: no member of the API's record."""

    description = TextField(max_length=MAX_DESCRIPTION, allow_blank=True)
    button_label = NameField(max_length=MAX_BUTTON_LABEL, allow_blank=True)
    return_url = WebAddressField(max_length=MAX_RETURN_URL, allow_blank=True)
    language = serializers.ChoiceField(choices=settings.LANGUAGES, required=False)

    def validate_description(self, text: str) -> str:
        """Return the text with plain line breaks, which browsers send as two characters."""
        return text.replace("\r\n", "\n")


class NewForm(FormChanges):
    """A form to create. A form without fields accepts any values."""

    texts = {**FormChanges.texts, "status": "`published` to accept submissions from the start."}
    name = NameField()
    status = serializers.ChoiceField([Form.Status.DRAFT, Form.Status.PUBLISHED], default=Form.Status.DRAFT)


class FormFieldRecord(serializers.Serializer[Any]):
    """A field of a form."""

    texts = FIELD_TEXTS | {"name": "The name of its value in a submission."}
    optional_members = ("options", "placeholder", "help", *OF_FILES)

    name = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # the names of the API, which DRF uses for itself
    type = serializers.ChoiceField(choices=[(name, name) for name in KINDS])
    required = serializers.BooleanField()  # type: ignore[assignment]  # likewise
    options = serializers.ListField(child=serializers.CharField())
    placeholder = serializers.CharField()
    help = serializers.CharField()
    accept = serializers.ListField(child=serializers.CharField())
    maxFiles = serializers.IntegerField()
    maxBytes = serializers.IntegerField()


class FormReplyRecord(serializers.Serializer[Any]):
    """The mail that answers each submitter of a form."""

    schema_name = "FormReply"
    texts = REPLY_TEXTS
    enabled = serializers.BooleanField()
    subject = serializers.CharField()
    text = serializers.CharField()


@extend_schema_field(FormFieldRecord(many=True))
class FieldsField(serializers.JSONField):
    """Field definitions, as stored."""


class FormRecord(NamesFields):
    """A form."""

    texts = {
        "id": "Its id, for `formId` and addresses.",
        "name": "A name for people.",
        "status": "Only a published form accepts submissions. An archived one can be read and exported.",
        "isDefault": "Whether it takes the submissions without a form id.",
        "fields": "Its fields, in their order. Without fields it accepts any values.",
        "allowedOrigins": "The origins whose pages may submit. Empty: all.",
        "redirectUrl": "Where a visitor goes after submitting; empty for a thank-you page.",
        "successMessage": "The text after submitting; empty for a standard text.",
        "retentionDays": "After how many days submissions are deleted; null for never.",
        "reply": "The mail that answers each submitter; null until it is set.",
        "confirmation": "Whether submitters confirm their address before a submission is delivered.",
        "submissionCount": "How many submissions it has, without spam.",
        "url": "The address of its page, and of plain HTML posts.",
        "createdAt": "When it was created.",
        "updatedAt": "When it was changed.",
        "publishedAt": "When it was published; null for a draft.",
    }
    id = PublicIdField(Prefix.FORM)
    name = serializers.CharField(max_length=200)
    status = serializers.ChoiceField(Form.Status.choices)
    isDefault = serializers.BooleanField(source="is_default")
    fields_ = FieldsField()
    allowedOrigins = serializers.ListField(child=serializers.CharField(), source="allowed_origins")
    redirectUrl = serializers.CharField(source="redirect_url")
    successMessage = serializers.CharField(source="success_message")
    retentionDays = serializers.IntegerField(source="retention_days", allow_null=True)
    reply = FormReplyRecord(allow_null=True)
    confirmation = serializers.BooleanField()
    submissionCount = serializers.IntegerField(source="submission_count")
    url = serializers.URLField()
    createdAt = TimeField(source="created_at")
    updatedAt = TimeField(source="updated_at")
    publishedAt = TimeField(source="published_at", allow_null=True)
