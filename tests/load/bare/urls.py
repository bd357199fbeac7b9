"""The view, at the address of the service's, and the health that a start waits for."""

import hashlib
import json
import os
from pathlib import Path

from django.db import connection
from django.http import HttpRequest, JsonResponse
from django.urls import path
from uuid_utils.compat import uuid7

from config.health import healthz, readyz
from tests.load.statements import STATEMENTS_VARIABLE, TABLE, Statements

_statements = Statements.read(Path(os.environ[STATEMENTS_VARIABLE]))
_LOOK_UP = _statements.look_up.replace("%", "%%").replace(f"'{_statements.digest}'", "%s")
_INSERT = (
    f"INSERT INTO {TABLE} ({', '.join(_statements.columns)}) VALUES ({', '.join(['%s'] * len(_statements.values))})"
)
_ID, _DATA = _statements.columns.index("id"), _statements.columns.index("data")


def submit(request: HttpRequest) -> JsonResponse:
    """Find the key and its form, store the values, answer 201: no limit, no checks, no search text, no hint."""
    values = json.loads(request.body)
    digest = hashlib.sha256(request.headers["x-access-key"].encode()).hexdigest()
    row = list(_statements.values)
    row[_ID], row[_DATA] = str(uuid7()), json.dumps(values)
    with connection.cursor() as cursor:
        cursor.execute(_LOOK_UP, [digest])
        if cursor.fetchone() is None:
            return JsonResponse({"success": False}, status=401)
        cursor.execute(_INSERT, row)
    answer = JsonResponse({"success": True, "data": {"id": row[_ID]}}, status=201)
    answer.headers["Content-Length"] = str(len(answer.content))  # otherwise it comes in chunks
    return answer


urlpatterns = [path("api/submit", submit), path("healthz", healthz), path("readyz", readyz)]
