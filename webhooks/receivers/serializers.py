"""How webhooks and destinations are read and shown (docs/contract.md 7, 9): two records of one table."""

from typing import Any

from django.utils.translation import gettext_lazy
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from config.api.fields import PublicIdField, TimeField
from config.api.schema import ruled
from config.api.serializers import IdField, NameField, StrictSerializer, TextField
from config.base.ids import Prefix
from webhooks.events import public_events
from webhooks.kinds.registry import KINDS
from webhooks.models import DESTINATION_STATUSES, MAX_URL, WEBHOOK_STATUSES, Receiver
from webhooks.receivers.destinations import config_of

MODE = "Whether it receives live submissions, test submissions, or both."
CONFIG = {"type": "object", "additionalProperties": True}
TEXTS = {
    "id": "Its id.",
    "formId": "The form whose submissions it receives; null: all forms, later ones too.",
    "mode": MODE,
    "createdAt": "When it was created.",
}


class ReceiverRecord(serializers.ModelSerializer[Receiver]):
    """The members that both records have."""

    formId = PublicIdField(Prefix.FORM, source="form_id", allow_null=True)
    mode = serializers.ChoiceField(Receiver.Mode.choices)
    disabledReason = serializers.SerializerMethodField()
    createdAt = TimeField(source="created_at")

    class Meta:
        model = Receiver
        fields: tuple[str, ...] = ("formId", "mode", "disabledReason", "createdAt")

    def get_disabledReason(self, receiver: Receiver) -> str | None:
        """Return why nothing is sent; None while it is active or pending."""
        return receiver.disabled_reason or None


class EventNameField(serializers.ChoiceField):
    """The name of a public event. Each serializer makes its own, so that every registered event is a choice."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(choices=public_events(), **kwargs)


class WebhookRecord(ReceiverRecord):
    """A webhook, without its secret."""

    texts = {
        **TEXTS,
        "url": "The endpoint that receives them.",
        "events": "The events that are sent.",
        "status": "`pending` until an owner activates an endpoint that a page named.",
        "disabledReason": "Why it is disabled; null if it is not.",
    }
    id = PublicIdField(Prefix.WEBHOOK)
    events = serializers.ListField(child=EventNameField())
    status = serializers.ChoiceField(WEBHOOK_STATUSES)

    class Meta(ReceiverRecord.Meta):
        fields: tuple[str, ...] = (
            "id", "formId", "url", "events", "mode", "status", "disabledReason", "createdAt",
        )  # fmt: skip


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
        "mode": MODE,
    }
    formId = IdField(Prefix.FORM, source="form_id", allow_null=True)
    url = TextField(trim_whitespace=False, max_length=MAX_URL)
    events = EventsField()
    mode = serializers.ChoiceField(Receiver.Mode.choices, default=Receiver.Mode.LIVE)


@ruled(properties={"url": {"format": "uri"}})
class WebhookChanges(StrictSerializer):
    """Changes of a webhook. Members that are left out stay as they are."""

    texts = {
        "url": "The endpoint: an https URL, without user name and password.",
        "events": "The events to send.",
        "mode": MODE,
        "status": "`active` also sends the submissions that came while it was pending.",
    }
    url = TextField(trim_whitespace=False, max_length=MAX_URL, required=False)
    events = EventsField(required=False)
    mode = serializers.ChoiceField(Receiver.Mode.choices, required=False)
    status = serializers.ChoiceField([Receiver.Status.ACTIVE, Receiver.Status.DISABLED], required=False)


@extend_schema_field(CONFIG)
class ConfigField(serializers.Field[Any, Any, Any, Any]):
    """An object, whose members are those of the kind; the kind reads them."""

    default_error_messages = {"invalid": gettext_lazy("Must be an object.")}

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, dict):
            self.fail("invalid")
        return data


class DestinationRecord(ReceiverRecord):
    """A destination, its secrets as hints."""

    texts = {
        **TEXTS,
        "kind": "The service.",
        "name": "Its name, for people.",
        "config": "The settings of its kind; `{hint}` in the place of each secret.",
        "status": "`needs_attention`: the service refused us, and its deliveries are held.",
        "disabledReason": "Why it is not active; null if it is.",
    }
    id = PublicIdField(Prefix.DESTINATION)
    kind = serializers.ChoiceField([*KINDS])
    config = serializers.SerializerMethodField()
    status = serializers.ChoiceField(DESTINATION_STATUSES)

    class Meta(ReceiverRecord.Meta):
        fields: tuple[str, ...] = (
            "id", "formId", "kind", "name", "config", "mode", "status", "disabledReason", "createdAt",
        )  # fmt: skip

    @extend_schema_field(CONFIG)
    def get_config(self, destination: Receiver) -> dict[str, Any]:
        return config_of(destination)


class NewDestination(StrictSerializer):
    """A destination to create."""

    texts = {
        "formId": "The form whose submissions it receives; null: all forms, later ones too.",
        "kind": "The service.",
        "name": "Its name, for people.",
        "config": "The settings of its kind.",
        "mode": MODE,
    }
    formId = IdField(Prefix.FORM, source="form_id", allow_null=True)
    kind = serializers.ChoiceField([*KINDS])
    name = NameField()
    config = ConfigField()
    mode = serializers.ChoiceField(Receiver.Mode.choices, default=Receiver.Mode.LIVE)


class DestinationChanges(StrictSerializer):
    """Changes of a destination. Members that are left out stay as they are."""

    texts = {
        "name": "Its name, for people.",
        "config": "The settings of its kind as a whole, secrets too.",
        "mode": MODE,
        "status": "`disabled` cancels pending and held deliveries.",
    }
    name = NameField(required=False)
    config = ConfigField(required=False)
    mode = serializers.ChoiceField(Receiver.Mode.choices, required=False)
    status = serializers.ChoiceField([Receiver.Status.ACTIVE, Receiver.Status.DISABLED], required=False)
