"""HTML forms for receivers. What they ask for is said by the kinds; the kinds' serializers validate."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy
from rest_framework.serializers import ValidationError

from config.api.errors import ApiError, Detail
from config.base.text import clean_name
from dashboard.html_forms.own_form_field import OwnFormField
from keys.models import Organization
from webhooks.events import public_events
from webhooks.kinds.kind import LINE, SECRET, Config, Input, Kind
from webhooks.models import WEBHOOK, Receiver

PREFIX = "config"
UNTYPED = {"autocomplete": "off", "spellcheck": "false"}  # nothing here is a word or a person's data


class ModeForm(forms.Form):
    """Which submissions a receiver gets."""

    mode = forms.ChoiceField(
        required=False,
        choices=Receiver.Mode.choices,
        initial=Receiver.Mode.LIVE,
        label=gettext_lazy("Mode"),
        help_text=gettext_lazy("Live submissions, test submissions, or both."),
    )

    def clean_mode(self) -> str:
        return self.cleaned_data["mode"] or Receiver.Mode.LIVE


class NameForm(forms.Form):
    """The name of a receiver; a webhook has none."""

    name = forms.CharField(
        max_length=200,
        label=gettext_lazy("Name"),
        help_text=gettext_lazy("For you and your colleagues, such as “Sales team”."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def clean_name(self) -> str:
        name = clean_name(self.cleaned_data["name"])
        if not name:
            raise forms.ValidationError(self.fields["name"].error_messages["required"], code="required")
        return name


class ReceiverForm(NameForm, ModeForm):
    """The form whose submissions are sent, and the name; of a webhook the events, while there is a choice."""

    def __init__(self, *args: Any, organization: Organization, kind: Kind, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["form"] = OwnFormField.of_active(
            organization,
            help_text=gettext("Its submissions are sent, or those of all forms, later ones too."),
        )
        if kind.name == WEBHOOK:
            del self.fields["name"]
            if len(public_events()) > 1:
                names = [name for name, _ in public_events()]
                self.fields["events"] = forms.MultipleChoiceField(
                    label=gettext("Events"), choices=public_events(), initial=names, widget=forms.CheckboxSelectMultiple
                )
        self.order_fields(["form", "name", "mode"])

    def chosen_events(self) -> list[str]:
        """Return the events to subscribe to: every public one while there is no choice."""
        return self.cleaned_data.get("events") or [name for name, _ in public_events()]


class ConfigForm(forms.Form):
    """The inputs of a kind. Whether one may be empty is up to the kind."""

    prefix = PREFIX

    def __init__(self, *args: Any, kind: Kind, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kind = kind
        for each in kind.inputs:
            self.fields[each.name] = field_of(each)

    @classmethod
    def showing(cls, kind: Kind, shown: Config) -> "ConfigForm":
        """Return the HTML form with the stored config, without its secrets."""
        written = {
            each.name: "" if each.is_masked else each.writes(shown[each.name])
            for each in kind.inputs
            if each.name in shown
        }
        return cls(kind=kind, initial=written)

    def typed(self) -> Config:
        """Return the members that are not empty, for the kind to read. What cannot be read is an error of its input."""
        self.is_valid()
        values: Config = {}
        for each in self.kind.inputs:
            text = self.cleaned_data.get(each.name, "")
            if not text:
                continue
            try:
                values[each.name] = each.reads(text)
            except ValidationError as error:
                self.add_error(each.name, [str(one) for one in error.detail])
        return values

    def show(self, error: ApiError) -> None:
        """Add each detail to its input."""
        self.show_details(error.details or [Detail("", error.code, error.message)])

    def show_details(self, details: Iterable[Detail]) -> None:
        """Add each detail to its input; those of no input to the top."""
        for detail in details:
            name = detail.field.removeprefix("config.").partition(".")[0]
            known = name in self.fields
            if not known or name not in self.errors:
                self.add_error(name if known else None, detail.message if known else detail.sentence)


def field_of(asked: Input) -> forms.Field:
    """Return the field of an input. A typed secret is in the answer to its own POST, and nowhere else."""
    about: dict[str, Any] = {"label": asked.label, "help_text": asked.help, "required": False, "initial": asked.initial}
    if asked.choices:
        return forms.ChoiceField(choices=[(each, each) for each in asked.choices], **about)
    attrs: dict[str, Any] = {**UNTYPED, "placeholder": asked.placeholder}
    if asked.look == LINE:
        return forms.CharField(widget=forms.TextInput(attrs=attrs), **about)
    if asked.look == SECRET:
        return forms.CharField(widget=forms.PasswordInput(attrs=attrs, render_value=True), **about)
    attrs |= {"class": "code masked" if asked.is_masked else "code", "rows": 3 if asked.is_secret else 8}
    return forms.CharField(widget=forms.Textarea(attrs=attrs), strip=False, **about)
