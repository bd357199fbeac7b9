"""
A form with a million submissions: its list and its search stay quick on PostgreSQL.

Times are the best of several runs, since machines have other things to do; where that is not enough, they are held
against the plain way, one process that reads every row, taken in the same minute. That nothing reads the whole table
for a list is shown by PostgreSQL's own account of what it read.
"""

import dataclasses
import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from typing import Any
from urllib.parse import urlencode

import pytest
from django.conf import settings
from django.db import connections, transaction

from config.base.ids import Prefix, encode_id
from submissions.models import Submission
from submissions.reading.listing import MOST_FOUND, Scope, find_page
from tests.scale.loading import Loaded, holds, load_submissions, number_of
from tests.scale.texts import COMMON, OLD_THIRD, PERCENT, RARE, UNREAD_EVERY
from tests.services.application import Application
from tests.services.client import Answer, Client
from tests.support.browser import Browser, logged_in, member_of, person_of, place
from tests.support.rows import wait_until_dispatched
from tests.support.tenants import Tenant, make_tenant

ROWS = 1_000_000
SIZE = 25
KEPT_PAGES = ROWS * 95 // 100 // SIZE + 1  # one more for the submission that comes over HTTP
PAGES = (1, 2, 200, 400, KEPT_PAGES)
MEMBERS = 20
MOST_RUNS = 20  # where the first is not good enough: somebody else may be using the machine
QUICK = 0.3  # seconds
MOST_BLOCKS = 500  # of 8 KiB that a page of a list may touch; the table has some 100,000
QUERIES = 4  # of a page of a list: the undone imports, the total, the ids of the page, its rows

# No row holds these. The parts of the hard ones are in many rows, so no index rules them out.
ABSENT = ("xylophone", "xyl", "kingfishers")
ABSENT_HARD = ("hello you", "weber.", "%_\\")
# Seconds, for reading every row: what hard texts take, and the API, whose total is exact. Twice, where rows follow.
READING_ALL = 1.5
# The same bounds as parts of what the plain way takes, for a machine that is slow or busy.
PARTS_OF_PLAIN = {QUICK: 0.7, READING_ALL: 2.5}


@dataclasses.dataclass(frozen=True)
class Million:
    """
    A form's million rows, an owner's browser, and the newest row, which came over HTTP.

    `members`: browsers of several people in turn, since an account has few searches a minute.
    """

    tenant: Tenant
    loaded: Loaded
    client: Client
    browser: Browser
    members: Iterator[Browser]
    newest: str

    def scope(self, **narrowing: Any) -> Scope:
        return Scope(self.loaded.organization_id, self.loaded.form_id, **narrowing)

    @property
    def form_id(self) -> str:
        return encode_id(Prefix.FORM, self.loaded.form_id)

    def screen(self, **query: Any) -> Answer:
        """Return the dashboard's list."""
        return self._shown(next(self.members).get(f"{place(self.tenant, 'submissions')}?{self._query('form', query)}"))

    def api(self, **query: Any) -> Answer:
        """Return the API's list."""
        return self._shown(self.client.get(f"/api/submissions?{self._query('formId', query)}", self.tenant.key))

    def _query(self, form: str, query: dict[str, Any]) -> str:
        return urlencode({form: self.form_id, **query})

    @staticmethod
    def _shown(answer: Answer) -> Answer:
        assert answer.status == 200, answer.text[:2000]
        return answer


@pytest.fixture(scope="module")
def million(service: Application) -> Iterator[Million]:
    tenant = make_tenant()
    form_id = tenant.form()
    began = time.monotonic()
    loaded = load_submissions(tenant, form_id, ROWS)
    print(f"\n{ROWS:,} submissions loaded in {time.monotonic() - began:.0f} s")
    with Client(service.port) as client:
        sent = client.post(f"/api/submit?formId={form_id}", tenant.key, json={"email": "the.newest@example.com"})
        assert sent.status == 201, sent.text
        wait_until_dispatched(tenant)
        browser = logged_in(client, person_of(tenant))
        members = cycle([logged_in(client, member_of(tenant.organization, "member")) for _ in range(MEMBERS)])
        yield Million(tenant, loaded, client, browser, members, sent.json()["data"]["id"])


def plain_seconds() -> float:
    """Return the best of three runs of one process that reads every row for a text that no row has."""
    table = Submission._meta.db_table
    times = []
    with transaction.atomic(), connections["default"].cursor() as cursor:
        for setting in ("enable_indexscan", "enable_bitmapscan", "enable_indexonlyscan"):
            cursor.execute(f"SET LOCAL {setting} = off")
        cursor.execute("SET LOCAL max_parallel_workers_per_gather = 0")
        for _ in range(3):
            began = time.perf_counter()
            cursor.execute(f"SELECT count(*) FROM {table} WHERE search_text LIKE %s", ["%xylophone%"])
            times.append(time.perf_counter() - began)
    return min(times)


def check_quick(label: str, act: Callable[[], Any], bound: float = QUICK) -> None:
    """Assert that the best of some runs is within the bound, in seconds; print all."""
    times: list[float] = []
    while not times or (min(times) >= bound and len(times) < MOST_RUNS):
        began = time.perf_counter()
        act()
        times.append(time.perf_counter() - began)
    print(f"{label:44} best {min(times) * 1000:6.0f} ms of", *(f"{each * 1000:.0f}" for each in times))
    if min(times) >= bound:
        plain = plain_seconds()
        print(f"{label:44} the plain way takes {plain * 1000:.0f} ms now")
        assert min(times) < PARTS_OF_PLAIN[bound] * plain, label


def test_million_rows__pages_of_the_list__are_the_right_rows_within_300_ms(million: Million) -> None:
    numbers = [0, *million.loaded.numbers()]
    for number in PAGES:
        page = find_page(million.scope(), number=number, size=SIZE)
        assert (page.total, page.total_is_exact, page.pages) == (len(numbers), True, KEPT_PAGES)
        shown = [0 if row.public_id == million.newest else number_of(row) for row in page.rows]
        assert shown == numbers[(number - 1) * SIZE : number * SIZE]
        check_quick(f"dashboard, page {number}", partial(million.screen, page=number))
        check_quick(f"API, page {number}", partial(million.api, page=number))


def test_million_rows__pages_of_spam_days_and_the_whole_organization__within_300_ms(million: Million) -> None:
    days = {"from": str(million.tenant.organization.created_at.date()), "to": "2100-01-01"}
    lists: dict[str, dict[str, Any]] = {
        "spam": {"spam": "true"},
        "both": {"spam": "all"},
        "since today": days,
    }
    for label, query in lists.items():
        for number in (1, 400):
            check_quick(f"{label}, page {number}", partial(million.screen, page=number, **query))
    everything = f"{place(million.tenant, 'submissions')}?page="
    for number in (1, 400, KEPT_PAGES):
        check_quick(f"organization, page {number}", partial(million.browser.get, f"{everything}{number}"))


def test_million_rows__search__finds_the_newest_matches_within_300_ms(million: Million) -> None:
    for text in (COMMON, PERCENT, OLD_THIRD, RARE, "the", PERCENT[:3]):
        page = find_page(million.scope(text=text), number=1, size=SIZE)
        if text in (COMMON, PERCENT, OLD_THIRD, RARE):
            wanted = [number for number in million.loaded.numbers() if holds(text, number, ROWS)]
            assert [number_of(row) for row in page.rows] == wanted[:SIZE]
            assert (page.total, page.total_is_exact) == (min(len(wanted), MOST_FOUND), len(wanted) <= MOST_FOUND)
        assert len(page.rows) == min(page.total, SIZE)
        # A text of a third of the rows, none of them new: either way, most of the table is read.
        bound = READING_ALL if text == OLD_THIRD else QUICK
        check_quick(f"dashboard, search {text!r}", partial(million.screen, q=text), bound)
        check_quick(f"API, search {text!r}, counted exactly", partial(million.api, q=text), READING_ALL)
    last = MOST_FOUND // SIZE
    check_quick(f"dashboard, search {PERCENT!r}, page {last}", lambda: million.screen(q=PERCENT, page=last))


@pytest.mark.parametrize(("texts", "bound"), [(ABSENT, QUICK), (ABSENT_HARD, READING_ALL)])
def test_million_rows__search_for_what_is_not_there__says_so_soon(
    million: Million, texts: tuple[str, ...], bound: float
) -> None:
    for text in texts:
        page = find_page(million.scope(text=text), number=1, size=SIZE)
        assert (page.rows, page.total, page.total_is_exact) == ([], 0, True)
        check_quick(f"dashboard, search {text!r}", partial(million.screen, q=text), bound)
        check_quick(f"API, search {text!r}, counted exactly", partial(million.api, q=text), bound)


@pytest.mark.parametrize(
    ("first", "second", "bound"), [(COMMON, RARE, QUICK), (OLD_THIRD, PERCENT, READING_ALL)], ids=["rare", "old"]
)
def test_million_rows__search_for_two_words__costs_what_the_rarer_does(
    million: Million, first: str, second: str, bound: float
) -> None:
    page = find_page(million.scope(text=first, also=(second,)), number=1, size=SIZE)
    wanted = [n for n in million.loaded.numbers() if holds(first, n, ROWS) and holds(second, n, ROWS)]
    assert [number_of(row) for row in page.rows] == wanted[:SIZE]
    check_quick(f"dashboard, search {first!r} and {second!r}", partial(million.screen, q=f"{first} {second}"), bound)


def test_million_rows__few_unread__are_found_without_reading_the_others(million: Million) -> None:
    wanted = range(ROWS + 1 - UNREAD_EVERY, 0, -UNREAD_EVERY)
    for scope in (million.scope(unread=True), Scope(million.loaded.organization_id, unread=True)):
        page = find_page(scope, number=1, size=SIZE)
        assert [number_of(row) for row in page.rows if row.public_id != million.newest] == list(wanted)[: SIZE - 1]
        plans = explained(partial(find_page, scope, number=1, size=SIZE))
        assert not [node for plan in plans for node in nodes(plan) if is_whole_read(node)]
        assert sum(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] for plan in plans) < MOST_BLOCKS
    check_quick("dashboard, unread", partial(million.screen, unread="on"))


def test_million_rows__list__reads_neither_the_whole_table_nor_the_way_to_a_far_page(million: Million) -> None:
    for narrowing in ({}, {"spam": True}, {"spam": None}):
        for number in PAGES if not narrowing else (1, 400):
            scope = million.scope(**narrowing)
            plans = explained(partial(find_page, scope, number=number, size=SIZE))
            blocks = sum(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] for plan in plans)
            print(f"{narrowing or 'inbox'}, page {number}: {len(plans)} queries, {blocks} blocks")
            assert len(plans) == QUERIES
            assert not [node for plan in plans for node in nodes(plan) if is_whole_read(node)]
            assert blocks < MOST_BLOCKS


def explained(act: Callable[[], Any]) -> list[dict[str, Any]]:
    """Return what PostgreSQL did for each query of `act`."""
    connection, asked = connections[settings.SNAPSHOT], []

    def keep(execute: Any, sql: str, params: Any, *rest: Any) -> Any:
        if sql.startswith("SELECT"):
            asked.append((sql, params))
        return execute(sql, params, *rest)

    with connection.execute_wrapper(keep):
        act()
    plans = []
    with transaction.atomic(using=settings.SNAPSHOT), connection.cursor() as cursor:
        for sql, params in asked:
            cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", params)
            (plan,) = cursor.fetchone()
            plans.append((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"])
    return plans


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", []):
        yield from nodes(inner)


def is_whole_read(node: dict[str, Any]) -> bool:
    return (node["Node Type"], node.get("Relation Name")) == ("Seq Scan", Submission._meta.db_table)
