"""The choice of a person's language."""

from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy


class LanguageForm(forms.Form):
    """One of the languages of the dashboard; each is written in itself, so that its reader finds it."""

    language = forms.ChoiceField(
        label=gettext_lazy("Language"),
        required=False,
        choices=[("", gettext_lazy("As my browser asks")), *settings.LANGUAGES],
    )
