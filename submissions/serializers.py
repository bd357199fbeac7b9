"""Serializers of submissions (docs/contract.md 5)."""

import uuid
from typing import Any

from rest_framework import serializers

from config.api.fields import PublicIdField, TimeField
from config.api.serializers import FlagField, StrictSerializer
from config.ids import Prefix
from config.times import format_time
from submissions.models import Submission


class MetaRecord(serializers.Serializer[Any]):
    """Metadata of the request."""

    ip = serializers.CharField(allow_null=True)
    userAgent = serializers.CharField(allow_null=True)
    origin = serializers.CharField(allow_null=True)
    referer = serializers.CharField(allow_null=True)


class SubmissionRecord(serializers.ModelSerializer[Submission]):
    """A submission as the API, webhooks and exports show it."""

    id = PublicIdField(Prefix.SUBMISSION)
    formId = PublicIdField(Prefix.FORM, source="form_id")
    data = serializers.DictField(child=serializers.CharField())  # type: ignore[assignment]  # hides .data, unused here
    spamReasons = serializers.ListField(child=serializers.CharField(), source="spam_reasons")
    meta = MetaRecord()
    createdAt = TimeField(source="created_at")

    class Meta:
        model = Submission
        fields = ("id", "formId", "data", "spam", "spamReasons", "meta", "createdAt")

    def to_representation(self, instance: Submission) -> dict[str, Any]:
        """Return the record; without DRF's fields, because exports have millions."""
        return submission_record(instance)


def submission_record(submission: Submission) -> dict[str, Any]:
    """Return `{id, formId, data, spam, spamReasons, meta, createdAt}`."""
    return {
        "id": submission.public_id,
        "formId": form_id_text(submission.form_id),
        "data": submission.data,
        "spam": submission.spam,
        "spamReasons": submission.spam_reasons,
        "meta": submission.meta,
        "createdAt": format_time(submission.created_at),
    }


def form_id_text(form_id: uuid.UUID) -> str:
    """Return a form's public id."""
    return PublicIdField(Prefix.FORM).to_representation(form_id)


class SubmittedRecord(serializers.Serializer[Any]):
    """The `data` of a 201."""

    id = serializers.CharField()
    formId = serializers.CharField()
    createdAt = serializers.DateTimeField()


class SpamMark(StrictSerializer):
    """The body of `PATCH /api/submissions/{id}`."""

    spam = FlagField()
