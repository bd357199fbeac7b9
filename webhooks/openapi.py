"""The section `webhooks` of the OpenAPI document: the messages that endpoints receive (docs/contract.md 7)."""

from typing import Any

from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import OpenApiResponse, OpenApiWebhook, extend_schema, extend_schema_field
from rest_framework import serializers

from config.api.fields import TimeField
from webhooks.events import EVENTS, Event

HEADERS = {
    "webhook-id": "The id of the message, the same at every attempt.",
    "webhook-timestamp": "When this attempt was signed, in seconds since 1970.",
    "webhook-signature": "One or more signatures, separated by blanks: `v1,` and the base64 of an HMAC-SHA256 each.",
}


def operation_of(event: Event) -> OpenApiWebhook:
    """Return the operation by which an endpoint receives a public event: `submissionCreated`."""
    name = "".join(word.capitalize() for word in event.name.replace("_", ".").split("."))
    return OpenApiWebhook(
        name=event.name,
        decorator=extend_schema(
            operation_id=name[0].lower() + name[1:],
            summary=event.summary,
            description=(
                "Sent to the webhooks of the form and of all forms, signed as https://www.standardwebhooks.com says. "
                "Verify the signature, answer within 15 seconds, and expect that a message comes more than once: its "
                "`webhook-id` stays the same."
            ),
            tags=["Events"],
            request=_message_of(event, f"{name}Event"),
            responses={
                "2XX": OpenApiResponse(description="Received. Any other status, and a redirect, is tried again."),
                "410": OpenApiResponse(description="The endpoint is gone. The webhook is disabled."),
            },
        ),
    )


def _message_of(event: Event, name: str) -> type[serializers.Serializer[Any]]:
    """Return the shape of an event's message, `{type, timestamp, data}`, as `payloads.standard_message` writes it."""
    assert event.record is not None  # noqa: S101  # it is public
    type_field = extend_schema_field({"type": "string", "const": event.name})(
        type("TypeField", (serializers.CharField,), {})
    )
    members = {"type": type_field(), "timestamp": TimeField(), "data": event.record()}
    texts = {"type": "The event.", "timestamp": "When it happened.", "data": event.record.__doc__}
    about = {"__doc__": f"The message of `{event.name}`.", "texts": texts}
    return type(name, (serializers.Serializer,), {**about, **members})


# The setting WEBHOOKS names this list.
WEBHOOKS = [operation_of(event) for event in EVENTS.values() if event.is_public]


def complete_webhooks(result: dict[str, Any], generator: SchemaGenerator, **_kwargs: Any) -> dict[str, Any]:
    """Add what drf-spectacular leaves out: the headers, and the schemas of messages. No access key is sent."""
    result["components"]["schemas"] |= generator.registry.build({})["schemas"]
    for item in result["webhooks"].values():
        item["post"]["parameters"] = [
            {"name": name, "in": "header", "required": True, "schema": {"type": "string"}, "description": description}
            for name, description in HEADERS.items()
        ]
        item["post"]["security"] = []
    return result
