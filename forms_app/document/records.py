"""A form as the API answers it: its record, and its document, which is the record without what the service decides."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings
from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema_field
from rest_framework import serializers
from rest_framework.renderers import JSONRenderer

from config.api.etags import etag_of
from config.api.fields import PublicIdField, TimeField
from config.base.ids import Prefix
from forms_app.consent.recipients import Standing, State, standings
from forms_app.document.bodies import MEMBER_TEXTS, RECIPIENT_STATUSES, RECIPIENT_TEXTS, REPLY_TEXTS, NamesFields
from forms_app.document.fields import FieldsField
from forms_app.document.spam import FormSpamRecord
from forms_app.models import Form

FOR_WEBHOOKS_WRITE = ("recipients", "replyTo")  # left out of answers to other keys
NOT_IN_DOCUMENT = frozenset(
    ("id", "isDefault", "submissionCount", "url", "createdAt", "updatedAt", "publishedAt", "logo")
)
_STATUSES = {State.MEMBER: "active", State.CONFIRMED: "active", State.STOPPED: "stopped"}  # all others are pending


class FormReplyRecord(serializers.Serializer[Any]):
    """The mail that answers each submitter of a form."""

    schema_name = "FormReply"
    texts = REPLY_TEXTS
    enabled = serializers.BooleanField()
    subject = serializers.CharField()
    text = serializers.CharField()


class FormRecipientRecord(serializers.Serializer[Any]):
    """An address that gets each submission by mail."""

    schema_name = "FormRecipient"
    texts = RECIPIENT_TEXTS
    email = serializers.CharField()
    status = serializers.ChoiceField(RECIPIENT_STATUSES)


class OrNullField(serializers.CharField):
    """A column whose empty text is `null` in the API."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"allow_null": True, **kwargs})

    def to_representation(self, value: Any) -> str | None:  # type: ignore[override]  # as it is declared to be
        return value or None


class FormRecord(NamesFields):
    """
    A form.

    `context`: `hides`, the members that the caller may not see; `standings`, those of the recipients of each form, read
    for a page of forms together.
    """

    texts = MEMBER_TEXTS | {
        "id": "Its id, for `formId` and addresses.",
        "status": "Only a published form accepts submissions. An archived one can be read and exported.",
        "isDefault": "Whether it takes the submissions without a form id.",
        "logo": "The address of its logo; null for the organization's.",
        "submissionCount": "How many submissions it has, without spam.",
        "url": "The address of its page, and of plain HTML posts.",
        "createdAt": "When it was created.",
        "updatedAt": "When it was changed.",
        "publishedAt": "When it was published last; null if it never was.",
    }
    optional_members = FOR_WEBHOOKS_WRITE
    id = PublicIdField(Prefix.FORM)
    key = serializers.CharField()
    name = serializers.CharField(max_length=200)
    status = serializers.ChoiceField(Form.Status.choices)
    isDefault = serializers.BooleanField(source="is_default")
    address = serializers.CharField(allow_null=True)
    fields_ = FieldsField()
    allowedOrigins = serializers.ListField(child=serializers.CharField(), source="allowed_origins")
    redirectUrl = serializers.CharField(source="redirect_url")
    successMessage = serializers.CharField(source="success_message")
    description = serializers.CharField()
    buttonLabel = serializers.CharField(source="button_label")
    returnUrl = serializers.CharField(source="return_url")
    language = serializers.ChoiceField(settings.LANGUAGES)
    retentionDays = serializers.IntegerField(source="retention_days", allow_null=True)
    spam = FormSpamRecord(source="spam_protection")
    reply = FormReplyRecord(allow_null=True)
    confirmation = serializers.BooleanField()
    recipients = serializers.SerializerMethodField()
    senderName = serializers.CharField(source="sender_name")
    replyTo = OrNullField(source="reply_to")
    accent = OrNullField()
    logo = serializers.SerializerMethodField()
    poweredBy = serializers.BooleanField(source="powered_by")
    submissionCount = serializers.IntegerField(source="submission_count")
    url = serializers.URLField()
    createdAt = TimeField(source="created_at")
    updatedAt = TimeField(source="updated_at")
    publishedAt = TimeField(source="published_at", allow_null=True)

    def get_fields(self) -> dict[str, Any]:
        return {name: field for name, field in super().get_fields().items() if name not in self.left_out()}

    def left_out(self) -> Sequence[str]:
        """Return the members that this record does not have."""
        return tuple(self.context.get("hides", ()))

    @extend_schema_field({"type": ["string", "null"], "format": "uri"})
    def get_logo(self, form: Form) -> str | None:
        base = settings.PAGES_URL or settings.PUBLIC_URL
        return f"{base}/f/brand/{form.logo_name}.png" if form.logo_name else None

    @extend_schema_field(FormRecipientRecord(many=True))
    def get_recipients(self, form: Form) -> list[dict[str, str]]:
        """Return the recipients in the order of their addresses: a list in another order is no change."""
        if not form.notification_recipients:
            return []
        known: Mapping[Any, Sequence[Standing]] = self.context.get("standings") or {form.pk: standings(form)}
        listed = sorted(known[form.pk], key=lambda one: one.address.lower())
        return [{"email": one.address, "status": _STATUSES.get(one.state, "pending")} for one in listed]


class FormDocument(FormRecord):
    """A whole form: its record without what the service decides."""

    texts = FormRecord.texts

    def left_out(self) -> Sequence[str]:
        return (*super().left_out(), *NOT_IN_DOCUMENT)


class FormChangeRecord(NamesFields):
    """A value that a document would change."""

    schema_name = "FormChange"
    texts = {
        "path": "Its place, as in the details of errors, but a field goes by its name: `fields.phone.label`.",
        "from": "The value now; null for none.",
        "to": "The value then; null for none.",
    }
    path = serializers.CharField()
    from_ = serializers.JSONField()
    to = serializers.JSONField()


class FormDryRun(serializers.Serializer[Any]):
    """The changes that a document would make."""

    texts = {"changes": "What would change; empty for nothing.", "document": "The form as it would be."}
    changes = FormChangeRecord(many=True)
    document = FormDocument()


@extend_schema_field(PolymorphicProxySerializer("FormOrDryRun", [FormRecord, FormDryRun], None))
class _FormOrDryRun(serializers.JSONField):
    """A form, or with `dryRun=true` what would change."""


class FormPut(serializers.Serializer[Any]):
    """The form as it is now, or with `dryRun=true` what would change."""

    schema_name = "PutFormResponse"
    success = serializers.BooleanField(help_text="Always true.")
    data = _FormOrDryRun()  # type: ignore[assignment]  # the name of the API, which DRF uses for itself
    message = serializers.CharField(min_length=1, help_text="What happened, for people.")


def document_of(form: Form, *, hides: Sequence[str] = ()) -> dict[str, Any]:
    return dict(FormDocument(form, context={"hides": hides}).data)


def etag_of_form(form: Form) -> str:
    """Return the ETag of a form's whole document, the same for every caller."""
    return etag_of(JSONRenderer().render(document_of(form)))
