"""HTML forms for the log of deliveries."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext, gettext_lazy, pgettext, pgettext_lazy

from dashboard.html_forms.day_input import DayInput
from dashboard.html_forms.own_form_field import OwnFormField
from forms_app.models import Form
from keys.models import Organization
from webhooks.channels.registry import CHANNELS
from webhooks.log_queries import UNDELIVERED, by_channel
from webhooks.models import Delivery
from webhooks.serializers import UNDELIVERED as REPLAY_UNDELIVERED

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

UNDELIVERED_CHOICE = "undelivered"
STATUSES = [
    ("", pgettext_lazy("deliveries", "All")),
    (UNDELIVERED_CHOICE, gettext_lazy("Undelivered")),
    *Delivery.Status.choices,
]
SUBMITS_ON_CHANGE = {"data-submits": True}


def _channels() -> "list[tuple[str, StrOrPromise]]":
    return [("", gettext("All channels")), *((channel.name, channel.label) for channel in CHANNELS.values())]


class ReplayForm(forms.Form):
    """The deliveries to send again, by status and by the days of their submissions in the user's time zone."""

    status = forms.ChoiceField(
        label=pgettext_lazy("deliveries", "Which"),
        choices=[
            (REPLAY_UNDELIVERED, gettext_lazy("Undelivered: failed or canceled")),
            ("failed", gettext_lazy("Failed")),
            ("canceled", gettext_lazy("Canceled")),
            ("delivered", gettext_lazy("Delivered: send a duplicate")),
            ("all", pgettext_lazy("deliveries", "All of these")),
        ],
    )
    to = forms.DateField(
        required=False,
        label=pgettext_lazy("days", "To"),
        widget=DayInput(),
        help_text=gettext_lazy("Empty: until now."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["from"] = forms.DateField(
            required=False,
            label=pgettext("days", "From"),
            widget=DayInput(),
            help_text=gettext("Empty: from the beginning."),
        )
        self.order_fields(["from", "to", "status"])

    def clean(self) -> dict[str, Any]:
        """Refuse dates in the wrong order: they would match nothing."""
        values = super().clean() or {}
        if values.get("from") and values.get("to") and values["from"] > values["to"]:
            self.add_error("from", gettext("This date is after the other one. Swap them."))
        return values


class LogFilterForm(forms.Form):
    """The filter of a receiver's log. Unknown values are ignored."""

    status = forms.ChoiceField(
        required=False, choices=STATUSES, label=gettext_lazy("Status"), widget=forms.Select(attrs=SUBMITS_ON_CHANGE)
    )

    def narrow(self, rows: QuerySet[Delivery]) -> QuerySet[Delivery]:
        """Return the deliveries in the chosen state."""
        chosen = self.chosen("status")
        if chosen == UNDELIVERED_CHOICE:
            return rows.filter(UNDELIVERED)
        return rows.filter(status=chosen) if chosen else rows

    def chosen(self, name: str) -> str:
        """Return the chosen value, "" for all."""
        self.is_valid()
        return str(self.cleaned_data.get(name) or "")


class DeliveriesFilterForm(LogFilterForm):
    channel = forms.ChoiceField(
        required=False, choices=_channels, label=gettext_lazy("Channel"), widget=forms.Select(attrs=SUBMITS_ON_CHANGE)
    )

    def __init__(self, *args: Any, organization: Organization, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["form"] = OwnFormField.of_all(organization, widget=forms.Select(attrs=SUBMITS_ON_CHANGE))
        self.order_fields(["form", "status", "channel"])

    @property
    def form_chosen(self) -> Form | None:
        """The chosen form, None for all."""
        self.is_valid()
        return self.cleaned_data.get("form")

    def parts(self, rows: QuerySet[Delivery]) -> list[QuerySet[Delivery]]:
        """Return the chosen deliveries as disjoint querysets, each fast to read newest first."""
        return by_channel(self.narrow(rows), form=self.form_chosen, channel=self.chosen("channel"))
