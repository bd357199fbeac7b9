"""How deliveries and replays are read and shown (docs/contract.md 7)."""

import json
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from config.api.fields import PublicIdField, TimeField
from config.api.serializers import FlagField, IdField, PeriodField, StrictSerializer
from config.base.ids import Prefix
from webhooks.enqueue import MAIL
from webhooks.events import TEST
from webhooks.models import Attempt, Delivery

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
        return delivery.event == TEST.name


class SentDeliveryRecord(DeliveryRecord):
    """One delivery with the requests of its newest attempts."""

    schema_name = "DeliveryDetails"
    attempts = SentAttemptRecord(many=True, source="shown_attempts")
