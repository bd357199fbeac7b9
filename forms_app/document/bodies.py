"""
Bodies that say what a form is: to create one, to change some members, to make it exactly so (docs/contract.md 4).

`FormChanges` is the one list of what can be set. Its `source`s are columns of Form, whose defaults are those of members
that a document leaves out; `forms_app/document/records.py` answers the same members.
"""

import dataclasses
import re
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils.translation import gettext, gettext_lazy
from rest_framework import serializers

from config.api.errors import ValidationFailed
from config.api.schema import ruled
from config.api.serializers import FlagField, NameField, StrictSerializer, TextField, WholeNumberField
from config.base.text import clean_name, refuse_web_address
from forms_app.addresses import check_address, check_key
from forms_app.document.fields import FieldDefinitionSerializer
from forms_app.document.spam import SpamBody
from forms_app.field_definitions import MAX_FIELDS, fill_in_names, first_duplicate
from forms_app.formats import is_web_address
from forms_app.models import (
    MAX_ADDRESS,
    MAX_BUTTON_LABEL,
    MAX_DESCRIPTION,
    MAX_KEY,
    MAX_RETURN_URL,
    MAX_SENDER_NAME,
    MIN_ADDRESS,
    Form,
)
from forms_app.origins import InvalidOrigin, parse_origin_pattern
from forms_app.spam_protection import SpamProtection
from forms_app.texts.replies import MAX_SUBJECT, MAX_TEXT
from keys.branding.colors import UnfitColor, check_accent

MAX_ORIGINS = 50
MAX_RECIPIENTS = 20  # addresses per form; each submission is mailed to all of them
MAX_MAILBOX = 254  # characters, the limit of an SMTP path (RFC 5321, 4.5.3.1.3) and of a delivery's recipient
MAX_RETENTION_DAYS = 3650  # ten years
# The format of an origin, for the schema; `parse_origin_pattern` is authoritative.
ORIGIN = r"^[Hh][Tt][Tt][Pp][Ss]?://(\*\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?(:([0-9]{1,4}|[1-5][0-9]{4}))?$"
COLOR = r"^#[0-9a-fA-F]{6}$"
_COLOR = re.compile(COLOR)
# Control characters make lines, angle brackets the address behind a name.
_UNFIT_FOR_A_SENDER = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029<>]")
STATUSES = [Form.Status.DRAFT.value, Form.Status.PUBLISHED.value]


class NamesFields(serializers.Serializer[Any]):
    """Names the attribute `fields_` `fields` in JSON; as an attribute, `fields` belongs to DRF."""

    def get_fields(self) -> dict[str, Any]:
        return {name.rstrip("_"): field for name, field in super().get_fields().items()}


class UnsetField(TextField):
    """A text that may be unset: `null` and "" are the same."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"required": False, "allow_blank": True, "allow_null": True, **kwargs})

    def run_validation(self, data: Any = serializers.empty) -> str:
        """Return the text with plain line breaks, which browsers send as two characters."""
        return (super().run_validation(data) or "").replace("\r\n", "\n")


class UnsetNameField(UnsetField):
    """The same, normalized like a name."""

    def clean(self, text: str) -> str:
        return clean_name(text)


class WebAddressField(UnsetField):
    """An http or https URL; its value is "" for none."""

    default_error_messages = {"invalid_url": gettext_lazy("Must be a URL that begins with http:// or https://.")}

    def run_validation(self, data: Any = serializers.empty) -> str:
        url = super().run_validation(data)
        if url and not is_web_address(url):
            self.fail("invalid_url")
        return url


REPLY_TEXTS = {
    "enabled": "Whether it is sent.",
    "subject": "One line. May hold placeholders such as `{{ data.topic }}`.",
    "text": "Plain text, with the same placeholders.",
}


class ReplySerializer(StrictSerializer):
    """The mail that answers each submitter."""

    schema_name = "NewFormReply"
    texts = REPLY_TEXTS
    enabled = FlagField()
    subject = TextField(max_length=MAX_SUBJECT)
    text = TextField(max_length=MAX_TEXT)

    def validate_subject(self, subject: str) -> str:
        return " ".join(subject.split())

    def validate_text(self, text: str) -> str:
        """Return the text with plain line breaks, which browsers send as two characters."""
        return text.replace("\r\n", "\n")


RECIPIENT_STATUSES = ["active", "pending", "stopped"]
RECIPIENT_TEXTS = {
    "email": "The address that gets each submission by mail.",
    "status": "`active`, `pending` until the address is confirmed, or `stopped` by its reader.",
}


class RecipientBody(StrictSerializer):
    """An address that gets each submission by mail. Its `status` is ignored."""

    schema_name = "NewFormRecipient"
    texts = RECIPIENT_TEXTS
    email = TextField(max_length=MAX_MAILBOX)
    status = serializers.ChoiceField(RECIPIENT_STATUSES, required=False)

    def validate_email(self, address: str) -> str:
        """Return the address with its domain in lower case."""
        try:
            validate_email(address)
        except ValidationError:
            message = gettext("%(address)s is not an email address.") % {"address": address[:100]}
            raise serializers.ValidationError(message, code="invalid_email") from None
        name, _, domain = address.rpartition("@")
        return f"{name}@{domain.lower()}"


MEMBER_TEXTS = {
    "key": "Its name for programs, unique in the organization. Made from the name if left out.",
    "name": "A name for people.",
    "address": "The last part of its page's address, in place of its id; null for none.",
    "fields": "Its fields, in their order. Without fields it accepts any values.",
    "allowedOrigins": "The origins whose pages may submit, such as `https://*.example.com`. Empty: all.",
    "redirectUrl": "Where a visitor goes after submitting: an http or https URL. Empty: a thank-you page.",
    "successMessage": "The text after submitting. Empty: a standard text.",
    "description": "The text above the fields of its page.",
    "buttonLabel": "The text of the button on its page. Empty: a standard text.",
    "returnUrl": "Where the thank-you page links to: an http or https URL.",
    "language": "The language of our texts on its page and in mails to submitters.",
    "retentionDays": "After how many days submissions are deleted; null for never.",
    "spam": "The checks against spam, besides the honeypot.",
    "reply": "The mail that answers each submitter; null for none. Needs an Email field and a human check.",
    "confirmation": "Whether submitters confirm their address first. Needs an Email field and a human check.",
    "recipients": "Who gets each submission by mail, in no order. Only for keys with `webhooks:write`.",
    "senderName": "The name that mails to submitters come from, before that of the service.",
    "replyTo": "The recipient to whom answers to those mails go; null for none. Only for keys with `webhooks:write`.",
    "accent": "The color of its button, such as `#2563eb`; null for the organization's.",
    "poweredBy": "Whether its page names the service.",
}
# Rules of the schema that DRF has no argument for.
_RULES = {
    "key": {"pattern": rf"^[a-z0-9-]{{1,{MAX_KEY}}}$"},
    "address": {"pattern": rf"^[a-z0-9-]{{{MIN_ADDRESS},{MAX_ADDRESS}}}$"},
    "accent": {"pattern": COLOR},
    "fields": {"maxItems": MAX_FIELDS},
    "recipients": {"maxItems": MAX_RECIPIENTS},
    "allowedOrigins": {"items": {"type": "string", "maxLength": 300, "pattern": ORIGIN}},
}


@ruled(properties=_RULES)
class FormChanges(NamesFields, StrictSerializer):
    """Changes of a form. Members that are left out stay as they are."""

    # Not DRF's `partial`, which makes members of nested objects optional too.
    texts = MEMBER_TEXTS | {"fields": "Its fields, in their order. They replace all earlier ones."}
    key = TextField(max_length=MAX_KEY, required=False)
    name = NameField(required=False)
    address = TextField(max_length=MAX_ADDRESS, required=False, allow_null=True)
    # `max_length` instead of a check in a method, which would validate eighty thousand fields before it counts them.
    # (Ignored, since the stubs do not know that `many=True` accepts the arguments of a ListSerializer.)
    fields_ = FieldDefinitionSerializer(many=True, required=False, max_length=MAX_FIELDS)  # type: ignore[call-arg]  # see above
    allowedOrigins = serializers.ListField(
        child=TextField(max_length=300), source="allowed_origins", required=False, max_length=MAX_ORIGINS
    )
    redirectUrl = WebAddressField(max_length=2048, source="redirect_url")
    successMessage = UnsetField(max_length=1000, source="success_message")
    description = UnsetField(max_length=MAX_DESCRIPTION)
    buttonLabel = UnsetNameField(max_length=MAX_BUTTON_LABEL, source="button_label")
    returnUrl = WebAddressField(max_length=MAX_RETURN_URL, source="return_url")
    language = serializers.ChoiceField(choices=settings.LANGUAGES, required=False)
    retentionDays = WholeNumberField(
        min_value=1, max_value=MAX_RETENTION_DAYS, source="retention_days", required=False, allow_null=True
    )
    spam = SpamBody(required=False)
    reply = ReplySerializer(required=False, allow_null=True)
    confirmation = FlagField(required=False)
    recipients = RecipientBody(
        many=True,
        source="notification_recipients",
        required=False,
        max_length=MAX_RECIPIENTS,  # type: ignore[call-arg]  # as above
        error_messages={"max_length": gettext_lazy("At most {max_length} addresses. Use a mailing list for more.")},
    )
    senderName = UnsetNameField(max_length=MAX_SENDER_NAME, source="sender_name")
    replyTo = UnsetField(max_length=MAX_MAILBOX, source="reply_to")
    accent = TextField(max_length=7, required=False, allow_null=True)
    poweredBy = FlagField(source="powered_by", required=False)

    def validate_key(self, key: str) -> str:
        return _checked(check_key, key)

    def validate_address(self, address: str | None) -> str | None:
        return address and _checked(check_address, address)

    def validate_fields(self, fields: list[dict[str, Any]]) -> list[dict[str, Any]]:
        duplicate = first_duplicate(field["name"] for field in fields if field.get("name"))
        if duplicate is not None:
            raise serializers.ValidationError(
                gettext("Two fields have the name %(name)s.") % {"name": duplicate}, code="duplicate"
            )
        return fill_in_names(fields)

    def validate_allowedOrigins(self, origins: list[str]) -> list[str]:
        """Return the origins in the spelling of browsers, without duplicates."""
        try:
            return list(dict.fromkeys(parse_origin_pattern(origin) for origin in origins))
        except InvalidOrigin as error:
            raise serializers.ValidationError(str(error), code="invalid_origin") from None

    def validate_recipients(self, recipients: list[dict[str, Any]]) -> list[str]:
        """Return the addresses, each once in its first spelling: mail programs ignore upper case."""
        addresses: dict[str, str] = {}
        for recipient in recipients:
            addresses.setdefault(recipient["email"].lower(), recipient["email"])
        return list(addresses.values())

    def validate_senderName(self, name: str) -> str:
        """Refuse what a mail program would show as an address or as a second header."""
        if _UNFIT_FOR_A_SENDER.search(name):
            raise serializers.ValidationError(gettext("A name cannot hold line breaks, < or >."), code="invalid")
        try:
            refuse_web_address(name)
        except ValueError as error:
            raise serializers.ValidationError(str(error), code="link_not_allowed") from None
        return name

    def validate_accent(self, color: str | None) -> str:
        if color is None:
            return ""
        if not _COLOR.fullmatch(color):
            raise serializers.ValidationError(gettext("Must be a color such as #2563eb, or null."), code="invalid")
        try:
            return check_accent(color)
        except UnfitColor as error:
            raise serializers.ValidationError(str(error), code="invalid") from None


def _checked(check: Callable[[str], None], text: str) -> str:
    """Return a text that passes a check whose error is one of the API."""
    try:
        check(text)
    except ValidationFailed as failure:
        raise serializers.ValidationError(failure.field_message, code=failure.details[0].code) from None
    return text


def settable_columns() -> set[str]:
    """Return the columns of Form behind the members."""
    sources = {str(field.source) for field in FormChanges().fields.values()}
    return {"spam_protection" if source == "spam" else source for source in sources}


@ruled(properties=_RULES)
class NewForm(FormChanges):
    """A form to create. A form without fields accepts any values."""

    texts = MEMBER_TEXTS | {"status": "`published` to accept submissions from the start."}
    name = NameField()
    status = serializers.ChoiceField(STATUSES, default=Form.Status.DRAFT)


# What a document may leave out without a change. Everything else gets its default.
STAYS = ("status", "address", "notification_recipients", "reply_to")


@ruled(properties=_RULES)
class NewFormDocument(FormChanges):
    """The whole form as it is to be. Members that are left out get their defaults, but for those that say otherwise."""

    texts = MEMBER_TEXTS | {
        "key": "That of the path, if it is sent.",
        "status": "`published` to accept submissions. Left out: as it is, and `draft` for a new form.",
        "address": MEMBER_TEXTS["address"] + " Left out: as it is.",
        "spam": MEMBER_TEXTS["spam"] + " A secret that is left out stays while its captcha does.",
        "recipients": MEMBER_TEXTS["recipients"] + " Left out: as they are.",
        "replyTo": MEMBER_TEXTS["replyTo"] + " Left out: as it is.",
    }
    name = NameField()
    status = serializers.ChoiceField(STATUSES, required=False)

    def validate_key(self, key: str) -> str:
        if key != self.context["key"]:
            message = gettext("The key of this address is %(key)s. Change a key with PATCH /api/forms/{id}.")
            raise serializers.ValidationError(message % {"key": self.context["key"]}, code="invalid")
        return key

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Return all columns: those of members that were left out with their defaults."""
        columns = settable_columns() - {"name", "key", "spam_protection", *STAYS}
        unset = Form(key="")
        defaults = {column: getattr(unset, column) for column in columns}
        spam = dataclasses.asdict(SpamProtection())
        del spam["captcha_secret"]
        return {**defaults, **attrs, "key": self.context["key"], "spam": {**spam, **attrs.get("spam", {})}}
