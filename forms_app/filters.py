"""Filters of lists by form, for the API."""

import uuid
from typing import Any

from django.db.models import QuerySet

from config.api.filters import IdFilter
from config.api.find_owned import find_owned
from config.base.ids import Prefix
from forms_app.models import Form
from keys.authentication import caller_key


class OwnFormFilter(IdFilter):
    """`?formId=`: an unknown form is a 404 and one of another organization a 403, never an empty list."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(prefix=Prefix.FORM, field_name="form_id", **kwargs)

    def filter(self, qs: QuerySet[Any], value: uuid.UUID | None) -> QuerySet[Any]:
        """Return the rows of the form. Raises NotFound or Unauthorized."""
        request = self.parent.request
        if value is not None and request is not None:  # the schema's generator has no caller
            find_owned(Form.objects.all(), value, caller_key(request).organization_id)
        filtered: QuerySet[Any] = super().filter(qs, value)
        return filtered
