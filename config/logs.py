"""JSON logs with the request's id; never keys, secrets or submitted values (RELIABILITY, "logs")."""

from typing import Any

import structlog

SHARED_PROCESSORS: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.ExtraAdder(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def logging_config(*, level: str, human: bool) -> dict[str, Any]:
    """Return Django's `LOGGING`: one line of JSON an event, or a readable line for a person at a terminal."""
    if human:
        renderers: list[Any] = [
            # Plain: the default traceback shows local variables, and those hold keys and submitted values.
            structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
        ]
    else:
        renderers = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
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
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # Every 4xx would be a warning with a path; the refused are told by the answer itself.
            "django.request": {"level": "ERROR"},
            "django.server": {"level": "ERROR"},
        },
    }
