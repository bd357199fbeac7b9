"""
Pages of a list of submissions that stay quick with a million rows.

Ids come from an index only, then the page's rows by their ids. Totals come from the tallies if only form and spam
narrow the list; otherwise the dashboard counts up to a bound ("more than 10,000"). Far pages are read from the other
end.
"""

import dataclasses
import datetime as dt
import enum
import uuid
from collections.abc import Callable

from django.db.models import QuerySet

from config.base.database import snapshot
from config.base.paging import NumberedPage
from submissions.counts import tally
from submissions.files.records import load_files
from submissions.models import Submission, SubmissionQuerySet
from submissions.reading.search import containing, count_matches, find_newest

MOST_COUNTED = 10_000  # rows; beyond, a list narrowed by dates says "more than"
HEAVY_COLUMNS = ("search_text", "controls")  # as large as the data, and never shown
MOST_FOUND = 1_000  # matches of a text that are counted and can be paged through

Narrow = Callable[[SubmissionQuerySet], SubmissionQuerySet]


class Holding(enum.Enum):
    """Which submissions, by their hold. Unconfirmed ones are in no list unless it asks for them."""

    LISTED = "all but the unconfirmed"
    NOT_HELD = "those that are not held"
    QUOTA = "those held for quota"
    UNCONFIRMED = "those held for confirmation"
    EVERY = "all"


UNCONFIRMED = Submission.Held.CONFIRMATION
HELD_AS = {
    Holding.NOT_HELD: Submission.Held.NOT,
    Holding.QUOTA: Submission.Held.QUOTA,
    Holding.UNCONFIRMED: UNCONFIRMED,
}


@dataclasses.dataclass(frozen=True, slots=True)
class Scope:
    """
    Which submissions: of an organization or one form of it, spam or not (None: both), by their hold, received at
    `since` or later and before `until`, a text, and further ones that must be found `also`.

    `form_ids`: the only forms that the reader sees; None: all. `test`: only test submissions, else only live ones.
    `unread`: only those, which are never spam. `id`: only this one. `only`: an extra filter from the caller (this app
    may not import webhooks).
    """

    organization_id: uuid.UUID
    form_id: uuid.UUID | None = None
    spam: bool | None = False
    held: Holding = Holding.LISTED
    since: dt.datetime | None = None
    until: dt.datetime | None = None
    text: str = ""
    also: tuple[str, ...] = ()
    unread: bool = False
    id: uuid.UUID | None = None
    form_ids: frozenset[uuid.UUID] | None = None
    test: bool = False
    only: Narrow | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.text, *self.also) if self.text else ()

    @property
    def forms(self) -> frozenset[uuid.UUID] | None:
        """The forms of the list that its reader sees; None: every one of the organization."""
        if self.form_id is None:
            return self.form_ids
        chosen = frozenset([self.form_id])
        return chosen if self.form_ids is None else chosen & self.form_ids

    @property
    def is_whole(self) -> bool:
        """Whether the tallies know the total."""
        narrowed = self.since or self.until or self.text or self.unread or self.id or self.test or self.only
        return not narrowed and self.held is Holding.LISTED

    def without_text(self, using: str | None = None) -> SubmissionQuerySet:
        """
        Return everything in scope except for the text, unordered.

        `using`: inside a snapshot, its alias: a session of PostgreSQL that waits for a second one can wait for itself.
        """
        # Only the forms if there are some: two equal conditions would let the planner choose the wrong index.
        forms, every = self.forms, Submission.objects.using(using)
        rows = every.filter(organization=self.organization_id) if forms is None else every.filter(form__in=forms)
        if self.test:
            # Of the organization, too: its few test submissions have an index. None is imported.
            rows = rows.filter(organization=self.organization_id).of_mode(test=True)
        else:
            rows = rows.shown(self.organization_id)
        if self.id:
            rows = rows.filter(id=self.id)
        if self.unread:
            rows = rows.unread()
        elif self.spam is not None:
            rows = rows.filter(spam=self.spam)
        rows = self._listed_tests(rows) if self.test else self._listed(rows)
        if self.since:
            rows = rows.since(self.since)
        if self.until:
            rows = rows.before(self.until)
        return self.only(rows) if self.only else rows

    def _listed(self, rows: SubmissionQuerySet) -> SubmissionQuerySet:
        """Narrow live rows by their hold, and leave out the tests."""
        if self.held in HELD_AS:
            rows = rows.filter(held=HELD_AS[self.held])
        # By their ids, which small indexes have: testing the columns would read each row of a far page.
        own = Submission.objects.filter(organization=self.organization_id)
        left_out = own.of_mode(test=True).values("pk")
        if self.held is Holding.LISTED:
            left_out = left_out.union(own.filter(held=UNCONFIRMED).values("pk"), all=True)
        return rows.exclude(pk__in=left_out)

    def _listed_tests(self, rows: SubmissionQuerySet) -> SubmissionQuerySet:
        if self.held is Holding.EVERY:
            return rows
        if self.held is Holding.QUOTA:  # held, for whatever reason that lists show
            return rows.exclude(held__in=[Submission.Held.NOT, UNCONFIRMED])
        return rows.filter(held=HELD_AS[self.held]) if self.held in HELD_AS else rows.exclude(held=UNCONFIRMED)

    def rows(self, using: str | None = None) -> SubmissionQuerySet:
        """Return everything in scope, unordered, as exports read it."""
        return containing(self.without_text(using), self.texts)


@dataclasses.dataclass(frozen=True, slots=True)
class Page(NumberedPage):
    """`rows`, newest first; `total` rows in all, or more than that unless `total_is_exact`; `number` from 1."""

    rows: list[Submission]
    number: int
    size: int
    total: int
    total_is_exact: bool

    @property
    def pages(self) -> int:
        """The number of pages, or of those counted if the total is not exact."""
        return max(1, -(-self.total // self.size))

    @property
    def last_number(self) -> int:
        return self.pages


def find_page(scope: Scope, *, number: int, size: int) -> Page:
    """Return a page of a list, newest first, all from one moment; a page past the end has no rows."""
    start = (number - 1) * size
    with snapshot() as alias:
        rows = scope.without_text(alias)
        total, is_exact, found = _count(scope, rows)
        if found is not None:
            ids = found[start : start + size]
        else:
            ids = read_ids(rows, start, size, total=total if is_exact else None)
        return Page(rows_of(ids, alias), number, size, total, is_exact)


def _count(scope: Scope, rows: SubmissionQuerySet) -> tuple[int, bool, list[uuid.UUID] | None]:
    """Return how many rows there are, whether that is exact, and of a search the ids of those that are counted."""
    if scope.text:
        found = _newest(scope, rows, MOST_FOUND + 1)
        return min(len(found), MOST_FOUND), len(found) <= MOST_FOUND, found[:MOST_FOUND]
    if scope.is_whole:
        return _tallied(scope, rows.db), True, None
    counted = rows.order_by()[: MOST_COUNTED + 1].count()
    return min(counted, MOST_COUNTED), counted <= MOST_COUNTED, None


def count_unread(scope: Scope, most: int) -> int:
    """Return the number of unread submissions in a form or an organization, `most` at most."""
    return dataclasses.replace(scope, unread=True).without_text().order_by()[:most].count()


def has_unconfirmed(scope: Scope) -> bool:
    """Return whether submissions of a form or an organization are held for confirmation."""
    return dataclasses.replace(scope, held=Holding.UNCONFIRMED).without_text().exists()


def count_bounded(scope: Scope) -> tuple[int, bool]:
    """Return how many rows there are, and whether that is exact: a bound that many lists have is not counted past."""
    with snapshot() as alias:
        total, is_exact, _ = _count(scope, scope.without_text(alias))
        return total, is_exact


def next_ids(scope: Scope, *, before: uuid.UUID, size: int) -> list[uuid.UUID]:
    """Return the newest ids in scope below an id, newest first, `size` at most."""
    with snapshot() as alias:
        rows = scope.without_text(alias).filter(id__lt=before)
        if scope.text:
            return _newest(scope, rows, size)
        return list(rows.order_by("-id").values_list("id", flat=True)[:size])


def count_and_find(scope: Scope, alias: str) -> tuple[int, list[uuid.UUID] | None]:
    """Return how many rows there are, and of a search with few matches their ids too, for `read_exactly`."""
    if scope.text:
        return count_matches(scope.without_text(alias), scope.texts, organization=scope.organization_id)
    return _tallied(scope, alias) if scope.is_whole else scope.without_text(alias).count(), None


def _tallied(scope: Scope, alias: str) -> int:
    """Return the total from the tallies, at the same cost for ten million rows."""
    if (forms := scope.forms) is not None:
        return tally.total_of_forms(forms, spam=scope.spam, using=alias)
    return tally.total_of_organization(scope.organization_id, spam=scope.spam, using=alias)


def read_exactly(
    scope: Scope, start: int, size: int, *, total: int, alias: str, found: list[uuid.UUID] | None = None
) -> list[Submission]:
    """
    Return the rows from place `start` on, newest first, where `total` is how many there are.

    `found`: the ids of all, if `count_and_find` returned them.
    """
    last = min(start + size, total)
    if start >= last:
        return []
    if found is not None:
        ids = found[start:last]
    elif scope.text and last <= MOST_COUNTED:
        ids = _newest(scope, scope.without_text(alias), last)[start:]
    else:
        ids = read_ids(scope.rows(alias), start, size, total=total)
    return rows_of(ids, alias)


def read_ids(rows: QuerySet[Submission], start: int, size: int, *, total: int | None) -> list[uuid.UUID]:
    """
    Return the ids from place `start` on, newest first.

    If `total` is known, the older half is read from the old end: the last page costs the same as the first one.
    """
    ids = rows.values_list("id", flat=True)
    if total is None or start < total // 2:
        return list(ids.order_by("-id")[start : start + size])
    end = max(0, total - start)
    return list(ids.order_by("id")[max(0, end - size) : end])[::-1]


def _newest(scope: Scope, rows: SubmissionQuerySet, most: int) -> list[uuid.UUID]:
    return find_newest(rows, scope.texts, organization=scope.organization_id, most=most)


def rows_of(ids: list[uuid.UUID], alias: str) -> list[Submission]:
    """Return the rows of these ids, newest first, each with its files."""
    rows = Submission.objects.using(alias).defer(*HEAVY_COLUMNS)
    return sorted(load_files(rows.filter(pk__in=ids)), key=lambda row: row.pk, reverse=True)
