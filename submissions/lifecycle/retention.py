"""Retention: submissions by their form's setting, idempotency keys for 8 days."""

import datetime as dt
import uuid

from django.db import transaction
from django.template.defaultfilters import pluralize

from config.base.ids import first_id_of
from config.base.times import now
from config.clean_up import delete_in_batches
from forms_app.models import Form
from keys.audit import SERVICE, record_event
from keys.models import AuditEvent, Organization
from submissions.lifecycle.spam_marks import delete_submissions
from submissions.models import IdempotencyKey, Submission

IDEMPOTENCY_KEYS_KEPT = dt.timedelta(days=8)
ROWS_A_BATCH = 500


def purge_submissions() -> int:
    """
    Delete submissions older than their form's `retention_days`; return how many. Each batch is one transaction.

    Those of suspended organizations are kept until the organization is resumed. Each form has one event in the trail.
    """
    purged = 0
    for form in Form.objects.filter(retention_days__isnull=False).only("name", "organization_id", "retention_days"):
        purged += _purge_form(form, first_id_of(now() - dt.timedelta(days=form.retention_days or 0)))
    return purged


def _purge_form(form: Form, before: uuid.UUID) -> int:
    """
    Delete a form's submissions with ids below `before`; return how many. In batches, as above.

    Each batch asks whether the organization is suspended: a run over a large form lasts for hours.
    """
    purged, event, after = 0, None, None
    rows = Submission.objects.filter(form_id=form.pk, id__lt=before).order_by("id").values_list("pk", flat=True)
    suspended = Organization.objects.filter(pk=form.organization_id, suspended_at__isnull=False)
    # Each batch continues behind the last one: from the start it would pass all deleted rows again, until a vacuum.
    while not suspended.exists() and (batch := list((rows.filter(id__gte=after) if after else rows)[:ROWS_A_BATCH])):
        after = batch[-1]
        with transaction.atomic():
            purged += delete_submissions(batch)
            event = _record(form, purged, event)
    return purged


def _record(form: Form, purged: int, event: AuditEvent | None) -> AuditEvent:
    """Record a run's deletions of a form in one event, which counts the batches so far."""
    subject = f"{purged:,} submission{pluralize(purged)} of {form}"
    if event is None:
        return record_event(
            organization=form.organization_id, by=SERVICE, action="submissions.expired", subject=subject
        )
    event.subject = subject
    event.save(update_fields=["subject"])
    return event


def purge_idempotency_keys() -> int:
    """Delete idempotency keys older than 8 days; return how many."""
    outdated = IdempotencyKey.objects.filter(created_at__lt=now() - IDEMPOTENCY_KEYS_KEPT)
    return delete_in_batches(outdated, by="created_at")
