"""The filters of a list of submissions, read from the query string, so that links to a filtered list can be shared."""

import dataclasses
import datetime as dt
from typing import Any
from urllib.parse import urlencode

from django import forms

from config.api.find_owned import path_id
from config.ids import Prefix
from config.times import Period
from dashboard.html_forms.own_form_field import OwnFormField
from forms_app.models import Form
from keys.models import Organization
from submissions.reading.filters import MAX_QUERY, MIN_QUERY
from submissions.reading.listing import Scope
from webhooks.log_queries import undelivered_submissions

SPAM = {"": False, "true": True, "all": None}
TABS = [("", "Inbox"), ("true", "Spam"), ("all", "All")]
NAMES = ("form", "q", "from", "to", "spam", "undelivered", "held")


@dataclasses.dataclass(frozen=True, slots=True)
class Narrowing:
    """`since` and `until`: UTC days, inclusive; `spam` None: both; `undelivered`, `held` True: only those."""

    form: Form | None = None
    text: str = ""
    since: dt.date | None = None
    until: dt.date | None = None
    spam: bool | None = False
    undelivered: bool = False
    held: bool = False

    @property
    def is_plain(self) -> bool:
        """Return whether every new submission belongs to the list, so that it can be live."""
        return not (self.text or self.since or self.until or self.spam or self.undelivered or self.held)

    def scope(self, organization: Organization) -> Scope:
        """Return the submissions of an organization that pass."""
        return Scope(
            organization_id=organization.pk,
            form_id=self.form.pk if self.form else None,
            spam=self.spam,
            held=True if self.held else None,
            since=Period.of_day(self.since).start if self.since else None,
            until=Period.of_day(self.until).end if self.until else None,
            text=self.text,
            only=undelivered_submissions if self.undelivered else None,
        )


class SubmissionsFilterForm(forms.Form):
    """Reads a Narrowing. Wrong values get an error and are ignored; the list is shown anyway."""

    q = forms.CharField(
        required=False,
        min_length=MIN_QUERY,
        max_length=MAX_QUERY,
        strip=True,
        label="Search",
        error_messages={"min_length": f"Search for {MIN_QUERY} characters or more."},
        widget=forms.TextInput(attrs={"type": "search", "placeholder": "In any value"}),
    )
    to = forms.DateField(required=False, label="To", widget=forms.DateInput(attrs={"type": "date"}))
    spam = forms.ChoiceField(required=False, choices=TABS, widget=forms.HiddenInput)
    undelivered = forms.BooleanField(required=False, label="Undelivered")
    held = forms.BooleanField(required=False, label="Held")

    def __init__(self, *args: Any, organization: Organization, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["from"] = forms.DateField(
            required=False, label="From", widget=forms.DateInput(attrs={"type": "date"})
        )
        self.fields["form"] = OwnFormField.of_all(organization)
        self.order_fields(["form", "q", "from", "to", "undelivered", "held", "spam"])

    def clean(self) -> dict[str, Any]:
        """Refuse dates in the wrong order, at the first one only."""
        values = super().clean() or {}
        if values.get("from") and values.get("to") and values["from"] > values["to"]:
            self.add_error("from", "This date is after the other one. Swap them.")
            values.pop("to")
        return values

    def narrowing(self) -> Narrowing:
        """Return the filters of the list."""
        self.is_valid()
        values = self.cleaned_data
        return Narrowing(
            form=values.get("form"),
            text=values.get("q") or "",
            since=values.get("from"),
            until=values.get("to"),
            spam=SPAM[values.get("spam") or ""],
            undelivered=bool(values.get("undelivered")),
            held=bool(values.get("held")),
        )

    def query(self, **changed: str) -> str:
        """Return the query string of this list with some parameters changed; "" removes one."""
        given = {name: self.data.get(name, "") for name in NAMES} | changed
        return urlencode({name: value for name, value in given.items() if value})


def parse_ids(texts: list[str], *, most: int) -> list[Any]:
    """Return the ids of at most `most` chosen rows. Raises ApiError for a malformed id."""
    return [path_id(Prefix.SUBMISSION, text) for text in texts[:most]]
