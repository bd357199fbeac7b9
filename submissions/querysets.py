"""Submissions by what a list or an export asks for."""

import datetime as dt
import uuid
from typing import TYPE_CHECKING, Any

from django.db import models

from config.api.times import day_start

if TYPE_CHECKING:
    from submissions.models import Submission
else:
    Submission = Any


def first_id_of(moment: dt.datetime) -> uuid.UUID:
    """Return the smallest UUIDv7 of a millisecond: ids and `created_at` carry the same moment, ids have the index."""
    return uuid.UUID(int=max(0, int(moment.timestamp() * 1000)) << 80)


class SubmissionQuerySet(models.QuerySet["Submission"]):
    """Domain names for the questions asked of submissions."""

    def since_day(self, day: dt.date) -> "SubmissionQuerySet":
        """Received on this UTC day or later."""
        return self.filter(id__gte=first_id_of(day_start(day)))

    def until_day(self, day: dt.date) -> "SubmissionQuerySet":
        """Received on this UTC day or earlier."""
        if day == dt.date.max:
            return self
        return self.filter(id__lt=first_id_of(day_start(day + dt.timedelta(days=1))))

    def containing(self, text: str) -> "SubmissionQuerySet":
        """With a value that holds this text, whatever its case."""
        return self.filter(search_text__contains=fold(text))

    def undispatched(self) -> "SubmissionQuerySet":
        """Whose consequences are still owed."""
        return self.filter(dispatched_at=None)


VALUE_SEPARATOR = "\x1f"  # U+001F keeps a search from matching across two values
_IN_PLACE_OF_SEPARATOR = "\x1e"


def fold(text: str) -> str:
    """Return a text as it is compared in searches: the same on both databases, whose own folding differs."""
    return text.casefold().replace(VALUE_SEPARATOR, _IN_PLACE_OF_SEPARATOR)


def search_text(values: list[str]) -> str:
    """Return the searchable text of a submission."""
    return VALUE_SEPARATOR.join(map(fold, values))
