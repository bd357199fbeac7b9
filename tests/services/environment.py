"""
The environment of a suite: of pytest's own process and of every process of the service under test.

`tests.run` makes it for each suite. A call of pytest by hand gets it from `tests.settings`, before Django reads it.
"""

import atexit
import os
import secrets
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.services.processes import free_port

BACKEND_VARIABLE = "FIELDPOST_TEST_BACKEND"
READY_VARIABLE = "FIELDPOST_TEST_READY"  # set where the environment is already one of tests
MIGRATED_VARIABLE = "FIELDPOST_TEST_MIGRATED"  # the directory of a run's migrated SQLite database
TEMPLATE_VARIABLE = "FIELDPOST_TEST_TEMPLATE"  # the name of its migrated PostgreSQL database
EXAMPLES_VARIABLE = "FIELDPOST_TEST_EXAMPLES"  # that the outbox's model tries, instead of 40
SQLITE, POSTGRESQL = "sqlite", "postgresql"
FILE_NAME = "fieldpost.sqlite3"  # in DATA_DIR
# Instead of the service's own: tests wait less, and idle processes take less. Benchmarks leave them out.
PAUSES = {
    "DELIVERY_SWEEP_SECONDS": "1",
    "JOBS_POLL_SECONDS": "1",
    "DELIVERY_POLL_SECONDS": "0.5",
}

# Settings of a developer's shell, which must not reach a test (docs/contract.md 8.4).
OUR_NAMES = {
    *(
        "DEBUG",
        "DEMO",
        "ALLOWED_HOSTS",
        "PUBLIC_URL",
        "PORT",
        "WEB_CONCURRENCY",
        "TRUSTED_PROXY_COUNT",
        "TRUSTED_PROXIES",
    ),
    *("DATA_DIR", "LOG_LEVEL", "SENTRY_DSN", "ACCESS_KEY_PREFIX", "CONN_MAX_AGE", "DEFAULT_FROM_EMAIL"),
    *("DJANGO_SETTINGS_MODULE", "FIELDPOST_ROLE"),
    *("PAGES_URL", "SECURITY_CONTACT", "SIGN_UP", "DEFAULT_PLAN", "ORGANIZATIONS"),
    "PYTHONDONTWRITEBYTECODE",  # each of some two hundred processes would compile our modules again
}
OUR_PREFIXES = (
    *("BURST_", "DATABASE_", "DELIVERY_", "EMAIL_", "EVENTS_", "HCAPTCHA_", "OIDC_", "PROOF_OF_WORK_", "REDIS_"),
    "TURNSTILE_",
    *(
        "SECRET_",
        "ENCRYPTION_",
        "BODY_",
        "CLAMD_",
        "EXPORTS_",
        "FILES_",
        "HEAD_",
        "HELD_",
        "OIDC_",
        "READER_",
        "REMOTE_",
        "SCAN_",
        "WEBHOOK_",
        "WEB_MAX_",
    ),
)


def service_environment(
    *,
    data_dir: Path,
    backend: str = SQLITE,
    database_url: str = "",
    redis_url: str = "",
    email_url: str = "consolemail://",
    web_concurrency: int = 1,
    extra: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """
    Return a complete environment on free ports; without `database_url` the database is SQLite in `data_dir`.
    `backend` says which roles a service gets: Celery's on `postgresql`.

    Receivers of tests are on loopback, so webhooks may go there, over http; pauses are those of tests.
    """
    port, events_port = free_port(), free_port()
    settings = {
        READY_VARIABLE: "1",
        BACKEND_VARIABLE: backend,
        "DATA_DIR": str(data_dir),
        "SECRET_KEY": secrets.token_urlsafe(50),
        "PORT": str(port),
        "EVENTS_PORT": str(events_port),
        "EVENTS_URL": f"http://127.0.0.1:{events_port}",
        "PUBLIC_URL": f"http://127.0.0.1:{port}",
        "WEB_CONCURRENCY": str(web_concurrency),
        "EMAIL_URL": email_url,
        "DEFAULT_FROM_EMAIL": "Fieldpost <fieldpost@fieldpost.example>",
        "WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
        "WEBHOOK_ALLOW_HTTP": "1",
        **PAUSES,
        "SIGN_UP": "open",
        "DEFAULT_PLAN": "free",
        "PROOF_OF_WORK_HASHES": "2000",  # the default takes two seconds of Python each time
    }
    settings["DATABASE_URL"] = database_url or sqlite_url(data_dir)
    if redis_url:
        settings["REDIS_URL"] = redis_url
    return for_tests(os.environ) | settings | dict(extra or {})


def sqlite_url(data_dir: Path) -> str:
    """Return the URL of the database in a directory."""
    return f"sqlite:///{data_dir / FILE_NAME}"


def for_tests(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without a developer's settings."""
    return {
        name: value
        for name, value in environment.items()
        if name not in OUR_NAMES and not name.startswith(OUR_PREFIXES)
    }


def prepare_environment() -> None:
    """Make this process's environment one of tests, for a call of pytest by hand; keep one that is already."""
    if os.environ.get(READY_VARIABLE):
        return  # tests.run did, or the pytest process that started this xdist worker
    database_url, redis_url = "", ""
    backend = os.environ.get(BACKEND_VARIABLE) or SQLITE
    if backend not in (SQLITE, POSTGRESQL):
        raise SystemExit(f"{BACKEND_VARIABLE} is {backend!r}: say {SQLITE} or {POSTGRESQL}, or nothing for SQLite.")
    if backend == POSTGRESQL:
        try:
            database_url, redis_url = os.environ["DATABASE_URL"], os.environ["REDIS_URL"]
        except KeyError as error:
            raise SystemExit(
                f"{error.args[0]} is not set: say which PostgreSQL and Redis the tests may use, "
                "or let `python -m tests.run --only api-postgresql` start its own."
            ) from None
    data_dir = Path(tempfile.mkdtemp(prefix="fieldpost-data-"))
    atexit.register(shutil.rmtree, data_dir, ignore_errors=True)
    environment = service_environment(
        data_dir=data_dir, backend=backend, database_url=database_url, redis_url=redis_url
    )
    os.environ.clear()
    os.environ.update(environment)
