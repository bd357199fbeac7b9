"""How destinations are read and shown (docs/contract.md 9)."""

from typing import Any

from django.utils.translation import gettext_lazy
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from config.api.fields import PublicIdField, TimeField
from config.api.serializers import IdField, NameField, StrictSerializer
from config.ids import Prefix
from webhooks.channels.destinations.kinds import KINDS
from webhooks.destinations.actions import config_of
from webhooks.models import Destination

CONFIG = {"type": "object", "additionalProperties": True}


@extend_schema_field(CONFIG)
class ConfigField(serializers.Field[Any, Any, Any, Any]):
    """An object, whose members are those of the kind; the kind reads them."""

    default_error_messages = {"invalid": gettext_lazy("Must be an object.")}

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, dict):
            self.fail("invalid")
        return data


class DestinationRecord(serializers.ModelSerializer[Destination]):
    """A destination, its secrets as hints."""

    texts = {
        "id": "Its id.",
        "formId": "The form whose submissions it receives; null: all forms, later ones too.",
        "kind": "The service.",
        "name": "Its name, for people.",
        "config": "The settings of its kind; `{hint}` in the place of each secret.",
        "status": "`needs_attention`: the service refused us, and its deliveries are held.",
        "disabledReason": "Why it is not active; null if it is.",
        "createdAt": "When it was created.",
    }
    id = PublicIdField(Prefix.DESTINATION)
    formId = PublicIdField(Prefix.FORM, source="form_id", allow_null=True)
    kind = serializers.ChoiceField([*KINDS])
    config = serializers.SerializerMethodField()
    disabledReason = serializers.SerializerMethodField()
    createdAt = TimeField(source="created_at")

    class Meta:
        model = Destination
        fields: tuple[str, ...] = (
            "id", "formId", "kind", "name", "config", "status", "disabledReason", "createdAt",
        )  # fmt: skip

    @extend_schema_field(CONFIG)
    def get_config(self, destination: Destination) -> dict[str, Any]:
        """Return the config without its secrets."""
        return config_of(destination)

    def get_disabledReason(self, destination: Destination) -> str | None:
        """Return why it is not active; None if it is."""
        return destination.disabled_reason or None


class NewDestination(StrictSerializer):
    """A destination to create."""

    texts = {
        "formId": "The form whose submissions it receives; null: all forms, later ones too.",
        "kind": "The service.",
        "name": "Its name, for people.",
        "config": "The settings of its kind.",
    }
    formId = IdField(Prefix.FORM, source="form_id", allow_null=True)
    kind = serializers.ChoiceField([*KINDS])
    name = NameField()
    config = ConfigField()


class DestinationChanges(StrictSerializer):
    """Changes of a destination. Members that are left out stay as they are."""

    texts = {
        "name": "Its name, for people.",
        "config": "The settings of its kind as a whole, secrets too.",
        "status": "`disabled` cancels pending and held deliveries.",
    }
    name = NameField(required=False)
    config = ConfigField(required=False)
    status = serializers.ChoiceField([Destination.Status.ACTIVE, Destination.Status.DISABLED], required=False)
