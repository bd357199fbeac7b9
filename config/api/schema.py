"""
How drf-spectacular reads our viewsets and serializers for the OpenAPI document (docs/contract.md 1).

`config/api/openapi/` names and finishes the document. A test with schemathesis checks the running service against it.
"""

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar, TypeVar

from drf_spectacular.extensions import OpenApiSerializerExtension, OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, inline_serializer
from rest_framework import serializers

from config.api.openapi import resources
from config.api.parsing import MAX_IDEMPOTENCY_KEY
from config.base.ids import SUFFIX_LENGTH

Schema = dict[str, Any]
S = TypeVar("S", bound=type[serializers.BaseSerializer[Any]])

_BLANK = r"\s\u0000\u001c-\u001f\u0085"  # Python has a few more blank characters than ECMAScript
NOT_BLANK = rf"^[{_BLANK}]*[^{_BLANK}][\s\S]*$"  # with anchors: some validators add them where there are none
NO_NUL = r"^[^\u0000]*$"


def id_schema(prefix: str, *, may_be_empty: bool = False) -> Schema:
    """Return the schema of a public id of one kind."""
    pattern = rf"{prefix}_[0-7][0-9a-hjkmnp-tv-z]{{{SUFFIX_LENGTH - 1}}}"
    return {"type": "string", "pattern": f"^({pattern})?$" if may_be_empty else f"^{pattern}$"}


def idempotency_key_header() -> OpenApiParameter:
    return OpenApiParameter(
        "Idempotency-Key",
        {"type": "string", "maxLength": MAX_IDEMPOTENCY_KEY, "pattern": "^[!-~]([ -~]*[!-~])?$"},
        OpenApiParameter.HEADER,
        description="Makes retries safe: a request with the same key and body is carried out once.",
    )


def replayed_header() -> OpenApiParameter:
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


def _described(serializer: Any, properties: Schema) -> Schema:
    """Return the properties with the descriptions of the serializer's `texts`."""
    texts = {name: {"description": text} for name, text in getattr(serializer, "texts", {}).items()}
    return {name: schema | texts.get(name, {}) for name, schema in properties.items()}


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
        properties = _described(self.target, properties)
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


class PublicIdFieldSchema(IdFieldSchema):
    target_class = "config.api.fields.PublicIdField"


class NonEmptyListSchema(OpenApiSerializerFieldExtension):
    """Adds `minItems` for `allow_empty=False`, which drf-spectacular ignores."""

    target_class = "rest_framework.serializers.ListField"
    match_subclasses = True

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Any) -> Schema:
        schema = auto_schema._map_serializer_field(self.target, direction, bypass_extensions=True)
        return schema if self.target.allow_empty else {**schema, "minItems": 1}


class RecordSchema(OpenApiSerializerExtension):
    """Records have all their members, and may get more in later versions."""

    target_class = "rest_framework.serializers.Serializer"
    match_subclasses = True
    priority = -1

    def map_serializer(self, auto_schema: AutoSchema, direction: Any) -> Schema:
        schema = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)
        properties = _described(self.target, schema.get("properties", {}))
        optional = getattr(self.target, "optional_members", ())
        return {**schema, "properties": properties, "required": [name for name in properties if name not in optional]}


class WrittenSchema(serializers.Serializer[Any]):
    """A body whose schema is written by hand."""

    written: ClassVar[Schema]


class WrittenSchemaSchema(OpenApiSerializerExtension):
    target_class = "config.api.schema.WrittenSchema"
    match_subclasses = True

    def map_serializer(self, auto_schema: AutoSchema, direction: Any) -> Schema:
        return dict(self.target.written)


@cache
def enveloped(serializer: type[serializers.BaseSerializer[Any]], *, many: bool = False) -> Any:
    """Return the schema of the success envelope around a record (docs/contract.md 1)."""
    fields = {
        "success": serializers.BooleanField(help_text="Always true."),
        "data": serializer(many=many),
        "message": serializers.CharField(min_length=1, help_text="What happened, for people."),
    }
    return inline_serializer(name=f"{component_name(serializer)}{'List' if many else ''}Response", fields=fields)


def component_name(serializer: type[serializers.BaseSerializer[Any]]) -> str:
    """Return the name of a serializer's schema: without what only says how our code uses it."""
    own = vars(serializer).get("schema_name")  # not inherited: two classes would share one schema
    return str(own or serializer.__name__.replace("Record", ""))


class DeletedRecord(serializers.Serializer[Any]):
    """The object that was deleted, archived or revoked."""

    id = serializers.CharField(help_text="The id of the path.")
    deleted = serializers.BooleanField(help_text="Always true.")


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

    def map_parsers(self) -> list[Any]:
        """Return the media types of bodies: JSON. Views that read something else declare it."""
        return ["application/json"]

    def _is_list_view(self, serializer: Any = None) -> bool:
        """Return whether the response is a page of records; a viewset can have lists with other names than `list`."""
        return self._action in getattr(self.view, "list_actions", ()) or super()._is_list_view(serializer)

    @property
    def _action(self) -> str:
        return getattr(self.view, "action", None) or str(self.method).lower()

    def get_override_parameters(self) -> Any:
        """Return the headers of POSTs that may be repeated, for views that name them (docs/contract.md 1.30)."""
        of_posts = getattr(self.view, "headers_of_posts", ()) if self.method == "POST" else ()
        return [*super().get_override_parameters(), *of_posts]

    def get_operation_id(self) -> str:
        """Return a name such as `publishForm`."""
        if self.path == "/":  # a message of ours (`WEBHOOKS`), which names itself
            return ""
        is_list = self._action in getattr(self.view, "list_actions", ())
        return resources.operation_id(self.path, self._action, is_list=is_list)

    def get_summary(self) -> str:
        return resources.summary_of(self.get_operation_id())

    def get_description(self) -> str:  # type: ignore[override]  # as drf-spectacular has it
        """Return the docstring of the action, or what every resource's list and single objects have."""
        own = vars(type(self.view)).get(self._action) or getattr(self.view, str(self.method).lower(), None)
        return (own and inspect.getdoc(own)) or resources.inherited_description(self.path, self._action) or ""

    def get_tags(self) -> list[str]:
        return [resources.resource_of(self.path).tag]

    def get_paginated_name(self, serializer_name: str) -> str:
        return f"{serializer_name}List"

    def get_serializer_name(self, serializer: Any, direction: Any) -> str:
        return component_name(type(serializer))

    def _get_serializer_name(self, serializer: Any, direction: Any, bypass_extensions: bool = False) -> str:
        """Return the name without `Patched` and `Request`: bodies and records have different serializers."""
        name = str(super()._get_serializer_name(serializer, direction, bypass_extensions))
        return name.removeprefix("Patched").removesuffix("Request") if direction == "request" else name
