"""The inputs of `/account/device`."""

from typing import Any, cast

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy

from keys.models import Organization


class DeviceCodeForm(forms.Form):
    """The code that a program shows."""

    user_code = forms.CharField(
        label=gettext_lazy("Code"),
        help_text=gettext_lazy("Eight letters, which the program shows. Upper case and the hyphen do not matter."),
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "autocapitalize": "characters", "spellcheck": "false", "autofocus": True}
        ),
    )


class OrganizationForm(forms.Form):
    """The organization that a program gets keys of. Of several, none is chosen beforehand."""

    organization = forms.ModelChoiceField(
        queryset=Organization.objects.none(),
        label=gettext_lazy("Organization"),
        empty_label=gettext_lazy("Choose one"),
    )

    def __init__(self, *args: Any, organizations: QuerySet[Organization], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = cast("forms.ModelChoiceField[Organization]", self.fields["organization"])
        field.queryset = organizations
        self.only = organizations[0] if len(organizations) == 1 else None
        if self.only:
            field.initial, field.widget = self.only.pk, forms.HiddenInput()
