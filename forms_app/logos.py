"""The logo of a form, in the place of its organization's (docs/contract.md 6.66)."""

from django.db import transaction

from config.api.errors import invalid
from config.api.find_owned import still_there
from config.base.times import now
from forms_app.actions import refuse_archived
from forms_app.models import Form, FormLogo
from keys.audit import record_event
from keys.branding.logos import UnfitLogo, read_logo


def set_form_logo(form: Form, data: bytes) -> Form:
    """Set the logo to a file's picture. Raises ValidationFailed for another file, Conflict for an archived form."""
    refuse_archived(form)
    try:
        image = read_logo(data)  # outside the transaction: it takes a while
    except UnfitLogo as error:
        raise invalid("logo", "invalid", str(error), has_subject=True) from None
    with transaction.atomic():
        changed = _save(form, image.name)
        FormLogo.objects.update_or_create(form=changed, defaults={"name": image.name, "png": image.png})
    return changed


def remove_form_logo(form: Form) -> Form:
    """Show the organization's logo again. Raises Conflict for an archived form."""
    with transaction.atomic():
        changed = _save(form, "")
        FormLogo.objects.filter(form=changed).delete()
    return changed


def _save(form: Form, name: str) -> Form:
    form = still_there(Form.objects.select_for_update(no_key=True), form.pk)
    refuse_archived(form)
    if form.logo_name != name:
        found = {"logo": [form.logo_name or None, name or None]}
        form.logo_name, form.updated_at = name, now()
        form.save(update_fields=["logo_name", "updated_at"])
        record_event(organization=form.organization, action="form.page_changed", subject=str(form), changes=found)
    return form
