"""The section `webhooks` of the OpenAPI document: the message that an endpoint receives (docs/contract.md 7)."""

from typing import Any

from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import OpenApiResponse, OpenApiWebhook, extend_schema, extend_schema_field
from rest_framework import serializers

from config.api.fields import TimeField
from config.api.openapi.resources import EVENTS
from submissions.serializers import SubmissionRecord
from webhooks import events

NAME = events.SUBMISSION_CREATED.name


@extend_schema_field({"type": "string", "const": NAME})
class TypeField(serializers.CharField):
    """The event's name."""


class SubmittedSubmission(SubmissionRecord):
    """The submission, with the name of its form."""

    texts = {
        **SubmissionRecord.texts,
        "formName": "The name of its form.",
        "test": "true for a test event, whose submission is an example; otherwise left out.",
    }
    optional_members = ("test",)

    formName = serializers.CharField()
    test = serializers.BooleanField()

    class Meta(SubmissionRecord.Meta):
        fields: tuple[str, ...] = (*SubmissionRecord.Meta.fields, "formName", "test")  # type: ignore[assignment]  # longer


class SubmissionCreatedEvent(serializers.Serializer[Any]):
    """The message about a new submission."""

    texts = {"type": "The event.", "timestamp": "When it happened.", "data": "The submission."}

    type = TypeField()
    timestamp = TimeField()
    data = SubmittedSubmission()  # type: ignore[assignment]  # hides .data, unused here


SUBMISSION_CREATED = OpenApiWebhook(
    name=NAME,
    decorator=extend_schema(
        operation_id="submissionCreated",
        summary="A submission was created",
        description=(
            "Sent to the webhooks of the form and of all forms, signed as https://www.standardwebhooks.com says. "
            "Verify the signature, answer within 15 seconds, and expect that a message comes more than once: its "
            "`webhook-id` stays the same."
        ),
        tags=[EVENTS.name],
        request=SubmissionCreatedEvent,
        responses={
            "2XX": OpenApiResponse(description="Received. Any other status, and a redirect, is tried again."),
            "410": OpenApiResponse(description="The endpoint is gone. The webhook is disabled."),
        },
    ),
)
HEADERS = {
    "webhook-id": "The id of the message, the same at every attempt.",
    "webhook-timestamp": "When this attempt was signed, in seconds since 1970.",
    "webhook-signature": "One or more signatures, separated by blanks: `v1,` and the base64 of an HMAC-SHA256 each.",
}


def complete_webhooks(result: dict[str, Any], generator: SchemaGenerator, **_kwargs: Any) -> dict[str, Any]:
    """Add what drf-spectacular leaves out: the headers, and the schemas of messages. No access key is sent."""
    result["components"]["schemas"] |= generator.registry.build({})["schemas"]
    operation = result["webhooks"][NAME]["post"]
    operation["parameters"] = [
        {"name": name, "in": "header", "required": True, "schema": {"type": "string"}, "description": description}
        for name, description in HEADERS.items()
    ]
    operation["security"] = []
    return result
