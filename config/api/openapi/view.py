"""`GET /api/schema`: the OpenAPI document as JSON or YAML, for everyone."""

import json
from functools import cache
from typing import Any

from django.http import HttpResponse
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiYamlRenderer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.views import APIView

from config.api.serializers import QuerySerializer, validate_query

FORMATS = ("json", "yaml")
# Media types that may be asked for, and the format of each; the first two are those of `?format=`. YAML's own is
# RFC 9512's, its older names are answered as such.
JSON_TYPES = ("application/vnd.oai.openapi+json", "application/json")
YAML_TYPES = ("application/yaml", "application/vnd.oai.openapi", "application/x-yaml", "text/yaml", "text/x-yaml")


class DocumentQuery(QuerySerializer):
    """`format`, which wins over `Accept`."""

    format = serializers.ChoiceField(FORMATS, required=False)


class OpenApiDocument(APIView):
    """The document. Whatever `Accept` says, it is answered: as JSON if the header names neither JSON nor YAML."""

    http_method_names = ["get", "head"]
    authentication_classes = []
    permission_classes = []
    schema = None

    def get(self, request: Request) -> HttpResponse:
        chosen = validate_query(DocumentQuery, request.query_params).get("format")
        offered = {None: JSON_TYPES + YAML_TYPES, "json": JSON_TYPES, "yaml": YAML_TYPES}[chosen]
        media_type = request._request.get_preferred_type(list(offered)) or offered[0]
        content = rendered("yaml" if media_type in YAML_TYPES else "json")
        return HttpResponse(content, content_type=media_type, headers={"Vary": "Accept"})


@cache
def rendered(name: str) -> bytes:
    """Return the document in a format. It is built once in each process, which takes half a second."""
    if name == "json":
        return json.dumps(document(), ensure_ascii=False, default=str).encode()
    written: bytes = OpenApiYamlRenderer().render(document())
    return written


@cache
def document() -> dict[str, Any]:
    """Return the document, built once in each process. Do not change it."""
    built: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return built
