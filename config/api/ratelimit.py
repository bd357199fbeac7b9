"""
Hourly limits and bursts, counted by django-ratelimit, told in headers on every answer.

Source: SPEC section 8, CONTRACT section 2.
"""

import dataclasses
import time
from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase
from django_ratelimit.core import get_usage

from config.api.errors import RateLimited
from config.client_address import client_network

HOUR = 3600  # seconds
COUNTED_TO = 2**31  # more than any plan allows
ANONYMOUS_LIMIT = 100  # requests an hour for one address without a valid key: the Free plan's
HEADERS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")


@dataclasses.dataclass(frozen=True, slots=True)
class Usage:
    """What a window has seen: `limit` requests, `count` so far, `reset` as the UTC epoch second of its end."""

    limit: int
    count: int
    reset: int
    kind: str = "hour"  # or "burst"

    @property
    def is_over(self) -> bool:
        """Tell whether the request just counted is one too many."""
        return self.count > self.limit

    def headers(self) -> dict[str, str]:
        """Return the three `X-RateLimit-*` headers, each an integer."""
        return dict(zip(HEADERS, map(str, (self.limit, max(0, self.limit - self.count), self.reset)), strict=True))

    def refusal(self) -> RateLimited:
        """Return the 429 that says when to come back."""
        wait = max(1, self.reset - int(time.time()))
        message = f"The limit of {self.limit:,} requests is used up. Try again in {wait} seconds."
        refusal = RateLimited(message, headers={"Retry-After": str(wait)})
        refusal.reason = self.kind
        return refusal


def count_organization(request: HttpRequest, organization: str, hourly_limit: int) -> Usage:
    """
    Count one request of an organization against its plan.

    The counter's name holds its rate, so one name for every plan: a changed plan does not begin the hour anew.
    """
    counted = _count(request, "organization", organization, f"{COUNTED_TO}/h")
    return dataclasses.replace(counted, limit=hourly_limit)


def peek_organization(request: HttpRequest, organization: str, hourly_limit: int) -> Usage:
    """Return an organization's use of its hour without counting anything."""
    seen = _count(request, "organization", organization, f"{COUNTED_TO}/h", increment=False)
    return dataclasses.replace(seen, limit=hourly_limit)


def count_address(request: HttpRequest) -> Usage:
    """Count one request without a valid key, or a refused browser submission, against the client's address."""
    return _count(request, "address", client_network(request), f"{ANONYMOUS_LIMIT}/h")


def count_burst(request: HttpRequest, group: str, value: str, rate: str) -> Usage:
    """Count one browser submission against a burst rate such as `10/m`."""
    return dataclasses.replace(_count(request, group, value, rate), kind="burst")


def add_headers(response: HttpResponseBase, usage: Usage | None) -> None:
    """Write the limit's headers into an answer."""
    if usage is not None:
        for name, value in usage.headers().items():
            response.headers[name] = value


def _count(request: HttpRequest, group: str, value: str, rate: str, *, increment: bool = True) -> Usage:
    usage = get_usage(request, group=group, key=_constant(value), rate=rate, increment=increment)
    now = int(time.time())
    if usage is None or usage["time_left"] < 0:
        # The counter vanished between two calls: a failure of the limiter, which never fails a request.
        limit = int(rate.partition("/")[0])
        return Usage(limit, 0, now + HOUR)
    return Usage(usage["limit"], usage["count"], now + usage["time_left"])


def _constant(value: str) -> Callable[[str, HttpRequest], str]:
    return lambda _group, _request: value
