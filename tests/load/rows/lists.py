"""Lists and searches of a large form, next to the same of a small one in the same database."""

import http.client
import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from statistics import median
from typing import Any

import psycopg

from tests.load.client import WrongAnswer
from tests.load.report.figures import Round, Row
from tests.load.rows.kinds import Kind, OneRound
from tests.load.running import Options, Place
from tests.load.statements import TABLE
from tests.scale.texts import PERCENT, RARE, SPAM_EVERY

PAGE = 25  # rows
REQUESTS = 20  # of each kind, for each form, in a round
_SMALL = "the same, 1,000 rows"


def _row(name: str, title: str) -> Row:
    return Row(name, title, _SMALL, "ms", mark=1.5, aim=1.1)


LIST = _row("list", "GET /api/submissions, the newest 25 of the large form")
SEARCH = _row("search", "The same with `q`, a word of 3 rows")
COMMON = _row("search-percent", "The same with `q`, a word of 1 % of the rows, with their exact total")
DASHBOARD = _row("dashboard", "The dashboard's list of the large form")
WAITING = 20_000


def _backlog(name: str, whose: str) -> Row:
    title = f"`list`, while {WAITING:,} submissions {whose} wait to be dispatched"
    return Row(name, title, "`list`, while none wait", "ms", mark=1.2)


BACKLOG = _backlog("backlog", "of another organization")
OWN_BACKLOG = _backlog("backlog-own", "of the form itself")
# One in each of the last milliseconds.
_WAIT = f"""
INSERT INTO {TABLE} (id, organization_id, form_id, data, search_text, controls, meta, spam, spam_reasons, created_at)
SELECT (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint - {WAITING} + number), 12, '0')
        || '7' || substr(md5(found.id::text), 1, 3) || 'a' || substr(md5(found.id::text), 4, 15))::uuid,
    form.organization_id, form.id, data, search_text, controls, meta, spam, spam_reasons, now()
FROM forms_app_form form, (
    SELECT *, row_number() OVER () AS number FROM {TABLE} WHERE form_id = %s AND NOT spam LIMIT {WAITING}
) AS found
WHERE form.id = %s
"""
Form = dict[str, Any]
Ask = Callable[[], float]


@contextmanager
def running(place: Place, _options: Options) -> Iterator[OneRound]:
    """Yield a round of requests to the large form and the small one in turn, over kept connections."""
    with closing(http.client.HTTPConnection("127.0.0.1", place.bench.application.port, timeout=60)) as connection:
        pairs = {
            row.name: tuple(ask(connection, place.archive[size]) for size in ("large", "small"))
            for row, ask in ((LIST, _list), (SEARCH, _rare), (COMMON, _percent), (DASHBOARD, _dashboard))
        }

        def one_round() -> dict[str, Round]:
            return {name: _take_turns(*pair) for name, pair in pairs.items()}

        one_round()
        yield one_round


@contextmanager
def waiting(place: Place, _options: Options) -> Iterator[OneRound]:
    """Yield a round of requests to the large form without waiting submissions, then with them."""
    large, small, bench = place.archive["large"], place.archive["small"], place.bench
    with (
        closing(http.client.HTTPConnection("127.0.0.1", bench.application.port, timeout=60)) as connection,
        psycopg.connect(bench.url, autocommit=True) as database,
    ):

        def with_backlog(form: Form) -> Round:
            before = _several(_list(connection, large))
            added = database.execute(_WAIT, [large["form"], form["form"]]).rowcount
            try:
                during = _several(_list(connection, large, added if form is large else 0))
            finally:
                database.execute(f"DELETE FROM {TABLE} WHERE dispatched_at IS NULL")
                database.execute(f"VACUUM {TABLE}")
            return Round(during, before)

        def one_round() -> dict[str, Round]:
            return {BACKLOG.name: with_backlog(small), OWN_BACKLOG.name: with_backlog(large)}

        one_round()
        yield one_round


def _several(ask: Ask) -> float:
    """Return the median in milliseconds."""
    return 1000 * median(ask() for _ in range(REQUESTS))


def _take_turns(large: Ask, small: Ask) -> Round:
    """Return the medians in milliseconds."""
    times = [(large(), small()) for _ in range(REQUESTS)]
    return Round(1000 * median(one for one, _ in times), 1000 * median(other for _, other in times))


def _list(connection: http.client.HTTPConnection, form: Form, waiting: int = 0) -> Ask:
    kept = form["count"] - form["count"] // SPAM_EVERY
    return lambda: _api(connection, form, "", kept + waiting)


def _rare(connection: http.client.HTTPConnection, form: Form) -> Ask:
    return lambda: _api(connection, form, f"&q={RARE}", 3)


def _percent(connection: http.client.HTTPConnection, form: Form) -> Ask:
    return lambda: _api(connection, form, f"&q={PERCENT}", form["count"] // 100)


def _dashboard(connection: http.client.HTTPConnection, form: Form) -> Ask:
    return lambda: _screen(connection, form)


def _api(connection: http.client.HTTPConnection, form: Form, query: str, total: int) -> float:
    """Return the seconds of a list, which must have this total."""
    path = f"/api/submissions?formId={form['form_id']}&limit={PAGE}{query}"
    seconds, body = _get(connection, path, {"x-access-key": form["key"]})
    found = json.loads(body)["pagination"]["total"]
    assert found == total, f"{path}: {found} of {total}"
    return seconds


def _screen(connection: http.client.HTTPConnection, form: Form) -> float:
    """Return the seconds of the dashboard's list, which must have a page of rows; the opened one is there twice."""
    seconds, body = _get(connection, form["list"], {"Cookie": form["cookie"]})
    shown = body.count(b'value="sub_')
    assert shown >= PAGE, f"{form['list']}: {shown} rows"
    return seconds


def _get(connection: http.client.HTTPConnection, path: str, headers: dict[str, str]) -> tuple[float, bytes]:
    start = time.perf_counter()
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    seconds = time.perf_counter() - start
    if answer.status != 200:
        raise WrongAnswer(f"{path}: {answer.status} {body[:500]!r}")
    return seconds, body


KINDS = (
    Kind((LIST, SEARCH, COMMON, DASHBOARD), "archive", running, depends_on_stored_rows=True),
    Kind((BACKLOG, OWN_BACKLOG), "archive", waiting, depends_on_stored_rows=True),
)
