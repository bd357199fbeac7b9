"""The fields of a form: one in a body, and one in a record (docs/contract.md 4.3)."""

from typing import Any

from django.utils.translation import gettext, gettext_lazy
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from config.api.schema import ruled
from config.api.serializers import FlagField, NameField, StrictSerializer, TextField, WholeNumberField
from config.base.text import clean_text
from forms_app.field_definitions import (
    CAPTCHA_FIELDS,
    CONTROL_FIELDS,
    DEFAULT_FILE_BYTES,
    DEFAULT_FILES,
    MAX_FILE_BYTES,
    MAX_FILES,
    MAX_HELP,
    MAX_LABEL,
    MAX_NAME,
    MAX_PLACEHOLDER,
)
from forms_app.field_kinds import KINDS, find_kind, kind_of
from forms_app.file_fields.entries import ENTRY, MAX_ACCEPT, MAX_ENTRY, InvalidEntry, entry_of

MAX_OPTIONS = 200
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


@extend_schema_field(FormFieldRecord(many=True))
class FieldsField(serializers.JSONField):
    """Field definitions, as stored."""
