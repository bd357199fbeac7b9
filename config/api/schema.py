"""
The OpenAPI schema: drf-spectacular reads the viewsets; this adds what they share (docs/contract.md 1).

A test with schemathesis checks the running service against the whole schema.
"""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, TypeVar

from drf_spectacular.extensions import OpenApiSerializerExtension, OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, inline_serializer
from rest_framework import serializers

from config.api.parsing import MAX_IDEMPOTENCY_KEY
from config.ids import SUFFIX_LENGTH, Prefix

Schema = dict[str, Any]
S = TypeVar("S", bound=type[serializers.BaseSerializer[Any]])

ERRORS = {
    "400": "A parameter, a field or the body is invalid; `details` says which.",
    "401": "Invalid or missing access key.",
    "403": "The key may not do this, or the object belongs to another organization.",
    "404": "No such object.",
    "405": "The path does not support this method; Allow lists the supported ones.",
    "409": "The state of the object does not allow this.",
    "413": "The body is larger than 256 KiB.",
    "415": "The body is not JSON.",
    "429": "The hourly limit is used up; Retry-After has the seconds to wait.",
    "500": "A bug; the message has the request id.",
    "503": "The database is unavailable or busy; try again after Retry-After seconds.",
}
WRITING_ERRORS = ("409", "413", "415")  # never for a GET


def _header(description: str, **schema: Any) -> Schema:
    return {"description": description, "required": True, "schema": schema}


HEADERS = {
    "X-RateLimit-Limit": _header("Requests allowed in this window.", type="integer", minimum=1),
    "X-RateLimit-Remaining": _header("Requests left in this window.", type="integer", minimum=0),
    "X-RateLimit-Reset": _header("UTC epoch second at which the window ends.", type="integer", minimum=0),
    "Cache-Control": _header("No cache keeps the answer.", type="string", const="no-store"),
    "ETag": _header("Changes whenever the answer does; for If-None-Match.", type="string", minLength=1),
    "Location": _header("The path of the new object.", type="string", pattern="^/api/"),
    "X-Request-Id": _header("Identifies this request in the logs.", type="string", minLength=1),
    "Retry-After": _header("Seconds to wait.", type="integer", minimum=1),
    "Allow": _header("The methods that the path supports.", type="string", minLength=1),
    "WWW-Authenticate": _header("Names the scheme.", type="string", minLength=1),
    "X-Required-Permission": {
        "description": "The permission that the key lacks, if that is why.",
        "schema": {"type": "string", "minLength": 1},
    },
}
EVERYWHERE = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-Request-Id", "Cache-Control")
ONLY_IF_CHANGED = {
    "name": "If-None-Match",
    "in": "header",
    "description": "The ETag of the answer that the client has.",
    "schema": {"type": "string"},
}
ALSO = {
    "401": ["WWW-Authenticate"],
    "403": ["X-Required-Permission"],
    "405": ["Allow"],
    "429": ["Retry-After"],
    "503": ["Retry-After"],
}
OPTIONAL_BODIES = ("webhooks_replay",)
PATH_PREFIXES = {
    "forms": Prefix.FORM,
    "submissions": Prefix.SUBMISSION,
    "keys": Prefix.ACCESS_KEY,
    "webhooks": Prefix.WEBHOOK,
    "deliveries": Prefix.DELIVERY,
}
NOT_BLANK = r"[^\s\u0000\u001c-\u001f\u0085]"  # Python has a few more blank characters than ECMAScript
NO_NUL = r"^[^\u0000]*$"


def id_schema(prefix: str, *, may_be_empty: bool = False) -> Schema:
    """Return the schema of a public id of one kind."""
    pattern = rf"{prefix}_[0-7][0-9a-hjkmnp-tv-z]{{{SUFFIX_LENGTH - 1}}}"
    return {"type": "string", "pattern": f"^({pattern})?$" if may_be_empty else f"^{pattern}$"}


def idempotency_key_header() -> OpenApiParameter:
    """Return the request header `Idempotency-Key`."""
    return OpenApiParameter(
        "Idempotency-Key",
        {"type": "string", "maxLength": MAX_IDEMPOTENCY_KEY, "pattern": "^[!-~]([ -~]*[!-~])?$"},
        OpenApiParameter.HEADER,
        description="Makes retries safe: a request with the same key and body is carried out once.",
    )


def replayed_header() -> OpenApiParameter:
    """Return the response header `Idempotent-Replayed`."""
    return OpenApiParameter(
        "Idempotent-Replayed",
        {"type": "string", "const": "true"},
        OpenApiParameter.HEADER,
        description="The answer of an earlier request with the same key and body.",
        response=[200, 201],
    )


def ruled(**rules: Any) -> Callable[[S], S]:
    """Decorate a StrictSerializer with JSON Schema keywords for rules that involve several fields."""

    def decorate(serializer: S) -> S:
        serializer.schema_rules = rules  # type: ignore[attr-defined] # read by StrictSerializerSchema below
        return serializer

    return decorate


class StrictSerializerSchema(OpenApiSerializerExtension):
    """Bodies reject unknown names; some have rules (`ruled`)."""

    target_class = "config.api.serializers.StrictSerializer"
    match_subclasses = True

    def map_serializer(self, auto_schema: AutoSchema, direction: Any) -> Schema:
        schema = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)
        rules = getattr(self.target, "schema_rules", {})
        properties = dict(schema.get("properties", {}))
        for name, rule in rules.get("properties", {}).items():
            properties[name] = {**properties[name], **rule}
        # From the fields: drf-spectacular makes every field of a PATCH optional, but our serializers decide that.
        required = [name for name, field in self.target.fields.items() if field.required]
        needed = {"required": required} if required else {}
        return {**schema, **needed, "additionalProperties": False, **rules, "properties": properties}


class TextFieldSchema(OpenApiSerializerFieldExtension):
    """Text is trimmed and cleaned of U+0000 before it is validated."""

    target_class = "config.api.serializers.TextField"
    match_subclasses = True

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Any) -> Schema:
        # Only the type: drf-spectacular adds "null" later, which would be the second time.
        schema = {**auto_schema._map_serializer_field(self.target, direction, bypass_extensions=True), "type": "string"}
        return schema if self.target.allow_blank else {**schema, "pattern": NOT_BLANK}


class IdFieldSchema(OpenApiSerializerFieldExtension):
    """The pattern of an id contains the prefix of its kind."""

    target_class = "config.api.serializers.IdField"

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Any) -> Schema:
        return id_schema(self.target.prefix)


class NonEmptyListSchema(OpenApiSerializerFieldExtension):
    """Adds `minItems` for `allow_empty=False`, which drf-spectacular ignores."""

    target_class = "rest_framework.serializers.ListField"
    match_subclasses = True

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Any) -> Schema:
        schema = auto_schema._map_serializer_field(self.target, direction, bypass_extensions=True)
        return schema if self.target.allow_empty else {**schema, "minItems": 1}


@cache
def enveloped(serializer: type[serializers.BaseSerializer[Any]], *, many: bool = False) -> Any:
    """Return the schema of the success envelope around a record (docs/contract.md 1)."""
    name = serializer.__name__
    fields = {
        "success": serializers.BooleanField(),
        "data": serializer(many=many),
        "message": serializers.CharField(min_length=1),
    }
    return inline_serializer(name=f"{name}{'List' if many else ''}Answer", fields=fields)


class DeletedRecord(serializers.Serializer[Any]):
    """The data of every response to a DELETE."""

    id = serializers.CharField()
    deleted = serializers.BooleanField()


class EnvelopeAutoSchema(AutoSchema):
    """Wraps the responses that a viewset declares: a record in the envelope, `{id, deleted}` for a delete."""

    def get_response_serializers(self) -> Any:
        action = getattr(self.view, "action", None)
        if action == "destroy":
            return {200: enveloped(DeletedRecord)}
        declared = super().get_response_serializers()
        if action == "retrieve" and isinstance(declared, serializers.BaseSerializer):
            return enveloped(type(declared))
        return declared

    def _is_list_view(self, serializer: Any = None) -> bool:
        """Return whether the response is a page of records; a viewset can have lists with other names than `list`."""
        lists = getattr(self.view, "list_actions", ())
        return getattr(self.view, "action", None) in lists or super()._is_list_view(serializer)

    def get_override_parameters(self) -> Any:
        """Return the headers of POSTs that may be repeated, for views that name them (docs/contract.md 1.30)."""
        return [*super().get_override_parameters(), *self._headers_of_posts()]

    def _headers_of_posts(self) -> Iterable[Any]:
        return getattr(self.view, "headers_of_posts", ()) if self.method == "POST" else ()

    def get_operation_id(self) -> str:
        """Return a short name such as `forms_publish`."""
        parts = [part.replace("-", "_") for part in self.path.strip("/").split("/") if not part.startswith("{")][1:]
        action = getattr(self.view, "action", None) or self.method.lower()
        if action in getattr(self.view, "list_actions", ()):
            action = "list"
        return "_".join([*parts, action]) if action not in parts else "_".join(parts)


def only_documented_paths(
    endpoints: list[tuple[str, str, str, Any]], **_kwargs: Any
) -> list[tuple[str, str, str, Any]]:
    """Keep the paths of the API, without the schema and its page."""
    return [e for e in endpoints if e[0].startswith("/api/") and e[0] not in ("/api/schema", "/api/docs")]


def finish_schema(result: Schema, **_kwargs: Any) -> Schema:
    """Add what all operations share: errors, headers, patterns of ids. Records have exactly the listed members."""
    components = result["components"]
    for name, schema in components["schemas"].items():
        if name.endswith(("Record", "Answer", "WithKey", "WithSecret", "RecordList")):
            schema |= {"required": sorted(schema["properties"]), "additionalProperties": False}
            if "success" in schema["properties"]:
                schema["properties"]["success"] = {"type": "boolean", "const": True}
    components["schemas"]["Error"] = _error_schema()
    components["headers"] = HEADERS
    components["responses"] = {f"Error{status}": _error_response(status) for status in ERRORS}
    for path, item in result["paths"].items():
        for method, operation in item.items():
            if method in ("get", "post", "patch", "delete"):
                _finish_operation(path, method, operation)
    _drop(result, "x-spec-enum-id")
    return result


def _finish_operation(path: str, method: str, operation: Schema) -> None:
    for parameter in operation.get("parameters", []):
        parameter["schema"] = _parameter_schema(path, parameter)
    if method == "get" and path.endswith("{id}"):
        operation["parameters"].append(ONLY_IF_CHANGED)
        operation["responses"]["304"] = {"description": "The object is as the client has it."}
    for status, response in operation["responses"].items():
        also = ["Location"] if status == "201" else ["ETag"] if "304" in operation["responses"] else []
        response["headers"] = {**_header_references([*EVERYWHERE, *also]), **response.get("headers", {})}
    for status in ERRORS:
        if method != "get" or status not in WRITING_ERRORS:
            operation["responses"][status] = {"$ref": f"#/components/responses/Error{status}"}
    if "requestBody" in operation:
        operation["requestBody"]["required"] = operation["operationId"] not in OPTIONAL_BODIES
        operation["requestBody"]["content"] = {
            kind: value for kind, value in operation["requestBody"]["content"].items() if kind == "application/json"
        }


def _parameter_schema(path: str, parameter: Schema) -> Schema:
    """Return a parameter's schema; these names have the same meaning in every operation."""
    if parameter["in"] == "path":
        return id_schema(PATH_PREFIXES[path.split("/")[2]])
    if parameter["name"] == "formId" and "pattern" not in parameter["schema"]:
        return id_schema(Prefix.FORM)
    if parameter["name"] in ("from", "to"):
        return {"type": "string", "format": "date"}
    return dict(parameter["schema"])


def _header_references(names: Iterable[str]) -> Schema:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _error_response(status: str) -> Schema:
    return {
        "description": ERRORS[status],
        "headers": _header_references([*EVERYWHERE, *ALSO.get(status, [])]),
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    }


def _drop(value: Any, name: str) -> None:
    """Remove a key at every level: drf-spectacular leaves a marker for a hook that we do not use."""
    if isinstance(value, dict):
        value.pop(name, None)
    for below in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _drop(below, name)


def _error_schema() -> Schema:
    text = {"type": "string", "minLength": 1}
    detail = {
        "type": "object",
        "properties": {"field": {"type": "string"}, "code": text, "message": text},
        "required": ["field", "code", "message"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {
            "success": {"type": "boolean", "const": False},
            "error": text,
            "message": text,
            "details": {"type": "array", "items": detail, "minItems": 1},
        },
        "required": ["success", "error", "message"],
        "additionalProperties": False,
    }
