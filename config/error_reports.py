"""Error reports to Sentry, if SENTRY_DSN is set and sentry-sdk is installed."""

import re
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from config.logs import without_detail

# A list of harmless headers, not of secret ones: a proxy adds headers that nobody here has thought of.
HARMLESS_HEADERS = {"accept", "content-length", "content-type", "host", "x-request-id"}
LEFT_OUT = "[left out]"
# Access keys, signing secrets of webhooks, and the tokens of links (invitations, password resets, live streams).
_SECRET = re.compile(r"\b[a-z0-9]+_(?:pub_)?[0-9A-Za-z]{46}\b|whsec_[\w+/=-]+|(?<![\w-])[\w-]{32,}(?![\w-])")
_PUBLIC_ID = re.compile(r"[a-z]+_[0-9a-z]{26}")


def start_error_reports(dsn: str) -> None:
    """
    Start Sentry's client without secrets and submitted values, see `harmless`.

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
        max_breadcrumbs=0,  # they quote queries, log lines and the URLs of receivers
        before_send=harmless,
    )


def harmless(event: dict[str, Any], hint: dict[str, Any]) -> dict[str, Any] | None:
    """
    Return the report without keys, cookies, addresses, queries, bodies and rows of the database.

    Of the request remain method, path and HARMLESS_HEADERS. None for errors of an unavailable database, which
    config.outage reports once for all requests.
    """
    from config.base.database import is_away  # reads settings, which import this module

    if "exc_info" in hint and is_away(hint["exc_info"][1]):
        return None
    for name in ("user", "breadcrumbs", "extra"):
        event.pop(name, None)
    if "request" in event:
        event["request"] = _harmless_request(event["request"])
    for exception in event.get("exception", {}).get("values", []):
        exception["value"] = without_secrets(without_detail(str(exception.get("value", ""))))
    if "logentry" in event:
        shown = event["logentry"].get("formatted") or event["logentry"].get("message") or ""
        event["logentry"] = {"message": without_secrets(without_detail(str(shown)))}
    return event


def _harmless_request(request: dict[str, Any]) -> dict[str, Any]:
    parts = urlsplit(str(request.get("url", "")))
    headers = {
        name: value for name, value in dict(request.get("headers") or {}).items() if name.lower() in HARMLESS_HEADERS
    }
    url = f"{parts.scheme}://{parts.netloc}{without_secrets(parts.path)}"
    return {"method": request.get("method"), "url": url, "headers": headers}


def without_secrets(text: str) -> str:
    """Return a text without anything that has the format of a key or a token. Public ids stay."""
    return _SECRET.sub(lambda found: found[0] if _PUBLIC_ID.fullmatch(found[0]) else LEFT_OUT, text)
