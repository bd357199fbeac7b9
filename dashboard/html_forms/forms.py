"""HTML forms for forms. The API's serializers validate; this module shows their errors at the inputs."""

from collections.abc import Mapping
from typing import Any, Protocol, Unpack

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext, gettext_lazy

from config.api.errors import ApiError, ValidationFailed
from config.api.serializers import validate
from dashboard.changes.stamped import StampedForm
from forms_app.actions import MAX_RECIPIENTS, FormValues, StaleForm, change_form
from forms_app.models import Form
from forms_app.serializers import FormChanges


class SettingsForm(StampedForm):
    """Name, allowed origins, texts for visitors, and retention."""

    name = forms.CharField(max_length=200, label=gettext_lazy("Name"))
    allowed_origins = forms.CharField(
        required=False,
        label=gettext_lazy("Allowed origins"),
        help_text=gettext_lazy(
            "One per line, such as https://example.com or https://*.example.com. Empty: every site can send."
        ),
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false", "placeholder": "https://example.com"}),
    )
    success_message = forms.CharField(
        required=False,
        max_length=1000,
        label=gettext_lazy("Message after sending"),
        help_text=gettext_lazy("Empty: “Submission received.”"),
    )
    redirect_url = forms.CharField(
        required=False,
        max_length=2048,
        label=gettext_lazy("Redirect after sending"),
        help_text=gettext_lazy("For plain HTML forms and the form's page. Empty: a thank-you page."),
        widget=forms.URLInput(attrs={"placeholder": "https://example.com/thanks"}),
    )
    retention_days = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=3650,
        label=gettext_lazy("Keep submissions for (days)"),
        help_text=gettext_lazy("Older submissions are deleted permanently, once an hour. Empty: they are kept."),
        widget=forms.NumberInput(attrs={"class": "short"}),
    )
    names = {
        "name": "name",
        "allowedOrigins": "allowed_origins",
        "successMessage": "success_message",
        "redirectUrl": "redirect_url",
        "retentionDays": "retention_days",
    }

    @classmethod
    def showing(cls, form: Form) -> "SettingsForm":
        """Return the HTML form with the stored settings."""
        initial = {name: getattr(form, name) for name in cls.names.values()}
        return cls(initial={**initial, **cls.stamp(form), "allowed_origins": "\n".join(form.allowed_origins)})

    def values(self) -> dict[str, Any]:
        """Return the changes for `change_form`. Raises ValidationFailed."""
        given: dict[str, Any] = {api: self.cleaned_data[ours] for api, ours in self.names.items()}
        given["allowedOrigins"] = lines(self.cleaned_data["allowed_origins"])
        return validate(FormChanges(data=given))

    def show(self, failure: ValidationFailed) -> None:
        """Add each error to its input."""
        add_details(self, failure, self.names)


class EnteredChanges(Protocol):
    """An HTML form with changes of a form: its settings, its page, its replies."""

    seen_version: str | None

    def values(self) -> dict[str, Any]:
        """Return the changes. Raises ValidationFailed."""

    def show(self, failure: ValidationFailed) -> None:
        """Add each error to its input."""

    def add_error(self, field: str | None, error: str) -> None:
        """Add an error to an input, or above all of them."""

    def refuse_stale(self, form: Form, failure: StaleForm) -> None:
        """Show that the form was saved meanwhile."""


def save(form: Form, entered: EnteredChanges, **further: Unpack[FormValues]) -> bool:
    """
    Change a form as it was entered, and by `further`, in one save. Return whether that was right.

    If not, the errors are shown at the inputs.
    """
    try:
        values: dict[str, Any] = {**entered.values(), **further}
        change_form(form, seen=entered.seen_version, **values)
    except ValidationFailed as failure:
        entered.show(failure)
    except StaleForm as failure:
        entered.refuse_stale(form, failure)
    except ApiError as error:
        entered.add_error(None, error.message)
    else:
        return True
    return False


class RecipientsForm(StampedForm):
    """The recipients of a mail for each submission."""

    recipients = forms.CharField(
        required=False,
        label=gettext_lazy("Mail each submission to"),
        help_text=format_lazy(
            gettext_lazy("One address per line, at most {most}. A reply to the mail goes to the submitter."),
            most=MAX_RECIPIENTS,
        ),
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false", "placeholder": "you@example.com"}),
    )

    def addresses(self) -> list[str]:
        """Return the addresses, without empty lines."""
        return lines(self.cleaned_data["recipients"])


class ErasureForm(forms.Form):
    """Asks for the form's name, so that nobody erases a form by mistake."""

    typed = forms.CharField(
        required=False,
        label=gettext_lazy("Type the name of the form"),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def __init__(self, *args: Any, name: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.name = name

    def clean_typed(self) -> str:
        if self.cleaned_data["typed"].strip() != self.name.strip():
            raise forms.ValidationError(gettext("That is not the name of the form. Nothing was erased."))
        return str(self.cleaned_data["typed"])


def lines(text: str) -> list[str]:
    """Return the lines of a text, stripped, without empty ones."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def add_details(form: forms.Form, failure: ValidationFailed, names: Mapping[str, str]) -> None:
    """Add each detail of a failure to its input, or to the top of the form."""
    for detail in failure.details:
        path = detail.field.partition(".")[0]
        form.add_error(names.get(path), detail.message)
