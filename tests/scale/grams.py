"""
The search index of generated submissions, built with less than half of the processor time: the parts of their texts are
known, and so are the grams of the parts.

Most of the time is that of `submission_grams`, which is called for each row. While the index is built, the function is
an expression with the same result, which PostgreSQL reads instead of calling it. A sample of the rows is compared.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.db import transaction
from django.db.backends.utils import CursorWrapper

from submissions.models import Submission
from tests.scale.texts import COMMON, COMPANIES, NAMES, OLD_THIRD, PERCENT, RARE, SENTENCES

TABLE = Submission._meta.db_table
INDEX = "submission_grams_of_text"
FUNCTION = "submission_grams"
ITSELF = "submission_grams_itself"  # meanwhile
EMAIL, ORDER = (f"split_part(content, chr(31), {number})" for number in (2, 4))
NUMBERS = {EMAIL: (*range(8, 14), 19, 20), ORDER: range(3, 8)}  # where their grams with a digit begin
IS_GENERATED = f"{EMAIL} LIKE 'person.________@mail__.example' AND {ORDER} LIKE 'a-_______'"
SAMPLE = 1_000  # one row of so many is compared
GRAMS = "SELECT array_agg(DISTINCT gram ORDER BY gram) FROM unnest({}(organization_id, search_text)) AS gram"


@contextmanager
def without_index(cursor: CursorWrapper) -> Iterator[None]:
    """Drop the index of the search, and make it again at the end."""
    columns = "pg_get_indexdef(attrelid), coalesce(attstattarget, -1)"
    cursor.execute(f"SELECT {columns} FROM pg_attribute WHERE attrelid = %s::regclass", [INDEX])
    definition, statistics = cursor.fetchone()
    cursor.execute(f"DROP INDEX {INDEX}")
    yield
    with transaction.atomic():
        cursor.execute("SET LOCAL maintenance_work_mem = '1GB'")
        with _shorter_function(cursor):
            cursor.execute(definition)
        cursor.execute(f"ALTER INDEX {INDEX} ALTER COLUMN 1 SET STATISTICS {statistics}")


@contextmanager
def _shorter_function(cursor: CursorWrapper) -> Iterator[None]:
    """Replace the function. Raises AssertionError if a row of the sample has other grams by it."""
    cursor.execute("SELECT pg_get_functiondef(%s::regproc)", [FUNCTION])
    (definition,) = cursor.fetchone()
    cursor.execute(definition.replace(FUNCTION, ITSELF))  # parameters too may carry its name
    # STRICT, it would be called for each row instead of being a part of the index's expression.
    cursor.execute(
        f"CREATE OR REPLACE FUNCTION {FUNCTION}(organization uuid, content text) RETURNS int[] "
        f"LANGUAGE sql IMMUTABLE PARALLEL SAFE "
        f"RETURN CASE WHEN {IS_GENERATED} THEN {_grams(cursor)} ELSE {ITSELF}(organization, content) END"
    )
    cursor.execute(
        f"SELECT search_text FROM {TABLE} WHERE (position %% {SAMPLE} = 1 OR search_text LIKE %s) "
        f"AND ({GRAMS.format(FUNCTION)}) IS DISTINCT FROM ({GRAMS.format(ITSELF)})",
        [f"%{RARE}%"],
    )
    assert not (wrong := cursor.fetchmany(3)), wrong
    yield
    cursor.execute(definition)
    cursor.execute(f"DROP FUNCTION {ITSELF}(uuid, text)")


def _grams(cursor: CursorWrapper) -> str:
    """Return the grams of a generated text, as an expression."""
    return " || ".join(
        [
            "uuid_hash(organization)",
            _grams_of(cursor, "person mail example"),
            *(_hashes(text, starts) for text, starts in NUMBERS.items()),
            *(
                f"CASE WHEN strpos(content, {_quoted(part.lower())}) > 0 THEN {_grams_of(cursor, part)} END"
                for part in (*NAMES, *COMPANIES, *SENTENCES, COMMON, PERCENT, OLD_THIRD, RARE)
            ),
        ]
    )


def _hashes(text: str, starts: Sequence[int]) -> str:
    return f"ARRAY[{', '.join(f'hashtext(substr({text}, {start}, 3))' for start in starts)}]"


def _grams_of(cursor: CursorWrapper, text: str) -> str:
    """Return the grams of a text, without that of its organization, as a literal."""
    cursor.execute(
        f"SELECT array_remove({ITSELF}(pk, %s), uuid_hash(pk))::text FROM gen_random_uuid() AS pk", [text.lower()]
    )
    (grams,) = cursor.fetchone()
    return f"{_quoted(grams)}::int[]"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
