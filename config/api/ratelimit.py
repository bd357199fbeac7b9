"""
Hourly limits and burst limits, and the headers of every response (docs/contract.md 2).

An organization's hour has a ceiling for pages below the plan's limit, and a count may be given back. So it is counted
here (docs/adr/0036); django-ratelimit counts the limits of addresses and bursts.
"""

import contextlib
import dataclasses
import fcntl
import logging
import os
import struct
import threading
import time
import uuid
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

from django.conf import settings
from django.core.cache import caches
from django.http import HttpRequest, HttpResponseBase
from django.utils.translation import gettext, gettext_noop
from django_ratelimit.core import get_usage

from config.api.errors import RateLimited
from config.base.client_address import client_network

HOUR = 3600  # seconds
KEPT_LONGER = 60  # seconds that a counter outlives its hour, so that clocks of several hosts may differ
COUNTED_TO = 2**31  # no plan allows more
ANONYMOUS_LIMIT = 100  # requests an hour per address without a valid key, as in the Free plan
TEST_LIMIT = 1_000  # test submissions of an organization an hour
PUBLIC_PAGES = "30/m"  # of an address: pages that cost more than others and need no key
HEADERS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
MARKS = (80, 90, 100)  # percent of the plan's hour; from 90 on, browser submissions wait
PAGES_PERCENT = 90
REPORT_AGAIN_SECONDS = 60  # pause of a process after marks could not be reported
MOST_NOTED = 10_000  # organizations whose marks this process remembers
BUSY = gettext_noop(
    "This form is busy right now. Try again later."
)  # for visitors: without numbers, names of headers or codes
logger = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True)
class Usage:
    """
    The use of a window: `limit` and `count` of requests, `reset` as the UTC epoch second of its end.

    `is_over`: the request just counted is over the limit. `organization`: the owner of the hour; None for others.
    `is_public`: for a page, which must not learn the owner's count.
    """

    limit: int
    count: int
    reset: int
    is_over: bool
    kind: str = "hour"  # or "burst", "address"
    organization: uuid.UUID | None = None
    is_public: bool = False

    @property
    def used(self) -> int:
        """Requests counted, at most the limit: those over it were refused."""
        return min(self.count, self.limit)

    @property
    def remaining(self) -> int:
        """Requests left; for a page of its share, rounded up to a tenth of the limit, to hide the owner's count."""
        if not self.is_public:
            return max(0, self.limit - self.count)
        most, step = share(self.limit, PAGES_PERCENT), -(-self.limit // 10)
        return min(most, -(-max(0, most - self.count) // step) * step)

    def headers(self) -> dict[str, str]:
        """Return the three `X-RateLimit-*` headers, each an integer."""
        return dict(zip(HEADERS, map(str, (self.limit, self.remaining, self.reset)), strict=True))

    def refusal(self) -> RateLimited:
        """Return the 429, with the seconds to wait."""
        wait = max(1, self.reset - int(time.time()))
        text = gettext("The limit of %(limit)s requests is used up. Try again in %(wait)s seconds.")
        message = text % {"limit": f"{self.limit:,}", "wait": wait}
        refusal = RateLimited(message, headers={"Retry-After": str(wait)})
        refusal.reason = self.kind
        return refusal


def share(limit: int, percent: int) -> int:
    """Return a percentage of a limit, rounded down."""
    return limit * percent // 100


def count_organization(organization: uuid.UUID, hourly_limit: int) -> Usage:
    """Count one request of an organization against its plan. All plans share one counter, which no change restarts."""
    reset = end_of_hour(organization)
    _, count = _take(organization, reset, 1, most=COUNTED_TO)
    return Usage(hourly_limit, count, reset, is_over=count > hourly_limit, organization=organization)


def reserve_for_pages(organization: uuid.UUID, hourly_limit: int, wanted: int = 1) -> tuple[int, Usage]:
    """
    Count up to `wanted` browser submissions, while nine tenths of the hour are not used up; return how many.

    The caller gives those back (`give_back`) that are not stored in the end.
    """
    reset = end_of_hour(organization)
    taken, count = _take(organization, reset, wanted, most=share(hourly_limit, PAGES_PERCENT))
    return taken, Usage(hourly_limit, count, reset, is_over=not taken, organization=organization)


def give_back(usage: Usage, number: int = 1) -> Usage:
    """Take requests back that were reserved in this hour; return its use afterwards."""
    if usage.organization is None:
        return usage
    _, count = _take(usage.organization, usage.reset, -number, most=COUNTED_TO)
    return dataclasses.replace(usage, count=count)


def peek_organization(organization: uuid.UUID, hourly_limit: int) -> Usage:
    """Return the use of an organization's hour without counting a request."""
    reset = end_of_hour(organization)
    _, count = _take(organization, reset, 0, most=COUNTED_TO)
    return Usage(hourly_limit, count, reset, is_over=False, organization=organization)


def end_of_hour(organization: uuid.UUID) -> int:
    """Return the epoch second at which the fixed hour ends, which begins at each organization's own second."""
    offset, now = zlib.crc32(str(organization).encode()) % HOUR, int(time.time())
    return now + HOUR - (now - offset) % HOUR


def _take(organization: uuid.UUID, reset: int, wanted: int, *, most: int) -> tuple[int, int]:
    """
    Return `(taken, count)` of an hour's counter: in Redis, or in a file where there is none.

    While either fails, this process counts by itself (docs/contract.md 2.8).
    """
    key, seconds = f"hour:{organization}:{reset}", max(1, reset - int(time.time())) + KEPT_LONGER
    counters = caches[settings.RATELIMIT_USE_CACHE]
    if hasattr(counters, "take"):  # that of Redis, without importing redis where there is none: 27 ms, 6 MB
        found: tuple[int, int] | None = counters.take(key, wanted, most=most, seconds=seconds)
        if found is not None:
            return found
    else:
        with contextlib.suppress(OSError):  # such as a full disk, which others report
            return _take_in_file(organization, reset, wanted, most)
    return _take_here(key, wanted, most, seconds)


_HOUR = struct.Struct("<QQ")  # its end, and the count
_counting = threading.Lock()


def _take_in_file(organization: uuid.UUID, reset: int, wanted: int, most: int) -> tuple[int, int]:
    """Count in a file of DATA_DIR, which web and deliverer share. Raises OSError."""
    file = os.open(hours_directory() / str(organization), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        stored = os.pread(file, _HOUR.size, 0)
        end, count = _HOUR.unpack(stored) if len(stored) == _HOUR.size else (0, 0)
        count = count if end == reset else 0
        taken = _room(count, wanted, most)
        if taken:
            os.pwrite(file, _HOUR.pack(reset, count + taken), 0)
        return taken, count + taken
    finally:
        os.close(file)


@cache
def hours_directory() -> Path:
    directory: Path = settings.DATA_DIR / "hours"
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return directory


def _take_here(key: str, wanted: int, most: int, seconds: int) -> tuple[int, int]:
    with _counting:
        count = int(caches["local"].get(key, 0))
        taken = _room(count, wanted, most)
        if taken:
            caches["local"].set(key, count + taken, seconds)
        return taken, count + taken


def _room(count: int, wanted: int, most: int) -> int:
    return max(-count, min(wanted, max(0, most - count)))


def count_address(request: HttpRequest) -> Usage:
    """Count one request without a valid key, or a refused browser submission, against the client's address."""
    return _count(request, "address", client_network(request), f"{ANONYMOUS_LIMIT}/h", kind="address")


def count_tests(organization: uuid.UUID) -> Usage:
    """Count one test submission of an organization, in its own hour."""
    return _count(HttpRequest(), "test-submissions", str(organization), f"{TEST_LIMIT}/h", kind="hour")


def count_burst(request: HttpRequest, group: str, value: str, rate: str) -> Usage:
    """Count one browser submission against a burst limit such as `10/m`."""
    return _count(request, group, value, rate, kind="burst")


def take_share(group: str, organization: object, rate: str) -> None:
    """Count one action of an organization against a rate such as `20/h`. Raises RateLimited over it."""
    usage = count_burst(HttpRequest(), group, str(organization), rate)  # the limiter reads nothing of the request
    if usage.is_over:
        raise usage.refusal()


def is_burst_used_up(request: HttpRequest, group: str, value: str, rate: str) -> bool:
    """Return whether the next browser submission would exceed a burst limit. Counts nothing."""
    usage = _count(request, group, value, rate, kind="burst", increment=False)
    return usage.count >= usage.limit


def refuse_bursts(request: HttpRequest, limits: Iterable[tuple[str, str, str]]) -> RateLimited | None:
    """Count one browser submission against each `(group, value, rate)`; return the 429 of the first one exceeded."""
    for group, value, rate in limits:
        usage = count_burst(request, group, value, rate)
        if usage.is_over:
            return usage.refusal()
    return None


def add_headers(response: HttpResponseBase, usage: Usage | None) -> None:
    if usage is not None:
        for name, value in usage.headers().items():
            response.headers[name] = value


def _count(request: HttpRequest, group: str, value: str, rate: str, *, kind: str, increment: bool = True) -> Usage:
    """Count a request against `rate`, or with `increment=False` only read the count."""
    # `key` must be a function; ours is known already.
    usage = get_usage(request, group=group, key=lambda _group, _request: value, rate=rate, increment=increment)
    now = int(time.time())
    if usage is None or usage["time_left"] < 0:
        # The counter vanished between two calls of the limiter, whose failures must not fail a request.
        return Usage(int(rate.partition("/")[0]), 0, now + HOUR, is_over=False, kind=kind)
    limit, reset = usage["limit"], now + usage["time_left"] + 1  # its last second is still in the window
    return Usage(limit, usage["count"], reset, is_over=usage["count"] > limit, kind=kind)


Report = Callable[[Usage, Sequence[int]], object]
_reports: list[Report] = []
_noted: dict[uuid.UUID, tuple[int, int, int]] = {}  # organization -> reset, limit, the highest mark reported
_pause = {"until": 0.0}  # epoch seconds


def on_marks(report: Report) -> None:
    """Call `report(usage, marks)` for the marks, in percent, that an organization's hour has newly reached."""
    _reports.append(report)


def note_marks(usage: Usage | None) -> None:
    """
    Report each mark once for each process and hour. For when the response is settled; never raises.

    Not only at the very number: the request that reached it may have been given back. After a failure no request tries
    for REPORT_AGAIN_SECONDS: each would wait for it and log it.
    """
    if usage is None or usage.organization is None or usage.count < share(usage.limit, MARKS[0]):
        return
    reset, limit, highest = _noted.get(usage.organization, (0, 0, 0))
    known = highest if (reset, limit) == (usage.reset, usage.limit) else 0
    new = [mark for mark in MARKS if mark > known and usage.count >= max(1, share(usage.limit, mark))]
    if not new or time.time() < _pause["until"]:
        return
    if len(_noted) >= MOST_NOTED:
        _noted.clear()
    _noted[usage.organization] = (usage.reset, usage.limit, new[-1])  # first, so that one request of many writes
    try:
        for report in _reports:
            report(usage, new)
    except Exception:  # a failure here must not change the response
        logger.exception("the marks %s of organization %s could not be noted", new, usage.organization)
        _noted.pop(usage.organization, None)
        _pause["until"] = time.time() + REPORT_AGAIN_SECONDS
