"""Bodies and records of access keys (docs/contract.md 3)."""

import datetime as dt
from typing import Any

from django.conf import settings
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from config.api import ratelimit
from config.api.fields import PublicIdField, TimeField
from config.api.schema import ruled
from config.api.serializers import DateField, NameField, StrictSerializer
from config.base.ids import Prefix
from config.base.times import format_time
from keys.access_keys import ALL_PERMISSIONS
from keys.models import AccessKey, Organization, Permission
from keys.plans import Plan


class AccessKeyRecord(serializers.Serializer[AccessKey]):
    """An access key, without the key itself."""

    texts = {
        "id": "The id of the record.",
        "name": "A name for people.",
        "kind": "`secret`, or `publishable` for pages.",
        "mode": "`live`, or `test` for test submissions.",
        "admin": "Whether the key may manage keys.",
        "permissions": "The operations that the key may use. Submitting needs none.",
        "expiresAt": "The last day on which the key works (UTC); null if it does not expire.",
        "hint": "Prefix and last four characters of a secret key; the whole of a publishable one.",
        "createdAt": "When the record was made.",
        "lastUsedAt": "When the key was used, at most ten minutes late; null if never.",
        "revokedAt": "When the key was revoked; null if it was not.",
    }
    id = PublicIdField(Prefix.ACCESS_KEY)
    name = serializers.CharField(max_length=200)
    kind = serializers.ChoiceField(AccessKey.Kind.choices)
    mode = serializers.ChoiceField(AccessKey.Mode.choices)
    admin = serializers.BooleanField()
    permissions = serializers.ListField(child=serializers.ChoiceField(Permission.choices))
    expiresAt = serializers.DateField(source="expires_on", allow_null=True)
    hint = serializers.CharField()
    createdAt = TimeField(source="created_at")
    lastUsedAt = TimeField(source="last_used_at", allow_null=True)
    revokedAt = TimeField(source="revoked_at", allow_null=True)


class AccessKeyRecordWithKey(AccessKeyRecord):
    """An access key, with the key itself. Only the responses that make one have it."""

    schema_name = "IssuedAccessKey"
    texts = {**AccessKeyRecord.texts, "key": "The value for `x-access-key`. Keep it: a repeated response has null."}

    key = serializers.CharField(allow_null=True)


class OwnOrganizationRecord(serializers.Serializer[Organization]):
    """The organization of an access key."""

    schema_name = "Organization"
    texts = {"id": "Its id.", "name": "Its name.", "plan": "Its plan."}

    id = PublicIdField(Prefix.ORGANIZATION)
    name = serializers.CharField(max_length=200)
    plan = serializers.ChoiceField(Plan.choices)


class HourRecord(serializers.Serializer[ratelimit.Usage]):
    """The requests of an organization in its present hour, this one included."""

    texts = {
        "limit": "How many requests the plan allows in an hour.",
        "used": "How many have counted.",
        "resetsAt": "When the hour ends.",
    }

    limit = serializers.IntegerField(min_value=1)
    used = serializers.IntegerField(min_value=0)
    resetsAt = serializers.SerializerMethodField()

    @extend_schema_field(OpenApiTypes.DATETIME)
    def get_resetsAt(self, usage: ratelimit.Usage) -> str | None:
        return format_time(dt.datetime.fromtimestamp(usage.reset, dt.UTC))


class MeRecord(serializers.Serializer[Any]):
    """Whose key this is, what it may do, and how much of the hour is left."""

    schema_name = "Caller"
    texts = {
        "organization": "Its organization.",
        "key": "The access key.",
        "hour": "The present hour.",
        "eventsUrl": "Where the stream of events is, without its path.",
    }

    organization = OwnOrganizationRecord()
    key = AccessKeyRecord()
    hour = HourRecord()
    eventsUrl = serializers.SerializerMethodField()

    @extend_schema_field(OpenApiTypes.URI)
    def get_eventsUrl(self, _: Any) -> str:
        return str(settings.EVENTS_URL)


# With `if`, which generators pass over: `anyOf` becomes several types, each without the members of the whole.
@ruled(
    **{
        "if": {"properties": {"kind": {"const": "publishable"}}, "required": ["kind"]},
        "then": {"properties": {"permissions": {"maxItems": 0}}},
    }
)
class NewAccessKey(StrictSerializer):
    """An access key to create."""

    texts = {
        "name": "A name for people.",
        "permissions": "All six if left out; none for a key that can only submit.",
        "expiresAt": "The last day on which the key works (UTC); null or left out for no end.",
        "kind": "`publishable` keys are for pages and can only submit.",
        "mode": "What a `test` key submits is a test submission, and it sees no others.",
    }
    name = NameField()
    permissions = serializers.ListField(
        child=serializers.ChoiceField(Permission.choices), required=False, max_length=20
    )
    expiresAt = DateField(source="expires_on", required=False, allow_null=True)
    kind = serializers.ChoiceField(AccessKey.Kind.choices, default=AccessKey.Kind.SECRET)
    mode = serializers.ChoiceField(AccessKey.Mode.choices, default=AccessKey.Mode.LIVE)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Fill in the default permissions: all for a secret key, none for a publishable one."""
        publishable = attrs["kind"] == AccessKey.Kind.PUBLISHABLE
        if publishable and attrs.get("permissions"):
            message = "A publishable key can only submit. Leave out the permissions."
            raise serializers.ValidationError({"permissions": [message]}, code="not_for_publishable")
        attrs.setdefault("permissions", [] if publishable else list(ALL_PERMISSIONS))
        return attrs
