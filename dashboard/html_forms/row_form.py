"""The inputs of the form builder. They show values and errors; the API's serializer validates them."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.forms.utils import ErrorDict
from django.utils.translation import gettext_lazy

from dashboard.html_forms.file_inputs import CHOICES
from forms_app.field_definitions import MAX_FILE_BYTES, MAX_FILES, MAX_HELP, MAX_LABEL, MAX_NAME, MAX_PLACEHOLDER
from forms_app.field_kinds import KINDS
from forms_app.file_fields.entries import MAX_ACCEPT, MAX_ENTRY
from keys.plans import MIB

TYPES = [(kind.name, kind.label) for kind in KINDS.values()]


class RowForm(forms.Form):
    """One field of a form. Each input is named after the row: `label-k0`."""

    label = forms.CharField(max_length=MAX_LABEL)
    type = forms.ChoiceField(choices=TYPES)
    required = forms.BooleanField()
    options = forms.CharField(label=gettext_lazy("Options, one per line"), widget=forms.Textarea(attrs={"rows": 3}))
    accept = forms.MultipleChoiceField(
        choices=CHOICES,
        label=gettext_lazy("Allowed files"),
        help_text=gettext_lazy("None ticked: every type. Web pages, SVG, scripts and programs are always refused."),
        widget=forms.CheckboxSelectMultiple(attrs={"class": "form-check-input"}),
    )
    other_types = forms.CharField(
        label=gettext_lazy("Other types"),
        max_length=MAX_ACCEPT * MAX_ENTRY,
        widget=forms.TextInput(attrs={"spellcheck": "false", "autocomplete": "off", "placeholder": ".zip, .psd"}),
    )
    max_files = forms.CharField(
        label=gettext_lazy("Number of files"),
        widget=forms.NumberInput(attrs={"min": 1, "max": MAX_FILES, "step": 1, "inputmode": "numeric"}),
    )
    max_size = forms.CharField(
        label=gettext_lazy("MiB per file"),
        widget=forms.NumberInput(attrs={"min": 0, "max": MAX_FILE_BYTES // MIB, "step": "any", "inputmode": "decimal"}),
    )
    placeholder = forms.CharField(max_length=MAX_PLACEHOLDER)
    help = forms.CharField(
        max_length=MAX_HELP, help_text=gettext_lazy("A sentence below the label on the form's page.")
    )
    name = forms.CharField(
        max_length=MAX_NAME,
        label=gettext_lazy("Name in the data"),
        help_text=gettext_lazy(
            "Leave empty to make it from the label. The inputs of your page and the API use it. "
            "Existing submissions keep the old name."
        ),
        widget=forms.TextInput(attrs={"spellcheck": "false", "autocomplete": "off"}),
    )

    def __init__(self, key: str, values: dict[str, Any], problems: Mapping[str, str]) -> None:
        """`values` and `problems` by input; `key` is the row's."""
        super().__init__(initial=values, prefix=key, auto_id="%s", use_required_attribute=False)
        self.problems = problems

    def add_prefix(self, field_name: str) -> str:
        return f"{field_name}-{self.prefix}"

    @property
    def errors(self) -> ErrorDict:
        """The problems of the row, by input."""
        return ErrorDict(
            {
                name: self.error_class([problem], renderer=self.renderer, field_id=self[name].auto_id)
                for name, problem in self.problems.items()
                if name in self.fields
            }
        )


class NewFieldForm(forms.Form):
    type = forms.ChoiceField(label=gettext_lazy("New field"), choices=TYPES)
