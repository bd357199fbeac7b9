"""
Strict validation of JSON bodies and query parameters (docs/contract.md 1).

DRF's fields accept 5 for "5" and ignore unknown names; these reject both.
"""

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext, gettext_lazy
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

from config.api.errors import Detail, ValidationFailed
from config.base.ids import InvalidId, decode_id
from config.base.text import clean_name, clean_text
from config.base.times import EXPECTED, Period, parse_date, parse_period

# A pattern, not a choice of two formats: some generators make a wrapper class of it.
PERIOD_SCHEMA = {
    "type": "string",
    "pattern": r"^\d{4}-\d{2}-\d{2}([Tt]\d{2}:\d{2}:\d{2}([.]\d+)?([Zz]|[+-]\d{2}:\d{2}))?$",
    "example": "2026-01-31",
}
MAX_DETAILS = 50  # enough to correct a form; ten thousand unknown names are one mistake


class TextField(serializers.CharField):
    """A JSON string, cleaned of characters that PostgreSQL cannot store."""

    default_error_messages = {"invalid": gettext_lazy("Must be a string.")}

    def run_validation(self, data: Any = serializers.empty) -> Any:
        """Clean first: DRF checks for blank text before `to_internal_value`, and a lone U+0000 must count as blank."""
        return super().run_validation(self.clean(data) if isinstance(data, str) else data)

    def clean(self, text: str) -> str:
        """Return the text to store."""
        return clean_text(text)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class NameField(TextField):
    """A name for people: normalized (NFC), by default 1 to 200 characters."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"max_length": 200, **kwargs})

    def clean(self, text: str) -> str:
        return clean_name(text)


class FlagField(serializers.BooleanField):
    """A JSON boolean; not "true", not 1."""

    default_error_messages = {"invalid": gettext_lazy("Must be true or false.")}

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid")
        return data


class DateField(serializers.DateField):
    """A date `YYYY-MM-DD`."""

    default_error_messages = {"invalid": gettext_lazy("Must be a date in the form YYYY-MM-DD.")}

    def to_internal_value(self, value: Any) -> dt.date:
        day = parse_date(value) if isinstance(value, str) else None
        if day is None:
            self.fail("invalid")
        return day


@extend_schema_field(PERIOD_SCHEMA)
class PeriodField(serializers.Field[Period, Any, str, Any]):
    """`from` or `to`: a date or a time of RFC 3339."""

    default_error_messages = {"invalid": EXPECTED}

    def to_internal_value(self, data: Any) -> Period:
        if not isinstance(data, str):
            self.fail("invalid")
        try:
            return parse_period(data)
        except ValueError as error:
            raise serializers.ValidationError(str(error), code="invalid") from None


class WholeNumberField(serializers.IntegerField):
    """A JSON integer; not "5", not 5.0, not true."""

    default_error_messages = {"invalid": gettext_lazy("Must be a whole number.")}

    def to_internal_value(self, data: Any) -> int:
        if type(data) is not int:
            self.fail("invalid")
        return data


class QueryNumberField(serializers.IntegerField):
    """A whole number in a query: only digits, while int() also accepts `1_0` and blanks."""

    default_error_messages = {"invalid": gettext_lazy("Must be a whole number.")}

    def to_internal_value(self, data: Any) -> int:
        text = str(data)
        if not (text.isascii() and text.removeprefix("-").isdigit()):
            self.fail("invalid")
        return super().to_internal_value(text)


class IdField(serializers.CharField):
    """A public id of one kind; its value is the UUID."""

    def __init__(self, prefix: str, **kwargs: Any) -> None:
        self.prefix = prefix
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> Any:
        try:
            return decode_id(self.prefix, data)
        except InvalidId as error:
            raise serializers.ValidationError(str(error), code="invalid_id") from None


class StrictSerializer(serializers.Serializer[Any]):
    """Rejects unknown names, so that a typo is not ignored."""

    unknown_code = "unknown_field"
    unknown_message = "There is no field of this name"

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, Mapping):
            raise serializers.ValidationError({"non_field_errors": [gettext("Must be an object.")]}, code="invalid")
        unknown = [name for name in data if name not in self.fields]
        errors: dict[str, Any] = {
            name: [ErrorDetail(f"{self.unknown_message}: {clean_text(name)[:128]}", self.unknown_code)]
            for name in unknown
        }
        try:
            values = super().to_internal_value(data)
        except serializers.ValidationError as error:
            errors = {**(error.detail if isinstance(error.detail, dict) else {}), **errors}
        if errors:
            raise serializers.ValidationError(errors)
        return values


class QuerySerializer(StrictSerializer):
    """Query parameters; unknown ones are rejected."""

    unknown_code = "unknown_parameter"
    unknown_message = "There is no query parameter of this name"


def validate(serializer: serializers.BaseSerializer[Any], path: str = "") -> dict[str, Any]:
    """Return the validated values. Raises ValidationFailed with a Detail for each invalid field, named by its path."""
    if not serializer.is_valid():
        details = [detail for _, detail in zip(range(MAX_DETAILS), flatten(serializer.errors, path), strict=False)]
        raise ValidationFailed(details)
    return dict(serializer.validated_data)


def validate_query(serializer_class: type[QuerySerializer], query: QueryDict) -> dict[str, Any]:
    """Return the validated query parameters; of a duplicate the last counts. Raises ValidationFailed."""
    return validate(serializer_class(data={clean_text(name): query[name] for name in query}))


def flatten(errors: Any, path: str = "") -> Iterator[Detail]:
    """Yield a Detail for each leaf of DRF's nested errors; paths look like `fields.0.name`."""
    if isinstance(errors, Mapping):
        for name, below in errors.items():
            yield from flatten(
                below, path if name == "non_field_errors" else f"{path}.{clean_text(str(name))}".lstrip(".")
            )
    elif isinstance(errors, list | tuple):
        for place, below in enumerate(errors):
            leaf = isinstance(below, str)
            yield from flatten(below, path if leaf else f"{path}.{place}")
    else:
        yield Detail(path, str(getattr(errors, "code", "invalid")), str(errors))
