"""
The OpenAPI schema: envelopes, errors and headers told once for every operation.

drf-spectacular reads the viewsets; what they share (CONTRACT section 1) is added here.
"""

from functools import cache
from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import inline_serializer
from rest_framework import serializers

ERRORS = {
    "400": "A parameter, a field or the body is invalid; `details` says which.",
    "401": "Invalid or missing access key.",
    "403": "The key may not do this, or the object belongs to another organization.",
    "404": "No such object.",
    "409": "The object is in a state that does not allow this.",
    "413": "The body is larger than 256 KiB.",
    "415": "The body is not JSON.",
    "429": "The hourly limit is used up; Retry-After says for how many seconds.",
    "500": "A bug; the message carries the request id.",
    "503": "The database is away or busy; try again after Retry-After seconds.",
}
RATE_HEADERS = {
    "X-RateLimit-Limit": "Requests allowed in this window.",
    "X-RateLimit-Remaining": "Requests left in this window.",
    "X-RateLimit-Reset": "UTC epoch second at which the window ends.",
}


@cache
def enveloped(serializer: type[serializers.BaseSerializer[Any]], *, many: bool = False) -> Any:
    """Return the schema of the success envelope around a record (SPEC section 2)."""
    name = serializer.__name__
    fields = {
        "success": serializers.BooleanField(),
        "data": serializer(many=many),
        "message": serializers.CharField(min_length=1),
    }
    return inline_serializer(name=f"{name}{'List' if many else ''}Answer", fields=fields)


class DeletedRecord(serializers.Serializer[Any]):
    """What every delete answers."""

    id = serializers.CharField()
    deleted = serializers.BooleanField()


class EnvelopeAutoSchema(AutoSchema):
    """Wraps what a viewset declares: single records into the envelope, deletes into `{id, deleted}`."""

    def get_response_serializers(self) -> Any:
        """Return the success answers of an operation."""
        action = getattr(self.view, "action", None)
        if action == "destroy":
            return enveloped(DeletedRecord)
        declared = super().get_response_serializers()
        if action == "retrieve" and isinstance(declared, serializers.BaseSerializer):
            return enveloped(type(declared))
        return declared

    def get_operation_id(self) -> str:
        """Return a short name such as `forms_publish`."""
        parts = [part for part in self.path.strip("/").split("/") if not part.startswith("{")][1:]
        action = getattr(self.view, "action", None) or self.method.lower()
        return "_".join([*parts, action]) if action not in parts else "_".join(parts)


def only_documented_paths(endpoints: list[tuple[str, str, str, Any]], **kwargs: Any) -> list[tuple[str, str, str, Any]]:
    """Keep the API's own paths: not the schema, its page, or the pages of the dashboard."""
    return [e for e in endpoints if e[0].startswith("/api/") and e[0] not in ("/api/schema", "/api/docs")]


def finish_schema(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Add the error answers and the headers that every operation has."""
    result["components"]["schemas"]["Error"] = _error_schema()
    for item in result["paths"].values():
        for method, operation in item.items():
            if method in ("get", "post", "patch", "delete"):
                _finish_operation(operation)
    return result


def _finish_operation(operation: dict[str, Any]) -> None:
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    for status, description in ERRORS.items():
        operation["responses"].setdefault(status, {"description": description, "content": content})
    for response in operation["responses"].values():
        headers = response.setdefault("headers", {})
        for name, description in RATE_HEADERS.items():
            headers[name] = {"description": description, "schema": {"type": "integer"}}
        headers["X-Request-Id"] = {"description": "Names this request in our logs.", "schema": {"type": "string"}}
    if "requestBody" in operation:
        operation["requestBody"]["content"] = {
            kind: value for kind, value in operation["requestBody"]["content"].items() if kind == "application/json"
        }


def _error_schema() -> dict[str, Any]:
    text = {"type": "string", "minLength": 1}
    detail = {
        "type": "object",
        "properties": {"field": {"type": "string"}, "code": text, "message": text},
        "required": ["field", "code", "message"],
    }
    return {
        "type": "object",
        "properties": {
            "success": {"type": "boolean", "const": False},
            "error": text,
            "message": text,
            "details": {"type": "array", "items": detail},
        },
        "required": ["success", "error", "message"],
        "additionalProperties": False,
    }
