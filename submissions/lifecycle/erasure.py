"""Erase a form permanently with all its submissions; the owner confirms it (docs/contract.md 4)."""

from django.db import transaction
from django.utils.translation import gettext

from config.api.errors import Conflict
from config.api.find_owned import still_there
from config.base.times import now
from config.clean_up import delete_in_batches
from forms_app.addresses import give_up_address
from forms_app.models import Form
from keys.audit import Actor, record_event
from submissions.files.removal import remove_files
from submissions.lifecycle.spam_marks import delete_submissions
from submissions.models import IdempotencyKey, ImportedRow, Submission, Tally

ERASED_IN_REQUEST = 5_000  # submissions; more are erased by the next hourly clean-up
ROWS_A_BATCH = 500


def erase_form(form: Form, *, by: Actor, within_request: int = ERASED_IN_REQUEST) -> bool:
    """
    Erase an archived form; return False if it is so large that the next hourly clean-up does it.

    Raises Conflict for a form that is not archived: no submission may arrive while it is erased.
    """
    with transaction.atomic():
        form = still_there(Form.objects.select_for_update(), form.pk)
        if form.status != Form.Status.ARCHIVED:
            raise Conflict(gettext("Archive the form first, so that it receives no submissions while it is erased."))
        if form.erase_requested_at is None:
            form.erase_requested_at = now()
            form.save(update_fields=["erase_requested_at"])
            record_event(organization=form.organization, by=by, action="form.erased", subject=str(form))
    if Submission.objects.filter(form=form).order_by()[: within_request + 1].count() > within_request:
        return False
    finish_erasing(form)
    return True


def finish_erasing(form: Form) -> None:
    """Delete a form's rows in batches, one transaction each, then the form. After a crash the next clean-up goes on."""
    while _delete_rows(form):  # again: a request that began before may have stored a row behind the last one read
        pass
    delete_in_batches(IdempotencyKey.objects.filter(form=form), by="key")
    delete_in_batches(ImportedRow.objects.filter(form=form), by="digest")
    Tally.objects.filter(form=form).delete()
    with transaction.atomic():
        remove_files(form_id=form.pk)
        if form.address:  # of an organization that is deleted: an archived form has given it up
            give_up_address(form, form.address)
        form.delete()


def _delete_rows(form: Form) -> int:
    rows = Submission.objects.filter(form=form).order_by("pk").values_list("pk", flat=True)
    deleted, rest = 0, rows
    while batch := list(rest[:ROWS_A_BATCH]):
        deleted += delete_submissions(batch)
        rest = rows.filter(pk__gt=batch[-1])  # from the start, it would pass all deleted rows again, until a vacuum
    return deleted


def finish_all_erasing() -> int:
    """Erase the requested forms that were too large for a request; return how many. Not of suspended organizations."""
    asked = list(Form.objects.filter(erase_requested_at__isnull=False, organization__suspended_at=None))
    for form in asked:
        finish_erasing(form)
    return len(asked)
