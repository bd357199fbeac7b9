"""Bytes on disk for a submission on PostgreSQL, after it was dispatched."""

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from tests.load.client import drive_each, post_bytes
from tests.load.deliveries.drain import delivering
from tests.load.report.figures import Round, Row
from tests.load.rounds import CLIENTS, GENERATORS
from tests.load.rows.kinds import Kind, OneRound
from tests.load.running import Options, Place
from tests.load.statements import TABLE
from tests.scale.texts import COMPANIES, NAMES, SENTENCES
from tests.services.waiting import eventually

JSON_BYTES = 344
PARTS = 5  # each followed by a VACUUM: autovacuum would run about as often, at a fifth of dead rows
ROWS_A_PART = 2_000
DISPATCH_SECONDS = 120.0
ROW = Row(
    "bytes",
    f"Bytes on disk for a submission of {JSON_BYTES} bytes of JSON, dispatched",
    "",
    "bytes",
    mark=2_000,
    aim=1_200,
)
# What a browser sends besides; docs/contract.md 3.11: a secret key in a page works.
HEADERS = {
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0 Safari/537",
    "Referer": "https://www.example.com/contact",
}
_SIZE = """
    SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class
     WHERE relkind IN ('r', 'p') AND relname LIKE 'submissions\\_%'
"""
_UNDISPATCHED = f"SELECT count(*) FROM {TABLE} WHERE dispatched_at IS NULL"


@contextmanager
def running(place: Place, _options: Options) -> Iterator[OneRound]:
    """Yield a round that submits to an empty table, has it dispatched, and measures every table of submissions."""
    bench, chance = place.bench, random.Random(15)
    port = bench.application.port

    def part() -> None:
        posts = [post_bytes(port, bench.path, bench.key, _body(chance), HEADERS) for _ in range(ROWS_A_PART)]
        drive_each(port, posts, clients=CLIENTS, processes=GENERATORS)
        eventually(
            lambda: bench.query(_UNDISPATCHED)[0] == 0, DISPATCH_SECONDS, "every submission is dispatched", every=0.2
        )
        with psycopg.connect(bench.url, autocommit=True) as connection:
            connection.execute("VACUUM")

    def one_round() -> dict[str, Round]:
        bench.empty()
        with psycopg.connect(bench.url, autocommit=True) as connection:
            connection.execute("VACUUM FULL submissions_tally")
        before = bench.query(_SIZE)[0]
        with delivering(bench, 1):
            for _ in range(PARTS):
                part()
        rows = bench.query(f"SELECT count(*) FROM {TABLE}")[0]
        assert rows == PARTS * ROWS_A_PART, f"{rows} rows are in the table"
        return {ROW.name: Round((bench.query(_SIZE)[0] - before) / rows)}

    yield one_round


def _body(chance: random.Random) -> bytes:
    """Return values of so many bytes as JSON, as different from others as those of real people."""
    name = chance.choice(NAMES)
    values = {
        "name": name,
        "email": f"{name.split()[0].lower()}.{chance.randrange(10**6)}@mail{chance.randrange(97)}.example",
        "company": chance.choice(COMPANIES),
        "message": "",
    }
    words = [word for sentence in SENTENCES for word in sentence.split()]
    room = JSON_BYTES - len(_dump(values))
    text = f"Order A-{chance.randrange(10**6)}."
    while len(text) < room:
        text += " " + chance.choice(words)
    values["message"] = text[: room - 1] + "."  # a blank at the end would be removed
    return _dump(values)


def _dump(values: dict[str, str]) -> bytes:
    return json.dumps(values, separators=(",", ":")).encode()


KIND = Kind((ROW,), "service", running)
