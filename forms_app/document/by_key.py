"""Make a form exactly what a document says, by its key (docs/contract.md 4.15)."""

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypedDict, Unpack

from django.db import transaction

from config.api.errors import NotFound
from forms_app.actions import change_form, create_form, publish_form, unpublish_form
from forms_app.addresses import KeyTaken
from forms_app.consent.recipients import ask_new_recipients
from forms_app.document.differences import Difference, differences
from forms_app.document.permissions import refuse_unpermitted
from forms_app.document.records import document_of, etag_of_form
from forms_app.models import Form
from keys.models import Organization


@dataclasses.dataclass(frozen=True, slots=True)
class Put:
    """The effect of a document on a form, made or only tried. `document` and `changes`: as the caller may see them."""

    form: Form
    is_new: bool
    etag: str
    document: dict[str, Any]
    changes: list[Difference]


class How(TypedDict):
    """
    How a document is put. `hides`: the members that the caller may neither see nor set.

    `precondition` gets the present ETag, or None without a form, and raises to refuse. With `is_dry` all is checked and
    done, and then taken back.
    """

    hides: Sequence[str]
    precondition: Callable[[str | None], None]
    is_dry: bool


def find_by_key(organization: Organization, key: str) -> Form:
    """Return the form that is not archived and has this key. Raises NotFound."""
    form = Form.objects.filter(organization=organization, key=key).exclude(status=Form.Status.ARCHIVED).first()
    if form is None:
        raise NotFound
    return form


def put_form(organization: Organization, key: str, values: Mapping[str, Any], **how: Unpack[How]) -> Put:
    """
    Make the form with this key what `values` say, as NewFormDocument reads them, or create it.

    Raises what creating and changing a form does, and what `precondition` raises.
    """
    try:
        return _put(organization, key, values, **how)
    except KeyTaken:  # another request has created it in the meantime
        return _put(organization, key, values, **how)


def _put(
    organization: Organization,
    key: str,
    values: Mapping[str, Any],
    *,
    hides: Sequence[str],
    precondition: Callable[[str | None], None],
    is_dry: bool,
) -> Put:
    columns: Any = {name: value for name, value in values.items() if name != "status"}
    with transaction.atomic():
        own = Form.objects.filter(organization=organization).exclude(status=Form.Status.ARCHIVED)
        stored = own.select_for_update(no_key=True).filter(key=key).first()
        refuse_unpermitted(stored or Form(organization=organization), values, hides)
        precondition(etag_of_form(stored) if stored else None)
        before = document_of(stored, hides=hides) if stored else None
        asked = stored.notification_recipients if stored else []
        if stored is None:
            form = create_form(organization=organization, status=values.get("status", Form.Status.DRAFT), **columns)
        else:
            form = change_form(_moved(stored, values.get("status", stored.status)), **columns)
        ask_added(form, asked)
        document = document_of(form, hides=hides)
        changes = [Difference("", None, document)] if before is None else list(differences(before, document))
        done = Put(form, stored is None, etag_of_form(form), document, changes)
        transaction.set_rollback(is_dry)
        return done


def _moved(form: Form, status: str) -> Form:
    """Return the form in its new state, which is checked before its values."""
    if status == form.status:
        return form
    return publish_form(form) if status == Form.Status.PUBLISHED else unpublish_form(form)


def ask_added(form: Form, before: Collection[str]) -> None:
    """Ask recipients that were added to those before; the others were asked then. Raises AskedTooMany."""
    if set(form.notification_recipients) - set(before):
        ask_new_recipients(form)
