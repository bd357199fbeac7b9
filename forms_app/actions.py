"""Create, change, publish, unpublish and archive forms, for the API and the dashboard."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypedDict, Unpack

from django.db import transaction
from django.utils.translation import gettext, gettext_noop

from config.api.errors import Conflict, invalid
from config.api.find_owned import still_there
from config.api.serializers import validate
from config.base.times import format_time, now
from forms_app.addresses import check_address, check_key, save_named
from forms_app.consent.recipients import State, standings
from forms_app.document.bodies import FormChanges, settable_columns
from forms_app.document.differences import Difference, differences
from forms_app.document.records import document_of
from forms_app.document.spam import protect
from forms_app.form_keys import DEFAULT_FORM_KEY, free_key
from forms_app.models import Form, FormLogo
from forms_app.spam_protection import SpamProtection
from forms_app.texts.replies import Reply, refuse_answers, refuse_links
from keys.audit import record_event
from keys.audit.changes import Changes, listed
from keys.models import Organization
from keys.plans import ARCHIVED_FORMS_FACTOR, Plan

STATES = Form.Status
MAX_FORM_NAME = 200  # characters
_COPY = re.compile(r" copy( \d{1,4})?$")
FORM_BLOCKED = gettext_noop("The operator of this service has blocked this form, so it cannot be copied.")
NOT_COPIED = {"name", "key", "address", "notification_recipients", "reply_to"}  # or not as they are

_TOPICS = {  # of changes by the members of the document; all others are `form.changed`
    "spam": "form.spam_protection_changed",
    **dict.fromkeys(("recipients", "replyTo"), "form.recipients_changed"),
    **dict.fromkeys(("reply", "confirmation"), "form.replies_changed"),
    **dict.fromkeys(("description", "buttonLabel", "returnUrl", "language"), "form.page_changed"),
}
_MOVES = {
    STATES.PUBLISHED: "form.published",
    STATES.DRAFT: "form.unpublished",
    STATES.ARCHIVED: "form.archived",
}


class FormValues(TypedDict, total=False):
    """The columns of Form that can be set, with values as the serializers return them."""

    name: str
    key: str
    address: str | None
    fields: Sequence[Mapping[str, Any]]  # field definitions, each with its name
    allowed_origins: list[str]
    redirect_url: str
    success_message: str
    description: str
    button_label: str
    return_url: str
    language: str
    retention_days: int | None
    spam_protection: dict[str, Any]
    spam: dict[str, Any]  # no column: changes of `spam_protection`, as SpamBody reads them
    notification_recipients: list[str]
    reply_to: str
    sender_name: str
    accent: str
    powered_by: bool
    reply: dict[str, Any] | None
    confirmation: bool


def create_form(
    *,
    organization: Organization,
    status: str = STATES.DRAFT,
    is_default: bool = False,
    copy_of: str = "",
    **values: Unpack[FormValues],
) -> Form:
    """
    Create a form, by default as a draft. `copy_of`: the name of the form that it copies, for the audit trail.

    Its key is made from its name by default. Raises ValidationFailed for answers that the form cannot give, Conflict
    for more forms than the plan has and for a key or an address of another form.
    """
    _check_names(values)
    columns = _columns(Form(organization=organization), values)
    _refuse_answers(Form(organization=organization, **columns), columns, is_copy=bool(copy_of))
    moment = now()
    times = {"created_at": moment, "updated_at": moment, "published_at": moment if status == STATES.PUBLISHED else None}
    with transaction.atomic():
        Organization.objects.select_for_update(no_key=True).get(pk=organization.pk)  # so that keys differ
        columns["key"] = values.get("key") or (
            DEFAULT_FORM_KEY if is_default else free_key(organization, values["name"])
        )
        form = Form(organization=organization, status=status, is_default=is_default, **times, **columns)
        save_named(form, force_insert=True)
        if not is_default:  # else it is born with its organization
            _refuse_too_many(form)
            record_event(
                organization=organization,
                action="form.copied" if copy_of else "form.created",
                subject=str(form),
                changes=_recorded_creation(form, copy_of),
            )
    return form


def _columns(form: Form, values: FormValues) -> dict[str, Any]:
    """Return the columns to set in a form. Raises ValidationFailed for values that do not fit the others."""
    columns: dict[str, Any] = {**values}
    if "spam" in columns:
        columns["spam_protection"] = protect(form.spam_protection, columns.pop("spam"))
    addresses = columns.get("notification_recipients", form.notification_recipients)
    if set(addresses) == set(form.notification_recipients):  # they have no order
        columns.pop("notification_recipients", None)
    spellings = {address.lower(): address for address in addresses}
    answered = columns.get("reply_to", form.reply_to)
    if answered and answered.lower() not in spellings and columns.get("reply_to"):
        raise invalid("replyTo", "invalid_choice", gettext("Choose one of the form's recipients."), has_subject=True)
    if answered or "reply_to" in columns:
        columns["reply_to"] = spellings.get(answered.lower(), "")
    return columns


def _recorded_creation(form: Form, copy_of: str) -> Changes:
    """Return what a new form has besides the defaults, as the audit trail shows it."""
    blank = document_of(Form(organization=form.organization, key=""))
    found = [(path, None, new) for path, _, new in _differences(blank, document_of(form)) if path != "status"]
    return listed([("status", None, form.status), *([("copy_of", None, copy_of)] if copy_of else []), *found])


def duplicate_form(form: Form) -> Form:
    """
    Create a draft with the fields and settings of a form, archived or not.

    Of the recipients it takes members of the organization who get the form's mails. Others have agreed to that form
    only. Webhooks belong to their form and stay there. Raises Conflict for a form that an operator has blocked.
    """
    if form.blocked_at:
        raise Conflict(gettext(FORM_BLOCKED))
    values: Any = {name: getattr(form, name) for name in (settable_columns() | {"logo_name"}) - NOT_COPIED}
    values["notification_recipients"] = [one.address for one in standings(form) if one.state == State.MEMBER]
    values["reply_to"] = form.reply_to if form.reply_to in values["notification_recipients"] else ""
    with transaction.atomic():
        Organization.objects.select_for_update(no_key=True).get(pk=form.organization_id)  # so that names differ
        name = _name_of_copy(form)
        copy = create_form(organization=form.organization, name=name, copy_of=str(form), **values)
        for logo in FormLogo.objects.filter(form=form):
            FormLogo.objects.create(form=copy, name=logo.name, png=logo.png)
        return copy


def _name_of_copy(form: Form) -> str:
    """Return "X copy", or "X copy 2" and so on, of at most the length of a name."""
    base = _COPY.sub("", form.name)[: MAX_FORM_NAME - len(" copy 9999")]
    taken = Form.objects.filter(organization=form.organization_id, name__startswith=f"{base} copy")
    names = set(taken.values_list("name", flat=True))
    numbered = (f"{base} copy {number}" for number in range(2, 10_000))
    return next((name for name in (f"{base} copy", *numbered) if name not in names), f"{base} copy")


class StaleForm(Conflict):
    message = gettext_noop(
        "This form was saved in another tab or by another user after you opened this page. Save again to replace those "
        "changes with yours."
    )


def change_form(form: Form, *, seen: str | None = None, **values: Unpack[FormValues]) -> Form:
    """
    Change the given columns. `seen`: the `updated_at` of the version that was edited, as the API writes it.

    Raises StaleForm for a form that was saved since, Conflict for an archived form and for a key or an address of
    another form, ValidationFailed for a required field on the default form and for answers that the form cannot give.
    """
    _check_names(values)
    with transaction.atomic():
        form = still_there(Form.objects.select_for_update(no_key=True), form.pk)
        refuse_archived(form)
        if seen is not None and seen != format_time(form.updated_at):
            raise StaleForm
        if form.is_default and any(field["required"] for field in values.get("fields", [])):
            message = gettext(
                "The default form receives submissions without a form id, so none of its fields can be required."
            )
            raise invalid("fields", "required_on_default_form", message)
        before, old_address = document_of(form), form.address
        columns = {name: value for name, value in _columns(form, values).items() if getattr(form, name) != value}
        for name, value in columns.items():
            setattr(form, name, value)
        _refuse_answers(form, columns)
        found = _differences(before, document_of(form))
        if not found:
            return form
        form.updated_at = now()
        save_named(form, old_address=old_address, update_fields=[*columns, "updated_at"])
        topics = {_TOPICS.get(path.partition(".")[0], "form.changed") for path, _, _ in found}
        action = topics.pop() if len(topics) == 1 else "form.changed"
        record_event(organization=form.organization, action=action, subject=str(form), changes=listed(found))
    return form


def _differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Difference]:
    """Return what differs between two documents, as the audit trail has it: of recipients only their addresses."""
    old, new = (
        {**document, "recipients": [one["email"] for one in document["recipients"]]} for document in (before, after)
    )
    return list(differences(old, new))


def _check_names(values: FormValues) -> None:
    if "key" in values:
        check_key(values["key"])
    if address := values.get("address"):
        check_address(address)


def _refuse_answers(form: Form, changed: Collection[str], *, is_copy: bool = False) -> None:
    refuse_answers(
        reply=form.reply,
        confirmation=form.confirmation,
        fields=form.fields,
        protection=SpamProtection.of(form.spam_protection),
        changed=changed,
    )
    needs_confirmation = {"reply", "confirmation"} & set(changed) and not (form.confirmation or is_copy)
    if needs_confirmation and Reply.of(form.reply).enabled and form.organization.plan == Plan.FREE:
        refuse_links(form.reply)


def change_recipients(form: Form, addresses: Iterable[str], *, seen: str | None = None) -> Form:
    """
    Set the addresses that each submission is mailed to.

    Raises ValidationFailed for an invalid address and for too many, and what `change_form` raises.
    """
    given = validate(FormChanges(data={"recipients": [{"email": address} for address in addresses]}))
    return change_form(form, seen=seen, notification_recipients=given["notification_recipients"])


def publish_form(form: Form, *, again: bool = False) -> Form:
    """
    Publish a form, so that it accepts submissions. Raises Conflict for an archived form.

    `again`: an unpublishing is undone, so `published_at` stays.
    """
    return _move(form, STATES.PUBLISHED, again=again)


def unpublish_form(form: Form) -> Form:
    """Make a published form a draft again. Raises Conflict for the default form and for archived forms."""
    if form.is_default:
        raise Conflict(gettext("The default form receives submissions without a form id, so it cannot be unpublished."))
    return _move(form, STATES.DRAFT)


def archive_form(form: Form) -> Form:
    """Archive a form and keep its submissions. Raises Conflict for the default form, and for too many archived ones."""
    if form.is_default:
        raise Conflict(gettext("The default form receives submissions without a form id, so it cannot be archived."))
    if form.status == STATES.ARCHIVED:
        return form
    return _move(form, STATES.ARCHIVED)


def _move(form: Form, status: str, *, again: bool = False) -> Form:
    with transaction.atomic():
        form = still_there(Form.objects.select_for_update(no_key=True), form.pk)
        refuse_archived(form)
        if form.status == status:
            return form
        form.status = status
        form.updated_at = now()
        if status == STATES.PUBLISHED and not again:
            form.published_at = form.updated_at
        old_address = form.address
        if status == STATES.ARCHIVED:
            form.address = None
        save_named(form, old_address=old_address, update_fields=["status", "updated_at", "published_at", "address"])
        if status == STATES.ARCHIVED:
            _refuse_too_many(form)
        record_event(organization=form.organization, action=_MOVES[STATES(status)], subject=str(form))
    return form


def _refuse_too_many(form: Form) -> None:
    """
    Raise Conflict if there are more forms like this one, archived or not, than the plan has. Surplus forms stay.

    After the form is written: of two requests at the same time, the one that locks the organization last sees both.
    """
    organization = Organization.objects.select_for_update(no_key=True).get(pk=form.organization_id)
    forms, most = Form.objects.filter(organization=organization), organization.terms.forms
    if form.status == STATES.ARCHIVED:
        forms, most = forms.filter(status=STATES.ARCHIVED), most * ARCHIVED_FORMS_FACTOR
        text = gettext("The plan has at most %(most)s archived forms. Erase one first.")
    else:
        forms = forms.exclude(status=STATES.ARCHIVED)
        text = gettext("The plan has at most %(most)s forms. Archive one first.")
    if forms.count() > most:
        raise Conflict(text % {"most": f"{most:,}"})


def refuse_archived(form: Form) -> None:
    """Raise Conflict for an archived form."""
    if form.status == STATES.ARCHIVED:
        raise Conflict(gettext("This form is archived and can no longer be changed. Create a new one."))
