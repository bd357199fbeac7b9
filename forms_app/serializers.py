"""Bodies and records of forms (docs/contract.md 4)."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from config.api.fields import PublicIdField, TimeField
from config.api.schema import ruled
from config.api.serializers import FlagField, NameField, StrictSerializer, TextField, WholeNumberField
from config.ids import Prefix
from config.text import clean_text
from forms_app.field_definitions import (
    CAPTCHA_FIELDS,
    CONTROL_FIELDS,
    MAX_FIELDS,
    MAX_LABEL,
    MAX_NAME,
    MAX_PLACEHOLDER,
    fill_in_names,
    first_duplicate,
)
from forms_app.field_kinds import KINDS, find_kind, kind_of
from forms_app.formats import is_web_address
from forms_app.models import Form
from forms_app.origins import InvalidOrigin, parse_origin_pattern

MAX_ORIGINS = 50
MAX_OPTIONS = 200
MAX_RETENTION_DAYS = 3650  # ten years
# The format of an origin, for the schema; `parse_origin_pattern` is authoritative.
ORIGIN = r"^[Hh][Tt][Tt][Pp][Ss]?://(\*\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?(:([0-9]{1,4}|[1-5][0-9]{4}))?$"
NEED_OPTIONS = [name for name, kind in KINDS.items() if kind.needs_options]
MAY_HAVE_OPTIONS = [name for name, kind in KINDS.items() if kind.takes_options and not kind.needs_options]
WITHOUT_OPTIONS = [name for name, kind in KINDS.items() if not kind.takes_options]


class FieldTypeField(serializers.ChoiceField):
    """A field type in any case; its value has the spelling of the table."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(choices=[(name, name) for name in KINDS], **kwargs)

    def to_internal_value(self, data: Any) -> str:
        kind = find_kind(data) if isinstance(data, str) else None
        if kind is None:
            shown = clean_text(str(data))[:100]
            raise serializers.ValidationError(
                f'"{shown}" is not a field type. Choose one of {", ".join(KINDS)}.', code="invalid_choice"
            )
        return kind.name


@ruled(
    anyOf=[
        *({"properties": {"type": {"const": name}}, "required": ["options"]} for name in NEED_OPTIONS),
        *({"properties": {"type": {"const": name}}} for name in MAY_HAVE_OPTIONS),
        {"properties": {"type": {"enum": WITHOUT_OPTIONS}, "options": False}},
    ]
)
class FieldDefinitionSerializer(StrictSerializer):
    """One field of a form."""

    name = NameField(max_length=MAX_NAME, required=False)
    label = NameField(max_length=MAX_LABEL)  # type: ignore[assignment]  # the names of the API, which DRF uses for itself
    type = FieldTypeField()
    required = FlagField(default=False)  # type: ignore[assignment]  # likewise
    options = serializers.ListField(child=NameField(), required=False, allow_empty=False, max_length=MAX_OPTIONS)
    placeholder = TextField(max_length=MAX_PLACEHOLDER, required=False, allow_blank=True)

    def validate_name(self, name: str) -> str:
        """Reject control fields: their values are not stored as data."""
        if name in CONTROL_FIELDS or name in CAPTCHA_FIELDS:
            raise serializers.ValidationError(f"{name} is a control field. Choose another name.", code="reserved")
        return name

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Require options for a type that needs them, and reject them for a type without."""
        kind, has_options = kind_of(attrs["type"]), "options" in attrs
        if kind.needs_options and not has_options:
            message = f"A {kind.name} needs a list of options."
            raise serializers.ValidationError({"options": [message]}, code="required")
        if has_options and not kind.takes_options:
            message = f"Only {' and '.join([*NEED_OPTIONS, *MAY_HAVE_OPTIONS])} have options."
            raise serializers.ValidationError({"options": [message]}, code="not_allowed")
        return attrs


class NamesFields(serializers.Serializer[Any]):
    """Names the attribute `fields_` `fields` in JSON; as an attribute, `fields` belongs to DRF."""

    def get_fields(self) -> dict[str, Any]:
        """Return the serializer's fields by their names in JSON."""
        return {name.rstrip("_"): field for name, field in super().get_fields().items()}


@ruled(
    properties={
        "fields": {"maxItems": MAX_FIELDS},
        "allowedOrigins": {"items": {"type": "string", "maxLength": 300, "pattern": ORIGIN}},
        "redirectUrl": {"anyOf": [{"type": "string", "format": "uri"}, {"type": ["string", "null"], "maxLength": 0}]},
    }
)
class FormChanges(NamesFields, StrictSerializer):
    """The body of `PATCH /api/forms/{id}`. Not DRF's `partial`, which makes members of nested objects optional too."""

    name = NameField(required=False)
    # `max_length` instead of a check in a method, which would validate eighty thousand fields before it counts them.
    # (Ignored, since the stubs do not know that `many=True` accepts the arguments of a ListSerializer.)
    fields_ = FieldDefinitionSerializer(many=True, required=False, max_length=MAX_FIELDS)  # type: ignore[call-arg]
    allowedOrigins = serializers.ListField(
        child=TextField(max_length=300), source="allowed_origins", required=False, max_length=MAX_ORIGINS
    )
    redirectUrl = TextField(max_length=2048, source="redirect_url", required=False, allow_blank=True, allow_null=True)
    successMessage = TextField(
        max_length=1000, source="success_message", required=False, allow_blank=True, allow_null=True
    )
    retentionDays = WholeNumberField(
        min_value=1, max_value=MAX_RETENTION_DAYS, source="retention_days", required=False, allow_null=True
    )

    def validate_fields(self, fields: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the fields, each with a unique name."""
        duplicate = first_duplicate(field["name"] for field in fields if field.get("name"))
        if duplicate is not None:
            raise serializers.ValidationError(f"Two fields have the name {duplicate}.", code="duplicate")
        return fill_in_names([dict(field) for field in fields])

    def validate_allowedOrigins(self, origins: list[str]) -> list[str]:
        """Return the origins in the spelling of browsers, without duplicates."""
        try:
            return list(dict.fromkeys(parse_origin_pattern(origin) for origin in origins))
        except InvalidOrigin as error:
            raise serializers.ValidationError(str(error), code="invalid_origin") from None

    def validate_redirectUrl(self, url: str | None) -> str:
        """Return an http or https URL, or an empty string."""
        if url and not is_web_address(url):
            raise serializers.ValidationError("Must be a URL that begins with http:// or https://.", code="invalid_url")
        return url or ""

    def validate_successMessage(self, message: str | None) -> str:
        """Return the message; null clears it."""
        return message or ""


class NewForm(FormChanges):
    """The body of `POST /api/forms`. A form without fields accepts any values."""

    name = NameField()
    status = serializers.ChoiceField([Form.Status.DRAFT, Form.Status.PUBLISHED], default=Form.Status.DRAFT)


@extend_schema_field(FieldDefinitionSerializer(many=True))
class FieldsField(serializers.JSONField):
    """Field definitions, as stored."""


class FormRecord(NamesFields, serializers.ModelSerializer[Form]):
    """A form in responses."""

    id = PublicIdField(Prefix.FORM)
    isDefault = serializers.BooleanField(source="is_default")
    fields_ = FieldsField()
    allowedOrigins = serializers.ListField(child=serializers.CharField(), source="allowed_origins")
    redirectUrl = serializers.CharField(source="redirect_url")
    successMessage = serializers.CharField(source="success_message")
    retentionDays = serializers.IntegerField(source="retention_days", allow_null=True)
    submissionCount = serializers.IntegerField(source="submission_count")
    url = serializers.URLField()
    createdAt = TimeField(source="created_at")
    updatedAt = TimeField(source="updated_at")
    publishedAt = TimeField(source="published_at", allow_null=True)

    class Meta:
        model = Form
        fields = (
            "id", "name", "status", "isDefault", "fields_", "allowedOrigins", "redirectUrl", "successMessage",
            "retentionDays", "submissionCount", "url", "createdAt", "updatedAt", "publishedAt",
        )  # fmt: skip
