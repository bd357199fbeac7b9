"""
Hourly limits and burst limits, counted by django-ratelimit and shown in headers of every response.

Source: docs/contract.md 2.
"""

import dataclasses
import time
from collections.abc import Iterable

from django.http import HttpRequest, HttpResponseBase
from django_ratelimit.core import get_usage

from config.api.errors import RateLimited
from config.client_address import client_network

HOUR = 3600  # seconds
COUNTED_TO = 2**31  # no plan allows more
ANONYMOUS_LIMIT = 100  # requests an hour per address without a valid key, as in the Free plan
HEADERS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")


@dataclasses.dataclass(frozen=True, slots=True)
class Usage:
    """
    The use of a window: `limit` and `count` of requests, `reset` as the UTC epoch second of its end.

    `is_over`: the request just counted is over the limit.
    """

    limit: int
    count: int
    reset: int
    is_over: bool
    kind: str = "hour"  # or "burst"

    def headers(self) -> dict[str, str]:
        """Return the three `X-RateLimit-*` headers, each an integer."""
        return dict(zip(HEADERS, map(str, (self.limit, max(0, self.limit - self.count), self.reset)), strict=True))

    def refusal(self) -> RateLimited:
        """Return the 429, with the seconds to wait."""
        wait = max(1, self.reset - int(time.time()))
        message = f"The limit of {self.limit:,} requests is used up. Try again in {wait} seconds."
        refusal = RateLimited(message, headers={"Retry-After": str(wait)})
        refusal.reason = self.kind
        return refusal


def count_organization(request: HttpRequest, organization: str, hourly_limit: int) -> Usage:
    """
    Count one request of an organization against its plan.

    The rate is part of the counter's name, so all plans share one: a change of plan does not restart the hour.
    """
    return _count(request, "organization", organization, f"{COUNTED_TO}/h", limit=hourly_limit)


def peek_organization(request: HttpRequest, organization: str, hourly_limit: int) -> Usage:
    """Return the use of an organization's hour without counting a request."""
    return _count(request, "organization", organization, f"{COUNTED_TO}/h", limit=hourly_limit, increment=False)


def count_address(request: HttpRequest) -> Usage:
    """Count one request without a valid key, or a refused browser submission, against the client's address."""
    return _count(request, "address", client_network(request), f"{ANONYMOUS_LIMIT}/h")


def count_burst(request: HttpRequest, group: str, value: str, rate: str) -> Usage:
    """Count one browser submission against a burst limit such as `10/m`."""
    return _count(request, group, value, rate, kind="burst")


def refuse_bursts(request: HttpRequest, limits: Iterable[tuple[str, str, str]]) -> RateLimited | None:
    """Count one browser submission against each `(group, value, rate)`; return the 429 of the first one exceeded."""
    for group, value, rate in limits:
        usage = count_burst(request, group, value, rate)
        if usage.is_over:
            return usage.refusal()
    return None


def add_headers(response: HttpResponseBase, usage: Usage | None) -> None:
    """Add the headers of the limit to a response."""
    if usage is not None:
        for name, value in usage.headers().items():
            response.headers[name] = value


def _count(
    request: HttpRequest,
    group: str,
    value: str,
    rate: str,
    *,
    limit: int | None = None,
    kind: str = "hour",
    increment: bool = True,
) -> Usage:
    """Count a request against `rate`, and compare with `limit` if that is another number."""
    # `key` must be a function; ours is known already.
    usage = get_usage(request, group=group, key=lambda _group, _request: value, rate=rate, increment=increment)
    now = int(time.time())
    if usage is None or usage["time_left"] < 0:
        # The counter vanished between two calls of the limiter, whose failures must not fail a request.
        return Usage(limit or int(rate.partition("/")[0]), 0, now + HOUR, is_over=False, kind=kind)
    limit = usage["limit"] if limit is None else limit
    return Usage(limit, usage["count"], now + usage["time_left"], is_over=usage["count"] > limit, kind=kind)
