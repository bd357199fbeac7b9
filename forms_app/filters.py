"""Filters of lists by form."""

import uuid
from typing import Any

from django.db.models import QuerySet

from config.api.filters import IdFilter
from config.api.find_owned import find_owned
from config.ids import Prefix
from forms_app.models import Form
from keys.authentication import caller_key


class OwnFormFilter(IdFilter):
    """`?formId=`: a foreign or unknown form is refused as everywhere, instead of giving an empty list."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(prefix=Prefix.FORM, field_name="form_id", **kwargs)

    def filter(self, qs: QuerySet[Any], value: uuid.UUID | None) -> QuerySet[Any]:
        """Return the form's rows. Raises NotFound or Unauthorized."""
        request = self.parent.request
        if value is not None and request is not None:  # a command has no caller
            find_owned(Form.objects.all(), value, caller_key(request).organization_id)
        filtered: QuerySet[Any] = super().filter(qs, value)
        return filtered
