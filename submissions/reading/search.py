"""
Find a text among a million submissions: the newest matches, by the plan that is quick for this text.

No statistics say how rare a text is, and a wrong choice by PostgreSQL costs seconds: reading row by row goes through
the whole table for a text without matches, and the index first collects every row with the same trigrams ("hello you"
in a million greetings), however few of them match. SQLite has only one plan.

The index (migration 0014) has an array of numbers for each row: the trigrams inside its words, and its organization.
It finds candidates, of which each is compared.
"""

import re
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.db import connections, transaction
from django.db.models import BooleanField, F, Func, TextField, Value
from django.db.models.functions import StrIndex

from submissions.models import Submission, SubmissionQuerySet
from submissions.search_text import fold

FIRST = 500  # rows that are read one by one first, in 1 ms
NEWEST = 20_000  # the same, if enough of the first ones match; then
NEWEST_AT_MOST = 60_000
SAMPLED_MOMENTS = 40  # at which the organization's rows are sampled
SAMPLED_ROWS = 8  # of each moment: 320 rows in 2 ms, however many there are
INDEX_UP_TO = 0.1  # part of the organization's rows that are candidates; beyond, reading all rows is quicker
INDEX_MEMORY = "64MB"  # for the rows found, a bit each; with too little, PostgreSQL keeps pages instead of rows
MOST_TRIGRAMS = 40  # of a long text, spread over it
FEW = 200  # matches whose ids are read when they are counted

_WORD = re.compile(r"[^\W_]+")  # letters and digits, from which pg_trgm makes trigrams

# The number of an organization, and those of the trigrams of texts, whatever is before and after the texts. pg_trgm
# decides what a letter is, and how it is folded.
_TRIGRAMS = """
SELECT uuid_hash(%s), array_agg(DISTINCT hashtext(gram)) FROM unnest(%s::text[]) AS content CROSS JOIN LATERAL (
    SELECT unnest(show_trgm(content))
    INTERSECT SELECT unnest(show_trgm('x' || content || 'x'))
    INTERSECT SELECT unnest(show_trgm('z' || content || 'z'))
) AS inside(gram) WHERE strpos(gram, ' ') = 0
"""
_TABLE = Submission._meta.db_table
# An id begins with 48 bits of milliseconds. The moments are always the same, so that a search always has the same plan.
_SAMPLE = f"""
WITH ends(first, last) AS (
    SELECT ('x' || left(replace(min(id::text), '-', ''), 12))::bit(48)::bigint,
        ('x' || left(replace(max(id::text), '-', ''), 12))::bit(48)::bigint
    FROM (
        (SELECT id FROM {_TABLE} WHERE organization_id = %(organization)s ORDER BY id LIMIT 1)
        UNION ALL
        (SELECT id FROM {_TABLE} WHERE organization_id = %(organization)s ORDER BY id DESC LIMIT 1)
    ) AS both_ends
)
SELECT count(*), count(*) FILTER (WHERE search_text LIKE ALL (%(patterns)s))
FROM ends, generate_series(0, {SAMPLED_MOMENTS - 1}) AS number
CROSS JOIN LATERAL (
    SELECT search_text FROM {_TABLE} WHERE organization_id = %(organization)s
    AND id >= rpad(lpad(to_hex(first + (last - first) * number / {SAMPLED_MOMENTS}), 12, '0'), 32, '0')::uuid
    ORDER BY id LIMIT {SAMPLED_ROWS}
) AS sampled
"""  # noqa: S608 - the table's name from code


class _HoldsTrigrams(Func):
    """Whether the index has all these numbers for a row."""

    arg_joiner = " @> "
    template = "(%(expressions)s::int[])"
    output_field = BooleanField()

    def __init__(self, numbers: list[int]) -> None:
        # As in the index: PostgreSQL compares expressions.
        own = Func(F("organization_id"), F("search_text"), function="submission_grams", output_field=TextField())
        super().__init__(own, Value(numbers))


def find_newest(
    rows: SubmissionQuerySet, texts: Sequence[str], *, organization: uuid.UUID, most: int
) -> list[uuid.UUID]:
    """
    Return the ids of those among an organization's `rows` that hold every text, newest first, `most` at most.

    Runs in the caller's transaction, like everything here.
    """
    newest = rows.order_by("-id")
    if connections[rows.db].vendor != "postgresql":
        return _ids(containing(newest, texts), most)
    found: list[uuid.UUID] = []
    for depth in (FIRST, NEWEST, NEWEST_AT_MOST):
        edge = newest.values_list("id", flat=True)[depth : depth + 1].first()
        found = _ids(_without_index(newest.filter(id__gt=edge) if edge else newest, texts), most)
        if edge is None or len(found) == most:
            return found
        if len(found) * NEWEST_AT_MOST < most * depth:  # too few: to continue would take much longer
            break
    with _holding(texts, newest.filter(id__lte=edge), organization) as parts:
        older = _ids_of_parts(parts, most - len(found))
    return (found + sorted(older, reverse=True))[:most]


def count_matches(
    rows: SubmissionQuerySet, texts: Sequence[str], *, organization: uuid.UUID
) -> tuple[int, list[uuid.UUID] | None]:
    """
    Return the number of matches, and up to FEW of them their ids, newest first.

    It visits all of them, so the cost of a common text grows with the rows.
    """
    if connections[rows.db].vendor != "postgresql":
        return containing(rows, texts).count(), None
    with _holding(texts, rows.order_by(), organization) as parts:
        ids = _ids_of_parts(parts, FEW + 1)
        if len(ids) <= FEW:
            return len(ids), sorted(ids, reverse=True)
        return sum(part.count() for part in parts), None


def _ids(rows: SubmissionQuerySet, most: int) -> list[uuid.UUID]:
    return list(rows.values_list("id", flat=True)[:most])


def _ids_of_parts(parts: Sequence[SubmissionQuerySet], most: int) -> list[uuid.UUID]:
    """Return the first `most` ids of each part, by one query."""
    first, *others = [part.values_list("id", flat=True)[:most] for part in parts]
    return list(first.union(*others, all=True) if others else first)


def containing(rows: SubmissionQuerySet, texts: Sequence[str]) -> SubmissionQuerySet:
    """Return those that hold every text."""
    for text in texts:
        rows = rows.containing(text)
    return rows


@contextmanager
def _holding(
    texts: Sequence[str], rows: SubmissionQuerySet, organization: uuid.UUID
) -> Iterator[list[SubmissionQuerySet]]:
    """Give those that hold the texts in parts, to be read inside: by the index, or past it where quicker."""
    settings = {"jit": "off", "enable_indexscan": "off"}
    if _part_of_rows(texts, organization, rows.db) <= INDEX_UP_TO:
        # New rows are not in the index yet: entering them there would make the submitter wait.
        indexed, waiting = rows.filter(dispatched_at__isnull=False), rows.undispatched()
        numbers = index_numbers(texts, organization, rows.db)
        with _planning(rows.db, **settings, enable_seqscan="off", work_mem=INDEX_MEMORY):
            yield [_without_index(indexed.filter(_HoldsTrigrams(numbers)), texts), _without_index(waiting, texts)]
    else:
        with _planning(rows.db, **settings):  # in several processes
            yield [_without_index(rows, texts)]


def _without_index(rows: SubmissionQuerySet, texts: Sequence[str]) -> SubmissionQuerySet:
    """Return those that hold the texts, by reading each row: like `containing`, in half the time, without an index."""
    for number, text in enumerate(texts):
        place = f"place_{number}"
        rows = rows.alias(**{place: StrIndex("search_text", Value(fold(text)))}).filter(**{f"{place}__gt": 0})
    return rows


def index_numbers(texts: Sequence[str], organization: uuid.UUID, alias: str) -> list[int]:
    """Return what the index must have for a row that holds the texts."""
    with connections[alias].cursor() as cursor:
        cursor.execute(_TRIGRAMS, [organization, list(map(fold, texts))])
        own, found = cursor.fetchone()
    trigrams = found or []
    return [own, *trigrams[:: -(-len(trigrams) // MOST_TRIGRAMS) or 1]]


def _part_of_rows(texts: Sequence[str], organization: uuid.UUID, alias: str) -> float:
    """Return, from a sample, which part (0 to 1) of an organization's rows has every trigram of the texts."""
    trigrams = sorted({trigram for text in texts for trigram in _trigrams(fold(text))})
    patterns = [f"%{trigram}%" for trigram in trigrams]
    with connections[alias].cursor() as cursor:
        cursor.execute(_SAMPLE, {"organization": organization, "patterns": patterns})
        sampled, candidates = cursor.fetchone()
    return float(candidates / max(sampled, 1))


def _trigrams(text: str) -> set[str]:
    """Return the trigrams inside a text's words, nearly those of the index: an estimate needs no more."""
    words = _WORD.findall(text)
    return {word[start : start + 3] for word in words for start in range(len(word) - 2)}


@contextmanager
def _planning(alias: str, **settings: str) -> Iterator[None]:
    """Plan the statements inside, which only read, with these settings of PostgreSQL."""
    before = transaction.savepoint(using=alias)
    calls = ", ".join(["set_config(%s, %s, true)"] * len(settings))
    with connections[alias].cursor() as cursor:
        cursor.execute(f"SELECT {calls}", [part for pair in settings.items() for part in pair])
    yield
    transaction.savepoint_rollback(before, using=alias)  # to the settings of before
