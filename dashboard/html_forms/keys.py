"""The HTML form for a new access key."""

import datetime as dt
from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy

from dashboard.html_forms.day_input import DayInput
from keys.access_keys import ALL_PERMISSIONS, MAX_NAME
from keys.choices import within_sentence
from keys.models import AccessKey, Permission
from keys.plans import Terms

KINDS = [
    (AccessKey.Kind.SECRET, gettext_lazy("Secret: for servers. Reads and writes as its permissions allow.")),
    (AccessKey.Kind.PUBLISHABLE, gettext_lazy("Publishable: for web pages. Can only submit.")),
]
MODES = [
    (AccessKey.Mode.LIVE, gettext_lazy("Live")),
    (AccessKey.Mode.TEST, gettext_lazy("Test: what it sends is test data, and it sees nothing else.")),
]
CHECK = {"class": "form-check-input"}


def _permissions() -> list[tuple[str, str]]:
    return [(value, f"{value}: {within_sentence(label)}") for value, label in Permission.choices]


class NewKeyForm(forms.Form):
    """The arguments of `issue_key`. Inputs that the plan does not include are shown but disabled."""

    name = forms.CharField(
        max_length=MAX_NAME,
        label=gettext_lazy("Name"),
        help_text=gettext_lazy(
            "Where you use it, such as “Website” or “Import script”. Create one key for each place."
        ),
        widget=forms.TextInput(attrs={"autocomplete": "off", "autofocus": True}),
    )
    kind = forms.ChoiceField(
        choices=KINDS, initial=AccessKey.Kind.SECRET, label=gettext_lazy("Kind"), widget=forms.RadioSelect(attrs=CHECK)
    )
    mode = forms.ChoiceField(
        required=False,
        choices=MODES,
        initial=AccessKey.Mode.LIVE,
        label=gettext_lazy("Mode"),
        widget=forms.RadioSelect(attrs=CHECK),
    )
    permissions = forms.MultipleChoiceField(
        choices=_permissions,
        initial=ALL_PERMISSIONS,
        required=False,
        label=gettext_lazy("Permissions of a secret key"),
        widget=forms.CheckboxSelectMultiple(attrs=CHECK),
    )
    admin = forms.BooleanField(
        required=False,
        label=gettext_lazy("Administrative"),
        help_text=gettext_lazy(
            "Can also list, create, regenerate and revoke keys through the API. Few keys need that."
        ),
    )
    expires_on = forms.DateField(
        required=False,
        label=gettext_lazy("Last day"),
        help_text=gettext_lazy("The key stops working after this day (UTC). Empty: it works until you revoke it."),
        widget=DayInput(),
    )

    def clean_mode(self) -> str:
        return self.cleaned_data["mode"] or AccessKey.Mode.LIVE

    def __init__(self, *args: Any, terms: Terms, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["expires_on"].widget.attrs["min"] = dt.datetime.now(dt.UTC).date().isoformat()
        if not terms.scoped_keys:
            for name in ("permissions", "expires_on"):
                self.fields[name].disabled = True  # Django then ignores the posted value and uses the initial one
            self.fields["permissions"].help_text = gettext("All six, on this plan.")
            self.fields["expires_on"].help_text = gettext("On this plan keys do not expire.")
            self.fields["admin"].help_text = gettext(
                "Can also list, regenerate and revoke keys through the API. On this plan it cannot create keys."
            )
