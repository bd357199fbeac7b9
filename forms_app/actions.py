"""What can be done with forms: create, change, publish, unpublish, archive. API and dashboard call the same."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict, Unpack

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction

from config.api.errors import Conflict, invalid
from config.times import now
from forms_app.models import Form
from forms_app.spam_protection import SpamProtection
from keys.models import Organization

STATES = Form.Status
MAX_RECIPIENTS = 20  # addresses of one form; each submission is a mail to every one of them
MAX_ADDRESS = 254  # characters; a path of SMTP takes no more (RFC 5321, 4.5.3.1.3), nor does a delivery's recipient


class FormValues(TypedDict, total=False):
    """What a form's owner can set: columns of Form, as the serializers clean them."""

    name: str
    fields: Sequence[Mapping[str, Any]]  # field definitions, each with its name
    allowed_origins: list[str]
    redirect_url: str
    success_message: str
    retention_days: int | None
    spam_protection: dict[str, Any]
    notification_recipients: list[str]


def create_form(
    *, organization: Organization, status: str = STATES.DRAFT, is_default: bool = False, **values: Unpack[FormValues]
) -> Form:
    """Make a form, a draft unless `status` says published."""
    published_at = now() if status == STATES.PUBLISHED else None
    return Form.objects.create(
        organization=organization, status=status, is_default=is_default, published_at=published_at, **values
    )


def change_form(form: Form, **values: Unpack[FormValues]) -> Form:
    """
    Take over the given values.

    Raises Conflict for an archived form, ValidationFailed for a required field on the default form.
    """
    with transaction.atomic():
        form = Form.objects.select_for_update().get(pk=form.pk)
        _refuse_archived(form)
        if form.is_default and any(field["required"] for field in values.get("fields", [])):
            message = "The default form takes submissions that name no form, so none of its fields can be required."
            raise invalid("fields", "required_on_default_form", message)
        for name, value in values.items():
            setattr(form, name, value)
        form.updated_at = now()
        form.save(update_fields=[*values, "updated_at"])
    return form


def change_spam_protection(form: Form, protection: SpamProtection) -> Form:
    """Set what a form does against spam. Raises Conflict for an archived form."""
    return change_form(form, spam_protection=protection.stored())


def change_recipients(form: Form, addresses: Iterable[str]) -> Form:
    """
    Set who is mailed of each submission. Raises ValidationFailed for what is no address, and for too many.

    Addresses are kept once each, whatever the case of their domain.
    """
    wanted: dict[str, None] = {}
    for address in addresses:
        if len(address) > MAX_ADDRESS:
            message = f"{address[:40]}… is too long: at most {MAX_ADDRESS} characters."
            raise invalid("recipients", "too_long", message, has_subject=True)
        try:
            validate_email(address)
        except ValidationError:
            message = f"{address[:100]} is not an email address."
            raise invalid("recipients", "invalid_email", message, has_subject=True) from None
        name, _, domain = address.rpartition("@")
        wanted[f"{name}@{domain.lower()}"] = None
    if len(wanted) > MAX_RECIPIENTS:
        message = f"At most {MAX_RECIPIENTS} addresses. Use a mailing list for more."
        raise invalid("recipients", "too_many", message, has_subject=True)
    return change_form(form, notification_recipients=list(wanted))


def publish_form(form: Form) -> Form:
    """Let a form take submissions. A published one stays as it is; an archived one raises Conflict."""
    return _move(form, STATES.PUBLISHED)


def unpublish_form(form: Form) -> Form:
    """Make a published form a draft again. Raises Conflict for the default and for archived forms."""
    _refuse_default(form, "unpublished")
    return _move(form, STATES.DRAFT)


def archive_form(form: Form) -> Form:
    """Take a form out of use; its submissions stay. Raises Conflict for the default form."""
    _refuse_default(form, "archived")
    if form.status == STATES.ARCHIVED:
        return form
    return _move(form, STATES.ARCHIVED)


def _move(form: Form, status: str) -> Form:
    with transaction.atomic():
        form = Form.objects.select_for_update().get(pk=form.pk)
        _refuse_archived(form)
        if form.status == status:
            return form
        form.status = status
        form.updated_at = now()
        if status == STATES.PUBLISHED:
            form.published_at = form.updated_at
        form.save(update_fields=["status", "updated_at", "published_at"])
    return form


def _refuse_archived(form: Form) -> None:
    if form.status == STATES.ARCHIVED:
        raise Conflict("This form is archived and can no longer be changed. Create a new one.")


def _refuse_default(form: Form, done: str) -> None:
    if form.is_default:
        raise Conflict(f"The default form takes what names no form, so it cannot be {done}.")
