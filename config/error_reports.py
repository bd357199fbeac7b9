"""Error reports to Sentry, for those who set SENTRY_DSN and install sentry-sdk."""

from importlib import import_module
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from config.logs import without_detail


def start_error_reports(dsn: str) -> None:
    """
    Start Sentry's client without what people have submitted: no bodies, no local variables, no addresses.

    Raises ImproperlyConfigured when the package is missing.
    """
    try:
        sentry = import_module("sentry_sdk")
    except ImportError:
        hint = "Install it with `pip install 'sentry-sdk>=2.30'`, or leave SENTRY_DSN empty."
        raise ImproperlyConfigured(f"SENTRY_DSN is set, but sentry-sdk is not installed. {hint}") from None
    sentry.init(
        dsn=dsn,
        send_default_pii=False,
        include_local_variables=False,
        max_request_body_size="never",
        before_send=without_rows,
    )


def without_rows(event: dict[str, Any], _hint: object) -> dict[str, Any]:
    """Take PostgreSQL's DETAIL, which quotes the failing row, out of every exception of a report."""
    for exception in event.get("exception", {}).get("values", []):
        exception["value"] = without_detail(str(exception.get("value", "")))
    return event
