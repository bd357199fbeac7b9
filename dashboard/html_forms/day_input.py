"""The inputs of a day, and of a first and a last day."""

from typing import Any

from django import forms
from django.utils.translation import gettext, pgettext_lazy


class DayInput(forms.DateInput):
    """A browser's own input, which takes and sends a day as YYYY-MM-DD in every language."""

    input_type = "date"

    def __init__(self) -> None:
        super().__init__(format="%Y-%m-%d")


class DaysForm(forms.Form):
    """The days `from` and `to`, both included."""

    to = forms.DateField(required=False, label=pgettext_lazy("days", "To"), widget=DayInput())

    def clean(self) -> dict[str, Any]:
        """Refuse dates in the wrong order, at the first one only: they would match nothing."""
        values = super().clean() or {}
        if values.get("from") and values.get("to") and values["from"] > values["to"]:
            self.add_error("from", gettext("This date is after the other one. Swap them."))
            values.pop("to")
        return values


# `from` is a keyword of Python, so it cannot be an attribute.
DaysForm.base_fields["from"] = forms.DateField(required=False, label=pgettext_lazy("days", "From"), widget=DayInput())
