"""What the list of refused submissions is narrowed to."""

from typing import Any

from django import forms
from django.db.models import QuerySet

from dashboard.html_forms.submissions import own_forms
from keys.models import AccessKey, Organization
from submissions.models import Refusal


class RefusedFilterForm(forms.Form):
    """By form or by key; what is not theirs is left out."""

    form = forms.ChoiceField(required=False, label="Form")
    key = forms.ChoiceField(required=False, label="Key")

    def __init__(self, *args: Any, organization: Organization, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.forms = {form.public_id: form.pk for form in own_forms(organization)}
        self.keys = {key.public_id: key.pk for key in AccessKey.objects.filter(organization=organization)}
        names = [("", "All forms"), *((form.public_id, form.name) for form in own_forms(organization))]
        self.fields["form"].choices = names  # type: ignore[attr-defined]  # a ChoiceField
        own_keys = AccessKey.objects.filter(organization=organization).order_by("name")
        self.fields["key"].choices = [("", "All keys"), *((key.public_id, str(key)) for key in own_keys)]  # type: ignore[attr-defined]  # likewise

    def narrow(self, rows: QuerySet[Refusal]) -> QuerySet[Refusal]:
        """Return the refusals of the chosen form and key."""
        self.is_valid()
        form, key = self.cleaned_data.get("form"), self.cleaned_data.get("key")
        if form:
            rows = rows.filter(form=self.forms[form])
        return rows.filter(access_key=self.keys[key]) if key else rows
