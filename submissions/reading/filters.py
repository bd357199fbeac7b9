"""The filters that lists and exports of submissions share (CONTRACT section 5)."""

import django_filters
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema_field

from config.api.errors import invalid
from config.api.filters import DateFilter
from config.api.schema import NO_NUL
from forms_app.filters import OwnFormFilter
from submissions.models import Submission, SubmissionQuerySet

SPAM_CHOICES = [("false", "Not spam"), ("true", "Spam"), ("all", "Both")]
MIN_QUERY = 3  # characters; fewer would match nearly everything and no index could help
MAX_QUERY = 200  # characters


class SubmissionFilters(django_filters.FilterSet):
    """`formId`, `from` and `to` (UTC days, inclusive), `spam` (not spam by default), `q` (in any value)."""

    formId = OwnFormFilter()
    spam = django_filters.ChoiceFilter(choices=SPAM_CHOICES, method="by_spam", empty_label=None)
    q = django_filters.CharFilter(method="by_text", min_length=MIN_QUERY, max_length=MAX_QUERY, strip=False)

    class Meta:
        model = Submission
        fields: list[str] = []

    def by_spam(self, queryset: SubmissionQuerySet, name: str, value: str) -> SubmissionQuerySet:
        """Applied in `filter_queryset`, which also knows the default."""
        return queryset

    def by_day(self, queryset: SubmissionQuerySet, name: str, value: object) -> SubmissionQuerySet:
        """Keep what was received since or until a UTC day."""
        return queryset.since_day(value) if name == "from" else queryset.until_day(value)  # type: ignore[arg-type]

    @extend_schema_field({"type": "string", "minLength": MIN_QUERY, "maxLength": MAX_QUERY, "pattern": NO_NUL})
    def by_text(self, queryset: SubmissionQuerySet, name: str, value: str) -> SubmissionQuerySet:
        """Keep what holds the text."""
        return queryset.containing(value)

    def filter_queryset(self, queryset: QuerySet[Submission]) -> QuerySet[Submission]:
        """Apply every filter. Raises ValidationFailed when `from` lies after `to`."""
        given = self.form.cleaned_data
        if given["from"] and given["to"] and given["from"] > given["to"]:
            raise invalid("from", "after_to", "lies after `to`. Swap the two dates.")
        if self.spam_wanted is not None:
            queryset = queryset.filter(spam=self.spam_wanted)
        return super().filter_queryset(queryset)

    @property
    def spam_wanted(self) -> bool | None:
        """Only spam (True), only what is not (False), or both (None)."""
        return {"all": None, "true": True}.get(self.form.cleaned_data["spam"], False)

    @property
    def narrows_beyond_form(self) -> bool:
        """Tell whether the tallies alone cannot know the total."""
        return any(self.form.cleaned_data[name] for name in ("from", "to", "q"))


# `from` is a keyword of Python's, so these two cannot stand in the class body.
for _name in ("from", "to"):
    SubmissionFilters.base_filters[_name] = DateFilter(field_name=_name, method="by_day")
