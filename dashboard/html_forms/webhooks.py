"""HTML forms for webhooks and for the log of deliveries."""

from typing import Any

from django import forms
from django.db.models import QuerySet

from dashboard.html_forms.own_form_field import OwnFormField
from forms_app.models import Form
from keys.models import Organization
from webhooks.models import MAX_URL, Delivery
from webhooks.serializers import UNDELIVERED as REPLAY_UNDELIVERED
from webhooks.timeline import UNDELIVERED, by_way

UNDELIVERED_CHOICE = "undelivered"
STATUSES = [("", "All"), (UNDELIVERED_CHOICE, "Undelivered"), *Delivery.Status.choices]
CHANNELS = [("", "Webhooks and mails"), ("webhook", "Webhooks"), ("mail", "Mails")]
DATE = {"type": "date"}
AT_ONCE = {"data-submits": True}


class WebhookForm(forms.Form):
    """Where to send, for which form."""

    url = forms.CharField(
        max_length=MAX_URL,
        label="URL",
        help_text="An https address of yours that takes POST requests with JSON.",
        widget=forms.URLInput(attrs={"placeholder": "https://example.com/hooks/fieldpost", "autocomplete": "off"}),
    )

    def __init__(self, *args: Any, organization: Organization, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["form"] = OwnFormField.of_active(
            organization, help_text="The webhook receives the submissions to this form."
        )
        self.order_fields(["form", "url"])


class UrlForm(forms.Form):
    """Another URL for a webhook that exists."""

    url = WebhookForm.base_fields["url"]


class ReplayForm(forms.Form):
    """Which deliveries to send again, by the days (UTC) on which their submissions came."""

    status = forms.ChoiceField(
        label="Which",
        choices=[
            (REPLAY_UNDELIVERED, "Undelivered: failed or canceled"),
            ("failed", "Failed"),
            ("canceled", "Canceled"),
            ("delivered", "Delivered: tell it again"),
            ("all", "All of these"),
        ],
    )
    to = forms.DateField(required=False, label="To", widget=forms.DateInput(attrs=DATE), help_text="Empty: until now.")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["from"] = forms.DateField(
            required=False, label="From", widget=forms.DateInput(attrs=DATE), help_text="Empty: from the beginning."
        )
        self.order_fields(["from", "to", "status"])

    def clean(self) -> dict[str, Any]:
        """Two dates in the wrong order would match nothing."""
        values = super().clean() or {}
        if values.get("from") and values.get("to") and values["from"] > values["to"]:
            self.add_error("from", "Lies after the other date. Swap the two.")
        return values


class LogFilterForm(forms.Form):
    """What the log of a webhook is narrowed to. What is no choice is left out."""

    status = forms.ChoiceField(required=False, choices=STATUSES, label="State", widget=forms.Select(attrs=AT_ONCE))

    def narrow(self, rows: QuerySet[Delivery]) -> QuerySet[Delivery]:
        """Return the deliveries in the chosen state."""
        chosen = self.chosen("status")
        if chosen == UNDELIVERED_CHOICE:
            return rows.filter(UNDELIVERED)
        return rows.filter(status=chosen) if chosen else rows

    def chosen(self, name: str) -> str:
        """Return what was chosen, "" for everything."""
        self.is_valid()
        return str(self.cleaned_data.get(name) or "")


class DeliveriesFilterForm(LogFilterForm):
    """What the log of an organization is narrowed to."""

    channel = forms.ChoiceField(required=False, choices=CHANNELS, label="Channel", widget=forms.Select(attrs=AT_ONCE))

    def __init__(self, *args: Any, organization: Organization, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["form"] = OwnFormField.of_all(organization, widget=forms.Select(attrs=AT_ONCE))
        self.order_fields(["form", "status", "channel"])

    @property
    def form_chosen(self) -> Form | None:
        """The form whose deliveries are asked for."""
        self.is_valid()
        return self.cleaned_data.get("form")

    def parts(self, rows: QuerySet[Delivery]) -> list[QuerySet[Delivery]]:
        """Return the chosen deliveries in one or two parts that do not overlap, each quick to read newest first."""
        rows, form, channel = self.narrow(rows), self.form_chosen, self.chosen("channel")
        to_webhooks, mails = by_way(rows, form)
        if channel:
            return [to_webhooks if channel == "webhook" else mails]
        return [to_webhooks, mails] if form else [rows]
