"""The request that this thread is answering, for records of who did something and from where (docs/adr/0042)."""

from contextvars import ContextVar

from django.http import HttpRequest

CURRENT: ContextVar[HttpRequest | None] = ContextVar("current_request", default=None)  # FieldpostMiddleware sets it


def current_request() -> HttpRequest | None:
    """Return the request, or None in a command, a worker or a test."""
    return CURRENT.get()
