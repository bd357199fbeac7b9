"""JSON logs with the request id; never access keys, secrets or submitted values."""

import logging
import re
from collections.abc import MutableMapping
from typing import Any

import structlog

SHARED_PROCESSORS: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.ExtraAdder(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


_DETAIL = re.compile(r"DETAIL:.*?(?=\n(?:CONTEXT:|HINT:)|\n\n(?:The above|During handling)|\Z)", re.DOTALL)


def without_detail(text: str) -> str:
    """Return a text without PostgreSQL's DETAIL, which quotes the failing row and so submitted values."""
    return _DETAIL.sub("DETAIL: (left out)", text)


def leave_out_rows(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Structlog processor: apply `without_detail` to tracebacks."""
    if "exception" in event:
        event["exception"] = without_detail(event["exception"])
    return event


def as_a_line(record: logging.LogRecord) -> bool:
    """Filter of loggers: make an error that a stranger's request causes a warning without its traceback."""
    record.levelno, record.levelname, record.exc_info = logging.WARNING, "WARNING", None
    return True


def logging_config(*, level: str, human: bool) -> dict[str, Any]:
    """Return Django's `LOGGING`: one line of JSON per event, or a readable line if `human`."""
    if human:
        # ConsoleRenderer's own tracebacks show local variables, which hold keys and submitted values.
        renderer: Any = structlog.dev.ConsoleRenderer(colors=False)
    else:
        renderer = structlog.processors.JSONRenderer()
    renderers = [structlog.processors.format_exc_info, leave_out_rows, renderer]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": "structlog.stdlib.ProcessorFormatter",
                "foreign_pre_chain": SHARED_PROCESSORS,
                "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderers],
            }
        },
        "filters": {"as_a_line": {"()": "django.utils.log.CallbackFilter", "callback": as_a_line}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # Django logs every 4xx as a warning with its path; the client knows it from the response.
            "django.request": {"level": "ERROR"},
            "django.server": {"level": "ERROR"},
            # A scanner's Host is no error of ours, and its traceback is always the same.
            "django.security.DisallowedHost": {"filters": ["as_a_line"]},
            # Warns of each malformed body; the sender knows it from the response.
            "python_multipart": {"level": "ERROR"},
            # Quotes the URL of a receiver with malformed headers, and such a URL can contain a customer's token.
            "urllib3": {"level": "ERROR"},
            # Has its own handler, and warns of each malformed request.
            "gunicorn.error": {"level": "ERROR", "handlers": [], "propagate": True},
        },
    }
