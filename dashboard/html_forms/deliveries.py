"""HTML forms for the log of deliveries."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext, gettext_lazy, pgettext_lazy

from dashboard.html_forms.day_input import DaysForm
from dashboard.html_forms.filters import FilterForm, FormFilterForm
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


class ReplayForm(DaysForm):
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
    field_order = ("from", "to", "status")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["from"].help_text = gettext("Empty: from the beginning.")
        self.fields["to"].help_text = gettext("Empty: until now.")


class LogFilterForm(FilterForm):
    """The filter of a receiver's log. Unknown values are ignored."""

    status = forms.ChoiceField(
        required=False, choices=STATUSES, label=gettext_lazy("Status"), widget=forms.Select(attrs=SUBMITS_ON_CHANGE)
    )

    def narrow(self, rows: QuerySet[Delivery]) -> QuerySet[Delivery]:
        chosen = self.chosen("status")
        if chosen == UNDELIVERED_CHOICE:
            return rows.filter(UNDELIVERED)
        return rows.filter(status=chosen) if chosen else rows


class DeliveriesFilterForm(FormFilterForm, LogFilterForm):
    channel = forms.ChoiceField(
        required=False, choices=_channels, label=gettext_lazy("Channel"), widget=forms.Select(attrs=SUBMITS_ON_CHANGE)
    )

    field_order = ("form", "status", "channel")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["form"].widget.attrs.update(SUBMITS_ON_CHANGE)

    def parts(self, rows: QuerySet[Delivery]) -> list[QuerySet[Delivery]]:
        """Return the chosen deliveries as disjoint querysets, each fast to read newest first."""
        form = self.chosen("form")
        form_ids = self.seen.ids if form is None else [form.pk]
        return by_channel(self.narrow(rows), form_ids, channel=self.chosen("channel") or "")
