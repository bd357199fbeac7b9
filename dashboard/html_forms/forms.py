"""HTML forms for forms. The API's serializers validate; `StampedForm` shows their errors at the inputs."""

from typing import Any, Unpack

from django import forms
from django.db import transaction
from django.utils.text import format_lazy
from django.utils.translation import gettext, gettext_lazy

from config.api.serializers import validate
from dashboard.frame.changes.stamped import StampedForm
from forms_app.actions import FormValues, change_form
from forms_app.document.bodies import MAX_RECIPIENTS, FormChanges
from forms_app.models import MAX_ADDRESS, MAX_KEY, pages_url
from webhooks.mails.recipients import save_recipients


class SettingsForm(StampedForm):
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
    key = forms.CharField(
        required=False,  # left out: it stays
        max_length=MAX_KEY,
        label=gettext_lazy("Key"),
        help_text=gettext_lazy(
            "The name of the form for programs, which keep it in files. Those that know the old key do not find the "
            "form under a new one."
        ),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "autocapitalize": "none"}),
    )
    address = forms.CharField(
        required=False,
        max_length=MAX_ADDRESS,
        label=gettext_lazy("Address of the page"),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "autocapitalize": "none"}),
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
        "key": "key",
        "address": "address",
        "allowedOrigins": "allowed_origins",
        "successMessage": "success_message",
        "redirectUrl": "redirect_url",
        "retentionDays": "retention_days",
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["address"].help_text = format_lazy(
            gettext_lazy(
                "The last part of it, such as contact for {url}. Links to one that you change or remove lead here "
                "for 90 days more. Empty: the id of the form, which always works."
            ),
            url=f"{pages_url()}/f/contact",
        )

    def stored(self) -> dict[str, Any]:
        return {**super().stored(), "allowed_origins": "\n".join(self.form.allowed_origins)}

    def values(self) -> dict[str, Any]:
        """Return the changes for `change_form`. Raises ValidationFailed."""
        given: dict[str, Any] = {api: self.cleaned_data[ours] for api, ours in self.names.items()}
        given["allowedOrigins"] = lines(self.cleaned_data["allowed_origins"])
        given["address"] = given["address"] or None
        if not given["key"]:
            del given["key"]
        return validate(FormChanges(data=given))


class RecipientsForm(StampedForm):
    recipients = forms.CharField(
        required=False,
        label=gettext_lazy("Mail each submission to"),
        help_text=format_lazy(
            gettext_lazy("One address per line, at most {most}. A reply to the mail goes to the submitter."),
            most=MAX_RECIPIENTS,
        ),
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false", "placeholder": "you@example.com"}),
    )

    reply_to = forms.ChoiceField(
        required=False,
        label=gettext_lazy("Answers to mails to submitters go to"),
        help_text=gettext_lazy("While that recipient gets mails. Save a new recipient first."),
    )

    names = {"recipients": "recipients", "replyTo": "reply_to"}
    asked = 0  # addresses that get a mail with a link to confirm

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choice: Any = self.fields["reply_to"]
        choice.choices = [("", gettext("Nobody")), *((one, one) for one in self.form.notification_recipients)]

    def stored(self) -> dict[str, Any]:
        return {"recipients": "\n".join(self.form.notification_recipients), "reply_to": self.form.reply_to}

    def change(self, **_further: Unpack[FormValues]) -> None:
        """Set the recipients and where answers go, and ask the new recipients to confirm."""
        given, reply_to = lines(self.cleaned_data["recipients"]), self.cleaned_data["reply_to"]
        with transaction.atomic():
            self.asked = save_recipients(self.form, given, seen=self.seen_version)
            self.form.refresh_from_db()
            change_form(self.form, reply_to=reply_to if reply_to in self.form.notification_recipients else "")


def lines(text: str) -> list[str]:
    """Return the lines of a text, stripped, without empty ones."""
    return [line.strip() for line in text.splitlines() if line.strip()]
