"""The filters that lists share, read from the query string."""

from typing import Any

from django import forms

from dashboard.html_forms.own_form_field import OwnFormField
from keys.seen_forms import SeenForms


class FilterForm(forms.Form):
    """Filters of a list. Wrong values get an error and are ignored."""

    def chosen(self, name: str) -> Any:
        """Return the value of a filter, None or "" without a choice."""
        self.is_valid()
        return self.cleaned_data.get(name)


class FormFilterForm(FilterForm):
    """Chooses one of the forms that the member sees, or all of them; any other form is ignored."""

    def __init__(self, *args: Any, seen: SeenForms, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.seen = seen
        self.fields["form"] = OwnFormField.of_all(seen)
        self.order_fields(self.field_order)
