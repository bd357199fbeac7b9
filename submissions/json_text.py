"""A model field that stores JSON as text."""

import json
from typing import TYPE_CHECKING, Any

from django.db import models

# Compact JSON with its characters unescaped. One encoder: `json.dumps` would make a new one for every value.
dump_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class JsonTextField(models.TextField):
    """
    JSON in a text column.

    Not Django's JSONField: PostgreSQL's jsonb does not keep the order of an object's names, and a form's inputs have
    one (CSV columns come in first-seen order). No query looks inside these columns.
    """

    if TYPE_CHECKING:  # django-stubs reads the attribute's type from these
        _pyi_private_set_type: Any
        _pyi_private_get_type: Any

    def from_db_value(self, value: str | None, expression: Any, connection: Any) -> Any:
        return None if value is None else json.loads(value)

    def get_prep_value(self, value: Any) -> str | None:
        return None if value is None else dump_json(value)

    def to_python(self, value: Any) -> Any:
        """Return the value as it is: in code, text is never JSON."""
        return value

    def value_to_string(self, obj: models.Model) -> str:
        return dump_json(self.value_from_object(obj))
