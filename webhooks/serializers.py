"""How webhooks, deliveries and replays are read and shown (docs/contract.md 7)."""

import json
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from config.api.fields import PublicIdField, TimeField
from config.api.schema import ruled
from config.api.serializers import FlagField, IdField, PeriodField, StrictSerializer, TextField
from config.ids import Prefix
from webhooks.enqueue import MAIL
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
MAIL_STATUSES: list[str] = [FAILED, CANCELED, UNDELIVERED]


class EventNameField(serializers.ChoiceField):
    """The name of a public event. Each serializer makes its own, so that every registered event is a choice."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(choices=public_events(), **kwargs)


class WebhookRecord(serializers.ModelSerializer[Webhook]):
    """A webhook, without its secret."""

    texts = {
        "id": "Its id.",
        "formId": "The form whose submissions it receives; null: all forms, later ones too.",
        "url": "The endpoint that receives them.",
        "events": "The events that are sent.",
        "status": "`pending` until an owner activates an endpoint that a page named.",
        "disabledReason": "Why it is disabled; null if it is not.",
        "createdAt": "When it was created.",
    }
    id = PublicIdField(Prefix.WEBHOOK)
    formId = PublicIdField(Prefix.FORM, source="form_id", allow_null=True)
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
    """A webhook with its signing secret. Only the responses that make a secret have it."""

    texts = {
        **WebhookRecord.texts,
        "secret": "Signs its messages. Keep it: a repeated response has null.",
    }

    secret = serializers.CharField(allow_null=True)

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
    """A webhook to create."""

    texts = {
        "formId": "The form whose submissions it receives; null: all forms, later ones too.",
        "url": "The endpoint: an https URL, without user name and password.",
        "events": "The events to send.",
    }
    formId = IdField(Prefix.FORM, source="form_id", allow_null=True)
    url = TextField(trim_whitespace=False, max_length=MAX_URL)
    events = EventsField()


@ruled(properties={"url": {"format": "uri"}})
class WebhookChanges(StrictSerializer):
    """Changes of a webhook. Members that are left out stay as they are."""

    texts = {
        "url": "The endpoint: an https URL, without user name and password.",
        "events": "The events to send.",
        "status": "`active` also sends the submissions that came while it was pending.",
    }
    url = TextField(trim_whitespace=False, max_length=MAX_URL, required=False)
    events = EventsField(required=False)
    status = serializers.ChoiceField([Webhook.Status.ACTIVE, Webhook.Status.DISABLED], required=False)


class ReplayRange(StrictSerializer):
    """The deliveries to send again."""

    texts = {
        "from": "Only messages from this day (UTC) or time on.",
        "to": "Only messages up to this day (UTC) or time.",
        "status": "Only deliveries that ended so. `undelivered` are the failed and the canceled ones.",
        "dryRun": "Count them, and send nothing.",
    }
    to = PeriodField(required=False)
    status = serializers.ChoiceField([*REPLAYABLE], default=UNDELIVERED)
    dryRun = FlagField(default=False)

    def get_fields(self) -> dict[str, Any]:
        """Add `from`, a keyword of Python's."""
        return {"from": PeriodField(required=False), **super().get_fields()}


class MailReplay(StrictSerializer):
    """The mails about submissions to send again."""

    texts = {
        "channel": "Mails only: webhooks and destinations have a replay each.",
        "formId": "Only mails of this form. Left out: of all forms.",
        "from": "Only submissions received from this day (UTC) or time on.",
        "to": "Only submissions received up to this day (UTC) or time.",
        "status": "Only mails that ended so. `undelivered` are the failed and the canceled ones.",
        "dryRun": "Count them, and send nothing.",
    }
    channel = serializers.ChoiceField([MAIL])
    formId = IdField(Prefix.FORM, source="form_id", required=False)
    to = PeriodField()
    status = serializers.ChoiceField(MAIL_STATUSES, default=FAILED)
    dryRun = FlagField(default=False)

    def get_fields(self) -> dict[str, Any]:
        """Add `from`, a keyword of Python's."""
        return {"from": PeriodField(), **super().get_fields()}


class ReplayRecord(serializers.Serializer[Any]):
    """The result of a replay."""

    schema_name = "ReplayResult"
    texts = {
        "matched": "How many deliveries are in the range.",
        "replayed": "How many of them are sent again.",
        "dryRun": "Whether they were only counted.",
    }
    matched = serializers.IntegerField()
    replayed = serializers.IntegerField()
    dryRun = serializers.BooleanField()


class AttemptRecord(serializers.ModelSerializer[Attempt]):
    """One attempt to deliver a message."""

    schema_name = "DeliveryAttempt"
    texts = {
        "at": "When it began.",
        "status": "The HTTP status of the answer; null without an answer.",
        "durationMs": "How long it took, in milliseconds.",
        "error": "The kind of failure, such as `timeout`; null for a success.",
        "response": "The first 4 KiB of the answer.",
    }
    at = TimeField(source="started_at")
    status = serializers.IntegerField(allow_null=True)
    durationMs = serializers.IntegerField(source="duration_ms")
    error = serializers.SerializerMethodField()

    class Meta:
        model = Attempt
        fields: tuple[str, ...] = ("at", "status", "durationMs", "error", "response")

    def get_error(self, attempt: Attempt) -> str | None:
        """Return the error class; None for a success."""
        return attempt.error or None


class SentRequestRecord(serializers.Serializer[Any]):
    """The request of an attempt as it was sent, without signatures and secrets."""

    schema_name = "SentMessage"
    texts = {
        "method": "`POST` for a webhook, `MAIL` for a mail.",
        "url": "For a mail `mailto:` and its address.",
        "headers": "The headers by their names, without the signature.",
        "body": "For a mail the first 4 KiB of its text.",
    }
    method = serializers.CharField()
    url = serializers.CharField()
    headers = serializers.DictField(child=serializers.CharField())
    body = serializers.CharField(allow_blank=True)


class SentAttemptRecord(AttemptRecord):
    """One attempt to deliver a message, with its request."""

    schema_name = "SentAttempt"
    texts = {**AttemptRecord.texts, "request": "The request as it was sent; null where none was kept."}
    request = serializers.SerializerMethodField()

    class Meta(AttemptRecord.Meta):
        fields = (*AttemptRecord.Meta.fields, "request")

    @extend_schema_field(SentRequestRecord(allow_null=True))
    def get_request(self, attempt: Attempt) -> dict[str, Any] | None:
        """Return the request; the message has the body that all attempts of a webhook share."""
        return {"body": attempt.delivery.message.body, **json.loads(attempt.request)} if attempt.request else None


class DeliveryRecord(serializers.ModelSerializer[Delivery]):
    """A message to one webhook or mail address, with its attempts."""

    texts = {
        "id": "Its id.",
        "channel": "The name of the channel, such as `webhook`, `mail` or the kind of a destination.",
        "target": "The id of the webhook or destination, or the mail address.",
        "webhookId": "The webhook; null for others.",
        "submissionId": "The submission; null for a test event, and when it was deleted.",
        "messageId": "The header `webhook-id` of every attempt.",
        "test": "Whether this is a test event.",
        "status": "`held` waits for its webhook to be activated, or its destination to be corrected.",
        "nextAttemptAt": "When it is tried next; null if it is not.",
        "createdAt": "When it was queued.",
        "finishedAt": "When it was delivered or given up; null before.",
        "attempts": "The newest 50 attempts, the first one first.",
    }
    id = PublicIdField(Prefix.DELIVERY)
    channel = serializers.CharField(source="shown_channel")
    webhookId = PublicIdField(Prefix.WEBHOOK, source="webhook_id", allow_null=True)
    submissionId = PublicIdField(Prefix.SUBMISSION, source="submission_id", allow_null=True)
    messageId = serializers.CharField(source="message.public_id")
    test = serializers.SerializerMethodField()
    nextAttemptAt = TimeField(source="expected_at", allow_null=True)
    createdAt = TimeField(source="created_at")
    finishedAt = TimeField(source="finished_at", allow_null=True)
    attempts = AttemptRecord(many=True, source="shown_attempts")

    class Meta:
        model = Delivery
        fields = (
            "id", "channel", "target", "webhookId", "submissionId", "messageId", "test", "status", "nextAttemptAt",
            "createdAt", "finishedAt", "attempts",
        )  # fmt: skip

    def get_test(self, delivery: Delivery) -> bool:
        """Return whether this is a test event."""
        return delivery.event == TEST.name


class SentDeliveryRecord(DeliveryRecord):
    """One delivery with the requests of its newest attempts."""

    schema_name = "DeliveryDetails"
    attempts = SentAttemptRecord(many=True, source="shown_attempts")
