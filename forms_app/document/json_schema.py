"""
`/form.schema.json`: the JSON Schema of a form's document, for editors and checks of files (docs/contract.md 4.18).

It is the body of `PUT /api/forms/by-key/{key}` out of the OpenAPI document, whose schemas are of the same dialect.
"""

import json
from functools import cache

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from config.api.openapi.view import document

DIALECT = "https://json-schema.org/draft/2020-12/schema"
ROOT = "NewFormDocument"
COMPONENTS = "#/components/schemas/"


@require_safe
def form_schema(_request: HttpRequest) -> HttpResponse:
    return HttpResponse(written_schema(), content_type="application/schema+json")


@cache
def written_schema() -> bytes:
    """Return the schema with all that it refers to, built once in each process."""
    written = {name: json.dumps(schema) for name, schema in document()["components"]["schemas"].items()}
    found, new = {ROOT}, {ROOT}
    while new:
        new = {name for name in written if any(f'"{COMPONENTS}{name}"' in written[one] for one in new)} - found
        found |= new
    parts = {name: json.loads(written[name]) for name in sorted(found)}
    about = {"$schema": DIALECT, "$id": f"{settings.PUBLIC_URL}/form.schema.json", "title": "FormDocument"}
    whole = {**about, **parts.pop(ROOT), "$defs": parts}
    return json.dumps(whole).replace(COMPONENTS, "#/$defs/").encode()
