"""`/healthz`: the process answers. `/readyz`: it can take submissions."""

from django.db import connection
from django.http import HttpRequest, JsonResponse


def healthz(_request: HttpRequest) -> JsonResponse:
    """Answer 200 as long as the process serves."""
    return JsonResponse({"status": "ok"})


def readyz(_request: HttpRequest) -> JsonResponse:
    """Answer 200 when the database does; UnavailableMiddleware makes 503 of its error. Redis is not needed for it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return JsonResponse({"status": "ready"})
