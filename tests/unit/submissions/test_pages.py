"""Pages of submissions compared with a plain list, for every filter and every plan."""

import datetime as dt
import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from django.conf import settings

from config.base.ids import Prefix, decode_id
from submissions.models import Submission
from submissions.reading import listing as pages
from submissions.reading import search
from submissions.reading.listing import Page, Scope, count_and_find, find_page, read_exactly
from tests.support.rows import row
from tests.support.tenants import Tenant, make_tenant
from tests.unit.webhooks.dispatching import dispatch_all

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True, databases=["default", settings.SNAPSHOT]),
]

SIZE = 4
START = dt.datetime(2026, 3, 1, 21, tzinfo=dt.UTC)  # rows are 100 minutes apart: some days are begun, some ended
HOSTILE = (
    *("100%", "50 %", "a_b", "aXb", "back\\slash", "back\\\\slash", "it's", 'say "hi"', "%_\\", "___", "%%%", "';--"),
    *("Straße", "STRASSE", "strasse", "İstanbul", "i̇stanbul", "ΣΊΣΥΦΟΣ", "σίσυφος", "日本語で", "ﬃ", "ffi"),
    *("a\u00a0b", "tab\there", "two\nlines", "%s %(x)s {0}", "\\", "'", "e\u0301te", "éte"),
    *("a*b.c|d", "(open", "[set", "\\m", "$1"),
)


class Many:
    """A tenant with two forms, and what a plain list of its submissions is."""

    def __init__(self) -> None:
        self.tenant: Tenant = make_tenant()
        self.forms = [self.tenant.form(), self.tenant.form()]
        self.rows: list[Submission] = []

    def put(self, values: Sequence[str], form: int = 0, spam_every: int = 5) -> None:
        """Store a submission of two values for each text, older ones first."""
        made = []
        for number, value in enumerate(values, len(self.rows)):
            at = START + number * dt.timedelta(minutes=100)
            fields = {"text": value, "number": f"No {number}"}
            made.append(row(self.tenant, self.forms[form], fields, at, spam=number % spam_every == 2))
        self.rows += Submission.objects.bulk_create(made)

    def scope(self, form: int | None = 0, **narrowing: Any) -> Scope:
        form_id = None if form is None else decode_id(Prefix.FORM, self.forms[form])
        return Scope(self.tenant.organization.pk, form_id, **narrowing)

    def plain(self, scope: Scope) -> list[Any]:
        """Return the ids in scope, newest first, by looking at each row."""
        return [each.pk for each in sorted(self.rows, key=lambda each: each.pk, reverse=True) if belongs(each, scope)]


def belongs(submission: Submission, scope: Scope) -> bool:
    at = submission.created_at
    return (
        scope.form_id in (None, submission.form_id)
        and scope.spam in (None, submission.spam)
        and (scope.since is None or at >= scope.since)
        and (scope.until is None or at < scope.until)
        and all(
            any(text.casefold() in value.casefold() for value in submission.data.values())
            for text in (scope.text, *scope.also)
        )
        and not (scope.unread and (submission.is_read or submission.spam))
    )


@pytest.fixture
def many() -> Many:
    """Return two forms' rows, some counted by the tallies and some not yet; a stranger has rows with the same texts."""
    made, stranger = Many(), Many()
    stranger.put(["Hello", *HOSTILE])
    made.put([f"Hello {number}" for number in range(17)])
    made.put([f"Hello again {number}" for number in range(3)], form=1)
    dispatch_all()
    made.put([f"Late hello {number}" for number in range(12)])
    return made


@pytest.fixture(params=["row by row", "by the index", "past the index"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Choose how a search on PostgreSQL continues after the newest rows, which are few here. Return its name."""
    if request.param != "row by row":
        monkeypatch.setattr(search, "FIRST", 2)
        monkeypatch.setattr(search, "NEWEST", 4)
        monkeypatch.setattr(search, "NEWEST_AT_MOST", 6)
        monkeypatch.setattr(search, "INDEX_UP_TO", 1.0 if request.param == "by the index" else -1.0)
    return str(request.param)


def ids(page: Page) -> list[Any]:
    return [each.pk for each in page.rows]


def check_pages(many: Many, scope: Scope) -> int:
    """Assert every page, and two past the end, of both ways to read them. Return the number of rows."""
    wanted = many.plain(scope)
    total, found = count_and_find(scope, settings.SNAPSHOT)
    last = -(-len(wanted) // SIZE)
    for number in range(1, last + 3):
        start = (number - 1) * SIZE
        page = find_page(scope, number=number, size=SIZE)
        assert ids(page) == wanted[start : start + SIZE], (scope, number)
        assert (page.total, page.total_is_exact) == (len(wanted), True)
        assert (page.number, page.pages) == (number, max(1, last))
        assert (page.has_previous, page.has_next) == (number > 1, number < last)
        for each in (found, None):
            exactly = read_exactly(scope, start, SIZE, total=len(wanted), alias=settings.SNAPSHOT, found=each)
            assert [row.pk for row in exactly] == wanted[start : start + SIZE]
    assert total == len(wanted)
    return len(wanted)


def test_find_page__any_form_and_spam__is_the_plain_list(many: Many) -> None:
    for form, spam in itertools.product([0, 1, None], [False, True, None]):
        assert check_pages(many, many.scope(form, spam=spam)) > 0


def test_find_page__times__include_the_first_and_leave_out_the_second(many: Many) -> None:
    times = [None, *(dt.datetime(2026, 3, day, tzinfo=dt.UTC) for day in (2, 3, 9)), START]
    for since, until in itertools.product(times, times):
        found = check_pages(many, many.scope(spam=None, since=since, until=until))
        assert (found == 0) == (since == times[3] or until == START or bool(since and until and since >= until))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("form", [0, None])
def test_find_page__text__is_the_plain_list(many: Many, form: int | None) -> None:
    for text in ("hello", "HELLO", "hello 1", "late", "again 2", "no 1", "absent", "lo 1", "  7"):
        check_pages(many, many.scope(form, text=text))
        check_pages(
            many, many.scope(form, text=text, spam=None, since=START, until=dt.datetime(2026, 3, 3, tzinfo=dt.UTC))
        )


@pytest.mark.usefixtures("way")
def test_find_page__several_texts__are_all_found_in_any_values(many: Many) -> None:
    for text, *also in (("hello", "no 1"), ("again", "no 1", "2"), ("no 1", "late", "HELLO"), ("hello", "absent")):
        check_pages(many, many.scope(None, text=text, also=tuple(also)))


def test_find_page__unread__is_the_plain_list_without_spam(many: Many) -> None:
    for submission in many.rows[::3]:
        submission.is_read = True
    Submission.objects.bulk_update(many.rows, ["is_read"])
    for form in (0, 1, None):
        assert check_pages(many, many.scope(form, unread=True, spam=None)) > 0


@pytest.mark.usefixtures("way")
def test_find_page__hostile_texts__match_as_they_are(many: Many) -> None:
    many.put(HOSTILE, spam_every=10**9)
    for text in HOSTILE:
        assert check_pages(many, many.scope(text=text)) >= 1, text


@pytest.mark.usefixtures("way")
def test_find_page__text_across_two_values__is_not_found(many: Many) -> None:
    many.put(["end"])
    assert find_page(many.scope(text="end\x1fno"), number=1, size=SIZE).rows == []
    assert find_page(many.scope(text="end\x1eno"), number=1, size=SIZE).rows == []


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(("bound", "is_exact"), [(24, True), (23, False), (5, False)])
def test_find_page__more_matches_than_are_numbered__tells_so(
    many: Many, monkeypatch: pytest.MonkeyPatch, bound: int, is_exact: bool
) -> None:
    monkeypatch.setattr(pages, "MOST_FOUND", bound)
    scope = many.scope(text="hello")
    wanted = many.plain(scope)
    assert len(wanted) == 24
    last = -(-bound // SIZE)
    for number in range(1, last + 2):
        page = find_page(scope, number=number, size=SIZE)
        assert ids(page) == wanted[:bound][(number - 1) * SIZE : number * SIZE]
        assert (page.total, page.total_is_exact, page.pages) == (bound, is_exact, last)
        assert page.has_next == (number < last)


@pytest.mark.parametrize(("bound", "is_exact"), [(29, True), (28, False), (5, False)])
def test_find_page__more_of_some_days_than_are_counted__tells_so(
    many: Many, monkeypatch: pytest.MonkeyPatch, bound: int, is_exact: bool
) -> None:
    monkeypatch.setattr(pages, "MOST_COUNTED", bound)
    scope = many.scope(spam=None, since=START)
    wanted = many.plain(scope)
    assert len(wanted) == 29
    page = find_page(scope, number=2, size=SIZE)
    assert (ids(page), page.total, page.total_is_exact) == (wanted[SIZE : 2 * SIZE], bound, is_exact)


def test_find_page__rows__leave_out_what_a_list_never_shows(many: Many) -> None:
    page = find_page(many.scope(), number=1, size=SIZE)
    assert page.rows[0].get_deferred_fields() == {"search_text", "controls"}


def test_page__past_the_end__leads_back_to_the_last(many: Many) -> None:
    page = find_page(many.scope(), number=999, size=SIZE)
    assert (page.rows, page.has_next, page.has_previous, page.previous) == ([], False, True, page.pages)
