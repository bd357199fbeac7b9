"""Health checks. `/healthz`: the process responds. `/readyz`: it can store submissions."""

from functools import cache

from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, JsonResponse

_seen_complete = False  # once every migration is applied, a probe is one SELECT


def healthz(_request: HttpRequest) -> JsonResponse:
    """Return 200 while the process is running."""
    return JsonResponse({"status": "ok"})


def readyz(_request: HttpRequest) -> JsonResponse:
    """
    Return 200 if the database responds and has every migration, else 503. Redis is not needed.

    An unavailable database is UnavailableMiddleware's.
    """
    missing = missing_migrations()
    if missing:
        plural = "migrations are" if missing > 1 else "migration is"
        message = f"{missing} {plural} not applied. Run `manage.py migrate`."
        return JsonResponse(
            {"status": "migrations_missing", "message": message}, status=503, headers={"Retry-After": 2}
        )
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return JsonResponse({"status": "ready"})


def missing_migrations() -> int:
    """Return how many migrations this code has and the database has not. Asks only until there are none."""
    global _seen_complete
    if _seen_complete:
        return 0
    missing = _migrations_on_disk() - set(MigrationRecorder(connection).applied_migrations())
    _seen_complete = not missing
    return len(missing)


@cache
def _migrations_on_disk() -> frozenset[tuple[str, str]]:
    """Return `(app, name)` of every migration of this code."""
    return frozenset(MigrationLoader(None).disk_migrations)
