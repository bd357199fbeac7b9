"""How webhooks, deliveries and replays are read and shown (docs/contract.md 7)."""

from typing import Any

from rest_framework import serializers

from config.api.fields import PublicIdField, TimeField
from config.api.schema import ruled
from config.api.serializers import FlagField, IdField, PeriodField, StrictSerializer, TextField
from config.ids import Prefix
from webhooks.events import TEST, public_events
from webhooks.models import MAX_URL, Attempt, Delivery, Webhook

FAILED, DELIVERED, CANCELED = Delivery.Status.FAILED, Delivery.Status.DELIVERED, Delivery.Status.CANCELED
UNDELIVERED = "undelivered"
REPLAYABLE: dict[str, list[str]] = {
    UNDELIVERED: [FAILED, CANCELED],
    FAILED: [FAILED],
    CANCELED: [CANCELED],
    DELIVERED: [DELIVERED],
    "all": [FAILED, CANCELED, DELIVERED],
}


class EventNameField(serializers.ChoiceField):
    """The name of a public event. Each serializer makes its own, so that every registered event is a choice."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(choices=public_events(), **kwargs)


class WebhookRecord(serializers.ModelSerializer[Webhook]):
    """A webhook as the API shows it; its secret is not part of it."""

    id = PublicIdField(Prefix.WEBHOOK)
    formId = PublicIdField(Prefix.FORM, source="form_id")
    events = serializers.ListField(child=EventNameField())
    disabledReason = serializers.SerializerMethodField()
    createdAt = TimeField(source="created_at")

    class Meta:
        model = Webhook
        fields: tuple[str, ...] = ("id", "formId", "url", "events", "status", "disabledReason", "createdAt")

    def get_disabledReason(self, webhook: Webhook) -> str | None:
        """Return why it is disabled; None if it is not."""
        return webhook.disabled_reason or None


class WebhookRecordWithSecret(WebhookRecord):
    """The answer to creation and rotation: the only ones that show the signing secret."""

    secret = serializers.CharField(allow_null=True, help_text="Shown once: null in a repeated answer.")

    class Meta(WebhookRecord.Meta):
        fields: tuple[str, ...] = (*WebhookRecord.Meta.fields, "secret")


class EventsField(serializers.ListField):
    """A list of event names without repetition, at least one."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(child=EventNameField(), allow_empty=False, **kwargs)

    def to_internal_value(self, data: Any) -> list[str]:
        return list(dict.fromkeys(super().to_internal_value(data)))


@ruled(properties={"url": {"format": "uri"}})
class NewWebhook(StrictSerializer):
    """The body of `POST /api/webhooks`."""

    formId = IdField(Prefix.FORM, source="form_id")
    url = TextField(trim_whitespace=False, max_length=MAX_URL)
    events = EventsField()


@ruled(properties={"url": {"format": "uri"}})
class WebhookChanges(StrictSerializer):
    """The body of `PATCH /api/webhooks/{id}`. Activating a pending webhook sends its held deliveries."""

    url = TextField(trim_whitespace=False, max_length=MAX_URL, required=False)
    events = EventsField(required=False)
    status = serializers.ChoiceField([Webhook.Status.ACTIVE, Webhook.Status.DISABLED], required=False)


class ReplayRange(StrictSerializer):
    """The body of `POST /api/webhooks/{id}/replay`; by default undelivered ones."""

    to = PeriodField(required=False)
    status = serializers.ChoiceField([*REPLAYABLE], default=UNDELIVERED)
    dryRun = FlagField(default=False)

    def get_fields(self) -> dict[str, Any]:
        """Add `from`, a keyword of Python's."""
        return {"from": PeriodField(required=False), **super().get_fields()}


class ReplayRecord(serializers.Serializer[Any]):
    """How many deliveries a replay matches, and how many it sends again."""

    matched = serializers.IntegerField()
    replayed = serializers.IntegerField()
    dryRun = serializers.BooleanField()


class AttemptRecord(serializers.ModelSerializer[Attempt]):
    """One attempt: when, HTTP status, milliseconds, error class, the first 4 KiB of the answer."""

    at = TimeField(source="started_at")
    status = serializers.IntegerField(allow_null=True)
    durationMs = serializers.IntegerField(source="duration_ms")
    error = serializers.SerializerMethodField()

    class Meta:
        model = Attempt
        fields = ("at", "status", "durationMs", "error", "response")

    def get_error(self, attempt: Attempt) -> str | None:
        """Return the error class; None for a success."""
        return attempt.error or None


class DeliveryRecord(serializers.ModelSerializer[Delivery]):
    """A delivery as the log shows it."""

    id = PublicIdField(Prefix.DELIVERY)
    webhookId = PublicIdField(Prefix.WEBHOOK, source="webhook_id", allow_null=True)
    submissionId = PublicIdField(Prefix.SUBMISSION, source="submission_id", allow_null=True)
    messageId = serializers.CharField(source="message.public_id")
    test = serializers.SerializerMethodField()
    nextAttemptAt = TimeField(source="expected_at", allow_null=True)
    createdAt = TimeField(source="created_at")
    finishedAt = TimeField(source="finished_at", allow_null=True)
    attempts = AttemptRecord(many=True)

    class Meta:
        model = Delivery
        fields = (
            "id", "webhookId", "submissionId", "messageId", "test", "status", "nextAttemptAt", "createdAt",
            "finishedAt", "attempts",
        )  # fmt: skip

    def get_test(self, delivery: Delivery) -> bool:
        """Return whether this is a test event."""
        return delivery.event == TEST.name
