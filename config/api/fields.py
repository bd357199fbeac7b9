"""Serializer fields of records: public ids and times."""

import datetime as dt
import uuid
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from config.base.ids import encode_id
from config.base.times import format_time


class PublicIdField(serializers.Field[uuid.UUID, Any, str, Any]):
    """Shows a UUID as a TypeID of one kind."""

    def __init__(self, prefix: str, **kwargs: Any) -> None:
        self.prefix = prefix
        super().__init__(read_only=True, **kwargs)

    def to_representation(self, value: uuid.UUID) -> str:
        return encode_id(self.prefix, value)


@extend_schema_field(OpenApiTypes.DATETIME)
class TimeField(serializers.Field[dt.datetime, Any, str, Any]):
    """Shows a datetime as ISO 8601, UTC, milliseconds, `Z`."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(read_only=True, **kwargs)

    def to_representation(self, value: dt.datetime) -> str:
        return format_time(value) or ""
