"""Lists and searches of a large form, next to the same of a small one in the same database."""

import http.client
import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from statistics import median
from typing import Any

from tests.load.client import WrongAnswer
from tests.load.report.figures import Round, Row
from tests.load.rows.kinds import Kind, OneRound
from tests.load.running import Options, Place
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


def _take_turns(large: Ask, small: Ask) -> Round:
    """Return the medians in milliseconds."""
    times = [(large(), small()) for _ in range(REQUESTS)]
    return Round(1000 * median(one for one, _ in times), 1000 * median(other for _, other in times))


def _list(connection: http.client.HTTPConnection, form: Form) -> Ask:
    kept = form["count"] - form["count"] // SPAM_EVERY
    return lambda: _api(connection, form, "", kept)


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


KIND = Kind((LIST, SEARCH, COMMON, DASHBOARD), "archive", running, depends_on_stored_rows=True)
