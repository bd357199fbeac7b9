"""Health checks. `/healthz`: the process responds. `/readyz`: it can store submissions."""

from django.db import connection
from django.http import HttpRequest, JsonResponse


def healthz(_request: HttpRequest) -> JsonResponse:
    """Return 200 while the process is running."""
    return JsonResponse({"status": "ok"})


def readyz(_request: HttpRequest) -> JsonResponse:
    """Return 200 if the database responds, else 503 (by UnavailableMiddleware). Redis is not needed."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return JsonResponse({"status": "ready"})
