"""Erasing a form for good, with everything that it received: an owner's confirmed act (CONTRACT section 4)."""

from django.db import transaction

from config.api.errors import Conflict
from config.times import now
from forms_app.models import Form
from keys.audit import Actor, record_event
from submissions.lifecycle.spam_marks import delete_submissions
from submissions.models import IdempotencyKey, Submission, Tally

ERASED_AT_ONCE = 5_000  # submissions; more are erased by the next clean-up, within the hour
ROWS_A_BATCH = 500


def erase_form(form: Form, *, by: Actor, at_once: int = ERASED_AT_ONCE) -> bool:
    """
    Erase an archived form, and tell whether it is gone already or, for a large one, within the hour.

    Raises Conflict for a form that is not archived: nothing can arrive while it is erased.
    """
    with transaction.atomic():
        form = Form.objects.select_for_update().get(pk=form.pk)
        if form.status != Form.Status.ARCHIVED:
            raise Conflict("Archive the form first, so that nothing arrives while it is erased.")
        if form.erase_requested_at is None:
            form.erase_requested_at = now()
            form.save(update_fields=["erase_requested_at"])
            record_event(organization=form.organization, by=by, action="form.erased", subject=str(form))
    if Submission.objects.filter(form=form).order_by()[: at_once + 1].count() > at_once:
        return False
    finish_erasing(form)
    return True


def finish_erasing(form: Form) -> None:
    """Delete a form's rows in batches, each whole, then the form. What a crash leaves, the next clean-up takes."""
    rows = Submission.objects.filter(form=form).order_by("pk").values_list("pk", flat=True)
    while batch := list(rows[:ROWS_A_BATCH]):
        delete_submissions(batch)
    keys = IdempotencyKey.objects.filter(form=form)
    while some := list(keys.values_list("pk", flat=True)[:ROWS_A_BATCH]):
        IdempotencyKey.objects.filter(pk__in=some).delete()
    Tally.objects.filter(form=form).delete()
    form.delete()


def finish_all_erasing() -> int:
    """Erase what was asked for and was too large to be erased at once; return how many forms."""
    asked = list(Form.objects.filter(erase_requested_at__isnull=False))
    for form in asked:
        finish_erasing(form)
    return len(asked)
