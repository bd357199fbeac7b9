"""The choice of a form on an organization's overview."""

from typing import Any

from django import forms

from dashboard.html_forms.own_form_field import OwnFormField
from forms_app.models import Form
from keys.models import Organization


class ChartFilterForm(forms.Form):
    """Chooses one form, or all; a form of another organization is ignored."""

    def __init__(self, *args: Any, organization: Organization, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.offered = OwnFormField.of_all(organization)
        self.fields["form"] = self.offered

    @property
    def offers_choice(self) -> bool:
        """Whether there is more than one form."""
        return self.offered.count > 1

    @property
    def form_chosen(self) -> Form | None:
        """The form; None for all."""
        self.is_valid()
        return self.cleaned_data.get("form")
