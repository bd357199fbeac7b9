"""Retention: submissions by their form's setting, idempotency keys for 8 days."""

import datetime as dt

from config.ids import first_id_of
from config.times import now
from forms_app.models import Form
from submissions.lifecycle.spam_marks import delete_submissions
from submissions.models import IdempotencyKey, Submission

IDEMPOTENCY_KEYS_KEPT = dt.timedelta(days=8)
ROWS_A_BATCH = 500


def purge_submissions() -> int:
    """
    Delete submissions older than their form's `retention_days`; return how many. Each batch is one transaction.

    Those of suspended organizations are kept until the organization is resumed.
    """
    purged = 0
    limited = Form.objects.filter(retention_days__isnull=False, organization__suspended_at=None)
    for form_id, days in limited.values_list("id", "retention_days"):
        oldest_kept = first_id_of(now() - dt.timedelta(days=days or 0))
        expired = Submission.objects.filter(form_id=form_id, id__lt=oldest_kept).order_by("id")
        while batch := list(expired.values_list("pk", flat=True)[:ROWS_A_BATCH]):
            purged += delete_submissions(list(batch))
    return purged


def purge_idempotency_keys() -> int:
    """Delete idempotency keys older than 8 days; return how many."""
    return IdempotencyKey.objects.filter(created_at__lt=now() - IDEMPOTENCY_KEYS_KEPT).delete()[0]
