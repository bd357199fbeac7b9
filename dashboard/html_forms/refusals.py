"""The filters of the list of refused submissions."""

from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext

from dashboard.html_forms.filters import FormFilterForm
from keys.models import AccessKey
from keys.seen_forms import SeenForms
from submissions.models import Refusal


class RefusalsFilterForm(FormFilterForm):
    """Filters by form, and for members who see all of them by access key; values of others are ignored."""

    def __init__(self, *args: Any, seen: SeenForms, **kwargs: Any) -> None:
        super().__init__(*args, seen=seen, **kwargs)
        if seen.are_chosen:
            return
        own = AccessKey.objects.filter(organization=seen.organization_id)
        keys = {key.public_id: key for key in own.order_by("name")}
        choices = [("", gettext("All keys")), *((public_id, str(key)) for public_id, key in keys.items())]
        self.fields["key"] = forms.TypedChoiceField(
            required=False, label=gettext("Key"), choices=choices, coerce=keys.get, empty_value=None
        )

    def narrow(self, rows: QuerySet[Refusal]) -> QuerySet[Refusal]:
        form, key = self.chosen("form"), self.chosen("key")
        rows = self.seen.narrow(rows)
        rows = rows.filter(form=form) if form else rows
        return rows.filter(access_key=key) if key else rows
