"""How long the audit trail is kept."""

import datetime as dt

from django.conf import settings

from config.times import now
from keys.models import AuditEvent

ROWS_A_BATCH = 5_000


def purge_audit_trail() -> int:
    """Delete the entries older than AUDIT_RETENTION_DAYS; return how many. Each batch is one transaction."""
    purged = 0
    old = AuditEvent.objects.filter(created_at__lt=now() - dt.timedelta(days=settings.AUDIT_RETENTION_DAYS))
    while batch := list(old.order_by("created_at").values_list("pk", flat=True)[:ROWS_A_BATCH]):
        purged += AuditEvent.objects.filter(pk__in=batch).delete()[0]
    return purged
