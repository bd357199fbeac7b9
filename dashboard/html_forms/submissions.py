"""What a list of submissions can be narrowed to, read from the address: links to a filtered list can be shared."""

import dataclasses
import datetime as dt
from typing import Any
from urllib.parse import urlencode

from django import forms

from config.api.find_owned import path_id
from config.ids import Prefix
from dashboard.html_forms.own_form_field import OwnFormField
from forms_app.models import Form
from keys.models import Organization
from submissions.reading.filters import MAX_QUERY, MIN_QUERY
from submissions.reading.listing import Scope
from webhooks.timeline import undelivered_submissions

SPAM = {"": False, "true": True, "all": None}
TABS = [("", "Inbox"), ("true", "Spam"), ("all", "All")]
NAMES = ("form", "q", "from", "to", "spam", "undelivered")


@dataclasses.dataclass(frozen=True, slots=True)
class Narrowing:
    """`form`, `text`, UTC days `since` and `until` (inclusive), `spam` (None: both), `undelivered` alone."""

    form: Form | None = None
    text: str = ""
    since: dt.date | None = None
    until: dt.date | None = None
    spam: bool | None = False
    undelivered: bool = False

    @property
    def is_plain(self) -> bool:
        """Tell whether whatever arrives now belongs to the list: then it can be live."""
        return not (self.text or self.since or self.until or self.spam or self.undelivered)

    def scope(self, organization: Organization) -> Scope:
        """Return what of an organization this leaves."""
        return Scope(
            organization_id=organization.pk,
            form_id=self.form.pk if self.form else None,
            spam=self.spam,
            since=self.since,
            until=self.until,
            text=self.text,
            only=undelivered_submissions if self.undelivered else None,
        )


class SubmissionsFilterForm(forms.Form):
    """Reads a Narrowing. What is wrong is told and left out; the list is shown all the same."""

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

    def __init__(self, *args: Any, organization: Organization, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["from"] = forms.DateField(
            required=False, label="From", widget=forms.DateInput(attrs={"type": "date"})
        )
        self.fields["form"] = OwnFormField.of_all(organization)
        self.order_fields(["form", "q", "from", "to", "undelivered", "spam"])

    def clean(self) -> dict[str, Any]:
        """Two dates in the wrong order are one mistake."""
        values = super().clean() or {}
        if values.get("from") and values.get("to") and values["from"] > values["to"]:
            self.add_error("from", "Lies after the other date. Swap the two.")
            values.pop("to")
        return values

    def narrowing(self) -> Narrowing:
        """Return what the list is narrowed to."""
        self.is_valid()
        values = self.cleaned_data
        return Narrowing(
            form=values.get("form"),
            text=values.get("q") or "",
            since=values.get("from"),
            until=values.get("to"),
            spam=SPAM[values.get("spam") or ""],
            undelivered=bool(values.get("undelivered")),
        )

    def query(self, **changed: str) -> str:
        """Return the address's query for this list, with some of it changed; "" leaves one out."""
        given = {name: self.data.get(name, "") for name in NAMES} | changed
        return urlencode({name: value for name, value in given.items() if value})


def parse_ids(texts: list[str], *, most: int) -> list[Any]:
    """Return the ids of chosen rows. Raises ApiError for what is none, or too many."""
    return [path_id(Prefix.SUBMISSION, text) for text in texts[:most]]
