"""The filters of the audit trail, read from the query string."""

from typing import Any
from urllib.parse import urlencode

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext, gettext_lazy, pgettext

from dashboard.html_forms.day_input import DayInput
from keys.audit.action_names import ITSELF, VISITOR, Kind
from keys.audit.reading import COMMANDS, OPERATOR, events_of, narrow
from keys.models import AuditEvent, Organization

MAX_ACTORS = 500  # in the list to choose from


class AuditFilterForm(forms.Form):
    """Filters by UTC days (inclusive), person or key, and kind. Wrong values get an error and are ignored."""

    kind = forms.ChoiceField(required=False, choices=[("", gettext_lazy("Everything")), *Kind.choices])

    def __init__(self, *args: Any, organization: Organization, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.events = events_of(organization)
        named = self.events.exclude(COMMANDS).order_by("actor")
        actors = named.values_list("actor", flat=True).distinct()[:MAX_ACTORS]
        people = [
            ("", gettext("Everybody")),
            (OPERATOR, gettext("Operators")),
            *((actor, gettext(actor) if actor in (ITSELF, VISITOR) else actor) for actor in actors),
        ]
        self.fields["actor"] = forms.ChoiceField(required=False, label=gettext("Person or key"), choices=people)
        for name, label in (("from", pgettext("days", "From")), ("to", pgettext("days", "To"))):  # `from` is a keyword
            day = forms.DateField(required=False, label=label, input_formats=["%Y-%m-%d"])
            day.widget = DayInput()
            self.fields[name] = day

    def narrow(self) -> QuerySet[AuditEvent]:
        self.is_valid()
        given = self.cleaned_data
        return narrow(
            self.events,
            since=given.get("from"),
            until=given.get("to"),
            actor=given.get("actor", ""),
            kind=given.get("kind", ""),
        )

    def chosen(self) -> list[tuple[str, str]]:
        """Return the filters in use, as names and values."""
        return [(name, self.data[name]) for name in self.fields if self.data.get(name)]

    def query(self) -> str:
        return urlencode(self.chosen())
