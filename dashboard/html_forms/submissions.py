"""The filters of a list of submissions, read from the query string, so that links to a filtered list can be shared."""

import dataclasses
import datetime as dt
import re
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext, gettext_lazy

from config.api.errors import ApiError
from config.api.find_owned import path_id
from config.base.ids import Prefix
from dashboard.accounts.time_zones import own_day
from dashboard.html_forms.day_input import DaysForm
from dashboard.html_forms.filters import FormFilterForm
from forms_app.models import Form
from keys.seen_forms import SeenForms
from submissions.reading.filters import MAX_QUERY, MIN_QUERY
from submissions.reading.listing import Holding, Scope
from webhooks.log_queries import undelivered_submissions

SPAM = {"": False, "true": True, "all": None}
NAMES = ("form", "q", "from", "to", "spam", "unread", "undelivered", "held", "unconfirmed")
TEST = "test"  # a hidden input of pages that show test data
MEANT = {"q": "text", "from": "since", "to": "until"}  # members of a Narrowing with other names
MAX_WORDS = 8
_WORD = re.compile(r'"([^"]+)"|(\S+)')


@dataclasses.dataclass(frozen=True, slots=True)
class Narrowing:
    """
    `since` and `until`: days in the user's time zone, inclusive; `spam` None: both; `unread`, `undelivered`, `held`,
    `unconfirmed` True: only those. `words`: each must be found.
    """

    form: Form | None = None
    text: str = ""
    since: dt.date | None = None
    until: dt.date | None = None
    spam: bool | None = False
    unread: bool = False
    undelivered: bool = False
    held: bool = False
    unconfirmed: bool = False

    @property
    def is_plain(self) -> bool:
        """Return whether every new submission belongs to the list, so that it can be live."""
        narrowed = self.text or self.since or self.until or self.spam or self.undelivered or self.held
        return not (narrowed or self.unconfirmed)

    @property
    def wanted_id(self) -> uuid.UUID | None:
        """The id of the one submission that the text names, or None."""
        try:
            return path_id(Prefix.SUBMISSION, self.text) if self.text else None
        except ApiError:
            return None

    @property
    def _holding(self) -> Holding:
        if self.unconfirmed:
            return Holding.UNCONFIRMED
        return Holding.QUOTA if self.held else Holding.LISTED

    @property
    def words(self) -> list[str]:
        """The words of the text, and what is in quotation marks, without repetition; the longest first."""
        found = dict.fromkeys(quoted or word for quoted, word in _WORD.findall(self.text))
        return sorted(found, key=len, reverse=True)

    def scope(self, seen: SeenForms) -> Scope:
        """Return the submissions of seen forms that pass. An id finds its submission, whatever else is given."""
        if self.wanted_id:
            return Scope(
                seen.organization_id,
                spam=None,
                held=Holding.EVERY,
                id=self.wanted_id,
                form_ids=seen.ids,
                test=seen.test,
            )
        text, *also = self.words or [""]
        return Scope(
            organization_id=seen.organization_id,
            form_ids=seen.ids,
            test=seen.test,
            form_id=self.form.pk if self.form else None,
            spam=self.spam,
            unread=self.unread,
            held=self._holding,
            since=own_day(self.since).start if self.since else None,
            until=own_day(self.until).end if self.until else None,
            text=text,
            also=tuple(also),
            only=undelivered_submissions if self.undelivered else None,
        )


class SubmissionsFilterForm(FormFilterForm, DaysForm):
    """Reads a Narrowing."""

    field_order = NAMES

    q = forms.CharField(
        required=False,
        min_length=MIN_QUERY,
        max_length=MAX_QUERY,
        strip=True,
        label=gettext_lazy("Search"),
        error_messages={
            "min_length": format_lazy(gettext_lazy("Search for {least} characters or more."), least=MIN_QUERY)
        },
        widget=forms.TextInput(attrs={"type": "search", "placeholder": gettext_lazy("Search values, or an ID")}),
    )
    spam = forms.ChoiceField(required=False, choices=[(value, value) for value in SPAM], widget=forms.HiddenInput)
    unread = forms.BooleanField(required=False, widget=forms.HiddenInput)
    unconfirmed = forms.BooleanField(required=False, widget=forms.HiddenInput)
    undelivered = forms.BooleanField(required=False, label=gettext_lazy("Only undelivered"))
    held = forms.BooleanField(required=False, label=gettext_lazy("Only held"))

    def clean_q(self) -> str:
        text: str = self.cleaned_data["q"]
        if len(_WORD.findall(text)) > MAX_WORDS:
            raise forms.ValidationError(gettext("Search for %(most)s words or fewer.") % {"most": MAX_WORDS})
        return text

    def narrowing(self) -> Narrowing:
        self.is_valid()
        values = {MEANT.get(name, name): value for name, value in self.cleaned_data.items() if value}
        values["spam"] = False if values.get("unread") else SPAM[values.get("spam", "")]
        return Narrowing(**values)

    def query(self, **changed: str) -> str:
        """Return the query string of this list with some parameters changed; "" removes one."""
        given = dict.fromkeys(NAMES, "") | self._used() | changed
        return urlencode({name: value for name, value in given.items() if value})

    def address_at(self, page: str, **changed: str) -> str:
        """Return the address of a page with the parameters of `query`."""
        query = self.query(**changed)
        return f"{page}?{query}" if query else page

    def kept(self) -> list[tuple[str, str]]:
        """Return the parameters in use, for hidden inputs."""
        found = list(self._used().items())
        return [*found, (TEST, "on")] if self.seen.test else found

    def _used(self) -> dict[str, str]:
        """Return the parameters in use. One with an error narrows nothing, so it is left out."""
        self.is_valid()
        return {name: self.data[name] for name in NAMES if self.data.get(name) and name in self.cleaned_data}

    @property
    def is_of_other_mode(self) -> bool:
        """Whether the page that sent this showed live data, and the session shows tests now, or the other way round."""
        return (TEST in self.data) != self.seen.test

    def chips(self) -> Iterator[tuple[str, str]]:
        """
        Yield the label of each filter in use, and the query string of the list without it.

        Of those that the toolbar sets: a form has its own pages, tabs say the rest.
        """
        found = self.narrowing()
        for name, label, is_used in (
            ("q", f"“{found.text}”", found.text),
            ("from", gettext("From %(day)s") % {"day": found.since}, found.since),
            ("to", gettext("To %(day)s") % {"day": found.until}, found.until),
            ("undelivered", gettext("Undelivered"), found.undelivered),
            ("held", gettext("Held"), found.held),
        ):
            if is_used:
                yield label, self.query(**{name: ""})


def parse_ids(texts: list[str], *, most: int) -> list[Any]:
    """Return the ids of at most `most` chosen rows. Raises ApiError for a malformed id."""
    return [path_id(Prefix.SUBMISSION, text) for text in texts[:most]]
