"""Marks on views: what is expensive, and what a page asks for again and again while somebody types."""

from collections.abc import Callable
from typing import Any, TypeVar

from django.http import HttpRequest

V = TypeVar("V", bound=Callable[..., Any])
When = Callable[[HttpRequest], bool]


def always(_request: HttpRequest) -> bool:
    return True


def searches(request: HttpRequest) -> bool:
    """Return whether a request has a text to search for."""
    return bool(request.GET.get("q") or request.POST.get("q"))


def by_script(request: HttpRequest) -> bool:
    """Return whether a script of the page has sent the request."""
    return bool(request.htmx)  # type: ignore[attr-defined]  # set by HtmxMiddleware


def is_typed_search(request: HttpRequest) -> bool:
    """Return whether a script searches while somebody types: the list's, or the palette's, which asks for a `part`."""
    return searches(request) and (by_script(request) or "part" in request.GET)


def expensive(when: When = always) -> Callable[[V], V]:
    """Decorate a view of which those requests are expensive that `when` picks."""
    return _marking("expensive_when", when)


def while_typing(kind: str, when: When = by_script) -> Callable[[V], V]:
    """Decorate a view of which those requests belong to a preview or a search that `when` picks."""
    return _marking("typed", (kind, when))


def _marking(name: str, value: object) -> Callable[[V], V]:
    def mark(view: V) -> V:
        setattr(view, name, value)  # decorators around it have the mark too: functools.wraps copies it
        return view

    return mark


def is_expensive(request: HttpRequest, view: Callable[..., Any]) -> bool:
    return hasattr(view, "expensive_when") and view.expensive_when(request)


def typed_kind(request: HttpRequest, view: Callable[..., Any]) -> str:
    """Return the kind of a request that is made while somebody types, else an empty string."""
    kind, when = getattr(view, "typed", ("", always))
    return kind if when(request) else ""
