"""
Find a text among a million submissions: the newest matches, by the plan that is quick for this text.

No statistics say how rare a text is, and a wrong choice by PostgreSQL costs seconds: reading row by row goes through
the whole table for a text without matches, and the trigram index first collects every row with the same trigrams
("hello you" in a million greetings), however few of them match. SQLite has only one plan.

Of several texts, the index finds the rarest one, and the others are looked for in its rows.
"""

import re
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.db import connections
from django.db.backends.utils import CursorWrapper
from django.db.models import Value
from django.db.models.functions import StrIndex

from submissions.models import Submission, SubmissionQuerySet
from submissions.search_text import fold

NEWEST = 20_000  # rows that are read one by one first
NEWEST_AT_MOST = 60_000  # the same, if the first of them had enough matches
SAMPLED_PAGES = 250  # of the table, 8 KiB each: some 2,500 rows, in 5 to 10 ms
MOST_EDGES = 20  # regular expressions; PostgreSQL remembers 32 compiled ones
INDEX_UP_TO = 0.5  # part of the table's pages; if it is larger, reading all of them is quicker
INDEX_MEMORY = "64MB"  # for the rows found, a bit each; with too little, PostgreSQL keeps pages instead of rows

_WORD = re.compile(r"[^\W_]+")  # letters and digits, from which pg_trgm makes trigrams

# Always the same pages (REPEATABLE), so that a search always has the same plan.
_SAMPLE = f"""
SELECT count(DISTINCT page), count(DISTINCT page) FILTER (WHERE search_text LIKE ALL (%s) AND search_text ~ ALL (%s))
FROM (
    SELECT search_text, (ctid::text::point)[0] AS page
    FROM {Submission._meta.db_table} TABLESAMPLE SYSTEM ((
        SELECT least(100, 100.0 * %s * current_setting('block_size')::int
            / greatest(pg_relation_size('{Submission._meta.db_table}'), 1))
    )) REPEATABLE (1)
) AS sampled
"""  # noqa: S608 - the table's name from code


def find_newest(rows: SubmissionQuerySet, texts: Sequence[str], *, most: int) -> list[uuid.UUID]:
    """
    Return the ids of those among `rows` that hold every text, newest first, `most` at most.

    Runs in the caller's transaction, like everything here.
    """
    newest = rows.order_by("-id")
    if connections[rows.db].vendor != "postgresql":
        return _ids(_containing(newest, texts), most)
    found: list[uuid.UUID] = []
    for depth in (NEWEST, NEWEST_AT_MOST):
        edge = newest.values_list("id", flat=True)[depth : depth + 1].first()
        found = _ids(_without_index(newest.filter(id__gt=edge) if edge else newest, texts), most)
        if edge is None or len(found) == most:
            return found
        if len(found) * NEWEST_AT_MOST < most * depth:  # too few: to continue would take much longer
            break
    with _holding(texts, newest.filter(id__lte=edge)) as parts:
        older = [pk for part in parts for pk in _ids(part, most - len(found))]
    return (found + sorted(older, reverse=True))[:most]


def count_matches(rows: SubmissionQuerySet, texts: Sequence[str]) -> int:
    """Return the number of matches. It visits all of them, so the cost of a common text grows with the rows."""
    if connections[rows.db].vendor != "postgresql":
        return _containing(rows, texts).count()
    with _holding(texts, rows.order_by()) as parts:
        return sum(part.count() for part in parts)


def _ids(rows: SubmissionQuerySet, most: int) -> list[uuid.UUID]:
    return list(rows.values_list("id", flat=True)[:most])


def _containing(rows: SubmissionQuerySet, texts: Sequence[str]) -> SubmissionQuerySet:
    for text in texts:
        rows = rows.containing(text)
    return rows


@contextmanager
def _holding(texts: Sequence[str], rows: SubmissionQuerySet) -> Iterator[list[SubmissionQuerySet]]:
    """Give those that hold the texts in parts, to be read inside: by the trigram index, or past it where quicker."""
    settings = {"jit": "off", "enable_indexscan": "off"}
    parts = {text: _part_of_pages(text, rows.db) for text in texts}
    rarest = min(parts, key=lambda text: parts[text])
    if parts[rarest] <= INDEX_UP_TO:
        # New rows are not in the index yet: entering them there would make the submitter wait.
        indexed, waiting = rows.filter(dispatched_at__isnull=False), rows.undispatched()
        with _planning(rows.db, **settings, enable_seqscan="off", work_mem=INDEX_MEMORY):
            others = [text for text in texts if text != rarest]
            yield [_without_index(indexed.containing(rarest), others), _without_index(waiting, texts)]
    else:
        with _planning(rows.db, **settings):  # in several processes
            yield [_without_index(rows, texts)]


def _without_index(rows: SubmissionQuerySet, texts: Sequence[str]) -> SubmissionQuerySet:
    """Return those that hold the texts, by reading each row: like `containing`, in half the time, without an index."""
    for number, text in enumerate(texts):
        place = f"place_{number}"
        rows = rows.alias(**{place: StrIndex("search_text", Value(fold(text)))}).filter(**{f"{place}__gt": 0})
    return rows


def _part_of_pages(text: str, alias: str) -> float:
    """Return, from a sample, in which part (0 to 1) of the table's pages the trigram index would visit."""
    trigrams, edges = _pieces(fold(text))
    with connections[alias].cursor() as cursor:
        cursor.execute(_SAMPLE, [[f"%{trigram}%" for trigram in trigrams], edges, SAMPLED_PAGES])
        sampled, candidates = cursor.fetchone()
    return float(candidates / max(sampled, 1))


def _pieces(text: str) -> tuple[list[str], list[str]]:
    """
    Return what the trigram index can match of a text: trigrams inside its words, and regular expressions for the
    beginnings and ends of words. It cannot match characters between words.
    """
    trigrams, edges = set(), set()
    for match in _WORD.finditer(text):
        word = match.group()
        trigrams |= {word[start : start + 3] for start in range(len(word) - 2)}
        if match.start() > 0:
            edges.add(rf"\m{word[:2]}")
        if match.end() < len(text) and len(word) > 1:
            edges.add(rf"{word[-2:]}\M")
    return sorted(trigrams), sorted(edges)[:MOST_EDGES]


@contextmanager
def _planning(alias: str, **settings: str) -> Iterator[None]:
    """Plan the statements inside with these settings of PostgreSQL."""
    with connections[alias].cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(['current_setting(%s)'] * len(settings))}", list(settings))
        before = dict(zip(settings, cursor.fetchone(), strict=True))
        _set(cursor, settings)
        yield
        _set(cursor, before)


def _set(cursor: CursorWrapper, settings: dict[str, str]) -> None:
    """Set them until the transaction ends, which an error inside does too."""
    calls = ", ".join(["set_config(%s, %s, true)"] * len(settings))
    cursor.execute(f"SELECT {calls}", [part for pair in settings.items() for part in pair])
