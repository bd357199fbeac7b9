"""Serializers of submissions (docs/contract.md 5)."""

import datetime as dt
import uuid
from functools import lru_cache
from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from config.api.fields import PublicIdField, TimeField
from config.api.schema import ruled
from config.api.serializers import FlagField, IdField, StrictSerializer
from config.base.ids import Prefix, encode_id
from config.base.times import format_time
from submissions.files.records import file_record
from submissions.models import StoredFile, Submission

MAX_BULK = 100  # submissions that one request changes


class MetaRecord(serializers.Serializer[Any]):
    """The request that submitted it."""

    schema_name = "SubmissionMeta"
    texts = {
        "ip": "The visitor's address; null when it is not known.",
        "userAgent": "The header `User-Agent`.",
        "origin": "The header `Origin`: the origin of the page.",
        "referer": "The header `Referer`: the address of the page.",
    }
    ip = serializers.CharField(allow_null=True)
    userAgent = serializers.CharField(allow_null=True)
    origin = serializers.CharField(allow_null=True)
    referer = serializers.CharField(allow_null=True)


class FileRecord(serializers.Serializer[Any]):
    """A file of a submission."""

    schema_name = "SubmissionFile"
    texts = {
        "id": "Its id.",
        "field": "The name of the form's field.",
        "name": "The name that its sender gave it. `data` has the names of a field's files, with a comma and a blank.",
        "size": "Bytes.",
        "type": "Its media type, as its content says.",
        "sha256": "The SHA-256 of its bytes, 64 hexadecimal digits.",
        "scan": "The result of the virus scan; `none`: it was not asked. `pending` and `infected` files are withheld.",
        "url": "The address of its bytes, for a key with `submissions:read` or a login to the dashboard.",
    }
    id = PublicIdField(Prefix.FILE)
    field = serializers.CharField()
    name = serializers.CharField()
    size = serializers.IntegerField(min_value=1)
    type = serializers.CharField()
    sha256 = serializers.CharField()
    scan = serializers.ChoiceField(StoredFile.Scan.choices)
    url = serializers.CharField()


class SubmissionRecord(serializers.ModelSerializer[Submission]):
    """A submission, the same in the API, webhooks and exports."""

    texts = {
        "id": "Its id.",
        "formId": "Its form.",
        "data": "The submitted values by field name.",
        "files": "The files of its File fields; empty without any.",
        "spam": "Whether it was taken for spam, or marked as such. Spam is not delivered.",
        "spamReasons": "Why it was taken for spam.",
        "held": (
            "Why it is not delivered yet: `quota`, as the hour of the plan is used up, `confirmation`, until its "
            "submitter confirms the address, or `rule`, until somebody releases it. Null: it is not held."
        ),
        "test": "Whether it is a test submission, which is counted nowhere.",
        "meta": "About the request.",
        "imported": "Whether it was brought from elsewhere by an import; then it was never delivered.",
        "createdAt": "When it was accepted; of an imported one, its time there.",
    }
    id = PublicIdField(Prefix.SUBMISSION)
    formId = PublicIdField(Prefix.FORM, source="form_id")
    data = serializers.DictField(child=serializers.CharField())  # type: ignore[assignment]  # hides .data, unused here
    files = FileRecord(many=True)
    spamReasons = serializers.ListField(child=serializers.CharField(), source="spam_reasons")
    held = serializers.ChoiceField([why for why in Submission.Held.values if why], allow_null=True)
    test = serializers.BooleanField(source="is_test")
    meta = MetaRecord()
    imported = serializers.BooleanField(source="is_imported")
    createdAt = TimeField(source="created_at")

    class Meta:
        model = Submission
        fields = (
            "id", "formId", "data", "files", "spam", "spamReasons", "held", "test", "meta", "imported", "createdAt"
        )  # fmt: skip

    def to_representation(self, instance: Submission) -> dict[str, Any]:
        """Return the record; without DRF's fields, because exports have millions."""
        return submission_record(instance)


def submission_record(submission: Submission) -> dict[str, Any]:
    """
    Return the record of a submission.

    Load the files of many rows before, with `files.records.load_files`: else each row that has some takes a query.
    """
    one, files = submission, [file_record(row) for row in submission.files]
    return record_of(
        one.data,
        files,
        one.pk,
        one.form_id,
        one.spam,
        one.spam_reasons,
        one.held,
        one.is_test,
        one.meta,
        one.is_imported,
        one.created_at,
    )


def record_of(
    data: Any,
    files: list[dict[str, Any]],
    submission_id: uuid.UUID,
    form_id: uuid.UUID,
    spam: bool,
    spam_reasons: Any,
    held: str,
    test: bool,
    meta: Any,
    imported: bool,
    created_at: dt.datetime,
) -> dict[str, Any]:
    """
    Return `{id, formId, data, files, spam, spamReasons, held, test, meta, imported, createdAt}`; `held`: the reason, or
    None.

    It takes values, because an export has no time to make an object of the model for each row.
    """
    return {
        "id": encode_id(Prefix.SUBMISSION, submission_id),
        "formId": form_id_text(form_id),
        "data": data,
        "files": files,
        "spam": spam,
        "spamReasons": spam_reasons,
        "held": held or None,
        "test": test,
        "meta": meta,
        "imported": imported,
        "createdAt": format_time(created_at),
    }


@lru_cache(1000)
def form_id_text(form_id: uuid.UUID) -> str:
    """Return a form's public id; submissions have few forms."""
    return encode_id(Prefix.FORM, form_id)


class SubmittedRecord(serializers.Serializer[Any]):
    """The submission that was stored."""

    schema_name = "SubmissionReceipt"
    texts = {"id": "The id of the submission.", "formId": "The form.", "createdAt": "When it was accepted."}
    id = serializers.CharField()
    formId = serializers.CharField()
    createdAt = serializers.DateTimeField()


# Only null. Generators fail at `"type": "null"`, and make null the default for an enum of it; they pass over `not`.
@extend_schema_field({"type": "string", "not": {"type": "string"}})
class ReleaseField(serializers.Field[None, Any, None, Any]):
    """`null`: a submission can be released, and not be held."""

    default_error_messages = {"invalid": gettext_lazy("Must be null, which releases the submission.")}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_null=True, **kwargs)

    def to_internal_value(self, data: Any) -> None:  # noqa: ARG002 - DRF calls it for other values than null
        self.fail("invalid")


@ruled(minProperties=1)
class SubmissionChange(StrictSerializer):
    """Changes of a submission: `spam`, `held`, or both."""

    schema_name = "SubmissionChanges"
    texts = {
        "spam": "Mark it as spam, or as not spam, which delivers it.",
        "held": "null releases a held submission, which delivers it.",
    }
    spam = FlagField(required=False)
    held = ReleaseField(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse an empty body."""
        if not attrs:
            raise serializers.ValidationError({"spam": [self.fields["spam"].error_messages["required"]]}, "required")
        return attrs


class BulkAction(models.TextChoices):
    """An action of `POST /api/submissions/bulk`."""

    DELETE = "delete", gettext_lazy("Delete")
    SPAM = "spam", gettext_lazy("Mark as spam")
    NOT_SPAM = "notSpam", gettext_lazy("Mark as not spam")


class BulkIdsField(serializers.ListField):
    """Up to MAX_BULK ids of submissions, each counted once. A longer list is refused before its members are read."""

    default_error_messages = {"max_length": f"Ensure this field has no more than {MAX_BULK} elements."}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(child=IdField(Prefix.SUBMISSION), allow_empty=False, **kwargs)

    def to_internal_value(self, data: Any) -> list[uuid.UUID]:
        if isinstance(data, list) and len(data) > MAX_BULK:
            self.fail("max_length")
        return sorted(set(super().to_internal_value(data)))


@ruled(properties={"ids": {"maxItems": MAX_BULK}})
class BulkChange(StrictSerializer):
    """A change of several submissions."""

    texts = {"ids": "The submissions.", "action": "What happens to each of them."}

    ids = BulkIdsField()
    action = serializers.ChoiceField(BulkAction.choices)


class BulkRecord(serializers.Serializer[Any]):
    """The result of a change of several submissions."""

    schema_name = "BulkResult"
    texts = {"changed": "How many submissions are different now."}

    changed = serializers.IntegerField()
