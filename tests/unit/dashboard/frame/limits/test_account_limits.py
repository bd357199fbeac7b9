"""The limits of an account a minute: their windows, a limiter that fails, and the views that they count."""

import datetime as dt
from types import SimpleNamespace
from typing import Any

import pytest
import time_machine
from django.http import HttpResponse
from django.test import RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver
from django_htmx.middleware import HtmxDetails

from config.api import ratelimit
from dashboard.frame.limits.costs import expensive
from dashboard.frame.limits.middleware import AccountLimits

NOON = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
limits = AccountLimits(lambda request: HttpResponse())


def view(_request: Any) -> HttpResponse:
    return HttpResponse()


def sent(account: str, method: str = "POST", of: Any = view) -> HttpResponse | None:
    request: Any = RequestFactory().generic(method, "/dashboard/o/test/forms")
    request.user = SimpleNamespace(pk=account, is_authenticated=True)
    request.htmx = HtmxDetails(request)
    return limits.process_view(request, of, (), {})


def test_limit__at_the_turn_of_its_minute__is_over_after_the_seconds_that_it_said() -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        for _ in range(3):
            answers = [sent("turn") for _ in range(121)]
            assert answers[:120] == [None] * 120
            assert answers[120] is not None
            assert answers[120].status_code == 429
            wait = int(answers[120].headers["Retry-After"])
            assert 1 <= wait <= 60
            clock.shift(wait - 1)
            assert sent("turn") is not None
            clock.shift(1)


def test_limit__of_expensive_requests__counts_them_by_any_method_apart_from_others() -> None:
    costly = expensive()(lambda request: HttpResponse())
    with time_machine.travel(NOON, tick=False):
        answers = [sent("costly", method, costly) for method in ("GET", "POST", "HEAD", "GET") * 5]
        assert answers == [None] * 20
        assert [sent("costly", method, costly) is None for method in ("GET", "POST", "HEAD")] == [False] * 3
        assert sent("costly") is None
        assert sent("somebody else", "GET", costly) is None


@pytest.mark.parametrize("found", [None, {"limit": 0, "count": 0, "time_left": -1, "should_limit": True}])
def test_limiter__that_has_lost_its_count__refuses_nothing(monkeypatch: pytest.MonkeyPatch, found: Any) -> None:
    monkeypatch.setattr(ratelimit, "get_usage", lambda *_args, **_kwargs: found)
    assert [sent("lost") for _ in range(200)] == [None] * 200


def marked(patterns: list[URLPattern | URLResolver], mark: str) -> set[str]:
    found: set[str] = set()
    for one in patterns:
        if isinstance(one, URLResolver):
            found |= marked(one.url_patterns, mark)
        elif hasattr(one.callback, mark):
            found.add(str(one.name))
    return found


def test_marks__of_views__are_on_these_and_pass_their_decorators() -> None:
    patterns = get_resolver("dashboard.urls").url_patterns
    assert marked(patterns, "expensive_when") == {
        *("submissions", "find", "submissions-act", "exports", "exports-run", "exports-files", "audit-export"),
        *("form-import", "form-import-file", "form-import-next", "form-import-refused"),
        *("destination-test", "form-test", "form-test-reply", "form-test-mail"),
    }
    assert marked(patterns, "typed") == {
        *("submissions", "find", "form-preview", "form-page-preview", "destination-new-kind", "destination-edit"),
    }
