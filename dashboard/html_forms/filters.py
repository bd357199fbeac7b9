"""The filters that lists share, read from the query string."""

from typing import Any

from django import forms

from dashboard.html_forms.own_form_field import OwnFormField
from keys.models import Organization


class FilterForm(forms.Form):
    """Filters of a list. Wrong values get an error and are ignored."""

    def chosen(self, name: str) -> Any:
        """Return the value of a filter, None or "" without a choice."""
        self.is_valid()
        return self.cleaned_data.get(name)


class FormFilterForm(FilterForm):
    """Chooses one of the organization's forms, or all; a form of another organization is ignored."""

    def __init__(self, *args: Any, organization: Organization, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["form"] = OwnFormField.of_all(organization)
        self.order_fields(self.field_order)
