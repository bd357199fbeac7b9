"""The filters of the list of refused submissions."""

from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext

from dashboard.html_forms.filters import FormFilterForm
from keys.models import AccessKey, Organization
from submissions.models import Refusal


class RefusalsFilterForm(FormFilterForm):
    """Filters by form and by access key; values of other organizations are ignored."""

    def __init__(self, *args: Any, organization: Organization, **kwargs: Any) -> None:
        super().__init__(*args, organization=organization, **kwargs)
        keys = {key.public_id: key for key in AccessKey.objects.filter(organization=organization).order_by("name")}
        choices = [("", gettext("All keys")), *((public_id, str(key)) for public_id, key in keys.items())]
        self.fields["key"] = forms.TypedChoiceField(
            required=False, label=gettext("Key"), choices=choices, coerce=keys.get, empty_value=None
        )

    def narrow(self, rows: QuerySet[Refusal]) -> QuerySet[Refusal]:
        form, key = self.chosen("form"), self.chosen("key")
        rows = rows.filter(form=form) if form else rows
        return rows.filter(access_key=key) if key else rows
